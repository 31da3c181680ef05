// status: what `nocturne` alone shows, by exit code whether a person is needed; with --verbose what is kept, what waits,
// what failed, what was spent, who works.
// nocturne alone (`home`): what was learned since one last looked, what waits for one, what it costs, when the next
// night is, and the one next step. For a person: times as one speaks of them, projects by where they are, and each thing
// that waits with the command that deals with it, whatever project it is of. Where nothing is set up, what nocturne is
// and how to begin.

import { join } from 'node:path';
import type { Config } from '../../../base/config/config.ts';
import { statNow } from '../../../base/files/files.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { pauseEnd } from '../../../memory/home/paths.ts';
import { ifWritable } from '../../../memory/ledger/database.ts';
import { sayOffer } from '../../../memory/text/memory-snapshot.ts';
import type { App } from '../../compose.ts';
import type { Checked } from '../../doctor/checked.ts';
import type { Need } from '../../doctor/facts.ts';
import type { Parts } from '../../job-bounds.ts';
import type { SharedOverview } from '../../keeping.ts';
import type { CommandSpec } from '../spec.ts';
import { type CommonOptions, configFor, MEMORY, withApp } from '../terminal/options.ts';
import { EXIT, print, style, wrap } from '../terminal/output.ts';
import { type Learned, readStatus, type Status, sayBreaker } from '../terminal/overview.ts';
import { plainly, type Seen, sayTime, sayTokens, sayUsd, sayWhen } from '../terminal/phrases.ts';

