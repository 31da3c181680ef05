// What readers answered in the place of a model, played again on the real sessions in excerpts of the default size: what was
// recorded then is recorded by today's checks. What comes of whole sessions, entry by entry and line by line, is compared in
// test/jobs/dream/plays.test.ts.

import { describe, expect, test } from 'vitest';
import { waysTaken } from '../../support/depth.ts';
import { hasReal } from '../../support/transcripts.ts';
import { cassetteNames, readCassette, wholeCassette } from './cassette.ts';
import { replay } from './replay.ts';

const REFUSED = [
  // A rule that is an agent's diagnosis, of which the person said only "ensure this".
  'Never again a TypeORM migration',
  // These rest on a few words of the agent ("Created [ENT-242]"), which such an excerpt leaves out.
  'The fix for the index corruption',
  'Linear issue ENT-241',
  "Replacing go-git's",
  'The git worktree index corruption',
];

/** The default of the setting `excerptTokens`. */
const EXCERPT_TOKENS = 12_000;

describe.each(cassetteNames())('the cassette %s', (name) => {
  const sessions = [...Map.groupBy(readCassette(name), ({ session }) => session)];
  const isTaken = waysTaken(cassetteNames()).includes(name);
  // In the small size of every fourth session, by seed.
  const quarters = waysTaken([0, 1, 2, 3]);
  const taken = sessions.filter((_, at) => quarters.includes(at % 4));
  test.skipIf(!hasReal || !isTaken).each(taken)('of session %s: no other entry is lost', async (session, lines) => {
    const { refused } = await replay(session, wholeCassette(lines), { excerptTokens: EXCERPT_TOKENS });
    const isKnown = ({ text }: { text: string }) => REFUSED.some((beginning) => text.startsWith(beginning));
    expect(refused.filter((each) => !isKnown(each))).toEqual([]);
  });
});
