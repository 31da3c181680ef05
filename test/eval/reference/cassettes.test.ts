// What readers answered in the place of a model, played again on the real sessions: what was recorded then is recorded
// by today's checks, and what must not be kept is not.

import { describe, expect, test } from 'vitest';
import { hasReal } from '../../support/transcripts.ts';
import { type CassetteLine, cassetteNames, readCassette } from './cassette.ts';
import { comparedWith, type Judgement, judgements } from './judgement.ts';
import { shortHash, wordsAt } from './places.ts';
import { replay } from './replay.ts';

/** By cassette: ids of facts that its play covered and today's replay does not, with the reason, and traps still taken. */
const LOST: Record<string, ReturnType<typeof comparedWith>> = {
  // The operation names a URL that stands in no quote that is shown today.
  'before-2': { entries: [], topics: ['03a1382e-8', '03a1382e-10'], traps: [] },
};

/**
 * By cassette and session, how the texts begin: of entries that today's excerpts show in part (an excerpt ends elsewhere,
 * tools get less of it), and of those whose line then says what is not shown beside it any more.
 */
const KNOWN: Record<string, { partly: string[]; leftOver?: string[] }> = {
  'before-1/f726527a': { partly: ['On the machine `book` the SSH keys'] },
  'before-1/03a1382e': { partly: ['The corruption of worktree indexes'] },
  'before-2/03a1382e': {
    partly: ['The git worktree index corruption'],
    leftOver: ['The git worktree index corruption'],
  },
};

test('there are cassettes', () => {
  expect(cassetteNames()).toEqual(expect.arrayContaining(['before-1', 'before-2']));
});

describe.each(cassetteNames())('the cassette %s', (name) => {
  const cassette = readCassette(name);
  const sessions = [...Map.groupBy(cassette, ({ session }) => session)];
  const replays = new Map<string, ReturnType<typeof replay>>();
  const played = (session: string, lines: CassetteLine[]) => {
    const begun = replays.get(session) ?? replay(session, lines);
    replays.set(session, begun);
    return begun;
  };

  test.skipIf(!hasReal)('quotes words that stand where they stood', () => {
    const evidence = cassette.flatMap(({ entries = [] }) => entries.flatMap((entry) => entry.evidence));
    const changed = evidence.filter(({ place }) => place && shortHash(wordsAt(place)) !== place.sha256);
    expect(changed).toEqual([]);
    expect(evidence.length).toBeGreaterThan(0);
  });

  test.skipIf(!hasReal).each(sessions)(
    'of session %s: what was recorded then is recorded today',
    async (session, lines) => {
      const { refused, partly, leftOver } = await played(session, lines);
      const known = KNOWN[`${name}/${session.slice(0, 8)}`] ?? { partly: [] };
      expect(refused).toEqual([]);
      expect(unknown(partly, known.partly)).toEqual([]);
      expect(unknown(leftOver, known.leftOver ?? [])).toEqual([]);
    },
  );

  const judgement = judgements().find(({ play }) => play === name);
  test.skipIf(!hasReal || !judgement)(
    'covers today what its play covered, and takes nothing of the traps',
    async () => {
      const all = [];
      for (const [session, lines] of sessions) all.push(await played(session, lines));
      const entries = all.flatMap((replayed) => replayed.entries);
      const lines = all.flatMap((replayed) => replayed.lines);
      const compared = comparedWith(judgement as Judgement, { entries, lines });
      expect(compared).toEqual(LOST[name] ?? { entries: [], topics: [], traps: [] });
    },
  );
});

function unknown(texts: string[], beginnings: string[]): string[] {
  return texts.filter((text) => !beginnings.some((beginning) => text.startsWith(beginning)));
}
