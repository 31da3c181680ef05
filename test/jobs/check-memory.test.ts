import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, expect, test } from 'vitest';
import { type CheckReport, checkMemory } from '../../jobs/check-memory.ts';
import { thisProcess } from '../../src/base/process.ts';
import { fixedClock } from '../../src/base/time.ts';
import { indexChange } from '../../src/memory/dream/index-change.ts';
import { explainLines } from '../../src/memory/dream/provenance.ts';
import { restoreVersion } from '../../src/memory/history/versions.ts';
import { allEntries } from '../../src/memory/ledger/entries.ts';
import { releaseLease, takeLease } from '../../src/memory/ledger/job-rows.ts';
import { openStore } from '../../src/memory/open.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { copyBefore } from '../support/before.ts';
import { type JobsInProcess, jobsInProcess } from '../support/jobs-in-process.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { closeBefore, tempDir } from '../support/temp.ts';

const LOG = 'logs/2026/11/2026-11-20.md';
const TOPIC = 'working-agreements.md';
const clock = fixedClock('2026-11-22T02:00:00Z');

/** A directory after one extraction and one dream. */
let original: string;

beforeAll(async () => {
  original = tempDir();
  const jobs = await jobsInProcess(original);
  const session = aSession([
    'Always use pnpm instead of npm.',
    'I prefer short answers.',
    'Never commit to main directly.',
  ]);
  await jobs.extract(session.path);
  await jobs.dream();
  jobs.close();
});

function copy(): string {
  const dir = tempDir();
  cpSync(original, dir, { recursive: true });
  // The copy of a directory has the mode that every new one gets here.
  for (const item of readdirSync(dir, { recursive: true, withFileTypes: true }))
    if (item.isDirectory()) chmodSync(join(item.parentPath, item.name), 0o700);
  return dir;
}

async function check(dir: string, repair = false): Promise<CheckReport['findings']> {
  const { findings } = await checkMemory(
    { dir, repair },
    {
      clock,
      async openStore(at) {
        const store = await openStore(at, { clock });
        closeBefore(() => store.close());
        return store;
      },
      async withLease(store, key, work) {
        const owner = `${thisProcess()}/check`;
        const lease = takeLease(store.ledger, { key, owner, now: clock.now(), ttlMs: 60_000 });
        if (!lease) return null;
        return work(lease).finally(() => releaseLease(store.ledger, lease));
      },
    },
  );
  return findings;
}

async function withStore<T>(dir: string, work: (store: Store) => T | Promise<T>): Promise<T> {
  const store = await openStore(dir, { clock });
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

const statesIn = (dir: string) =>
  withStore(dir, ({ ledger }) => allEntries(ledger).map(({ id, state }) => [id, state]));

/** Another session, and what a dream makes of it. */
async function goOn(dir: string): Promise<JobsInProcess> {
  const jobs = await jobsInProcess(dir);
  const session = aSession(['Always sign your commits.'], { id: '33333333-2222-4333-8444-555555555555' });
  expect((await jobs.extract(session.path)).error).toBeUndefined();
  expect((await jobs.dream()).outcome).toBe('dreamed');
  return jobs;
}

function change(dir: string, path: string, edit: (text: string) => string): void {
  const before = readFileSync(join(dir, path), 'utf8');
  const after = edit(before);
  if (after === before) throw new Error(`the edit of ${path} changes nothing`);
  writeFileSync(join(dir, path), after);
}

function add(dir: string, path: string, text: string): void {
  writeFileSync(join(dir, path), text, { mode: 0o600 });
}

const BROKEN_REPORT = '.nocturne/dreams/2026-11-19.json';
const LEFTOVER = '.nocturne/aside/new.1.tmp';
const files = (dir: string) =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/ledger/.test(path))
    .sort();

test('a directory in which nothing is wrong has no findings, and looking changes nothing', async () => {
  const dir = copy();
  const before = files(dir)
    .filter((path) => path.endsWith('.md'))
    .map((path) => readFileSync(join(dir, path), 'utf8'));
  expect(await check(dir)).toEqual([]);
  expect(await check(dir, true)).toEqual([]);
  expect(
    files(dir)
      .filter((path) => path.endsWith('.md'))
      .map((path) => readFileSync(join(dir, path), 'utf8')),
  ).toEqual(before);
});

