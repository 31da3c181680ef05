// What a wing keeps in a ledger while the wing comes and goes: through the command line, with an own wing among the rest.

import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Environment } from '../../../src/base/config/config.ts';
import { main } from '../../../src/doors/cli/cli.ts';
import { useWings, type Wing } from '../../../src/doors/wing.ts';
import { findLedger, type Ledger, lookIntoLedger, openLedger } from '../../../src/memory/ledger/ledger.ts';
import { WINGS } from '../../../src/wings/index.ts';
import { hereWith } from '../../support/run-here.ts';
import { tempDir } from '../../support/temp.ts';

const FIRST = 'create table lantern (id text primary key) strict';
const lantern: Wing = { name: 'lantern', jobKinds: ['light'], tables: ['lantern'], schema: [FIRST] };
const later: Wing = { ...lantern, schema: [FIRST, "alter table lantern add column oil text not null default 'olive'"] };

let dir: string;
let environment: Environment;
beforeEach(() => {
  dir = tempDir();
  environment = { HOME: tempDir(), NOCTURNE_HOME: tempDir(), NOCTURNE_MEMORY_DIR: dir, NOCTURNE_ZONE: 'UTC' };
});
afterEach(() => useWings(WINGS));

function withLedger<T>(list: readonly Wing[], work: (ledger: Ledger) => T): T {
  useWings(list);
  const ledger = openLedger(dir);
  try {
    return work(ledger);
  } finally {
    ledger.close();
  }
}

const rows = (ledger: Ledger) => ledger.all('select * from lantern');
const run = (args: string[], list: readonly Wing[]) =>
  hereWith(() => main(['node', 'nocturne', ...args], { loadWings: async () => ({ WINGS: list }) }), environment);

test('a wing finds its rows again after a nocturne without it has worked, and takes each of its steps once', () => {
  withLedger([...WINGS, lantern], (ledger) => ledger.insert('lantern', { id: 'a' }));
  withLedger(WINGS, (ledger) => expect(rows(ledger)).toEqual([{ id: 'a' }]));
  withLedger([...WINGS, later], (ledger) => expect(rows(ledger)).toEqual([{ id: 'a', oil: 'olive' }]));
  withLedger([...WINGS, later], (ledger) => ledger.insert('lantern', { id: 'b', oil: 'rape' }));
  withLedger([], (ledger) => expect(rows(ledger)).toHaveLength(2));
});

test('status names the tables of a wing that is not there while they hold rows, and only then', async () => {
  withLedger([...WINGS, lantern], () => {});
  expect((await run(['status', '--verbose'], WINGS)).stdout).not.toContain('lantern');
  withLedger([...WINGS, lantern], (ledger) => ledger.insert('lantern', { id: 'a' }));
  expect((await run(['status', '--verbose'], WINGS)).stdout).toContain(
    'kept       1 row in lantern, of the wing lantern, which is not there',
  );
  expect(JSON.parse((await run(['status', '--json'], WINGS)).stdout).withoutWing).toEqual([
    { wing: 'lantern', table: 'lantern', rows: 1 },
  ]);
  expect((await run(['status', '--verbose'], [...WINGS, lantern])).stdout).not.toContain('lantern');
});

test('tables of wings that a ledger had before wings had a version are named, too', async () => {
  const proposal = { at: '', made_by: '', operations: '[]', topics: '[]', entries: '[]', state: 'open' };
  withLedger([], (ledger) => ledger.insert('proposal', { id: 'p', job: 'j', ...proposal }));
  expect((await run(['status', '--verbose'], [])).stdout).toContain(
    'kept       1 row in proposal, of the wing review, which is not there',
  );
});

test('a job of a wing is not undone without it, and is with it again', async () => {
  const id = withLedger([...WINGS, lantern], (ledger) => {
    ledger.insert('job', { id: 'job_1', kind: 'light', status: 'ended', created_at: '2026-11-21T00:00:00.000Z' });
    return 'job_1';
  });
  const without = await run(['undo', id], WINGS);
  expect({ ...without, code: without.code > 0 }).toMatchObject({
    code: true,
    stderr: expect.stringContaining(`${id} is a job of a kind that this nocturne does not have: light.`),
  });
  expect((await run(['undo', id], [...WINGS, lantern])).stderr).not.toContain('does not have');
});

test('a ledger in which a wing has gone further is refused; one in which it has not gone so far is not only looked into', () => {
  withLedger([later], () => {});
  expect(() => withLedger([lantern], () => {})).toThrow('written by a newer nocturne (lantern 2)');
  const path = join(dir, '.nocturne/ledger.db');
  expect(() => findLedger(dir)).toThrow(path);
  useWings([{ ...later, schema: [...(later.schema ?? []), 'create table wick (id text) strict'] }]);
  expect(lookIntoLedger(dir)).toBeNull();
  findLedger(dir)?.close();
  const found = lookIntoLedger(dir);
  expect(found?.all('select * from wick')).toEqual([]);
  found?.close();
});
