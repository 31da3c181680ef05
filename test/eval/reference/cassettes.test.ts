// What readers answered in the place of a model, played again on the real sessions: what was recorded then is recorded
// by today's checks, and what must not be kept is not.

import { describe, expect, test } from 'vitest';
import { sized, waysTaken } from '../../support/depth.ts';
import { hasReal } from '../../support/transcripts.ts';
import {
  type CassetteLine,
  cassetteNames,
  comparedWith,
  judgementOf,
  readCassette,
  wholeCassette,
} from './cassette.ts';
import { replay } from './replay.ts';

/** By cassette: ids of facts that its play covered and today's replay does not, with the reason, and traps still taken. */
const LOST: Record<string, ReturnType<typeof comparedWith>> = {
  // The first answer, which was refused then, is taken today: its line says the same in words that nobody judged.
  'after-1': { entries: [], topics: ['5834c1ee-3'], traps: [] },
  // One entry is refused, and with it what the play's dream made of it and two others.
  'after-2': {
    entries: ['1cd4e81e-7'],
    topics: ['1cd4e81e-4', '1cd4e81e-5', '1cd4e81e-7', '1cd4e81e-1', '5834c1ee-2', '5834c1ee-3'],
    traps: [],
  },
};

/** How the one entry begins that is refused: a rule that is an agent's diagnosis, of which the person said only "ensure this". */
const REFUSED = ['Never again a TypeORM migration'];
/** How those begin that rest on a few words of the agent ("Created [ENT-242]"), which an excerpt of the default size leaves out. */
const LEFT_OUT = [
  'The fix for the index corruption',
  'Linear issue ENT-241',
  "Replacing go-git's",
  'The git worktree index corruption',
];
/** How those begin that the dream of that play placed with it. */
const LEFT_WITH_IT = ['File or folder metadata schema changes', 'When migrations fail in the staging'];

/** How the traps begin that a reader saw in a play; the reference disputes both: one of its readers wrote the same as a fact. */
const TRAPS_STILL_TAKEN: Record<string, string[]> = {
  'after-1': ['Asked "can you help me understand"', 'Open on 2026-01-15: key slate-ssh'],
};

/**
 * By cassette and session, how the entries begin of which a quote is not known: what was chosen of two was quoted as it
 * is shown (`chose: …`), which stands so in no record.
 */
const QUOTED_IN_PART: Record<string, string[]> = {
  'after-1/12f1f541': ['Phase 14 allows sharing folders', 'Design direction of the Phase 14'],
  'after-2/12f1f541': ['CipherBox phase 14 supports read-only', 'CipherBox sharing UI follows design'],
};

/** In the small size three sessions of one of the plays, and another of excerpts of the default size and repeated sentences. */
const PLAYED = waysTaken(cassetteNames(), 1);

/** The default of the setting `excerptTokens`. */
const EXCERPT_TOKENS = 12_000;

describe.each(cassetteNames())('the cassette %s', (name) => {
  const cassette = readCassette(name);
  const sessions = [...Map.groupBy(cassette, ({ session }) => session)];
  const replays = new Map<string, ReturnType<typeof replay>>();
  const played = (session: string, lines: CassetteLine[]) => {
    const begun = replays.get(session) ?? replay(session, wholeCassette(lines));
    replays.set(session, begun);
    return begun;
  };

  const isTaken = waysTaken(cassetteNames()).includes(name);
  const isPlayed = PLAYED.includes(name);
  test.skipIf(!hasReal || !isPlayed).each(sized({ quick: sessions.slice(0, 3), deep: sessions }))(
    'of session %s: what was recorded then is recorded today',
    async (session, lines) => {
      const { refused, partly, leftOver } = await played(session, lines);
      const known = QUOTED_IN_PART[`${name}/${session.slice(0, 8)}`] ?? [];
      expect(unknown(textsOf(refused), REFUSED)).toEqual([]);
      expect(unknown(partly, known)).toEqual([]);
      expect(partly).toHaveLength(known.length);
      expect(unknown(leftOver, name === 'after-2' ? LEFT_WITH_IT : [])).toEqual([]);
    },
  );

  // In the small size of every fourth session, by seed.
  const quarters = waysTaken([0, 1, 2, 3]);
  const others = sessions.filter((_, at) => quarters.includes(at % 4));
  test.skipIf(!hasReal || !isTaken).each(others)(
    'of session %s: no other entry is lost in excerpts of the default size',
    async (session, lines) => {
      const { refused } = await replay(session, wholeCassette(lines), { excerptTokens: EXCERPT_TOKENS });
      expect(unknown(textsOf(refused), [...REFUSED, ...LEFT_OUT])).toEqual([]);
    },
  );

  test.skipIf(!hasReal || sized({ quick: true, deep: false }))(
    'covers today what its play covered, and takes nothing of the traps',
    async () => {
      const all = [];
      for (const [session, lines] of sessions) all.push(await played(session, lines));
      const entries = all.flatMap((replayed) => replayed.entries);
      const lines = all.flatMap((replayed) => replayed.lines);
      const compared = comparedWith(judgementOf(name), { entries, lines });
      const known = TRAPS_STILL_TAKEN[name] ?? [];
      compared.traps = unknown(compared.traps, known);
      expect(compared).toEqual(LOST[name] ?? { entries: [], topics: [], traps: [] });
    },
  );
});

const textsOf = (of: { text: string }[]) => of.map(({ text }) => text);

function unknown(texts: string[], beginnings: string[]): string[] {
  return texts.filter((text) => !beginnings.some((beginning) => text.startsWith(beginning)));
}
