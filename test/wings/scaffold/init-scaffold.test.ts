// The scaffold of a long project: ordinary topics, kept by people and agents, changed by no dream.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { memoryTool } from '../../../src/doors/agent-memory.ts';
import { parseTopic } from '../../../src/memory/text/topic.ts';
import { initScaffold } from '../../../src/wings/scaffold/scaffold.ts';
import { testApp, testModel } from '../../support/app.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { calls, type MessagesRequest, toolResults } from '../../support/messages-server.ts';
import { run } from '../../support/run.ts';
import { runHere, runJsonHere } from '../../support/run-here.ts';
import { tempDir } from '../../support/temp.ts';

const PATHS = ['startup-notes.md', 'feature-checklist.md', 'progress-log.md'];
const clock = fixedClock('2026-11-21T02:00:00Z');

async function scaffolded(dir = tempDir(), models: Parameters<typeof jobsInProcess>[2] = {}) {
  const jobs = await jobsInProcess(dir, clock, models);
  onTestFinished(() => jobs.close());
  const init = () => initScaffold({ openStore: async () => jobs.store, clock, zone: 'UTC', withLease: jobs.withLease });
  const read = (path: string) => readFileSync(join(dir, path), 'utf8');
  return { jobs, dir, init, read, report: await init() };
}

test('three topics of the project are written, named in the index, and never written over', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, 'startup-notes.md'), '- Start: make run\n');
  const { init, read, report, jobs } = await scaffolded(dir);
  expect(report).toMatchObject({ outcome: 'written', written: PATHS.slice(1), kept: ['startup-notes.md'] });
  expect(read('startup-notes.md')).toBe('- Start: make run\n');
  for (const path of PATHS.slice(1)) {
    expect(parseTopic(path, read(path))).toMatchObject({
      type: 'project',
      pinned: true,
      name: path.replace('.md', ''),
    });
    expect(read('MEMORY.md')).toContain(`[${path}]`);
  }
  expect(read('progress-log.md')).toContain('- 2026-11-21: ');
  writeFileSync(join(dir, 'progress-log.md'), `${read('progress-log.md')}- 2026-11-21: Logs in.\n`);
  expect(await init()).toMatchObject({ outcome: 'complete', written: [], job: null });
  expect(read('progress-log.md')).toContain('Logs in.');
  await jobs.undo({ job: report.job ?? '', partial: true });
  expect(await jobs.store.list()).toEqual(['MEMORY.md', 'progress-log.md', 'startup-notes.md']);
});

test('no dream changes them, whatever a model proposes, and an agent does', async () => {
  const entries = ['The login page is done since 2026-11-20.', 'The progress log is the place for what was done.'];
  const lineIds = (path: string) => parseTopic(path, read(path)).lines.map(({ id }) => id);
  const propose = (request: MessagesRequest, isAdding: boolean) => {
    const ids = [...new Set(JSON.stringify(request.messages[0]).match(/e_[0-9a-f]{12}/g))];
    const lines = [{ text: entries[0], entries: ids }];
    const operation = isAdding
      ? { kind: 'add', topic: 'feature-checklist', type: 'project' }
      : { kind: 'supersede', topic: 'progress-log', replaces: lineIds('progress-log.md') };
    return { operations: [{ ...operation, entries: ids, lines, reason: 'Newer.' }] };
  };
  const server = await testModel((request, call) => calls('propose_operations', propose(request, call > 1)));
  const { jobs, dir, read } = await scaffolded(tempDir(), { all: { model: 'test-model', access: server.access } });
  for (const text of entries) await jobs.remember({ text, type: 'project' });
  const before = PATHS.map(read);
  expect((await jobs.dream()).outcome).toBe('failed');
  const refusals = server.requests.flatMap((request) => toolResults(request).map(({ content }) => String(content)));
  expect(refusals[0]).toMatch(/progress-log|line \w{8}/);
  expect(refusals[1]).toMatch(/feature-checklist.*pinned/);
  expect(PATHS.map(read)).toEqual(before);

  const offline = await jobsInProcess(dir, '2027-11-21T02:00:00Z');
  onTestFinished(() => offline.close());
  expect((await offline.dream()).outcome).toBe('dreamed');
  expect(PATHS.map(read)).toEqual(before);
  const tool = memoryTool(offline.store, { mode: 'read-write' });
  const [path, old_str] = [
    '/memories/feature-checklist.md',
    '- [ ] (the first feature, in words that tell when it is done)',
  ];
  await tool.run({ command: 'str_replace', path, old_str, new_str: '- [x] Logs in' });
  expect(read('feature-checklist.md')).toContain('- [x] Logs in');
});

test('a recall says how they are kept where they are there, outside of what is data', async () => {
  const { environment, dir } = await testApp({ dir: join(tempDir(), 'memory') });
  const planned = await runJsonHere<{ written: string[] }>(['init', '--dry-run'], environment);
  expect(planned.values).toEqual([{ outcome: 'planned', written: PATHS, kept: [], job: null }]);
  const recall = async () => (await runHere(['recall'], environment)).stdout;
  expect(await recall()).toBe('');
  expect((await run(['init'], environment)).stdout).toMatch(/wrote {2}progress-log\.md[\s\S]*nocturne undo job_/);
  const text = await recall();
  expect(text).toMatch(/carries it from one to the next by startup-notes\.md, feature-checklist\.md, progress-log\.md/);
  expect(text.indexOf('Take one feature at a time')).toBeLessThan(text.indexOf('## MEMORY.md'));
  expect(text).toContain('[ ] (the first feature');
  writeFileSync(join(dir, 'progress-log.md'), '- Done.\n');
  expect(await recall()).toContain('Take one feature at a time');
});