test('an index in the order in which topics were used is as it should be, also once others were used since', async () => {
  const dir = tempDir();
  const store = await openStore(dir, { clock });
  const names = Array.from({ length: 260 }, (_, at) => `topic-${String(at).padStart(3, '0')}`);
  await store.commit({ actor: 'person' }, () => ({
    files: names.map((name) => ({
      path: `${name}.md`,
      change: () => `---\nname: ${name}\ndescription: About ${name}\ntype: project\n---\n- A line of ${name}\n`,
    })),
  }));
  await store.recalls.use({ used: ['topic-250.md', 'topic-255.md'], now: clock.now() });
  await store.commit({ actor: 'job:dream' }, () => {
    const index = indexChange(store);
    return { files: [index.memory, ...index.overflow()], rows: (transaction) => void index.finish(transaction) };
  });
  const index = (await store.read('MEMORY.md')) ?? '';
  expect(index.indexOf('topic-250.md')).toBeLessThan(index.indexOf('topic-000.md'));
  expect(await store.read('index/project.md')).toContain('topic-251.md');
  await store.recalls.use({ used: ['topic-251.md', 'topic-003.md'], now: clock.now() });
  store.close();
  expect(await check(dir)).toEqual([]);
});

test('what a program of a person’s wrote readable in a directory that is closed to others is fine', async () => {
  const dir = copy();
  add(dir, 'notes.md', '- Theirs.\n');
  chmodSync(join(dir, 'notes.md'), 0o644);
  symlinkSync('notes.md', join(dir, 'other-name.md'));
  expect(await check(dir)).toMatchObject([{ kind: 'index-line' }]);
});

type Damage = (dir: string) => void | Promise<void>;
const changed =
  (path: string, edit: (text: string) => string): Damage =>
  (dir) =>
    change(dir, path, edit);
const added =
  (path: string, text: string): Damage =>
  (dir) =>
    add(dir, path, text);
const inLedger =
  (sql: string): Damage =>
  (dir) =>
    withStore(dir, ({ ledger }) => void ledger.run(sql));

const mendable: [string, string, string, Damage][] = [
  [
    'a topic is called otherwise than its file',
    'name',
    TOPIC,
    changed(TOPIC, (text) => text.replace('name: working-agreements', 'name: rules # mine')),
  ],
  [
    'a line rests on an entry that nobody knows',
    'support',
    TOPIC,
    inLedger(
      `update support set entry = 'e_000000000000' where entry = (select min(entry) from support where path = '${TOPIC}')`,
    ),
  ],
  [
    'an index line was taken out',
    'index-line',
    'MEMORY.md',
    changed('MEMORY.md', (text) => text.replace(/^- Rules .*\n/m, '')),
  ],
  [
    'a topic’s description changed',
    'index-stale',
    'MEMORY.md',
    changed(TOPIC, (text) => text.replace(/^description: .*/m, 'description: How we work')),
  ],
  ['a topic was removed', 'index-stale', 'MEMORY.md', (dir) => rmSync(join(dir, TOPIC))],
  ['the index is gone', 'index-line', 'MEMORY.md', (dir) => rmSync(join(dir, 'MEMORY.md'))],
  [
    'more topics came than the index has room for',
    'index-line',
    'MEMORY.md',
    (dir) => {
      for (let n = 100; n < 350; n += 1)
        add(dir, `many-${n}.md`, `---\nname: many-${n}\ndescription: One of ${n}\ntype: project\n---\n- Fact ${n}.\n`);
    },
  ],
  [
    'others may read a directory',
    'mode',
    '.',
    (dir) => {
      for (const each of [dir, join(dir, TOPIC)]) chmodSync(each, 0o755);
    },
  ],
  ['an entry’s turn is not covered', 'coverage', '.nocturne/ledger.db', inLedger('delete from coverage')],
];

test.each(mendable)(
  'where %s it is found, and mended by a repair that removes no file',
  async (_, kind, where, damage) => {
    const dir = copy();
    await damage(dir);
    const before = files(dir);
    expect(await check(dir)).toContainEqual(
      expect.objectContaining({ kind, where, mend: expect.any(String), isMended: false }),
    );
    const after = await check(dir, true);
    expect(after).toContainEqual(expect.objectContaining({ kind, where, isMended: true }));
    expect(after.filter((finding) => !finding.isMended && finding.mend !== null)).toEqual([]);
    expect(files(dir)).toEqual(expect.arrayContaining(before));
    expect((await check(dir)).filter((finding) => finding.mend !== null)).toEqual([]);
  },
);

