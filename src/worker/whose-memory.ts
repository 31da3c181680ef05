// Memories and sessions as people know them. Whose memory one is, and how a command is told to work on it from where they stand.
// Sessions each by its name, with its day, agent and length; ids stand behind. The name is made of the transcript where that is
// there; else it is the first of the words that were kept of it. Of what was forgotten or redacted nothing is named.

import { attempt, onAppError } from '../base/errors.ts';
import { canonicalPath, isDirectory } from '../base/files/directories.ts';
import { formatIn } from '../base/time.ts';
import { allOf } from '../db/sql.ts';
import { entriesAmong } from '../memory/entries.ts';
import { HAS_SOMETHING, type MemoryRow } from '../memory/memories.ts';
import { gitRoot } from '../memory/paths.ts';
import { isByProject } from '../memory/places.ts';
import { type SameProject, sameProjects, saySame } from '../memory/projects.ts';
import { REDACTED } from '../memory/redaction.ts';
import type { ExplainedLine } from '../memory/rests.ts';
import type { SessionRow } from '../memory/session-rows.ts';
import { shortId } from '../memory/short-ids.ts';
import { versionBringing } from '../memory/versions.ts';
import { fromHome, sayWhen, shellPath } from '../terminal/phrases.ts';
import { openSession } from '../transcript/session.ts';
import { nameIn, oneLine } from '../transcript/session-name.ts';
import type { App } from './compose.ts';
import { rootBeside } from './first-start.ts';

export interface Whose {
  /** A project by where it lies, a store by its name, else the directory. */
  name: string;
  /** The one repository, or directory, that its sessions ran in; null: none, or several. */
  root: string | null;
  command(what: string): string;
}

/** What a memory is called where it is named: its directory, or, without one, its id. */
export function placeOf({ dir, id }: Pick<MemoryRow, 'dir' | 'id'>): string {
  return dir ?? id;
}

/** Those of projects and of the user that are in use here, and hold something. */
export async function memoriesHere(app: App, has = HAS_SOMETHING): Promise<MemoryRow[]> {
  // One whose directory was moved here is found by it.
  await app.findMemory().catch(onAppError(() => null, 'settings'));
  const rows = await app.db.all<MemoryRow>(
    `select * from memory where deleted_at is null and scope <> 'store' and (machine is null or machine = ?)
       and ${has} order by name, id`,
    app.machine,
  );
  return Promise.all(rows.filter(({ dir }) => dir === null || isDirectory(dir)).map(({ id }) => app.memories.of(id)));
}

/** Memories that look like the project one stands in. `isAsked`: see `sameProjects`. */
export async function sameHere(app: App, { isAsked = false } = {}): Promise<SameProject[]> {
  const { config, db, machine } = app;
  const cwd = process.cwd();
  if (!isByProject(config)) return [];
  const [own, place] = [await app.findMemory({ cwd }), canonicalPath(app.memoryDirOf({ cwd }))];
  return sameProjects(db, { own, machine, place, isAsked, cwd });
}

/** The same, as a person is told; undefined: there is none. */
export async function sayHere(app: App): Promise<string | undefined> {
  const found = await sameHere(app);
  return found.length === 0 ? undefined : saySame(found, app.config).replace(/^t/, 'T');
}

