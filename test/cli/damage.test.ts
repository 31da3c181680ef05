// Damages of the one database and of files: every command says in words and in time what is wrong and what to do, and goes on by
// itself or after `check --restore`; no Markdown is lost, nothing stands twice, and what was forgotten since the copy stays so.

import { execFile } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { backUp, backupsIn } from '../../src/db/backup.ts';
import { databasePath } from '../../src/db/open-database.ts';
import { environmentIn } from '../support/app.ts';
import { waysTaken } from '../support/depth.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { asking, scriptedModel } from '../support/scripted-model.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const IN_TIME_MS = 10_000;
const RULES = ['Always use pnpm instead of npm.', 'Never commit to main directly.', 'I prefer short answers.'];
const SECRET_WISH = 'Always call the staging host quillfeather.';
const LATER = 'Always run the linter before pushing.';

let top: string;
let aside: string;
let environment: Record<string, string | undefined>;
let home: string;
let dir: string;
let sessions: string[];

const nocturne = (...args: string[]) => runHere(args, environment);
const id = (n: number) => `${n}1111111-2222-4333-8444-555555555555`;

/** Two nights: the second, with what was forgotten in it, came after the newest copy. */
beforeAll(async () => {
  top = tempDir();
  aside = tempDir();
  [home, dir] = [join(top, 'home'), join(top, 'memory')];
  const own = { NOCTURNE_HOME: join(top, 'home'), NOCTURNE_MEMORY_DIR: dir };
  environment = environmentIn(top, { ...own, ...asking(await scriptedModel()) });
  mkdirSync(join(top, 'sessions'));
  const said = [RULES, [SECRET_WISH, 'Thanks.'], [LATER]];
  sessions = said.map((words, n) => aSession(words, { dir: join(top, 'sessions'), id: id(n + 1) }).path);
  const done = async (...args: string[]) => {
    const ended = await nocturne(...args);
    expect(ended, args.join(' ')).toMatchObject({ code: 0 });
    return ended;
  };
  await done('learn', sessions[0] ?? '');
  await done('dream');
  await done('keys', 'create', '--name', 'ci');
  await backUp(home, { now: new Date('2026-11-21T01:00:00Z') });
  await done('learn', sessions[1] ?? '');
  await done('forget', 'quillfeather', '--yes');
  await done('learn', sessions[2] ?? '');
  await done('dream');
  // What was moved aside by a commit a moment ago tells stale saves from edits.
  for (const name of readdirSync(join(dir, '.nocturne')))
    if (!/^(?:id|\.gitignore)$/.test(name)) rmSync(join(dir, '.nocturne', name), { recursive: true });
  cpSync(top, aside, { recursive: true, preserveTimestamps: true });
});

/** Everything as it was when it was whole. */
function anew(): void {
  for (const name of readdirSync(top)) rmSync(join(top, name), { recursive: true });
  cpSync(aside, top, { recursive: true, preserveTimestamps: true });
}

/** Lines of topics, and ids in logs, with those that stand twice. */
function markdown(): { lines: string[]; ids: string[] } {
  const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.md'));
  const texts = paths.filter((path) => !path.startsWith('.')).map((path) => readFileSync(join(dir, path), 'utf8'));
  const lines = texts.flatMap((text) => text.split('\n').filter((line) => /^- (?!\d\d:)/.test(line)));
  return { lines: lines.sort(), ids: texts.flatMap((text) => text.match(/(?<=<!-- )e_\w{12}/g) ?? []).sort() };
}

async function inWords(...args: string[]) {
  const startedMs = performance.now();
  const { code, stdout, stderr } = await nocturne(...args);
  const said = `${args.join(' ')}: ${code}\n${stdout}\n${stderr}`;
  expect(said).not.toMatch(/\n {4}at |Nobody planned|\[object Object\]/);
  expect(performance.now() - startedMs, said).toBeLessThan(IN_TIME_MS);
  return { code, said };
}

const COMMANDS = [[], ['why', 'pnpm'], ['dream'], ['remember', 'x'], ['cost'], ['check'], ['undo', '--last']];

