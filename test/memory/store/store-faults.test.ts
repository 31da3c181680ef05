// Every call that changes the disk is failed once, for every kind of commit; then the directory is opened again and
// the store's promises are checked: all or none, nothing lost, nothing left over.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { openStore } from '../../../src/memory/open.ts';
import type { Store } from '../../../src/memory/store/store.ts';
import { sized } from '../../support/depth.ts';
import { type Fault, onFaultyDisk } from '../../support/faulty-files.ts';
import { BEFORE, EARLY, LATE, prepare, run, SCENARIOS, type Scenario, stateOf } from '../../support/store-scenarios.ts';
import { tempDir } from '../../support/temp.ts';

const root = tempDir();
const origin = join(root, 'origin');

const KINDS = ['error', 'crash', 'after'] satisfies Fault[];
/** In the small size three calls of forty-five fail in one of the three ways, other ones in each scenario; in the long one all in each. */
const EVERY = sized({ quick: 45, deep: 1 });
const firstOf = (index: number, scenario = 0) => 1 + ((index + scenario) % EVERY);

const CHILD = { stdio: 'inherit' as const };

beforeAll(() => prepare(origin));

/** A copy of the directory as the scenarios find it. */
function fresh(): string {
  const dir = mkdtempSync(join(root, 'run-'));
  cpSync(origin, dir, { recursive: true });
  return dir;
}

/** Opens the directory as the next process would, and once more when all displaced files are due. */
async function reopen(dir: string): Promise<Store> {
  (await openStore(dir, { clock: EARLY })).close();
  return openStore(dir, { clock: LATE });
}

/** What may stand there afterwards: as if nothing had been done, with or without the edit from outside, or all of it. */
async function allowedStates(scenario: Scenario) {
  const dirs = [fresh(), fresh(), fresh()] as const;
  await expect(run(scenario, dirs[1], { abort: true })).rejects.toThrow('aborted');
  await run(scenario, dirs[2]);
  return Promise.all(
    dirs.map(async (dir) => {
      const store = await reopen(dir);
      const state = await stateOf(store);
      store.close();
      return state;
    }),
  );
}

async function checkPromises(dir: string, scenario: Scenario, allowed: unknown[]): Promise<void> {
  const store = await reopen(dir);
  expect(allowed).toContainEqual(await stateOf(store));
  const versions = store.ledger
    .all('select content from version')
    .map((row) => (row.content as Buffer | null)?.toString());
  for (const text of Object.values(BEFORE)) expect(versions).toContain(text);
  const { outside } = scenario;
  if (outside?.text && existsSync(`${dir}.outside`)) expect(versions).toContain(outside.text);
  expect(store.ledger.all('select id from "commit" where applied = 0')).toEqual([]);
  expect(readdirSync(join(dir, '.nocturne/aside'))).toEqual([]);
  expect(
    readdirSync(join(dir, '.nocturne')).filter((name) => !/^(aside|\.gitignore|(ledger|lock)\.db.*)$/.test(name)),
  ).toEqual([]);
  for (const path of await store.list()) expect(statSync(join(dir, path)).nlink).toBe(1);
  store.close();
}

test.each(SCENARIOS)('whatever call fails, all or nothing is done when $name', async (scenario) => {
  const which = SCENARIOS.indexOf(scenario);
  const allowed = await allowedStates(scenario);
  expect(allowed[0]).toEqual({ files: BEFORE, hasRows: false });
  for (const [index, kind] of KINDS.entries()) {
    for (let at = firstOf(index, which), failed: string | null = 'the first'; failed !== null; at += EVERY) {
      const dir = fresh();
      const disk = await onFaultyDisk({ at, kind }, () => run(scenario, dir));
      failed = disk.failed;
      try {
        await checkPromises(dir, scenario, allowed);
      } catch (error) {
        throw new Error(`${kind} at call ${at} (${failed})`, { cause: error });
      }
      rmSync(dir, { recursive: true });
      expect(failed !== null || at > 10).toBe(true);
    }
  }
});

test('whatever call fails, a directory that is opened for the first time can be opened again', async () => {
  const open = (dir: string) => openStore(dir, { clock: EARLY });
  const { calls } = await onFaultyDisk({ at: 0, kind: 'error' }, async () => (await open(join(root, 'first'))).close());
  for (const [index, kind] of KINDS.entries()) {
    for (let at = firstOf(index); at <= calls; at += EVERY) {
      const dir = mkdtempSync(join(root, 'first-'));
      await onFaultyDisk({ at, kind }, async () => (await open(dir)).close());
      const store = await reopen(dir);
      await store.write({ actor: 'person' }, { path: 'a.md', text: 'a\n' });
      expect(readFileSync(join(dir, '.nocturne/.gitignore'), 'utf8')).toContain('!/dreams/');
      store.close();
    }
  }
});

test('a writer that is killed at whatever call leaves all or nothing', async () => {
  const index = SCENARIOS.length - 1;
  const scenario = SCENARIOS[index] as Scenario;
  const allowed = await allowedStates(scenario);
  const writer = join(import.meta.dirname, '../../fixtures/memory/dying-writer.ts');
  const write = async (at: number, dir: string) => {
    const kind = at % 4 < 2 ? 'crash' : 'after';
    return once(spawn(process.execPath, [writer, String(index), dir, String(at), kind], CHILD), 'close');
  };
  // One that is not killed leaves its modules compiled for the others: in the long size first, else last.
  if (sized({ quick: false, deep: true })) expect(await write(100_000, fresh())).toEqual([0, null]);
  const dieFrom = async (first: number) => {
    for (let at = first, wasKilled = true; wasKilled; at += sized({ quick: 57, deep: 6 })) {
      const dir = fresh();
      const [status, signal] = await write(at, dir);
      wasKilled = signal === 'SIGKILL';
      expect(wasKilled || (at > 40 && status === 0)).toBe(true);
      await checkPromises(dir, scenario, allowed);
      rmSync(dir, { recursive: true });
    }
  };
  // Two at a time: most of it is waiting for processes to start. In the small size four of all.
  await Promise.all(sized({ quick: [1], deep: [1, 4] }).map(dieFrom));
});

test.skipIf(process.platform === 'win32')(
  'a ledger that cannot grow any more leaves all or nothing, and says so',
  async () => {
    const index = SCENARIOS.findIndex((scenario) => scenario.files.length > 1);
    const scenario = SCENARIOS[index] as Scenario;
    const allowed = await allowedStates(scenario);
    const writer = join(import.meta.dirname, '../../fixtures/memory/full-disk-writer.ts');
    const endings = new Set<string>();
    // In units of 512 bytes, three pages at a time: from where the ledger cannot be opened to where all has room.
    const fill = async (ending: 'close' | 'die') => {
      for (let blocks = 64, ended = ''; ended !== 'fine'; blocks += sized({ quick: 208, deep: 24 })) {
        const dir = fresh();
        const args = [process.execPath, writer, String(index), dir, ending];
        const child = spawn('sh', ['-c', `ulimit -f ${blocks}; exec "$@"`, 'sh', ...args], CHILD);
        const [status, signal] = await once(child, 'close');
        ended = status === 0 ? 'fine' : status === 3 ? 'told' : String(signal);
        endings.add(ended);
        await checkPromises(dir, scenario, allowed);
        rmSync(dir, { recursive: true });
      }
    };
    await Promise.all([fill('close'), fill('die')]);
    expect([...endings].sort()).toEqual(['SIGKILL', 'fine', 'told']);
  },
);
