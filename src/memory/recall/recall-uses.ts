// What recall leaves in the ledger: which topics were shown and used, and what each session was given. No Markdown
// file is touched. A topic is used when somebody asked for it: by a query that it matched, or by opening it. What is known of
// one follows its file to another name, by whomever it is renamed (a trigger on the memory's path, in schema.ts).

import type { Ledger } from '../ledger/ledger.ts';

/** What a session was given is kept so long. */
const KEPT_DAYS = 30;

interface TopicUse {
  /** In how many recalls it stood. */
  shown: number;
  shownAt: string | null;
  used: number;
  usedAt: string | null;
}

/** How the topics were used, by path; a topic that never was is not in it. */
export function topicUses(ledger: Ledger): Map<string, TopicUse> {
  const rows = ledger.lists('select path, shown, shown_at, used, used_at from topic_use');
  return new Map(
    (rows as [string, number, string | null, number, string | null][]).map(([path, shown, shownAt, used, usedAt]) => [
      path,
      { shown, shownAt, used, usedAt },
    ]),
  );
}

export function rememberUses(ledger: Ledger, uses: { shown?: string[]; used?: string[]; now: Date }): void {
  const at = uses.now.toISOString();
  ledger.transaction(() => {
    for (const column of ['shown', 'used'] as const) {
      for (const path of uses[column] ?? []) {
        ledger.run(
          `insert into topic_use (path, shown, used, ${column}_at) values (?, ?, ?, ?)
           on conflict (path) do update set ${column} = ${column} + 1, ${column}_at = excluded.${column}_at`,
          path,
          column === 'shown' ? 1 : 0,
          column === 'used' ? 1 : 0,
          at,
        );
      }
    }
  });
}

/** What a session was given for the same request, or null. */
export function recalledBefore(ledger: Ledger, given: { session: string; request: string }): string | null {
  const row = ledger.get('select text from recalled where session = ? and request = ?', given.session, given.request);
  return (row?.text as string | undefined) ?? null;
}

/** All that a session was given and, as far as is known, still has. */
export function recalledTexts(ledger: Ledger, session: string): string[] {
  return ledger.all<{ text: string }>('select text from recalled where session = ?', session).map(({ text }) => text);
}

export function rememberRecalled(
  ledger: Ledger,
  given: { session: string; request: string; text: string; now: Date },
): void {
  const oldest = new Date(given.now.getTime() - KEPT_DAYS * 86_400_000).toISOString();
  ledger.transaction(() => {
    ledger.run('delete from recalled where at < ?', oldest);
    ledger.run(
      'insert or replace into recalled (session, request, text, at) values (?, ?, ?, ?)',
      given.session,
      given.request,
      given.text,
      given.now.toISOString(),
    );
  });
}

/** A session begins anew: after `/clear` or `/compact` it no longer has what it was given. */
export function dropRecalled(ledger: Ledger, session: string): void {
  ledger.run('delete from recalled where session = ?', session);
}

/** How often something was forgotten or redacted here: what was recalled before that is not to be given again. */
export function timesForgotten(ledger: Ledger): number {
  return ledger.get('select times from forgetting')?.times as number;
}
