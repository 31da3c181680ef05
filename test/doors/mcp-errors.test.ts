import { expect, test } from 'vitest';
import { environmentIn } from '../support/app.ts';
import { sized } from '../support/depth.ts';
import { CLIENTS, expectAnswers, expectData, lostRemedies, NOTES, VERSIONS } from '../support/mcp-errors.ts';
import { DOOR } from '../support/run.ts';
import { dirWith, tempDir } from '../support/temp.ts';

test.for(VERSIONS)('each error of each tool reaches a client of %s with what to do', async (version, { skip }) => {
  // In the small size over HTTP alone (server/mcp-errors.test.ts).
  skip(sized({ quick: true, deep: false }));
  const home = tempDir();
  const client = await CLIENTS[version].stdio({
    command: process.execPath,
    args: [DOOR, 'mcp', '--store', `notes=${dirWith(NOTES)}:rw`, '--store', `kept=${dirWith(NOTES)}`],
    env: environmentIn(home, { NOCTURNE_HOME: home }) as Record<string, string>,
  });
  expect(await lostRemedies(client)).toEqual([]);
  await expectData(client);
  await expectAnswers(client);
});
