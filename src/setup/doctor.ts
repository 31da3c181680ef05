// All that `nocturne doctor` looks at, in the order in which a person would mend it: programs, hooks, key, model, queue, worker,
// schedule, and what the database tells of each memory. What is in the files `nocturne check` looks at. Looking makes nothing:
// where there is no database yet, what would be in it is not asked.

import { join } from 'node:path';
import { offeredSnapshot } from '../../jobs/snapshot.ts';
import type { AgentPorts } from '../agent/agent-types.ts';
import type { Config } from '../base/config/config.ts';
import { type AppError, describeError, onAppError } from '../base/errors.ts';
import { canLink, isDirectory } from '../base/files/directories.ts';
import { isOnNetwork, isPrivate, statNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { localTime } from '../base/time.ts';
import { backupsIn, damageOf } from '../db/backup.ts';
import { databasePath, openDatabase } from '../db/open-database.ts';
import { type Db, newId, settingOf } from '../db/sql.ts';
import { findPlace } from '../hook/recalled-places.ts';
import { missingFiles } from '../memory/file-rows.ts';
import { Memories, type MemoryRow, machineOf } from '../memory/memories.ts';
import { checkoutRoot } from '../memory/paths.ts';
import { enablementFor, memoryDirIfTold } from '../memory/places.ts';
import { readMemorySnapshot, sayOffer } from '../memory/text/memory-snapshot.ts';
import { breakerOf } from '../queue/breaker.ts';
import { pausesOf } from '../queue/pauses.ts';
import { spendOf } from '../queue/spend.ts';
import { blockedOf } from '../queue/swept.ts';
import { listWork } from '../queue/waiting-work.ts';
import { openWake } from '../queue/wake.ts';
import { allWorkers } from '../queue/workers.ts';
import { NETWORK_RISK } from '../terminal/phrases.ts';
import { placeOf } from '../worker/whose-memory.ts';
import {
  asAtNight,
  type Checked,
  checkAgentSettings,
  checkBoard,
  checkEnablement,
  checkHome,
  checkHooks,
  checkKey,
  checkModel,
  checkNight,
  checkNode,
  checkProgram,
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
  const db = isThere ? ((await openDatabase({ home, url }).catch(onAppError(away))) ?? null) : null;
  const of = async (look: (db: Db) => Promise<Checked[]>) => (db ? look(db).catch(onAppError(failed('database'))) : []);
  const now = config.clock.now();
  try {
    return [
      checkNode(),
      checkHome(config),
      ...trouble,
      ...(await of((db) => checkShared(db, config))),
      ...(url === undefined && isOnNetwork(home)
        ? [warn('home', `${home} is on a network file system`, NETWORK_RISK)]
        : []),
      ...(await of((db) => checkWorked(db, config))),
      ...checkNight(config),
      ...checkHooks(config),
      ...checkAgentSettings(config),
      ...(await of(async (db) =>
        checkEnablement(await enablementFor(config, { pauses: await pausesOf(db, now), cwd: at.cwd })),
      )),
      ...(await checkKey(config)),
      ...(await checkProgram(config)),
      ...(at.isOnline
        ? await of(async (db) => {
            const night = await asAtNight(config);
            return checkModel(night, countingIn(db, night));
          })
        : []),
      ...(await checkQueue(config)),
      ...(await checkBoard(config)),
      ...(await of((db) => checkWorker(db, config))),
      ...(await of((db) => checkSchedule(db, config))),
      await checkSpool(config),
      ...(await of((db) => checkMemories(db, config, at.cwd))),
      ...(trouble.length > 0 ? [] : await checkSnapshot(db, config, at.cwd)),
    ];
  } finally {
    await db?.close();
  }
}

/** Counts a request that belongs to no job of a memory. */
export function countingIn(db: Db, config: Config): Pick<AgentPorts, 'reserve' | 'settle'> {
  const { clock, model, prices } = config;
  const spend = spendOf({ db, clock, ceilings: config, model, prices }, newId('job'));
  return {
    reserve: (tokens, outputTokens, paid) => spend.reserve(tokens, outputTokens, { paid }),
    settle: (reservation, usage) => spend.settle(reservation, usage),
  };
}

/** The one file in which all is kept, and its copies. */
function checkDatabase(home: string): Checked[] {
  const path = databasePath(home);
  if (statNow(path) === null) return [];
  const damage = damageOf(path);
  if (damage === null) return [];
  const copies = sayCount(backupsIn(home).length, 'copy').replace('copys', 'copies');
  return [fail('database', `${path} is damaged: ${damage}; ${copies} of it`, 'Run nocturne check --restore.')];
}

/** What could not be taken or was given up, and a model out of reach. */
async function checkWorked(db: Db, config: Config): Promise<Checked[]> {
  const found: Checked[] = [];
  for (const [reason, looks] of Map.groupBy(
    await blockedOf(db, machineOf(config.home)),
    ({ reason }) => reason ?? '',
  )) {
    const paths = sayFirst(looks.map(({ path }) => path));
    found.push(fail('sessions', `${paths}: ${reason}`, 'Mend that: they are taken by themselves then.'));
  }
  const { state, failures, until, reason } = await breakerOf(db, {
    after: config.breakerAfter,
    now: config.clock.now(),
  });
  if (state !== 'closed') {
    const next = state === 'open' ? `it is asked again ${until}` : 'the next job asks it again';
    const text = `The model could not be asked ${sayCount(failures, 'time')} in a row; ${next}: ${reason}`;
    found.push(warn('model', text, 'Nothing is lost: the work waits.'));
  }
  const given = (await listWork(db)).filter((item) => item.state === 'failed');
  for (const [error, of] of Map.groupBy(given, (item) => item.error)) {
    const what = `${sayCount(of.length, 'job')} ${of.length === 1 ? 'was' : 'were'} given up: ${error}`;
    found.push(warn('work', what, 'Run nocturne retry --failed.'));
  }
  return found;
}

/** Whether Redis takes a word; it is said in a queue of its own, that nobody hears. */
async function checkQueue({ queueUrl: url, clock }: Config): Promise<Checked[]> {
  if (!url) return [ok('queue', 'none is set; a worker looks into the inbox every second')];
  const problems: string[] = [];
  const onError = (why: string) => void problems.push(why);
  try {
    const wake = openWake({ url, namespace: 'nocturne-doctor', now: () => clock.now(), onError });
    await wake.ring({ kind: 'check', key: 'doctor', at: clock.now(), news: 1 }).finally(() => wake.close());
  } catch (error) {
    problems.push(describeError(error));
  }
  const [problem] = problems;
  return [
    problem === undefined
      ? ok('queue', 'redis answers')
      : fail('queue', problem, 'Nothing is lost: the work waits in the inbox.'),
  ];
}

const CLOCKS_APART_MS = 60_000;

/** The database that several machines share, and how far their clocks are apart. */
async function checkShared(db: Db, { clock, environment }: Config): Promise<Checked[]> {
  if (db.engine === 'sqlite') return [];
  const sql = 'select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as ms';
  const apartMs = environment.NOCTURNE_NOW ? 0 : ((await db.get<{ ms: number }>(sql))?.ms ?? 0) - clock.now().getTime();
  const found = [ok('database', `${db.name}; it keeps all memory, and no file of this machine counts`)];
  if (Math.abs(apartMs) > CLOCKS_APART_MS) {
    const said = `this machine's clock is ${Math.round(Math.abs(apartMs) / 1_000)} s ${apartMs < 0 ? 'ahead of' : 'behind'} the database's`;
    found.push(warn('clock', said, "Set it right; until then nocturne goes by the database's."));
  }
  return found;
}

async function checkWorker(db: Db, { queueUrl, zone, databaseUrl }: Config): Promise<Checked[]> {
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

async function checkSchedule(db: Db, config: Config): Promise<Checked[]> {
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

/** The one of the project that one stands in first; those of clients are their own. */
async function checkMemories(db: Db, config: Config, cwd: string): Promise<Checked[]> {
  const own = memoryDirIfTold(config, { cwd });
  const rows = await db.all<MemoryRow>(
    "select * from memory where deleted_at is null and scope <> 'store' and (machine is null or machine = ?) order by created_at",
    machineOf(config.home),
  );
  const here = rows.filter(({ dir }) => dir === own);
  const found = await Promise.all(
    [...here, ...rows.filter((row) => !here.includes(row))].map((row) => checkMemory(db, config, row)),
  );
  const isKept = own === null || here.length > 0 || config.databaseUrl !== undefined;
  return [...(isKept ? [] : [ok('memory', `${own}: nothing kept yet`)]), ...found.flat()];
}

async function checkMemory(db: Db, { zone }: Config, memory: MemoryRow): Promise<Checked[]> {
  const name = placeOf(memory);
  const { id, dir } = memory;
  if (dir !== null && !isDirectory(dir))
    return [fail('memory', `${dir} is gone`, 'Put it back, or run nocturne check --restore in its place.')];
  const disk = dir === null ? [] : checkDisk(dir);
  const missing = await missingFiles(db, id);
  if (missing.length > 0) {
    const remedy = 'No dream runs: put them back, or run nocturne check --accept-missing there.';
    return [...disk, fail('memory', `${name}: ${sayFirst(missing.map(({ path }) => path))} missing`, remedy)];
  }
  const last = (kind: string) =>
    db.get<{ outcome: string; error: string | null; at: string }>(
      `select outcome, error, ended_at as at from job where memory = ? and kind = ? and ended_at is not null
       order by created_at desc limit 1`,
      ...[id, kind],
    );
  const say = (kind: string, job: Awaited<ReturnType<typeof last>>) =>
    job ? `last ${kind} ${localTime(job.at, zone)} (${job.outcome})` : `no ${kind} yet`;
  const waiting = await listWork(db, { memory: id });
  const dream = await last('dream');
  const found = `${name}: ${say('extract', await last('extract'))}, ${say('dream', dream)}, ${waiting.length} waiting`;
  const first = waiting.find(({ error }) => error !== null);
  const state = first
    ? warn('memory', `${found}; ${first.kind}: ${first.error}`, 'It is tried again by itself; nocturne says when.')
    : ok('memory', found);
  if (dream?.outcome === 'refused')
    return [
      ...disk,
      fail('memory', `${name}: the last dream was refused: ${dream.error}`, 'Until then no dream runs.'),
    ];
  const open = await db.get<{ n: number }>(
    "select count(*) as n from proposal where memory = ? and state = 'open'",
    id,
  );
  const count = open?.n ?? 0;
  const waits = `${sayCount(count, 'proposed change')} in ${name} ${count === 1 ? 'waits' : 'wait'} for your word: nocturne review`;
  return [...disk, state, ...(count > 0 ? [ok('review', waits)] : [])];
}

/** What the repository hands on to the memory of the project one stands in. */
async function checkSnapshot(db: Db | null, config: Config, cwd: string): Promise<Checked[]> {
  const [tree, own] = [checkoutRoot(cwd), memoryDirIfTold(config, { cwd })];
  if (tree === null || own === null) return [];
  const memories = db && new Memories({ db, ...config });
  try {
    const snapshot = readMemorySnapshot(tree);
    if (!snapshot) return [];
    const { row } = await findPlace({ config, opened: db && memories && { db, memories } }, own);
    const offer = await offeredSnapshot(tree, db && row && { sql: db, id: row.id });
    if (!offer) return [ok('snapshot', `${snapshot.id} was applied`)];
    return [warn('snapshot', sayOffer(offer), 'Run nocturne snapshot check, then nocturne snapshot apply.')];
  } catch (error) {
    return [warn('snapshot', describeError(error), 'Nothing of it is used until it is mended.')];
  } finally {
    await memories?.close();
  }
}

function checkDisk(dir: string): Checked[] {
  const inside = join(dir, '.nocturne');
  const open = [dir, inside].filter((path) => !isPrivate(path));
  const risk = 'An edit in the same millisecond as one of ours may be lost; another file system is safer.';
  return [
    ...(isPrivate(dir) ? [] : [warn('memory', `others can read ${open.join(', ')}`, `Run chmod -R go= ${dir}.`)]),
    ...(canLink(inside) ? [] : [warn('memory', `${dir}: this file system has no hard links`, risk)]),
  ];
}
