// A person changes a file of the memory, and what comes of it is an action that undo takes back: a text in place of the version
// that they were shown, a pin, a file made what it was in a version.
// Promises: what is not as it was shown any more is left alone, with `conflict`; where nothing changes there is no action.

import { AppError } from '../src/base/errors.ts';
import { newId, type Sql } from '../src/db/sql.ts';
import { commit, type FileChange, lookInto, type Plan, withRows } from '../src/memory/commit.ts';
import { rawText } from '../src/memory/edit-text.ts';
import { type Content, headAt, headOf } from '../src/memory/file-rows.ts';
import { enterJob } from '../src/memory/job-rows.ts';
import type { Memories } from '../src/memory/memories.ts';
import { INDEX, withFollowing } from '../src/memory/memory-index.ts';
import { setKeys } from '../src/memory/text/frontmatter.ts';
import { parseTopic } from '../src/memory/text/topic.ts';

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
    const of = { kind: 'edit', memory, request: { path }, outcome: 'edited', at } as const;
    const entered = await enterJob(sql, { ...of, startedBy: 'person' });
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
  const version = await deps.memories.db.get<Restored>(
    `select v.file, v.op, v.content, v.redacted_at as redacted, coalesce(file.path, v.path) as path
     from version v left join file on file.memory = v.memory and file.id = v.file where v.memory = ? and v.id = ?`,
    ...[memory, id],
  );
  if (!version?.content) throw noText(id, version);
  const { file, path } = version;
  const text = rawText(version.content);
  return asPerson({ memory, outcome: 'restored', file: { path, file, make: () => text } }, deps);
}

type Restored = { file: string; op: string; content: Content; redacted: string | null; path: string };

function noText(id: string, version: Restored | undefined): AppError {
  const why = !version
    ? 'is not there; it may be older than versions are kept'
    : version.redacted !== null
      ? 'was redacted: there is no text to restore'
      : `is of a file that was ${version.op} then: there is no text to restore`;
  return new AppError('bad-input', `Version ${id} ${why}.`, {
    remedy: 'Choose another one of nocturne show --history.',
  });
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
    return withRows(followed, async (change) => {
      const of = { id: job, kind: 'edit', memory, request: { path: file.path }, outcome, at: change.at } as const;
      await enterJob(change.sql, { ...of, startedBy: 'person' });
    });
  };
  const { files } = await commit(memories, { memory, paths: [file.path, INDEX] }, { job, actor }, plan);
  return { job: isChanged ? job : null, path: files[0]?.path ?? file.path, version: files[0]?.version ?? null };
}
