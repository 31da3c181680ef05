import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { sortTurns } from '../../../jobs/extract/sort-turns.ts';
import { listFiles } from '../../../src/base/files/directories.ts';
import { coverageWhere } from '../../../src/memory/ledger/coverage.ts';
import { allEntries, indexLines } from '../../../src/memory/ledger/entries.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { sized } from '../../support/depth.ts';
import { type JobsInProcess, jobsInProcess } from '../../support/jobs-in-process.ts';
import { aSession, type SessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const SESSIONS = sized({ quick: 18, deep: 50 });
const SESSIONS_A_DREAM = sized({ quick: 6, deep: 10 });
const EARLY = 2 * SESSIONS_A_DREAM;
const SUBJECTS = ['parser', 'scheduler', 'invoice', 'gateway', 'renderer', 'mailer', 'archive', 'planner', 'crawler'];

/** Fifty sessions, five dreams (the small size: eighteen and three); `early` is a copy of the ledger after two dreams. */
let original: { dir: string; early: string; sessions: SessionFile[] };

beforeAll(async () => {
  const dir = tempDir();
  const early = tempDir();
  const transcripts = tempDir();
  const jobs = await jobsInProcess(dir);
  const sessions: SessionFile[] = [];
  for (let n = 0; n < SESSIONS; n += 1) {
    const session = sessionOf(transcripts, n);
    sessions.push(session);
    expect((await jobs.extract(session.path)).error).toBeUndefined();
    if ((n + 1) % SESSIONS_A_DREAM === 0) expect((await jobs.dream()).outcome).toBe('dreamed');
    if (n + 1 === EARLY) {
      jobs.store.ledger.run('pragma wal_checkpoint(truncate)');
      cpSync(join(dir, '.nocturne/ledger.db'), join(early, 'ledger.db'));
    }
  }
  jobs.close();
  original = { dir, early, sessions };
});

/** Every fifth session says nothing worth keeping; every seventh says the same again. */
function sessionOf(dir: string, n: number): SessionFile {
  const id = `${String(n).padStart(4, '0')}1111-2222-4333-8444-555555555555`;
  const day = String(1 + (n % 20)).padStart(2, '0');
  const session = aSession(['Look at the failing build.'], { dir, id, startsAt: `2026-11-${day}T09:00:00Z` });
  if (n % 5 !== 0) session.add(`Never restart the ${SUBJECTS[n % SUBJECTS.length]}-${n} cluster by hand.`);
  session.add('What does this file do?');
  if (n % 5 !== 0 && n % 7 === 0) session.add('Always use pnpm instead of npm.');
  session.add('Run the tests again.');
  return session;
}

/** A copy of the directory, to be damaged. */
function copy(): string {
  const dir = tempDir();
  cpSync(original.dir, dir, { recursive: true, preserveTimestamps: true });
  return dir;
}

function loseLedger(dir: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(join(dir, `.nocturne/ledger.db${end}`), { force: true });
}

async function open(dir: string): Promise<JobsInProcess> {
  const jobs = await jobsInProcess(dir, '2026-11-22T02:00:00Z');
  return jobs;
}

async function extractAll(jobs: JobsInProcess) {
  const reports = [];
  for (const session of original.sessions) reports.push(await jobs.extract(session.path));
  return reports;
}

/** The Markdown of the directory, logs and topics and index. */
async function remembered(dir: string): Promise<Record<string, string>> {
  const files = (await listFiles(dir)).filter((path) => path.endsWith('.md') && !path.startsWith('.nocturne/'));
  return Object.fromEntries(files.map((path) => [path, readFileSync(join(dir, path), 'utf8')]));
}

function ids(files: Record<string, string>): string[] {
  return Object.values(files).flatMap((text) => [...text.matchAll(/<!-- (e_\w+)/g)].map((match) => match[1] as string));
}

function states(jobs: JobsInProcess) {
  return Object.fromEntries(allEntries(jobs.store.ledger).map(({ id, state }) => [id, state]));
}

function supports(jobs: JobsInProcess) {
  return jobs.store.ledger.all('select path, line, entry from support order by path, line, entry');
}

async function before(): Promise<JobsInProcess> {
  return open(copy());
}

test('a lost ledger is rebuilt: states, supports and index lines as before, no entry twice, nothing distilled twice', async () => {
  const known = await before();
  const dir = copy();
  const files = await remembered(dir);
  loseLedger(dir);
  const jobs = await open(dir);
  expect(states(jobs)).toEqual(states(known));
  expect(supports(jobs)).toEqual(supports(known));
  expect(indexLines(jobs.store.ledger)).toEqual(indexLines(known.store.ledger));

  // The first look at a session asks only about what left no trace; the second asks nothing.
  const first = await extractAll(jobs);
  expect(first.flatMap((report) => report.entries)).toEqual([]);
  expect(first.filter((report) => report.outcome === 'nothing-worth-keeping')).toHaveLength(SESSIONS);
  const again = await extractAll(jobs);
  expect(again.every((report) => report.outcome === 'nothing-new' && report.spend.calls === 0)).toBe(true);
  expect(await jobs.dream()).toMatchObject({ outcome: 'nothing-new', operations: [], spend: { calls: 0 } });
  expect(await remembered(dir)).toEqual(files);
  expect(new Set(ids(files)).size).toBe(ids(files).length);
  expect(ids(files)).toHaveLength(allEntries(jobs.store.ledger).length);
});

test('only turns after a session’s newest entry are offered again, and the turns before it become assumed', async () => {
  const dir = copy();
  loseLedger(dir);
  const jobs = await open(dir);
  const session = original.sessions[7] as SessionFile;
  const sorted = await sortTurns(await openSession(session.path), {
    ledger: jobs.store.ledger,
    memories: [dir],
    ended: true,
    now: new Date(),
    quietMs: 0,
    reopened: new Set(),
  });
  expect([...sorted.pending.keys()]).toEqual([session.turn(5)]);
  expect(sorted.shown.map((item) => [item.turn.id, item.offeredFrom])).toEqual([
    [session.turn(2), null],
    [session.turn(3), null],
    [session.turn(4), null],
    [session.turn(5), session.turn(5)],
  ]);
  const report = await jobs.extract(session.path);
  expect(report.coverage).toEqual([
    { from: session.turn(1), to: session.turn(4), became: 'assumed' },
    { from: session.turn(5), to: session.turn(5), became: 'nothing' },
  ]);
});

test('what was assumed is extracted again by reprocess, and each entry stays once', async () => {
  const dir = copy();
  const files = await remembered(dir);
  loseLedger(dir);
  const jobs = await open(dir);
  const session = original.sessions[7] as SessionFile;
  await jobs.extract(session.path);
  const [report] = await jobs.reprocess({ session: session.id });
  expect(report).toMatchObject({ outcome: 'recorded' });
  expect(report?.entries).toHaveLength(2);
  expect(coverageWhere(jobs.store.ledger, { session: session.id }).map((row) => row.disposition)).not.toContain(
    'assumed',
  );
  expect(await remembered(dir)).toEqual(files);
});

test('without its transcript’s place a session of a rebuilt ledger is named, and what to do', async () => {
  const dir = copy();
  loseLedger(dir);
  const jobs = await open(dir);
  const session = original.sessions[7] as SessionFile;
  const [report] = await jobs.reprocess({ session: session.id });
  expect(report?.outcome).toBe('transcript-gone');
  expect(report?.error?.message).toContain(`session ${session.id}`);
  expect(report?.error?.message).toContain('nocturne extract TRANSCRIPT');
});

test('the assumption holds for a resumed copy under another id too, which offers its new turn alone', async () => {
  const dir = copy();
  const files = await remembered(dir);
  loseLedger(dir);
  const jobs = await open(dir);
  const session = original.sessions[7] as SessionFile;
  const resumed = join(tempDir(), '99999999-2222-4333-8444-555555555555.jsonl');
  writeFileSync(
    resumed,
    readFileSync(session.path, 'utf8').replaceAll(session.id, '99999999-2222-4333-8444-555555555555'),
  );
  const report = await jobs.extract(resumed);
  expect(report).toMatchObject({ outcome: 'nothing-worth-keeping', entries: [] });
  expect(report.coverage.map((range) => range.became)).toEqual(['assumed', 'nothing']);
  expect((await jobs.extract(resumed)).spend.calls).toBe(0);
  expect(await remembered(dir)).toEqual(files);
});

test('a day of a rebuilt ledger is extracted again without the turns of other days', async () => {
  const dir = copy();
  loseLedger(dir);
  const jobs = await open(dir);
  const session = original.sessions[7] as SessionFile;
  await jobs.extract(session.path);
  jobs.store.ledger.run("update coverage set through_message = '' where turn = ?", session.turn(4));
  jobs.store.ledger.run("update coverage set day = '2026-10-01' where turn = ?", session.turn(2));
  const [report] = await jobs.reprocess({ day: '2026-10-01' });
  expect(report?.entries.map((entry) => entry.turn)).toEqual([session.turn(2)]);
});

test('a ledger older than the files learns what they know, and what it knew stays', async () => {
  const known = await before();
  const dir = copy();
  const files = await remembered(dir);
  loseLedger(dir);
  cpSync(join(original.early, 'ledger.db'), join(dir, '.nocturne/ledger.db'));
  const jobs = await open(dir);
  expect(states(jobs)).toEqual(states(known));
  expect(supports(jobs)).toEqual(supports(known));
  expect(indexLines(jobs.store.ledger)).toEqual(indexLines(known.store.ledger));
  const reports = await extractAll(jobs);
  expect(reports.flatMap((report) => report.entries)).toEqual([]);
  // The first twenty sessions are known to their ends.
  expect(reports.slice(0, EARLY).every((report) => report.spend.calls === 0)).toBe(true);
  expect((await jobs.dream()).operations).toEqual([]);
  expect(await remembered(dir)).toEqual(files);
});

test('without reports the entries are new to the next dream, and no line comes to stand twice', async () => {
  const dir = copy();
  const files = await remembered(dir);
  loseLedger(dir);
  rmSync(join(dir, '.nocturne/dreams'), { recursive: true });
  const jobs = await open(dir);
  expect(new Set(Object.values(states(jobs)))).toEqual(new Set(['new']));
  await extractAll(jobs);
  expect((await jobs.dream()).outcome).toBe('dreamed');
  expect(await remembered(dir)).toEqual(files);
});

test('an entry that a person changed before the ledger was lost is told to the next dream, alone', async () => {
  const dir = copy();
  const log = join(dir, 'logs/2026/11/2026-11-03.md');
  writeFileSync(
    log,
    readFileSync(log, 'utf8').replace(/Never restart the (\S+) cluster/, 'Never restart the $1 fleet'),
  );
  loseLedger(dir);
  const jobs = await open(dir);
  const changed = allEntries(jobs.store.ledger).filter((entry) => entry.state === 'new');
  expect(changed.map((entry) => [entry.text.includes('fleet'), entry.evidence])).toEqual([[true, []]]);
  expect((await extractAll(jobs)).flatMap((report) => report.entries)).toEqual([]);
  const report = await jobs.dream();
  expect(report.operations.flatMap((operation) => operation.entries)).toEqual(changed.map((entry) => entry.id));
  const topics = Object.values(await remembered(dir)).join('');
  expect(topics.match(/fleet/g)).toHaveLength(2);
});

test('the lines of a log that is gone stay, also where the ledger is gone with it', async () => {
  const intact = copy();
  const dir = copy();
  for (const each of [intact, dir]) rmSync(join(each, 'logs/2026/11/2026-11-03.md'));
  loseLedger(dir);
  const [known, jobs] = [await open(intact), await open(dir)];
  expect(supports(jobs)).toEqual(supports(known));
  const before = await remembered(intact);
  expect((await known.dream()).operations).toEqual([]);
  expect((await jobs.dream()).operations).toEqual([]);
  expect(await remembered(dir)).toEqual(await remembered(intact));
  expect(await remembered(dir)).toEqual(before);
  expect(supports(jobs)).toEqual(supports(known));
  expect(await known.store.missing()).toEqual(['logs/2026/11/2026-11-03.md']);
  expect(await jobs.store.missing()).toEqual(['logs']);
  // What comes back is known by what it says again.
  cpSync(join(original.dir, 'logs'), join(dir, 'logs'), { recursive: true });
  expect((await jobs.dream()).operations).toEqual([]);
  expect(await jobs.store.missing()).toEqual([]);
});

test('logs that are all gone with the ledger take no line with them, and are named', async () => {
  const dir = copy();
  rmSync(join(dir, 'logs'), { recursive: true });
  loseLedger(dir);
  const jobs = await open(dir);
  const before = await remembered(dir);
  expect(await jobs.dream()).toMatchObject({ outcome: 'nothing-new', operations: [] });
  expect(await remembered(dir)).toEqual(before);
  expect(await jobs.store.missing()).toEqual(['logs']);
});

test('what another machine extracted and dreamed is known when its files come in', async () => {
  const dir = copy();
  for (const path of await listFiles(dir)) if (!path.startsWith('.nocturne/ledger')) rmSync(join(dir, path));
  loseLedger(dir);
  const jobs = await open(dir);
  for (const name of ['logs', '.nocturne/dreams', 'MEMORY.md'])
    cpSync(join(original.dir, name), join(dir, name), { recursive: true });
  for (const path of Object.keys(await remembered(original.dir)))
    if (!path.includes('/')) cpSync(join(original.dir, path), join(dir, path));
  expect(await jobs.dream()).toMatchObject({ outcome: 'nothing-new', operations: [] });
  expect(Object.values(states(jobs)).includes('new')).toBe(false);
});

test('a report with rows that are none, and a person’s new line, break nothing', async () => {
  const dir = copy();
  writeFileSync(join(dir, '.nocturne/dreams/2026-11-01.json'), '[1, {"job":"x"}, null]');
  writeFileSync(join(dir, '.nocturne/dreams/2026-11-02.json'), 'not JSON');
  appendFileSync(join(dir, 'logs/2026/11/2026-11-03.md'), '- **user** Works on Linux.\n');
  loseLedger(dir);
  const jobs = await open(dir);
  expect(allEntries(jobs.store.ledger).some((entry) => entry.text.includes('Linux'))).toBe(false);
  expect((await jobs.dream()).operations.map((operation) => operation.kind)).toEqual(['add']);
});
