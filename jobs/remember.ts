// Remember: what a person says to be kept becomes an entry in today's log, at once and without a model.
//
// 1. Redact the words and lay them on one line.
// 2. Leave it at that where the same is remembered already, and nothing about it was said since.
// 3. Append the entry to the log, with the words as they were typed for its evidence. Being new, it is in the next recall, and the
//    next dream sorts it into a topic.

import { AppError } from '../src/base/errors.ts';
import { redact } from '../src/base/secrets/redact-text.ts';
import { asSeen } from '../src/base/text/wording.ts';
import { dayOf } from '../src/base/time.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { commit } from '../src/memory/commit.ts';
import { type EntryRow, entriesWhere, putEntry } from '../src/memory/entries.ts';
import { enterJob } from '../src/memory/job-rows.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import type { MemoryType } from '../src/memory/memory-types.ts';
import { restingOn } from '../src/memory/rests.ts';
import { appendEntries, entryId, logPath } from '../src/memory/text/daily-log.ts';
import { findRelativeDate } from '../src/rules/languages.ts';
import { sharesTopic } from '../src/rules/words.ts';

export interface RememberRequest {
  /** Any text; it becomes one line of at most 1,000 characters. */
  text: string;
  type: MemoryType;
  /** An agent said it in its shell: it is what a program wrote then, and no person's word. */
  byAgent?: boolean;
}

export interface RememberReport {
  /** `known`: the same is remembered already, and nothing was changed. */
  outcome: 'remembered' | 'known';
  entry: { id: string; type: MemoryType; text: string; day: string };
  /** The log that holds it. */
  path: string;
  /** With which it can be undone; null where nothing was changed. */
  job: string | null;
  /** How many secrets were taken out of the words. */
  redacted: number;
  /** Words like "tomorrow", which mean nothing on another day; null where there are none. */
  relativeDate: string | null;
}

const MAX_CHARACTERS = 1_000;

/** Errors: `bad-input` for words that are no entry. */
export async function remember(
  { text: typed, type, byAgent = false }: RememberRequest,
  { memory, memories, zone }: { memory: MemoryRow; memories: Memories; zone: string },
): Promise<RememberReport> {
  // 1.
  const redaction = await redact(typed);
  // On one line, and without what is not seen, it may say more.
  const { text } = await redact(asSeen(redaction.text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ')));
  if (text === '') {
    throw new AppError('bad-input', 'There is nothing to remember: no words were given.', {
      remedy: 'Say it in quotes: nocturne remember "Always use pnpm."',
    });
  }
  if (text.length > MAX_CHARACTERS) {
    const found = `That is ${text.length} characters; an entry is one line of at most ${MAX_CHARACTERS}.`;
    throw new AppError('bad-input', found, {
      remedy: `Remember it in parts, or write it into a topic file of its own in ${memory.dir ?? memory.name}.`,
    });
  }
  const now = memories.clock.now();
  const [at, day, job] = [now.toISOString(), dayOf(now, zone), newId('job')];
  const said = { message: `${byAgent ? 'agent' : 'typed'}-${at}`, quote: text };
  const made: EntryRow = {
    ...{ memory: memory.id, id: entryId({ ...said, text }), session: null, turn: null, at, day, type, text, job },
    ...{ strength: 'stated', by: byAgent ? 'assistant' : 'human', evidence: byAgent ? [] : [said], prompt: '' },
    ...{ state: 'new', reason: null },
  };
  let known: EntryRow | undefined;
  const actor = byAgent ? ({ kind: 'job', id: job } as const) : ({ kind: 'user', id: null } as const);
  await commit(memories, { memory: memory.id, paths: [logPath(day)] }, { job, actor }, async (sql) => {
    // 2.
    known = await findKnown(sql, made);
    if (known) return { files: [] };
    // 3.
    const entry = { ...made, session: '', turn: '' };
    const make = (log: string | null) => appendEntries(log, [entry], { day, zone });
    return {
      files: [{ path: logPath(day), make }],
      async rows(change) {
        const of = { id: job, kind: 'remember', memory: memory.id, outcome: 'remembered', at } as const;
        await enterJob(change.sql, { ...of, startedBy: byAgent ? 'program' : 'person' });
        await putEntry(change, made);
      },
    };
  });
  const entry = known ?? made;
  return {
    outcome: known ? 'known' : 'remembered',
    entry: { id: entry.id, type: entry.type, text: entry.text, day: entry.day },
    path: logPath(entry.day),
    job: known ? null : job,
    redacted: redaction.found.reduce((sum, { count }) => sum + count, 0),
    relativeDate: findRelativeDate(text),
  };
}

/** The entry by which the same is remembered already. What an agent said is not yet the person's. */
async function findKnown(sql: Sql, { memory, text, by }: EntryRow): Promise<EntryRow | undefined> {
  for (const row of await entriesWhere(sql, memory, 'and text = ?', text)) {
    if (row.by === 'assistant' && by !== 'assistant') continue;
    if ((await isRemembered(sql, row)) && !(await isOldNews(sql, row))) return row;
  }
  return undefined;
}

/** Whether something about it was said since: then the latest word is not this one, and may become it again. */
async function isOldNews(sql: Sql, { memory, text, at }: EntryRow): Promise<boolean> {
  const since = await entriesWhere(sql, memory, "and at > ? and state <> 'gone'", at);
  return since.some((row) => row.text !== text && sharesTopic(text, row.text));
}

/** What a dream once read and no topic line rests on any more may be remembered again. */
async function isRemembered(sql: Sql, { memory, id, state }: EntryRow): Promise<boolean> {
  if (state !== 'placed') return state === 'new';
  const { alone, shared } = await restingOn(sql, memory, [id]);
  return alone.length + shared.length > 0;
}
