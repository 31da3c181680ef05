// What a session is told where memory is kept in PostgreSQL, and where the database is away or damaged.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { databasePath } from '../../src/db/open-database.ts';
import { answerHook, recallFor } from '../../src/hook/start-recall.ts';
import { openApp } from '../../src/worker/compose.ts';
import { API, USER } from '../support/memory-world.ts';
import { noPostgres, ownDatabase } from '../support/own-database.ts';
import { tempDir } from '../support/temp.ts';

const topic = (name: string, line: string) =>
  `---\nname: ${name}\ndescription: About ${name}\ntype: project\n---\n\n- ${line}\n`;

async function onPostgres() {
  const [home, cwd, database] = [tempDir(), tempDir(), await ownDatabase()];
  const environment = { HOME: home, NOCTURNE_DATABASE_URL: database.url, NOCTURNE_NOW: '2026-11-21T02:00:00Z' };
  const config = await loadConfig({}, environment);
  const app = await openApp(config);
  onTestFinished(async () => {
    await app.close();
    await database.drop();
  });
  const memory = await app.memoryFor({ cwd });
  const files = app.files(memory);
  await files.create(USER, { path: 'MEMORY.md', text: '- Hosts [hosts.md]\n- Ports [ports.md]\n' });
  await files.create(USER, { path: 'hosts.md', text: topic('hosts', 'Staging runs on alpha.') });
  await files.create(API, { path: 'ports.md', text: topic('ports', 'The gateway listens on port 5433.') });
  const input = { session_id: 's1', cwd, hook_event_name: 'SessionStart', source: 'startup' };
  return { app, config, cwd, memory, input };
}

test.skipIf(noPostgres !== '')(
  `a session is told the rows, and how a file of them is read, once for each request ${noPostgres}`,
  async () => {
    const { app, config, cwd, memory, input } = await onPostgres();
    const said = JSON.parse(await answerHook(config, { input }));
    expect(said.systemMessage).toBe('nocturne: 2 lines recalled');
    const text = said.hookSpecificOutput.additionalContext as string;
    expect(text).toContain(
      `the memory ${memory.id} of a database (nocturne show FILE --memory ${memory.id} prints a file of it)`,
    );
    expect(text).toMatch(
      /## MEMORY\.md[\s\S]*### hosts\.md \(project, last changed 2026-11-21\)[\s\S]*- Staging runs on alpha\./,
    );
    // What a program wrote is an agent's word.
    expect(text).toMatch(/ports\.md \(project, last changed 2026-11-21, written by a program\)/);
    await app.files(memory).write(USER, { path: 'hosts.md', text: topic('hosts', 'Staging runs on beta.') });
    expect(await recallFor(config, { cwd, session: 's1', agent: 'claude-code' })).toMatchObject({
      isRepeated: true,
      text,
    });
    expect((await recallFor(config, { cwd, session: 's2' })).text).toContain('on beta');
    const uses = await app.db.all('select shown, used from topic_use order by file');
    expect(uses).toEqual([
      { shown: 2, used: 0 },
      { shown: 2, used: 0 },
    ]);
  },
);

test('where the database is away a session begins with a sentence, and nothing else', async () => {
  const [home, cwd] = [tempDir(), tempDir()];
  const url = 'postgres://nobody:secret@127.0.0.1:1/none';
  const config = await loadConfig({}, { HOME: home, NOCTURNE_DATABASE_URL: url });
  const input = { session_id: 's1', cwd, hook_event_name: 'SessionStart', source: 'startup' };
  const { systemMessage, ...others } = JSON.parse(await answerHook(config, { input }));
  expect(systemMessage).toMatch(/^nocturne: .*127\.0\.0\.1:1.*: nothing is recalled$/);
  expect([others, systemMessage.includes('secret')]).toEqual([{}, false]);
});

test('where the database is damaged the person is told so, and what is in files is recalled', async () => {
  const [home, dir] = [tempDir(), tempDir()];
  const config = await loadConfig({}, { HOME: home, NOCTURNE_MEMORY_DIR: dir });
  await (await openApp(config)).close();
  writeFileSync(databasePath(config.home), 'no database '.repeat(1_000));
  writeFileSync(join(dir, 'hosts.md'), topic('hosts', 'Staging runs on alpha.'));
  const input = { session_id: 's1', cwd: dir, hook_event_name: 'SessionStart', source: 'startup' };
  const { systemMessage, hookSpecificOutput } = JSON.parse(await answerHook(config, { input }));
  expect(systemMessage).toMatch(/^nocturne: Damaged: /);
  expect(hookSpecificOutput.additionalContext).toContain('Staging runs on alpha.');
});
