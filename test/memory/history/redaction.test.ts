import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../../../src/base/files/directories.ts';
import { fixedClock } from '../../../src/base/time.ts';
import { explainLines } from '../../../src/memory/dream/provenance.ts';
import { redactMatches, redactVersion } from '../../../src/memory/history/redact/redaction.ts';
import { scrubOf } from '../../../src/memory/history/redact/scrub.ts';
import { listVersions, readVersion } from '../../../src/memory/history/versions.ts';
import { openHome } from '../../../src/memory/home/home.ts';
import { allEntries, supportsOf } from '../../../src/memory/ledger/entries.ts';
import { putInInbox } from '../../../src/memory/ledger/inbox.ts';
import { openStore } from '../../../src/memory/open.ts';
import { testApp, testModel } from '../../support/app.ts';
import { calls, says } from '../../support/messages-server.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

const SECRET = 'quillfeather';
const clock = fixedClock('2026-11-21T02:00:00Z');

/** All files below the directories that hold the text in their bytes. */
async function holders(text: string, ...dirs: string[]): Promise<string[]> {
  const found: string[] = [];
  for (const dir of dirs) {
    for (const path of await listFiles(dir)) if (readFileSync(join(dir, path)).includes(text)) found.push(path);
  }
  return found;
}

async function opened() {
  const store = await openStore(tempDir(), { clock });
  const set = (path: string, text: string | null) =>
    store.commit({ actor: 'job:test' }, () => ({ files: [{ path, change: () => text }] }));
  return { store, set, place: { store, home: tempDir(), now: clock.now() } };
}

/** A memory whose secret went through entry, log, topic, index, report, inbox, job, spool and a hand-written file. */
async function leaked() {
  const first = await testApp();
  const session = aSession(
    [`Always call the staging host ${SECRET} instead of staging.`, 'Never commit to main directly.'],
    { cwd: `/home/kim/${SECRET}` },
  );
  await first.app.extract({ transcript: session.path, ended: true, instructions: `Keep ${SECRET}.` });
  const operations = allEntries(first.store.ledger).map(({ id, text }, at) => ({
    kind: 'put',
    reason: `Said: ${text}`,
    topic: `hosts-${at}`,
    description: at === 0 ? `${SECRET} is the staging host` : 'Rules',
    type: 'feedback',
    in: [{ text, entries: [id] }],
  }));
  const model = await testModel([calls('propose_operations', { operations }), says('Done.')]);
  const testing = await testApp({ server: model, dir: first.dir, home: first.home });
  expect(await testing.app.dream(testing.store, { instructions: `"${SECRET}"` })).toMatchObject({ outcome: 'dreamed' });
  const index = readFileSync(join(first.dir, 'MEMORY.md'), 'utf8');
  writeFileSync(join(first.dir, 'MEMORY.md'), `${index}\n- [Mine](notes/mine.md) — ${SECRET} again\n`);
  mkdirSync(join(first.dir, 'notes'));
  writeFileSync(join(first.dir, 'notes/mine.md'), `by hand: ${SECRET}\r\nkeep`);
  putInInbox(first.store.ledger, {
    kind: 'reprocess',
    key: 'all',
    payload: { all: true, ended: true, instructions: `"${SECRET}"` },
    notBefore: '2026-11-21T02:00:00Z',
  });
  await first.store.work.writeFailure({
    ...{ kind: 'reprocess', key: 'all', state: 'failed', code: 'refusal', message: `not ${SECRET}`, attempts: 1 },
    ...{ failures: 1, input: null, at: '2026-11-21T02:00:00Z', payload: { instructions: `"${SECRET}"` } },
  });
  mkdirSync(join(first.home, 'spool'));
  writeFileSync(join(first.home, 'spool/1.json'), JSON.stringify({ v: 1, cwd: `/home/${SECRET}` }));
  // What was undone leaves its traces too.
  await first.app.undo(first.store, { last: true });
  await first.app.undo(first.store, {
    job: first.store.ledger.get("select id from job where kind = 'undo'")?.id as string,
  });
  return { ...first, session };
}

