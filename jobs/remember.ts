// Remember: what a person says to be kept becomes an entry in today's log, at once and without a model.
//
// 1. Redact the words and lay them on one line.
// 2. Leave it at that where the same is remembered already, and nothing about it was said since.
// 3. Append the entry to the log, with the words as they were typed for its evidence. Being new, it is in the next
//    recall, and the next dream distils it.

import { AppError } from '../src/base/errors.ts';
import { redact } from '../src/base/text/redact.ts';
import { asSeen } from '../src/base/text/wording.ts';
import { type Clock, dayOf } from '../src/base/time.ts';
import { indexFollowing } from '../src/memory/dream/index-follow.ts';
import {
  type EntryRow,
  entriesSaying,
  entriesSince,
  isInLog,
  supportsByEntry,
  writeEntry,
} from '../src/memory/ledger/entries.ts';
import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import { type Ledger, newId } from '../src/memory/ledger/ledger.ts';
import type { Store } from '../src/memory/store/store.ts';
import { appendEntries, entryId, logPath } from '../src/memory/text/daily-log.ts';
import type { MemoryType } from '../src/memory/types.ts';
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

/** Throws `bad-input` for words that are no entry. */
export async function remember(
  { text: typed, type, byAgent = false }: RememberRequest,
  { store, clock, zone }: { store: Store; clock: Clock; zone: string },
): Promise<RememberReport> {
  // 1.
  const redaction = await redact(typed);
  const text = asSeen(redaction.text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' '));
  if (text === '') {
    throw new AppError('bad-input', 'There is nothing to remember: no words were given.', {
      remedy: 'Say it in quotes: nocturne remember "Always use pnpm."',
    });
  }
  if (text.length > MAX_CHARACTERS) {
    const found = `That is ${text.length} characters; an entry is one line of at most ${MAX_CHARACTERS}.`;
    throw new AppError('bad-input', found, {
      remedy: `Remember it in parts, or write it into a topic file of its own in ${store.id}.`,
    });
  }
  const now = clock.now();
  const at = now.toISOString();
  const day = dayOf(now, zone);
  const said = { message: `${byAgent ? 'agent' : 'typed'}-${at}`, quote: text };
  const id = entryId({ ...said, text });
  const source = { by: byAgent ? 'assistant' : 'human', session: '', turn: '', prompt: '' };
  let entry: EntryRow = {
    id,
    type,
    strength: 'stated',
    text,
    evidence: byAgent ? [] : [said],
    ...source,
    at,
    day,
    job: '',
    state: 'new',
  };
  let job: string | null = null;
  const named = newId('job');
  await store.commit({ actor: byAgent ? `job:${named}` : 'person' }, (ledger) => {
    // 2.
    // What an agent said is not yet the person's.
    const known = entriesSaying(ledger, text).find(
      (row) => (byAgent || row.by !== 'assistant') && isRemembered(ledger, row) && !isOldNews(ledger, row),
    );
    if (known) {
      entry = known;
      return { files: [] };
    }
    // 3.
    const index = indexFollowing(store);
    const log = {
      path: logPath(day),
      change: (current: string | null) => appendEntries(current, [entry], { day, zone }),
    };
    return {
      files: [log, ...index.files],
      rows(transaction) {
        index.finish(transaction);
        job = enterPersonsJob(transaction, { kind: 'remember', outcome: 'remembered', now, id: named });
        entry = { ...entry, job };
        writeEntry(transaction, entry);
      },
    };
  });
  return {
    outcome: job === null ? 'known' : 'remembered',
    entry: { id: entry.id, type: entry.type, text: entry.text, day: entry.day },
    path: logPath(entry.day),
    job,
    redacted: redaction.found.reduce((sum, { count }) => sum + count, 0),
    relativeDate: findRelativeDate(text),
  };
}

/** Whether something about it was said since: then the latest word is not this one, and may become it again. */
function isOldNews(ledger: Ledger, { text, at }: EntryRow): boolean {
  return entriesSince(ledger, at).some((row) => isInLog(row) && row.text !== text && sharesTopic(text, row.text));
}

/** What a dream once read and no topic line rests on any more may be remembered again. */
function isRemembered(ledger: Ledger, { id, state }: EntryRow): boolean {
  return state === 'new' || state === 'held' || (state === 'distilled' && supportsByEntry(ledger, id).length > 0);
}
