// What a tool of `nocturne mcp` refuses, as the official clients show it over stdio.

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { waysTaken } from '../support/depth.ts';
import { CLIENTS, expectAnswers, expectData, lostRemedies, NOTES, VERSIONS } from '../support/mcp-errors.ts';
import { COMPILED, DOOR } from '../support/run.ts';
import { tempDir } from '../support/temp.ts';

function stored(): string {
  const dir = tempDir();
  for (const [path, text] of Object.entries(NOTES)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  return dir;
}

test.for(VERSIONS)('each error of each tool reaches a client of %s with what to do', async (version, { skip }) => {
  // In the small size one; over HTTP another (wings/server).
  skip(!waysTaken(VERSIONS).includes(version));
  const home = tempDir();
  const client = await CLIENTS[version].stdio({
    command: process.execPath,
    args: [DOOR, 'mcp', '--store', `notes=${stored()}:rw`, '--store', `kept=${stored()}`],
    env: { PATH: process.env.PATH ?? '', HOME: home, NOCTURNE_HOME: home, NODE_COMPILE_CACHE: COMPILED },
  });
  expect(await lostRemedies(client)).toEqual([]);
  await expectData(client);
  await expectAnswers(client);
});
