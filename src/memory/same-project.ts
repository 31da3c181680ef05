// Whether a checkout is of a project that is remembered already under another path: after a move, in a clone, on another machine. It is
// only ever offered: by the first commit and the remote where both are known of both, else by what is; where one differs, with that doubt.
// Nothing is joined here (jobs/carry.ts does, when a person says so).

import type { Config } from '../base/config/config.ts';
import { keepSetting, type Sql, settingOf } from '../db/sql.ts';
import type { MemoryRow } from './memories.ts';
import { gitRoot } from './paths.ts';
import { type Origin, originAsText, originBy, originFrom, originLike } from './projects.ts';

export interface SameProject {
  memory: MemoryRow;
  /** The checkout in which it learned last; null: not known. */
  root: string | null;
  /** What both have in common, and where they differ, as part of a sentence. */
  why: string;
}

/** Keeps by what the project of a memory is known again. Git is asked once, and again when the repository gets a remote. */
export async function noteOrigin(
  sql: Sql,
  { id, origin }: MemoryRow,
  { root, config }: { root: string; config: Pick<Config, 'environment'> },
): Promise<void> {
  const known = originFrom(origin);
  if (origin !== null && known.remote !== '') return;
  const found = await originBy(root, config.environment);
  const text = originAsText({ remote: found.remote, first: known.first || found.first });
  if (text !== null && text !== origin) await sql.run('update memory set origin = ? where id = ?', text, id);
}

/** Why they look like one project; null: they do not. */
function whySame(one: Origin, other: Origin): string | null {
  const isKnown = (of: keyof Origin) => one[of] !== '' && other[of] !== '';
  const isSame = (of: keyof Origin) => isKnown(of) && one[of] === other[of];
  if (isSame('remote') && isSame('first')) return 'the same remote and first commit';
  if (isSame('remote')) return isKnown('first') ? 'the same remote, but another first commit' : 'the same remote';
  if (!isSame('first')) return null;
  return isKnown('remote') ? 'the same first commit, but another remote: perhaps a fork' : 'the same first commit';
}

type Place = { machine: string; place: string };

const apartKey = ({ machine, place }: Place) => `apart ${machine} ${place}`;

/** A person said that what is remembered for this directory is a project of its own. */
export function keepApart(sql: Sql, at: Place): Promise<void> {
  return keepSetting(sql, apartKey(at), '1');
}

/**
 * The memories that look like the project of a checkout, the oldest first. `isAsked`: a person asks; else only those that were there
 * before its own (`own`), and none where a person decided already.
 */
export async function sameProjects(
  sql: Sql,
  { own, isAsked = false, cwd, ...at }: Place & { own: MemoryRow | null; isAsked?: boolean; cwd: string },
): Promise<SameProject[]> {
  const rows = await sql.all<MemoryRow>(
    `select * from memory where scope = 'project' and tenant = '' and deleted_at is null and archived_at is null
       and origin is not null and id <> ? and created_at < ? order by created_at, id`,
    ...[own?.id ?? '', (!isAsked && own?.created_at) || '9'],
  );
  if (rows.length === 0 || (!isAsked && (await settingOf(sql, apartKey(at))) !== undefined)) return [];
  const known = !isAsked && own?.origin ? originFrom(own.origin) : null;
  const found: SameProject[] = [];
  for (const memory of rows) {
    const other = originFrom(memory.origin);
    const why = whySame(known ?? (await originLike(cwd, other)), other);
    if (why !== null) found.push({ memory, why, root: await checkoutOf(sql, memory) });
  }
  return found;
}

async function checkoutOf(sql: Sql, { id }: MemoryRow): Promise<string | null> {
  const last = 'select cwd from session where memory = ? and cwd is not null order by created_at desc, id limit 1';
  const cwd = (await sql.get<{ cwd: string }>(last, id))?.cwd;
  return cwd === undefined ? null : (gitRoot(cwd) ?? cwd);
}

/** That they look like one, as a sentence without its stop; `userDir`: which `~` stands for. */
export function saySame([first, ...others]: readonly SameProject[], { userDir }: Pick<Config, 'userDir'>): string {
  if (!first) return '';
  const name = first.memory.name.replace(/[<>\p{Cc}]/gu, '');
  const place = first.root ?? first.memory.dir ?? first.memory.id;
  const at = (place.startsWith(`${userDir}/`) ? `~${place.slice(userDir.length)}` : place).replace(/[<>\p{Cc}]/gu, '');
  const more = others.length === 0 ? '' : `, or one of ${others.length} more`;
  return `this looks like ${name}, remembered at ${at} (${first.why})${more}`;
}
