// A year of nights through the real job and the SDK against a loopback model, by the script of a person who changes. The model
// proposes what the script says is right; where it is sloppy, first something else, which a blind one sends again with the
// answer that lets it pass, whatever it is asked. What code said of either is counted.

import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import { isTopicPath, parseTopic } from '../../src/memory/text/topic.ts';
import { changingPerson, type Fate, type Script } from './changing-person.ts';
import { type Proposed, withProblems } from './check-counts.ts';
import { jobsInProcess } from './jobs-in-process.ts';
import { calls, says, startMessagesServer } from './messages-server.ts';
import { entriesShown, shown } from './obedient.ts';
import type { Random } from './random.ts';
import { record } from './recorded.ts';
import { tempDir } from './temp.ts';

const BEGIN = new Date('2026-01-02T03:00:00Z');
/** What a person writes into a topic by hand. */
export const PERSONS = ['Ask me before anything is deleted.', 'The harbour master has the keys.'];

export interface Year {
  script: Script;
  outcomes: string[];
  requests: number;
  refused: string[];
  left: string[];
  lines: { path: string; text: string }[];
  files: string;
  /** What the model proposed at its first call of a night, and what code said of it. */
  proposed: Proposed[];
}

/** Behind the words of a line. */
const STANDS_AS = /^ stands there already as (\w{8}):/;

/** What answers all that code asks. */
function answerTo(asked: string): { same?: { same: true }; over?: { over: string[] } } {
  const texts: string[] = [];
  JSON.parse(asked, (_, value) => (typeof value === 'string' ? texts.push(value) : value));
  const all = texts.join('\n');
  const over = [...all.matchAll(/"over": (\[".*?"\])\.$/gm)].flatMap(
    ([, list]) => JSON.parse(list ?? '[]') as string[],
  );
  return { ...(all.includes('"same": true') && { same: { same: true } }), ...(over.length > 0 && { over: { over } }) };
}

type Kept = { id: string; fate: Fate };
export type Sent = Record<string, unknown>;

/** The right operation for an entry, with the ids of the lines that the request shows. */
function rightly({ id, fate }: Kept, idOf: (text: string) => string | undefined, isNew: boolean): Sent {
  const { kind, topic, type, old, line } = fate;
  const replaced = old === undefined ? undefined : idOf(old);
  const into = { topic, ...(isNew && { type, description: `About ${topic.replaceAll('-', ' ')}` }) };
  const lines = [{ text: line, entries: [id] }];
  const common = { entries: [id], reason: 'As it is now.' };
  // Of a line that is not there, nothing is to be taken out, and it is to be written.
  if (kind === 'retire') {
    if (replaced === undefined) return { kind: 'drop', ...common, because: 'ephemeral' };
    return { kind, ...common, replaces: [replaced] };
  }
  if (kind === 'duplicate') {
    if (replaced === undefined) return { kind: 'add', ...common, ...into, lines: [{ text: old, entries: [id] }] };
    return { kind: 'drop', ...common, because: 'duplicate', of: replaced };
  }
  if (kind === 'add' || replaced === undefined) return { kind: 'add', ...common, ...into, lines };
  return { kind, ...common, ...into, lines, replaces: [replaced] };
}

