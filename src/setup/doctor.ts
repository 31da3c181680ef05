// All that `nocturne doctor` looks at, in the order in which a person would mend it: programs, hooks, key, model, queue, worker,
// schedule, and what `nocturne` says needs a person. What is in the files `nocturne check` looks at. Each check answers lines that
// say what was found and, where something is not fine, what to do. Nothing is made or mended (where there is no database yet, what
// would be in it is not asked), no key is shown, and the model is asked only where the person wants it.

import { join } from 'node:path';
import { needsKey, OFFLINE_MODEL } from '../agent/agent-types.ts';
import { programNamed, programOf } from '../agent/programs/programs.ts';
import { type Config, loadConfig } from '../base/config/config.ts';
import { leastDayUsd, sayTooLow } from '../base/config/prices.ts';
import { sayFormer, settingsPath } from '../base/config/settings.ts';
import { type AppError, attempt, describeError, isAppError, onAppError, ruleOf } from '../base/errors.ts';
import { isDirectory, listNames } from '../base/files/directories.ts';
import { isOnNetwork, isPrivate, readTextNow, statNow } from '../base/files/files.ts';
import { keyPath, keySource, readAccess } from '../base/key.ts';
import { sayCount } from '../base/text/wording.ts';
import { localTime } from '../base/time.ts';
import { backupsIn, damageOf } from '../db/backup.ts';
import { databasePath, lostDatabase } from '../db/open-database.ts';
import { settingOf } from '../db/sql.ts';
import { isUsed } from '../memory/memories.ts';
import { type Enablement, pauseEnd } from '../memory/paths.ts';
import { namesInSpool, spoolFiles } from '../queue/spool.ts';
import { openWake } from '../queue/wake.ts';
import { allWorkers } from '../queue/workers.ts';
import { NETWORK_RISK, shellPath } from '../terminal/phrases.ts';
import { type App, openApp } from '../worker/compose.ts';
import { directoryOf, findProgram } from '../worker/model-programs.ts';
import { nextNightly } from '../worker/nightly.ts';
import { knownMemories, offersHere, readOverview } from '../worker/overview.ts';
import { AGENT_NAMES, type Agent, findAgent, findPrograms } from './agents/agents.ts';
import { readSettings } from './agents/settings-text.ts';
import { type Counting, countingIn, tryModel } from './choose-model.ts';
import { isInstalled } from './plan.ts';
import { nightOf, schedulerWithNight } from './schedules.ts';

export interface Checked {
  /** What was looked at. */
  what: string;
  /** `warn` works, but not as well as it could; `fail` needs a person. */
  state: 'ok' | 'warn' | 'fail';
  found: string;
  /** What to do; only beside `warn` and `fail`. */
  remedy?: string;
}

export function ok(what: string, found: string): Checked {
  return { what, state: 'ok', found };
}

export function warn(what: string, found: string, remedy: string): Checked {
  return { what, state: 'warn', found, remedy };
}

export function fail(what: string, found: string, remedy: string): Checked {
  return { what, state: 'fail', found, remedy };
}

const MOST_NAMED = 20;

