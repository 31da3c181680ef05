// Settings: defaults, then `config.json` in the home, then the environment, then what a command was given.
// The only place that reads the environment. A setting that cannot be read is an error that names it, never a silent
// default. Of a repository's files only one word is read, by which it may turn memory off (`readProjectSwitch`).

import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { AppError, isAppError } from '../errors.ts';
import { homeDir, isStoreId } from '../files/directories.ts';
import { readMemoryNow, statNow } from '../files/files.ts';
import { isObject, parseJson, parseWithComments } from '../text/json.ts';
import { type Clock, fixedClock, isInstant, isZone, machineZone, systemClock } from '../time.ts';
import { hasMovedUp, moveUp } from './former-home.ts';
import { FIXED, isMistyped, readSettings, type Settings, settingsPath, settingsSchema } from './settings.ts';

/**
 * How to reach the Messages API: what the official SDK would read from the environment, as data. Of key and token, the key
 * wins.
 */
export interface ModelAccess {
  apiKey?: string;
  authToken?: string;
  /** Default: Anthropic's own. */
  baseURL?: string;
  /** Sent with every request. */
  headers?: Record<string, string>;
}

export interface Config extends Omit<Settings, 'zone' | keyof Times>, Times, Fixed {
  /** Directory of the database and logs. */
  home: string;
  /** What config.json has that is no setting any more, and what is said of what never was one. */
  former: string[];
  unknown?: string;
  /** The model is a command's own option. */
  isModelAsked: boolean;
  /** Set where one memory directory serves every session: as it was given, not checked yet. */
  memoryDir?: string;
  /** What `memoryDir` was given by, for messages. */
  memoryDirFrom?: string;
  /** The user's directory, which `~/` stands for. */
  userDir: string;
  /** Directory of Claude Code's own files. */
  claudeDir: string;
  /** What the user told the agent about its own memory. */
  agentMemory: AgentMemory;
  /** Each agent's own directory, where its sessions are. */
  agentDirs: Record<'claude-code' | 'codex' | 'gemini' | 'copilot' | 'pi', string>;
  zone: string;
  clock: Clock;
  telemetry: boolean;
  /** The command that opens a file for editing, with its own arguments. */
  editor?: string;
  /** What the environment says; `readAccess` adds the key that is kept elsewhere. */
  access: ModelAccess;
  /** What child processes may be given of. */
  environment: Environment;
}

type Fixed = typeof FIXED;

/** How long things may take, each with room for what it is made of. */
interface Times {
  requestMs: number;
  wallMs: number;
  jobWallMs: number;
}

export type Environment = Record<string, string | undefined>;

/** What the user told Claude Code about its own memory, in its environment and in the user's own settings file. */
interface AgentMemory {
  /** `CLAUDE_CODE_DISABLE_AUTO_MEMORY`: true where it asks to disable, false where it says not to. */
  isDisabled?: boolean;
  /** `CLAUDE_CODE_SIMPLE`. */
  isSimple: boolean;
  /** `CLAUDE_CODE_REMOTE`. */
  isRemote: boolean;
  /** `CLAUDE_CODE_REMOTE_MEMORY_DIR`: stands for Claude Code's directory where memory is kept. */
  remoteDir?: string;
  settings: AgentSettings;
}

/** Of `settings.json` in Claude Code's directory. */
interface AgentSettings extends AgentSwitch {
  autoMemoryDirectory?: string;
}

interface AgentSwitch {
  path: string;
  autoMemoryEnabled?: boolean;
  /** Why the file cannot be read, as a sentence; the other fields are unknown then. */
  problem?: string;
}

/** Reads the settings. `given` are a command's own options and win over everything. */
export async function loadConfig(
  given: Partial<Pick<Config, 'model' | 'memoryDir' | 'queueUrl'>> = {},
  env: Environment = process.env,
): Promise<Config> {
  const userDir = userDirectory(env);
  const home = homeOfUser(env);
  await moveUp(home);
  const file = await readSettings(settingsPath(home));
  const zone = zoneFrom(env.NOCTURNE_ZONE) ?? file.zone;
  const databaseUrl = env.NOCTURNE_DATABASE_URL || file.databaseUrl;
  // A hook's worker works other sessions than the hook's: what the file says goes first.
  const model = given.model || env.NOCTURNE_MODEL || (!file.setsModel && env.NOCTURNE_FALLBACK_MODEL) || file.model;
  return {
    ...FIXED,
    ...fixedFrom(env.NOCTURNE_FIXED),
    ...file,
    ...timesFrom(file, file.baseUrl ?? env.ANTHROPIC_BASE_URL),
    ...memoryDirFrom(given.memoryDir, { env, databaseUrl }),
    home,
    userDir,
    ...(await agentsFrom(env, userDir)),
    model: checkModel(model),
    isModelAsked: Boolean(given.model),
    queueUrl: given.queueUrl ?? env.NOCTURNE_QUEUE_URL ?? env.REDIS_URL ?? file.queueUrl,
    databaseUrl,
    // Asked when it is needed: to find out takes as long as to read all settings, and a hook may not.
    get zone() {
      return zone ?? machineZone();
    },
    clock: clockFrom(env.NOCTURNE_NOW),
    telemetry: env.OTEL_SDK_DISABLED !== 'true' && setsTelemetry(env),
    editor: env.VISUAL || env.EDITOR || undefined,
    // Address and key belong together.
    access: file.baseUrl
      ? { baseURL: file.baseUrl }
      : {
          apiKey: env.ANTHROPIC_API_KEY || undefined,
          authToken: env.ANTHROPIC_AUTH_TOKEN || undefined,
          baseURL: env.ANTHROPIC_BASE_URL || undefined,
        },
    // The hook does nothing in what a worker starts, or it would start the next worker.
    environment: { ...env, NOCTURNE_WORKER: '1' },
  };
}

