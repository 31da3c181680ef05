// What one excerpt gave is committed with the coverage of the turns that end there, in one commit over the project's and the user's
// memory: what is about the user goes into the user's, where there is one, the rest stays here.
// Promises: nothing that was forgotten is learned again; an entry that is known is not written twice, whichever session tells it.

import { type Day, dayOf } from '../../src/base/time.ts';
import type { Sql } from '../../src/db/sql.ts';
import { commit, commitAll, type Plan, withRows } from '../../src/memory/commit.ts';
import {
  cover,
  type EntryRow,
  entriesAmong,
  forgottenIn,
  isInLog,
  putEntry,
  type SkipReason,
  type TurnState,
} from '../../src/memory/entries.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import { authorIn, homeName, joinSigns, userOf } from '../../src/memory/persons.ts';
import { noteOvertaken } from '../../src/memory/rests.ts';
import { changeLogs, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import type { Change } from '../../src/memory/undo-rows.ts';
import type { FoundEntry } from '../../src/rules/candidate.ts';
import type { Session } from '../../src/transcript/session.ts';
import { markedMessages } from '../after-restore.ts';
import type { Asked, CitedMessages, ExtractedDeps, Extraction } from './ask-extractor.ts';
import type { Offered, TurnRange } from './pending-turns.ts';

export interface ReportedEntry {
  id: string;
  type: string;
  text: string;
  evidence: { message: string; quote: string; speaker: string; at: string | null }[];
  /** As its agent calls it. */
  session: string;
  turn: string;
  /** Id of the memory that it went to, where that is not the session's: the user's. */
  memory?: string;
}

/**
 * Commits what was recorded, with the coverage of the ranges that end there. Answers the entries of these turns, new ones and
 * those that were found again.
 */
export async function commitExtracted(
  { ranges, excerpt }: Pick<Offered, 'ranges' | 'excerpt'>,
  { found, cited, prompt, overtaken }: Pick<Asked, 'found' | 'cited' | 'prompt' | 'overtaken'>,
  extraction: Extraction,
  { memories, zone, userName }: ExtractedDeps,
): Promise<ReportedEntry[]> {
  const { session, sessionId, memory, userMemory, by, reopened } = extraction;
  const now = memories.clock.now();
  const targets = [memory.id, ...(userMemory ? [userMemory.id] : [])];
  const logs = [...new Set(ranges.map(({ turn }) => logPath(dayOf(turn.at ?? now, zone))))];
  // What a turn gave before may stand in any log.
  const paths = reopened.size > 0 ? ('all' as const) : logs;
  const signs = [homeName(session.cwd), authorIn(excerpt.tried)].filter((sign) => sign !== undefined);
  let kept: EntryRow[] = [];
  const plan = async (sql: Sql): Promise<Plan[]> => {
    const dayOfTurn = new Map(ranges.map(({ turn }) => [turn.id, dayOf(turn.at ?? now, zone)]));
    const isForgotten = await forgottenIn(sql, targets);
    const isMarked = await markedMessages(sql);
    const at = ranges[0]?.turn.at ?? now.toISOString();
    await noteOvertaken(sql, memory.id, { lines: overtaken, at, job: by.job });
    if (signs.length > 1) await joinSigns(sql, memory.id, signs);
    const other = (await userOf(sql, memory.id, userName)).otherBy(signs);
    const entries = found.flatMap((recorded): EntryRow[] => {
      const day = dayOfTurn.get(recorded.turn);
      const [{ message, quote }] = recorded.evidence as [FoundEntry['evidence'][number]];
      const { type, text, at = now.toISOString(), ...said } = recorded;
      // What a person had forgotten is dropped without a word: no report reminds them of it.
      if (!day || isMarked(message) || isForgotten({ session: sessionId, text, at, message, quote })) return [];
      const place = type === 'user' && userMemory && !other ? userMemory.id : memory.id;
      const source = { session: sessionId, at, day, prompt, job: by.job };
      const id = entryId({ message, quote, text });
      const row = { ...said, ...source, id, type, text, state: 'new', reason: null } as const;
      return [{ memory: place, ...(other ? saidBy(other, row) : row) }];
    });
    const again = new Set(entries.map(({ id }) => id));
    const standing = new Map<string, EntryRow>();
    const plans: Plan[] = [];
    for (const id of targets) {
      const own = entries.filter((entry) => entry.memory === id);
      const rows = await entriesAmong(sql, id, { column: 'id', of: own.map((entry) => entry.id) });
      for (const row of rows) if (isInLog(row)) standing.set(row.id, row);
      const added = own.filter((entry) => !standing.has(entry.id)).sort(byTime);
      const replaced = (await replaceable(sql, id, { extraction, ranges })).filter((row) => !again.has(row.id));
      plans.push(planOf(added, replaced, { session: session.id, zone }));
    }
    kept = entries.map((entry) => standing.get(entry.id) ?? entry);
    const covered = async (change: Change) => {
      for (const { turn, begins, through } of ranges) {
        const row = { session: sessionId, memory: memory.id, begins, through, state: 'done', reason: null } as const;
        await cover(change, turn, { ...row, day: dayOfTurn.get(turn.id) as Day });
      }
    };
    return plans.map((each, at) => (at > 0 ? each : withRows(each, covered)));
  };
  const places = targets.map((id) => ({ memory: id, paths }));
  await commitAll(memories, places, by, plan);
  for (const { turn } of ranges) reopened.delete(turn.id);
  return kept.map((entry) => reportedEntry(entry, { cited, session, memory }));
}

/** What somebody else said, with their name where it tells what they are or want: of the user it tells nothing. */
function saidBy<Said extends Omit<EntryRow, 'memory'>>(person: string, said: Said): Said {
  const text = said.text.replace(/\bthe user\b/gi, person);
  if (said.found) return { ...said, text };
  const isWant = said.type === 'user' || said.type === 'feedback' || said.strength === 'implied';
  const wants = /^wants\s+/i.test(text) ? ' wants ' : said.type === 'user' ? ': ' : ' wants: ';
  const named = isWant && !text.includes(person) ? `${person}${wants}${text.replace(/^wants\s+/i, '')}` : text;
  return { ...said, person, text: named, ...(isWant && { type: 'project' }) };
}

function planOf(added: EntryRow[], replaced: EntryRow[], { session, zone }: { session: string; zone: string }): Plan {
  const gone: EntryRow[] = [];
  // A log names the session as its agent does.
  const inLog = (row: EntryRow) => ({ ...row, session, turn: row.turn ?? '' });
  const logs = { remove: replaced.filter(isInLog).map(inLog), add: added.map(inLog), zone };
  const files = changeLogs(logs, (removed) =>
    gone.push(...replaced.filter(({ id }) => removed.some((row) => row.id === id))),
  );
  return {
    files,
    async rows(change) {
      for (const entry of gone) await putEntry(change, { ...entry, state: 'gone', reason: 'replaced' });
      for (const entry of added) await putEntry(change, entry);
    },
  };
}

/** Covers ranges without extracting them. */
export async function coverRanges(
  covered: readonly { range: TurnRange; state: TurnState; reason: SkipReason | null }[],
  { sessionId, memory, by }: Extraction,
  { memories, zone }: Pick<ExtractedDeps, 'memories' | 'zone'>,
): Promise<void> {
  const now = memories.clock.now();
  await commit(memories, { memory: memory.id, paths: [] }, by, async () => ({
    files: [],
    async rows(change) {
      for (const { range, state, reason } of covered) {
        const { turn, begins, through } = range;
        const row = { session: sessionId, memory: memory.id, begins, through, state, reason };
        await cover(change, turn, { ...row, day: dayOf(turn.at ?? now, zone) });
      }
    },
  }));
}

/** The entries in a memory that a reopened turn gave before, as far as it is looked at again. */
async function replaceable(
  sql: Sql,
  memory: string,
  { extraction, ranges }: { extraction: Extraction; ranges: readonly TurnRange[] },
): Promise<EntryRow[]> {
  const again = new Map(
    ranges.flatMap((range) => (extraction.reopened.has(range.turn.id) ? [[range.turn.id, range] as const] : [])),
  );
  if (again.size === 0) return [];
  const rows = await entriesAmong(sql, memory, { column: 'session', of: [extraction.sessionId] });
  return rows.filter((row) => {
    const range = again.get(row.turn ?? '');
    if (!range || !isInLog(row)) return false;
    const ids = range.turn.messageIds;
    const at = ids.indexOf(row.evidence[0]?.message ?? '');
    return at === -1 || range.begins === '' || at >= ids.indexOf(range.begins);
  });
}

function reportedEntry(
  entry: EntryRow,
  { cited, session, memory }: { cited: CitedMessages; session: Session; memory: MemoryRow },
): ReportedEntry {
  const { id, type, text, turn } = entry;
  const evidence = entry.evidence.map(({ message, quote }) => {
    const source = cited.get(message);
    return { message, quote, speaker: source?.speaker ?? entry.by, at: source?.at ?? null };
  });
  const place = entry.memory === memory.id ? {} : { memory: entry.memory };
  return { id, type, text, evidence, session: session.id, turn: turn ?? '', ...place };
}

function byTime(a: EntryRow, b: EntryRow): number {
  return a.at < b.at ? -1 : a.at > b.at ? 1 : 0;
}
