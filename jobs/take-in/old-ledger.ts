// The rows of a ledger of an earlier nocturne (`.nocturne/ledger.db` of a memory directory), as rows of the one database. Files and versions keep
// their ids, which clients know; entries, coverage, what lines rest on, proposals and what waits become what they mean here. What no
// row here can mean is left: leases, displaced files, and what an undo of an earlier job would need.

import { basename, isAbsolute } from 'node:path';
import { AppError } from '../../src/base/errors.ts';
import type { Day } from '../../src/base/time.ts';
import type { OldDatabase } from '../../src/db/old-database.ts';
import { insert, newId, type Row, type Sql } from '../../src/db/sql.ts';
import type { SkipReason, TurnState } from '../../src/memory/coverage.ts';
import type { EntryState, GoneReason } from '../../src/memory/entries.ts';
import { type Actor, countFiles, enterFile } from '../../src/memory/file-rows.ts';
import { gitRoot } from '../../src/memory/paths.ts';
import { asToday } from '../../src/memory/text/operations.ts';
import { isArchivePath } from '../../src/memory/text/topic.ts';
import { PRIORITY } from '../../src/queue/inbox.ts';
import type { Operation } from '../../src/rules/dream-context.ts';
import { NOTHING_TOLD } from '../dream/dream-landing.ts';

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
  /** What was kept of sessions, by their names, where an agent deletes its own or another machine has it. */
  kept: ReadonlyMap<string, readonly Buffer[]>;
}

/** Entries about the user that the memory of the user has not got yet. */
export type Undelivered = Row & { id: string; day: Day };

