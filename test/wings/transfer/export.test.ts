// nocturne export and import as a person pipes them: the pipe between two processes, all else in this one.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testApp } from '../../support/app.ts';
import { DOOR } from '../../support/run.ts';
import { runHere as run } from '../../support/run-here.ts';
import { tempDir } from '../../support/temp.ts';

test('a memory goes through a pipe into another, and to a file that is never written over', async () => {
  const { app, store, environment } = await testApp();
  await app.remember(store, { text: 'The beta starts on 2026-12-04.', type: 'project' });
  await app.dream(store, {});
  const to = join(tempDir(), 'memory');
  const file = join(tempDir(), 'memory.tar.gz');
  const pipe = `"${process.execPath}" "${DOOR}" export - | "${process.execPath}" "${DOOR}" import - --memory "${to}"`;
  expect(execFileSync('sh', ['-c', pipe], { env: environment, encoding: 'utf8', stdio: 'pipe' })).toMatch(
    /^5 files added/,
  );
  for (const path of await store.list())
    expect(readFileSync(join(to, path))).toEqual(readFileSync(join(store.dir, path)));

  expect(await run(['export', file], environment)).toMatchObject({ code: 0, stdout: '' });
  const archive = readFileSync(file);
  const again = await run(['export', file], environment);
  expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('is there already') });
  expect(readFileSync(file)).toEqual(archive);
  expect((await run(['import', file, '--memory', to], environment)).stdout).toContain('5 files are the same');
  expect((await run(['export', '-', '--json'], environment)).code).toBe(1);
  const none = join(tempDir(), 'none');
  expect((await run(['export', file, '--memory', none], environment)).stderr).toContain('There is no memory directory');
  expect((await run(['import', join(none, 'x.tar.gz'), '--memory', none], environment)).stderr).toContain(
    'Cannot read',
  );
  expect(existsSync(none)).toBe(false);
});
