// A memory as an archive, and an archive as a memory: to the byte, with all that was done, and never half.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { listFiles } from '../../../src/base/files/directories.ts';
import { fixedClock } from '../../../src/base/time.ts';
import { listVersions, readVersion } from '../../../src/memory/history/versions.ts';
import { allEntries, allSupports, indexLines } from '../../../src/memory/ledger/entries.ts';
import { openStore } from '../../../src/memory/open.ts';
import { readTarball } from '../../../src/wings/transfer/tarball.ts';
import { exportMemory, type ImportReport, importMemory } from '../../../src/wings/transfer/transfer.ts';
import { sized } from '../../support/depth.ts';
import { type JobsInProcess, jobsInProcess } from '../../support/jobs-in-process.ts';
import { sixSessions } from '../../support/nights.ts';
import { inPieces, type TarEntry, tarballOf, tarOf } from '../../support/tarballs.ts';
import { tempDir } from '../../support/temp.ts';

const clock = fixedClock('2026-11-22T02:00:00Z');
/** Three nights, of which the last left an entry that no dream has read. */
let original: { dir: string; sessions: string[]; archive: Buffer; files: string[]; facts: string };

beforeAll(async () => {
  const dir = tempDir();
  const sessions = sixSessions();
  for (const [night, pair] of [sessions.slice(0, 2), sessions.slice(2, 4), sessions.slice(4)].entries()) {
    const jobs = await jobsInProcess(dir, `2026-11-2${night}T02:00:00Z`);
    for (const session of pair) await jobs.extract(session);
    expect((await jobs.dream()).outcome).toBe('dreamed');
    if (night === 2) await jobs.remember({ text: 'The kitchen closes at 15:00.', type: 'project' });
    jobs.close();
  }
  writeFileSync(join(dir, 'by-hand.md'), 'No frontmatter,\r\nno last line end');
  writeFileSync(join(dir, 'latin.md'), Buffer.from([0x68, 0xe9]));
  const jobs = await jobsInProcess(dir);
  const { pieces, files, leftOut } = await exportMemory(jobs.store);
  expect(leftOut).toEqual(['latin.md']);
  const facts = readFileSync(join(dir, 'project-facts.md'), 'utf8');
  original = { dir, sessions, archive: await buffer(pieces), files, facts };
  jobs.close();
});

async function opened(dir: string): Promise<JobsInProcess> {
  const jobs = await jobsInProcess(dir, clock);
  onTestFinished(() => jobs.close());
  return jobs;
}

function importInto(jobs: JobsInProcess, archive: Buffer, takesTheirs = false): Promise<ImportReport> {
  const deps = { openStore: async () => jobs.store, clock, withLease: jobs.withLease };
  return importMemory({ pieces: inPieces(archive), takesTheirs }, deps);
}

async function contents(dir: string): Promise<Record<string, string>> {
  const kept = (await listFiles(dir)).filter((path) => !/^\.nocturne\/(?!dreams)/.test(path) && path !== 'latin.md');
  return Object.fromEntries(kept.map((path) => [path, readFileSync(join(dir, path)).toString('hex')]));
}

const known = ({ store: { ledger } }: JobsInProcess) => ({
  entries: allEntries(ledger).map(({ id, text, state, evidence }) => ({ id, text, state, evidence })),
  supports: allSupports(ledger),
  index: [...indexLines(ledger)].sort(),
});

test('an archive brings an empty memory to the same bytes, and nothing is extracted or distilled again', async () => {
  const [before, jobs] = [await opened(original.dir), await opened(tempDir())];
  const report = await importInto(jobs, original.archive);
  expect(report).toMatchObject({ outcome: 'imported', added: original.files, differing: [], same: 0, entries: 9 });
  expect(original.files.filter((path) => path.startsWith('.nocturne/dreams/'))).toHaveLength(6);
  expect(await contents(jobs.store.dir)).toEqual(await contents(original.dir));
  expect(known(jobs)).toEqual(known(before));
  expect(jobs.store.ledger.all(`select id from "commit"`)).toHaveLength(1);
  expect(await buffer((await exportMemory(jobs.store)).pieces)).toEqual(original.archive);

  for (const session of original.sessions) expect((await jobs.extract(session)).entries).toEqual([]);
  const dreams = [await before.dream(), await jobs.dream()];
  expect(dreams[1]?.operations.map(({ entries: _, ...rest }) => rest)).toEqual(
    dreams[0]?.operations.map(({ entries: _, ...rest }) => rest),
  );
  expect(dreams[1]?.operations).toHaveLength(1);
});

