// Whose a session is, by its signs: the name of the home that it ran in, and the author that git told it. The user is who
// `userName` names, else whoever the memory's first session is of; somebody is someone else where no session has signs of both.
// Promises: a session without a sign is the user's.

import { hash } from 'node:crypto';
import { keepSetting, type Sql, settingOf } from '../db/sql.ts';
import type { TriedCall } from '../rules/lessons.ts';
import { isOfMachine } from './text/topic.ts';

const HOME = /^(?:[a-z]:|\/mnt\/[a-z]|\/var)?[\\/](?:users|home)[\\/]([^\\/]+)/i;

/** Whose home a directory is in, as its path says; undefined where it says nothing. */
export function homeName(dir: string | null | undefined): string | undefined {
  return HOME.exec(dir ?? '')?.[1];
}

/** Where a session ran; null where that is not known. */
export interface Ran {
  machine: string | null;
  cwd: string | null;
}

/** Whether that was on another machine than this, or in another home, as far as both are known. */
export function ranElsewhere({ machine, cwd }: Ran, here: { machine?: string; cwd?: string }): boolean {
  const isOther = (one: string | null | undefined, other: typeof one) => Boolean(one && other && one !== other);
  return isOther(machine, here.machine) || isOther(cwd && placeOf(cwd), here.cwd && placeOf(here.cwd));
}

/** Of what is in nobody's home the drive. */
const placeOf = (dir: string) => homeName(dir) ?? /^[a-z]:/i.exec(dir)?.[0] ?? 'none';

/** Whose line may be true of one machine, or of one person, alone: it says so, or names a home, a session or who made a commit. */
export const isOfOnePlace = (text: string) => isOfMachine(text) || OF_ONE.test(text);

const OF_ONE =
  /(?<![\w./~-])(?:[a-z]:\\Users\\|\/(?:Users|home)\/)\w|-by: [^<\n]{0,80}<[^>\s]+@|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/i;

const FIRST_SESSIONS = 20;
const keyOf = (memory: string) => `signs:${memory}`;
/** As signs are compared and kept: of an address no letter is. */
const plain = (sign: string) =>
  sign.includes('@') ? hash('sha256', sign.toLowerCase()).slice(0, 16) : sign.toLowerCase();

/** Signs that one session had, pair by pair. */
async function signPairs(sql: Sql, memory: string): Promise<string[][]> {
  return JSON.parse((await settingOf(sql, keyOf(memory))) ?? '[]');
}

/** Keeps that a session had both signs. */
export async function joinSigns(sql: Sql, memory: string, signs: string[]): Promise<void> {
  const pair = signs.map(plain);
  const known = await signPairs(sql, memory);
  if (known.some((each) => each.join() === pair.join())) return;
  await keepSetting(sql, keyOf(memory), JSON.stringify([...known, pair]));
}

/** Who the user of a memory is, by a name, and whose signs are not theirs. */
export async function userOf(sql: Sql, memory: string, userName: readonly string[] = []) {
  const rows = await sql.all<{ cwd: string }>(
    'select cwd from session where memory = ? and cwd is not null order by created_at, modified_at, id limit ?',
    ...[memory, FIRST_SESSIONS],
  );
  const first = rows.flatMap(({ cwd }) => homeName(cwd) ?? []).slice(0, 1);
  const names = userName.length > 0 ? userName : first;
  const own = new Set(names.map(plain));
  const pairs = await signPairs(sql, memory);
  // What is joined to one of theirs may join another.
  for (let before = -1; before < own.size; ) {
    before = own.size;
    for (const pair of pairs) if (pair.some((sign) => own.has(sign))) for (const sign of pair) own.add(sign);
  }
  const isUsers = (signs: readonly string[]) => own.size === 0 || signs.some((sign) => own.has(plain(sign)));
  /** Null: they are the user's, or there are none. */
  const otherBy = (signs: readonly string[]) => (isUsers(signs) ? null : (signs[0] ?? null));
  return { name: names[0], otherBy };
}

/** The address of the author that git told: asked for, or of a commit that the session made. */
export function authorIn(tried: readonly TriedCall[]): string | undefined {
  const made: string[] = [];
  for (const { act, result } of tried) {
    if (act.ended === 'failed') continue;
    if (/\bgit config (?:--\S+ )*user\.email$/.test(act.does)) return /^\S+@\S+$/.exec(result.text.trim())?.[0];
    for (const [, hash = ''] of result.text.matchAll(/^\[[^\]\n]* ([0-9a-f]{7,40})\] /gm)) made.push(hash);
    for (const [, commit = '', address] of result.text.matchAll(LOGGED))
      if (made.some((hash) => commit.startsWith(hash))) return address;
  }
  return undefined;
}

const LOGGED = /^commit ([0-9a-f]{40})\b.*\n(?:Merge: .*\n)?Author: .*<([^<>\n]+)>$/gm;
