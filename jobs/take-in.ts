// Take in: what an earlier nocturne worked on becomes this one's, once. A memory directory:
//
// 1. Read its ledger. Where its rows were taken in already, and the crash came after that, go on with 3.
// 2. In one transaction: the memory, its files, what was learned, what lines rest on, what waits to be worked.
// 3. Put the ledger aside: it stays beside, and says no more.
// 4. Look at the files, as at every opening; what a person changed since is an external edit.
//
// Promises: taken in whole or not at all, or, of a home that was broken off, on from there; a memory that cannot be read is named; no
// session is paid for twice, nothing that was forgotten comes back. What is gone are earlier jobs, with their undo,
// what they proposed, and versions.

import { basename, isAbsolute, join } from 'node:path';
import { AppError } from '../src/base/errors.ts';
import { canonicalPath } from '../src/base/files/directories.ts';
import { readBytesNow } from '../src/base/files/files.ts';
import { isOld, type OldDatabase, openOld, putAside } from '../src/db/old-database.ts';
import { insert, newId, type Row, type Sql } from '../src/db/sql.ts';
import type { EntryState, GoneReason, SkipReason, TurnState } from '../src/memory/entries.ts';
import { type Actor, countFiles, enterFile } from '../src/memory/file-rows.ts';
import { addMemory, type Memories, oldLedgerPath, type Scope } from '../src/memory/memories.ts';
import { gitRoot } from '../src/memory/paths.ts';
import { isArchivePath } from '../src/memory/text/topic.ts';
import { PRIORITY } from '../src/queue/inbox.ts';

interface OldMemory {
  dir: string;
  /** As clients know it; default: a new id. */
  id?: string;
  scope: Scope;
  name: string;
  /** It becomes a store without a directory; its files stay where they are. */
  isStore?: boolean;
  /** Default: now. */
  createdAt?: string;
  /** Further columns of its row. */
  more?: Row;
}

export async function takeIn(of: OldMemory, memories: Memories): Promise<void> {
  const { db, machine, clock } = memories;
  const dir = canonicalPath(of.dir);
  const path = oldLedgerPath(dir);
  const at = clock.now().toISOString();
  // 1.
  const old = openOld(path);
  try {
    const kept = old ? snapshotsOf(dir, old) : new Map();
    // 2.
    await db.write(async (sql) => {
      const known = of.isStore
        ? await sql.get('select id from memory where id = ?', of.id ?? '')
        : await sql.get('select id from memory where machine = ? and dir = ?', machine, dir);
      if (known) return;
      const place = of.isStore ? {} : { dir, machine };
      const name = (of.scope === 'project' && old && projectOf(old)) || of.name;
      const made = { ...of.more, ...place, id: of.id, scope: of.scope, name };
      const memory = await addMemory(sql, made, of.createdAt ?? at);
      if (old) await takeInLedger(sql, old, { memory, hasDirectory: !of.isStore, machine, at, kept });
    });
  } finally {
    old?.close();
  }
  // 3.
  if (isOld(path)) putAside(path);
  // 4.
  if (!of.isStore) await memories.ofDirectory(dir, of);
}

/** What was kept of sessions that wait, for agents that delete theirs. */
function snapshotsOf(dir: string, old: OldDatabase): Map<string, Buffer[]> {
  const rows = old.rows<{ key: string; payload: string }>('inbox').flatMap(({ key, payload }) => {
    const { snapshot, session } = JSON.parse(payload) as { snapshot?: string; session?: string };
    const bytes = snapshot === undefined ? null : readBytesNow(join(dir, '.nocturne', 'snapshots', snapshot));
    return bytes ? [[nameIn(key, session), [bytes]] as [string, Buffer[]]] : [];
  });
  return new Map(rows);
}

type Texts = Record<string, string>;
type MayTexts = Record<string, string | null>;

interface TakenInto {
  memory: string;
  /** Whether its files stand in a directory, as they did. */
  hasDirectory: boolean;
  machine: string;
  /** ISO-8601. */
  at: string;
  /** What was kept of sessions, by their names, where an agent deletes its own or another machine has it. */
  kept: ReadonlyMap<string, readonly Buffer[]>;
}

