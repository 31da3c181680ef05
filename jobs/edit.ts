// What a person writes. They change a file of the memory: a text in place of the version that they were shown, a pin, a file made what it
// was in a version. Or they say something to be kept, which becomes an entry in today's log, at once and without a model:
//
// 1. Redact the words and lay them on one line.
// 2. Leave it at that where the same is remembered already, and nothing about it was said since.
// 3. Append the entry to the log, with the words as they were typed for its evidence. Being new, it is in the next recall, and the
//    next dream sorts it into a topic.
//
// Promises: each is an action that undo takes back; what is not as it was shown any more is left alone, with `conflict`; where nothing
// changes there is no action.

import { AppError } from '../src/base/errors.ts';
import { redact } from '../src/base/secrets/redact-text.ts';
import { asSeen } from '../src/base/text/wording.ts';
import { dayOf } from '../src/base/time.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { commit, type FileChange, lookInto, type Plan, withRows } from '../src/memory/commit.ts';
import { rawText } from '../src/memory/edit-text.ts';
import { type EntryRow, entriesWhere, putEntry } from '../src/memory/entries.ts';
import { type Content, headAt, headOf } from '../src/memory/file-rows.ts';
import { enterJob } from '../src/memory/job-rows.ts';
import type { Memories, MemoryRow } from '../src/memory/memories.ts';
import { INDEX, withFollowing } from '../src/memory/memory-index.ts';
import type { MemoryType } from '../src/memory/memory-types.ts';
import { restingOn } from '../src/memory/rests.ts';
import { appendEntries, entryId, logPath } from '../src/memory/text/daily-log.ts';
import { setKeys } from '../src/memory/text/frontmatter.ts';
import { parseTopic } from '../src/memory/text/topic.ts';
import { findRelativeDate } from '../src/rules/languages.ts';
import { sharesTopic } from '../src/rules/words.ts';

type EditDeps = { memories: Memories };

/** `job`: with which it can be undone; null where nothing was changed. `version`: the head of the file then, null where none is. */
export type Edited = { job: string | null; path: string; version: string | null };

const PERSON = { kind: 'user', id: null } as const;

type Outcome = 'edited' | 'pinned' | 'unpinned' | 'restored';

type Act = { memory: string; outcome: Outcome; file: FileChange };

/**
 * Gives a file another text. `make`: from what stands there; `base`: the version that this must be (null: none); default: `make`
 * tells, with `conflict`, whether it is what the person was shown.
 */
export function edit(
  { memory, path, base, make }: { memory: string; path: string; base?: string | null; make: FileChange['make'] },
  deps: EditDeps,
): Promise<Edited> {
  const wanted = base === null ? { absent: true as const } : { version: base as string };
  const file = { path, make, ...(base !== undefined && { if: wanted }) };
  return asPerson({ memory, outcome: 'edited', file }, deps);
}

/**
 * Lets a person's editor work on the file itself: what it saves is there at once, also where it goes on after this has ended. What is
 * saved by then is taken in as every edit is, as one action. `open` answers whether the editor ended well.
 */
export async function editInPlace(
  { memory, path, open }: { memory: string; path: string; open(): boolean },
  { memories }: EditDeps,
): Promise<{ isFine: boolean; job: string | null }> {
  const { db, clock } = memories;
  const row = await memories.of(memory);
  await lookInto(memories, { memory, paths: [path] });
  const last = (await db.get<{ n: number }>('select coalesce(max(n), 0) as n from change'))?.n ?? 0;
  const isFine = open();
  await lookInto(memories, { memory, paths: [path] });
  const at = clock.now().toISOString();
  const job = await db.write(async (sql) => {
    const changes = await sql.all<{ id: string }>(
      `select distinct change.id from change join version on version.change = change.id
       where version.memory = ? and version.path = ? and version.actor_kind = 'external' and change.n > ?`,
      ...[memory, path, last],
    );
    if (changes.length === 0) return null;
    const entered = newId('job');
    await enterJob({ sql, job: entered, at }, { kind: 'edit', memory, request: { path }, outcome: 'edited' });
    for (const { id } of changes) {
      await sql.run('update change set job = ? where id = ?', entered, id);
      // Who wrote it is known by then.
      await sql.run('update version set actor_kind = ? where change = ? and path = ?', PERSON.kind, id, path);
    }
    return entered;
  });
  const kept: FileChange = { path, make: (current) => current };
  if (job)
    await commit(memories, { memory, paths: [path, INDEX] }, { job, actor: PERSON }, (sql) =>
      withFollowing(sql, row, PERSON, [kept]),
    );
  return { isFine, job };
}

/** Jobs leave a pinned topic as it is. */
export function pin(
  { memory, path, pinned }: { memory: string; path: string; pinned: boolean },
  deps: EditDeps,
): Promise<Edited> {
  const make = (current: string | null) => {
    if (current === null || parseTopic(path, current).pinned === pinned) return current;
    return setKeys(current, { pinned });
  };
  return asPerson({ memory, outcome: pinned ? 'pinned' : 'unpinned', file: { path, make } }, deps);
}

/**
 * Makes a file what it was in a version, at the place that it has now, or had. Errors: `bad-input` for a version that holds no text, `conflict` where another file took the place.
 */
export async function restore(
  { memory, version: id }: { memory: string; version: string },
  deps: EditDeps,
): Promise<Edited> {
  const version = await deps.memories.db.get<{ file: string; content: Content; path: string }>(
    `select v.file, v.content, coalesce(file.path, v.path) as path
     from version v left join file on file.memory = v.memory and file.id = v.file where v.memory = ? and v.id = ?`,
    ...[memory, id],
  );
  if (!version?.content) {
    const what = `Version ${id} holds no text: it was redacted, or of a file that was deleted then, or is older than versions are kept.`;
    throw new AppError('bad-input', what, { remedy: 'Choose another one of nocturne show --history.' });
  }
  const { file, path } = version;
  const text = rawText(version.content);
  return asPerson({ memory, outcome: 'restored', file: { path, file, make: () => text } }, deps);
}

/** Changes one file as a person does. */
async function asPerson({ memory, outcome, file }: Act, { memories }: EditDeps): Promise<Edited> {
  const job = newId('job');
  const actor = PERSON;
  const row = await memories.of(memory);
  let isChanged = false;
  const plan = async (sql: Sql): Promise<Plan> => {
    const head = await (file.file === undefined ? headAt(sql, memory, file.path) : headOf(sql, memory, file.file));
    const current = head?.content ? rawText(head.content) : null;
    const text = await file.make(current);
    isChanged = text !== current;
    if (!isChanged) return { files: [file] };
    const followed = await withFollowing(sql, row, actor, [{ ...file, make: () => text }]);
    return withRows(followed, (change) =>
      enterJob(change, { kind: 'edit', memory, request: { path: file.path }, outcome }),
    );
  };
  const { files } = await commit(memories, { memory, paths: [file.path, INDEX] }, { job, actor }, plan);
  return { job: isChanged ? job : null, path: files[0]?.path ?? file.path, version: files[0]?.version ?? null };
}

// Remember.

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
  const actor = byAgent ? ({ kind: 'job', id: job } as const) : PERSON;
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
        const startedBy = byAgent ? 'program' : 'person';
        await enterJob(change, { kind: 'remember', memory: memory.id, outcome: 'remembered', startedBy });
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