test('an import leaves no job in the future: a dream of today ended now, earlier ones at noon of their day', async () => {
  const jobs = await opened(tempDir());
  await importInto(jobs, original.archive);
  const dreams = jobs.store.ledger.all("select ended_at as at from job where kind = 'dream' order by at");
  expect(dreams.map(({ at }) => at)).toEqual([
    '2026-11-20T12:00:00.000Z',
    '2026-11-21T12:00:00.000Z',
    '2026-11-22T02:00:00.000Z',
  ]);
});

test('an import is taken back by undo, and done again it is whole again', async () => {
  const jobs = await opened(tempDir());
  const { job } = await importInto(jobs, original.archive);
  const first = known(jobs);
  expect(await jobs.undo({ job: job ?? '' })).toMatchObject({ outcome: 'undone', stays: [] });
  expect(await contents(jobs.store.dir)).toEqual({});
  expect(known(jobs)).toEqual({ entries: [], supports: [], index: [] });
  await importInto(jobs, original.archive);
  expect(known(jobs)).toEqual(first);
  expect(await importInto(jobs, original.archive)).toMatchObject({ outcome: 'unchanged', job: null });
});

test('into a memory that holds something comes what is missing; what differs stays, or goes to history', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'project-facts.md'), '---\ntype: project\n---\n\n- Mine.\n');
  writeFileSync(join(dir, 'by-hand.md'), 'No frontmatter,\r\nno last line end');
  writeFileSync(join(dir, 'own.md'), '- My own.\n');
  writeFileSync(join(dir, 'MEMORY.md'), '# Memory\n\n- My words about it [own.md]\n');
  const jobs = await opened(dir);
  const { archive, facts } = original;
  const report = await importInto(jobs, archive);
  expect(report).toMatchObject({ differing: ['project-facts.md', 'MEMORY.md'], same: 1, replaced: [] });
  expect(readFileSync(join(dir, 'project-facts.md'), 'utf8')).toContain('- Mine.');
  const index = readFileSync(join(dir, 'MEMORY.md'), 'utf8');
  for (const line of ['- My words about it [own.md]', '[working-agreements.md]', '[project-facts.md]'])
    expect(index).toContain(line);
  expect(await importInto(jobs, archive, true)).toMatchObject({
    replaced: ['project-facts.md', 'MEMORY.md'],
    added: [],
  });
  expect(readFileSync(join(dir, 'project-facts.md'), 'utf8')).toBe(facts);
  const texts = listVersions(jobs.store.ledger, { path: 'project-facts.md' }).versions.map(
    ({ id }) => readVersion(jobs.store.ledger, id).text,
  );
  expect(texts).toEqual([facts, expect.stringContaining('- Mine.')]);
  expect(readFileSync(join(dir, 'own.md'), 'utf8')).toBe('- My own.\n');
});

test('a log of a day that both have keeps the entries of both, so that no dream takes what came for withdrawn', async () => {
  const [one, other] = [await opened(tempDir()), await opened(tempDir())];
  await one.remember({ text: 'Never deploy on a Friday.', type: 'feedback' });
  await one.remember({ text: 'The kitchen closes at 15:00.', type: 'project' });
  expect((await one.dream()).outcome).toBe('dreamed');
  await other.remember({ text: 'The lift is out of order.', type: 'project' });
  const mine = readFileSync(join(other.store.dir, 'logs/2026/11/2026-11-22.md'), 'utf8');
  const archive = await buffer((await exportMemory(one.store)).pieces);
  const log = 'logs/2026/11/2026-11-22.md';
  expect(await importInto(other, archive)).toMatchObject({ joined: [log], differing: [], entries: 2 });
  const text = readFileSync(join(other.store.dir, log), 'utf8');
  expect(text.startsWith(mine)).toBe(true);
  expect(await importInto(other, archive)).toMatchObject({ outcome: 'unchanged', differing: [] });
  expect((await other.dream()).operations.map(({ kind }) => kind)).toEqual(['add']);
  const kept = await contents(other.store.dir);
  const topics = ['working-agreements.md', 'project-facts.md'].map((path) => Buffer.from(kept[path] ?? '', 'hex'));
  for (const line of ['Never deploy on a Friday.', 'The kitchen closes at 15:00.', 'The lift is out of order.'])
    expect(topics.join('\n')).toContain(`- ${line}`);
  // What was forgotten does not come back beside one's own; taking theirs takes nothing of one's own out of a log.
  await other.forget('Never deploy on a Friday.');
  await importInto(other, archive);
  expect(readFileSync(join(other.store.dir, log), 'utf8')).not.toContain('Never deploy on a Friday.');
  await importInto(other, archive, true);
  expect(readFileSync(join(other.store.dir, log), 'utf8')).toContain('The lift is out of order.');
});

