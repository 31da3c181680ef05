// Forget: something leaves the memory because a person says so, and is not learned again from the same source.
//
// 1. Hold the dream's lease: a dream under way would write down what it has read before.
// 2. Find what is meant, and all that goes with it. What may mean several things changes nothing.
// 3. Let the person confirm.
// 4. In one commit take the entries out of their logs, the lines and empty topics out of the memory, what links these
//    out of the index; keep the entries as tombstones. The versions stay, so that undo brings everything back.

import { AppError } from '../src/base/errors.ts';
import type { Clock } from '../src/base/time.ts';
import { dropProposalsAbout } from '../src/memory/dream/proposals.ts';
import { isInLog, writeEntry } from '../src/memory/ledger/entries.ts';
import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import type { FileChange, Store, WithLease } from '../src/memory/store/store.ts';
import { logPath, removeEntries } from '../src/memory/text/daily-log.ts';
import { removalOf } from './forget/remove-lines.ts';
import { type Candidate, type ForgetPlan, findCandidates, planOf, readRemembered, scopeOf } from './forget/targets.ts';

export interface ForgetRequest {
  /** A topic's name, an id of an entry, a line or a session, or a text that what is meant holds. */
  target: string;
  /** Take everything that a text may mean. */
  all?: boolean;
  /** Contract: nothing is changed unless it answers true. */
  confirm(plan: ForgetPlan): Promise<boolean>;
}

export interface ForgetDeps {
  store: Store;
  clock: Clock;
  withLease: WithLease;
}

export interface ForgetReport {
  /** All but `forgotten` changed nothing. */
  outcome: 'forgotten' | 'ambiguous' | 'unknown' | 'unconfirmed' | 'busy';
  /** Topic files that are gone. */
  topics: string[];
  lines: { path: string; id: string; text: string }[];
  /** `scope`: what was sent there is forgotten there, too. */
  entries: { id: string; day: string; text: string; scope?: 'user' }[];
  /** What it may mean, where that is not one thing. */
  candidates: Candidate[];
  /** With which it can be undone; null where nothing was changed. */
  job: string | null;
}

/** Contract: every planned ending is the report's `outcome`. */
export async function forget(request: ForgetRequest, deps: ForgetDeps): Promise<ForgetReport> {
  const report: ForgetReport = { outcome: 'busy', topics: [], lines: [], entries: [], candidates: [], job: null };
  // 1.
  await deps.withLease(deps.store, 'dream', async () => {
    await forgetWithLease(request, report, deps);
    return true;
  });
  return report;
}

async function forgetWithLease(request: ForgetRequest, report: ForgetReport, deps: ForgetDeps): Promise<void> {
  if (request.target.trim() === '') throw new AppError('bad-input', 'Say what to forget: a topic, an entry or a text.');
  // 2.
  const remembered = await readRemembered(deps.store);
  const candidates = findCandidates(request.target.trim(), remembered);
  if (candidates.length !== 1 && !(request.all && candidates.length > 0)) {
    report.outcome = candidates.length === 0 ? 'unknown' : 'ambiguous';
    report.candidates = candidates;
    return;
  }
  const plan = await planOf(candidates, { remembered, store: deps.store });
  report.topics = plan.topics;
  report.lines = plan.lines.map(({ path, id, text }) => ({ path, id, text }));
  report.entries = plan.entries.map((entry) => ({ id: entry.id, day: entry.day, text: entry.text, ...scopeOf(entry) }));
  // 3.
  if (!(await request.confirm(plan))) {
    report.outcome = 'unconfirmed';
    return;
  }
  // 4.
  report.job = await commitPlan(plan, deps);
  report.outcome = 'forgotten';
}

async function commitPlan(plan: ForgetPlan, { store, clock }: ForgetDeps): Promise<string> {
  let job = '';
  await store.commit({ actor: 'person' }, () => {
    const removal = removalOf({ lines: plan.lines, whole: plan.whole }, store);
    return {
      files: [...logChanges(plan), ...removal.files],
      rows(transaction) {
        removal.rows?.(transaction);
        job = enterPersonsJob(transaction, { kind: 'forget', outcome: 'forgotten', now: clock.now() });
        for (const entry of plan.entries) writeEntry(transaction, { ...entry, job, state: 'forgotten' });
        dropProposalsAbout(
          transaction,
          plan.entries.map(({ id }) => id),
        );
        for (const entry of plan.again) writeEntry(transaction, { ...entry, state: 'new' });
      },
    };
  });
  return job;
}

/** A log of which only the heading is left is no file. */
function logChanges({ entries }: ForgetPlan): FileChange[] {
  return [...Map.groupBy(entries.filter(isInLog), (entry) => entry.day)].map(([day, rows]) => ({
    path: logPath(day),
    change(current) {
      const left = removeEntries(current ?? '', new Set(rows.map((entry) => entry.id)), day);
      return left.trim() === '' || left.trim() === `# ${day}` ? null : left;
    },
  }));
}
