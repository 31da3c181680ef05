// nocturne open where it cannot begin.

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { testApp } from '../support/app.ts';
import { run } from '../support/run.ts';

test('where the page cannot begin, open says why and ends: nothing goes on listening', async () => {
  const { app, home, environment } = await testApp();
  await app.close();
  // As on a disk that is full or read-only, where what is noted of the page cannot be written.
  const [file, noted] = ['nocturne.db', "setting when new.key like 'page:%'"];
  const database = new Database(join(home, file as string));
  database.exec(`create trigger full before insert on ${noted} begin select raise(abort, 'disk full'); end`);
  database.close();
  const { code, stdout, stderr } = await run(['open', '--no-browser'], environment);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('disk full');
});
