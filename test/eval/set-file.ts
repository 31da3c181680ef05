// The sets as they are written down: a JSON Lines file for each sample, read from top to bottom like a session. A line is
// a session's beginning, what a person says, what follows from the agent, or, below what says it, a fact or a trap.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { type EvalSet, type Sample, type SessionSource, sampleOf, TIERS, type TurnSource } from './set.ts';

const TRAPS = [
  ...['hypothetical', 'sarcasm', 'quoted', 'third-party', 'momentary', 'tool', 'assistant', 'secret', 'retracted'],
] as const;
const text = z.string().min(1);

const said = {
  /** A prompt. `command`: typed behind a slash command. `paddedTo`: goes on, as a long dictation, to so many characters. */
  says: z.strictObject({ says: text, command: text.optional(), paddedTo: z.int().positive().optional() }),
  fact: z.strictObject({
    fact: text,
    type: z.enum(['user', 'feedback', 'project', 'reference']),
    text,
    also: text.optional(),
    match: text,
    tier: z.enum(TIERS).optional(),
    group: text.optional(),
    replaces: text.optional(),
  }),
  /** A fact that was said before; `replaces`: it holds again in the place of another. */
  again: z.strictObject({ again: text, replaces: text.optional() }),
  trap: z.strictObject({ trap: text, why: z.enum(TRAPS), text, match: text }),
};
const steps = {
  agent: z.strictObject({ agent: text }),
  calls: z.strictObject({
    calls: text,
    input: z.record(z.string(), z.unknown()),
    result: z.string().optional(),
    fails: z.boolean().optional(),
    /** A person does not let the agent do it, and says why. */
    refused: text.optional(),
  }),
  /** Typed while the agent works: told of by an attachment, or by the queue alone. */
  types: z.strictObject({ types: text }),
  queues: z.strictObject({ queues: text }),
  /** A dialog, and the option that a person chose. */
  asks: z.strictObject({ asks: text, options: z.array(text).min(2), chose: text }),
};
const headSchema = z.strictObject({ sample: text, about: text });
const sessionSchema = z.strictObject({ session: z.iso.datetime() });

/** The samples of a folder of this directory, in the order named. Throws, with file and line, for what cannot be read. */
export function readSet(name: string, samples: string[]): EvalSet {
  const read = (sample: string) => readSample(readFileSync(join(import.meta.dirname, name, `${sample}.jsonl`), 'utf8'));
  return { name, samples: samples.map((sample) => within(`${name}/${sample}.jsonl`, () => read(sample))), notes: [] };
}

export function readSample(source: string): Sample {
  const [first = '', ...rest] = source.trimEnd().split('\n');
  const head = headSchema.parse(JSON.parse(first));
  const sessions: SessionSource[] = [];
  rest.forEach((line, at) => {
    within(`line ${at + 2}`, () => take(JSON.parse(line), sessions));
  });
  return sampleOf(head.sample, sessions);
}

function take(line: object, sessions: SessionSource[]): void {
  if ('session' in line) {
    sessions.push({ startsAt: sessionSchema.parse(line).session, turns: [] });
    return;
  }
  const turns = opened(sessions, 'a session').turns;
  if ('says' in line) {
    const { paddedTo = 0, says, ...more } = said.says.parse(line);
    turns.push({ says: padded(says, paddedTo), ...more, steps: [], facts: [] });
  } else takeInTurn(line, opened(turns, 'a prompt'));
}

function takeInTurn(line: object, turn: TurnSource): void {
  const at = turn.steps.length === 0 ? {} : { step: turn.steps.length - 1 };
  if ('fact' in line) {
    const { fact: id, ...fact } = said.fact.parse(line);
    turn.facts.push({ id, ...fact, ...at });
  } else if ('trap' in line) {
    const { trap: id, why: never, ...trap } = said.trap.parse(line);
    turn.facts.push({ id, type: null, never, ...trap, ...at });
  } else if ('again' in line) turn.facts.push({ ...said.again.parse(line), ...at });
  else if ('agent' in line) turn.steps.push({ says: steps.agent.parse(line).agent });
  else if ('calls' in line) turn.steps.push(steps.calls.parse(line));
  else if ('types' in line) turn.steps.push(steps.types.parse(line));
  else if ('queues' in line) turn.steps.push(steps.queues.parse(line));
  else turn.steps.push(steps.asks.parse(line));
}

function opened<T>(list: T[], what: string): T {
  const last = list.at(-1);
  if (last === undefined) throw new Error(`It stands before ${what} begins.`);
  return last;
}

/** A dictation with nothing in it to keep, no two sentences alike. */
function padded(says: string, characters: number): string {
  let all = says;
  for (let row = 1; all.length < characters; row++)
    all += ` Row ${row} of the sheet reads ${row * 37} crates, ${row * 11} of them at the ${row % 2 ? 'north' : 'south'} gate.`;
  return all;
}

function within<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${place}: ${error instanceof z.ZodError ? z.prettifyError(error) : (error as Error).message}`);
  }
}