function sayFirst(names: string[]): string {
  const rest = names.length - MOST_NAMED;
  return [...names.slice(0, MOST_NAMED), ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ');
}

const HOUR_MS = 3_600_000;

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

// What is outside of the database.

function checkHome({ home }: Config): Checked {
  if (!isDirectory(home)) {
    return statNow(home) === null
      ? fail('home', `${home} is not there`, 'Run nocturne setup.')
      : fail('home', `${home} is no directory`, 'Move it away, or set NOCTURNE_HOME to another place.');
  }
  // What is in a directory that nobody else may enter is out of reach, whatever its own mode.
  if (isPrivate(home)) return ok('home', home);
  const open = [home, ...listNames(home).map((name) => join(home, name))].filter((path) => !isPrivate(path));
  return fail('home', `others can read ${open.join(', ')}`, `Run chmod -R go= ${home}.`);
}

/** What could not be looked into, and what to do. */
export function failed(what: string): (error: AppError) => Checked[] {
  return (error) => [fail(what, error.message, error.remedy ?? 'Fix it.')];
}

/** A pattern that gives no night keeps every worker from starting; what is no setting any more is not read. */
export function checkSettings(config: Config): Checked[] {
  const former = sayFormer(config.former);
  const tooLow = sayTooLow(config);
  return [
    ...(attempt(() => void nextNightly(config, config.clock.now()), failed('settings')) ?? []),
    ...(config.unknown ? [fail('settings', config.unknown, `It is in ${settingsPath(config.home)}.`)] : []),
    ...(tooLow ? [warn('settings', tooLow, `nocturne config dayMoneyUsd ${leastDayUsd(config)}`)] : []),
    ...(former ? [warn('settings', former, `Take it out of ${settingsPath(config.home)}.`)] : []),
  ];
}

/** The hooks of every agent that nocturne was installed for, or is found in. */
export function checkHooks(config: Config): Checked[] {
  const found = AGENT_NAMES.flatMap((name) => checkHooksOf(findAgent(name), config));
  if (found.length > 0) return found;
  return [fail('hook', 'installed for no agent', 'Run nocturne setup.')];
}

function checkHooksOf(agent: Agent, config: Config): Checked[] {
  const what = `hook of ${agent.title}`;
  const file = agent.file(config);
  try {
    const text = readTextNow(file);
    const parts = text === null ? [] : agent.find(text, file);
    const plugin = agent.name === 'claude-code' && text !== null ? pluginName(text, file) : undefined;
    const again = `Run nocturne setup ${agent.name}.`;
    if (parts.length === 0) {
      if (plugin) return [ok(what, `by the plugin ${plugin}`)];
      return isInstalled(config, agent.name) ? [fail(what, `gone from ${file}`, again)] : [];
    }
    const wanted = agent.find(agent.add('', findPrograms(config.environment), config), file);
    if (wanted.join('\n') !== parts.join('\n')) {
      const why = `${file} names another nocturne or Node, or other hooks than config.json asks for`;
      return [fail(what, why, again)];
    }
    return [
      ok(what, file),
      ...(plugin
        ? [warn(what, `the plugin ${plugin} runs it too`, `Keep one: nocturne setup ${agent.name} --remove.`)]
        : []),
      ...(agent.name !== 'opencode' && readSettings(text ?? '', file).disableAllHooks === true
        ? [fail(what, `${file} switches all hooks off`, 'Remove "disableAllHooks" from it.')]
        : []),
    ];
  } catch (error) {
    return [fail(what, isAppError(error) ? error.message : describeError(error), `Fix ${file}.`)];
  }
}

function pluginName(text: string, file: string): string | undefined {
  const enabled = Object.entries((readSettings(text, file).enabledPlugins ?? {}) as Record<string, unknown>);
  return enabled.find(([name, isOn]) => name.startsWith('nocturne@') && isOn === true)?.[0];
}

/** Whether nocturne may work unasked for the project that doctor is run in. */
function checkEnablement({ enabled, reason, pausedUntil, pausedProject, isUnknown }: Enablement): Checked[] {
  // Of settings that cannot be read another check tells.
  if (enabled || isUnknown) return [];
  const remedy = pausedUntil === undefined ? 'Change that if you did not mean it.' : `Run ${pauseEnd(pausedProject)}.`;
  return [warn('switches', `nothing happens by itself here: ${reason}`, remedy)];
}

export async function checkKey(config: Config): Promise<Checked[]> {
  if (!needsKey(config.model)) return [ok('key', `the model ${config.model} needs none`)];
  const source = keySource(config);
  const keep =
    'Run nocturne setup: it asks for a key and tries it. Without a terminal: nocturne setup --key-stdin or --key-command.';
  if (source === 'none') return [fail('key', 'none is set', keep)];
  if (source === 'environment') {
    const isKept = statNow(keyPath(config)) !== null || config.keyCommand !== undefined;
    if (isKept) return [ok('key', 'in the environment, and kept')];
    return [warn('key', 'only set in this environment; the nightly schedule has none', keep)];
  }
  if (source === 'unneeded') return [ok('key', `none; ${config.baseUrl} is asked without a key`)];
  // A command may ask a person, or a server: it is run only to ask the model.
  if (source === 'command') return [ok('key', `by the command ${config.keyCommand?.[0]}`)];
  try {
    await readAccess(config);
    return [ok('key', keyPath(config))];
  } catch (error) {
    return [fail('key', describeError(error), `Run chmod 600 ${keyPath(config)}, or keep a key again.`)];
  }
}

/** The settings as the schedule's process has them, where a program stands as the model; else as they are. */
async function asAtNight(config: Config): Promise<Config> {
  if (programOf(config.model) === null) return config;
  const night = attempt(
    () => nightOf(config, findPrograms(config.environment)),
    () => null,
  );
  if (night === null) return config;
  const { userDir, clock, model } = config;
  return { ...(await loadConfig({ model }, { ...night.environment, HOME: userDir, USERPROFILE: userDir })), clock };
}

/**
 * Which file an agent's program that stands as the model is, its version, how it pays, and what it sends along; no request
 * is sent. It is tried as the schedule would start it: what works in a shell may not work at night.
 */
async function checkProgram(config: Config): Promise<Checked[]> {
  const name = programOf(config.model)?.name;
  if (name === undefined) return [];
  const night = await asAtNight(config);
  const { title, path, version, login, movedFrom, problem } = await findProgram(name, night);
  const shown = programNamed(name).alsoShown.map((file) => join(directoryOf(name, night), file));
  const moved = movedFrom ? `; ${movedFrom}, where set-up found it, is gone` : '';
  const again = `Run nocturne setup --model ${config.model}, which keeps where it is now.`;
  if (problem) {
    const found = `as the schedule starts it: ${problem.message.replace(/\.$/, '')}${moved}`;
    return [fail('program', found, path === null ? again : (problem.remedy ?? 'Fix it.'))];
  }
  const paid = login?.paidBy === 'plan' ? `on your plan, ${login.said}` : `by ${login?.said}, which costs money`;
  const found = `${title} ${version}, ${path}, ${paid}`;
  return [
    movedFrom ? warn('program', `${found}${moved}`, again) : ok('program', found),
    ...shown
      .filter((file) => statNow(file) !== null)
      .map((file) => ok('program', `it sends ${file} along with each request`)),
  ];
}

/** Whether the model takes the key, told by one request of a few tokens. */
export async function checkModel(config: Config, spend: Counting): Promise<Checked[]> {
  if (config.model === OFFLINE_MODEL || (needsKey(config.model) && keySource(config) === 'none')) return [];
  const error = await tryModel(config, spend);
  if (!error) return [ok('model', `${config.model} answers`)];
  const { class: kind } = ruleOf(isAppError(error) ? error.code : null);
  return kind === 'transient' || kind === 'rate-limit' || kind === 'ceiling'
    ? [warn('model', `could not be asked: ${describeError(error)}`, 'Nothing is lost: the work waits.')]
    : [fail('model', describeError(error), 'Check key, model and network.')];
}

/** The agent's own settings, where they tell where memory lives and whether it is on. */
function checkAgentSettings({ agentMemory }: Config): Checked[] {
  const { problem, path } = agentMemory.settings;
  return problem ? [fail('agent settings', problem, `Fix ${path}: until then nothing is learned.`)] : [];
}

/** Sessions that hooks told of and no worker has taken up yet. */
function checkSpool(config: Config): Checked {
  const names = namesInSpool(config.home);
  if (names.length === 0) return ok('news from hooks', 'nothing waits');
  const times = spoolFiles(config.home).flatMap((file) => statNow(file)?.modifiedMs ?? []);
  if (times.length === 0) {
    const remedy = `Look at what is in ${join(config.home, 'spool')}, and remove it.`;
    return warn('news from hooks', `set aside, since it could not be read: ${sayFirst(names)}`, remedy);
  }
  const oldestMs = Math.min(...times);
  const since = localTime(new Date(oldestMs).toISOString(), config.zone);
  const found = `${names.length} waiting, the oldest since ${since}: ${sayFirst(names)}`;
  return config.clock.now().getTime() - oldestMs > HOUR_MS
    ? warn('news from hooks', found, 'Run nocturne worker --once and read what it says.')
    : ok('news from hooks', found);
}