export async function takeInLedger(sql: Sql, old: OldDatabase, into: TakenInto): Promise<void> {
  const { memory, machine } = into;
  await takeInFiles(sql, old, into);
  const sessions = new Map<string, string>();
  const enter = async (name: string, file: Row = {}) => {
    const id = newId('session');
    sessions.set(name, id);
    await insert(sql, 'session', [{ id, name, memory, created_at: into.at, ...file }]);
    for (const [n, body] of (into.kept.get(name) ?? []).entries())
      await insert(sql, 'piece', [{ session: id, n, body }]);
    return id;
  };
  for (const { id, path, format, cwd, size, modified_at } of old.rows<Row>('session')) {
    // What was read of a copy says nothing of the file.
    const at = isFile(path) ? { machine, path } : { path: null };
    await enter(id as string, { ...at, format, cwd, size, modified_at, created_at: modified_at } as Row);
  }
  const sessionId = async (name = '') => sessions.get(name) ?? (await enter(name));
  for (const row of old.rows<Texts>('coverage')) {
    const { turn: id, from_message: begins, through_message: through, became = '', day, job } = row;
    const kept = { session: await sessionId(row.session), id, begins, memory, through, day, job, ...fateOf(became) };
    await insert(sql, 'turn', [kept as Row], 'on conflict do nothing');
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
  for (const { state = '', evidence: quotes, session, ...entry } of old.rows<Texts>('entry')) {
    const paths = (places.get(entry.id ?? '') ?? []).map(({ path }) => path);
    const row = { ...entry, quotes, memory, session: await sessionId(session), ...stateOf(state, paths) };
    // What was on its way into the user's memory stays where it was learned.
    if (state !== 'sent' || outbox.has(entry.id ?? ''))
      await insert(sql, 'entry', [row as Row], 'on conflict do nothing');
  }
  await takeInWork(sql, old, into, sessionId);
}

/** Files as they stand, under their ids. Of what a crash left behind nothing counts as placed: it is merged with what stands there. */
async function takeInFiles(sql: Sql, old: OldDatabase, { memory, hasDirectory, at }: TakenInto): Promise<void> {
  const commits = old.rows<{ id: number; applied: number }>('commit');
  const behind = new Set(commits.flatMap(({ id, applied }) => (applied === 0 ? [id] : [])));
  const versions = new Map(old.rows<Row>('version').map((version) => [version.id, version]));
  for (const { id: file, path, head, created_at } of old.rows<Texts>('memory')) {
    const { content, commit, actor, at: updated_at, ...of } = versions.get(head ?? '') ?? {};
    // Reports of nights are no files here: they are asked of the rows.
    if (!(content instanceof Buffer) || !file || !path || path.startsWith('.nocturne/')) continue;
    const id = newId('memver');
    const by = actorOf(String(actor));
    const made = { id, memory, file, path, change: `before_${memory}`, op: 'created', at: updated_at ?? at };
    const what = { sha: of.sha ?? null, size: of.size ?? null, content, actor_kind: by.kind, actor: by.id };
    await insert(sql, 'version', [{ ...made, ...what }]);
    const placed = !hasDirectory ? null : behind.has(commit as number) ? '' : id;
    const row = { memory, id: file, path, head: id, placed, created_at: created_at ?? made.at, updated_at: made.at };
    await enterFile(sql, row, content);
  }
  await countFiles(sql, memory, at);
}

/** Of a transcript on a disk, not of a copy that lay somewhere for a while. */
function isFile(path: unknown): path is string {
  return typeof path === 'string' && isAbsolute(path) && !path.includes('/sessions/.incoming/');
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
  const what = `The ledger says of a turn that it became ${JSON.stringify(became)}, which is unknown.`;
  throw new AppError('storage', what);
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
  const given = old.rows<MayTexts>('failure').filter(({ state }) => state === 'failed');
  const failed = given.map((row) => ({ ...row, error: row.message ?? null, not_before: row.at, since: row.at }));
  for (const row of [...old.rows<MayTexts>('inbox'), ...failed] as MayTexts[]) {
    const { kind, not_before, since, state = 'waiting', code = null, error = null } = row;
    const key = row.key ?? '';
    if (/^(?:drm|sesn)_/.test(key)) continue;
    const priority = PRIORITY[kind as keyof typeof PRIORITY] ?? PRIORITY.person;
    const given: OldPayload = JSON.parse(row.payload ?? '{}');
    const { transcript, session, snapshot: _, takeDeclined, reopenGivenUp, ...asked } = given;
    const takeUp = [...(takeDeclined ? ['declined'] : []), ...(reopenGivenUp ? ['gave_up'] : [])];
    const isExtract = kind === 'extract';
    const of = isExtract ? nameIn(key, session) : session;
    const named = of === undefined ? undefined : await sessionId(of);
    const id = isExtract ? named : kind === 'dream' ? memory : `${memory} ${named ?? key}`;
    const isHere = 'update session set path = ?, machine = ? where id = ? and path is null';
    if (isExtract && isFile(transcript)) await sql.run(isHere, transcript, machine, named as string);
    const payload = { ...asked, ...(isExtract ? takeUp.length > 0 && { takeUp } : { session: named }) };
    const work = { kind, key: id, memory, payload: JSON.stringify(payload), state, priority, code, error };
    const times = { since: since ?? at, not_before: not_before ?? at };
    await insert(sql, 'inbox', [{ ...work, ...times } as Row], 'on conflict do nothing');
  }
}

/** The name of the project whose sessions it has. */
export function projectOf(old: OldDatabase): string | undefined {
  const cwd = old.rows<{ cwd: string | null }>('session').find((row) => row.cwd !== null)?.cwd;
  return cwd ? basename(gitRoot(cwd) ?? cwd) : undefined;
}

/** The name of the session that work is about: its key says it, and of which file. */
function nameIn(key: string, session?: string): string {
  return session ?? (key.includes('@') ? key.slice(0, key.lastIndexOf('@')) : key);
}
