// What the evaluation is made of: samples (one person's sessions, in one memory directory) and the facts in them, each
// with the messages that say it, how it is recognised in a text, and since and until when it holds.
// The sessions are written down in short and rendered into the files of a real agent when they are needed.

import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { MemoryType } from '../../src/memory/types.ts';
import { type Step, sessionFile } from '../support/session-file.ts';

/** Why something that was said, or shown to the agent, must not be kept. */
export type Trap =
  | 'hypothetical'
  | 'sarcasm'
  | 'quoted'
  | 'third-party'
  | 'momentary'
  | 'tool'
  | 'assistant'
  | 'secret'
  | 'retracted';

export interface Fact {
  /** Unique in the set. */
  id: string;
  /** Null for a trap. */
  type: MemoryType | null;
  /** As a perfect entry would say it. */
  text: string;
  /** The same in another language or other words: it must be recognised too. */
  also?: string;
  /** How a line is recognised as saying it; see recognise.ts. */
  match: string;
  /** The prompts that say it, oldest first: ids of sessions and numbers of turns, from 1. */
  said: { session: string; turn: number }[];
  /** Set on what must not be kept. */
  never?: Trap;
  /** When it began to hold and, where another fact took its place, when it ceased to: ISO-8601. */
  from: string;
  until?: string;
  /** The facts whose place it took. */
  replaces: string[];
  /** Facts of one group look alike and hold side by side. */
  group?: string;
}

export interface EvalTurn {
  says: string;
  steps: Step[];
}

export interface EvalSession {
  id: string;
  /** ISO-8601 UTC. */
  startsAt: string;
  turns: EvalTurn[];
}

export interface Sample {
  name: string;
  /** In order of time. */
  sessions: EvalSession[];
  facts: Fact[];
}

export interface EvalSet {
  name: string;
  samples: Sample[];
  /** What a reader of the figures has to know about the set. */
  notes: string[];
}

/** A fact as it is written down beside the turn that says it. */
export type FactSource =
  | (Pick<Fact, 'id' | 'type' | 'text' | 'also' | 'match' | 'never' | 'group'> & { replaces?: string })
  | { again: string; replaces?: string };

interface FactOptions {
  also?: string;
  replaces?: string;
  group?: string;
}

type MakeFact = (id: string, text: string, match: string, options?: FactOptions) => FactSource;
const factOf =
  (type: MemoryType): MakeFact =>
  (id, text, match, options = {}) => ({ id, type, text, match, ...options });

export const user = factOf('user');
export const feedback = factOf('feedback');
export const project = factOf('project');
export const reference = factOf('reference');

/** What must not be kept. */
export function never(id: string, why: Trap, what: { text: string; match: string }): FactSource {
  return { id, type: null, never: why, ...what };
}

/** A fact that was said before is said again; `replaces`: it holds again in the place of another. */
export function again(id: string, replaces?: string): FactSource {
  return { again: id, replaces };
}

export interface TurnSource extends EvalTurn {
  facts: FactSource[];
}

/** A prompt, what it says that is worth keeping or must not be kept, and what happens then. */
export function turn(says: string, facts: FactSource[] = [], steps: Step[] = [{ says: 'Done.' }]): TurnSource {
  return { says, facts, steps };
}

export const answers = (says: string): Step => ({ says });
export const runs = (command: string, result: string): Step => ({ calls: 'Bash', input: { command }, result });
export const reads = (path: string, result: string): Step => ({ calls: 'Read', input: { file_path: path }, result });
export const fetches = (url: string, result: string): Step => ({ calls: 'WebFetch', input: { url }, result });

export interface SessionSource {
  /** ISO-8601 UTC. */
  startsAt: string;
  turns: TurnSource[];
}

/** A sample from its sessions in order of time. Throws where a fact names one that is not there, or an id comes twice. */
export function sampleOf(name: string, sources: SessionSource[]): Sample {
  const sessions = sources.map(
    ({ startsAt, turns }, at): EvalSession => ({
      id: sessionId(name, at),
      startsAt,
      turns: turns.map(({ says, steps }) => ({ says, steps })),
    }),
  );
  const facts = new Map<string, Fact>();
  const known = (id: string): Fact => {
    const fact = facts.get(id);
    if (!fact) throw new Error(`${name}: there is no fact ${id} before it is spoken of.`);
    return fact;
  };
  sources.forEach(({ startsAt, turns }, at) => {
    const session = sessions[at]?.id as string;
    turns.forEach((said, index) => {
      for (const source of said.facts) {
        const where = { session, turn: index + 1 };
        const id = 'again' in source ? source.again : source.id;
        if ('again' in source) {
          known(id).said.push(where);
          known(id).until = undefined;
        } else {
          if (facts.has(id)) throw new Error(`${name}: the fact ${id} is there twice.`);
          facts.set(id, { ...source, said: [where], from: startsAt, replaces: [] });
        }
        if (source.replaces) {
          known(source.replaces).until = startsAt;
          known(id).replaces.push(source.replaces);
        }
      }
    });
  });
  return { name, sessions, facts: [...facts.values()] };
}

/** A session id of the form agents use, the same in every run. */
export function sessionId(sample: string, at: number): string {
  const tail = createHash('sha256').update(sample).digest('hex').slice(0, 12);
  return `${at.toString(16).padStart(4, '0')}0000-2222-4333-8444-${tail}`;
}

export interface Rendered {
  session: EvalSession;
  /** Path of the transcript. */
  path: string;
  /** Id of the prompt of the nth turn, from 1. */
  prompt(turn: number): string;
}

/** Writes the sessions of a sample into `dir` as an agent records them. */
export function renderSample(sample: Sample, dir: string): Rendered[] {
  mkdirSync(dir, { recursive: true });
  return sample.sessions.map((session) => {
    const file = sessionFile(dir, { id: session.id, startsAt: session.startsAt });
    for (const { says, steps } of session.turns) file.add(says, steps);
    return { session, path: file.path, prompt: file.turn };
  });
}
