// The floors and the doors of the house, proven from the sources' own imports.

import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { rolldown } from 'rolldown';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

interface Source {
  path: string;
  text: string;
  /** Paths of own files, and names of packages, that it imports. */
  imports: string[];
}

const sources: Source[] = ['src', 'jobs'].flatMap((dir) =>
  readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile() && item.name.endsWith('.ts'))
    .map((item) => read(relative(root, join(item.parentPath, item.name)))),
);

function read(path: string): Source {
  const text = readFileSync(join(root, path), 'utf8');
  const named = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] as string);
  return { path, text, imports: named.map((name) => (name.startsWith('.') ? join(dirname(path), name) : name)) };
}

/** The rooms, from the ground up; each looks down on those before it. */
const ROOMS = [
  ...[
    'src/base',
    'src/rules',
    'src/transcript',
    'src/agent',
    'src/db',
    'src/memory',
    'src/queue',
    'jobs',
    'src/terminal',
  ],
  ...['src/worker', 'src/hook', 'src/setup', 'src/tools', 'src/server', 'src/page', 'src/cli', 'src'],
];
const STRANGERS = ['src/transcript', 'src/agent'];

function roomOf(path: string): string {
  return /^(jobs|src\/\w+(?=\/)|src)/.exec(path)?.[1] ?? '';
}

function offenders(rule: (source: Source, imported: string) => boolean): string[] {
  return sources.flatMap((source) =>
    source.imports.filter((imported) => rule(source, imported)).map((imported) => `${source.path} imports ${imported}`),
  );
}

function isOwn(imported: string): boolean {
  return imported.startsWith('src/') || imported.startsWith('jobs/');
}

test('imports only go down the rooms', () => {
  const own = sources.filter(({ path }) => !path.startsWith('src/checkout/'));
  expect(own.filter(({ path }) => !ROOMS.includes(roomOf(path))).map(({ path }) => path)).toEqual([]);
  const up = offenders(
    (source, imported) =>
      isOwn(imported) &&
      !source.path.startsWith('src/checkout/') &&
      ROOMS.indexOf(roomOf(imported)) > ROOMS.indexOf(roomOf(source.path)),
  );
  expect(up).toEqual([]);
});

test('what reads transcripts and what asks models are strangers to each other', () => {
  const crossing = offenders((source, imported) => {
    const [from, to] = [roomOf(source.path), roomOf(imported)];
    return from !== to && STRANGERS.includes(from) && STRANGERS.includes(to);
  });
  expect(crossing).toEqual([]);
});

test('no file imports itself through others, types included', () => {
  const graph = new Map(sources.map((source) => [source.path, source.imports.filter(isOwn)]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, trail: string[]) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '));
    if (done.has(path) || trail.includes(path)) return;
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) visit(path, []);
  expect(cycles).toEqual([]);
});

test.each([
  ['the disk', /^(node:)?fs(\/promises)?$/, ['src/base/files/files.ts', 'src/base/files/directories.ts']],
  ['the SDK client', /^@anthropic-ai\/sdk$/, ['src/agent/model.ts', 'src/agent/loop.ts']],
  ['the index of date-fns', /^date-fns$/, []],
  ['BullMQ', /^(bullmq|ioredis)$/, ['src/queue/redis.ts', 'src/queue/wake.ts']],
  // Who only keeps memory in PostgreSQL starts without it.
  ['what loads BullMQ', /(?:queue|^\.)\/redis\.ts$/, ['src/queue/wake.ts']],
  ["PostgreSQL's driver", /^pg$/, ['src/db/postgres.ts']],
] as [string, RegExp, string[]][])('only the named files touch %s', (_, pattern, allowed) => {
  expect(offenders((source, imported) => pattern.test(imported) && !allowed.includes(source.path))).toEqual([]);
});

test('only config.ts reads the environment, and what loads no settings: the hook, and the command line before it loads them', () => {
  const readers = sources.filter((source) => code(source).includes('process.env')).map((source) => source.path);
  expect(readers.toSorted()).toEqual(['src/base/config/config.ts', 'src/cli/cli.ts', 'src/hook/hook.ts']);
});

test('the hook is one file without a dependency', async () => {
  const { output } = await rolldown({ input: 'src/hook/hook.ts', platform: 'node', cwd: root }).then((bundle) =>
    bundle.generate({ format: 'esm', codeSplitting: false }),
  );
  expect(output).toHaveLength(1);
  const loaded = [...output[0].code.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map((match) => match[1]);
  expect(loaded.toSorted()).toEqual(['node:fs', 'node:os', 'node:path', 'node:url']);
  expect(output[0].code.length).toBeLessThan(40_000);
});

test('only time.ts asks what time it is', () => {
  const askers = sources
    .filter((source) => /Date\.now\(\)|new Date\(\)/.test(code(source)))
    .map((source) => source.path);
  expect(askers).toEqual(['src/base/time.ts']);
});

test('only the doors, commands and the forked child write to the standard streams or ends the process', () => {
  const speakers = sources.filter((source) => /process\.(stdout|stderr|exit\b|exitCode)|console\./.test(code(source)));
  expect(
    speakers
      .map((source) => source.path)
      .filter((path) => !/^src\/(?:cli|hook|setup|terminal|checkout)\/|^src\/agent\/watchdog\.ts$/.test(path)),
  ).toEqual([]);
});

test('no file of src or jobs has more than 400 lines', () => {
  expect(sources.filter((source) => source.text.split('\n').length > 401).map((source) => source.path)).toEqual([]);
});

test('every package that is imported is named in package.json', () => {
  const { dependencies, devDependencies, peerDependencies } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const named = { ...dependencies, ...devDependencies, ...peerDependencies };
  const packageOf = (imported: string) => imported.split('/', imported.startsWith('@') ? 2 : 1).join('/');
  const isMissing = (imported: string) => /^[@\w]/.test(imported) && !isOwn(imported) && !imported.startsWith('node:');
  expect(offenders((_, imported) => isMissing(imported) && !(packageOf(imported) in named))).toEqual([]);
});

test.each(['bullmq', 'ioredis', '@anthropic-ai/sdk', 'gray-matter', 'date-fns'])(
  '%s, a fixed part, is used',
  (name) => {
    const users = sources.filter(({ imports }) => imports.some((path) => path === name || path.startsWith(`${name}/`)));
    expect(users).not.toEqual([]);
  },
);

test('the map in AGENTS.md names no file that is not there', () => {
  const [, map = ''] = readFileSync(join(root, 'AGENTS.md'), 'utf8').split(/^## Where (?:things are|this departs).*$/m);
  const names = [...map.matchAll(/(?<![\w-])\w[\w-]*\.(?:ts|js)\b/g)].map(([name]) => name);
  const there = new Set(sources.map(({ path }) => path.split('/').at(-1)));
  const own = new Set(
    readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).map((path) => basename(path)),
  );
  expect(names.length).toBeGreaterThan(150);
  expect(names.filter((name) => !there.has(name) && !own.has(name))).toEqual([]);
});

/** The source without comments. */
function code({ text }: Source): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
}