const forPeople: [string, string, string, Damage][] = [
  [
    'frontmatter cannot be read',
    'frontmatter',
    'odd.md',
    added('odd.md', '---\nname: odd\ndescription: a: b: [c\n---\n- x\n'),
  ],
  ['a topic has no type', 'type', 'odd.md', added('odd.md', '---\nname: odd\n---\n- x\n')],
  [
    'a pinned topic is called otherwise',
    'name',
    'odd.md',
    added('odd.md', '---\nname: even\ntype: user\npinned: true\n---\n- x\n'),
  ],
  [
    'a topic links what is not there',
    'link',
    'odd.md',
    added(
      'odd.md',
      '---\nname: odd\ntype: user\n---\n- See [[nowhere]] and [x](gone.md#top), not [y](https://example.org/a.md).\n',
    ),
  ],
  [
    'a hand-written index line links what is not there',
    'link',
    'MEMORY.md',
    changed('MEMORY.md', (text) => `${text}- [Old](old.md) — was here\n`),
  ],
  [
    'a line stands in two topics',
    'duplicate',
    'again.md',
    added('again.md', '---\nname: again\ntype: feedback\n---\n- Always use pnpm instead of npm.\n'),
  ],
  ['a topic outgrew a memory', 'size', 'big.md', added('big.md', `- ${'Much. '.repeat(20_000)}\n`)],
  ['a name is one that is left alone', 'left-alone', 'Plan: B.md', added('Plan: B.md', 'x\n')],
  ['a link leads out', 'left-alone', 'notes.md', (dir) => symlinkSync(join(original, TOPIC), join(dir, 'notes.md'))],
  [
    'the logs are a link that leads out',
    'left-alone',
    'logs',
    (dir) => {
      rmSync(join(dir, 'logs'), { recursive: true });
      symlinkSync(join(original, 'logs'), join(dir, 'logs'));
    },
  ],
  [
    'two names differ in case',
    'duplicate',
    'User-Profile.md',
    (dir) => cpSync(join(dir, 'user-profile.md'), join(dir, 'User-Profile.md')),
  ],
  ['an entry stands twice', 'duplicate', LOG, changed(LOG, (text) => text + text.slice(text.indexOf('- ')))],
  [
    'an entry is missing from its log',
    'missing-entry',
    LOG,
    changed(LOG, (text) => text.slice(0, text.lastIndexOf('\n- ') + 1)),
  ],
  ['a report cannot be read', 'report', BROKEN_REPORT, added(BROKEN_REPORT, '{')],
  ['a crash left a temporary file', 'leftover', LEFTOVER, added(LEFTOVER, 'x')],
  [
    'hand-written lines alone fill the index',
    'index-caps',
    'MEMORY.md',
    changed('MEMORY.md', (text) => text + 'More.\n'.repeat(300)),
  ],
  [
    'an overflow file is not needed',
    'overflow',
    'index/user.md',
    (dir) => {
      cpSync(join(dir, 'logs'), join(dir, 'index'), { recursive: true });
      add(dir, 'index/user.md', '# User\n');
    },
  ],
  ['a transcript’s place is not known', 'session', '.nocturne/ledger.db', inLedger('delete from session')],
];

test.each(forPeople)('where %s it is found and left to a person', async (_, kind, where, damage) => {
  const dir = copy();
  await damage(dir);
  expect(await check(dir, true)).toContainEqual(expect.objectContaining({ kind, where, mend: null, isMended: false }));
});

test.each<[string, string, (path: string) => void]>([
  [
    'is no database',
    'file is not a database',
    (path) => writeFileSync(path, 'not a database at all, but long enough to be read as a header '.repeat(20)),
  ],
  ['has a broken page', 'malformed', (path) => writeFileSync(path, breakPages(readFileSync(path)))],
  [
    'lacks a column',
    'memory.seen_bytes',
    (path) => {
      const db = new Database(path);
      db.exec('alter table memory drop column seen_bytes');
      db.close();
    },
  ],
])('a ledger that %s is named, and a repair keeps it aside and rebuilds it', async (_, what, damage) => {
  const dir = copy();
  const states = await statesIn(dir);
  const path = join(dir, '.nocturne/ledger.db');
  damage(path);
  const bytes = readFileSync(path);
  const [found, ...others] = await check(dir);
  expect(others).toEqual([]);
  expect(found).toMatchObject({ kind: 'ledger', where: '.nocturne/ledger.db', isMended: false });
  expect(found?.what).toContain(what);
  expect(readFileSync(path)).toEqual(bytes);
  const mended = await check(dir, true);
  expect(mended).toEqual([expect.objectContaining({ kind: 'ledger', isMended: true })]);
  expect(readFileSync(`${path}.broken-2026-11-22T02-00-00.000Z`)).toEqual(bytes);
  expect(await statesIn(dir)).toEqual(states);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

/** Every page behind the first, which holds the schema, reads as nonsense. */
function breakPages(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096, 0xab)]);
}

