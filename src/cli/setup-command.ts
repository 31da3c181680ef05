// setup: the first hour. Finds the agents on this machine, asks which model is to read their sessions, says in a few lines what will be
// written where (the whole of it on demand), tries the model by one request of a few tokens, keeps a key, which is never shown, and offers
// to learn the sessions of the last days. Nothing is written before a person, or --yes, says so; sessions from before are learned only
// where that is asked for, else nobody takes them.

import { join } from 'node:path';
import { needsKey } from '../agent/agent-types.ts';
import { type Config, loadConfig } from '../base/config/config.ts';
import { describeError, isAppError, ruleOf } from '../base/errors.ts';
import { statNow } from '../base/files/files.ts';
import { keyPath, keySource } from '../base/key.ts';
import { openDatabase } from '../db/open-database.ts';
import { AGENT_NAMES, type AgentName, findAgent } from '../setup/agents/agents.ts';
import { type Backlog, lookBefore, offerBacklog, usualDay } from '../setup/backlog.ts';
import {
  type Around,
  askForKey,
  askForModel,
  countingIn,
  defaultOf,
  keyModel,
  lookAround,
  type Offer,
  offerNamed,
  offersOf,
  tryModel,
} from '../setup/choose-model.ts';
import {
  applyChange,
  carryOut,
  dataOf,
  diffsOf,
  hasOurs,
  isHere,
  type KeyOptions,
  keepWithAddress,
  type Plan,
  planFor,
  planUninstall,
} from '../setup/plan.ts';
import { schedulerWithNight } from '../setup/schedules.ts';
import { type Asking, canAsk, EXIT, note, print, printRaw, progress, Questions } from '../terminal/output.ts';
import { fromHome } from '../terminal/phrases.ts';
import { sayHere } from '../worker/whose-memory.ts';
import { withApp } from './cli-options.ts';
import type { Call, CommandSpec } from './spec.ts';

interface SetupOptions extends KeyOptions {
  yes?: boolean;
  dryRun?: boolean;
  json?: boolean;
  schedule: string;
  model?: string;
  learn?: boolean;
  remove?: boolean;
}

type SetupCall = Call<SetupOptions, [AgentName[]]>;

const setupCommand: CommandSpec<SetupOptions, [AgentName[]]> = {
  name: 'setup',
  about: 'connect your agents, choose a model, learn your last sessions',
  args: [['[agent...]', 'default: those that are found', AGENT_NAMES]],
  options: [
    ['--yes', 'accept what it would write, without asking; earlier sessions are not read'],
    [
      '--model <id>',
      'which model reads the sessions: claude-code, codex, offline, or a model id (then it does not ask)',
    ],
    ['--learn', 'also learn the sessions of the last days', { conflicts: 'remove' }],
    ['--remove', 'take it all out again; memory and the key stay'],
    ['--dry-run', 'show all that would be changed, and change nothing'],
    [
      '--schedule <which>',
      "what starts the nightly run: the system's scheduler, or only sessions",
      { choices: ['auto', 'none'], default: 'auto' },
    ],
    ['--key-stdin', 'keep the key that stands on stdin, as in --key-stdin < FILE', { conflicts: 'keyCommand' }],
    ['--key-command <command>', 'a command that prints the key, run whenever one is needed'],
  ],
  json: '{ isDone, agents: [{ agent, file, isChanged, diff }], schedule, model?, canLearn?, backlog?, learned? }',
  examples: ['setup', 'setup --yes --learn', 'setup --model claude-code', 'setup --remove'],
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
  const hooks = await planFor(config, { agents, options });
  const say = options.json ? () => {} : print;
  const backlog = options.dryRun ? undefined : await lookBefore(config);
  const around = await lookFor(config, agents, backlog?.sessions);
  const questions = canAsk() && !options.yes && !options.json && !options.dryRun ? new Questions() : null;
  try {
    const chosen = await choose(around, { options, questions, say });
    if (!chosen) return void leftAsItIs(true);
    const plan = { ...hooks, settings: chosen.settings };
    const told = { ...toldOf(plan), model: chosen.model };
    say(summary(plan, { config, model: chosen.said }));
    if (options.dryRun) return options.json ? print({ isDone: false, ...told }) : await showAll(plan, config);
    if (!(await isWanted(plan, { config, questions, yes: options.yes }))) {
      if (options.json) print({ isDone: false, ...told });
      return;
    }
    await carryOut(config, plan, options);
    for (const { agent, from, to } of plan.changes) if (from !== to) findAgent(agent).afterwards.forEach(say);
    const canLearn = await settleModel(await loadConfig({ model: chosen.model }), {
      questions,
      say,
      given: chosen.apiKey,
    });
    const { learn } = options;
    const { offered, same } = await withApp({ options: {}, parts: call.parts }, async (app) => ({
      offered: await offerBacklog(app, { questions, canLearn, say, backlog, learn }),
      same: await sayHere(app),
    }));
    const isLeft = 'learned' in offered ? offered.learned.waiting.length > 0 : learn && !canLearn;
    if (isLeft && offered.backlog.sessions > 0) process.exitCode = EXIT.attention;
    if (options.json) print({ isDone: true, ...told, canLearn, ...offered });
    const fromNow = canLearn
      ? 'Done. From now on nocturne learns from each session that ends.'
      : 'The hooks are in place. Sessions that end from now on wait until the model can be asked.';
    if (same) say(`${same}: nocturne adopt`);
    say(
      `${fromNow} nocturne shows what it learned, nocturne doctor whether all works, nocturne setup --remove takes it out.`,
    );
  } finally {
    questions?.close();
  }
}

