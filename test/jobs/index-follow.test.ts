// MEMORY.md says of a topic what the topic says of itself, before a dream builds the index again.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { edit, editTopic, shownTopic } from '../../jobs/edit.ts';
import { fixedClock } from '../../src/base/time.ts';
import { memoryTool } from '../../src/doors/agent-memory.ts';
import { findFaults } from '../../src/memory/history/check.ts';
import { jobsInProcess } from '../support/jobs-in-process.ts';
import { connectHere } from '../support/mcp.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const TOPIC = 'working-agreements.md';

/** A memory with one topic, whose index a person wrote into. */
async function memory() {
  const jobs = await jobsInProcess();
  const { store } = jobs;
  const read = (path: string) => readFileSync(join(store.dir, path), 'utf8');
  const write = (path: string, text: string) => writeFileSync(join(store.dir, path), text);
  await jobs.remember({ text: 'Always use pnpm instead of npm.', type: 'feedback' });
  await jobs.dream();
  write('MEMORY.md', `${read('MEMORY.md')}- Ask Kim.\n`);
  const before = read('MEMORY.md');
  const description = shownTopic(read(TOPIC)).description;
  const describe = (said: string) => write(TOPIC, read(TOPIC).replace(description, said));
  return { ...jobs, read, write, before, description, describe };
}

test('a description that a person changed is in the index with the next entry, and every other line stays', async () => {
  const { remember, undo, read, before, description, describe } = await memory();
  describe('How we build');
  const { job } = await remember({ text: 'Deploy on Fridays.', type: 'project' });
  const after = before.replace(description, 'How we build');
  expect(after).not.toBe(before);
  expect(read('MEMORY.md')).toBe(after);
  // Which is still what the topic says.
  await undo({ job: job as string });
  expect(read('MEMORY.md')).toBe(after);
});

test('so it is with the next session that is read', async () => {
  const { extract, read, before, description, describe } = await memory();
  describe('How we build');
  expect(await extract(aSession(['Never commit to main.']).path)).toMatchObject({ outcome: 'recorded' });
  expect(read('MEMORY.md')).toBe(before.replace(description, 'How we build'));
});

test('a description that is edited on the page is in the index at once, and undo takes back both', async () => {
  const { store, undo, read, before, description } = await memory();
  const shown = shownTopic(read(TOPIC));
  const to = { path: TOPIC, shown: shown.version, description: 'How we build', body: shown.body };
  const job = await editTopic(to, { store, clock: fixedClock('2026-11-21T02:00:00Z') });
  expect(read('MEMORY.md')).toBe(before.replace(description, 'How we build'));
  await undo({ job: job as string });
  expect(read('MEMORY.md')).toBe(before);
});

test('an index that a person pinned, and a line that is no longer what nocturne wrote, stay as they are', async () => {
  const { remember, read, write, before, describe } = await memory();
  const line = before.split('\n').find((each) => each.includes(TOPIC)) as string;
  for (const [at, text] of [before.replace(line, `${line} (ours)`), `---\npinned: true\n---\n${before}`].entries()) {
    write('MEMORY.md', text);
    describe(`How we build ${at}`);
    await remember({ text: `Deploy on day ${at}.`, type: 'project' });
    expect(read('MEMORY.md')).toBe(text);
  }
});

test('a topic that the memory tool creates, describes anew, renames or deletes is in the index at once, and every other line stays', async () => {
  const { store, read, before } = await memory();
  const tool = memoryTool(store, { mode: 'read-write' });
  const run = (command: string, given: object) => tool.run({ command, ...given });
  const line = (path: string) =>
    read('MEMORY.md')
      .split('\n')
      .find((each) => each.endsWith(`[${path}]`));
  const text =
    '---\nname: harbour\ndescription: Which ships lie in the harbour\ntype: project\n---\n\n- The Ida lies at pier 4.\n';
  await run('create', { path: '/memories/harbour.md', file_text: text });
  expect(line('harbour.md')).toBe('- Which ships lie in the harbour [harbour.md]');
  for (const each of before.split('\n')) expect(read('MEMORY.md').split('\n')).toContain(each);
  await run('str_replace', { path: '/memories/harbour.md', old_str: 'Which ships lie', new_str: 'What lies' });
  expect(line('harbour.md')).toBe('- What lies in the harbour [harbour.md]');
  await run('rename', { old_path: '/memories/harbour.md', new_path: '/memories/quay.md' });
  expect([line('harbour.md'), line('quay.md')]).toEqual([undefined, '- What lies in the harbour [quay.md]']);
  await run('delete', { path: '/memories/quay.md' });
  expect(read('MEMORY.md')).toBe(before);
});

