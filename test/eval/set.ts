// What the evaluation is made of: samples (one person's sessions, in one memory directory) and the facts in them, each
// with the messages that say it, how it is recognised in a text, and since and until when it holds.
// The sessions are written down in short and rendered into the files of a real agent when they are needed.

import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MemoryType } from '../../src/memory/memory-types.ts';
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

/** How much a memory is missed that does not hold a fact. */
export const TIERS = ['must', 'should', 'may'] as const;
export type Tier = (typeof TIERS)[number];

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
  /** Whether it must be kept, which is the default, should or may. */
  tier?: Tier;
  /** What says it, oldest first: ids of sessions and numbers of turns, from 1; behind its prompt, the step, from 0. */
  said: { session: string; turn: number; step?: number }[];
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
  /** The slash command that it stands behind. */
  command?: string;
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
  /** How many questions are asked about it, where the set asks any. */
  questions?: number;
}

export interface EvalSet {
  name: string;
  samples: Sample[];
  /** What a reader of the figures has to know about the set. */
  notes: string[];
}

/** A fact as it is written down beside what says it. */
export type FactSource =
  | (Pick<Fact, 'id' | 'type' | 'text' | 'also' | 'match' | 'never' | 'group' | 'tier'> & {
      replaces?: string;
      step?: number;
    })
  | { again: string; replaces?: string; step?: number };

export interface TurnSource extends EvalTurn {
  facts: FactSource[];
}

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
      turns: turns.map(({ facts: _, ...turn }) => turn),
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
        const { step, ...fact } = source;
        const where = { session, turn: index + 1, ...(step === undefined ? {} : { step }) };
        const id = 'again' in source ? source.again : source.id;
        if ('again' in source) {
          known(id).said.push(where);
          known(id).until = undefined;
        } else {
          if (facts.has(id)) throw new Error(`${name}: the fact ${id} is there twice.`);
          facts.set(id, {
            ...(fact as Exclude<FactSource, { again: string }>),
            said: [where],
            from: startsAt,
            replaces: [],
          });
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
  /** Writes into the memory what its agent wrote. */
  act(): void;
}

/** What a step is read for where a person says something in it; null where none does. */
export function saidInStep(step: Step): string | null {
  if ('types' in step) return step.types;
  if ('queues' in step) return step.queues;
  if ('asks' in step) return `chose: ${step.chose}`;
  return 'refused' in step ? (step.refused ?? null) : null;
}

/** Stands in the sets for the memory directory, which is another one in every run. */
const MEMORY = '{memory}';

/** Writes the sessions of a sample into `dir` as an agent records them; `memory`: where the agent's memory is. */
export function renderSample(sample: Sample, dir: string, memory = join(dir, 'memory')): Rendered[] {
  mkdirSync(dir, { recursive: true });
  const placed = JSON.stringify(memory).slice(1, -1);
  return sample.sessions.map((session) => {
    const file = sessionFile(dir, { id: session.id, startsAt: session.startsAt, isTold: true });
    for (const { says, command, steps } of session.turns) {
      const prompt = command ? `<command-name>${command}</command-name>\n<command-args>${says}</command-args>` : says;
      file.add(prompt, JSON.parse(JSON.stringify(steps).replaceAll(MEMORY, placed)));
    }
    return { session, path: file.path, prompt: file.turn, act: file.act };
  });
}
