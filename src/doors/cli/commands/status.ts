// status: what `nocturne` alone shows, by exit code whether a person is needed; with --verbose what is kept, what
// waits, what failed, what was spent, who works.

import { sayCount } from '../../../base/text/wording.ts';
import type { CommandSpec } from '../spec.ts';
import { type CommonOptions, MEMORY, withApp } from '../terminal/options.ts';
import { EXIT, print } from '../terminal/output.ts';
import { sayBreaker } from '../terminal/overview.ts';
import { readStatus, type Status } from '../terminal/status-facts.ts';
import { showHome } from './home.ts';

const status: CommandSpec<CommonOptions & { verbose?: boolean }> = {
  name: 'status',
  about: 'what was learned, waits and costs; as nocturne alone',
  group: 'Jobs and numbers',
  options: [
    ['--verbose', 'what is kept, waits, failed, was spent and who works, with the ids and times of logs'],
    ...MEMORY,
  ],
  json: '{ memory, standing, attention, needs, lookedAt, learned, entries, turns, missing, dreamHolds, topics, oversized, index, snapshot, waiting, batch, withoutWing, outbox, skipped, lastJobs, all, breaker, spendToday, spendMonth, nextDreamAt, workers }',
  more: 'Exit code 3 where something needs a person: a key, a budget, an open breaker, work that was given up, missing files, proposed changes that wait.',
  examples: ['status', 'status --json'],
  run: (call) =>
    withApp(call, async (app) => {
      const found = await readStatus(app);
      const { added, addedLines: _, addedNeeds: __, learned, ...own } = found;
      const counts = learned.map(({ store: memory, whose, entries }) => {
        return { memory, project: whose.name, entries: entries.length };
      });
      if (!call.options.json && !call.options.verbose) return showHome(app, found);
      print(call.options.json ? JSON.stringify({ ...own, learned: counts, ...added }) : describe(found));
      if (found.attention.length > 0) process.exitCode = EXIT.attention;
    }),
};

function describe(status: Status): string {
  const { all, spendToday: spend } = status;
  const jobs = status.lastJobs.map(
    (job) =>
      `  ${job.createdAt} ${job.id} ${job.kind} ${job.outcome ?? job.status}${job.error ? `: ${job.error}` : ''}`,
  );
  const waiting = status.waiting.map(
    (item) => `  ${item.kind} ${item.key} from ${item.notBefore}${item.failure ? `: ${item.failure}` : ''}`,
  );
  const oldest = all.oldestPending;
  const usd = (amount: number) => `$${amount.toFixed(4)}`;
  const full = spend.fullFrom ? `; full since ${spend.fullFrom}, ${spend.skips} turned away` : '';
  return [
    ...status.attention.map((reason) => `attention  ${reason}`),
    `memory     ${status.memory}`,
    ...(status.standing.enabled ? [] : [`off        nothing is done unasked here: ${status.standing.reason}`]),
    `entries    ${sayCounts(status.entries)}`,
    `turns      ${sayCounts(status.turns)}`,
    `topics     ${status.topics}; index ${sayCount(status.index.lines, 'line')}, ${sayCount(status.index.bytes, 'byte')}`,
    ...status.addedLines,
    `spend      ${spend.usedTokens} tokens used today, ${spend.reservedTokens} reserved, of ${spend.ceilingTokens}; ${sayCount(spend.calls, 'call')}${full}`,
    `money      ${usd(spend.usedUsd)} used today, ${usd(spend.reservedUsd)} reserved, of ${spend.ceilingUsd === null ? 'no limit' : usd(spend.ceilingUsd)}`,
    `breaker    ${sayBreaker(status.breaker)}`,
    `workers    ${status.workers.map((worker) => `${worker.process} (${worker.backend})`).join(', ') || 'none'}`,
    `success    ${all.lastSuccessAt ?? 'none yet'}`,
    `dream      next at ${status.nextDreamAt}`,
    ...status.dreamHolds.map(({ why }) => `held back  ${why}`),
    `pending    ${all.pending} in ${sayCount(all.directories, 'directory')}${oldest ? `, the oldest from ${oldest.notBefore}: ${oldest.kind} ${oldest.key}` : ''}`,
    `proposals  ${all.proposals} ${all.proposals === 1 ? 'waits' : 'wait'} for your word`,
    `failures   ${sayCounts(all.failures)}`,
    ...all.failed.map(({ at, kind, key, code, message }) => `  ${at} ${kind} ${key} given up, ${code}: ${message}`),
    ...status.skipped.map(
      ({ kind, reason, times, at }) => `skipped    ${kind}: ${reason}, ${sayCount(times, 'time')}, last ${at}`,
    ),
    `waiting    ${status.waiting.length} here`,
    ...waiting,
    ...(status.outbox > 0 ? [`outbox     ${status.outbox} for the user scope; the next worker delivers them`] : []),
    `jobs       ${status.lastJobs.length === 0 ? 'none yet' : 'newest first'}`,
    ...jobs,
  ].join('\n');
}

function sayCounts(counts: Record<string, number>): string {
  return (
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ') || 'none'
  );
}

export const commands: CommandSpec[] = [status];
