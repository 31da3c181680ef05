// What is remembered is read while the disk is full: on a small disk of its own, where this machine lets one be mounted.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { environmentIn } from '../support/app.ts';
import { runHere } from '../support/run-here.ts';
import { tempDir } from '../support/temp.ts';

const disk = tempDir();
const home = join(disk, 'home');
const environment = environmentIn(disk, { NOCTURNE_HOME: home, NOCTURNE_MEMORY_DIR: join(disk, 'memory') });
const nocturne = (args: string[], stdin = '') => runHere(args, environment, { stdin, cwd: disk });
const WISH = 'Deploy the beta with make ship-it.';
const isMounted = (() => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
if (!isMounted) console.log('Reading on a full disk is not tested: this machine mounts no tmpfs.');

function fill(): void {
  for (const size of [64_000, 4_096, 1])
    try {
      for (let n = 0; ; n++) writeFileSync(join(disk, `fill-${size}-${n}`), 'x'.repeat(size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
}

beforeAll(async () => {
  if (!isMounted) return;
  mkdirSync(home);
  await nocturne(['remember', WISH]);
  writeFileSync(
    join(disk, 'memory/beta.md'),
    `---\nname: beta\ndescription: The beta\ntype: project\n---\n- ${WISH}\n`,
  );
  await nocturne(['list']);
  fill();
});
afterAll(() => void (isMounted && execFileSync('umount', [disk])));

test.skipIf(!isMounted)('what is remembered is read, and one line says that the disk is full', async () => {
  for (const args of [[], ['search', 'beta'], ['list'], ['show', 'beta'], ['why', 'ship-it']]) {
    const { code, stdout, stderr } = await nocturne(args);
    const isAlone = args.length === 0;
    expect({ args, code, lines: stderr.split('\n') }).toEqual({
      ...{ args, code: 0 },
      lines: [expect.stringContaining('The disk is full'), ''],
    });
    expect(stdout).toContain(isAlone ? 'Next night' : args[0] === 'list' ? 'beta' : 'ship-it');
  }
  const input = { hook_event_name: 'SessionStart', session_id: 's', cwd: disk, source: 'startup' };
  const recalled = await nocturne(['recall', '--hook'], JSON.stringify(input));
  expect(recalled).toMatchObject({ code: 0, stdout: expect.stringMatching(/disk is full[\s\S]*ship-it/) });
  expect(await nocturne(['doctor'])).toMatchObject({ stdout: expect.stringContaining('The disk is full') });
});
