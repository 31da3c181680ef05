// The library as a program meets it: it learns, dreams and recalls, and gives an agent of one's own a memory.

import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { agentMemory, loadConfig, openNocturne, openSession, recallPrompt } from '../../src/index.ts';
import { tempDir } from '../support/temp.ts';

const transcript = join(import.meta.dirname, '../fixtures/example/1-harvest-report.jsonl');
const configOf = () => loadConfig({ model: 'offline' }, { HOME: tempDir(), PATH: process.env.PATH });

test('a program extracts a session, dreams and recalls with what the library exports', async () => {
  const config = await configOf();
  const nocturne = await openNocturne(config);
  onTestFinished(() => nocturne.close());
  const session = await openSession(transcript);
  expect(await nocturne.extract({ transcript, ended: true })).toMatchObject({
    ...{ session: session.id, outcome: 'recorded' },
  });
  const memory = await nocturne.memoryFor(session);
  expect(await nocturne.dream(memory, {})).toMatchObject({ outcome: 'dreamed' });
  const { items } = await nocturne.files(memory).list();
  expect(items.map((item) => 'path' in item && item.path)).toEqual(
    expect.arrayContaining(['user-profile.md', 'working-agreements.md']),
  );
  expect(await recallPrompt({ config, cwd: session.cwd })).toContain('backend engineer');
});

test('an agent of one’s own writes its memory by the tool, and is told of it the next time', async () => {
  const [config, cwd] = [await configOf(), tempDir()];
  const first = await agentMemory({ memory: 'project', config, cwd });
  const file_text = '---\nname: hosts\ndescription: Where things run\ntype: reference\n---\n\n- Staging is alpha.\n';
  await first.tools[0]?.run({ command: 'create', path: '/memories/hosts.md', file_text });
  const index = { command: 'create', path: '/memories/MEMORY.md', file_text: '- Where things run [hosts.md]\n' };
  await first.tools[0]?.run(index);
  await first.close();
  const again = await agentMemory({ memory: 'project', config, cwd });
  onTestFinished(() => again.close());
  expect(again.systemPrompt).toContain('Where things run [hosts.md]');
  await expect(agentMemory({ config, cwd })).rejects.toMatchObject({ code: 'bad-input' });
});
