// A year of nights through the real job and the SDK against a loopback model, by the script of a person who changes. The model
// proposes what the script says is right; where it is sloppy, first something else. What code said of either is counted.

import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import { isTopicPath, parseTopic } from '../../src/memory/text/topic.ts';
import { changingPerson, type Fate, type Script } from './changing-person.ts';
import { jobsInProcess } from './jobs-in-process.ts';
import { calls, says, startMessagesServer } from './messages-server.ts';
import { entriesShown, shown } from './obedient.ts';
import type { Random } from './random.ts';
import { record } from './recorded.ts';
import { fastTempDir } from './temp.ts';

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
  proposed: { isSpoilt: boolean; problems: string[] }[];
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
  { nights, seed }: { nights: number; seed: number },
  sloppy: (right: Sent, kept: Kept, idOf: (text: string) => string | undefined, tonight: Kept[]) => Sent | null,
): Promise<Year> {
  const script = changingPerson(BEGIN, nights, seed);
  const fates = new Map<string, Fate>();
  let sent = 0;
  let tonight: Year['proposed'] = [];
  const proposed: Year['proposed'] = [];
  const server = await startMessagesServer((request) => {
    sent += 1;
    const isAgain = request.messages.length > 1;
    const topics = shown(request, 'topics');
    const idOf = (text: string) =>
      topics
        .split('\n')
        .flatMap((row) => /^\[(\w{8})[^\]]*\] (.*)$/.exec(row)?.slice(1) ?? [])
        .reduce((found: string | undefined, part, at, all) => (part === text ? all[at - 1] : found), undefined);
    const known = `${topics}\n${shown(request, 'others')}`;
    const begun = new Set<string>();
    const asked = isAgain ? JSON.stringify(request.messages.at(-1)) : '';
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
      operations.push(wrong ?? right);
    }
    return calls('propose_operations', { operations });
  });
  const dir = fastTempDir();
  let now = BEGIN;
  const jobs = await jobsInProcess(dir, { now: () => now }, { all: { model: 'test-model', access: server.access } });
  const outcomes: string[] = [];
  const [refused, left]: string[][] = [[], []];
  for (const [night, said] of script.days.entries()) {
    now = addDays(BEGIN, night);
    const entries = await record(jobs.store, addDays(now, -0.5).toISOString(), said);
    for (const [at, { id }] of entries.entries()) fates.set(id, said[at]?.fate as Fate);
    if (night === 30) for (const text of PERSONS) appendFileSync(join(dir, 'owners.md'), `- ${text}\n`);
    tonight = [];
    const report = await jobs.dream();
    for (const problem of report.refused) {
      const told = tonight[Number(/^operations\[(\d+)\]/.exec(problem)?.[1] ?? -1)];
      if (told && told.problems.length === 0) told.problems.push(problem);
    }
    proposed.push(...tonight);
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

/** The checks of operations, by what they say. */
const CHECKS: Record<string, RegExp> = {
  'a value that nothing says': /^nothing that .* rests on says/,
  'a value of several lines': /mixes values/,
  'two values, or two things, in one line': /together, which/,
  'a merge of what says something else': /says something else than/,
  'a merge of opposites': /says the opposite of .*: supersede/,
  'a line against its entry': /says the opposite of/,
  'a denial left out': /leaves out what/,
  'a denial that nobody said': /rests on denies anything/,
  'a value that is lost': /its lines lose/,
  'what looks alike': /what looks alike is not the same/,
  'about something else': /is about something else/,
  'older than the line': /which is newer than these/,
  'only shown': /which one session only showed/,
  'beside what it denies': /denies .*supersede that/,
  'stands there already': /stands there already/,
  'a duplicate that is none': /as duplicate/,
  'gives way to nothing': /as gave-way|gives way to nothing/,
  'who said it': /not said by the user|speaks to an agent/,
  'no such line': /is in no topic|replaced by another/,
  'the topic': /does not exist yet|is of type|description says/,
  accounting: /more than one operation|no such entries|no line cites|cites/,
};

export interface CheckCount {
  check: string;
  /** How often it was the first to stop an operation that was wrong, and one that was right. */
  wrong: number;
  right: number;
}

/** How often each check stopped an operation, one that was spoilt or one that was right. */
export function countChecks(years: Pick<Year, 'proposed'>[]): {
  checks: CheckCount[];
  wrong: number;
  right: number;
  passed: number;
} {
  const all = years.flatMap(({ proposed }) => proposed);
  const names = [...Object.keys(CHECKS), 'another'];
  const counts = new Map(names.map((check) => [check, { check, wrong: 0, right: 0 }]));
  for (const { isSpoilt, problems } of all) {
    const [problem] = problems;
    if (problem === undefined) continue;
    const said = problem.replace(/^operations\[\d+\](?: \(\w+\))?: /, '');
    const name = names.find((check) => CHECKS[check]?.test(said)) ?? 'another';
    const count = counts.get(name) as CheckCount;
    if (isSpoilt) count.wrong += 1;
    // Where the line stands, by an operation that was let through, to add it once more is not right any more.
    else if (name !== 'stands there already') count.right += 1;
  }
  const spoilt = all.filter(({ isSpoilt }) => isSpoilt);
  return {
    checks: [...counts.values()].filter(({ wrong, right }) => wrong + right > 0),
    wrong: spoilt.length,
    right: all.length - spoilt.length,
    passed: spoilt.filter(({ problems }) => problems.length === 0).length,
  };
}
