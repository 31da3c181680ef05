// What is about the user, over a database: it goes to the user's memory of the machine that the session ran on, and to nobody
// else's; and memory that MCP serves is the database's.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { outboxRows } from '../../../src/memory/ledger/entries.ts';
import { connectHere } from '../../support/mcp.ts';
import { jsonHere, runHere } from '../../support/run-here.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { noPostgres, withStores } from './own-database.ts';

const TEA = 'The user prefers tea over coffee.';

describe.skipIf(noPostgres)(`what is about the user ${noPostgres}`, () => {
  const own = withStores({ stores: {} });

  function machine() {
    const home = tempDir();
    writeFileSync(join(home, 'config.json'), JSON.stringify({ userScope: true }));
    return {
      ...{ PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_DATABASE_URL: own.database.url },
      ...{ NOCTURNE_MODEL: 'offline', NOCTURNE_QUEUE_URL: '', NOCTURNE_ZONE: 'UTC' },
      NOCTURNE_NOW: '2026-11-21T02:00:00Z',
    };
  }

  type Listed = { waiting: { text: string }[] };
  const told = async (args: string[], at: ReturnType<typeof machine>) =>
    (await jsonHere<Listed>(['list', ...args], at)).waiting.map(({ text }) => text);

  async function extract(at: ReturnType<typeof machine>, args: string[], id = 'a') {
    const session = aSession(['I prefer tea over coffee.'], {
      id: `${id}1111111-2222-4333-8444-555555555555`,
      cwd: '/work/shop',
    });
    const ended = await runHere(['extract', session.path, ...args], at);
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining(TEA) });
  }

  const outboxes = async () =>
    (await Promise.all((await own.stores.list()).map(({ id }) => outboxOf(id)))).reduce((sum, each) => sum + each, 0);
  async function outboxOf(id: string): Promise<number> {
    let count = 0;
    await own.stores.lookIntoLedger(id, (ledger) => {
      count = outboxRows(ledger).length;
    });
    return count;
  }

  test('goes from a project to the user’s own memory, and stays where that is what learned it', async () => {
    const here = machine();
    const project = join(tempDir(), 'memory');
    await extract(here, ['--memory', project]);
    expect(await told(['--memory', project], here)).toEqual([]);
    expect(await told(['--scope', 'user'], here)).toEqual([TEA]);
    const other = machine();
    await extract(other, ['--scope', 'user']);
    expect(await told(['--scope', 'user'], other)).toEqual([TEA]);
    expect(await outboxes()).toBe(0);
  });

  test('stays in a memory of another machine, whose user another is', async () => {
    const [here, project] = [machine(), join(tempDir(), 'memory')];
    expect((await runHere(['remember', 'Deploys happen on Tuesdays.', '--memory', project], here)).code).toBe(0);
    await own.database.ask("update store set source = 'elsewhere:' || id where source like $1", [`%:${project}`]);
    const [found] = await own.database.ask<{ id: string }>("select id from store where source like 'elsewhere:%'");
    const id = found?.id as string;
    await extract(here, ['--store', id], 'b');
    expect(await told(['--store', id], here)).toContain(TEA);
    expect(await told(['--scope', 'user'], here)).toEqual([]);
    expect(await outboxes()).toBe(0);
  });

  test('where it was sent on another machine, a redaction says that it is there still', async () => {
    const [here, project] = [machine(), join(tempDir(), 'memory')];
    await extract(here, ['--memory', project], 'c');
    const { memory: id } = await jsonHere<{ memory: string }>(['list', '--memory', project], here);
    await own.database.ask("update store set source = 'gone:' || id where id = $1", [id]);
    const redacted = await runHere(['redact', '--match', 'coffee', '--store', id], machine());
    expect(redacted).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Redact it there, too, with --scope user.'),
    });
    expect(await told(['--scope', 'user'], here)).toEqual([TEA]);
    expect((await runHere(['redact', '--match', 'coffee', '--scope', 'user'], here)).stdout).toContain('redacted');
    expect(JSON.stringify(await told(['--scope', 'user'], here))).not.toContain('coffee');
  });

  test('a directory that is reached by a link stands for the same store', async () => {
    const [here, dir] = [machine(), tempDir()];
    mkdirSync(join(dir, 'memory'));
    symlinkSync(join(dir, 'memory'), join(dir, 'link'));
    expect((await runHere(['remember', 'Deploys happen.', '--memory', join(dir, 'link')], here)).code).toBe(0);
    expect(await told(['--memory', join(dir, 'memory')], here)).toEqual(['Deploys happen.']);
  });

  test('an MCP client reads and writes what the database holds', async () => {
    const [here, project] = [machine(), join(tempDir(), 'memory')];
    expect((await runHere(['remember', 'Deploys happen on Tuesdays.', '--memory', project], here)).code).toBe(0);
    const { memory: id } = await jsonHere<{ memory: string }>(['list', '--memory', project], here);
    const stores = [`notes=${project}`, `same=${id}:rw`];
    const { call } = await connectHere(stores, here);
    const input = { store: 'same', path: 'gate.md', content: 'The gate is green.\n' };
    expect(await call('memory_write', input)).toMatchObject({ isError: false });
    expect((await call('memory_read', { store: 'notes', path: 'gate.md' })).text).toContain('The gate is green.');
    expect((await call('memory_search', { store: 'notes', query: 'Tuesdays' })).text).toContain('Tuesdays');
    expect((await call('memory_read', { store: 'same', path: 'gate.md' })).text).toContain('The gate is green.');
    expect(await own.database.ask('select used from topic_use where store = $1', [id])).toEqual([{ used: 1 }]);
    expect((await runHere(['show', 'gate.md', '--memory', id], here)).stdout).toBe('The gate is green.\n');
    expect(await own.database.ask('select path from nocturne_home.store')).toEqual([]);
  });

  test('an MCP client that only reads makes no memory in the database, and is told that there is none', async () => {
    const known = await own.stores.list();
    const { call } = await connectHere([`notes=${join(tempDir(), 'memory')}`], machine());
    const text = 'The store "notes" has no memory yet.';
    expect(await call('memory_list')).toMatchObject({ text, data: { memories: [] } });
    expect(await call('memory_search', { query: 'tea' })).toMatchObject({ text, data: { hits: [], total: 0 } });
    expect(await call('memory_read', { path: 'a.md' })).toMatchObject({ isError: true });
    expect(await own.stores.list()).toEqual(known);
  });
});
