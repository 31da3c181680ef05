// Which model is to read the sessions: what there is on this machine, each with a plain word of who reads, what it takes and
// what it costs; which of them is taken where nobody chooses; and the question. Nothing is written here, and no model is
// asked but to try the chosen one by one request of a few tokens: programs are looked up, local endpoints list their models.

import { type AgentPorts, needsKey, OFFLINE_LIMITS, OFFLINE_MODEL, type RunAgent } from '../agent/agent-types.ts';
import { explainFailure, openModel } from '../agent/model.ts';
import { PROGRAMS, type ProgramName, programOf } from '../agent/programs/programs.ts';
import { type Config, isLocal } from '../base/config/config.ts';
import { leastDayUsd } from '../base/config/prices.ts';
import { defaultSettings } from '../base/config/settings.ts';
import { statNow } from '../base/files/files.ts';
import { keyPath, readAccess } from '../base/key.ts';
import { objectAt, objectsOf, textOf } from '../base/text/json.ts';
import { sayCount } from '../base/text/wording.ts';
import { type Db, newId } from '../db/sql.ts';
import { spendOf } from '../queue/spend.ts';
import type { Asking, Questions } from '../terminal/output.ts';
import { type FoundProgram, findProgram, programToKeep, withPrograms } from '../worker/model-programs.ts';
import { type AgentName, findAgent } from './agents/agents.ts';
import { saySize, type usualDay } from './backlog.ts';
import type { NewSettings } from './settings-file.ts';

/** About what a day with sessions takes of a model; null: there were none to tell from. */
type DayUse = ReturnType<typeof usualDay>;

export interface Around {
  config: Config;
  /** What nocturne is set up for. */
  agents: AgentName[];
  programs: FoundProgram[];
  locals: LocalEndpoint[];
  /** Sessions of the last days. */
  sessions: Partial<Record<string, number>>;
  /** The same for each model that is asked for. */
  dayOf(model: string): DayUse;
}

export interface Offer {
  kind: 'program' | 'key' | 'local' | 'endpoint' | 'offline';
  /** As `model` is set. */
  model: string;
  title: string;
  /** Who reads, what it takes and what it costs, in sentences. */
  about: string;
  /** What becomes of config.json; undefined: as by default. */
  settings: NewSettings;
  /** What nocturne uses now. */
  isPresent?: boolean;
  program?: FoundProgram;
  /** A key that was typed for it. */
  apiKey?: string;
}

/** What there is, without a request to a model. */
export async function lookAround(config: Config): Promise<Pick<Around, 'programs' | 'locals'>> {
  const [programs, locals] = await Promise.all([
    Promise.all(PROGRAMS.map((name) => findProgram(name, config))),
    findLocalEndpoints(config.environment),
  ]);
  return { programs, locals };
}

/** What can be chosen, in the order of the question. */
export function offersOf(around: Around): Offer[] {
  const { config, programs, locals } = around;
  // What is in use stays so, though it cannot be asked now.
  const inUse = programOf(config.model)?.name;
  const loggedIn = programs.filter(({ name, path, problem }) => path !== null && (!problem || name === inUse));
  const most = (offer: Offer) => around.sessions[offer.program?.name ?? ''] ?? 0;
  return [
    ...loggedIn.map((each) => programOffer(each, each.name, around)).toSorted((a, b) => most(b) - most(a)),
    keyOffer(around, keyModel(config.baseUrl === undefined ? config.model : OFFLINE_MODEL)),
    ...(config.baseUrl === undefined ? [] : [presentEndpoint(config)]),
    ...locals
      .filter(({ baseUrl }) => baseUrl !== config.baseUrl)
      .flatMap((local) => local.models.slice(0, MOST_LOCAL).map((model) => localOffer(local, model))),
    offlineOffer(config),
  ];
}

const MOST_LOCAL = 6;

/** What is taken where nobody chooses: what is in use; the login of an agent that it is set up for; a key; else none. */
export function defaultOf(offers: Offer[], { config, agents }: Pick<Around, 'config' | 'agents'>): Offer {
  const isOwn = ({ program }: Offer) => program !== undefined && agents.includes(program.name);
  const hasKey = ({ kind }: Offer) => kind === 'key' && hasKeyInShell(config);
  const chosen = offers.find(({ isPresent }) => isPresent) ?? offers.find(isOwn) ?? offers.find(hasKey);
  return chosen ?? (offers.at(-1) as Offer);
}

