// Needs as readers write them: their quotes are checked, and only hashes of them are kept.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isDeep } from '../../support/depth.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { hasReal, real } from '../../support/transcripts.ts';
import { CHAINS } from './links.ts';
import { needsOf, placedNeeds, standsIn } from './needs.ts';

const IDS = [1, 2].map((at) => `${String(at).repeat(8)}-2222-4333-8444-555555555555`);

test('a need is kept with the hash of its quotes; what does not stand there, or repeats a session, is refused', async () => {
  const dir = tempDir();
  aSession(['Use pnpm here,\nnot npm, in all that you run or write down.'], {
    dir,
    id: IDS[0],
    startsAt: '2026-11-20T09:00:00Z',
  });
  aSession(['No, pnpm!'], { dir, id: IDS[1], startsAt: '2026-11-22T09:00:00Z' });
  const need = {
    ...{ session: 2, grade: 'A', source: 'person', kind: 'reason', fact: 'pnpm is used, not npm' },
    earlier: { session: 1, line: 1, quote: 'Use pnpm here, not npm' },
    later: { session: 2, line: 1, quote: 'No, pnpm!' },
  };
  const placed = (written: object) => {
    const path = join(tempDir(), 'needs.jsonl');
    writeFileSync(path, `${JSON.stringify(written)}\n`);
    return placedNeeds(path, { chain: dir });
  };
  const [kept] = await placed(need);
  expect(kept).toMatchObject({ session: 2, readers: [1], later: { file: `${IDS[1]}.jsonl`, line: 1, length: 9 } });
  expect(JSON.stringify(kept)).not.toContain('Use pnpm');
  expect(kept && standsIn([join(dir, kept.earlier.file)], kept.earlier)).toBe(true);
  const without = { ...need, later: { ...need.later, quote: 'Yes' } };
  await expect(placed(without)).rejects.toThrow('need 1: session 2 does not say in line 1: Yes');
  await expect(placed({ ...need, earlier: need.later })).rejects.toThrow('one before');
  await expect(placed({ ...need, fact: 'not npm, in all that you run or write down.' })).rejects.toThrow('other words');
  await expect(placed({ ...need, grade: 'D' })).rejects.toThrow('need 1: ');
});

test.runIf(isDeep && hasReal).each(CHAINS)(
  'the words of each need of $name stand where it says',
  ({ name, sessions }) => {
    const paths = sessions.map(({ path }) => join(real, path));
    const places = needsOf(name).flatMap(({ earlier, later }) => [earlier, later]);
    expect(places.filter((place) => !standsIn(paths, place))).toEqual([]);
  },
);
