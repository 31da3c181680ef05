// A year of nights over one memory (the small size: every third night of 120): about 5,000 entries, a model that is played
// in process, and a clock that goes on.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TopicSearch } from '../../../src/memory/dream/topic-table.ts';
import { allEntries } from '../../../src/memory/ledger/entries.ts';
import { rememberUses } from '../../../src/memory/recall/recall-uses.ts';
import { parseJsonReport, type ReportRow } from '../../../src/memory/text/dream-report.ts';
import { isArchivePath, isTopicPath, parseTopic } from '../../../src/memory/text/topic.ts';
import { sized } from '../../support/depth.ts';
import { type JobsInProcess, jobsInProcess } from '../../support/jobs-in-process.ts';
import { record, type Said } from '../../support/recorded.ts';
import { tempDir } from '../../support/temp.ts';
import { subjectOf, type TidyDreamer, tidyDreamer } from '../../support/tidy-dreamer.ts';

const NIGHTS = sized({ quick: 40, deep: 365 });
/** From one night to the next; what is due, and what nobody used, counts days. */
const DAYS = sized({ quick: 3, deep: 1 });
const PER_NIGHT = sized({ quick: 10, deep: 14 });
/** How many rules there are: one is said again after a hundred nights, in the small size after ten. */
const RULES = sized({ quick: 20, deep: 40 });
const BEGIN = new Date('2026-01-01T03:00:00Z');
const COLOURS = ['amber', 'azure', 'beige', 'coral', 'ebony', 'ivory', 'khaki', 'lilac', 'ochre', 'umber'];
const THINGS = [
  'billing',
  'catalog',
  'gateway',
  'indexer',
  'ledger',
  'mailer',
  'parser',
  'ranker',
  'search',
  'uploader',
];

interface Night {
  job: string;
  indexLines: number;
  indexBytes: number;
  entries: number;
  tokens: number;
  ms: number;
}

let now = BEGIN;
let jobs: JobsInProcess;
let dreamer: TidyDreamer;
const dir = tempDir();
const nights: Night[] = [];

/** The processor's time: other tests run beside. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** What is said on a day: new facts, facts that change, dates to be met, and what was said before. */
function saidOn(night: number): Said[] {
  return Array.from({ length: PER_NIGHT }, (_, index): Said => {
    const number = night * PER_NIGHT + index;
    const service = `${COLOURS[number % 10]} ${THINGS[Math.floor(number / 10) % 10]}`;
    const kind = index % 7;
    if (kind === 0) return { type: 'project', text: `The ${service} service listens on port ${4_000 + number}.` };
    if (kind === 1)
      return { type: 'reference', text: `The ${service} dashboard ${number % 300} is at https://d.example/${number}.` };
    if (kind === 2) {
      const due = addDays(BEGIN, night * DAYS + 20)
        .toISOString()
        .slice(0, 10);
      return { type: 'project', text: `The ${service} milestone ${number} is due by ${due}.` };
    }
    if (kind === 3)
      return { type: 'feedback', text: `The reviewer of ${service} wants tests of kind ${number % 450} first.` };
    if (kind === 4) return { type: 'user', text: `The preference ${number % 90} for ${service} is a short answer.` };
    if (kind === 5) return { type: 'project', text: `The ${service} team owns bucket-${number} alone.` };
    return { type: 'feedback', text: `The rule ${number % RULES} for ${service} is to keep it small.` };
  });
}

const topicOf = (subject: string, type: string) => {
  const words: string[] = subject.toLowerCase().match(/[a-z]+/g) ?? [];
  const nameIn = (names: string[]) => names.find((name) => words.includes(name));
  return `${type}-${nameIn(COLOURS)}-${nameIn(THINGS)}`;
};

beforeAll(async () => {
  dreamer = tidyDreamer(topicOf);
  jobs = await jobsInProcess(dir, { now: () => now }, { runAgent: dreamer.runAgent });
  for (let night = 0; night < NIGHTS; night++) {
    now = addDays(BEGIN, night * DAYS);
    const said = saidOn(night);
    await record(jobs.store, addDays(now, -0.5).toISOString(), said);
    if (night % 7 === 0) rememberUses(jobs.store.ledger, { used: [`project-${COLOURS[night % 10]}-gateway.md`], now });
    const before = dreamer.tokens.length;
    const from = cpuMs();
    const report = await jobs.dream();
    expect(report).toMatchObject({ outcome: 'dreamed' });
    nights.push({
      job: report.job as string,
      indexLines: report.indexLines,
      indexBytes: report.indexBytes,
      entries: said.length,
      tokens: dreamer.tokens.slice(before).reduce((sum, tokens) => sum + tokens, 0),
      ms: cpuMs() - from,
    });
  }
}, 900_000);

afterAll(() => jobs?.close());

