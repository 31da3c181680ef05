// Without a database's URL nothing of the fleet is loaded but what says that there is none, and no driver; and a worker that
// waits loads nothing of the work.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packagePath } from '../../../src/base/files/files.ts';
import { waysTaken } from '../../support/depth.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

/** Notes the files that a process loads, of those that are asked about, by a hook of Node's own. */
const NOTING = `
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      const name = new RegExp('(?:' + process.env.NOTED + ')$').exec(url)?.[0];
      if (name) appendFileSync(process.env.LOADED, name + '\\n');
      return next(url, context);
    },
  });`;
const FLEET = 'wings/fleet/.*|base/config/config\\.ts|node_modules/pg(?:-[a-z]+)?/.*';
const WORK = 'base/config/config\\.ts|doors/worker/work\\.ts|memory/(?:store/store|text/frontmatter)\\.ts';
/** The home and what is shared are classes that a keeping is made of at once; each loads the rest where it is asked. */
const LOADED = ['fleet-keeping.ts', 'home/dialect.ts', 'home/postgres-home.ts'];

function loadedBy(
  args: string[],
  { input = '', env = {}, noted = FLEET }: { input?: string; env?: object; noted?: string } = {},
): string[] {
  const home = tempDir();
  const list = join(home, 'loaded');
  const noting = `data:text/javascript,${encodeURIComponent(NOTING)}`;
  const ended = spawnSync(process.execPath, ['--import', noting, ...args], {
    input,
    encoding: 'utf8',
    env: {
      ...{ PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, LOADED: list, NOTED: noted },
      ...{ NOCTURNE_MODEL: 'offline', NOCTURNE_QUEUE_URL: '', NOCTURNE_ZONE: 'UTC', ...env },
    },
  });
  expect(ended).toMatchObject({ status: 0 });
  return existsSync(list) ? [...new Set(readFileSync(list, 'utf8').trim().split('\n'))].sort() : [];
}

const NOCTURNE = packagePath('src', 'doors', 'cli', 'nocturne.js');

const WAYS = ['--version', 'the hook', 'an extraction without anything new'] as const;

test.each(waysTaken(WAYS, 2))('%s loads no driver, and of the fleet at most what a keeping is made of', (way) => {
  if (way === '--version') return expect(loadedBy([NOCTURNE, '--version'])).toEqual([]);
  const session = aSession(['Thanks, that is all.'], { cwd: '/work/shop' });
  if (way === 'an extraction without anything new') {
    return expect(loadedBy([NOCTURNE, 'extract', session.path])).toEqual([
      'base/config/config.ts',
      ...LOADED.map((name) => `wings/fleet/${name}`),
    ]);
  }
  const ended = {
    hook_event_name: 'SessionEnd',
    session_id: session.id,
    transcript_path: session.path,
    cwd: '/work/shop',
  };
  const hook = packagePath('src', 'doors', 'hook', 'hook.ts');
  // It is a worker's own child, so that it starts none.
  expect(
    loadedBy([hook, '--agent', 'claude-code'], { input: JSON.stringify(ended), env: { NOCTURNE_WORKER: '1' } }),
  ).toEqual([]);
});

test('a worker that finds no work has loaded neither the work nor what reads a memory', () => {
  expect(loadedBy([NOCTURNE, 'worker', '--once'], { noted: WORK })).toEqual(['base/config/config.ts']);
});
