// All that `nocturne doctor` looks at, in the order in which a person would mend it; and its look at a memory directory:
// its mode, hard links, the ledger's health, what waits, and when something was last extracted and dreamed. `nocturne
// check` looks at what is in the files. Looking makes nothing: where there is no home yet, what would be in it is not
// asked.

import { join } from 'node:path';
import type { AgentPorts } from '../../agent/types.ts';
import type { Config } from '../../base/config/config.ts';
import { type AppError, attempt, describeError, onAppError } from '../../base/errors.ts';
import { canLink, isDirectory } from '../../base/files/directories.ts';
import { isPrivate, statNow } from '../../base/files/files.ts';
import { localTime, machineZone } from '../../base/time.ts';
import { limitDifferences } from '../../memory/home/day-spend.ts';
import type { Home } from '../../memory/home/home.ts';
import { checkoutRoot } from '../../memory/home/paths.ts';
import { JobSpend } from '../../memory/home/spend.ts';
import { type WorkRows, workRowsOf } from '../../memory/ledger/inbox.ts';
import { type JobRow, lastJobs } from '../../memory/ledger/job-rows.ts';
import { findLedger, type Ledger, ledgerDamage } from '../../memory/ledger/ledger.ts';
import { shortKey } from '../../memory/ledger/short-ids.ts';
import { homeOf, type Keeping, keepingOf } from '../keeping.ts';
import { enablementFor, memoryDirIfTold } from '../places.ts';
import { schedulerWithNight } from '../setup/schedules.ts';
import { nextNightly } from '../worker/hold.ts';
import { wakeQueueOptions } from '../worker/worker.ts';
import { type Checked, fail, ok, warn } from './checked.ts';
import {
  asAtNight,
  checkAgentSettings,
  checkBoard,
  checkEnablement,
  checkHome,
  checkHooks,
  checkKey,
  checkModel,
  checkNode,
  checkProgram,
  checkSpool,
  failed,
} from './checks.ts';
import { type Fact, factsOfHome, factsOfMemory } from './facts.ts';

const NIGHT_MS = 36 * 60 * 60_000;

/** `isOnline`: ask the model, too. */
export async function examine(given: Config, at: { cwd: string; isOnline: boolean }): Promise<Checked[]> {
  const keeping = keepingOf(given);
  const withoutHome = (error: AppError): FoundHome => ({ home: null, config: given, trouble: failed('home')(error) });
  const { home, config, trouble } = await lookIntoHome(given, keeping).catch(onAppError(withoutHome));
  const own = memoryDirIfTold(config, { cwd: at.cwd });
  const now = () => config.clock.now();
  try {
    return [
      checkNode(),
      checkHome(config),
      ...trouble,
      ...(home ? (await factsOfHome({ config, home }).catch(onAppError(failed('home')))).map(asChecked) : []),
      ...((home && (await keeping?.checks?.({ home, now }).catch(onAppError(failed('database'))))) ?? []),
      ...checkNight(config),
      ...checkHooks(config),
      ...checkAgentSettings(config),
      ...(home ? checkEnablement(await enablementFor(config, { pauses: await home.pauses.all(), cwd: at.cwd })) : []),
      ...(await checkKey(config)),
      ...(await checkProgram(config)),
      ...(home && at.isOnline ? await checkModel(await asAtNight(config), countingIn(home, config)) : []),
      await checkQueue(config),
      ...(await checkBoard(config)),
      ...(home ? [await checkWorker(config, home), ...(await checkSchedule(config, home))] : []),
      await checkSpool(config),
      ...(keeping && home
        ? await checkKept(keeping, { own, home, config, checkout: checkoutRoot(at.cwd) }).catch(
            onAppError(failed('memory')),
          )
        : [
            // That of the project one stands in, and all that are known.
            ...(
              await Array.fromAsync(new Set([own ?? [], (await home?.stores()) ?? []].flat()), (dir) =>
                checkMemoryDirectory(dir, home ? { config, home } : undefined),
              )
            ).flat(),
            ...(own === null ? [] : await checkSnapshot(own, checkoutRoot(at.cwd))),
          ]),
    ];
  } finally {
    await (keeping ?? home)?.close();
  }
}

interface FoundHome {
  home: Home | null;
  /** The settings that count. */
  config: Config;
  trouble: Checked[];
}