test('a damaged ledger of an earlier schema is refused as it is, and repaired like one of today', async () => {
  const { memory: dir } = copyBefore('ordinary');
  const path = join(dir, '.nocturne/ledger.db');
  const bytes = breakPages(readFileSync(path));
  writeFileSync(path, bytes);
  await expect(openStore(dir, { clock })).rejects.toMatchObject({
    code: 'storage',
    remedy: expect.stringContaining('check --repair'),
  });
  expect(readFileSync(path)).toEqual(bytes);
  expect(existsSync(`${path}.before-21`)).toBe(false);
  expect(await check(dir, true)).toEqual([expect.objectContaining({ kind: 'ledger', isMended: true })]);
  expect(await withStore(dir, (store) => allEntries(store.ledger).length)).toBe(3);
});

test('a directory whose topics are gone at once is not taken for tidied: nothing is mended', async () => {
  const dir = copy();
  const session = aSession(['The release deadline is 2026-12-04.'], { id: '22222222-2222-4333-8444-555555555555' });
  const jobs = await jobsInProcess(dir);
  await jobs.extract(session.path);
  expect((await jobs.dream()).topics).toHaveLength(3);
  jobs.close();
  for (const path of files(dir)) if (/^[a-z-]+\.md$/.test(path)) rmSync(join(dir, path));
  const index = readFileSync(join(dir, 'MEMORY.md'), 'utf8');
  const findings = await check(dir, true);
  expect(findings[0]).toMatchObject({ kind: 'wiped', mend: null });
  expect(findings.every((finding) => finding.mend === null && !finding.isMended)).toBe(true);
  expect(readFileSync(join(dir, 'MEMORY.md'), 'utf8')).toBe(index);
});

test('a repair waits for no dream: it says that one runs', async () => {
  const dir = copy();
  chmodSync(dir, 0o755);
  await withStore(dir, (store) =>
    takeLease(store.ledger, { key: 'dream', owner: `${thisProcess()}/d`, now: clock.now(), ttlMs: 60_000 }),
  );
  await expect(check(dir, true)).rejects.toMatchObject({ code: 'conflict' });
});

test('the command says where and what, prints JSON, and ends with 1 as long as findings remain', async () => {
  const dir = copy();
  const run = (...args: string[]) =>
    runHere(['check', '--memory', dir, ...args], { HOME: tempDir(), NOCTURNE_HOME: tempDir() });
  expect(await run()).toMatchObject({ code: 0, stdout: `${dir}: fine\n` });
  chmodSync(dir, 0o755);
  chmodSync(join(dir, TOPIC), 0o644);
  expect(await run()).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(`.: Other users may read ., ${TOPIC}.`),
  });
  const repaired = await run('--repair', '--json');
  expect(repaired.code).toBe(0);
  expect(JSON.parse(repaired.stdout)).toMatchObject({ memory: dir, findings: [{ kind: 'mode', isMended: true }] });
  expect((await run('--memory', join(dir, 'nowhere'))).code).toBe(1);
});

/** Changes a byte of what the ledger holds of a file. */
const hurt = (dir: string, path: string, where = 'id = (select head from memory where path = ?)') =>
  withStore(dir, ({ ledger }) =>
    ledger.run(
      `update version set content = cast(substr(content, 1, 20) || x'ff' || substr(content, 22) as blob) where ${where}`,
      path,
    ),
  );

