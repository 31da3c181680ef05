// What goes on over all known memory directories: what was learned, what waits, what failed, when something last
// succeeded, and what needs a person.

import { ruleOf } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { longUnplaced } from '../../../memory/dream/habits.ts';
import { countWaiting } from '../../../memory/dream/proposals.ts';
import type { BreakerState } from '../../../memory/home/breaker.ts';
import { formatUnreadSpend } from '../../../memory/home/day-spend.ts';
import { formatDamage } from '../../../memory/home/home.ts';
import { type LearnedEntry, learnedSince } from '../../../memory/ledger/entries.ts';
import { lastSuccessAt } from '../../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import type { App } from '../../compose.ts';
import { type DreamHold, dreamHolds } from '../../worker/hold.ts';
import { eachLedger, knownWork } from '../../worker/known-work.ts';
import { type Whose, whoseMemory } from './words.ts';

/** What waits for a person, as a sentence without its stop, and the command that deals with it from here. */
export interface Need {
  text: string;
  command?: string;
  /** What work failed with, so that it is not told of each. */
  cause?: string;
}

/** What sessions taught a directory since an instant, the newest first. */
export interface Learned {
  store: string;
  whose: Whose;
  entries: LearnedEntry[];
}

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
  /** The same for a person who may stand anywhere. */
  needs: Need[];
  learned: Learned[];
}

/** `here`: the directory that is told of elsewhere, so that what is of it alone is not said twice. */
export async function readOverview(
  app: App,
  { here, since = new Date(0).toISOString() }: { here?: string; since?: string } = {},
): Promise<Overview> {
  const { config } = app;
  const all: Overview = {
    directories: 0,
    lastSuccessAt: null,
    pending: 0,
    oldestPending: null,
    failures: {},
    failed: [],
    proposals: 0,
    attention: [],
    needs: [],
    learned: [],
  };
  const needed = new Map<string, { count: number; message: string }>();
  const reviews: Need[] = [];
  const tell = (attention: string, need: Need) => {
    all.attention.push(attention);
    all.needs.push(need);
  };
  const look = (ledger: Ledger, store: string) => {
    all.directories += 1;
    const whose = whoseMemory({ dir: store, ledger }, config);
    const entries = learnedSince(ledger, since);
    if (entries.length > 0) all.learned.push({ store, whose, entries });
    const proposals = countWaiting(ledger);
    all.proposals += proposals;
    if (proposals > 0) {
      all.attention.push(`proposed changes wait for your word in ${store}: ${proposals} (nocturne review)`);
      const command = whose.command('nocturne review');
      const isHere = command === 'nocturne review';
      // What waits where one stands comes first.
      reviews[isHere ? 'unshift' : 'push']({
        text: `${sayCount(proposals, 'proposed change')} in ${whose.name} ${proposals === 1 ? 'waits' : 'wait'} for your word`,
        command,
      });
    }
    const holds = store === here ? [] : dreamHolds(app, ledger);
    all.needs.push(...holds.filter(({ needsPerson }) => needsPerson).map((hold) => holdNeed(hold, whose)));
    const stuck = longUnplaced(ledger);
    const [first] = stuck;
    if (first) {
      const what = `${sayCount(stuck.length, 'entry')} found no place in the topics of ${store} for ${first.nights} nights`;
      tell(`${what}, ${first.entry} since ${first.since.slice(0, 10)}: ${first.reason}`, {
        text: `${sayCount(stuck.length, 'entry')} of ${whose.name} found no place in its topics for ${first.nights} nights: ${first.reason}`,
        command: whose.command(`nocturne why ${shortId(ledger, 'entry', first.entry)}`),
      });
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
  for (const { dir, message } of unreadable) {
    const text = `${dir}: ${message}`;
    tell(text, { text, command: whoseMemory({ dir, ledger: null }, config).command('nocturne check --repair') });
  }
  const breaker = app.home.breaker.read();
  for (const [code, { count, message }] of needed) {
    all.attention.push(`${code}, ${count} waiting: ${message}`);
    const text = `${sayCount(count, 'job')} ${count === 1 ? 'waits' : 'wait'}: ${message}`;
    // Else it is said of the model.
    const isOfModel = breaker.state !== 'closed' && code === breaker.code;
    if (!isOfModel) all.needs.push({ text, command: 'nocturne doctor', cause: message });
  }
  for (const [reason, paths] of Map.groupBy(app.home.blocked.all(), (each) => each.reason)) {
    const text = `${sayCount(paths.length, 'session')} could not be taken yet`;
    const unread = config.agentMemory.settings.problem;
    // Where the agent's settings are what keeps them, that is said already.
    const why = unread && reason.includes(config.agentMemory.settings.path) ? ', for the same reason' : `: ${reason}`;
    tell(`${text}: ${reason}`, { text: `${text}${why}`, command: 'nocturne doctor' });
  }
  const damage = app.home.damage();
  if (damage) tell(formatDamage(damage), { text: formatDamage(damage), command: 'nocturne pause --off' });
  const unread = app.home.days.unreadDay();
  if (unread) tell(formatUnreadSpend(unread), { text: formatUnreadSpend(unread), command: 'nocturne retry --failed' });
  if (breaker.state !== 'closed') {
    const next = breaker.state === 'open' ? `it is asked again ${breaker.until}` : 'the next job asks it again';
    tell(sayBreaker(breaker), {
      text: `The model could not be asked ${sayCount(breaker.failures, 'time')} in a row; ${next}: ${breaker.reason}`,
      command: 'nocturne doctor',
      cause: breaker.reason ?? undefined,
    });
  }
  for (const [, [first, ...others]] of Map.groupBy(all.failed, ({ code, kind }) => `${code} ${kind}`)) {
    if (!first) continue;
    const what = first.kind === 'extract' ? sayCount(1 + others.length, 'session') : 'A dream';
    const text = `${what} could not be ${first.kind === 'extract' ? 'learned from' : 'done'}: ${first.message}`;
    all.needs.push({ text, command: 'nocturne retry --failed' });
  }
  if (all.failed.length > 0) {
    all.attention.push(
      `${all.failed.length} given up: nocturne why SESSION says why, nocturne retry --failed tries again, with --dismiss it is forgotten`,
    );
  }
  all.needs.push(...reviews);
  return all;
}

/** `whose`: of a directory one does not stand in. */
export function holdNeed({ why }: DreamHold, whose?: Whose): Need {
  const command = `nocturne dream${why.includes('--accept-missing') ? ' --accept-missing' : ''}`;
  return { text: `No dream${whose ? ` in ${whose.name}` : ''}: ${why}`, command: whose?.command(command) ?? command };
}

export function sayBreaker({ state, failures, until, code, reason, skips }: BreakerState): string {
  if (state === 'closed') return failures === 0 ? 'closed' : `closed, ${failures} failures in a row`;
  const when = state === 'open' ? `tries again at ${until}` : 'one job tries now';
  return `the breaker is open after ${failures} failures in a row (${code}), ${when}; ${skips} turned away: ${reason}`;
}
