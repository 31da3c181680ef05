// How ids are shown to a person and taken from one: a prefix that means one thing in this ledger.
// Shown is the shortest such prefix, of at least eight characters behind the word that says what it is of (`job_`). Taken
// is any prefix of at least four, with that word or without it; one that may mean several is refused with what it may mean.
// JSON and files carry whole ids.

import { AppError } from '../../base/errors.ts';
import type { Ledger } from './ledger.ts';

/** Where the ids of a kind stand, each an index of its table; and what they begin with. */
const KINDS = {
  job: { word: 'job_', columns: [['job', 'id']] },
  version: { word: 'memver_', columns: [['version', 'id']] },
  entry: { word: 'e_', columns: [['entry', 'id']] },
  proposal: { word: 'prop_', columns: [['proposal', 'id']] },
  session: {
    word: '',
    columns: [
      ['session', 'id'],
      ['coverage', 'session'],
      ['job', 'session'],
      ['entry', 'session'],
    ],
  },
} as const;

type IdKind = keyof typeof KINDS;

const SHOWN = 8;
const TYPED = 4;
const MOST_NAMED = 10;
/** Behind every text that begins with the same. */
const LAST = '\u{10ffff}';

/** The shortest prefix of an id that means nothing else here. Without a ledger nothing else is known. */
export function shortId(ledger: Ledger | null, kind: IdKind, id: string): string {
  const { word } = KINDS[kind];
  const columns = ledger ? KINDS[kind].columns : [];
  const beside = columns.flatMap(([table, column]) => {
    const sql = `select (select max(${column}) from ${table} where ${column} < ?) as before,
      (select min(${column}) from ${table} where ${column} > ?) as behind`;
    return Object.values(ledger?.get(sql, id, id) ?? {});
  });
  const shared = beside.map((other) => sharedLength(id, String(other ?? '')));
  return id.slice(0, Math.max((id.startsWith(word) ? word.length : 0) + SHOWN, ...shared.map((length) => length + 1)));
}

/** The same of ids that may stand in several ledgers: the shortest prefixes that tell these apart. */
function shortApart(ids: string[]): string[] {
  return ids.map((id) => {
    const shared = ids.filter((other) => other !== id).map((other) => sharedLength(id, other));
    return id.slice(0, Math.max(SHOWN, ...shared.map((length) => length + 1)));
  });
}

/** Work in an inbox as a person knows it: an extraction by its session. */
export function shortKey(ledger: Ledger | null, { kind, key }: { kind: string; key: string }): string {
  const at = key.lastIndexOf('@');
  if (kind === 'extract' && at > 0) return `${kind} ${shortId(ledger, 'session', key.slice(0, at))}`;
  return key === kind ? kind : `${kind} ${key}`;
}

/** Who made a version, `job:…` by what its id begins with. */
export function shortActor(ledger: Ledger | null, actor: string): string {
  return actor.startsWith('job:job_') ? `job:${shortId(ledger, 'job', actor.slice(4))}` : actor;
}

/** The whole id that is meant, or undefined where nothing is called so. Throws `bad-input` where it may mean several. */
export function findId(ledger: Ledger, kind: IdKind, typed: string): string | undefined {
  const { word } = KINDS[kind];
  const begun = typed.startsWith(word) ? typed : `${word}${typed}`;
  const found = [...new Set([typed, begun])].flatMap((prefix) => idsFrom(ledger, kind, prefix));
  if (found.includes(typed)) return typed;
  const [first, ...others] = found;
  if (first === undefined || begun.length < word.length + TYPED) return undefined;
  if (others.length === 0) return first;
  const named = found.map((id) => shortId(ledger, kind, id));
  throw severalMeant(typed, kind, found, { named, count: found.length > MOST_NAMED ? 'many' : found.length });
}

/** What is wrong where a person's word may mean several; `named`: as they are told apart. */
export function severalMeant(
  typed: string,
  kind: IdKind,
  found: string[],
  { named = shortApart(found), count = found.length as number | string } = {},
): AppError {
  const more = found.length > MOST_NAMED ? ' …' : '';
  return new AppError('bad-input', `${JSON.stringify(typed)} may mean ${count} ${kind}s.`, {
    remedy: `Say which: ${named.slice(0, MOST_NAMED).join(', ')}${more}`,
  });
}

/** As `findId`; what is not known here is left as it was typed, for whoever knows more. */
export function wholeId(ledger: Ledger | null, kind: IdKind, typed: string): string {
  return (ledger && findId(ledger, kind, typed)) ?? typed;
}

function idsFrom(ledger: Ledger, kind: IdKind, prefix: string): string[] {
  const { columns } = KINDS[kind];
  const each = columns.map(
    ([table, column]) => `select ${column} as id from ${table} where ${column} >= ? and ${column} < ?`,
  );
  const sql = `select id from (${each.join(' union ')}) order by id limit ${MOST_NAMED + 1}`;
  return ledger.all<{ id: string }>(sql, ...columns.flatMap(() => [prefix, prefix + LAST])).map(({ id }) => id);
}

function sharedLength(a: string, b: string): number {
  let length = 0;
  while (length < a.length && a[length] === b[length]) length += 1;
  return length;
}