test.each([LOG, TOPIC, 'MEMORY.md'])(
  'a damaged version of %s is named, healed from the file, and stops no dream',
  async (path) => {
    const dir = copy();
    // What was written long ago is not read again at every opening, which would heal it too.
    utimesSync(join(dir, path), new Date('2026-01-01'), new Date('2026-01-01'));
    await hurt(dir, path);
    expect(await check(dir)).toMatchObject([
      { kind: 'version', where: path, what: expect.stringContaining('the file itself is not meant'), isMended: false },
    ]);
    expect(await check(dir, true)).toMatchObject([{ kind: 'version', where: path, isMended: true }]);
    expect(await check(dir)).toEqual([]);
    await hurt(dir, path);
    (await goOn(dir)).close();
    expect(readFileSync(join(dir, TOPIC), 'utf8')).toContain('Always sign your commits.');
    expect(readFileSync(join(dir, path)).includes(0xff)).toBe(false);
  },
);

test('a damaged version that nothing else holds is marked as lost, and is neither shown nor restored', async () => {
  const dir = copy();
  change(dir, TOPIC, (text) => `${text}- Mine.\n`);
  await withStore(dir, () => {});
  const id = await withStore(
    dir,
    ({ ledger }) =>
      ledger.get("select id from version where path = ? and actor <> 'external' order by rowid desc", TOPIC)
        ?.id as string,
  );
  await hurt(dir, id, 'id = ?');
  await withStore(dir, (store) =>
    expect(restoreVersion(store, id)).rejects.toMatchObject({ remedy: expect.stringContaining('check --repair') }),
  );
  const [finding] = (await check(dir, true)).filter(({ kind }) => kind === 'version');
  expect(finding).toMatchObject({ mend: expect.stringContaining('lost'), isMended: true });
  await withStore(dir, (store) =>
    expect(restoreVersion(store, id)).rejects.toMatchObject({ message: expect.stringContaining('its text is lost') }),
  );
  expect((await check(dir)).filter(({ kind }) => kind === 'version')).toEqual([]);
});

test.each([
  ['removed', (path: string) => rmSync(path)],
  ['emptied', (path: string) => writeFileSync(path, '')],
  ['filled with zeros', (path: string) => writeFileSync(path, Buffer.alloc(300))],
  ['cut off', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, -40))],
  [
    'hit by a byte in the source of an entry',
    (path: string) =>
      writeFileSync(path, Buffer.from(readFileSync(path, 'latin1').replace('<!-- e_', '<!-\xff e_'), 'latin1')),
  ],
])('a log that was %s and then written again gets back what it held', async (_, damage) => {
  const dir = copy();
  const path = join(dir, LOG);
  const before = readFileSync(path, 'utf8');
  damage(path);
  const jobs = await goOn(dir);
  const ids = () => allEntries(jobs.store.ledger).map(({ id, state }) => `${id} ${state}`);
  expect(ids()).toHaveLength(4);
  const states = ids();
  jobs.close();
  expect(await check(dir, true)).toMatchObject([{ kind: 'missing-file', where: LOG, isMended: true }]);
  const log = readFileSync(path, 'utf8');
  expect(log.startsWith(before)).toBe(true);
  expect(log.slice(before.length)).toContain('Always sign your commits.');
  expect(log.match(/<!-- e_/g)).toHaveLength(4);
  const again = await jobsInProcess(dir);
  expect(await again.dream()).toMatchObject({ outcome: 'nothing-new', operations: [] });
  expect(allEntries(again.store.ledger).map(({ id, state }) => `${id} ${state}`)).toEqual(states);
  again.close();
  expect(await check(dir)).toEqual([]);
});

test('a line that a person changed after a dream wrote it is no finding, and its history is told', async () => {
  const dir = copy();
  change(dir, TOPIC, (text) => text.replace('Always use pnpm instead of npm.', 'Use yarn in the frontend.'));
  expect(await check(dir)).toEqual([]);
  change(dir, TOPIC, (text) => text.replace('Use yarn in the frontend.', 'Use bun in the frontend.'));
  await withStore(dir, async (store) => {
    const lines = await explainLines(store, { path: TOPIC });
    expect(lines.find(({ text }) => text.includes('bun'))).toMatchObject({
      isPersons: true,
      entries: [],
      changed: {
        actor: 'external',
        at: clock.now().toISOString(),
        text: 'Always use pnpm instead of npm.',
        entries: [{ evidence: [{ quote: 'Always use pnpm instead of npm.' }] }],
      },
    });
    expect(lines.find(({ text }) => text.includes('main directly'))).toMatchObject({ isPersons: false, changed: null });
  });
});