export async function whoseMemory(
  app: Pick<App, 'config' | 'db' | 'memoryDirOf' | 'findMemory'>,
  memory: MemoryRow,
): Promise<Whose> {
  const { config, db } = app;
  const rows = await db.all<{ cwd: string }>(
    'select distinct cwd from session where memory = ? and cwd is not null order by cwd',
    memory.id,
  );
  const told = rows.map(({ cwd }) => gitRoot(cwd) ?? cwd);
  // After a restore no row tells of its sessions.
  const beside = told.length === 0 && memory.dir !== null ? await rootBeside(config, memory.dir) : null;
  const all = [...new Set(beside === null ? told : [beside])];
  // A checkout that was moved is known by where it is now.
  const standing = all.filter(isDirectory);
  const keeps = async (cwd: string) => {
    const isTold =
      isDirectory(cwd) &&
      attempt(
        () => app.memoryDirOf({ cwd }) !== '',
        () => false,
        'settings',
      );
    return isTold && (await app.findMemory({ cwd }))?.id === memory.id;
  };
  const cwd = process.cwd();
  const isHere = await keeps(cwd);
  const isMoved = standing.length === 0 && all.length > 0 && isHere && isByProject(config);
  const roots = isMoved ? [gitRoot(cwd) ?? cwd] : standing.length > 0 ? standing : all;
  const root = roots.length === 1 ? (roots[0] ?? null) : null;
  if (memory.scope === 'user') return { name: 'all your projects', root, command: (what) => `${what} --scope user` };
  const name = memory.scope === 'store' ? memory.name : fromHome(root ?? memory.dir ?? memory.name, config);
  if (isHere) return { name, root, command: (what) => what };
  if (root !== null && (await keeps(root)))
    return { name, root, command: (what) => `cd ${shellPath(root, config)} && ${what}` };
  return { name, root, command: (what) => `${what} --memory ${shellPath(placeOf(memory), config)}` };
}

const AGENTS: Record<string, string> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  gemini: 'Gemini CLI',
  copilot: 'Copilot CLI',
};

type Looking = Pick<App, 'db' | 'machine' | 'config'>;

export interface NamedSession {
  /** Null where nothing can be told. */
  name: string | null;
  /** `Tue 3 Nov, Codex, 273 kB` */
  about: string;
}

/** By the ids of their rows. Of two with one name each has its time. */
export async function namesOf(app: Looking, ids: readonly string[]): Promise<Map<string, NamedSession>> {
  const { db, config } = app;
  const rows = await allOf<SessionRow>(db, 'select * from session where id in (#)', [...new Set(ids)]);
  const found = await Promise.all(rows.map(async (row) => ({ row, name: await nameOf(app, row) })));
  const alike = Map.groupBy(found, ({ name }) => name);
  return new Map(
    found.map(({ row, name }) => {
      const at = row.modified_at ?? row.created_at;
      const isAlone = name === null || alike.get(name)?.length === 1;
      const about = [
        formatIn(at, config.zone, 'EEE d MMM yyyy'),
        AGENTS[row.format ?? ''] ?? row.format ?? 'sent here',
        ...(row.size === null ? [] : [`${Math.max(1, Math.round(row.size / 1_000))} kB`]),
      ].join(', ');
      return [row.id, { name: isAlone ? name : `${name} (${formatIn(at, config.zone, 'HH:mm')})`, about }];
    }),
  );
}

/** `session “Water the trees” (0d8c1a52)`. `id`: as its agent calls it. */
export async function saySession(app: Looking, id: string): Promise<string> {
  const row = await app.db.get<{ id: string }>('select id from session where name = ? order by created_at limit 1', id);
  const named = row && (await namesOf(app, [row.id])).get(row.id);
  const short = await shortId(app.db, 'session', id);
  return named?.name ? `session “${named.name}” (${short})` : `session ${short}`;
}

/** Who wrote a line that rests on nothing, and when it came, as far as that is known. */
export async function sayWriter({ db, config }: Looking, memory: string, line: ExplainedLine): Promise<string> {
  const { actor, at = '' } = (await versionBringing(db, memory, line)) ?? {};
  const by = actor && { external: 'edited outside nocturne', user: 'written by you' }[actor.kind as string];
  return by ? `${by}, ${sayWhen(at, config)}` : 'written by a person or by the main agent';
}

async function nameOf({ db, machine }: Looking, row: SessionRow): Promise<string | null> {
  const entries = await entriesAmong(db, row.memory, { column: 'session', of: [row.id] });
  const isWhole =
    row.redacted === null && !entries.some(({ reason, text }) => reason === 'forgotten' || text === REDACTED);
  if (isWhole && row.path !== null && row.machine === machine) {
    const name = await openSession(row.path, { id: row.name })
      .then(nameIn)
      .catch(onAppError(() => null));
    if (name !== null) return name;
  }
  const kept = entries.filter(({ state }) => state !== 'gone').sort((a, b) => a.at.localeCompare(b.at));
  const [first] = kept.flatMap(({ evidence }) => evidence.filter(({ by }) => by === undefined || by === 'human'));
  return oneLine(first?.quote ?? '');
}