/** Writes the rows; answers what is still to be delivered into the user's memory. */
export async function takeInLedger(sql: Sql, old: OldDatabase, into: TakenInto): Promise<Undelivered[]> {
  const { memory, machine } = into;
  await takeInFiles(sql, old, into);
  const sessions = new Map<string, string>();
  const enter = async (name: string, file: Row = {}) => {
    const id = newId('session');
    sessions.set(name, id);
    await insert(sql, 'session', [{ id, name, memory, created_at: into.at, ...file }]);
    const pieces = into.kept.get(name) ?? [];
    for (const [n, body] of pieces.entries()) await insert(sql, 'piece', [{ session: id, n, body }]);
    return id;
  };
  for (const { id, ...file } of old.rows<Row>('session')) {
    const isHere = isFile(file.path);
    // What was read of a copy says nothing of the file.
    const at: Row = isHere ? { machine } : { path: null, read_to: null, prefix_sha: null };
    await enter(id as string, { ...file, ...at, created_at: file.modified_at as string });
  }
  const sessionId = async (name: string): Promise<string> =>
    sessions.get(name) ??
    (await sql.get<{ id: string }>('select id from session where memory = ? and name = ?', memory, name))?.id ??
    (await enter(name));
  const jobs = old
    .rows<Row>('job')
    .map((row) => jobRow({ ...row, memory, session: sessions.get(row.session as string) ?? null }));
  await insert(sql, 'job', jobs, 'on conflict (id) do nothing');
  await insert(sql, 'call', jobs.flatMap(callsOf), 'on conflict (id) do nothing');
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
  const idOf = await idsFor(sql, versions);
  for (const { commit, actor, redacted_by, ...version } of versions) {
    const by = actorOf(actor);
    const redactedBy = redacted_by === null ? null : JSON.stringify(actorOf(redacted_by));
    await insert(sql, 'version', [
      {
        ...{ id: idOf(version.id), memory, file: version.memory, change: `before_${memory}_${commit}`, op: version.op },
        ...{ path: version.path, sha: version.sha, size: version.size, previous: idOf(version.previous) },
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
    const now = idOf(version.id) as string;
    const placed = hasDirectory ? (isBehind ? (idOf(version.previous) ?? '') : now) : null;
    const row = { memory, id: id ?? '', path: standing ?? null, head: now, placed };
    await enterFile(sql, { ...row, created_at: created_at ?? version.at, updated_at: version.at }, content);
  }
  await countFiles(sql, memory, at);
}

/** Versions of a store that a dream copied had the ids of those that it was made from; here each has its own. */
async function idsFor(sql: Sql, versions: OldVersion[]): Promise<(id: string | null) => string | null> {
  const [first] = versions;
  const isCopy = first && (await sql.get('select 1 from version where id = ?', first.id));
  const made = new Map(isCopy ? versions.map(({ id }) => [id, newId(id.split('_')[0] ?? '')]) : []);
  return (id) => (id === null ? null : (made.get(id) ?? id));
}

/** Of a transcript on a disk, not of a copy that lay somewhere for a while. */
function isFile(path: unknown): path is string {
  return typeof path === 'string' && isAbsolute(path) && !path.includes('/sessions/.incoming/');
}

function jobRow(row: Row): Row {
  const { id = '', kind = '', memory = null, session = null, outcome = null, code = null, error = null } = row;
  const { started_by = null, usage = null, undoes = null, created_at = '', ended_at = null } = row;
  // What a night did stood in its report alone.
  const output = kind === 'dream' ? JSON.stringify(NOTHING_TOLD) : null;
  const how = { status: error === null ? 'completed' : 'failed', outcome, code, error, output, usage, undoes };
  const times = { created_at, started_at: created_at, ended_at: ended_at ?? created_at };
  return { id, kind, memory, session, ...how, started_by: started_by ?? 'hook', ...times };
}

interface OldPart {
  day: Day;
  model: string;
  inputTokens: number;
  cachedInputTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  microUsd: number | null;
}

/** What a job used, by day and model, as if each had been one request: for the cost of a month. */
function callsOf({ id, usage, ended_at }: Row): Row[] {
  const { parts = [] } = JSON.parse((usage as string | null) ?? '{}') as { parts?: OldPart[] };
  return parts.map((part, n) => ({
    ...{
      id: `before_${id}_${n}`,
      day: part.day,
      scope: '',
      job: id as string,
      model: part.model,
      at: ended_at as string,
    },
    ...{ reserved_tokens: 0, reserved_usd: 0, settled_at: ended_at as string },
    ...{ input: part.inputTokens - part.cachedInputTokens, cached: part.cachedInputTokens },
    ...{ written: part.cacheWriteTokens, output: part.outputTokens, micro_usd: part.microUsd ?? 0 },
  }));
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
    await insert(sql, 'proposal', [kept as Row], 'on conflict (id) do nothing');
  }
}

interface OldPayload {
  transcript?: string;
  session?: string;
  snapshot?: string;
  takeDeclined?: boolean;
  reopenGivenUp?: boolean;
}

/** What waits, and what was given up. Its tries begin again. What clients asked for is told by their rows (home-rows.ts). */
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
      ...{ ...row, state: 'failed', code, error: message, not_before: row.at, since: row.at },
    }));
  for (const row of [...old.rows<Record<string, string>>('inbox'), ...given] as Record<string, string | null>[]) {
    const { kind, not_before, since, state = 'waiting', code = null, error = null } = row;
    const key = row.key ?? '';
    if (/^(?:drm|sesn)_/.test(key)) continue;
    const priority = PRIORITY[kind as keyof typeof PRIORITY] ?? PRIORITY.person;
    const {
      transcript,
      session,
      snapshot: _,
      takeDeclined,
      reopenGivenUp,
      ...asked
    } = JSON.parse(row.payload ?? '{}') as OldPayload;
    const takeUp = [...(takeDeclined ? ['declined'] : []), ...(reopenGivenUp ? ['gave_up'] : [])];
    const isExtract = kind === 'extract';
    const of = isExtract ? nameIn(key, session) : session;
    const named = of === undefined ? undefined : await sessionId(of);
    const id = isExtract ? named : kind === 'dream' ? memory : `${memory} ${named ?? key}`;
    if (isExtract && isFile(transcript))
      await sql.run(
        'update session set path = ?, machine = ? where id = ? and path is null',
        transcript,
        machine,
        named as string,
      );
    const payload = { ...asked, ...(isExtract ? takeUp.length > 0 && { takeUp } : { session: named }) };
    const work = { kind, key: id, memory, payload: JSON.stringify(payload) };
    const how = { state, priority, code, error };
    const times = { since: since ?? at, not_before: not_before ?? at };
    await insert(sql, 'inbox', [{ ...work, ...how, ...times } as Row], 'on conflict do nothing');
  }
}

/** The name of the project whose sessions it has. */
export function projectOf(old: OldDatabase): string | undefined {
  const cwd = old.rows<{ cwd: string | null }>('session').find((row) => row.cwd !== null)?.cwd;
  return cwd ? basename(gitRoot(cwd) ?? cwd) : undefined;
}

/** The name of the session that work is about: its key says it, and of which file. */
export function nameIn(key: string, session?: string): string {
  return session ?? (key.includes('@') ? key.slice(0, key.lastIndexOf('@')) : key);
}