/** Where agents keep things, and what they are told about their own memory. */
async function agentsFrom(
  env: Environment,
  userDir: string,
): Promise<Pick<Config, 'claudeDir' | 'agentMemory' | 'agentDirs'>> {
  const claudeDir = resolve(env.CLAUDE_CONFIG_DIR || join(userDir, '.claude'));
  return {
    claudeDir,
    agentMemory: {
      isDisabled: switchFrom(env.CLAUDE_CODE_DISABLE_AUTO_MEMORY),
      isSimple: switchFrom(env.CLAUDE_CODE_SIMPLE) === true,
      isRemote: switchFrom(env.CLAUDE_CODE_REMOTE) === true,
      remoteDir: env.CLAUDE_CODE_REMOTE_MEMORY_DIR || undefined,
      settings: await readAgentSettings(join(claudeDir, 'settings.json')),
    },
    agentDirs: {
      'claude-code': claudeDir,
      codex: resolve(env.CODEX_HOME || join(userDir, '.codex')),
      gemini: join(resolve(env.GEMINI_CLI_HOME || userDir), '.gemini'),
      copilot: resolve(env.COPILOT_HOME || join(userDir, '.copilot')),
      pi: join(userDir, '.pi'),
    },
  };
}

/**
 * The settings for a session: what its hook's environment decides counts, but for what this process's command was given, and nothing
 * that stands in this process's environment. Default: these settings themselves.
 */
export async function configOfSession(config: Config, env: Environment | undefined): Promise<Config> {
  if (env === undefined) return config;
  const isAsked = config.memoryDirFrom === '--memory';
  return {
    ...config,
    ...(isAsked ? {} : { memoryDir: undefined, ...memoryDirFrom(undefined, { env, databaseUrl: config.databaseUrl }) }),
    ...(await agentsFrom(env, config.userDir)),
    model: checkModel((!config.isModelAsked && env.NOCTURNE_MODEL) || config.model),
  };
}

function checkModel(model: string): string {
  if (isMistyped(model))
    throw new AppError('bad-input', `There is no model ${model}.`, { remedy: 'Did you mean offline?' });
  return model;
}

const MINUTE_MS = 60_000;

/** A model on this machine may think for many minutes, and costs nothing by it. */
function timesFrom({ requestMs: given }: Settings, baseURL?: string): Times {
  const requestMs = given ?? (isLocal(baseURL) ? 20 * MINUTE_MS : 4 * MINUTE_MS);
  const wallMs = FIXED.maxTurns * requestMs + MINUTE_MS;
  return { requestMs, wallMs, jobWallMs: Math.max(30 * MINUTE_MS, wallMs) };
}

export function isLocal(url = ''): boolean {
  return URL.canParse(url) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);
}

/** A command's option is relative to where it is run, but for a store's id; what the environment says is taken as it is. */
function memoryDirFrom(
  option: string | undefined,
  { env, databaseUrl }: { env: Environment; databaseUrl?: string },
): Pick<Config, 'memoryDir' | 'memoryDirFrom'> {
  if (option) {
    const isWhole = option.startsWith('~') || isStoreId(option, { databaseUrl });
    return { memoryDir: isWhole ? option : resolve(option), memoryDirFrom: '--memory' };
  }
  for (const name of ['NOCTURNE_MEMORY_DIR', 'CLAUDE_COWORK_MEMORY_PATH_OVERRIDE'])
    if (env[name]) return { memoryDir: env[name], memoryDirFrom: name };
  return {};
}

/** What a switch in the environment says; undefined for one that is not set, or says neither yes nor no. */
function switchFrom(value: string | undefined): boolean | undefined {
  if (/^(?:1|true|yes|on)$/i.test(value?.trim() ?? '')) return true;
  return /^(?:0|false|no|off)$/i.test(value?.trim() ?? '') ? false : undefined;
}

const agentSettingsSchema = z.looseObject({
  autoMemoryDirectory: z.string().optional(),
  autoMemoryEnabled: z.boolean().optional(),
});

