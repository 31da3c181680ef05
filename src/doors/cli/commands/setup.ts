// setup: the first hour. Finds the agents on this machine, says in a few lines what will be written where (the whole of
// it on demand), keeps a key, which is never shown, after trying it by one request of a few tokens, and offers to learn
// the sessions of the last days. Nothing is written before a person, or --yes, says so; sessions from before are learned
// only where that is asked for, else nobody takes them.

import { delimiter, dirname, join } from 'node:path';
import { type Config, loadConfig } from '../../../base/config/config.ts';
import { describeError, isAppError, ruleOf } from '../../../base/errors.ts';
import { isDirectory } from '../../../base/files/directories.ts';
import { statNow } from '../../../base/files/files.ts';
import { keepKey, keyPath, keySource } from '../../../base/key.ts';
import { tryModel } from '../../doctor/checks.ts';
import { openHomeOf } from '../../places.ts';
import { AGENT_NAMES, type AgentName, findAgent } from '../../setup/agents/agents.ts';
import { applyChange, hasOurs, isInstalled, planUninstall } from '../../setup/agents/installing.ts';
import { offerBacklog } from '../../setup/backlog.ts';
import { type Scheduler, schedulers } from '../../setup/schedules.ts';
import type { Call, CommandSpec } from '../spec.ts';
import { type Asking, canAsk, Questions } from '../terminal/ask.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import { fromHome } from '../terminal/words.ts';
import {
  askForApiKey,
  carryOut,
  dataOf,
  type InstallOptions,
  leftAsItIs,
  leftToDo,
  NIGHT_AND_KEY,
  type Plan,
  planFor,
  showAll,
} from './install.ts';

interface SetupOptions extends InstallOptions {
  learn?: boolean;
  remove?: boolean;
}

type SetupCall = Call<SetupOptions, [AgentName[]]>;

const setupCommand: CommandSpec<SetupOptions, [AgentName[]]> = {
  name: 'setup',
  about: 'set it up for the agents found here; learn their last sessions',
  group: 'Every day',
  args: [['[agent...]', 'default: those that are found', AGENT_NAMES]],
  options: [
    ['--yes', 'accept what it would write; sessions from before stay unlearned'],
    ['--learn', 'learn the sessions of the last days, too', { conflicts: 'remove' }],
    ['--remove', 'take it all out again; memory and the key stay'],
    ['--dry-run', 'show all that would be changed, and change nothing'],
    ['--allow-memory-writes', 'let the agent write its memory files without asking (Claude Code)'],
    ...NIGHT_AND_KEY,
  ],
  json: '{ isDone, agents: [{ agent, file, isChanged, diff }], schedule, canLearn?, backlog?, learned? }',
  examples: ['setup', 'setup --yes --learn', 'setup --remove'],
  run: (call) => (call.options.remove ? remove(call) : setUp(call)),
};

export const commands: CommandSpec[] = [setupCommand] as CommandSpec[];

async function setUp(call: SetupCall): Promise<void> {
  const { options, args } = call;
  const config = await loadConfig();
  const agents = args[0].length > 0 ? args[0] : AGENT_NAMES.filter((name) => isHere(name, config));
  if (agents.length === 0) {
    const names = AGENT_NAMES.map((name) => findAgent(name).title).join(', ');
    note(`No agent was found here (${names}). Name one: nocturne setup claude-code`);
    process.exitCode = EXIT.attention;
    return;
  }
  const plan = await planFor(config, { agents, options });
  const say = options.json ? () => {} : print;
  const told = toldOf(plan);
  say(summary(plan, config));
  if (options.dryRun) return options.json ? print({ isDone: false, ...told }) : showAll(plan);
  const questions = canAsk() && !options.yes && !options.json ? new Questions() : null;
  try {
    if (!(await isWanted(plan, { questions, yes: options.yes }))) {
      if (options.json) print({ isDone: false, ...told });
      return;
    }
    await carryOut(config, plan, options);
    for (const line of leftToDo(plan.changes)) say(line);
    const canLearn = await settleKey(await loadConfig(), { questions, say });
    const offered = await offerBacklog(call, { questions, canLearn, say });
    if (options.json) print({ isDone: true, ...told, canLearn, ...offered });
    const fromNow = canLearn
      ? 'Done. From now on nocturne learns from each session that ends.'
      : 'The hooks are in place. Sessions that end from now on wait until the model can be asked.';
    say(
      `${fromNow} nocturne shows what it learned, nocturne doctor whether all works, nocturne setup --remove takes it out.`,
    );
  } finally {
    questions?.close();
  }
}

function toldOf({ changes, scheduler }: Plan) {
  return { agents: changes.map(dataOf), schedule: scheduler?.name ?? null };
}

/** Whether the agent is on this machine: its directory, or its program. */
function isHere(name: AgentName, config: Config): boolean {
  const file = findAgent(name).file(config);
  if (isDirectory(name === 'opencode' ? dirname(dirname(file)) : dirname(file)) || isInstalled(config, name))
    return true;
  const program = name === 'claude-code' ? 'claude' : name;
  const path = (config.environment.PATH ?? '').split(delimiter).filter(Boolean);
  return path.some((dir) => statNow(join(dir, program)) !== null);
}

