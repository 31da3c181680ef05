// A year of nights with a person who changes: minds, ports, rules, owners, states of things, plans; who says things again in
// other words, and near but different ones. Once with a model that proposes what the script says is right, once with a
// sloppy one that first proposes something else.

import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import { beforeAll, describe, expect, test } from 'vitest';
import { seenOnceOn, withoutMark } from '../../../src/memory/text/seen-once.ts';
import { isTopicPath, parseTopic } from '../../../src/memory/text/topic.ts';
import { changingPerson, type Fate, type Script } from '../../support/changing-person.ts';
import { sized } from '../../support/depth.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { calls, says, startMessagesServer } from '../../support/messages-server.ts';
import { entriesShown, shown } from '../../support/obedient.ts';
import { seeded } from '../../support/random.ts';
import { record } from '../../support/recorded.ts';
import { fastTempDir } from '../../support/temp.ts';

const NIGHTS = sized({ quick: 120, deep: 365 });
const BEGIN = new Date('2026-01-02T03:00:00Z');
const PERSONS = ['Ask me before anything is deleted.', 'The harbour master has the keys.'];

interface Year {
  script: Script;
  outcomes: string[];
  requests: number;
  refused: string[];
  left: string[];
  lines: { path: string; text: string }[];
  files: string;
}

type Kept = { id: string; fate: Fate };
type Sent = Record<string, unknown>;

/** The right operation for an entry, with the ids of the lines that the request shows. */
function rightly({ id, fate }: Kept, idOf: (text: string) => string | undefined, isNew: boolean): Sent {
  const { kind, topic, type, old, line } = fate;
  const replaced = old === undefined ? undefined : idOf(old);
  const into = { topic, ...(isNew && { type, description: `About ${topic.replaceAll('-', ' ')}` }) };
  const lines = [{ text: line, entries: [id] }];
  const common = { entries: [id], reason: 'As it is now.' };
  if (kind === 'duplicate') return { kind: 'drop', ...common, because: 'duplicate', of: replaced ?? 'none' };
  if (kind === 'retire') return { kind, ...common, replaces: [replaced ?? 'none'] };
  if (kind === 'add' || replaced === undefined) return { kind: 'add', ...common, ...into, lines };
  return { kind, ...common, ...into, lines, replaces: [replaced] };
}

async function liveThrough(
  seed: number,
  sloppy: (right: Sent, kept: Kept, idOf: (text: string) => string | undefined) => Sent | null,
): Promise<Year> {
  const script = changingPerson(BEGIN, NIGHTS, seed);
  const fates = new Map<string, Fate>();
  let sent = 0;
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
    const operations = entries.map(({ id }) => {
      const fate = fates.get(id) as Fate;
      const isThere = new RegExp(`^(?:### )?${fate.topic}(?:\\.md)? \\(`, 'm').test(known) || begun.has(fate.topic);
      if (fate.line) begun.add(fate.topic);
      const right = rightly({ id, fate }, idOf, !isThere);
      return (isAgain ? null : sloppy(right, { id, fate }, idOf)) ?? right;
    });
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
    const report = await jobs.dream();
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
  return { script, outcomes, requests: sent, refused: refused ?? [], left: left ?? [], lines, files };
}

const standingIn = ({ lines }: Year) => lines.map(({ text }) => text).filter((text) => seenOnceOn(text) === undefined);

describe('with a model that proposes what is right', () => {
  let year: Year;
  beforeAll(async () => {
    year = await liveThrough(20_261_122, () => null);
    console.info(
      `${NIGHTS} nights, ${year.requests} requests, ${year.refused.length} refusals, ${year.lines.length} lines, ${year.script.truths.length} truths`,
    );
    for (const why of new Set(year.refused)) console.info(why);
  }, 900_000);

  test('every night commits, and none leaves anything for another', () => {
    expect(new Set(year.outcomes)).toEqual(new Set(['dreamed']));
    expect(year.left).toEqual([]);
  });

  test('a night asks at most 1.1 times on average', () => {
    expect(year.requests / NIGHTS).toBeLessThanOrEqual(1.1);
  });

  test('every truth of the end stands in exactly one line, and nothing that was true before stands as if it were so', () => {
    const standing = standingIn(year);
    const counted = Map.groupBy(standing, (text) => text);
    const truths = new Set(year.script.truths);
    expect([...truths].filter((text) => counted.get(text)?.length !== 1)).toEqual([]);
    expect(standing.filter((text) => year.script.everTrue.has(text) && !truths.has(text))).toEqual([]);
  });

  test('what a person wrote is as they wrote it', () => {
    for (const text of PERSONS) expect(year.files).toContain(`- ${text}\n`);
  });
});

test('with a sloppy model, which merges what is not the same, loses and invents, nothing false enters', async () => {
  const random = seeded(7);
  const tried: Sent[] = [];
  const year = await liveThrough(4_711, (right, { id, fate }, idOf) => {
    if (random.below(3) > 0) return null;
    const wrong = spoil(right, { id, fate }, { random, idOf });
    if (wrong) tried.push(wrong);
    return wrong;
  });
  const known = new Set([...year.script.everTrue, ...PERSONS]);
  const unknown = year.lines.map(({ text }) => withoutMark(text)).filter((text) => !known.has(text));
  // Two statements that hold, of one tool or one place, in one line: no rule of code tells them from one.
  const joined = unknown.filter((text) => text.split(', and ').every((part) => known.has(part.replace(/\.?$/, '.'))));
  const wrong = unknown.filter((text) => !joined.includes(text));
  const lost = year.script.truths.filter((text) => !year.lines.some((line) => withoutMark(line.text) === text));
  console.info(
    `${tried.length} wrong operations, ${wrong.length} false lines, ${joined.length} of two statements, ${lost.length} of ${year.script.truths.length} truths lost, ${year.requests} requests in ${NIGHTS} nights`,
  );
  expect(tried.length).toBeGreaterThan(NIGHTS / 4);
  expect(wrong).toEqual([]);
  expect(joined.length).toBeLessThanOrEqual(tried.length / 50);
  for (const text of PERSONS) expect(year.files).toContain(`- ${text}\n`);
  expect(new Set(year.outcomes)).toEqual(new Set(['dreamed']));
}, 900_000);

/** Something a model might propose in the place of what is right; null where nothing is to be spoilt. */
function spoil(
  right: Sent,
  { id, fate }: Kept,
  { random, idOf }: { random: ReturnType<typeof seeded>; idOf(text: string): string | undefined },
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
