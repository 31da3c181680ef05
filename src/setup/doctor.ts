// All that `nocturne doctor` looks at, in the order in which a person would mend it: programs, hooks, key, model, queue, worker,
// schedule, and what `nocturne` says needs a person. What is in the files `nocturne check` looks at. Looking makes nothing:
// where there is no database yet, what would be in it is not asked.

import { join } from 'node:path';
import type { AgentPorts } from '../agent/agent-types.ts';
import type { Config } from '../base/config/config.ts';
import { type AppError, describeError, onAppError } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import { isOnNetwork, isPrivate, statNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { localTime } from '../base/time.ts';
import { backupsIn, damageOf } from '../db/backup.ts';
import { databasePath, lostDatabase } from '../db/open-database.ts';
import { type Db, newId, settingOf } from '../db/sql.ts';
import { isUsed } from '../memory/memories.ts';
import { spendOf } from '../queue/spend.ts';
import { openWake } from '../queue/wake.ts';
import { allWorkers } from '../queue/workers.ts';
import { NETWORK_RISK, shellPath } from '../terminal/phrases.ts';
import { type App, openApp } from '../worker/compose.ts';
import { knownMemories, offersHere, readOverview } from '../worker/overview.ts';
import {
  asAtNight,
  type Checked,
  checkAgentSettings,
  checkEnablement,
  checkHome,
  checkHooks,
  checkKey,
  checkModel,
  checkProgram,
  checkSettings,
  checkSpool,
  fail,
  failed,
  ok,
  sayFirst,
  warn,
} from './checks.ts';
import { schedulerWithNight } from './schedules.ts';

const NIGHT_MS = 36 * 60 * 60_000;

/** `isOnline`: ask the model, too. */
export async function examine(config: Config, at: { cwd: string; isOnline: boolean }): Promise<Checked[]> {
  const { home, databaseUrl: url } = config;
  const trouble = url === undefined ? checkDatabase(home) : [];
  const isThere = url !== undefined || (statNow(databasePath(home)) !== null && trouble.length === 0);
  const away = (error: AppError) => void trouble.push(...failed('database')(error));
  const app = isThere ? ((await openApp(config).catch(onAppError(away))) ?? null) : null;
  if (app?.db.trouble) trouble.push(fail('database', app.db.trouble, 'Make room on the disk.'));
  const of = async (look: (app: App) => Promise<Checked[]>) =>
    app ? look(app).catch(onAppError(failed('database'))) : [];
  try {
    const asked = at.isOnline
      ? await of(async ({ db }) => {
          const night = await asAtNight(config);
          return checkModel(night, countingIn(db, night));
        })
      : [];
    return [
      checkHome(config),
      ...trouble,
      ...(app && url !== undefined ? [ok('database', `${app.db.name}; it holds all memory`)] : []),
      ...(url === undefined && isOnNetwork(home)
        ? [warn('home', `${home} is on a network file system`, NETWORK_RISK)]
        : []),
      ...checkSettings(config),
      ...checkHooks(config),
      ...checkAgentSettings(config),
      ...(await of(async ({ standing }) => checkEnablement(await standing(at)))),
      ...(await checkKey(config)),
      ...(await checkProgram(config)),
      ...asked,
      ...(await checkQueue(config)),
      ...(await of(checkWorker)),
      ...(await of(checkSchedule)),
      checkSpool(config),
      ...(await of((app) => checkMemories(app, asked))),
    ];
  } finally {
    await app?.close();
  }
}

/** Counts a request that belongs to no job of a memory; `nocturne cost` does not tell of it. */
export function countingIn(db: Db, config: Config): Pick<AgentPorts, 'reserve' | 'settle'> {
  const { clock, model, prices } = config;
  const spend = spendOf({ db, clock, ceilings: config, model, prices }, newId('check'));
  return spend;
}

/** The one file in which all is kept, and its copies. */
function checkDatabase(home: string): Checked[] {
  const path = databasePath(home);
  const lost = lostDatabase(path);
  if (lost) return failed('database')(lost);
  const remedy = 'Run nocturne list --all: a new one is made of the memory directories.';
  if (statNow(path) === null)
    return isUsed(home) ? [fail('database', `${path} is gone, and there is no copy of it`, remedy)] : [];
  const damage = damageOf(path);
  if (damage === null) return [];
  const copies = sayCount(backupsIn(home).length, 'copy').replace('copys', 'copies');
  return [fail('database', `${path} is damaged: ${damage}; ${copies} of it`, 'Run nocturne check --restore.')];
}

/** Whether Redis takes a word; it is said in a queue of its own, that nobody hears. */
async function checkQueue({ queueUrl: url, clock }: Config): Promise<Checked[]> {
  if (!url) return [ok('queue', 'none is set, and none is needed')];
  const problems: string[] = [];
  const onError = (why: string) => void problems.push(why);
  const ask = async () => {
    const wake = openWake({ url, namespace: 'nocturne-doctor', now: () => clock.now(), onError });
    await wake.ring({ kind: 'check', key: 'doctor', at: clock.now(), news: 1 }).finally(() => wake.close());
  };
  await ask().catch((error) => onError(describeError(error)));
  const [problem] = problems;
  return [problem ? fail('queue', problem, 'Nothing is lost: the work waits.') : ok('queue', 'redis answers')];
}

async function checkWorker({ db, config: { queueUrl, zone, databaseUrl } }: App): Promise<Checked[]> {
  const isShared = databaseUrl !== undefined;
  const workers = (await allWorkers(db)).map(
    ({ process, started_at, seen_at }) =>
      `${process} since ${localTime(started_at, zone)}${isShared ? `, seen ${localTime(seen_at, zone)}` : ''}`,
  );
  if (workers.length > 0) return [ok('worker', workers.join(', '))];
  if (!queueUrl) return [ok('worker', 'none runs; the hook starts one when there is work')];
  return [
    warn('worker', 'none runs, though a queue is set', 'Start nocturne worker, here or where the queue is shared.'),
  ];
}

async function checkSchedule({ db, config }: App): Promise<Checked[]> {
  const lastAt = await settingOf(db, 'night');
  const last = lastAt === undefined ? 'no night yet' : `last night, or set-up, ${localTime(lastAt, config.zone)}`;
  const scheduler = await schedulerWithNight(config.environment);
  const state = await scheduler?.state();
  const isResident = (await allWorkers(db)).length > 0;
  const catchesUp = isResident ? 'the worker that runs' : 'the first session after its time';
  const found = [
    !scheduler || state === 'active'
      ? ok('schedule', `${scheduler?.name ?? catchesUp}; ${last}`)
      : fail('schedule', `${scheduler.name}: ${state}`, 'Run nocturne setup.'),
  ];
  if (lastAt !== undefined && config.clock.now().getTime() - Date.parse(lastAt) > NIGHT_MS) {
    const said = `the last night was ${localTime(lastAt, config.zone)}`;
    found.push(warn('schedule', said, 'Run nocturne worker --once --nightly.'));
  }
  return found;
}

/** Where memory is, and what waits for a person, as `nocturne` tells it. */
async function checkMemories(app: App, asked: Checked[]): Promise<Checked[]> {
  const memories = await knownMemories(app);
  const { needs } = await readOverview(app, memories);
  return [
    ...memories.flatMap(({ name, row, lastSuccessAt }): Checked[] => {
      const { dir, machine } = row;
      const worked =
        lastSuccessAt === null ? 'nothing learned yet' : `worked last ${localTime(lastSuccessAt, app.config.zone)}`;
      if (dir === null || machine !== app.machine) return [ok('memory', `${name}: ${worked}`)];
      if (isDirectory(dir)) return [...checkDisk(dir), ok('memory', `${name}: ${worked}`)];
      const remedy = `Put it back, or run nocturne check --restore --memory ${shellPath(dir, app.config)}.`;
      return [fail('memory', `${dir} is gone`, remedy)];
    }),
    ...[...needs, ...(await offersHere(app))].map(({ text, command, sessions, isNotice }) => {
      if (isNotice) return warn('memory', text, `Run ${command}.`);
      if (command.includes('nocturne review')) return ok('review', `${text}: ${command}`);
      if (sessions)
        return fail('sessions', `${sayFirst(sessions)}: ${text}`, 'Fix that; they are read by themselves then.');
      const answers = asked.some(({ state }) => state === 'ok');
      const byModel = answers
        ? 'It answers now: nocturne retry --failed goes on at once.'
        : 'Nothing is lost: the work waits.';
      const remedy = command === 'nocturne doctor' ? byModel : `Run ${command}.`;
      return fail('waits', text, remedy);
    }),
  ];
}

function checkDisk(dir: string): Checked[] {
  const open = [dir, join(dir, '.nocturne')].filter((path) => !isPrivate(path));
  return isPrivate(dir) ? [] : [warn('memory', `others can read ${open.join(', ')}`, `Run chmod -R go= ${dir}.`)];
}