test('so it is with what a tool of the MCP server writes, moves and deletes', async () => {
  const { store, read, before } = await memory();
  const home = tempDir();
  const { call } = await connectHere([`notes=${store.dir}:rw`], { HOME: home, NOCTURNE_HOME: home });
  const lines = () => read('MEMORY.md').split('\n');
  const content = '---\nname: harbour\ndescription: Which ships lie there\ntype: project\n---\n\n- The Ida.\n';
  await call('memory_write', { path: 'harbour.md', content });
  expect(lines()).toContain('- Which ships lie there [harbour.md]');
  await call('memory_edit', { path: 'harbour.md', new_path: 'quay.md' });
  expect(lines()).toContain('- Which ships lie there [quay.md]');
  await call('memory_delete', { path: 'quay.md' });
  expect(read('MEMORY.md')).toBe(before);
});

test('what the memory tool does to the index itself, and to notes that are no topics, stands as it is', async () => {
  const { store, read, before } = await memory();
  const tool = memoryTool(store, { mode: 'read-write' });
  await tool.run({ command: 'create', path: '/memories/notes/today.md', file_text: '- Ask Ida.\n' });
  expect(read('MEMORY.md')).toBe(before);
  await tool.run({ command: 'str_replace', path: '/memories/MEMORY.md', old_str: '- Ask Kim.', new_str: '- Ask Ida.' });
  expect(read('MEMORY.md')).toBe(before.replace('Kim', 'Ida'));
});

test('in a memory without an index the memory tool begins none', async () => {
  const jobs = await jobsInProcess();
  await memoryTool(jobs.store, { mode: 'read-write' }).run({
    command: 'create',
    path: '/memories/a.md',
    file_text: '- A.\n',
  });
  expect(await jobs.store.list()).toEqual(['a.md']);
});

test('an index that has no room for all topics waits for the dream with what is new', async () => {
  const { store, read, before } = await memory();
  const full = `${before}${Array.from({ length: 197 }, (_, at) => `- Note ${at}.\n`).join('')}`;
  await store.commit({ actor: 'person' }, () => ({ files: [{ path: 'MEMORY.md', change: () => full }] }));
  const tool = memoryTool(store, { mode: 'read-write' });
  await tool.run({ command: 'create', path: '/memories/a.md', file_text: '- A.\n' });
  expect(read('MEMORY.md')).toBe(full);
  expect(await store.list()).not.toContain('index/other.md');
});

test('what an editor saved of a topic is in the index when it is closed, and undo takes it back there, too', async () => {
  const { store, undo, read, write, before, description } = await memory();
  const open = () => {
    write(TOPIC, read(TOPIC).replace(description, 'How we build'));
    return true;
  };
  const { jobs } = await edit({ path: TOPIC, open }, { store });
  expect(read('MEMORY.md')).toBe(before.replace(description, 'How we build'));
  await undo({ job: jobs[0] as string });
  expect(read('MEMORY.md')).toBe(before);
});

test('a check finds nothing wrong with where a new topic stands, though it is pinned', async () => {
  const { store } = await memory();
  const tool = memoryTool(store, { mode: 'read-write' });
  const text =
    '---\nname: harbour\ndescription: Which ships lie there\ntype: feedback\npinned: true\n---\n\n- The Ida.\n';
  await tool.run({ command: 'create', path: '/memories/harbour.md', file_text: text });
  expect(await findFaults(store)).toEqual([]);
});