test('what was distilled into a topic that stays as it is here is read by the next dream', async () => {
  const [one, dir] = [await opened(tempDir()), tempDir()];
  await one.remember({ text: 'Never deploy on a Friday.', type: 'feedback' });
  expect((await one.dream()).outcome).toBe('dreamed');
  const archive = await buffer((await exportMemory(one.store)).pieces);
  const mine = '---\nname: working-agreements\ndescription: Mine\ntype: feedback\n---\n\n- Tabs, never spaces.\n';
  writeFileSync(join(dir, 'working-agreements.md'), mine);
  const other = await opened(dir);
  expect(await importInto(other, archive)).toMatchObject({
    differing: expect.arrayContaining(['working-agreements.md']),
  });
  expect(readFileSync(join(dir, 'working-agreements.md'), 'utf8')).toBe(mine);
  expect((await other.dream()).outcome).toBe('dreamed');
  expect(readFileSync(join(dir, 'working-agreements.md'), 'utf8')).toBe(`${mine}- Never deploy on a Friday.\n`);
});

const good: TarEntry = { path: 'good.md', content: '- Good.\n' };
const unfit: [string, Buffer | (() => Buffer), string][] = [
  ['leads out', tarballOf([good, { path: '../out.md', content: 'x' }]), '"../out.md"'],
  ['is absolute', tarballOf([good, { path: '/tmp/out.md', content: 'x' }]), '/tmp/out.md'],
  ['leads out once it is decoded', tarballOf([good, { path: '%2e%2e%2fout.md', content: 'x' }]), '%2e%2e'],
  ['is hidden', tarballOf([good, { path: '.git/hooks.md', content: 'x' }]), '.git/hooks.md'],
  ['is the ledger', tarballOf([good, { path: '.nocturne/ledger.db', content: 'x' }]), 'ledger.db'],
  ['is no Markdown', tarballOf([good, { path: 'run.sh', content: 'x' }]), 'run.sh'],
  ['has a backslash', tarballOf([good, { path: 'a\\..\\..\\b.md', content: 'x' }]), 'b.md'],
  ['is a link', tarballOf([good, { path: 'l.md', type: 'SymbolicLink', linkpath: '/etc/passwd' }]), 'SymbolicLink'],
  ['is a hard link', tarballOf([good, { path: 'l.md', type: 'Link', linkpath: 'good.md' }]), 'is a Link'],
  ['is a device', tarballOf([good, { path: 'd.md', type: 'CharacterDevice' }]), 'CharacterDevice'],
  ['is a pipe', tarballOf([good, { path: 'p.md', type: 'FIFO' }]), 'FIFO'],
  ['is there twice', tarballOf([good, good]), 'twice'],
  ['is there in two spellings', tarballOf([good, { path: 'GOOD.md', content: 'x' }]), 'two spellings'],
  ['lies below a file', tarballOf([good, { path: 'good.md/below.md', content: 'x' }]), 'below another'],
  ['is no UTF-8', tarballOf([good, { path: 'l.md', content: Buffer.from([0xe9]) }]), 'no UTF-8'],
  ['holds a NUL', tarballOf([good, { path: 'n.md', content: 'a\0b' }]), 'no UTF-8 text'],
  [
    'is cut off',
    () => gzipSync(tarOf([good, { path: 'c.md', content: 'x'.repeat(2_000) }]).subarray(0, 2_000)),
    'Truncated',
  ],
  ['is packed twice', () => gzipSync(tarballOf([good])), 'packed twice'],
  ['is no archive', () => gzipSync('Some words, and no archive.'.repeat(100)), 'cannot be used'],
  ['is not packed', tarOf([good]), 'cannot be used'],
  ['is empty', Buffer.alloc(0), 'cannot be used'],
  [
    'unpacks to 17 MiB in one file',
    () => tarballOf([good, { path: 'b.md', content: Buffer.alloc(17 << 20, 'x') }]),
    'too much',
  ],
];

test.each(unfit)('an archive in which something %s is refused, and nothing is made', async (_, archive, problem) => {
  const dir = join(tempDir(), 'memory');
  const pieces = inPieces(typeof archive === 'function' ? archive() : archive, 1 << 16);
  const importing = importMemory(
    { pieces, takesTheirs: true },
    { openStore: () => openStore(dir, { clock }), clock, withLease: async () => null },
  );
  await expect(importing).rejects.toMatchObject({ code: 'bad-input', message: expect.stringContaining(problem) });
  expect(existsSync(dir)).toBe(false);
});

