import { expect, test } from 'vitest';
import { sized } from '../../support/depth.ts';
import { raceEditor } from '../../support/editor-race.ts';
import { tempDir } from '../../support/temp.ts';

const ROUNDS = sized({ quick: 50, deep: 200 });

test('commits against an editor that renames over the file lose no edit and show nobody half a file', async () => {
  const race = await raceEditor(tempDir(), { way: 'rename', rounds: ROUNDS });
  expect(race.edits).toBeGreaterThan(10);
  expect(race).toMatchObject({ lost: [], lostCommits: [], torn: 0, broken: 0 });
});

test('commits against an editor that writes in place lose no edit', async () => {
  const race = await raceEditor(tempDir(), { way: 'in-place', rounds: ROUNDS });
  expect(race.edits).toBeGreaterThan(10);
  expect(race).toMatchObject({ lost: [], lostCommits: [], broken: 0 });
});
