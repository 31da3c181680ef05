// Recall over stores of the database: by the command, by the hook where a session begins, by the library.

import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../../src/base/config/config.ts';
import { agentMemory } from '../../../src/doors/agent-memory.ts';
import { openStore } from '../../../src/memory/open.ts';
import { topicUses } from '../../../src/memory/recall/recall-uses.ts';
import { testApp } from '../../support/app.ts';
import { jsonHere, runHere } from '../../support/run-here.ts';
import { tempDir } from '../../support/temp.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from './own-database.ts';

const TOPIC = `---\nname: trees\ndescription: how trees are kept\ntype: project\n---\n\n- Trees are watered before noon.\n`;

describe.skipIf(noPostgres)(`recall over memory in the database ${noPostgres}`, () => {
  let own: OwnDatabase;
  beforeAll(async () => {
    own = await ownDatabase();
  });
  afterAll(() => own.drop());

  async function world() {
    const { app, environment } = await testApp({ dir: tempDir(), settings: { databaseUrl: own.url } });
    const store = await app.storeFor({});
    await store.write({ actor: 'tool:test' }, { path: 'trees.md', text: TOPIC });
    await store.write(
      { actor: 'tool:test' },
      { path: 'MEMORY.md', text: '# Memory\n\n- How trees are kept [trees.md]\n' },
    );
    const machine = () => {
      const home = tempDir();
      return {
        ...environment,
        HOME: home,
        NOCTURNE_HOME: home,
        NOCTURNE_DATABASE_URL: own.url,
        NOCTURNE_MEMORY_DIR: store.id,
      };
    };
    const revision = async () =>
      (await own.ask<{ revision: number }>('select revision from store where id = $1', [store.id]))[0]?.revision;
    const rows = (table: string) => own.ask(`select * from ${table} where store = $1`, [store.id]);
    return { app, store, here: machine(), there: machine(), revision, rows };
  }

  type Recalled = { text: string; memory: string; isRepeated: boolean };
  const recallIn = (at: Record<string, string | undefined>) =>
    jsonHere<Recalled>(['recall', '--session', 's1', '--query', 'trees'], at);

  test('what a session was given, the other machine gives it again; a recall is rows, and no revision', async () => {
    const { app, store, here, there, revision, rows } = await world();
    const before = await revision();
    const first = await recallIn(here);
    expect(first).toMatchObject({ memory: store.id, isRepeated: false });
    expect(first.text).toContain('watered before noon');
    expect(first.text).toContain(`nocturne show FILE --memory ${store.id}`);
    expect(await recallIn(there)).toMatchObject({ text: first.text, isRepeated: true });
    const hook = { hook_event_name: 'SessionStart', source: 'startup', session_id: 's2', cwd: '/work/shop' };
    const started = await runHere(['recall', '--hook'], there, { stdin: JSON.stringify(hook) });
    const answer = JSON.parse(started.stdout);
    expect(answer.hookSpecificOutput.additionalContext).toContain('watered before noon');
    expect(answer.systemMessage).toContain('1 line recalled');
    expect(await revision()).toBe(before);
    expect(await rows('topic_use')).toMatchObject([{ shown: 2, used: 1 }]);
    // Who dreams reads them, and a rename takes them along.
    const opened = await app.store(store.id);
    expect(topicUses(opened.ledger).get('trees.md')).toMatchObject({ shown: 2, used: 1 });
    await opened.rename({ actor: 'tool:test' }, { from: 'trees.md', to: 'orchard.md' });
    expect(topicUses((await app.store(store.id)).ledger).get('orchard.md')).toMatchObject({ shown: 2, used: 1 });
    // Out of the database they are where recall on one machine keeps them.
    const dir = join(tempDir(), 'memory');
    expect((await runHere(['move', '--to-directory', dir, '--store', store.id], here)).code).toBe(0);
    expect((await runHere(['move', '--to-directory', dir, '--store', store.id, '--remove'], here)).code).toBe(0);
    const moved = await openStore(dir);
    expect(topicUses(moved.ledger).get('orchard.md')).toMatchObject({ shown: 2, used: 1 });
    moved.close();
    expect(await rows('topic_use')).toEqual([]);
  });

  test('what was forgotten or redacted is given to no session again, and is in no row', async () => {
    const { app, store, here, rows } = await world();
    expect((await runHere(['remember', 'The gate is opened at seven.'], here)).code).toBe(0);
    expect((await recallIn(here)).text).toContain('opened at seven');
    expect(await rows('recalled')).toHaveLength(1);
    expect((await runHere(['forget', 'gate is opened', '--yes'], here)).code).toBe(0);
    expect(await rows('recalled')).toEqual([]);
    expect((await recallIn(here)).text).not.toContain('opened at seven');
    // A copy of before notes nothing any more.
    await own.ask('update store set forgotten = forgotten + 1 where id = $1', [store.id]);
    await store.recalls.remember({ session: 's3', request: 'r', text: 'opened at seven', now: new Date() });
    expect(await rows('recalled')).toHaveLength(1);
    await own.ask('update store set forgotten = 0 where id = $1', [store.id]);
    await store.recalls.remember({ session: 's4', request: 'r', text: 'hunter2hunter2', now: new Date() });
    expect((await runHere(['redact', '--match', 'hunter2hunter2'], here)).code).toBe(0);
    expect(JSON.stringify(await rows('recalled'))).not.toContain('hunter2');
    expect(await app.home.stores()).toEqual([]);
  });

  test("an agent's memory is the store; a topic that it opens is used", async () => {
    const { store, here, rows } = await world();
    const config = await loadConfig({}, here);
    const memory = await agentMemory({ memory: 'project', config, cwd: tempDir() });
    try {
      expect(memory.store.id).toBe(store.id);
      expect(memory.systemPrompt).toContain('watered before noon');
      const [tool] = memory.tools;
      expect(await tool?.run({ command: 'view', path: '/memories/trees.md' })).toContain('watered before noon');
      expect(await rows('topic_use')).toMatchObject([{ used: 1 }]);
      await tool?.run({ command: 'create', path: '/memories/gate.md', file_text: 'The gate is green.\n' });
    } finally {
      await memory.close();
    }
    expect((await runHere(['show', 'gate.md'], here)).stdout).toContain('The gate is green.');
  });

  test('a database that takes a connection and says nothing holds no session up: a word, and nothing is recalled', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    await new Promise((listening) => silent.on('listening', listening));
    const { port } = silent.address() as { port: number };
    const home = tempDir();
    const away = {
      ...{ PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, NOCTURNE_ZONE: 'UTC' },
      NOCTURNE_DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none`,
    };
    try {
      const hook = { hook_event_name: 'SessionStart', source: 'startup', session_id: 's1', cwd: tempDir() };
      const beganAt = performance.now();
      const { code, stdout } = await runHere(['recall', '--hook'], away, { stdin: JSON.stringify(hook) });
      expect(performance.now() - beganAt).toBeLessThan(4_000);
      expect({ code, ...JSON.parse(stdout) }).toEqual({
        code: 0,
        systemMessage: expect.stringMatching(/^nocturne: The database at .* does not answer.*: nothing is recalled$/),
      });
      expect((await runHere(['recall'], away)).stderr).toContain('nothing is recalled');
    } finally {
      silent.close();
    }
  });
});
