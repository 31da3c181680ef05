import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { checkMemoryDirectory } from '../../../src/doors/doctor/examine.ts';
import { allEntries } from '../../../src/memory/ledger/entries.ts';
import { formatMissing } from '../../../src/memory/store/missing-files.ts';
import { type TestApp, testApp, testModel } from '../../support/app.ts';
import { says } from '../../support/messages-server.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const DAYS = ['2026-11-17', '2026-11-18', '2026-11-19', '2026-11-20'] as const;
const RULES = [
  'Always use pnpm instead of npm.',
  'Never commit to main directly.',
  'Always run the linter before pushing.',
  'Never force push to a shared branch.',
] as const;
const pathOf = (day: string) => `logs/2026/11/${day}.md`;
const LAST = pathOf('2026-11-20');
const closings: (() => void | Promise<void>)[] = [];

async function say(testing: TestApp, day: string, ...prompts: string[]): Promise<void> {
  const session = aSession(prompts, { id: crypto.randomUUID(), startsAt: `${day}T09:00:00Z` });
  expect((await testing.app.extract({ transcript: session.path, ended: true })).error).toBeUndefined();
}

/** A memory with one rule a day, each distilled. */
let original: string;
beforeAll(async () => {
  const testing = await testApp({ whenDone: (close) => void closings.push(close) });
  for (const [at, day] of DAYS.entries()) await say(testing, day, RULES[at] as string);
  expect((await testing.app.dream(testing.store, {})).outcome).toBe('dreamed');
  expect(topic(testing)).toEqual([...RULES].sort());
  original = testing.dir;
  for (const close of closings) await close();
});

async function fourDays(): Promise<TestApp> {
  const dir = tempDir();
  cpSync(original, dir, { recursive: true, preserveTimestamps: true });
  return testApp({ dir });
}

/** The lines of the one topic. */
function topic({ dir }: TestApp): string[] {
  const lines = readFileSync(join(dir, 'working-agreements.md'), 'utf8').split('\n');
  return lines.flatMap((line) => (line.startsWith('- ') ? line.slice(2) : [])).sort();
}

function states({ store }: TestApp): string[] {
  return allEntries(store.ledger).map(({ state }) => state);
}

const damages: [string, (path: string) => void][] = [
  ['removed', (path) => rmSync(path)],
  ['emptied', (path) => writeFileSync(path, '')],
  ['filled with zeros', (path) => writeFileSync(path, Buffer.alloc(readFileSync(path).length))],
  ['cut off in an entry', (path) => writeFileSync(path, readFileSync(path).subarray(0, -40))],
  ['cut off in a sentence', (path) => writeFileSync(path, readFileSync(path).subarray(0, 45))],
  [
    'replaced by a directory',
    (path) => {
      rmSync(path);
      mkdirSync(path);
    },
  ],
  [
    'hit by bytes that are no text',
    (path) => writeFileSync(path, Buffer.from(readFileSync(path, 'latin1').replace('<!-- e_', '<!-\xff e_'), 'latin1')),
  ],
];

test.each(damages)('a log that was %s takes no memory with it, and is named until it is back', async (_, damage) => {
  const testing = await fourDays();
  const path = join(testing.dir, LAST);
  const before = readFileSync(path);
  damage(path);
  const report = await testing.app.dream(testing.store, {});
  expect(report).toMatchObject({ outcome: 'nothing-new', operations: [] });
  expect(topic(testing)).toEqual([...RULES].sort());
  expect(states(testing)).toEqual(['distilled', 'distilled', 'distilled', 'distilled']);
  expect(await testing.store.missing()).toEqual([LAST]);
  expect(formatMissing(await testing.store.missing())).toMatchObject([
    { what: expect.stringContaining(LAST), keepsDreams: false },
  ]);
  expect(await checkMemoryDirectory(testing.dir)).toMatchObject([
    { state: 'fail', found: expect.stringContaining(LAST), remedy: expect.stringContaining('--accept-missing') },
  ]);
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, before);
  expect(await testing.store.missing()).toEqual([]);
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'nothing-new', operations: [] });
  expect(states(testing)).toEqual(['distilled', 'distilled', 'distilled', 'distilled']);
});

test('all logs gone, one of them begun anew by an extraction: no line is retired, and the new entry is distilled', async () => {
  const testing = await fourDays();
  rmSync(join(testing.dir, 'logs'), { recursive: true });
  await say(testing, '2026-11-20', 'Always sign your commits.');
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'dreamed' });
  const all = [...RULES, 'Always sign your commits.'].sort();
  expect(topic(testing)).toEqual(all);
  await testing.app.dream(testing.store, {});
  expect(topic(testing)).toEqual(all);
  expect(await testing.store.missing()).toEqual(DAYS.map(pathOf));
});