export async function liveThrough(
  { nights, seed, isBlind = false }: { nights: number; seed: number; isBlind?: boolean },
  sloppy: (right: Sent, kept: Kept, idOf: (text: string) => string | undefined, tonight: Kept[]) => Sent | null,
): Promise<Year> {
  const script = changingPerson(BEGIN, nights, seed);
  const fates = new Map<string, Fate>();
  let sent = 0;
  let tonight: Proposed[] = [];
  /** What was wrong, and is not sent again yet; by entry. */
  const insisted = new Map<string, Sent>();
  const proposed: Proposed[] = [];
  const server = await startMessagesServer((request) => {
    sent += 1;
    const isAgain = request.messages.length > 1;
    const topics = shown(request, 'topics');
    const asked = isAgain ? JSON.stringify(request.messages.at(-1)) : '';
    // What is not shown is named by the refusal of what stands there already.
    const named = (text: string) =>
      asked.split(JSON.stringify(JSON.stringify(text)).slice(1, -1))[1]?.match(STANDS_AS)?.[1];
    const idOf = (text: string) =>
      named(text) ??
      topics
        .split('\n')
        .flatMap((row) => /^\[(\w{8})[^\]]*\] (.*)$/.exec(row)?.slice(1) ?? [])
        .reduce((found: string | undefined, part, at, all) => (part === text ? all[at - 1] : found), undefined);
    const known = `${topics}\n${shown(request, 'others')}`;
    const begun = new Set<string>();
    const entries = entriesShown(request).filter(({ id }) => !isAgain || asked.includes(id));
    if (isAgain && entries.length === 0) return says('Done.');
    const operations: Sent[] = [];
    for (const { id } of entries) {
      if (operations.some((each) => (each.entries as string[]).includes(id))) continue;
      const fate = fates.get(id) as Fate;
      const isThere = new RegExp(`^(?:### )?${fate.topic}(?:\\.md)? \\(`, 'm').test(known) || begun.has(fate.topic);
      if (fate.line) begun.add(fate.topic);
      const right = rightly({ id, fate }, idOf, !isThere);
      const others = entries.map((other) => ({ id: other.id, fate: fates.get(other.id) as Fate }));
      const wrong = isAgain ? null : sloppy(right, { id, fate }, idOf, others);
      if (!isAgain) tonight.push({ isSpoilt: wrong !== null, problems: [] });
      if (wrong && isBlind) insisted.set(id, wrong);
      const answer = isAgain ? answerTo(asked) : null;
      const again = answer && insisted.get(id);
      if (isAgain) insisted.delete(id);
      if (again) operations.push({ ...again, ...answer.same, ...('replaces' in again && answer.over) });
      else operations.push(wrong ?? { ...right, ...(right.kind !== 'add' && answer?.same) });
    }
    return calls('propose_operations', { operations });
  });
  const dir = tempDir();
  let now = BEGIN;
  const jobs = await jobsInProcess(dir, { now: () => now }, { all: { model: 'test-model', access: server.access } });
  const outcomes: string[] = [];
  const [refused, left]: string[][] = [[], []];
  for (const [night, said] of script.days.entries()) {
    now = addDays(BEGIN, night);
    const entries = await record(jobs.store, addDays(now, -0.5).toISOString(), said);
    for (const [at, { id }] of entries.entries()) fates.set(id, said[at]?.fate as Fate);
    if (night === Math.min(30, nights >> 1))
      for (const text of PERSONS) appendFileSync(join(dir, 'owners.md'), `- ${text}\n`);
    tonight = [];
    const report = await jobs.dream();
    proposed.push(...withProblems(tonight, report.refused));
    outcomes.push(report.outcome);
    refused?.push(...report.refused);
    left?.push(...report.left.map(({ reason }) => reason));
  }
  const paths = readdirSync(dir).filter(isTopicPath);
  const lines = paths.flatMap((path) =>
    parseTopic(path, readFileSync(join(dir, path), 'utf8')).lines.map(({ text }) => ({ path, text })),
  );
  const files = paths.map((path) => readFileSync(join(dir, path), 'utf8')).join('\n');
  jobs.close();
  await server.close();
  return { script, outcomes, requests: sent, refused: refused ?? [], left: left ?? [], lines, files, proposed };
}

/** Something a model might propose in the place of what is right; null where nothing is to be spoilt. */
export function spoil(
  right: Sent,
  { id, fate }: Kept,
  { random, idOf }: { random: Random; idOf(text: string): string | undefined },
): Sent | null {
  const { line = '', topic, alike } = fate;
  const other = alike.find((text) => idOf(text) !== undefined);
  const otherId = other && idOf(other);
  const write = (kind: string, text: string, more: object = {}) => ({
    ...right,
    kind,
    lines: [{ text, entries: [id] }],
    ...more,
  });
  if (right.kind !== 'add' && right.kind !== 'supersede') return null;
  return random.pick<() => Sent | null>([
    // Puts two things into one line.
    () => (otherId ? write('merge', `${line.replace(/\.$/, '')}, and ${other}`, { topic, replaces: [otherId] }) : null),
    // Takes a line for another thing's.
    () => (otherId ? write('merge', line, { topic, replaces: [otherId] }) : null),
    // Drops a value, or the word that denies.
    () => (/\d{4}|`/.test(line) ? write(String(right.kind), line.replace(/ (?:port )?\d{4}|`\w+`/, ' it')) : null),
    () => (line.startsWith('Never') ? write(String(right.kind), line.replace('Never', 'Always')) : null),
    // Invents.
    () => write(String(right.kind), `${line} See https://wiki.example/${random.below(1_000)}.`),
    () => write(String(right.kind), `${line.replace(/\.$/, '')} on port ${9_000 + random.below(900)}.`),
    () => (line.startsWith('Always') ? write(String(right.kind), line.replace('Always', 'Never')) : null),
  ])();
}

/**
 * A habit that one session showed as if another one were the same: in the place of its line, under either's words, or two
 * of one night in one line. Null where no other is near.
 */
export function asOneHabit(
  right: Sent,
  { id, fate }: Kept,
  { random, idOf, tonight }: { random: Random; idOf(text: string): string | undefined; tonight: Kept[] },
): Sent | null {
  const { line = '', topic, alike } = fate;
  if (topic !== 'ways-of-working' || right.kind !== 'add') return null;
  const fellow = tonight.find((other) => other.id !== id && other.fate.topic === topic && other.fate.kind === 'add');
  if (fellow && random.below(2) === 0) {
    const entries = [id, fellow.id];
    return { ...right, entries, lines: [{ text: random.pick([line, String(fellow.fate.line)]), entries }] };
  }
  const standing = alike.filter((text) => idOf(text) !== undefined);
  if (standing.length === 0) return null;
  const other = random.pick(standing);
  return {
    ...right,
    kind: 'merge',
    lines: [{ text: random.pick([line, other]), entries: [id] }],
    replaces: [idOf(other)],
  };
}