/** Reads the agent's settings again, for processes that stay: what was broken may be mended. */
export async function refreshAgentSettings({ agentMemory }: Config): Promise<void> {
  agentMemory.settings = await readAgentSettings(agentMemory.settings.path);
}

const seenSettings = new WeakMap<Config, string>();

/** With these a process is opened. */
const OPENED_WITH = ['zone', 'queueUrl', 'databaseUrl', 'concurrency', 'requestMs'];

/** What `config.json` says where it is another than when this was asked first, for processes that stay; else nothing. */
export async function changedSettings(config: Config): Promise<Partial<Config> | undefined> {
  const look = JSON.stringify(statNow(settingsPath(config.home)));
  const before = seenSettings.get(config);
  seenSettings.set(config, look);
  if (before === undefined || before === look) return undefined;
  const { isModelAsked, model, environment } = config;
  const read = await loadConfig(isModelAsked ? { model } : {}, environment);
  const names = Object.keys(settingsSchema.shape).filter((name) => !OPENED_WITH.includes(name));
  const more = ['access', 'former', 'unknown'];
  return Object.fromEntries([...names, ...more].map((name) => [name, read[name as keyof Config]]));
}

const projectSettingsSchema = z.looseObject({ autoMemoryEnabled: z.boolean().optional() });

/**
 * What a project's own settings say of its memory, the nearest of these directories first, what is not checked in before
 * what is; null: nothing. A repository may so turn memory off; nothing else of these files is read.
 */
export async function readProjectSwitch(claudeDirs: string[]): Promise<AgentSwitch | null> {
  for (const path of claudeDirs.flatMap((dir) => ['settings.local.json', 'settings.json'].map((n) => join(dir, n)))) {
    // One that does not have the word may be as broken as it likes.
    const { settings, problem } = await readAgentFile(path, projectSettingsSchema, 'autoMemoryEnabled');
    if (problem) return { path, problem };
    if (settings?.autoMemoryEnabled !== undefined) return { path, autoMemoryEnabled: settings.autoMemoryEnabled };
  }
  return null;
}

async function readAgentSettings(path: string): Promise<AgentSettings> {
  const { settings, problem } = await readAgentFile(path, agentSettingsSchema);
  const { autoMemoryDirectory, autoMemoryEnabled } = settings ?? {};
  return problem
    ? { path, problem }
    : { path, autoMemoryDirectory: autoMemoryDirectory || undefined, autoMemoryEnabled };
}

/** A foreign file that is broken, or closed to this user, keeps nobody from working but who needs what it says. */
async function readAgentFile<T>(
  path: string,
  schema: z.ZodType<T>,
  word = '',
): Promise<{ settings?: T; problem?: string }> {
  try {
    const text = readMemoryNow(path);
    if (!text?.trim() || !text.includes(word)) return {};
    const settings = schema.safeParse(await parseWithComments(text));
    return settings.success ? { settings: settings.data } : { problem: `${path}: ${z.prettifyError(settings.error)}.` };
  } catch (error) {
    if (isAppError(error, 'storage')) return { problem: error.message };
    if (error instanceof SyntaxError) return { problem: `${path} is not JSON: ${error.message}.` };
    throw error;
  }
}

/** Where the home is; also known where the settings in it cannot be read. */
export function homeOfUser(env: Environment = process.env): string {
  const given = homeDir(env.NOCTURNE_HOME, userDirectory(env));
  return hasMovedUp(given) ? dirname(given) : given;
}

/** The directory of the user, which `~` stands for, and agents and schedulers look into. */
export function userDirectory({ HOME, USERPROFILE }: Environment): string {
  return (process.platform === 'win32' ? USERPROFILE : HOME) || homedir();
}

/** An environment that says where spans and metrics go, or who sends them, wants them. */
function setsTelemetry(env: Environment): boolean {
  return Object.entries(env).some(
    ([name, value]) => /^OTEL_(EXPORTER|TRACES|METRICS|SERVICE|RESOURCE)_/.test(name) && value,
  );
}

function zoneFrom(value: string | undefined): string | undefined {
  if (!value || isZone(value)) return value || undefined;
  throw new AppError('bad-input', `NOCTURNE_ZONE is ${JSON.stringify(value)}, which is not a time zone.`, {
    remedy: 'Use a name like Europe/Berlin.',
  });
}

/** For tests alone: other values of what no setting changes. */
function fixedFrom(value: string | undefined): Partial<Fixed> {
  const fixed = parseJson(value || '{}');
  if (isObject(fixed)) return fixed as Partial<Fixed>;
  throw new AppError('bad-input', `NOCTURNE_FIXED is ${JSON.stringify(value)}, which is not a JSON object.`);
}

/** `NOCTURNE_NOW` makes time stand still, for tests and for reproducing a run. */
function clockFrom(value: string | undefined): Clock {
  if (!value) return systemClock;
  if (isInstant(value)) return fixedClock(value);
  throw new AppError('bad-input', `NOCTURNE_NOW is ${JSON.stringify(value)}, which is not an ISO-8601 time.`);
}
