// Sessions of eight people in six languages, each a JSON Lines file that is read from top to bottom like a session: its
// beginning, what a person says, what follows from the agent and, below what says it, a fact, or a trap that is none.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MemoryType } from '../../../src/memory/memory-types.ts';
import { type Step, sessionFile } from '../../support/session-file.ts';

export interface Fact {
  /** Unique in the sample. */
  id: string;
  type: MemoryType;
  /** As a perfect entry would say it. */
  text: string;
  /** What says it: ids of sessions and numbers of turns, from 1; behind its prompt, the step, from 0. */
  said: { session: string; turn: number; step?: number }[];
  /** Another took its place. */
  isOver?: boolean;
}

export interface EvalTurn {
  says: string;
  /** The slash command that it stands behind. */
  command?: string;
  steps: Step[];
}

export interface EvalSession {
  id: string;
  startsAt: string;
  turns: EvalTurn[];
}

export interface Sample {
  name: string;
  sessions: EvalSession[];
  facts: Fact[];
}

const FOLDER = join(import.meta.dirname, 'samples');
export const SAMPLES = readdirSync(FOLDER).map((name) => name.replace('.jsonl', ''));

export function readSample(name: string): Sample {
  const [, ...lines] = readFileSync(join(FOLDER, `${name}.jsonl`), 'utf8')
    .trimEnd()
    .split('\n');
  const sample: Sample = { name, sessions: [], facts: [] };
  for (const line of lines) take(JSON.parse(line), sample);
  return sample;
}

function take(line: Record<string, unknown>, { name, sessions, facts }: Sample): void {
  if ('session' in line) {
    sessions.push({ id: idOf(name, sessions.length), startsAt: String(line.session), turns: [] });
    return;
  }
  const session = sessions.at(-1);
  const turn = session?.turns.at(-1);
  if ('says' in line) {
    const { says, paddedTo, ...more } = line as { says: string; paddedTo?: number; command?: string };
    session?.turns.push({ says: padded(says, paddedTo), ...more, steps: [] });
  } else if ('fact' in line || 'again' in line) {
    const step = turn && turn.steps.length > 0 ? { step: turn.steps.length - 1 } : {};
    const where = { session: session?.id ?? '', turn: session?.turns.length ?? 0, ...step };
    const { type, text } = line as unknown as Fact;
    for (const fact of facts) if (fact.id === line.replaces) fact.isOver = true;
    const known = facts.find(({ id }) => id === line.again);
    if (!known) facts.push({ id: String(line.fact), type, text, said: [where] });
    else Object.assign(known, { said: [...known.said, where], isOver: false });
  } else if ('agent' in line) turn?.steps.push({ says: String(line.agent) });
  else if (!('trap' in line)) turn?.steps.push(line as unknown as Step);
}

/** A session id of the form agents use, the same in every run. */
function idOf(sample: string, at: number): string {
  const tail = createHash('sha256').update(sample).digest('hex').slice(0, 12);
  return `${at.toString(16).padStart(4, '0')}0000-2222-4333-8444-${tail}`;
}

/** A dictation with nothing in it to keep, no two sentences alike. */
function padded(says: string, characters = 0): string {
  let all = says;
  for (let row = 1; all.length < characters; row++) {
    all += ` Row ${row} of the sheet reads ${row * 37} crates, ${row * 11} of them at the ${row % 2 ? 'north' : 'south'} gate.`;
  }
  return all;
}

/** What a step is read for where a person says something in it; null where none does. */
export function saidInStep(step: Step): string | null {
  if ('types' in step) return step.types;
  if ('queues' in step) return step.queues;
  if ('asks' in step) return `chose: ${step.chose}`;
  return 'refused' in step ? (step.refused ?? null) : null;
}

/** Writes the sessions of a sample into `dir` as an agent records them; `{memory}` in them is `memory`. */
export function renderSample({ sessions }: Sample, { dir, memory }: { dir: string; memory: string }): void {
  mkdirSync(dir, { recursive: true });
  const placed = JSON.stringify(memory).slice(1, -1);
  for (const { id, startsAt, turns } of sessions) {
    const file = sessionFile(dir, { id, startsAt, isTold: true });
    for (const { says, command, steps } of turns) {
      const prompt = command ? `<command-name>${command}</command-name>\n<command-args>${says}</command-args>` : says;
      file.add(prompt, JSON.parse(JSON.stringify(steps).replaceAll('{memory}', placed)));
    }
  }
}
