// MEMORY.md says of a topic what the topic says of itself, before a dream builds the index again.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { editTopic, shownTopic } from '../../jobs/edit.ts';
import { fixedClock } from '../../src/base/time.ts';
import { jobsInProcess } from '../support/jobs-in-process.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const TOPIC = 'working-agreements.md';

/** A memory with one topic, whose index a person wrote into. */
async function memory() {
  const jobs = await jobsInProcess(tempDir());
  onTestFinished(() => jobs.close());
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
  const session = sessionFile(tempDir());
  session.add('Never commit to main.');
  expect(await extract(session.path)).toMatchObject({ outcome: 'recorded' });
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