const PAGE = 4_096;
const bytesOf = (path: string, change: (bytes: Buffer) => Buffer) => writeFileSync(path, change(readFileSync(path)));
const OF_THE_DATABASE: [string, (path: string) => void][] = [
  ['whose first page is zeroed', (path) => bytesOf(path, (bytes) => bytes.fill(0, 0, PAGE))],
  ['whose pages are zeroed', (path) => bytesOf(path, (bytes) => bytes.fill(0, PAGE))],
  ['that is cut in the middle', (path) => truncateSync(path, (statSync(path).size >> 1) + 100)],
  ['that is emptied', (path) => truncateSync(path, 0)],
  ['that holds something else', (path) => writeFileSync(path, 'no database\n'.repeat(1_000))],
  [
    'whose bytes are flipped',
    (path) => bytesOf(path, (bytes) => Buffer.from(bytes.map((byte, at) => (at > 100 ? byte ^ 255 : byte)))),
  ],
  ['that is gone', (path) => rmSync(path)],
  [
    'whose newest copy is damaged, too',
    (path) => {
      for (const each of [path, backupsIn(home)[0] ?? '']) truncateSync(each, PAGE * 3);
    },
  ],
];

test.each(waysTaken(OF_THE_DATABASE, 0, 4))(
  'a database %s: words, and check --restore brings all of it back',
  async (_, damage) => {
    anew();
    const before = markdown();
    damage(databasePath(home));
    for (const command of COMMANDS) {
      const { code, said } = await inWords(...command);
      expect(code, said).toBe(1);
      expect(said).toContain('--restore');
    }
    expect(markdown()).toEqual(before);
    const isCopyGood = !_.includes('copy');
    const restored = await inWords('check', '--restore');
    expect(restored.code, restored.said).toBe(0);
    expect(readdirSync(join(home, 'damaged'))).toHaveLength(1);
    expect(markdown()).toEqual(before);

    // Work goes on, and that not all spend is known is said.
    for (const command of [[], ['cost']])
      expect((await inWords(...command)).said.replace(/\s+/g, ' ')).toContain(
        'before the restore, today 02:00, may be missing',
      );
    if (isCopyGood) {
      expect(await jsonHere(['keys', 'list', '--json'], environment)).toMatchObject([{ name: 'ci', isOff: true }]);
      expect((await inWords('keys', 'confirm', 'ci')).code).toBe(0);
      expect(await jsonHere(['keys', 'list', '--json'], environment)).toMatchObject([{ name: 'ci', isOff: false }]);
    }
    for (const session of sessions) expect((await inWords('learn', session)).code).toBe(0);
    expect((await inWords('dream')).code).toBe(0);
    expect(markdown()).toEqual(before);
    expect((await inWords('check')).said).toContain(': fine');
    const why = await inWords('why', 'linter');
    expect(why.said).toContain(`“${LATER}”`);
    expect((await inWords('why', 'pnpm')).said).toContain(`“${RULES[0]}”`);
  },
);

test('a home that is lost whole is begun again from the Markdown', async () => {
  anew();
  const before = markdown();
  rmSync(join(top, 'home'), { recursive: true });
  for (const session of [sessions[0], sessions[2]]) expect((await inWords('learn', session ?? '')).code).toBe(0);
  expect((await inWords('dream')).code).toBe(0);
  expect(markdown()).toEqual(before);
  expect((await inWords('why', 'pnpm')).said).toContain(`“${RULES[0]}”`);
});

const log = () =>
  join(dir, readdirSync(dir, { recursive: true, encoding: 'utf8' }).find((path) => /logs\/.*\.md$/.test(path)) ?? '');
// What else becomes of a log is asked in jobs/dream/dream.test.ts.
const OF_FILES: [string, () => void][] = [
  ['a log that is gone', () => rmSync(log())],
  [
    'a memory without its files',
    () => {
      for (const name of readdirSync(dir)) if (!name.startsWith('.')) rmSync(join(dir, name), { recursive: true });
    },
  ],
];

test.each(OF_FILES)('%s takes nothing with it, and check --restore puts it back', async (_, damage) => {
  anew();
  const before = markdown();
  damage();
  expect((await inWords('dream')).said).not.toMatch(/withdrawn|retired/);
  expect((await inWords('check')).said).toContain('--restore: Puts');
  expect((await inWords('check', '--restore')).code).toBe(0);
  expect(markdown()).toEqual(before);
  expect((await inWords('dream')).code).toBe(0);
  expect(markdown()).toEqual(before);
  expect((await inWords('check')).said).toContain(': fine');
});