interface Chosen extends Pick<Offer, 'model' | 'settings' | 'apiKey'> {
  /** In words. */
  said: string;
}

/** The model that is named, asked for, or taken by itself; null: the person went away. */
async function choose(
  around: Around,
  { options, questions, say }: Asking & { options: SetupOptions },
): Promise<Chosen | null> {
  const { config } = around;
  const { NOCTURNE_MODEL: ofShell } = config.environment;
  const hasKey = (options.keyStdin ?? options.keyCommand) !== undefined;
  if (options.model || ofShell || hasKey) {
    const offer = offerNamed(options.model ?? ofShell ?? keyModel(config.model), around);
    if (options.model || !ofShell) return { ...offer, said: `${offer.title}: ${offer.about}` };
    // It counts in this shell, and the schedule brings it along: settings stay as they are.
    const own = Object.entries(offer.settings).filter(([name]) => name.startsWith('agentPrograms.'));
    return { ...offer, settings: Object.fromEntries(own), said: offer.title };
  }
  if (questions) {
    const choice = await askForModel(around, { questions, say });
    return choice && { ...choice, said: choice.title };
  }
  const offer = defaultOf(offersOf(around), around);
  const why = offer.kind === 'offline' && !offer.isPresent ? 'no login of these agents and no key was found. ' : '';
  return { ...offer, said: `${offer.title}: ${why}${offer.about}` };
}

async function lookFor(config: Config, agents: AgentName[], sessions: Backlog['sessions'] = []): Promise<Around> {
  const bar = progress('looking for models');
  const found = await lookAround(config).finally(() => bar.stop());
  const byAgent = [...Map.groupBy(sessions, ({ agent }) => agent)].map(([name, of]) => [name, of.length]);
  const dayOf = (model: string) => usualDay(sessions, { ...config, model });
  return { ...found, config, agents, sessions: Object.fromEntries(byAgent), dayOf };
}

function toldOf({ changes, scheduler }: Plan) {
  return { agents: changes.map(dataOf), schedule: scheduler?.name ?? null };
}

