// Without a database's URL nothing of the fleet is loaded but what says that there is none, and no driver.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packagePath } from '../../../src/base/files/files.ts';
import { waysTaken } from '../../support/depth.ts';
import { sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';

/** Notes the files of the fleet and of its driver, and the settings, that a process loads, by a hook of Node's own. */
const NOTING = `
  import { appendFileSync } from 'node:fs';
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, next) {
      const name = /(?:wings\\/fleet\\/.*|base\\/config\\/config\\.ts|node_modules\\/pg(?:-[a-z]+)?\\/.*)$/.exec(url)?.[0];
      if (name) appendFileSync(process.env.LOADED, name + '\\n');
      return next(url, context);
    },
  });`;
/** The home and what is shared are classes that a keeping is made of at once; each loads the rest where it is asked. */
const LOADED = ['home/database.ts', 'home/dialect.ts', 'keeping.ts', 'shared.ts'];

function loadedBy(args: string[], { input = '', env = {} }: { input?: string; env?: object } = {}): string[] {
  const home = tempDir();
  const list = join(home, 'loaded');
  const noting = `data:text/javascript,${encodeURIComponent(NOTING)}`;
  const ended = spawnSync(process.execPath, ['--import', noting, ...args], {
    input,
    encoding: 'utf8',
    env: {
      ...{ PATH: process.env.PATH, HOME: home, NOCTURNE_HOME: home, LOADED: list },
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
  const session = sessionFile(tempDir(), { cwd: '/work/shop' });
  session.add('Thanks, that is all.');
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