/** What crosses directories: null where nothing is kept of it yet, or where it cannot be opened. */
async function lookIntoHome(config: Config, keeping: Keeping | null): Promise<FoundHome> {
  if (!keeping && statNow(join(config.home, 'home.db')) === null) return { home: null, config, trouble: [] };
  const home = homeOf(config, { keeping });
  if (!keeping) return { home, config, trouble: [] };
  // Limits are those of all machines.
  const kept = await home.days.limits(config);
  const same = 'Say the same in config.json of the nocturne home, or change what counts for all.';
  const trouble = limitDifferences(config, kept).map((found) => warn('limits', found, same));
  return { home, config: { ...config, dayMoneyUsd: undefined, ...kept }, trouble };
}

/** The same of what is kept elsewhere: the project's, and those that stand for directories of this machine. */
async function checkKept(
  keeping: Keeping,
  { own, checkout, ...by }: { own: string | null; checkout: string | null; config: Config; home: Home },
): Promise<Checked[]> {
  const here = (await keeping.stores()).flatMap(({ id, isHere }) => (isHere ? id : []));
  const ownStore = own === null ? null : await keeping.findStore(own);
  const found: Checked[] = own === null || ownStore ? [] : [ok('memory', `${own}: nothing kept yet`)];
  for (const id of new Set([...(ownStore ? [ownStore.id] : []), ...here])) {
    const store = await keeping.findStore(id);
    if (store) found.push(...(await checkWork({ dir: id, ledger: store.ledger, work: store.work }, by)));
  }
  return [...found, ...(ownStore ? await checkOffer(checkout, ownStore.ledger) : [])];
}

const JOBS_LOOKED_AT = 200;

/** `by`: the settings, and what crosses directories, to say what keeps dreams from running. */
export async function checkMemoryDirectory(dir: string, by?: { config: Config; home: Home }): Promise<Checked[]> {
  try {
    if (!isDirectory(join(dir, '.nocturne'))) return [ok('memory', `${dir}: nothing kept yet`)];
    const damage = ledgerDamage(dir);
    if (damage.length > 0) {
      return [
        fail('memory', `${dir}: the ledger is damaged: ${damage[0]}`, `Run nocturne check --repair --memory ${dir}.`),
      ];
    }
    const ledger = findLedger(dir);
    if (!ledger) return [ok('memory', `${dir}: nothing kept yet`)];
    try {
      return [...checkDisk(dir), ...(await checkWork({ dir, ledger, work: workRowsOf(ledger) }, by))];
    } finally {
      ledger.close();
    }
  } catch (error) {
    return [fail('memory', `${dir}: ${describeError(error)}`, 'Check that this user may read and write there.')];
  }
}

/** What the repository hands on, in the working tree one stands in, to the memory of `dir`. */
export async function checkSnapshot(dir: string, checkout: string | null): Promise<Checked[]> {
  // A damaged one is told by the check of the directory.
  const ledger = isDirectory(join(dir, '.nocturne'))
    ? attempt(
        () => findLedger(dir),
        () => null,
      )
    : null;
  try {
    return await checkOffer(checkout, ledger);
  } finally {
    ledger?.close();
  }
}

async function checkOffer(checkout: string | null, ledger: Ledger | null): Promise<Checked[]> {
  if (checkout === null) return [];
  const { offeredSnapshot } = await import('../../../jobs/snapshot/applied-snapshots.ts');
  const { readMemorySnapshot, sayOffer } = await import('../../memory/text/memory-snapshot.ts');
  try {
    const snapshot = readMemorySnapshot(checkout);
    if (!snapshot) return [];
    const offer = offeredSnapshot(checkout, ledger);
    if (!offer) return [ok('snapshot', `${snapshot.id} was applied`)];
    return [warn('snapshot', sayOffer(offer), 'Run nocturne snapshot check, then nocturne snapshot apply.')];
  } catch (error) {
    return [warn('snapshot', describeError(error), 'Nothing of it is used until it is mended.')];
  }
}

function checkDisk(dir: string): Checked[] {
  const open = [dir, join(dir, '.nocturne'), join(dir, '.nocturne', 'ledger.db')].filter((path) => !isPrivate(path));
  const risk = 'An edit in the same millisecond as one of ours may be lost; another file system is safer.';
  return [
    ...(isPrivate(dir) ? [] : [warn('memory', `others can read ${open.join(', ')}`, `Run chmod -R go= ${dir}.`)]),
    ...(canLink(join(dir, '.nocturne')) ? [] : [warn('memory', `${dir}: this file system has no hard links`, risk)]),
  ];
}

