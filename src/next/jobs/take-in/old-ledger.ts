// The rows of a ledger of before (`.nocturne/ledger.db` of a memory directory), as rows of the one database. Files and versions keep
// their ids, which clients know; entries, coverage, what lines rest on, proposals and what waits become what they mean here. What no
// row here can mean is left: leases, displaced files, and what an undo of a job of before would need.

import { AppError } from '../../../base/errors.ts';
import type { Day } from '../../../base/time.ts';
import { asToday } from '../../../memory/text/operations.ts';
import { isArchivePath } from '../../../memory/text/topic.ts';
import type { Operation } from '../../../rules/dream-context.ts';
import type { OldDatabase } from '../../db/old-database.ts';
import { insert, newId, type Row, type Sql } from '../../db/sql.ts';
import type { SkipReason, TurnState } from '../../memory/coverage.ts';
import type { EntryState, GoneReason } from '../../memory/entries.ts';
import { type Actor, countFiles, enterFile } from '../../memory/file-rows.ts';
import { PRIORITY } from '../../queue/inbox.ts';

interface OldVersion {
  id: string;
  memory: string;
  commit: number;
  op: string;
  path: string | null;
  previous: string | null;
  sha: string | null;
  size: number | null;
  content: Buffer | null;
  actor: string;
  at: string;
  redacted_at: string | null;
  redacted_by: string | null;
}

interface OldEntry extends Record<string, string | null> {
  id: string;
  session: string;
  state: string;
}

export interface TakenInto {
  memory: string;
  /** Whether its files stand in a directory, as they did. */
  hasDirectory: boolean;
  machine: string;
  /** ISO-8601. */
  at: string;
}

/** Entries about the user that the memory of the user has not got yet. */
export type Undelivered = Row & { id: string; day: Day };

/** Writes the rows; answers what is still to be delivered into the user's memory. */
export async function takeInLedger(sql: Sql, old: OldDatabase, into: TakenInto): Promise<Undelivered[]> {
  const { memory, machine } = into;
  await takeInFiles(sql, old, into);
  await insert(sql, 'job', old.rows<Row>('job').map(jobRow(memory)), 'on conflict (id) do nothing');
  const sessions = new Map<string, string>();
  for (const row of old.rows<Row>('session')) {
    const { id: name, ...file } = row;
    const made = { id: newId('session'), name, memory, machine, ...file, created_at: row.modified_at };
    sessions.set(name as string, made.id);
    await insert(sql, 'session', [made as Row]);
  }
  const sessionId = async (name: string): Promise<string> => {
    const known =
      sessions.get(name) ?? (await sql.get<{ id: string }>('select id from session where name = ?', name))?.id;
    const id = known ?? newId('session');
    if (!known) await insert(sql, 'session', [{ id, name, memory, created_at: into.at }]);
    sessions.set(name, id);
    return id;
  };
  for (const row of old.rows<Record<string, string>>('coverage')) {
    const { turn: id, from_message: begins = '', through_message: through = '', became = '', day = '', job = '' } = row;
    const session = await sessionId(row.session ?? '');
    const kept = { session, id: id ?? '', begins, memory, through, day, job, ...fateOf(became) };
    await insert(sql, 'turn', [kept], 'on conflict do nothing');
  }
  const files = new Map(old.rows<{ id: string; path: string | null }>('memory').map(({ id, path }) => [path, id]));
  const support = old.rows<{ path: string; line: string; entry: string }>('support');
  const onEntries = support.map(({ path, line, entry }) => ({ file: files.get(path), line, source: entry }));
  const written = old.rows<{ memory: string; line: string; actor: string }>('program_line');
  const byPrograms = written.map(({ memory: file, line, actor }) => ({ file, line, source: sourceOf(actor) }));
  const all = [...onEntries, ...byPrograms].filter(({ file }) => file !== undefined);
  await insert(sql, 'rests', all.map((row) => ({ memory, ...row })) as Row[], 'on conflict do nothing');
  const places = Map.groupBy(support, ({ entry }) => entry);
  const outbox = new Set(old.rows<{ entry: string }>('outbox').map(({ entry }) => entry));
  const undelivered: Undelivered[] = [];
  for (const entry of old.rows<OldEntry>('entry')) {
    const row = {
      ...entryRow(
        entry,
        (places.get(entry.id) ?? []).map(({ path }) => path),
      ),
      memory,
    };
    const kept = { ...row, session: await sessionId(entry.session) };
    if (entry.state !== 'sent') await insert(sql, 'entry', [kept], 'on conflict do nothing');
    else if (outbox.has(entry.id)) undelivered.push({ ...kept, state: 'new' } as unknown as Undelivered);
  }
  await takeInProposals(sql, old, { memory, files });
  await takeInWork(sql, old, into, sessionId);
  for (const row of old.rows<Row>('topic_use')) {
    const { path, ...use } = row;
    const file = files.get(path as string);
    if (file) await insert(sql, 'topic_use', [{ memory, file, ...use }]);
  }
  for (const { path, snapshot, text } of old.rows<Record<string, string>>('snapshot_topic'))
    await insert(sql, 'snapshot_base', [{ memory, path: path ?? '', snapshot: snapshot ?? '', text: text ?? '' }]);
  for (const { session, request, text, at } of old.rows<Record<string, string>>('recalled'))
    await insert(sql, 'recalled', [
      { session: session ?? '', memory, request: request ?? '', text: text ?? '', at: at ?? '' },
    ]);
  return undelivered;
}