test('a directory that is gone is named, and check --restore makes it again', async () => {
  anew();
  const before = markdown();
  rmSync(dir, { recursive: true });
  const doctor = await inWords('doctor', '--no-online');
  expect(doctor.said).toContain(
    'memory is gone\n      Put it back, or run nocturne check --restore --memory ~/memory.',
  );
  const named = await inWords('check');
  expect(named.code, named.said).toBe(1);
  expect(named.said).toContain('.: Its directory is gone.');
  expect(named.said).toContain('nocturne check --restore: Makes it again');
  expect(existsSync(dir)).toBe(false);
  const restored = await inWords('check', '--restore', '--memory', dir);
  expect(restored.code, restored.said).toBe(0);
  expect(markdown()).toEqual(before);
  expect((await inWords('check')).said).toContain(': fine');
  expect((await inWords('dream')).code).toBe(0);
  expect(markdown()).toEqual(before);
});

test('a directory that is gone with one file comes back, too', async () => {
  anew();
  for (const name of readdirSync(dir)) if (!name.startsWith('.')) rmSync(join(dir, name), { recursive: true });
  writeFileSync(join(dir, 'only.md'), 'One line.\n');
  await inWords('check', '--accept-missing');
  rmSync(dir, { recursive: true });
  const restored = await inWords('check', '--restore');
  expect(restored.code, restored.said).toBe(0);
  expect(readFileSync(join(dir, 'only.md'), 'utf8')).toBe('One line.\n');
});

test('a directory whose project is gone is not made again', async () => {
  anew();
  const far = join(top, 'disk', 'project', 'memory');
  mkdirSync(join(top, 'disk', 'project'), { recursive: true });
  renameSync(dir, far);
  expect((await inWords('check', '--memory', far)).said).toContain(': fine');
  rmSync(join(top, 'disk'), { recursive: true });
  const gone = await inWords('check', '--restore', '--memory', far);
  expect(gone.code, gone.said).toBe(1);
  expect(gone.said).toContain(`so is ${join(top, 'disk')}: connect its disk, or run nocturne adopt`);
  expect(existsSync(join(top, 'disk'))).toBe(false);
});

test('a log that a person says was meant to go is let go', async () => {
  anew();
  rmSync(log());
  await inWords('check');
  const accepted = await inWords('check', '--accept-missing');
  expect(accepted.said).toContain('accepted as gone');
  expect((await inWords('dream')).code).toBe(0);
  expect(markdown().ids).toEqual([]);
  expect((await inWords('check')).said).toContain(': fine');
});

test.skipIf(process.getuid?.() === 0)('a database that can only be read is told, and nothing is lost', async () => {
  anew();
  const before = markdown();
  chmodSync(databasePath(home), 0o400);
  expect((await inWords('remember', 'x')).code).toBe(1);
  expect(markdown()).toEqual(before);
});

test('where the disk is full a commit is told, changes nothing, and is made once there is room again', async () => {
  anew();
  const before = markdown();
  const words = 'Always write changelogs. '.repeat(30).trim();
  // No file may grow: a write beyond it fails as on a full disk.
  const script = `trap '' XFSZ; ulimit -f 8; exec "$@"`;
  const door = join(import.meta.dirname, '../../src/cli/nocturne.js');
  const args = ['-c', script, 'sh', process.execPath, door, 'remember', words];
  const full = await promisify(execFile)('/bin/sh', args, { env: environment }).catch((error: unknown) => error);
  expect(full).toMatchObject({ code: 1, stderr: expect.stringMatching(/disk is not full|Cannot/) });
  expect(markdown()).toEqual(before);
  expect((await inWords('remember', words)).code).toBe(0);
});

test('a copy counts once it is whole: one that fails takes none away', async () => {
  anew();
  const before = backupsIn(home);
  truncateSync(databasePath(home), PAGE * 5);
  await expect(backUp(home, { now: new Date('2026-11-22T01:00:00Z') })).rejects.toMatchObject({ code: 'storage' });
  expect(backupsIn(home)).toEqual(before);
});