async function checkWork(
  { dir, ledger, work }: { dir: string; ledger: Ledger; work: WorkRows },
  by?: { config: Config; home: Home },
): Promise<Checked[]> {
  const jobs = lastJobs(ledger, JOBS_LOOKED_AT).filter((job) => job.status === 'ended');
  const waiting = await work.items();
  const first = waiting.find((item) => item.failure !== null);
  const found = `${dir}: ${lastOf(jobs, 'extract', by?.config.zone)}, ${lastOf(jobs, 'dream', by?.config.zone)}, ${waiting.length} waiting`;
  const whose = { name: dir, command: (what: string) => `${what} --memory ${dir}` };
  const facts = (await factsOfMemory({ ledger, whose }, by)).map(asChecked);
  if (facts.some(({ what }) => what === 'memory' || what === 'dream')) return facts;
  if (!first) return [ok('memory', found), ...facts];
  const failing = `${found}; ${shortKey(ledger, first)}: ${first.failure}`;
  return [warn('memory', failing, 'It is tried again by itself; nocturne status says when.'), ...facts];
}

function asChecked({ need: _, ...checked }: Fact): Checked {
  return checked;
}

function lastOf(jobs: JobRow[], kind: JobRow['kind'], zone = machineZone()): string {
  const [last] = jobs.filter((job) => job.kind === kind);
  return last ? `last ${kind} ${localTime(last.endedAt ?? last.createdAt, zone)} (${last.outcome})` : `no ${kind} yet`;
}

/** A pattern that gives no night keeps every worker from starting. */
export function checkNight(config: Config): Checked[] {
  const found = attempt(() => void nextNightly(config, config.clock.now()), failed('settings'));
  return found ?? [];
}

async function checkQueue(config: Config): Promise<Checked> {
  const keeping = keepingOf(config);
  try {
    if (!config.queueUrl) return ok('queue', 'none is set; a worker looks into the inboxes every second');
    const { url = '', ...place } = await wakeQueueOptions({ config, keeping });
    const { openWakeQueue } = await import('../../queue/queue.ts');
    const queue = await openWakeQueue({ url, ...place });
    const { waiting, active } = await queue.counts().finally(() => queue.close());
    return ok('queue', `redis, ${waiting} waiting, ${active} under way`);
  } catch (error) {
    return fail('queue', describeError(error), 'Nothing is lost: the work waits in the inboxes.');
  } finally {
    await keeping?.close();
  }
}

async function checkWorker({ queueUrl, zone, databaseUrl }: Config, home: Home): Promise<Checked> {
  const isShared = databaseUrl !== undefined;
  const workers = (await home.workers.all()).map(
    ({ process, backend, startedAt, seenAt }) =>
      `${process} (${backend}) since ${localTime(startedAt, zone)}${isShared ? `, seen ${localTime(seenAt, zone)}` : ''}`,
  );
  if (workers.length > 0) return ok('worker', workers.join(', '));
  if (isShared)
    return ok('worker', 'of no machine one was seen within two minutes; a hook starts one when there is work');
  if (!queueUrl) return ok('worker', 'none runs; the hook starts one when there is work');
  const start = 'Start nocturne worker, here or where the queue is shared.';
  return warn('worker', 'none runs here, though a queue is set', start);
}

async function checkSchedule(config: Config, home: Home): Promise<Checked[]> {
  const lastAt = await home.lastNightAt();
  const last = lastAt === null ? 'no night yet' : `last night, or set-up, ${localTime(lastAt, config.zone)}`;
  const isResident = (await home.workers.all()).length > 0;
  const scheduler = await schedulerWithNight(config.environment);
  const state = await scheduler?.state();
  const catchesUp = isResident ? 'the worker that runs' : 'the first session after its time';
  const found =
    !scheduler || state === 'active'
      ? [ok('schedule', `${scheduler?.name ?? catchesUp}; ${last}`)]
      : [fail('schedule', `${scheduler.name}: ${state}`, 'Run nocturne setup.')];
  if (lastAt !== null && config.clock.now().getTime() - Date.parse(lastAt) > NIGHT_MS) {
    const said = `the last night was ${localTime(lastAt, config.zone)}`;
    found.push(warn('schedule', said, 'Run nocturne worker --once --nightly.'));
  }
  return found;
}

/** Counts a request that belongs to no job. */
export function countingIn(home: Home, config: Config): Pick<AgentPorts, 'reserve' | 'settle'> {
  const spend = new JobSpend(home, config);
  return {
    reserve: (tokens, outputTokens, paid) => spend.reserve(tokens, outputTokens, { paid }),
    settle: (reservation, usage) => spend.settle(reservation, usage),
  };
}