const status: CommandSpec<CommonOptions & { verbose?: boolean; all?: boolean }> = {
  name: 'status',
  about: 'what was learned, waits and costs; as nocturne alone',
  group: 'Jobs and numbers',
  options: [
    ['--verbose', 'what is kept, waits, failed, was spent and who works, with the ids and times of logs'],
    ['--all', 'of a database: each of its stores, too, by name'],
    ...MEMORY,
  ],
  json: '{ memory, standing, attention, needs, lookedAt, learned, entries, turns, missing, dreamHolds, topics, oversized, index, snapshot, waiting, outbox, skipped, lastJobs, all, breaker, spendToday, spendMonth, nextDreamAt, workers, database }',
  more: 'Exit code 3 where something needs a person: a key, a budget, an open breaker, work that was given up, missing files, proposed changes that wait.',
  examples: ['status', 'status --json'],
  run: (call) =>
    withApp(call, async (app) => {
      const read = await readStatus(app, { isAll: call.options.all });
      if (!call.options.json && !call.options.verbose) return showHome(app, read);
      const found = withKey(read, await checkSetup(app.config));
      const { learned, ...own } = found;
      const counts = learned.map(({ store: memory, whose, count: entries }) => {
        return { memory, project: whose.name, entries };
      });
      print(call.options.json ? { ...own, learned: counts } : describe(found));
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
    `memory     ${[...new Set([status.memory, status.database?.memory ?? status.memory])].join(', the store ')}`,
    ...(status.standing.enabled ? [] : [`off        nothing is done unasked here: ${status.standing.reason}`]),
    `entries    ${sayCounts(status.entries)}`,
    `turns      ${sayCounts(status.turns)}`,
    `topics     ${status.topics}; index ${sayCount(status.index.lines, 'line')}, ${sayCount(status.index.bytes, 'byte')}`,
    ...(status.snapshot
      ? [`snapshot   ${sayOffer(status.snapshot)}; nocturne snapshot check tells what is in it`]
      : []),
    `spend      ${spend.usedTokens} tokens used today, ${spend.reservedTokens} reserved, of ${spend.ceilingTokens}; ${sayCount(spend.calls, 'call')}${full}`,
    `money      ${usd(spend.usedUsd)} used today, ${usd(spend.reservedUsd)} reserved, of ${spend.ceilingUsd === null ? 'no limit' : usd(spend.ceilingUsd)}`,
    ...(spend.planRequests ? [`plan       ${sayPlan(spend)}`] : []),
    ...spend.overruled.map((each) => `differs    ${each}`),
    `breaker    ${sayBreaker(status.breaker)}`,
    `workers    ${status.workers.map((worker) => sayWorker(worker, status)).join(', ') || 'none'}`,
    `success    ${all.lastSuccessAt ?? 'none yet'}`,
    `dream      next at ${status.nextDreamAt}`,
    ...status.dreamHolds.map(({ why }) => `held back  ${why}`),
    `pending    ${all.pending} in ${sayCount(all.directories, status.database ? 'store' : 'directory')}${status.database ? ' of this machine' : ''}${oldest ? `, the oldest from ${oldest.notBefore}: ${oldest.kind} ${oldest.key}` : ''}`,
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
    ...(status.database ? sayShared(status.database) : []),
  ].join('\n');
}

function sayWorker({ process, backend, seenAt }: Status['workers'][number], { database }: Status): string {
  return `${process} (${backend}${database ? `, seen ${seenAt}` : ''})`;
}

function sayShared({
  server,
  stores,
  waiting,
  leases,
  givenUp,
  failures,
  failed,
  each,
}: NonNullable<Status['database']>): string[] {
  const arriving = stores.arriving > 0 ? `, ${stores.arriving} on the way by nocturne move` : '';
  return [
    `database   ${server}: ${sayCount(stores.ready, 'store')}${arriving}`,
    `  waiting  ${waiting.count}${waiting.oldest ? `, the oldest from ${waiting.oldest}` : ''}; ${leases} worked on`,
    `  failures ${sayCounts(failures)}; ${givenUp} given up`,
    ...failed.map(({ at, name, kind, key, code, message }) => `  ${at} ${name}: ${kind} ${key}, ${code}: ${message}`),
    ...(each ? sayEach(each) : []),
  ];
}

function sayEach(each: NonNullable<NonNullable<Status['database']>['each']>): string[] {
  const lines = each.map(({ name, isHere, waiting, givenUp }) => {
    const waits = waiting === 0 ? 'nothing waits' : sayCount(waiting, 'job');
    return `  ${name}: ${waits}${givenUp === 0 ? '' : `, ${givenUp} given up`}${isHere ? '; of this machine' : ''}`;
  });
  return lines.length === 0 ? [] : ['Stores, of which --store NAME names one', ...lines];
}

function sayCounts(counts: Record<string, number>): string {
  return (
    Object.entries(counts)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ') || 'none'
  );
}

export const commands: CommandSpec[] = [status];

/** Lines of what was learned, of one project and of all. */
const SHOWN_OF_PROJECT = 3;
const SHOWN = 9;

const WHAT_IT_IS =
  'nocturne is a memory for your coding agents: it reads their sessions when they are over, keeps what matters as Markdown files, and gives it to the next session.';

export async function home(parts: Parts = {}): Promise<void> {
  const config = await configFor({});
  // Asking makes no home.
  const isNew = config.databaseUrl === undefined && statNow(join(config.home, 'home.db')) === null;
  if (isNew && (await checkSetup(config)).some(isNoAgent)) return show(welcome());
  await withApp({ options: {}, parts }, async (app) => showHome(app, await readStatus(app)));
}

function welcome(): string {
  return [WHAT_IT_IS, '', 'It is not set up yet. To begin:', '', '  nocturne setup'].join('\n');
}

/** Shows it, and notes that it was looked at. */
async function showHome(app: App, read: Status): Promise<void> {
  const failed = await checkSetup(app.config);
  const isNew = read.database === null && read.all.directories + read.needs.length === 0;
  if (isNew && failed.some(isNoAgent)) return show(welcome());
  const status = withKey(read, failed);
  const needs = [...failed.filter((check) => !isKey(check)).map(setupNeed), ...status.needs];
  const stores = status.database?.each ? [sayEach(status.database.each).join('\n')] : [];
  const parts = [sayNews(app, status), ...sayNeeds(app, needs), ...stores, sayNumbers(app, status, needs)];
  show(parts.join('\n\n'));
  await ifWritable(() => app.home.noteLook());
  if (status.attention.length > 0) process.exitCode = EXIT.attention;
}

/** Of what set-up lacks only the key needs a person; of it is told once, with what waits for it. */
function withKey(status: Status, failed: Checked[]): Status {
  const key = failed.filter(isKey);
  if (key.length === 0) return status;
  return {
    ...status,
    attention: [...key.map(({ found }) => `key: ${found}`), ...status.attention],
    needs: [...key.map(setupNeed), ...status.needs.filter(({ code }) => code !== 'no-model')],
  };
}

function show(text: string): void {
  print(wrap(text, process.stdout.columns || 80));
}

/** What keeps sessions from being learned from, as doctor finds it. */
async function checkSetup(config: Config): Promise<Checked[]> {
  const { checkNight } = await import('../../doctor/examine.ts');
  const { checkHooks, checkKey } = await import('../../doctor/checks.ts');
  const { problem, path } = config.agentMemory.settings;
  // Of settings that cannot be read it is told once, with what waits for them.
  const isTold = (check: Checked) => problem !== undefined && check.found.includes(path);
  const found = [...checkNight(config), ...checkHooks(config), ...(await checkKey(config))];
  return found.filter((check) => check.state === 'fail' && !isTold(check));
}

/** No agent at all tells of its sessions. */
function isNoAgent({ what }: Checked): boolean {
  return what === 'hook';
}

function isKey({ what }: Checked): boolean {
  return what === 'key';
}

function setupNeed(check: Checked): Need {
  const { what, found, remedy = '' } = check;
  if (isNoAgent(check)) return { text: 'No agent tells nocturne of its sessions', command: 'nocturne setup' };
  const text = `The ${what}: ${found.replace(/\.$/, '')}`;
  const [whole, command] = /^Run (nocturne [\w -]+)[.:]/.exec(remedy) ?? [];
  return whole ? { text, command } : { text: `${text}. ${remedy}`, command: 'nocturne doctor' };
}

function sayNews({ config }: App, status: Status): string {
  const { learned, lookedAt } = status;
  const count = learned.reduce((sum, group) => sum + group.count, 0);
  const since = lookedAt === null ? 'so far' : `since you last looked, ${sayWhen(lookedAt, config)}`;
  if (count === 0)
    return lookedAt === null || !hasLearned(status) ? 'Nothing learned from a session yet.' : `Nothing new ${since}.`;
  const groups: string[] = [];
  let room = SHOWN;
  for (const group of learned) {
    const shown = group.entries.slice(0, Math.min(SHOWN_OF_PROJECT, room));
    room -= shown.length;
    groups.push(sayLearned(group, shown.length, config));
  }
  return [style('bold', `${sayCount(count, 'thing')} learned ${since}`), ...groups].join('\n\n');
}

function sayLearned({ whose, count, entries }: Learned, shown: number, config: Config): string {
  const when = entries[0] ? `, ${sayWhen(entries[0].learnedAt, config)}` : '';
  const more = count - shown;
  return [
    `  ${whose.name}${when}`,
    ...entries.slice(0, shown).map(({ text }) => `  - ${text}`),
    ...(more > 0 ? [`  ${more} more:`, `    ${whose.command('nocturne list')}`] : []),
  ].join('\n');
}

function sayNeeds({ config }: App, needs: Need[]): string[] {
  if (needs.length === 0) return [];
  const said = needs.map(({ text, command }) => {
    const sentence = `  - ${plainly(text, config).replace(/\.$/, '')}.`;
    return command ? `${sentence}\n    ${command}` : sentence;
  });
  return [[style('bold', 'Waits for you'), '', ...said].join('\n')];
}

function sayNumbers({ config }: App, status: Status, needs: Need[]): string {
  const { standing, all, database, nextDreamAt } = status;
  const row = (name: string, said: string) => `${name.padEnd(10)}  ${said}`;
  const isOff = !standing.enabled && !standing.isUnknown;
  const isDue = Date.parse(nextDreamAt) <= config.clock.now().getTime();
  const shared = database && `${sayDatabase(database, status.workers, config)}. nocturne fleet status tells more`;
  return [
    ...(isOff ? [row('Off', `nothing is done unasked here: ${plainly(standing.reason, config)}`)] : []),
    row('Cost', sayCost(status)),
    ...(all.pending > 0 ? [row('Waiting', sayPending(status, config, needs))] : []),
    ...(shared ? [row('Database', shared)] : []),
    row('Next night', isDue ? 'due: with the next worker' : sayWhen(nextDreamAt, config)),
    row('Next step', nextStep(status, needs)),
  ].join('\n');
}

function sayCost({ spendToday: today, spendMonth: month }: Status): string {
  const tokens = today.usedTokens + today.reservedTokens;
  const usd = today.usedUsd + today.reservedUsd;
  const limit = today.ceilingUsd === null ? '' : ` (limit ${sayUsd(today.ceilingUsd * 1e6)})`;
  const full = today.fullFrom ? '; the limit of today is reached, what waits goes on tomorrow' : '';
  const plan = today.planRequests ? `; ${sayPlan(today)}` : '';
  if (month.tokens === 0) return 'nothing this month';
  if (month.usd === 0) return `${sayTokens(tokens)} today, ${sayTokens(month.tokens)} this month${plan}${full}`;
  return `${sayUsd(usd * 1e6)} today${limit}, ${sayUsd(month.usd * 1e6)} this month${plan}${full}`;
}

function sayPlan({ planRequests, ceilingPlanRequests }: Status['spendToday']): string {
  return `${planRequests} of ${ceilingPlanRequests} requests on your plan today`;
}

export function sayDatabase(
  { server, stores, waiting, givenUp }: SharedOverview,
  workers: Status['workers'],
  at: Seen,
): string {
  const url = URL.parse(server);
  const since = waiting.oldest === null ? '' : `, the oldest since ${sayTime(waiting.oldest, at)}`;
  const waits = waiting.count === 0 ? 'nothing waits' : `${sayCount(waiting.count, 'job')} in all${since}`;
  const failed = givenUp === 0 ? '' : `, ${givenUp} given up`;
  const seen = workers.length === 0 ? 'no worker was seen' : `${sayCount(workers.length, 'worker')} seen`;
  return `${url ? url.host + url.pathname : server}: ${sayCount(stores.ready, 'store')}; ${waits}${failed}; ${seen}`;
}

function sayPending({ all }: Status, config: Config, needs: Need[]): string {
  const first = all.oldestPending?.notBefore ?? '';
  const when = first > config.clock.now().toISOString() ? sayWhen(first, config) : 'now';
  return `${sayCount(all.pending, 'job')} for the next worker, ${when}${needs.length === 0 ? '; nothing for you to do' : ''}`;
}

function hasLearned({ all, lastJobs }: Status): boolean {
  return all.lastSuccessAt !== null || lastJobs.length > 0;
}

function nextStep(status: Status, [first]: Need[]): string {
  const { standing } = status;
  if (first?.command) return first.command;
  if (!standing.enabled && standing.pausedUntil !== undefined) return pauseEnd(standing.pausedProject);
  return hasLearned(status)
    ? 'nothing to do; nocturne list shows what is remembered'
    : 'work with your agent; it is learned from when it ends';
}