function texts(): Map<string, string> {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' });
  const topics = paths.filter((path) => isTopicPath(path) || isArchivePath(path));
  return new Map(topics.map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
}

function reports(): ReportRow[] {
  const names = readdirSync(join(dir, '.nocturne/dreams')).filter((name) => name.endsWith('.json'));
  return names
    .sort()
    .flatMap((name) => parseJsonReport(readFileSync(join(dir, '.nocturne/dreams', name), 'utf8')) ?? []);
}

function mean(of: Night[], what: 'tokens' | 'ms'): number {
  return of.reduce((sum, night) => sum + night[what], 0) / of.length;
}

test('the index is within its caps every night', () => {
  expect(nights).toHaveLength(NIGHTS);
  expect(nights.filter(({ indexLines, indexBytes }) => indexLines > 200 || indexBytes > 25_000)).toEqual([]);
});

test('a night late in the year sends no more than one in spring', () => {
  const each = sized({ quick: 9, deep: 60 });
  const [spring, late] = [nights.slice(60 / DAYS, 60 / DAYS + each), nights.slice(-each)];
  const figures = [mean(spring, 'tokens'), mean(late, 'tokens'), mean(spring, 'ms'), mean(late, 'ms')];
  console.info(
    `${Math.round(cpuMs() / 1_000)} s of processor; tokens ${figures.slice(0, 2).map(Math.round)}, processor ms ${figures.slice(2).map(Math.round)} (spring, late)`,
  );
  expect(mean(late, 'tokens')).toBeLessThan(1.1 * mean(spring, 'tokens'));
});

test('every fact is still found, or a report names what became of it and why', () => {
  const entries = allEntries(jobs.store.ledger);
  expect(entries.length).toBeGreaterThan(sized({ quick: 360, deep: 5_000 }));
  const standing = [...texts().values()].join('\n');
  const told = Map.groupBy(reports(), (row) => row.entry);
  const lost = entries.filter(({ id, text }) => {
    const last = told.get(id)?.at(-1);
    const isExplained = last !== undefined && last.lines.length === 0 && last.reason !== '';
    return !standing.includes(text) && !isExplained && !isSuperseded(text, id);
  });
  expect(lost.map((entry) => entry.text)).toEqual([]);

  /** The row of the entry whose line took its place names the line that went. */
  function isSuperseded(text: string, id: string): boolean {
    const lines = new Set((told.get(id) ?? []).flatMap((row) => row.lines));
    const rows = [...told.values()].flat();
    return rows.some((row) => row.op === 'supersede' && row.gone?.some((line) => lines.has(line)) && text !== '');
  }
});

test('no subject has two lines, since the dream found the old one among all', () => {
  const lines = [...texts()].flatMap(([path, text]) => parseTopic(path, text).lines);
  const repeated = [...Map.groupBy(lines, (line) => subjectOf(line.text))].filter(([, list]) => list.length > 1);
  expect(repeated.map(([, list]) => list.map((line) => line.text))).toEqual([]);
});

test('past dates and what nobody used are in the archive, with the reason, and a search finds them', () => {
  const archived = [...texts()].filter(([path]) => isArchivePath(path));
  expect(archived.length).toBeGreaterThan(10);
  const rows = reports().filter((row) => row.op === 'archive');
  expect(new Set(rows.map((row) => row.reason.replace(/\d{4}-\d\d-\d\d/, 'DAY')))).toContain(
    'Its date, DAY, is more than 60 days past.',
  );
  const [path, text] = archived[0] as [string, string];
  const [line] = parseTopic(path, text).lines;
  expect(new TopicSearch(jobs.store.ledger).find(line?.text ?? '', 3)).toContainEqual(
    expect.objectContaining({ path, line: line?.id }),
  );
  expect(readFileSync(join(dir, 'MEMORY.md'), 'utf8')).not.toContain('archive/');
});

test('undoing a night in the middle in part restores what later nights do not rest on, and says what does', async () => {
  // It put something away, and what it wrote was said again later.
  const middle = sized({ quick: 29, deep: 180 });
  const night = nights[middle] as Night;
  const before = [...texts()].flatMap(([path, text]) =>
    parseTopic(path, text).lines.map((line) => `${path} ${line.text}`),
  );
  const report = await jobs.undo({ job: night.job, partial: true });
  expect(report.outcome).toBe('undone-in-part');
  expect(report.stays.length).toBeGreaterThan(0);
  for (const { by } of report.stays) expect(by.join()).toMatch(/dream|edit/);
  const after = [...texts()].flatMap(([path, text]) =>
    parseTopic(path, text).lines.map((line) => `${path} ${line.text}`),
  );
  const gone = before.filter((line) => !after.includes(line));
  expect(gone.length).toBeGreaterThan(0);
  const textOf = (line: string) => line.slice(line.indexOf(' ') + 1);
  const written = new Set(saidOn(middle).map(({ text }) => text));
  // Only what that night wrote goes; what it put away is back where it stood.
  const lost = gone.filter((line) => !written.has(textOf(line)) && !after.includes(line.replace(/^archive\//, '')));
  expect(lost).toEqual([]);
  expect(gone.filter((line) => line.startsWith('archive/')).length).toBeGreaterThan(0);
});
