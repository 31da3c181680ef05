// What `nocturne doctor` looks at outside of memory directories: programs, hooks, key, queue, worker, schedule, home.
// Each check answers lines that say what was found and, where something is not fine, what to do. Nothing is made or
// mended, no key is shown, and the model is asked only where the person wants it.

import { join } from 'node:path';
import { type AgentPorts, needsKey, OFFLINE_MODEL, type RunAgent } from '../agent/agent-types.ts';
import { explainFailure, openModel } from '../agent/model.ts';
import { programNamed, programOf } from '../agent/programs/programs.ts';
import { type Config, loadConfig } from '../base/config/config.ts';
import { leastDayUsd, sayTooLow } from '../base/config/prices.ts';
import { sayFormer, settingsPath } from '../base/config/settings.ts';
import { type AppError, attempt, describeError, isAppError, ruleOf } from '../base/errors.ts';
import { isDirectory, listNames } from '../base/files/directories.ts';
import { isPrivate, readTextNow, statNow } from '../base/files/files.ts';
import { keyPath, keySource, readAccess } from '../base/key.ts';
import { localTime } from '../base/time.ts';
import { type Enablement, pauseEnd } from '../memory/paths.ts';
import { namesInSpool, spoolFiles } from '../queue/spool.ts';
import { directoryOf, findProgram, withPrograms } from '../worker/model-programs.ts';
import { nextNightly } from '../worker/nightly.ts';
import { AGENT_NAMES, type Agent, findAgent, findPrograms } from './agents/agents.ts';
import { readSettings } from './agents/settings-text.ts';
import { isInstalled } from './plan.ts';
import { nightOf } from './schedules.ts';

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

export function sayFirst(names: string[]): string {
  const rest = names.length - MOST_NAMED;
  return [...names.slice(0, MOST_NAMED), ...(rest > 0 ? [`and ${rest} more`] : [])].join(', ');
}

const ANSWERS_WITHIN_MS = 20_000;
const PROGRAM_ANSWERS_WITHIN_MS = 90_000;
const HOUR_MS = 3_600_000;

export function checkHome({ home }: Config): Checked {
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
export function checkEnablement({ enabled, reason, pausedUntil, pausedProject, isUnknown }: Enablement): Checked[] {
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
export async function asAtNight(config: Config): Promise<Config> {
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
export async function checkProgram(config: Config): Promise<Checked[]> {
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

type Counting = Pick<AgentPorts, 'reserve' | 'settle'>;

/** Sends the model one request of a few tokens; answers what it failed with. */
export async function tryModel(config: Config, spend: Counting): Promise<unknown> {
  try {
    const isProgram = programOf(config.model) !== null;
    // A program answers in a form of its own, and starts first.
    const maxOutputTokens = isProgram ? 500 : 1;
    const request = {
      model: config.model,
      access: await readAccess(config),
      system: '',
      input: '',
      tools: [],
      maxTurns: 1,
      maxOutputTokens,
      requestMs: Math.min(config.requestMs, isProgram ? PROGRAM_ANSWERS_WITHIN_MS : ANSWERS_WITHIN_MS),
    };
    const ask: RunAgent = async (asked, ports) => {
      const hi = {
        model: config.model,
        max_tokens: maxOutputTokens,
        // Codex takes no empty one.
        ...(isProgram && { system: 'Answer in one word.' }),
        messages: [{ role: 'user' as const, content: 'Hi' }],
      };
      await openModel(asked, ports).messages.create(hi);
      return 'done';
    };
    await withPrograms(config, ask)(request, {
      callTool: async () => ({ text: '', isError: true }),
      reserve: spend.reserve,
      settle: spend.settle,
    });
    return undefined;
  } catch (error) {
    return explainFailure(error, config);
  }
}

/** The agent's own settings, where they tell where memory lives and whether it is on. */
export function checkAgentSettings({ agentMemory }: Config): Checked[] {
  const { problem, path } = agentMemory.settings;
  return problem ? [fail('agent settings', problem, `Fix ${path}: until then nothing is learned.`)] : [];
}

/** Sessions that hooks told of and no worker has taken up yet. */
export function checkSpool(config: Config): Checked {
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
