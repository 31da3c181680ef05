// Paths as clients write them, `/notes/a.md`, and as the store does, `notes/a.md`; and which memory stands in the way of one.
// Promises: what a disk cannot hold apart is refused, by 400 where the path itself cannot be, by 409 where another memory
// is in its way: the same path, one that differs in letter case only, a file where a directory would be, or the reverse.

import { isAppError } from '../../../base/errors.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { confine, whyNoMemory } from '../../../memory/store/confine.ts';
import { ApiError } from '../api-errors.ts';

/** Heads that stand: a file that is there, not one of nocturne's own. */
export const STANDING = `memory.path is not null and memory.path not like '.%' and version.sha is not null
  and memory.missing_since is null`;

const CONFLICTS = `select memory.id, memory.path from memory join version on version.id = memory.head where ${STANDING}`;

interface Conflict {
  id: string | null;
  path: string;
}

/** The store's own path. Throws 400 for one that cannot be. */
export function storePath(path: string): string {
  const problem = problemOf(path);
  if (problem === null) return path.slice(1);
  throw new ApiError('invalid_request_error', `path: ${problem}.`);
}

function problemOf(path: string): string | null {
  if (!path.startsWith('/')) return 'it must begin with "/"';
  if (path.normalize('NFC') !== path) return 'it is not in Unicode normalisation form C';
  return whyNoMemory(path.slice(1));
}

/** Throws 409 where another memory than `own` is in the way of a path. Belongs inside a commit. */
export function refuseConflict(
  path: string,
  { ledger, dir, own }: { ledger: Ledger; dir: string; own?: string },
): void {
  const found = conflictOf(path, { ledger, dir });
  if (!found || (found.id === own && found.path === path)) return;
  throw pathConflict(found);
}

export function pathConflict({ id, path }: Conflict): ApiError {
  return new ApiError('memory_path_conflict_error', `A memory stands at /${path} already.`, {
    more: { ...(id !== null && { conflicting_memory_id: id }), conflicting_path: `/${path}` },
  });
}

/** A deleted memory gives up its path: what is made there is another one. Belongs inside a commit. */
export function freePath(path: string, ledger: Ledger): void {
  ledger.run(
    `update memory set path = null where path = ?
       and exists (select 1 from version where version.id = memory.head and version.sha is null)`,
    path,
  );
}

function conflictOf(path: string, { ledger, dir }: { ledger: Ledger; dir: string }): Conflict | null {
  const names = path.split('/');
  const above = names.map((_, at) => names.slice(0, at + 1).join('/'));
  const at = ledger.get<{ id: string; path: string }>(
    `${CONFLICTS} and memory.path in (select value from json_each(?)) order by length(memory.path) limit 1`,
    JSON.stringify(above),
  );
  return at ?? firstBelow(path, ledger) ?? otherSpelling(path, { ledger, dir });
}

function firstBelow(path: string, ledger: Ledger): Conflict | null {
  const sql = `${CONFLICTS} and memory.path > ? and memory.path < ? order by memory.path limit 1`;
  return ledger.get<{ id: string; path: string }>(sql, `${path}/`, `${path}0`) ?? null;
}

/** What the directory has under another letter case, or that no memory is. */
function otherSpelling(path: string, { ledger, dir }: { ledger: Ledger; dir: string }): Conflict | null {
  let place: ReturnType<typeof confine>;
  try {
    place = confine(dir, path);
  } catch (error) {
    // The name of a file stands where a directory would have to be.
    if (isAppError(error, 'bad-input')) throw new ApiError('invalid_request_error', `path: ${error.message}`);
    throw error;
  }
  if (place.path === path && place.kind !== 'directory') return null;
  const there = ledger.get<{ id: string; path: string }>(`${CONFLICTS} and memory.path = ?`, place.path);
  if (there) return there;
  const names = path.split('/');
  const spelled = place.path.split('/');
  const differs = spelled.slice(0, spelled.findIndex((name, at) => name !== names[at]) + 1).join('/') || place.path;
  return firstBelow(differs, ledger) ?? { id: null, path: place.path };
}
