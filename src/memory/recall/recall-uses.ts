// What recall leaves in the ledger: which topics were shown and used, and what each session was given. No Markdown
// file is touched. A topic is used when someone asked for it: by a query that it matched, or by opening it. What is known of
// one follows its file to another name, by whomever it is renamed (a trigger on the memory's path, in schema.ts).

import type { Ledger } from '../ledger/ledger.ts';

/** What a session was given is kept so long. */
export const KEPT_DAYS = 30;

export interface TopicUse {
  /** In how many recalls it stood. */
  shown: number;
  shownAt: string | null;
  used: number;
  usedAt: string | null;
}

/** What recall leaves of a memory, wherever its rows are. */
export interface RecallRows {
  /** What a session was given for the same request, or null. */
  before(given: { session: string; request: string }): Promise<string | null>;
  remember(given: { session: string; request: string; text: string; now: Date }): Promise<void>;
  /** A session starts over: it no longer has what it was given. */
  drop(session: string): Promise<void>;
  /** `shown` and `used` are paths of topics. */
  use(uses: { shown?: string[]; used?: string[]; now: Date }): Promise<void>;
}

export function recallRowsOf(ledger: Ledger): RecallRows {
  return {
    async before({ session, request }) {
      const sql = 'select text from recalled where session = ? and request = ?';
      return ledger.get<{ text: string }>(sql, session, request)?.text ?? null;
    },
    remember: async (given) => rememberRecalled(ledger, given),
    use: async (uses) => rememberUses(ledger, uses),
    async drop(session) {
      ledger.deriving(() => ledger.run('delete from recalled where session = ?', session));
    },
  };
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

export function rememberUses(ledger: Ledger, uses: Parameters<RecallRows['use']>[0]): void {
  const at = uses.now.toISOString();
  ledger.deriving(() => {
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

/** All that a session was given and, as far as is known, still has. */
export function recalledTexts(ledger: Ledger, session: string): string[] {
  return ledger.all<{ text: string }>('select text from recalled where session = ?', session).map(({ text }) => text);
}

export function rememberRecalled(ledger: Ledger, { now, ...given }: Parameters<RecallRows['remember']>[0]): void {
  const oldest = new Date(now.getTime() - KEPT_DAYS * 86_400_000).toISOString();
  ledger.deriving(() => {
    ledger.run('delete from recalled where at < ?', oldest);
    ledger.replace('recalled', { ...given, at: now.toISOString() });
  });
}

/** How often something was forgotten or redacted here: what was recalled before that is not to be given again. */
export const timesForgotten = (ledger: Ledger) => ledger.get('select times from forgetting')?.times as number;