function summary({ changes, scheduler }: Plan, { config, model }: { config: Config; model: string }): string {
  const said = changes.map(({ agent, file, from, to }) => {
    const what =
      from === to
        ? 'is in place'
        : agent === 'opencode'
          ? 'a plugin'
          : `hooks${config.recallPrompts ? ', one with each prompt' : ''}`;
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
    row('Model', model),
  ].join('\n');
}

function row(name: string, said: string): string {
  return `  ${name.padEnd(12)}  ${said}`;
}

/** Asks until there is an answer; `d` shows the whole difference. */
async function isWanted(
  plan: Plan,
  { config, questions, yes }: { config: Config; questions: Questions | null; yes?: boolean },
): Promise<boolean> {
  const isInPlace = plan.changes.every(({ from, to }) => from === to) && !plan.scheduler;
  if (yes || isInPlace) return true;
  for (;;) {
    const answer = (await questions?.ask('Do it? [y/N, d shows every change] '))?.trim().toLowerCase();
    if (answer === 'y' || answer === 'yes') return true;
    if (answer !== 'd') break;
    await showAll(plan, config);
  }
  return leftAsItIs(questions !== null);
}

async function remove({ args, options }: SetupCall): Promise<void> {
  const config = await loadConfig();
  const named = args[0].length > 0 ? args[0] : AGENT_NAMES.filter((name) => hasOurs(config, name));
  const all = named.map((name) => planUninstall(config, name));
  const changes = all.filter(({ from, to }) => from !== to);
  const isLast = AGENT_NAMES.every((name) => named.includes(name) || !hasOurs(config, name));
  const scheduler = isLast ? await schedulerWithNight(config.environment) : null;
  const plan = { changes, scheduler, night: null };
  const end = (isDone: boolean, words = '') => {
    if (options.json) print({ isDone, ...toldOf(plan) });
    else if (words !== '') print(words);
  };
  const apply = () => all.forEach((change) => void applyChange(config, change));
  if (changes.length === 0 && !scheduler) {
    // A person took the hooks out: only what was kept of the file before is left.
    if (!options.dryRun) apply();
    return end(true, 'No agent has settings of nocturne.');
  }
  const hasKey = statNow(keyPath(config)) !== null;
  const out = [
    ...changes.map(({ agent, file }) => row(findAgent(agent).title, `out of ${fromHome(file, config)}`)),
    ...(scheduler ? [row('Nightly run', `out of ${scheduler.name}`)] : []),
    row('The rest', `memory stays, and so does ${fromHome(config.home, config)}${hasKey ? ' with the key' : ''}`),
  ];
  if (!options.json) print(['This removes nocturne:', ...out].join('\n'));
  if (options.dryRun) return options.json ? end(false) : showAll(plan, config);
  const questions = canAsk() && !options.yes && !options.json ? new Questions() : null;
  const isSure = await isWanted(plan, { config, questions, yes: options.yes }).finally(() => questions?.close());
  if (!isSure) return end(false);
  apply();
  await scheduler?.remove();
  end(true, 'Done.');
}

async function showAll(plan: Plan, config: Config): Promise<void> {
  for (const diff of await diffsOf(plan, config)) printRaw(diff);
}

/** Nobody said yes. */
function leftAsItIs(isAsking: boolean): false {
  note(
    isAsking
      ? 'Nothing was changed.'
      : 'Nothing was changed: there is no terminal to ask on. To do it without asking: --yes',
  );
  process.exitCode = EXIT.attention;
  return false;
}

const MOST_ASKED = 3;

/** Answers whether the model can be asked now, and says why not; `given`: a key that was typed for it. */
async function settleModel(config: Config, { questions, say, given }: Asking & { given?: string }): Promise<boolean> {
  if (config.model === 'offline') return true;
  if (!given && (!needsKey(config.model) || keySource(config) !== 'none')) {
    const isGood = (await tryIt(config, say)) === 'good';
    const { apiKey } = config.access;
    if (isGood && needsKey(config.model) && apiKey) await offerToKeep(config, { questions, say, apiKey });
    return isGood;
  }
  for (let asked = given ? -1 : 0; questions && asked < MOST_ASKED; asked += 1) {
    const apiKey = asked < 0 ? given : await askForKey(questions);
    if (!apiKey) break;
    const state = await tryIt({ ...config, access: { ...config.access, apiKey } }, say);
    if (state === 'refused') continue;
    await keepWithAddress(config, apiKey);
    return state === 'good';
  }
  const otherwise = questions ? 'Run nocturne setup again when you have one.' : 'Give --key-stdin or --key-command.';
  say(`There is no key yet: nothing is learned until there is, and nothing is lost. ${otherwise}`);
  return false;
}

type Tried = 'good' | 'refused' | 'untried';

/** By one small request. */
async function tryIt(config: Config, say: Asking['say']): Promise<Tried> {
  const { model } = config;
  const isByKey = needsKey(model) && keySource(config) !== 'unneeded';
  const db = await openDatabase({ home: config.home, url: config.databaseUrl });
  const bar = progress(`asking ${model}`);
  try {
    const error = await tryModel(config, countingIn(db, config)).finally(() => bar.stop());
    if (!error) {
      say(`${isByKey ? 'The key works: ' : ''}${model} answers.`);
      return 'good';
    }
    const isRefused = isByKey && isAppError(error) && ruleOf(error.code).class === 'auth';
    const what = isByKey ? 'The key' : model;
    say(`${what} ${isRefused ? 'does not work' : 'could not be tried'}: ${describeError(error)}`);
    return isRefused ? 'refused' : 'untried';
  } finally {
    await db.close();
  }
}

/** A scheduler has nothing of a shell's environment. */
async function offerToKeep(config: Config, { questions, say, apiKey }: Asking & { apiKey: string }): Promise<void> {
  const { home, baseUrl = config.access.baseURL } = config;
  const path = fromHome(keyPath({ home, baseUrl }), config);
  const isKept = await questions?.confirm(`The key is only set in this shell. Keep it for the nights, in ${path}?`);
  if (isKept) await keepWithAddress(config, apiKey);
  else say('The key is only set in this shell; the nightly run has none. --key-stdin keeps it.');
}