/** What `--model` names. Throws where the program is not there. */
export function offerNamed(model: string, around: Around): Offer {
  const named = programOf(model);
  if (named) {
    const program = around.programs.find(({ name }) => name === named.name) as FoundProgram;
    if (program.path === null) throw program.problem;
    return programOffer(program, model, around);
  }
  const local = around.locals.find(({ models }) => models.includes(model));
  if (model === OFFLINE_MODEL) return offlineOffer(around.config);
  if (local) return localOffer(local, model);
  return around.config.baseUrl
    ? { ...presentEndpoint(around.config), model, settings: { model } }
    : keyOffer(around, model);
}

/** Asks until there is an answer, and for a key where it takes one; null: the person went away. */
export async function askForModel(
  around: Around,
  { questions, say }: Asking & { questions: Questions },
): Promise<Offer | null> {
  const offers = offersOf(around);
  const standard = offers.indexOf(defaultOf(offers, around)) + 1;
  const absent = around.programs.filter(({ path, problem }) => path !== null && problem);
  say(
    [
      'Which model should read your sessions? Whoever runs it reads what you and your agents said, also in sessions with agents of other companies.',
      '',
      ...offers.map(({ title, about }, at) => `  ${String(at + 1).padStart(2)}  ${title}: ${about}`),
      ...(absent.length > 0 ? [''] : []),
      ...absent.map(({ problem }) => `Not offered: ${problem?.message} ${problem?.remedy ?? ''}`),
      '',
    ].join('\n'),
  );
  for (;;) {
    const answer = (await questions.ask(`Which number? [${standard}] `))?.trim();
    if (answer === undefined) return null;
    const offer = offers[Number(answer || standard) - 1];
    if (!offer) say(`${answer} is no number of the list. A model by its id: nocturne setup --model ID.`);
    if (offer?.kind === 'key' && !hasKeyInShell(around.config) && !isKept(around.config)) {
      const apiKey = await askForKey(questions);
      if (apiKey) return { ...offer, apiKey };
    } else if (offer) return offer;
  }
}

/** Undefined or empty: there is none. */
export async function askForKey(questions: Questions): Promise<string | undefined> {
  return (await questions.askHidden('API key for the model (not shown; empty for none): '))?.trim();
}

function programOffer(program: FoundProgram, model: string, around: Around): Offer {
  const { name, title, company, login, path } = program;
  const isPresent = programOf(around.config.model)?.name === name;
  // Where it is in use with a model of its own, that stays.
  const id = isPresent && model === name ? around.config.model : model;
  const day = around.dayOf(id);
  const kept = programToKeep(name, path as string, around.config);
  const { ANTHROPIC_BASE_URL: address = '' } = kept.environment;
  const reader = URL.canParse(address) ? `Whoever runs ${new URL(address).host}` : company;
  const cost =
    login?.paidBy === 'key'
      ? `It is logged in by a key, so it costs money: ${sayDay(day)}.`
      : `It uses up your plan: ${sayDay(day)}, at most ${sayCount(around.config.planRequests, 'request')} a day (planRequests). Whether its terms allow that is yours to check.`;
  return {
    kind: 'program',
    model: id,
    title: `${title} with your login, ${login?.said ?? 'which is not known'}`,
    about: `${reader} reads your sessions${othersThan(name, around)}. ${cost}`,
    settings: { model: id, baseUrl: undefined, [`agentPrograms.${name}`]: kept },
    isPresent,
    program,
  };
}

function keyOffer(around: Around, model: string): Offer {
  const { config } = around;
  const { access } = config;
  const host = config.baseUrl === undefined && URL.canParse(access.baseURL ?? '') && new URL(access.baseURL ?? '').host;
  const day = around.dayOf(model);
  const least = leastDayUsd({ ...config, model });
  const limit = least ? `; a limit a day (dayMoneyUsd) has to be at least $${least}` : '';
  const source = isKept(config)
    ? 'The key that is kept'
    : hasKeyInShell(config)
      ? 'The key of this shell'
      : 'An API key that you type (not shown)';
  return {
    kind: 'key',
    model,
    title: `${source}, for ${model}`,
    about: `${host ? `Whoever runs ${host}` : 'Anthropic'} reads your sessions. It costs money: ${sayDay(day)}${day?.microUsd === null ? '; its price is not known here' : ''}${limit}.`,
    settings: { model: model === defaultSettings().model ? undefined : model, baseUrl: undefined },
    isPresent: needsKey(config.model) && config.baseUrl === undefined && isKept(config),
  };
}

function localOffer({ title, baseUrl }: LocalEndpoint, model: string): Offer {
  const reads = isLocal(baseUrl) ? 'Nothing leaves this machine' : `Whoever runs ${new URL(baseUrl).host} reads them`;
  return {
    kind: 'local',
    model,
    title: `${model} of ${title} at ${baseUrl}`,
    about: `${reads}, and it is free. It is slow without a good graphics card, and small models miss much.`,
    settings: { baseUrl, model },
  };
}

