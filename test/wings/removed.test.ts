// A wing is what can be removed. Each is taken out of a copy of the checkout: its folder, its lines in the lists, its tests.
// Wings that stand on it go with it. What is left must compile, and its tests must pass: in the deep size without each of
// the wings, tests compiled too; in the quick one without one of them, by the seed, and without the tests.

import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { WINGS } from '../../src/wings/index.ts';
import { sized } from '../support/depth.ts';
import { seeded } from '../support/random.ts';
import { tempDir } from '../support/temp.ts';

const root = join(import.meta.dirname, '../..');
const NAMES = readdirSync(join(root, 'src/wings'), { withFileTypes: true })
  .filter((item) => item.isDirectory())
  .map(({ name }) => name);
const removed = sized({
  quick: [seeded(Number(process.env.PROPERTY_SEED ?? 1) || Date.now()).pick(NAMES)],
  deep: NAMES,
});

/** Tests of the core that pass through every seam. */
const CORE = [
  'test/architecture.test.ts',
  'test/doors/help.test.ts',
  'test/doors/doctor.test.ts',
  'test/doors/recall-beside.test.ts',
  'test/doors/hook/ingest.test.ts',
  'test/doors/worker/nightly.test.ts',
  'test/jobs/undo.test.ts',
  'test/jobs/dream.test.ts',
];

/** A wing, and those that stand on it. */
function goingWith(name: string): string[] {
  return [name, ...WINGS.filter(({ standsOn }) => standsOn?.includes(name)).map((wing) => wing.name)];
}

const copies = new Map<string, string>();

function copyWithout(name: string): string {
  const copy = copies.get(name) ?? copyOfCheckout();
  if (copies.has(name)) return copy;
  for (const each of goingWith(name)) takeOut(each, copy);
  copies.set(name, copy);
  return copy;
}

function copyOfCheckout(): string {
  const copy = join(tempDir(), 'nocturne');
  for (const item of readdirSync(root)) {
    if (!['node_modules', 'dist', '.git'].includes(item))
      cpSync(join(root, item), join(copy, item), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** What tests several wings together, and goes with each of them. */
const TOGETHER: Record<string, string[]> = {
  'test/chaos/fleet': ['fleet', 'server'],
  'test/wings/fleet/cost-on-page.test.ts': ['fleet', 'server', 'page'],
};

function takeOut(name: string, copy: string): void {
  const together = Object.keys(TOGETHER).filter((dir) => TOGETHER[dir]?.includes(name));
  for (const dir of [`src/wings/${name}`, `test/wings/${name}`, ...together])
    rmSync(join(copy, dir), { recursive: true, force: true });
  for (const list of ['src/wings/index.ts', 'src/index.ts']) {
    const text = readFileSync(join(copy, list), 'utf8');
    const statements = text
      .split(/(?<=;\n)/)
      .filter((each) => !each.includes(`wings/${name}/`) && !each.includes(`'./${name}/`));
    writeFileSync(
      join(copy, list),
      statements.join('').replace(new RegExp(`^ *${name},\n|\\b${name}, |, ${name}\\b`, 'gm'), ''),
    );
  }
}

function inside(copy: string, program: string, args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join('node_modules', program), ...args], {
    cwd: copy,
    // The compiler collects less of its garbage; it is done soon.
    env: { ...process.env, GOGC: '400' },
    encoding: 'utf8',
  });
  return { status, said: status === 0 ? '' : `${stdout}${stderr}` };
}

test('every wing in the list has its folder, its tests, and a name of its own', () => {
  expect(WINGS.map(({ name }) => name).toSorted()).toEqual(NAMES.toSorted());
  for (const name of NAMES) expect(readdirSync(join(root, 'test/wings', name))).not.toEqual([]);
});

test.each(removed)('without the wing %s the core compiles', (name) => {
  const copy = copyWithout(name);
  const config = JSON.parse(readFileSync(join(copy, 'tsconfig.json'), 'utf8'));
  const include = ['src', 'jobs', ...sized({ quick: [], deep: ['test'] })];
  writeFileSync(join(copy, 'compiled.json'), JSON.stringify({ ...config, include }));
  // Several checkers are sooner done, and look at much twice.
  const args = ['--noEmit', '--checkers', '1', '--project', 'compiled.json'];
  expect(inside(copy, 'typescript/bin/tsc', args)).toEqual({ status: 0, said: '' });
});

test.each(sized({ quick: [], deep: NAMES }))('without the wing %s the tests of the core pass', (name) => {
  const copy = copyWithout(name);
  const run = inside(copy, 'vitest/vitest.mjs', [
    'run',
    '--config',
    'test/vitest.config.ts',
    '--exclude',
    'test/wings/**',
    ...CORE,
  ]);
  expect(run).toEqual({ status: 0, said: '' });
});