test('what unpacks to more than is allowed is refused, also behind the end of the archive', async () => {
  const bounds = { files: 10, fileBytes: 1 << 20, totalBytes: 4 << 20 };
  const zeros = gzipSync(Buffer.alloc(1 << 20));
  const members = (first: Buffer, count: number) => inPieces(Buffer.concat([first, ...Array(count).fill(zeros)]), 512);
  const open = gzipSync(tarOf([good, { path: 'b.md', content: Buffer.alloc(1 << 20) }]).subarray(0, 1_536));
  for (const bomb of [members(tarballOf([good]), 40), members(open, 40)]) {
    await expect(readTarball(bomb, bounds)).rejects.toThrow('more than 4194304 bytes, unpacked');
  }
  const many = Array.from({ length: 11 }, (_, n) => ({ path: `${n}.md`, content: 'x' }));
  await expect(readTarball(inPieces(tarballOf(many)), bounds)).rejects.toThrow('more than 10 files');
  expect([...(await readTarball(members(tarballOf([good]), 3), bounds)).keys()]).toEqual(['good.md']);
});

test('files of an archive have the modes that ours have, whatever theirs were', async () => {
  const dir = tempDir();
  const jobs = await opened(dir);
  const text = (name: string) => `---\nname: ${name}\ndescription: About it\ntype: project\n---\n- It is.\n`;
  const archive = tarballOf([
    { path: 'a.md', content: text('a'), mode: 0o4777 },
    { path: 'below/b.md', content: text('b'), mode: 0o666 },
    { path: 'c.md', content: text('c'), mode: 0 },
  ]);
  await importInto(jobs, archive);
  const modeOf = (path: string) => (statSync(join(dir, path)).mode & 0o7777).toString(8);
  expect(['a.md', 'below/b.md', 'c.md', 'below', '.nocturne'].map(modeOf)).toEqual(['600', '600', '600', '700', '700']);
});

test('an archive that a person made with tar is taken, directories and all', async () => {
  const [dir, jobs] = [tempDir(), await opened(tempDir())];
  execFileSync('mkdir', ['-p', join(dir, 'logs/2026/11')]);
  writeFileSync(join(dir, 'a.md'), '- A.\n');
  writeFileSync(join(dir, 'logs/2026/11/2026-11-20.md'), '# 2026-11-20\n\n- 10:00 **project** By hand.\n');
  const archive = execFileSync('tar', ['cz', '-C', dir, '.']);
  expect((await importInto(jobs, archive)).added).toEqual(['a.md', 'logs/2026/11/2026-11-20.md']);
  expect(await jobs.store.read('a.md')).toBe('- A.\n');
});

test('a long path and many files go through, and tar reads what export made', async () => {
  const [dir, to] = [tempDir(), await opened(tempDir())];
  const deep = `${'a-rather-long-name-of-a-directory/'.repeat(12)}leaf-ö.md`;
  const from = await opened(dir);
  await from.store.commit({ actor: 'person' }, () => ({
    files: [deep, ...Array.from({ length: 300 }, (_, n) => `topic-${n}.md`)].map((path) => ({
      path,
      change: () => `- ${path}\n`,
    })),
  }));
  await from.store.write({ actor: 'person' }, { path: 'empty.md', text: '' });
  const archive = await buffer((await exportMemory(from.store)).pieces);
  expect((await importInto(to, archive)).added).toHaveLength(302);
  expect(await contents(to.store.dir)).toEqual(await contents(dir));
  const out = tempDir();
  execFileSync('tar', ['xz', '-C', out], { input: archive });
  expect(readFileSync(join(out, deep), 'utf8')).toBe(`- ${deep}\n`);
});

test('whatever bytes of an archive are changed, it is refused whole or its files are in the directory', async () => {
  const plain = gunzipSync(original.archive);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(plain.length - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      async (edits) => {
        const bytes = Buffer.from(plain);
        for (const [at, byte] of edits) bytes[at] = byte;
        const dir = join(tempDir(), 'memory');
        const jobs: JobsInProcess[] = [];
        const openIt = async () => {
          jobs.push(await jobsInProcess(dir, clock));
          return (jobs[0] as JobsInProcess).store;
        };
        try {
          const report = await importMemory(
            { pieces: inPieces(gzipSync(bytes)), takesTheirs: false },
            {
              openStore: openIt,
              clock,
              withLease: (store, key, work) => (jobs[0] as JobsInProcess).withLease(store, key, work),
            },
          );
          expect(Object.keys(await contents(dir)).sort()).toEqual([...report.added].sort());
        } catch (error) {
          expect(error).toMatchObject({ code: 'bad-input' });
          expect(existsSync(dir)).toBe(false);
        } finally {
          for (const each of jobs) each.close();
        }
      },
    ),
    { numRuns: sized({ quick: 25, deep: 200 }) },
  );
});