function presentEndpoint(config: Config): Offer {
  const { model, baseUrl = '' } = config;
  return {
    kind: 'endpoint',
    model,
    title: `${model} at ${baseUrl}`,
    about: 'As it is set now. Whoever runs it reads your sessions.',
    settings: {},
    isPresent: needsKey(model),
  };
}

function offlineOffer({ model }: Config): Offer {
  return {
    kind: 'offline',
    model: OFFLINE_MODEL,
    title: 'None for now (offline)',
    about: `Rules on this machine, free. ${OFFLINE_LIMITS} It understands nothing.`,
    settings: { model: OFFLINE_MODEL },
    isPresent: model === OFFLINE_MODEL,
  };
}

/** The model that a key is for: this one, where it takes a key. */
export function keyModel(model: string): string {
  return needsKey(model) ? model : defaultSettings().model;
}

function hasKeyInShell({ access }: Config): boolean {
  return (access.apiKey ?? access.authToken) !== undefined;
}

/** Whether Anthropic's key, or a command for it, is kept. */
function isKept({ home, keyCommand }: Config): boolean {
  return statNow(keyPath({ home })) !== null || keyCommand !== undefined;
}

function othersThan(name: ProgramName, { agents }: Pick<Around, 'agents'>): string {
  const others = agents.filter((each) => each !== name).map((each) => findAgent(each).title);
  return others.length > 0 ? `, those with ${others.join(', ').replace(/, (?=[^,]*$)/, ' and ')} too` : '';
}

function sayDay(day: DayUse): string {
  if (day === null) return 'how much is not known: there are no sessions to be read to estimate it from';
  const { microUsd } = day;
  const size = saySize(day);
  const all = microUsd === null ? size : `about $${(microUsd / 1_000_000).toFixed(2)} (${size})`;
  return `${all} on a day like your last ones`;
}

// Programs on this machine that answer the Messages protocol, each on its usual port, and which models they have. Asked by the call that
// lists models: no model is loaded by it. Silence, and an answer that is no such list, is none.

interface LocalEndpoint {
  title: string;
  baseUrl: string;
  models: string[];
}

const ANSWERS_WITHIN_MS = 700;

/** Those that have a model; `OLLAMA_HOST` is where Ollama's own tools look for it. */
async function findLocalEndpoints({ OLLAMA_HOST }: Record<string, string | undefined>): Promise<LocalEndpoint[]> {
  const places = [
    { title: 'Ollama', baseUrl: ollamaUrl(OLLAMA_HOST) },
    { title: 'LM Studio', baseUrl: 'http://127.0.0.1:1234' },
  ];
  const found = await Promise.all(places.map(async (each) => ({ ...each, models: await listModels(each.baseUrl) })));
  return found.filter(({ models }) => models.length > 0);
}

/** A host that servers listen at may be none that can be called. */
export function ollamaUrl(host = ''): string {
  const [, scheme = 'http', name, port = '11434'] =
    /^(?:(https?):\/\/)?(\[.*\]|[^:/]*)(?::(\d+))?\/?$/.exec(host.trim()) ?? [];
  return `${scheme}://${!name || name === '0.0.0.0' || name === '[::]' ? '127.0.0.1' : name}:${port}`;
}

async function listModels(baseUrl: string): Promise<string[]> {
  const signal = AbortSignal.timeout(ANSWERS_WITHIN_MS);
  const listed = await fetch(`${baseUrl}/v1/models`, { signal, redirect: 'error' })
    .then((response) => (response.ok ? response.json() : {}))
    .catch(() => ({}));
  const ids = objectsOf(objectAt({ listed }, 'listed').data).flatMap(({ id }) => textOf(id) ?? []);
  // Models that only place texts near to one another answer nothing, and those of Ollama's cloud are not local.
  return ids.filter((id) => !/embed|[:-]cloud$/i.test(id));
}

// Whether a model answers, by one request.

export type Counting = Pick<AgentPorts, 'reserve' | 'settle'>;

/** Counts a request that belongs to no job of a memory; `nocturne cost` does not tell of it. */
export function countingIn(db: Db, config: Config): Counting {
  const { clock, model, prices } = config;
  const spend = spendOf({ db, clock, ceilings: config, model, prices }, newId('check'));
  return spend;
}

const TRIED_WITHIN_MS = 20_000;
const PROGRAM_TRIED_WITHIN_MS = 90_000;

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
      requestMs: Math.min(config.requestMs, isProgram ? PROGRAM_TRIED_WITHIN_MS : TRIED_WITHIN_MS),
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
