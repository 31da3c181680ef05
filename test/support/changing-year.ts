// A year of nights through the real job and the SDK against a loopback model, by the script of a person who changes. The model
// proposes what the script says is right; where it is sloppy, first something else, which a blind one sends again with the
// answer that lets it pass, whatever it is asked. What code said of either is counted.

import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import { isTopicPath, parseTopic } from '../../src/memory/text/topic.ts';
import { changingPerson, type Fate } from './changing-person.ts';
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

/** Behind the words of a line. */
const STANDS_AS = /^ stands there already as (\w{8})\./;

function linesOf(asked: string): string[] {
  const texts: string[] = [];
  JSON.parse(asked, (_, value) => (typeof value === 'string' ? texts.push(value) : value));
  return texts.join('\n').split('\n');
}

/** What answers all that code asks: that what it names is over. */
function answerTo(asked: string): { over?: string[] } {
  const lost = [
    ...linesOf(asked)
      .join('\n')
      .matchAll(/ says (".*?"), and no line would any more/g),
  ];
  const over = lost.flatMap(([, list]) => JSON.parse(`[${list}]`) as string[]);
  return over.length > 0 ? { over } : {};
}

type Kept = { id: string; fate: Fate };
export type Sent = Record<string, unknown>;

/** The right operation for an entry, with the ids of the lines that the request shows. */
function rightly({ id, fate }: Kept, idOf: (text: string) => string | undefined, isNew: boolean): Sent {
  const { kind, topic, type, old, line } = fate;
  const replaced = old === undefined ? undefined : idOf(old);
  const put = {
    ...{ kind: 'put', topic, reason: 'As it is now.' },
    ...(isNew && { type, description: `About ${topic.replaceAll('-', ' ')}` }),
  };
  const drop = { kind: 'drop', entries: [id], reason: 'As it is now.' };
  const lines = [{ text: line, entries: [id] }];
  // Of a line that is not there, nothing is to be taken out, and it is to be written.
  if (kind === 'retire') {
    if (replaced === undefined) return { ...drop, because: 'ephemeral' };
    return { kind: 'put', entries: [id], out: [replaced], over: [old], reason: 'As it is now.' };
  }
  if (kind === 'duplicate') {
    if (replaced === undefined) return { ...put, in: [{ text: old, entries: [id] }] };
    return { ...drop, because: 'duplicate', of: replaced };
  }
  if (kind === 'add' || replaced === undefined) return { ...put, in: lines };
  return { ...put, in: lines, out: [replaced], ...(kind === 'supersede' && { over: [old] }) };
}

/** The ids of the entries that an operation is about. */
function entriesOf(sent: Sent): string[] {
  const lines = (sent.in ?? []) as { entries: string[] }[];
  return [...lines.flatMap(({ entries }) => entries), ...((sent.entries ?? []) as string[])];
}

export type Year = Awaited<ReturnType<typeof liveThrough>>;

export async function liveThrough(
  { nights, seed, isBlind = false }: { nights: number; seed: number; isBlind?: boolean },
  sloppy: (right: Sent, kept: Kept, idOf: (text: string) => string | undefined, tonight: Kept[]) => Sent | null,
) {
  const script = changingPerson(BEGIN, nights, seed);
  const fates = new Map<string, Fate>();
  let sent = 0;
  let tonight: Proposed[] = [];
  /** What code said of the first call of the night. */
  let told: string[] | undefined;
  /** What was wrong, and is not sent again yet; by entry. */
  const insisted = new Map<string, Sent>();
  /** What the model proposed at its first call of a night, and what code said of it. */
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
    if (isAgain) told ??= linesOf(asked);
    if (isAgain && entries.length === 0) return says('Done.');
    const operations: Sent[] = [];
    for (const { id } of entries) {
      if (operations.some((each) => entriesOf(each).includes(id))) continue;
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
      if (again) operations.push({ ...again, ...('out' in again && answer) });
      else operations.push(wrong ?? right);
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
    [tonight, told] = [[], undefined];
    const report = await jobs.dream();
    proposed.push(...withProblems(tonight, told ?? []));
    outcomes.push(report.outcome);
    refused?.push(...report.refused);
    left?.push(...report.left.map(({ reason }) => reason));
  }
  const paths = readdirSync(dir).filter(isTopicPath);
  const lines = paths.flatMap((path) =>
    parseTopic(path, readFileSync(join(dir, path), 'utf8')).lines.map(({ text }) => ({ path, text })),
  );
  const files = paths.map((path) => readFileSync(join(dir, path), 'utf8')).join('\n');
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
  const write = (text: string, more: object = {}) => ({ ...right, in: [{ text, entries: [id] }], ...more });
  const isMerge = fate.kind !== 'add' && fate.kind !== 'supersede';
  if (right.kind !== 'put' || isMerge) return null;
  return random.pick<() => Sent | null>([
    // Puts two things into one line.
    () => (otherId ? write(`${line.replace(/\.$/, '')}, and ${other}`, { topic, out: [otherId] }) : null),
    // Takes a line for another thing's.
    () => (otherId ? write(line, { topic, out: [otherId] }) : null),
    // Drops a value, or the word that denies.
    () => (/\d{4}|`/.test(line) ? write(line.replace(/ (?:port )?\d{4}|`\w+`/, ' it')) : null),
    () => (line.startsWith('Never') ? write(line.replace('Never', 'Always')) : null),
    // Invents.
    () => write(`${line} See https://wiki.example/${random.below(1_000)}.`),
    () => write(`${line.replace(/\.$/, '')} on port ${9_000 + random.below(900)}.`),
    () => (line.startsWith('Always') ? write(line.replace('Always', 'Never')) : null),
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
  if (topic !== 'ways-of-working' || right.kind !== 'put' || 'out' in right) return null;
  const fellow = tonight.find((other) => other.id !== id && other.fate.topic === topic && other.fate.kind === 'add');
  if (fellow && random.below(2) === 0) {
    const entries = [id, fellow.id];
    return { ...right, in: [{ text: random.pick([line, String(fellow.fate.line)]), entries }] };
  }
  const standing = alike.filter((text) => idOf(text) !== undefined);
  if (standing.length === 0) return null;
  const other = random.pick(standing);
  return { ...right, in: [{ text: random.pick([line, other]), entries: [id] }], out: [idOf(other)] };
}
