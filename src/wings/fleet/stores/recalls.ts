// What recall leaves of a store in the database: how often topics were shown and used, and what each session was given. Rows
// beside the store, written through: no recall makes a revision.
// Promises: uses are kept by the memory's id, so a rename takes them along; what a session was given goes with the check-in that
// forgets or redacts something, and is not noted while a change is under way, nor from a copy of before it. Who reads uses in a
// copy reads a temporary table that hides the ledger's, and adds to it what was noted since it was moved here.

import type { Scrub } from '../../../memory/history/redact/scrub.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { KEPT_DAYS, type RecallRows, timesForgotten } from '../../../memory/recall/recall-uses.ts';
import type { Ask } from '../postgres.ts';

interface UseRow {
  memory: string;
  shown: number;
  shownAt: string | null;
  used: number;
  usedAt: string | null;
}

export class DatabaseRecallRows implements RecallRows {
  readonly #ask: Ask;
  readonly #store: string;
  readonly #ledger: () => Ledger;
  #uses: UseRow[] = [];

  constructor(ask: Ask, { store, ledger }: { store: string; ledger: () => Ledger }) {
    this.#ask = ask;
    this.#store = store;
    this.#ledger = ledger;
  }

  async before({ session, request }: { session: string; request: string }): Promise<string | null> {
    const sql = 'select text from recalled where store = $1 and session = $2 and request = $3';
    return (await this.#ask<{ text: string }>(sql, [this.#store, session, request]))[0]?.text ?? null;
  }

  async remember({ session, request, text, now }: Parameters<RecallRows['remember']>[0]): Promise<void> {
    const oldest = new Date(now.getTime() - KEPT_DAYS * 86_400_000).toISOString();
    // Locked, so that who takes the store to change it comes after it and drops it, or before it and keeps it out.
    await this.#ask(
      `with old as (delete from recalled where store = $1 and at < $6), now as materialized (
         select id from store where id = $1 and forgotten <= $7 and (owner is null or until < clock_timestamp()) for share)
       insert into recalled select id, $2, $3, $4, $5 from now
       on conflict (store, session, request) do update set text = excluded.text, at = excluded.at`,
      [this.#store, session, request, text, now.toISOString(), oldest, timesForgotten(this.#ledger())],
    );
  }

  async drop(session: string): Promise<void> {
    await this.#ask('delete from recalled where store = $1 and session = $2', [this.#store, session]);
  }

  async use({ shown = [], used = [], now }: Parameters<RecallRows['use']>[0]): Promise<void> {
    const ids = (paths: string[]) =>
      paths.flatMap(
        (path) => this.#ledger().get<{ id: string }>('select id from memory where path = ?', path)?.id ?? [],
      );
    const [ofShown, ofUsed] = [ids(shown), ids(used)];
    const all = [...new Set([...ofShown, ...ofUsed])];
    if (all.length === 0) return;
    await this.#ask(
      `insert into topic_use as had
         select $1, id, (id = any($3::text[]))::int, case when id = any($3) then $5::text end,
           (id = any($4::text[]))::int, case when id = any($4) then $5::text end
         from unnest($2::text[]) as given (id) order by id
       on conflict (store, memory) do update set
         shown = had.shown + excluded.shown, shown_at = coalesce(excluded.shown_at, had.shown_at),
         used = had.used + excluded.used, used_at = coalesce(excluded.used_at, had.used_at)`,
      [this.#store, all, ofShown, ofUsed, now.toISOString()],
    );
  }

  /** Reads what was noted until now, for who looks at uses in the copy. */
  async bring(): Promise<void> {
    this.#uses = await usesOf(this.#ask, this.#store);
    const ledger = this.#ledger();
    ledger.deriving(() => fillUses(ledger, this.#uses));
  }

  /** What each connection to a copy has of its own. */
  furnish(ledger: Ledger): void {
    makeUses(ledger, this.#uses);
  }
}

/** Writes the uses of a store into the ledger of the directory that it was moved to. */
export async function moveUses(
  ask: Ask,
  { store, copy, to }: { store: string; copy: Ledger; to: Ledger },
): Promise<void> {
  const uses = await usesOf(ask, store);
  copy.deriving(() => makeUses(copy, uses));
  const rows = copy.all('select * from temp.topic_use');
  to.transaction(() => {
    for (const row of rows) to.replace('topic_use', row);
  });
}

function usesOf(ask: Ask, store: string): Promise<UseRow[]> {
  return ask(`select memory, shown, shown_at as "shownAt", used, used_at as "usedAt" from topic_use where store = $1`, [
    store,
  ]);
}

function makeUses(ledger: Ledger, uses: UseRow[]): void {
  ledger.run(`create temp table topic_use (path text primary key, shown integer not null, shown_at text,
    used integer not null, used_at text)`);
  fillUses(ledger, uses);
}

/** Makes the temporary table hold the uses of the ledger, and what was noted beside it. */
function fillUses(ledger: Ledger, uses: UseRow[]): void {
  ledger.run('delete from temp.topic_use');
  ledger.run(`insert into temp.topic_use select path, shown, shown_at, used, used_at from main.topic_use`);
  for (const { memory, shown, shownAt, used, usedAt } of uses) {
    ledger.run(
      `insert into temp.topic_use (path, shown, shown_at, used, used_at)
         select path, ?, ?, ?, ? from main.memory where id = ? and path is not null
       on conflict (path) do update set shown = shown + excluded.shown, used = used + excluded.used,
         shown_at = coalesce(max(shown_at, excluded.shown_at), shown_at, excluded.shown_at),
         used_at = coalesce(max(used_at, excluded.used_at), used_at, excluded.used_at)`,
      ...[shown, shownAt, used, usedAt, memory],
    );
  }
}

/** Drops what a session was given that holds a match; answers how many there were. */
export async function scrubRecalled(
  ask: Ask,
  { store, scrub, isDry }: { store: string; scrub: Scrub; isDry: boolean },
): Promise<number> {
  const given = await ask<{ session: string; request: string; text: string }>(
    'select session, request, text from recalled where store = $1',
    [store],
  );
  const found = given.filter(({ text }) => scrub.isIn(text));
  for (const { session, request } of isDry ? [] : found) {
    await ask('delete from recalled where store = $1 and session = $2 and request = $3', [store, session, request]);
  }
  return found.length;
}
