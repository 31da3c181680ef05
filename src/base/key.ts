// The key of the model for those who have no shell's environment: schedulers, and hooks whose agent strips it.
// From the environment; else from the file `key` in the home, which nobody else may read; else from what `keyCommand`
// prints. A key is never logged, shown, put into an error or handed to a child's environment.

import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { join } from 'node:path';
import type { Config, ModelAccess } from './config/config.ts';
import { AppError, attempt } from './errors.ts';
import { isPrivate, makePrivate, readTextNow, statNow, writeWhole } from './files/files.ts';

const COMMAND_WITHIN_MS = 10_000;
/** A command may hand out keys that expire, or ask a person: not at every call, and not once for ever. */
const COMMAND_COUNTS_MS = 5 * 60_000;
const answers = new Map<string, { key: string; untilMs: number }>();

/** `unneeded`: an endpoint of the settings, which may want none. */
type KeySource = 'environment' | 'file' | 'command' | 'unneeded' | 'none';

type KeyPlace = Pick<Config, 'home' | 'baseUrl'>;

/** Anthropic's key is never sent to another endpoint, nor the other way round. */
export function keyPath({ home, baseUrl }: KeyPlace): string {
  return join(home, baseUrl === undefined ? 'key' : 'endpoint-key');
}

/** Where the key would come from; nothing is read or run. */
export function keySource(config: Config): KeySource {
  const { access, keyCommand, baseUrl } = config;
  if (access.apiKey || access.authToken) return 'environment';
  if (statNow(keyPath(config))) return 'file';
  if (keyCommand) return 'command';
  return baseUrl === undefined ? 'none' : 'unneeded';
}

/** What this process saw last, by name: another with other settings, on the same home, makes nothing new for it. */
const seen = new WeakMap<Config, Map<string, string>>();

/** What is said of a home, under a name, which is a file there. */
interface Said {
  name: string;
  said: unknown;
}

const markOf = ({ said }: Said) => hash('sha256', JSON.stringify(said)).slice(0, 16);

/** Whether it is other than what `whereNew` was told last on this machine. */
export function isNewIn(home: string, of: Said): boolean {
  const before = readTextNow(join(home, of.name));
  return before !== null && before !== markOf(of);
}

/** Does `work` where what is said is other than when this was asked last on this machine. Who dies in it leaves it to the next. */
export async function whereNew(config: Config, of: Said, work: () => Promise<void>): Promise<void> {
  const { name } = of;
  const mark = markOf(of);
  const path = join(config.home, name);
  const own = seen.get(config) ?? new Map<string, string>();
  seen.set(config, own);
  if ((own.get(name) ?? readTextNow(path)) !== mark) {
    await work();
    writeWhole(path, mark);
    makePrivate(path);
  }
  own.set(name, mark);
}

/** How the model is reached: another key, address, `login` of a program or model is news. What a command prints is not asked for. */
export function accessSaid(config: Config, login?: string): Said {
  const { access, keyCommand, model } = config;
  // A file that cannot be read is told of by whoever needs the key.
  const unread = () => null;
  const isGiven = access.apiKey || access.authToken;
  const key = isGiven
    ? [access.apiKey, access.authToken]
    : [attempt(() => readTextNow(keyPath(config)), unread), keyCommand];
  return { name: 'access', said: [model, access.baseURL, key, ...(login ? [login] : [])] };
}

/** How to reach the model. Throws `auth` for a file that others can read, an empty one, or a command that fails. */
export async function readAccess(config: Config): Promise<ModelAccess> {
  const source = keySource(config);
  if (config.model === 'offline' || source === 'environment' || source === 'none') return config.access;
  // The SDK sends no request without one.
  if (source === 'unneeded') return { ...config.access, apiKey: 'none' };
  const apiKey = source === 'file' ? readKeyFile(keyPath(config)) : await runKeyCommand(config);
  return { ...config.access, apiKey };
}

/** Keeps a key in the home, 0600. Throws `auth` for what cannot be one. */
export function keepKey(place: KeyPlace, key: string): void {
  writeWhole(keyPath(place), `${checkKey(key, 'What was given holds')}\n`);
  makePrivate(keyPath(place));
}

function readKeyFile(path: string): string {
  if (!isPrivate(path)) {
    throw new AppError('auth', `Others can read the key file ${path}, so it is not used.`, {
      remedy: `Run chmod 600 ${path}; if others may have read it, make a new key.`,
    });
  }
  return checkKey(readTextNow(path) ?? '', `${path} holds`);
}

async function runKeyCommand({ keyCommand = [], environment, clock }: Config): Promise<string> {
  const name = JSON.stringify(keyCommand);
  const nowMs = clock.now().getTime();
  const known = answers.get(name);
  if (known && known.untilMs > nowMs) return known.key;
  const key = checkKey(
    await printedBy(keyCommand, environment),
    `The command "${keyCommand[0]}", which prints the key, printed`,
  );
  answers.set(name, { key, untilMs: nowMs + COMMAND_COUNTS_MS });
  return key;
}

function printedBy([program = '', ...args]: string[], env: Config['environment']): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { env, timeout: COMMAND_WITHIN_MS, killSignal: 'SIGKILL', maxBuffer: 1 << 16 } as const;
    const child = execFile(program, args, options, (error, stdout) => {
      if (!error) return resolve(stdout);
      const { code } = error as { code?: string | number | null };
      // Not the error's own message, which repeats the arguments and what the command said.
      const how = error.killed ? `gave no answer within ${COMMAND_WITHIN_MS / 1000} s` : `failed (${code ?? 'killed'})`;
      reject(
        new AppError('auth', `The command "${program}", which prints the key, ${how}.`, {
          remedy: 'Run it by hand, or change keyCommand in config.json of the nocturne home.',
        }),
      );
    });
    child.stdin?.end();
  });
}

function checkKey(text: string, found: string): string {
  const key = text.trim();
  if (/^[\x21-\x7e]{1,4096}$/.test(key)) return key;
  throw new AppError('auth', `${found} ${key === '' ? 'nothing' : 'more than one word, which is no key'}.`, {
    remedy: 'It is to be the key alone: one line without spaces.',
  });
}