function summary({ changes, scheduler }: Plan, config: Config): string {
  const said = changes.map(({ agent, file, from, to, receipt }) => {
    const rules = receipt?.rules.length ? ', and may write its memory unasked' : '';
    const what =
      from === to
        ? 'is in place'
        : agent === 'opencode'
          ? 'a plugin'
          : `hooks${config.recallPrompts ? ', one with each prompt' : ''}${rules}`;
    return row(findAgent(agent).title, `${what}: ${fromHome(file, config)}`);
  });
  const { memoryDir, agentMemory, claudeDir } = config;
  const own = memoryDir ?? agentMemory.settings.autoMemoryDirectory;
  return [
    'nocturne learns from your sessions with coding agents. It will write:',
    ...said,
    row(
      'Nightly run',
      scheduler
        ? `${scheduler.name}: ${config.dreamCron} (dreamCron)`
        : 'no schedule: the first session of a day starts it',
    ),
    row('Its own data', fromHome(config.home, config)),
    row('Memory', own ? fromHome(own, config) : `${fromHome(join(claudeDir, 'projects'), config)}/<project>/memory`),
    row('Model', config.model === 'offline' ? 'offline: rules for English, on this machine, free' : config.model),
  ].join('\n');
}

function row(name: string, said: string): string {
  return `  ${name.padEnd(12)}  ${said}`;
}

/** Asks until there is an answer; `d` shows the whole difference. */
async function isWanted(
  plan: Plan,
  { questions, yes }: { questions: Questions | null; yes?: boolean },
): Promise<boolean> {
  const isInPlace = plan.changes.every(({ from, to }) => from === to) && !plan.scheduler;
  if (yes || isInPlace) return true;
  for (;;) {
    const answer = (await questions?.ask('Do it? [y/N, d shows every change] '))?.trim().toLowerCase();
    if (answer === 'y' || answer === 'yes') return true;
    if (answer !== 'd') break;
    showAll(plan);
  }
  return leftAsItIs(questions !== null);
}

async function remove({ args, options }: SetupCall): Promise<void> {
  const config = await loadConfig();
  const named = args[0].length > 0 ? args[0] : AGENT_NAMES.filter((name) => hasOurs(config, name));
  const changes = named.map((name) => planUninstall(config, name)).filter(({ from, to }) => from !== to);
  const isLast = AGENT_NAMES.every((name) => named.includes(name) || !hasOurs(config, name));
  const nights = isLast ? await standingNights(config) : [];
  const plan = { changes, scheduler: nights[0] ?? null, night: null };
  const end = (isDone: boolean, words = '') => {
    if (options.json) print({ isDone, ...toldOf(plan) });
    else if (words !== '') print(words);
  };
  if (changes.length + nights.length === 0) return end(true, "Nothing of nocturne's is in the settings of any agent.");
  const hasKey = statNow(keyPath(config)) !== null;
  const out = [
    ...changes.map(({ agent, file }) => row(findAgent(agent).title, `out of ${fromHome(file, config)}`)),
    ...nights.map(({ name }) => row('Nightly run', `out of ${name}`)),
    row('The rest', `memory stays, and so does ${fromHome(config.home, config)}${hasKey ? ' with the key' : ''}`),
  ];
  if (!options.json) print(['This takes nocturne out:', ...out].join('\n'));
  if (options.dryRun) return options.json ? end(false) : showAll(plan);
  const questions = canAsk() && !options.yes && !options.json ? new Questions() : null;
  const isSure = await isWanted(plan, { questions, yes: options.yes }).finally(() => questions?.close());
  if (!isSure) return end(false);
  for (const change of changes) applyChange(config, change);
  for (const scheduler of nights) await scheduler.remove();
  end(true, 'Done.');
}

async function standingNights({ environment }: Config): Promise<Scheduler[]> {
  const all = schedulers(environment);
  const states = await Promise.all(all.map((each) => each.state()));
  return all.filter((_, at) => states[at] !== null);
}

const MOST_ASKED = 3;

/** Answers whether the model can be asked now, and says why not. */
async function settleKey(config: Config, { questions, say }: Asking): Promise<boolean> {
  if (config.model === 'offline') return true;
  if (keySource(config) !== 'none') {
    const isGood = (await tryKey(config, say)) === 'good';
    const { apiKey } = config.access;
    if (isGood && keySource(config) === 'environment' && apiKey) await offerToKeep(config, { questions, say, apiKey });
    return isGood;
  }
  for (let asked = 0; questions && asked < MOST_ASKED; asked += 1) {
    const apiKey = await askForApiKey(questions);
    if (!apiKey) break;
    const state = await tryKey({ ...config, access: { ...config.access, apiKey } }, say);
    if (state === 'refused') continue;
    keepKey(config, apiKey);
    return state === 'good';
  }
  const otherwise = questions
    ? 'Run nocturne setup again when you have one.'
    : 'Give --key-stdin, --key-file or --key-command.';
  say(`There is no key yet: nothing is learned until there is, and nothing is lost. ${otherwise}`);
  return false;
}

type KeyState = 'good' | 'refused' | 'untried';

async function tryKey(config: Config, say: Asking['say']): Promise<KeyState> {
  const { home, close } = openHomeOf(config);
  try {
    const error = await tryModel(config, home);
    if (!error) {
      say(`The key works: ${config.model} answers.`);
      return 'good';
    }
    const isRefused = isAppError(error) && ruleOf(error.code).class === 'auth';
    say(`${isRefused ? 'The key does not work' : 'The key could not be tried'}: ${describeError(error)}`);
    return isRefused ? 'refused' : 'untried';
  } finally {
    await close();
  }
}

/** A scheduler has nothing of a shell's environment. */
async function offerToKeep(config: Config, { questions, say, apiKey }: Asking & { apiKey: string }): Promise<void> {
  const path = fromHome(keyPath(config), config);
  const isKept = await questions?.confirm(`It is in this shell alone. Keep it for the nights, in ${path}?`);
  if (isKept) keepKey(config, apiKey);
  else say('The key is in this shell alone: nights have none. --key-stdin or --key-file keeps one.');
}