test('a secret that went everywhere is in no byte of the memory and the home after it was redacted', async () => {
  const testing = await leaked();
  const { store, dir, home } = testing;
  const before = await holders(SECRET, dir, home);
  for (const path of ['MEMORY.md', 'hosts-0.md', 'notes/mine.md', 'logs/2026/11/2026-11-20.md', 'spool/1.json']) {
    expect(before).toContain(path);
  }
  expect(before).toContain('.nocturne/dreams/2026-11-21.json');
  const count = allEntries(store.ledger).length;
  const report = await redactMatches(scrubOf(SECRET), { store, home, now: clock.now() });
  expect(report.remaining).toEqual([]);
  expect(await holders(SECRET, dir, home)).toEqual([]);
  for (const { id } of store.ledger.all('select id from version')) {
    expect(readVersion(store.ledger, id as string).text ?? '').not.toContain(SECRET);
  }
  expect(allEntries(store.ledger)).toHaveLength(count);
  expect(readFileSync(join(dir, 'notes/mine.md'), 'utf8')).toBe('by hand: [redacted]\r\nkeep');
  expect(listVersions(store.ledger, { path: 'notes/mine.md' }).versions[0]).toMatchObject({ actor: 'person' });
});

test('after a redaction the memory works on: nothing passes for edited, and a dream changes nothing', async () => {
  const testing = await leaked();
  const { store, home, app, dir } = testing;
  await redactMatches(scrubOf(SECRET), { store, home, now: clock.now() });
  const supported = supportsOf(store.ledger, 'hosts-0.md');
  const topic = readFileSync(join(dir, 'hosts-0.md'), 'utf8');
  expect(topic).toMatch(/\ndescription: (["']?)\[redacted\] is the staging host\1\n/);
  expect(supported).toHaveLength(1);
  expect(await app.dream(store, {})).toMatchObject({ outcome: 'nothing-new', operations: [] });
  expect(readFileSync(join(dir, 'hosts-0.md'), 'utf8')).toBe(topic);
  expect(allEntries(store.ledger).map((entry) => entry.state)).toEqual(['distilled', 'distilled']);
});

test('a ledger that is rebuilt from redacted files learns nothing anew, and knows what their lines rest on', async () => {
  const { store, home, dir } = await leaked();
  await redactMatches(scrubOf(SECRET), { store, home, now: clock.now() });
  const copy = tempDir();
  cpSync(dir, copy, { recursive: true, filter: (path) => !/ledger\.db/.test(path) });
  const rebuilt = await testApp({ dir: copy });
  expect(await rebuilt.app.dream(rebuilt.store, {})).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
  const entriesOf = async (of: typeof store) =>
    (await explainLines(of, { path: 'hosts-0.md' })).map(({ entries }) =>
      entries.map(({ id, by, evidence, state }) => ({ id, by, evidence, state })),
    );
  expect(await entriesOf(rebuilt.store)).toEqual(await entriesOf(store));
  expect((await entriesOf(rebuilt.store))[0]).toMatchObject([{ by: 'human', state: 'distilled' }]);
});

test('what a person had changed in an entry before a redaction stays the person’s', async () => {
  const { store, dir, home, app } = await leaked();
  const path = join(dir, 'logs/2026/11/2026-11-20.md');
  writeFileSync(path, readFileSync(path, 'utf8').replace('** Always call', '** Always phone'));
  await redactMatches(scrubOf(SECRET), { store, home, now: clock.now() });
  expect(await app.dream(store, {})).toMatchObject({ outcome: 'dreamed' });
  const [entry] = allEntries(store.ledger).filter(({ text }) => text.includes('phone'));
  expect(entry).toMatchObject({ by: 'person', evidence: [] });
});

test('a dry run says what it would change and changes nothing', async () => {
  const { store, dir, home } = await leaked();
  const before = await holders(SECRET, dir, home);
  const report = await redactMatches(scrubOf(SECRET), { store, home, now: clock.now(), isDry: true });
  expect(report.files).toEqual([
    '.nocturne/dreams/2026-11-21.json',
    '.nocturne/dreams/2026-11-21.md',
    'MEMORY.md',
    'hosts-0.md',
    'logs/2026/11/2026-11-20.md',
    'notes/mine.md',
  ]);
  expect(report.spool).toEqual(['1.json']);
  expect(report.versions).toBeGreaterThan(5);
  expect(await holders(SECRET, dir, home)).toEqual(before);
});

test('a redacted version loses content, hash, size and path; who and when stay', async () => {
  const { store, set, place } = await opened();
  await set('a.md', `${SECRET}\n`);
  await set('a.md', 'clean\n');
  const [, old] = listVersions(store.ledger).versions;
  await redactVersion(old?.id ?? '', place);
  expect(readVersion(store.ledger, old?.id ?? '')).toMatchObject({
    text: null,
    sha: null,
    sizeBytes: null,
    path: null,
    actor: 'job:test',
    at: '2026-11-21T02:00:00.000Z',
    redactedAt: '2026-11-21T02:00:00.000Z',
    redactedBy: 'person',
  });
  expect(await holders(SECRET, store.dir)).toEqual([]);
  expect(await holders(old?.sha ?? '?', store.dir)).toEqual([]);
  expect((await listFiles(store.dir)).filter((path) => path.includes(old?.sha ?? '?'))).toEqual([]);
  await set('a.md', 'more\n');
  expect(await store.read('a.md')).toBe('more\n');
});

test('an entry that only the redacted version of the log held is forgotten with it', async () => {
  const { app, store, dir, home } = await testApp();
  const session = aSession([`Always call the staging host ${SECRET} instead of staging.`]);
  await app.extract({ transcript: session.path, ended: true });
  // A log that is emptied is not taken for lines that were removed; one with another line in it is.
  writeFileSync(join(dir, 'logs/2026/11/2026-11-20.md'), '- The kettle is in the kitchen.\n');
  await app.dream(store, {});
  const versions = listVersions(store.ledger, { actor: 'job', path: 'logs/2026/11/2026-11-20.md' }).versions;
  const version = versions.at(-1);
  await redactVersion(version?.id ?? '', { store, home, now: clock.now() });
  expect(allEntries(store.ledger)).toMatchObject([
    { text: '[redacted]', evidence: [], state: 'forgotten' },
    { text: 'The kettle is in the kitchen.' },
  ]);
  expect(await holders(SECRET, dir)).toEqual([]);
});

test('what a file is at now is not redacted as a version, and the error says what to do', async () => {
  const { store, set, place } = await opened();
  await set('a.md', 'a\n');
  const [head] = listVersions(store.ledger).versions;
  await expect(redactVersion(head?.id ?? '', place)).rejects.toMatchObject({
    code: 'refused',
    remedy: expect.stringContaining('--match'),
  });
  expect(await store.read('a.md')).toBe('a\n');
});

test('a pattern between slashes is redacted wherever it matches, ids and kinds apart', async () => {
  const { store, set, place } = await opened();
  await set('a.md', 'Account 4711-22 and acct 4711-33.\n');
  await redactMatches(scrubOf('/\\b4711-\\d+|job|created/'), place);
  expect(await store.read('a.md')).toBe('Account [redacted] and acct [redacted].\n');
  expect(listVersions(store.ledger).versions.map((version) => version.operation)).toEqual(['modified', 'created']);
});

test('a text that stands in ids, too, goes from the words alone: what rests on what stays', async () => {
  const { app, store, home } = await testApp();
  const { entry, path } = await app.remember(store, { text: 'Always use pnpm here.', type: 'feedback' });
  await app.dream(store, {});
  // As the digits of a door's code may.
  const part = entry.id.slice(4, 8);
  const { entry: code } = await app.remember(store, { text: `The door has the code ${part}.`, type: 'project' });
  const report = join(store.dir, '.nocturne/dreams/2026-11-21.json');
  const [ids, told] = [allEntries(store.ledger).map(({ id }) => id), readFileSync(report, 'utf8')];
  const done = await redactMatches(scrubOf(part), { store, home, now: clock.now() });
  expect(done.files).toEqual([path]);
  expect(readFileSync(report, 'utf8')).toBe(told);
  const log = readFileSync(join(store.dir, path), 'utf8');
  expect(log).toContain('has the code [redacted].');
  expect(log).toContain(`<!-- ${entry.id} `);
  expect(allEntries(store.ledger).map(({ id }) => id)).toEqual(ids);
  expect(await app.dream(store, {})).toMatchObject({ operations: [{ kind: 'add', entries: [code.id] }] });
  expect(await explainLines(store, { path: 'working-agreements.md' })).toMatchObject([
    { entries: [{ id: entry.id, isInLog: true }], isPersons: false },
  ]);
});

test('an id as a whole is redacted where it is what is looked for', () => {
  const key = '4829a7c1-5d1b-4c58-9a64-1f2e3d4c5b6a';
  expect(scrubOf(key).text(`key ${key}`)).toBe('key [redacted]');
  expect(scrubOf(key).json(JSON.stringify({ key }))).toBe('{"key":"[redacted]"}');
  // In words a part of it goes too; where ids stand it is one.
  expect(scrubOf('4829').text(`key ${key}, p=4829-1, 14829, e_48290000000000, key_482900000000`)).toBe(
    `key [redacted]${key.slice(4)}, p=[redacted]-1, 1[redacted], e_[redacted]0000000000, key_[redacted]00000000`,
  );
  expect(scrubOf('4829').json(JSON.stringify({ message: key, quote: `key ${key}` }))).toBe(
    `{"message":"${key}","quote":"key [redacted]${key.slice(4)}"}`,
  );
  expect(scrubOf('4829').text('The safe opens with "48294829".')).toBe('The safe opens with "[redacted][redacted]".');
  const mark = `  <!-- e_482900000000 s=${key} t=${key} p=00482900 h=482900000000 q=human -->`;
  expect(scrubOf('4829').text(mark)).toBe(mark);
});

test('a file whose name holds the text stops the redaction before it begins', async () => {
  const { store, set, place } = await opened();
  await set(`${SECRET}.md`, 'x\n');
  await set('b.md', `${SECRET}\n`);
  await expect(redactMatches(scrubOf(SECRET), place)).rejects.toMatchObject({ code: 'refused' });
  expect(await store.read('b.md')).toBe(`${SECRET}\n`);
});

test('the name of a file that was deleted goes too', async () => {
  const { store, set, place } = await opened();
  await set(`${SECRET}.md`, 'x\n');
  await set(`${SECRET}.md`, null);
  await redactMatches(scrubOf(SECRET), place);
  expect(await holders(SECRET, store.dir)).toEqual([]);
  expect(existsSync(join(store.dir, `${SECRET}.md`))).toBe(false);
});

test.skipIf(process.platform === 'win32')(
  'after a redaction no write is lost when another process opens and closes the databases',
  async () => {
    const { store, set, place } = await opened();
    const home = openHome(place.home, clock);
    await set('a.md', `${SECRET}\n`);
    await home.addStore('/before');
    expect(await redactMatches(scrubOf(SECRET), place)).toMatchObject({ remaining: [] });
    await set('b.md', 'first\n');
    await home.addStore('/first');
    elsewhere(store.dir, place.home);
    await set('c.md', 'second\n');
    await home.addStore('/second');
    expect(elsewhere(store.dir, place.home)).toEqual({
      memories: ['a.md', 'b.md', 'c.md'],
      stores: ['/before', '/first', '/second'],
    });
    await home.close();
  },
);

/** What another process sees in the two databases, which it opens and closes. */
function elsewhere(dir: string, home: string): { memories: string[]; stores: string[] } {
  const code = `
    const { openLedger } = await import(process.argv[1]);
    const { openHome } = await import(process.argv[2]);
    const ledger = openLedger(process.argv[3]);
    const home = openHome(process.argv[4], { now: () => new Date(0) });
    const memories = ledger.all('select path from memory order by path').map((row) => row.path);
    console.log(JSON.stringify({ memories, stores: await home.stores() }));
    ledger.close();
    home.close();`;
  const modules = ['ledger', 'home'].map(
    (name) => new URL(`../../../src/memory/${name}/${name}.ts`, import.meta.url).href,
  );
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', code, ...modules, dir, home], { encoding: 'utf8' }),
  );
}

test('a snapshot that waits for its extraction is redacted, as JSON, and stays one', async () => {
  const { store, place } = await opened();
  const dir = join(store.dir, '.nocturne/snapshots');
  mkdirSync(dir);
  const line = (text: string) => JSON.stringify({ id: 'm1', speaker: 'human', parts: [{ kind: 'text', text }] });
  const quoted = 'say "quillfeather"';
  writeFileSync(join(dir, 's.jsonl'), `${line(`please ${quoted} aloud`)}\n${line('nothing')}\n`);
  writeFileSync(join(dir, 'clean.jsonl'), `${line('nothing')}\n`);
  const dry = await redactMatches(scrubOf(quoted), { ...place, isDry: true });
  expect([dry.snapshots, dry.files]).toEqual([['s.jsonl'], []]);
  expect(await holders(SECRET, store.dir)).toEqual(['.nocturne/snapshots/s.jsonl']);
  expect(await redactMatches(scrubOf(quoted), place)).toMatchObject({ snapshots: ['s.jsonl'], remaining: [] });
  expect(readFileSync(join(dir, 's.jsonl'), 'utf8')).toBe(`${line('please [redacted] aloud')}\n${line('nothing')}\n`);
});

test('a snapshot that is still being written is left alone and named', async () => {
  const { store, place } = await opened();
  const path = join(store.dir, '.nocturne/snapshots/s.jsonl.tmp');
  mkdirSync(join(store.dir, '.nocturne/snapshots'));
  writeFileSync(path, SECRET);
  expect(await redactMatches(scrubOf(SECRET), place)).toMatchObject({ snapshots: [], remaining: [path] });
  expect(readFileSync(path, 'utf8')).toBe(SECRET);
});

test.each(['', ' ', '/(/', '/a*/', '/x/y'])('%j is refused as a match', (match) => {
  expect(() => scrubOf(match)).toThrow(expect.objectContaining({ code: 'bad-input' }));
});
