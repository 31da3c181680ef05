// Damages of the database, logs and index, by seed. Every command ends in time, in words and without a
// stack trace, `check --restore` heals what needs no guess, and no entry is lost or stands twice.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeError } from '../../src/base/errors.ts';
import { backUp } from '../../src/db/backup.ts';
import { environmentIn } from '../support/app.ts';
import { sized } from '../support/depth.ts';
import { type Random, seeded } from '../support/random.ts';
import { run } from '../support/run.ts';
import { type EndedHere, runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const CASES = sized({ quick: 3, deep: 25 });
const SEED = 20_261_122;
const IN_TIME_MS = 10_000;
const RULES = [
  'Always use pnpm instead of npm.',
  'Never commit to main directly.',
  'Always run the linter before pushing.',
  'I prefer short answers.',
  'The release deadline is 2026-12-04.',
  'Never force push to a shared branch.',
];

interface World {
  home: string;
  dir: string;
}

let original: World | undefined;
/** The same as it was when it was whole. */
let aside: World;
/** The ids in its logs. */
let known: string[];
/** The rules in its topics after the dream that is due. */
let wanted: string[];

const environmentOf = ({ home, dir }: World) => environmentIn(home, { NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: dir });

/** Memories are made in this process. */
const here = (world: World, ...args: string[]) => runHere(args, environmentOf(world));
/** What meets the damage: in the long size a process each. */
const nocturne = sized({
  quick: here,
  deep: async (world: World, ...args: string[]) => {
    const { signal, code, ...said } = await run(args, environmentOf(world));
    expect(signal, said.stderr).toBeNull();
    return { ...said, code: code as number };
  },
});

/** Six rules of four days, four of them distilled; made by the first test. */
async function makeOriginal(): Promise<World> {
  const original = { home: tempDir(), dir: tempDir() };
  const transcripts = tempDir();
  for (const [n, rule] of RULES.entries()) {
    const session = aSession([rule], {
      dir: transcripts,
      id: `${n}1111111-2222-4333-8444-555555555555`,
      startsAt: `2026-11-${15 + (n % 4)}T09:00:00Z`,
    });
    expect((await here(original, 'learn', session.path)).code).toBe(0);
    if (n === 3) expect((await here(original, 'dream')).code).toBe(0);
  }
  known = entriesIn(original.dir);
  expect(known).toHaveLength(RULES.length);
  await backUp(original.home, { now: new Date(0) });
  aside = { home: tempDir(), dir: tempDir() };
  copy(original, aside);
  expect((await here(original, 'dream')).code).toBe(0);
  wanted = rulesIn(original.dir);
  expect(wanted.length).toBeGreaterThan(4);
  return original;
}

function copy(from: World, to: World): void {
  for (const name of ['home', 'dir'] as const) {
    rmSync(to[name], { recursive: true });
    cpSync(from[name], to[name], { recursive: true, preserveTimestamps: true });
  }
}

/** The ids in the logs, with those that stand twice. */
function entriesIn(dir: string): string[] {
  const names = readdirSync(join(dir, 'logs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  const texts = names.map((name) => readFileSync(join(dir, 'logs', name), 'utf8'));
  return texts.flatMap((text) => [...text.matchAll(/<!-- (e_\w{12})/g)].map((match) => match[1] as string)).sort();
}

/** The rules that stand in topics, with those that stand twice. */
function rulesIn(dir: string): string[] {
  const texts = readdirSync(dir)
    .filter((name) => name.endsWith('.md') && name !== 'MEMORY.md')
    .map((name) => readFileSync(join(dir, name), 'utf8'));
  return texts.flatMap((text) => text.split('\n').filter((line) => RULES.some((rule) => line === `- ${rule}`))).sort();
}

type Damage = (path: string, random: Random) => void;

/** Writes changed bytes without minding that the file is a database. */
const bytesOf = (path: string, change: (bytes: Buffer) => Buffer) => writeFileSync(path, change(readFileSync(path)));

const DAMAGES: Record<string, Damage> = {
  'a few bytes flipped': (path, random) =>
    bytesOf(path, (bytes) => {
      for (let n = 0; n < 8; n += 1) bytes[random.below(bytes.length)] = random.below(256);
      return bytes;
    }),
  'a stretch of zeros': (path, random) =>
    bytesOf(path, (bytes) => {
      const from = random.below(bytes.length);
      return bytes.fill(0, from, Math.min(bytes.length, from + 1 + random.below(6_000)));
    }),
  'a stretch of noise': (path, random) =>
    bytesOf(path, (bytes) => {
      const from = random.below(bytes.length);
      for (let at = from; at < Math.min(bytes.length, from + 500); at += 1) bytes[at] = random.below(256);
      return bytes;
    }),
  'cut off': (path, random) => bytesOf(path, (bytes) => bytes.subarray(0, random.below(bytes.length))),
  emptied: (path) => writeFileSync(path, ''),
  removed: (path) => rmSync(path),
  'replaced by a directory': (path) => {
    rmSync(path);
    mkdirSync(path);
  },
};

function targets({ home, dir }: World): string[] {
  const logs = readdirSync(join(dir, 'logs'), { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.md'),
  );
  const databases = [join(home, 'nocturne.db'), join(home, 'nocturne.db')];
  return [...databases, ...logs.map((name) => join(dir, 'logs', name)).slice(0, 2), join(dir, 'MEMORY.md')];
}

function expectWords(command: string, { code, stdout, stderr }: EndedHere, startedMs: number): void {
  const said = `${command}\n${stdout}\n${stderr}`;
  expect(said).not.toMatch(/\n {4}at |Nobody planned|\[object Object\]/);
  expect(performance.now() - startedMs, said).toBeLessThan(IN_TIME_MS);
  // What failed says what to do.
  if (code === 1) expect(said, said).toMatch(/nocturne|Check|Move|Put|Run|Make|Convert|by hand/);
}

test.each(Array.from({ length: CASES }, (_, n) => SEED + n))(
  'damage by seed %i: words, healing, nothing lost or doubled',
  async (seed) => {
    original ??= await makeOriginal();
    const random = seeded(seed);
    const world = original;
    copy(aside, world);
    const path = random.pick(targets(world));
    const isDatabase = path.endsWith('.db');
    const kinds = Object.keys(DAMAGES).filter((kind) => kind !== 'replaced by a directory' || !isDatabase);
    const kind = random.pick(kinds);
    DAMAGES[kind]?.(path, random);
    const about = `${kind}: ${path}`;
    const before = existsSync(path) && statSync(path).isFile() ? readFileSync(path).length : 'none';
    for (const command of ['--json', 'next', 'dream', 'check', 'list']) {
      const startedMs = performance.now();
      expectWords(`${about} (${before}), ${command}`, await nocturne(world, command), startedMs);
    }
    // A directory is nobody's to remove.
    if (existsSync(path) && statSync(path).isDirectory()) rmSync(path, { recursive: true });
    const startedMs = performance.now();
    const repaired = await nocturne(world, 'check', '--restore');
    expectWords(`${about}, check --restore`, repaired, startedMs);
    // What a person says where spend and pauses could not be read.
    if (isDatabase)
      for (const args of [
        ['pause', '--off'],
        ['retry', '--failed'],
      ])
        await nocturne(world, ...args);
    const dreamed = await nocturne(world, 'dream');
    expect(dreamed, about).toMatchObject({ code: 0 });
    expect(entriesIn(world.dir), about).toEqual(known);
    expect(rulesIn(world.dir), about).toEqual(wanted);
    expect((await nocturne(world, 'check')).stdout, `${about}\n${repaired.stdout}`).toMatch(/: fine\n$/);
  },
);

test('what a driver throws is told in words, whatever it is', () => {
  expect(describeError({ code: '57P03', message: 'the database system is starting up' })).toBe(
    'the database system is starting up',
  );
  expect(describeError({ severity: 'ERROR', code: '42P01' })).toBe('{"severity":"ERROR","code":"42P01"}');
  expect(describeError(new AggregateError([new Error('one'), { message: 'two' }]))).toBe('one, two');
});