/** Files, each with its versions. What a crash left behind is placed as it was, so that it is brought now. */
async function takeInFiles(sql: Sql, old: OldDatabase, { memory, hasDirectory, at }: TakenInto): Promise<void> {
  const behind = new Set(
    old.rows<{ id: number; applied: number }>('commit').flatMap(({ id, applied }) => (applied === 0 ? [id] : [])),
  );
  // Reports of nights are no files here: they are asked of the rows.
  const isReport = (path: string | null | undefined) => path?.startsWith('.nocturne/') ?? false;
  const reports = new Set(
    old.rows<OldVersion>('version').flatMap(({ path, memory: of }) => (isReport(path) ? [of] : [])),
  );
  const versions = old.rows<OldVersion>('version').filter((version) => !reports.has(version.memory));
  for (const { commit, actor, redacted_by, ...row } of versions) {
    const { lost: _, ...version } = row as typeof row & { lost?: number };
    const by = actorOf(actor);
    const redactedBy = redacted_by === null ? null : JSON.stringify(actorOf(redacted_by));
    await insert(sql, 'version', [
      {
        ...{ id: version.id, memory, file: version.memory, change: `before_${memory}_${commit}`, op: version.op },
        ...{ path: version.path, sha: version.sha, size: version.size, previous: version.previous },
        ...{ actor_kind: by.kind, actor: by.id, at: version.at, content: version.content },
        ...{ redacted_at: version.redacted_at, redacted_by: redactedBy },
      },
    ]);
  }
  const heads = new Map(versions.map((version) => [version.id, version]));
  for (const { id, path, head, created_at } of old.rows<Record<string, string | null>>('memory')) {
    const version = heads.get(head ?? '');
    if (!version) continue;
    const content = version.content;
    const standing = content === null ? null : path;
    const isBehind = behind.has(version.commit);
    const placed = hasDirectory ? (isBehind ? (version.previous ?? '') : version.id) : null;
    const row = { memory, id: id ?? '', path: standing ?? null, head: version.id, placed };
    await enterFile(sql, { ...row, created_at: created_at ?? version.at, updated_at: version.at }, content);
  }
  await countFiles(sql, memory, at);
}

function jobRow(memory: string): (row: Row) => Row {
  return (row) => ({
    ...{ id: row.id ?? '', kind: row.kind ?? '', memory, session: row.session ?? null, outcome: row.outcome ?? null },
    ...{
      code: row.code ?? null,
      error: row.error ?? null,
      started_by: row.started_by ?? 'hook',
      usage: row.usage ?? null,
    },
    ...{ status: row.error ? 'failed' : 'completed', undoes: row.undoes ?? null },
    ...{
      created_at: row.created_at ?? '',
      started_at: row.created_at ?? '',
      ended_at: row.ended_at ?? row.created_at ?? '',
    },
  });
}

const FATES: Record<string, { state: TurnState; reason: SkipReason | null }> = {
  recorded: { state: 'done', reason: null },
  nothing: { state: 'done', reason: null },
  'main-agent': { state: 'skipped', reason: 'own-write' },
  private: { state: 'skipped', reason: 'private' },
  declined: { state: 'skipped', reason: 'declined' },
  assumed: { state: 'skipped', reason: 'assumed' },
  'gave-up': { state: 'gave_up', reason: null },
  undone: { state: 'undone', reason: null },
};