test('a log that was lost before its entries were distilled loses none of them', async () => {
  const testing = await testApp();
  await say(testing, '2026-11-20', RULES[0]);
  rmSync(join(testing.dir, LAST));
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'dreamed' });
  expect(topic(testing)).toEqual([RULES[0]]);
});

test('the loss of a day is taken as meant when a person says so, of that day alone, also where the log goes on', async () => {
  const testing = await fourDays();
  rmSync(join(testing.dir, 'logs'), { recursive: true });
  await say(testing, '2026-11-20', 'Always sign your commits.');
  await testing.app.dream(testing.store, {});
  await testing.app.dream(testing.store, { acceptMissing: ['2026-11-20', '2026-11-18'] });
  expect(topic(testing)).toEqual(['Always sign your commits.', RULES[2], RULES[0]].sort());
  expect(await testing.store.missing()).toEqual([pathOf('2026-11-17'), pathOf('2026-11-19')]);
  await testing.app.dream(testing.store, { acceptMissing: true });
  expect(topic(testing)).toEqual(['Always sign your commits.']);
  expect(await testing.store.missing()).toEqual([]);
});

test('lines that a person takes out of a log still go, one file or another being lost', async () => {
  const testing = await fourDays();
  await say(testing, '2026-11-20', 'Always sign your commits.');
  await testing.app.dream(testing.store, {});
  rmSync(join(testing.dir, pathOf('2026-11-18')));
  const path = join(testing.dir, LAST);
  const blocks = readFileSync(path, 'utf8').split(/^(?=- )/m);
  writeFileSync(path, blocks.filter((block) => !block.includes('sign your')).join(''));
  appendFileSync(path, '- **feedback** Never skip a test.\n');
  await testing.app.dream(testing.store, {});
  expect(topic(testing)).toEqual([...RULES, 'Never skip a test.'].sort());
});

const latin1 = '- **feedback** Every caf\xe9 has a menu.\n';

test('a byte that is no text, in a day’s log, stays as it is, and the day goes on around it', async () => {
  const testing = await testApp();
  await say(testing, '2026-11-20', RULES[0]);
  appendFileSync(join(testing.dir, LAST), Buffer.from(latin1, 'latin1'));
  await say(testing, '2026-11-20', RULES[1]);
  const log = readFileSync(join(testing.dir, LAST));
  expect(log.includes(Buffer.from(latin1, 'latin1'))).toBe(true);
  expect(log.toString()).toContain(RULES[1]);
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'dreamed' });
  expect(topic(testing)).toEqual(expect.arrayContaining([RULES[0], RULES[1]]));
});

test('an entry with a byte in it that is no text keeps what it said', async () => {
  const testing = await fourDays();
  const path = join(testing.dir, LAST);
  const log = readFileSync(path, 'latin1');
  writeFileSync(path, Buffer.from(log.replace('** Never', '** Ne\xffer'), 'latin1'));
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ operations: [] });
  expect(topic(testing)).toEqual([...RULES].sort());
  expect(states(testing)).toEqual(['distilled', 'distilled', 'distilled', 'distilled']);
});

test.each([
  ['a directory in the place of the log', (path: string) => mkdirSync(path, { recursive: true })],
  [
    'a file in the place of the month',
    (path: string) => {
      mkdirSync(join(path, '../..'), { recursive: true });
      writeFileSync(join(path, '..'), 'here');
    },
  ],
  [
    'a log that somebody pinned',
    (path: string) => {
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, '---\npinned: true\n---\n');
    },
  ],
])('with %s no model is asked, and the extraction says why', async (_, hinder) => {
  const server = await testModel(() => says('unused'));
  const testing = await testApp({ server });
  const path = join(testing.dir, LAST);
  hinder(path);
  const session = aSession(['Always use pnpm instead of npm.'], { startsAt: '2026-11-20T09:00:00Z' });
  for (let tries = 0; tries < 3; tries += 1) {
    const report = await testing.app.extract({ transcript: session.path, ended: true });
    expect(report.error?.message).toContain('2026/11');
    expect(report.pendingTurns).toBe(1);
  }
  expect(server.requests).toHaveLength(0);
});

test('an index that cannot be written is found before a dream asks a model', async () => {
  const server = await testModel(() => says('unused'));
  const testing = await testApp({ server });
  mkdirSync(join(testing.dir, 'logs/2026/11'), { recursive: true });
  writeFileSync(join(testing.dir, LAST), '- **feedback** Always use pnpm instead of npm.\n');
  mkdirSync(join(testing.dir, 'MEMORY.md'));
  expect((await testing.app.dream(testing.store, {})).error?.message).toContain('MEMORY.md');
  expect(server.requests).toHaveLength(0);
});
