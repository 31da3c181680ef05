// What goes on over all known memory directories: what waits, what failed, when something last succeeded, and what
// needs a person.

import { ruleOf } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { longUnplaced } from '../../../memory/dream/habits.ts';
import { countWaiting } from '../../../memory/dream/proposals.ts';
import type { BreakerState } from '../../../memory/home/breaker.ts';
import { formatUnreadSpend } from '../../../memory/home/day-spend.ts';
import { formatDamage } from '../../../memory/home/home.ts';
import { lastSuccessAt } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import type { App } from '../../compose.ts';
import { eachLedger, knownWork } from '../../worker/known-work.ts';

export interface Overview {
  directories: number;
  lastSuccessAt: string | null;
  pending: number;
  /** What waits longest. */
  oldestPending: { store: string; kind: string; key: string; notBefore: string } | null;
  /** Failures that wait for another try or were given up, by class. */
  failures: Record<string, number>;
  /** What was given up, and stays listed until somebody retries or dismisses it. */
  failed: { store: string; kind: string; key: string; code: string; class: string; at: string; message: string }[];
  /** What dreams proposed and waits for a person. */
  proposals: number;
  /** Sentences; none: nobody is needed. */
  attention: string[];
}

export async function readOverview(app: App): Promise<Overview> {
  const all: Overview = {
    directories: 0,
    lastSuccessAt: null,
    pending: 0,
    oldestPending: null,
    failures: {},
    failed: [],
    proposals: 0,
    attention: [],
  };
  const needed = new Map<string, { count: number; message: string }>();
  const look = (ledger: Ledger, store: string) => {
    all.directories += 1;
    const proposals = countWaiting(ledger);
    all.proposals += proposals;
    if (proposals > 0)
      all.attention.push(`proposed changes wait for your word in ${store}: ${proposals} (nocturne review)`);
    const stuck = longUnplaced(ledger);
    const [first] = stuck;
    if (first) {
      const what = `${sayCount(stuck.length, 'entry')} found no place in the topics of ${store} for ${first.nights} nights`;
      all.attention.push(`${what}, ${first.entry} since ${first.since.slice(0, 10)}: ${first.reason}`);
    }
    const success = lastSuccessAt(ledger);
    if (success && success > (all.lastSuccessAt ?? '')) all.lastSuccessAt = success;
    for (const { kind, key, item, failure } of knownWork(ledger)) {
      if (item) {
        all.pending += 1;
        if (!all.oldestPending || item.notBefore < all.oldestPending.notBefore) {
          all.oldestPending = { store, kind, key, notBefore: item.notBefore };
        }
      }
      if (!failure) continue;
      const rule = ruleOf(failure.code);
      all.failures[rule.class] = (all.failures[rule.class] ?? 0) + 1;
      const { code, at, message } = failure;
      if (failure.state === 'failed') all.failed.push({ store, kind, key, code, class: rule.class, at, message });
      else if (rule.needsPerson) needed.set(code, { count: (needed.get(code)?.count ?? 0) + 1, message });
    }
  };
  const unreadable = await eachLedger(app.home, { look });
  all.attention.push(...unreadable);
  for (const [code, { count, message }] of needed) all.attention.push(`${code}, ${count} waiting: ${message}`);
  for (const [reason, paths] of Map.groupBy(app.home.blocked.all(), (each) => each.reason)) {
    all.attention.push(`${sayCount(paths.length, 'session')} could not be taken yet: ${reason}`);
  }
  const damage = app.home.damage();
  if (damage) all.attention.push(formatDamage(damage));
  const unread = app.home.days.unreadDay();
  if (unread) all.attention.push(formatUnreadSpend(unread));
  const breaker = app.home.breaker.read();
  if (breaker.state !== 'closed') all.attention.push(sayBreaker(breaker));
  if (all.failed.length > 0) {
    all.attention.push(
      `${all.failed.length} given up: nocturne why SESSION says why, nocturne retry --failed tries again, with --dismiss it is forgotten`,
    );
  }
  return all;
}

export function sayBreaker({ state, failures, until, code, reason, skips }: BreakerState): string {
  if (state === 'closed') return failures === 0 ? 'closed' : `closed, ${failures} failures in a row`;
  const when = state === 'open' ? `tries again at ${until}` : 'one job tries now';
  return `the breaker is open after ${failures} failures in a row (${code}), ${when}; ${skips} turned away: ${reason}`;
}