function fateOf(became: string) {
  const fate = FATES[became];
  if (fate) return fate;
  throw new AppError(
    'storage',
    `The ledger says of a turn that it became ${JSON.stringify(became)}, which is unknown.`,
  );
}

function entryRow({ state, ...entry }: OldEntry, places: string[]): Row {
  const { id, turn = null, at, day, type, strength, said_by, text, changes = null, again = null } = entry;
  const { evidence, prompt, job } = entry;
  const row = { id, turn, at, day, type, strength, said_by, text, changes, again, quotes: evidence, prompt, job };
  return { ...row, ...stateOf(state, places) } as Row;
}

function stateOf(state: string, places: string[]): { state: EntryState; reason: GoneReason | null } {
  if (state === 'withdrawn' || state === 'forgotten') return { state: 'gone', reason: state };
  if (state === 'new' || state === 'sent') return { state: 'new', reason: null };
  if (places.length === 0) return { state: 'dropped', reason: null };
  return { state: places.every(isArchivePath) ? 'archived' : 'placed', reason: null };
}

function actorOf(actor: string): Actor {
  const [, kind = '', id = ''] = /^(job|tool):(.*)$/.exec(actor) ?? [];
  if (kind === 'job') return { kind: 'job', id };
  if (kind === 'tool') return { kind: id.startsWith('apikey_') ? 'api' : 'session', id };
  return { kind: actor === 'external' ? 'external' : 'user', id: null };
}

function sourceOf(actor: string): string {
  const { kind, id } = actorOf(actor);
  return `${kind}:${id ?? ''}`;
}

/** Those that wait or were rejected; their entries are `new` here, as they are for a night. */
async function takeInProposals(
  sql: Sql,
  old: OldDatabase,
  { memory, files }: { memory: string; files: ReadonlyMap<string | null, string> },
): Promise<void> {
  for (const row of old.rows<Record<string, string | null>>('proposal')) {
    const { id, job, at, made_by: madeBy, forgotten, because = null } = row;
    const operations = (JSON.parse(row.operations ?? '[]') as Operation[]).map(asToday);
    const pins = JSON.parse(row.topics ?? '[]') as { path: string }[];
    const pinned = JSON.parse(row.entries ?? '[]') as { id: string; said: string; isWithdrawn: boolean }[];
    const bases = {
      files: pins.map((pin) => ({ ...pin, file: files.get(pin.path) ?? null })),
      entries: pinned.map(({ isWithdrawn, ...entry }) => ({ ...entry, isGone: isWithdrawn })),
    };
    const plan = { madeBy, operations, archiving: forgotten ? JSON.parse(forgotten) : null };
    const state = row.state === 'waiting' ? 'open' : 'rejected';
    const decided = { state, decided_at: state === 'open' ? null : at, because };
    const kept = { id, memory, job, at, plan: JSON.stringify(plan), bases: JSON.stringify(bases), ...decided };
    await insert(sql, 'proposal', [kept as Row]);
  }
}

/** What waits, and what was given up. Its tries begin again. */
async function takeInWork(
  sql: Sql,
  old: OldDatabase,
  { memory, machine, at }: TakenInto,
  sessionId: (name: string) => Promise<string>,
): Promise<void> {
  const given = old
    .rows<Record<string, string>>('failure')
    .filter(({ state }) => state === 'failed')
    .map(({ code, message, ...row }) => ({
      ...row,
      state: 'failed',
      code,
      error: message,
      not_before: row.at,
      since: row.at,
    }));
  for (const row of [...old.rows<Record<string, string>>('inbox'), ...given] as Record<string, string | null>[]) {
    const { kind, key, payload, not_before, since, state = 'waiting', code = null, error = null } = row;
    const priority = PRIORITY[kind as keyof typeof PRIORITY] ?? PRIORITY.person;
    const work = { kind, key: kind === 'dream' ? memory : await sessionId(key ?? ''), memory, machine, payload };
    const how = { state, priority, code, error };
    const times = { since: since ?? at, not_before: not_before ?? at };
    await insert(sql, 'inbox', [{ ...work, ...how, ...times } as Row], 'on conflict do nothing');
  }
}
