// How ids are shown to a person and taken from one: shown is the shortest prefix that means one thing here, of at least eight
// characters behind the word that says what it is of (`job_`); taken is any of at least four, with that word or without it. JSON
// and files carry whole ids. A session goes by what its agent calls it.

import { AppError } from '../base/errors.ts';
import type { Sql } from '../db/sql.ts';

const KINDS = {
  job: { word: 'job_', select: 'select id from job' },
  version: { word: 'memver_', select: 'select id from version' },
  entry: { word: 'e_', select: 'select id from entry' },
  proposal: { word: 'prop_', select: 'select id from proposal' },
  session: { word: '', select: 'select name as id from session' },
} as const;

type IdKind = keyof typeof KINDS;

const SHOWN = 8;
const TYPED = 4;
const MOST_NAMED = 10;
/** Behind every text that begins with the same. */
const LAST = '\u{10ffff}';

/** The shortest prefix of an id that means nothing else here. */
export async function shortId(sql: Sql, kind: IdKind, id: string): Promise<string> {
  const { word, select } = KINDS[kind];
  const near = `select (select max(id) from (${select}) a where id < ?) as before, (select min(id) from (${select}) b where id > ?) as behind`;
  const beside = Object.values((await sql.get<Record<string, string | null>>(near, id, id)) ?? {});
  return shortened(id, word, beside);
}

/** The whole id that is meant, or undefined where nothing is called so. Throws `bad-input` where it may mean several. */
export async function findId(sql: Sql, kind: IdKind, typed: string): Promise<string | undefined> {
  const { word, select } = KINDS[kind];
  const begun = typed.startsWith(word) ? typed : `${word}${typed}`;
  const found = new Set<string>();
  for (const prefix of new Set([typed, begun])) {
    const from = `select distinct id from (${select}) a where id >= ? and id < ? order by id limit ${MOST_NAMED + 1}`;
    for (const { id } of await sql.all<{ id: string }>(from, prefix, prefix + LAST)) found.add(id);
  }
  if (found.has(typed)) return typed;
  const [first, ...others] = found;
  if (first === undefined || begun.length < word.length + TYPED) return undefined;
  if (others.length > 0) throw severalMeant(typed, kind, [...found]);
  return first;
}

/** As `findId`; what is not known here is left as it was typed, for whoever knows more. */
export async function wholeId(sql: Sql, kind: IdKind, typed: string): Promise<string> {
  return (await findId(sql, kind, typed)) ?? typed;
}

/** What is wrong where a person's word may mean several. */
export function severalMeant(typed: string, kind: IdKind, found: readonly string[]): AppError {
  const isMany = found.length > MOST_NAMED;
  const apart = found.map((id) => {
    const others = found.filter((other) => other !== id);
    return shortened(id, KINDS[kind].word, others);
  });
  return new AppError('bad-input', `${JSON.stringify(typed)} may mean ${isMany ? 'many' : found.length} ${kind}s.`, {
    remedy: `Say which: ${apart.slice(0, MOST_NAMED).join(', ')}${isMany ? ' …' : ''}`,
  });
}

function shortened(id: string, word: string, beside: readonly (string | null)[]): string {
  const shared = beside.map((other) => sharedLength(id, other ?? ''));
  return id.slice(0, Math.max((id.startsWith(word) ? word.length : 0) + SHOWN, ...shared.map((length) => length + 1)));
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
