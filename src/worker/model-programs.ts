// Agents' programs on this machine as models: where one is, which version, how it is logged in; and runs of the forked agent
// whose model is such a program. The forked process asks for an answer, this one runs the program.
// Promises: of all processes of this home one runs a program at a time; it is ended with the run, however that ends, and
// its files with it; it is handed no key; what set-up found is used at night.

import { hash, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentPorts, RunAgent } from '../agent/agent-types.ts';
import {
  type Login,
  logInRemedy,
  type Program,
  type ProgramAnswer,
  type ProgramName,
  type ProgramTask,
  programNamed,
  programOf,
  quoteSaid,
} from '../agent/programs/programs.ts';
import { runProgram } from '../agent/programs/run-program.ts';
import type { Config } from '../base/config/config.ts';
import { AppError, isAppError } from '../base/errors.ts';
import { isDirectory, realPath, removeTree } from '../base/files/directories.ts';
import { makeDirectory, makePrivate, statNow, writeWhole } from '../base/files/files.ts';
import { takeLock } from '../db/sqlite.ts';

/** How a program is found on this machine, and what it says of itself. */
export interface FoundProgram {
  name: ProgramName;
  title: string;
  company: string;
  /** Null: there is none. */
  path: string | null;
  /** Set where set-up had found it elsewhere, and it is gone from there. */
  movedFrom?: string;
  version?: string;
  login?: Login;
  /** Why it cannot be asked now. */
  problem?: AppError;
}

type Runs = Pick<
  Config,
  'home' | 'userDir' | 'environment' | 'agentPrograms' | 'agentArguments' | 'clock' | 'maxOutputTokens'
>;

const ANSWERS_WITHIN_MS = 20_000;
const LOOK_MS = 200;

/** What a process needs of the environment to run, to find its user's files and the network. */
const HANDED_ON =
  /^(?:HOME|USERPROFILE|USER|LOGNAME|PATH|TMPDIR|TEMP|TMP|SystemRoot|ComSpec|APPDATA|LOCALAPPDATA|LANG|LC_\w+|(?:HTTPS?|ALL|NO)_PROXY|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR))$/i;

/** The environment of a program: ours, in UTC, without keys; what set-up kept of its own wins. */
export function environmentOf(program: Program, { environment, agentPrograms }: Runs): Record<string, string> {
  const handedOn = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && (HANDED_ON.test(name) || program.environment.test(name)) ? [[name, value]] : [],
  );
  const kept = Object.entries(agentPrograms[program.name]?.environment ?? {}).filter(([name]) =>
    program.environment.test(name),
  );
  const all = Object.fromEntries([...handedOn, ...kept]);
  // A program may itself be a script of Node's.
  const path = [all.PATH, dirname(process.execPath)].filter(Boolean).join(delimiter);
  return { ...all, PATH: path, TZ: 'UTC', NOCTURNE_WORKER: '1' };
}

/** What set-up keeps for the nights: the path, and of the environment what is the program's own, but no token. */
export function programToKeep(name: ProgramName, path: string, { environment }: Pick<Config, 'environment'>) {
  const program = programNamed(name);
  const own = Object.entries(environment).filter(
    ([variable, value]) => value && program.environment.test(variable) && !/TOKEN/.test(variable),
  );
  return { path, environment: Object.fromEntries(own) as Record<string, string> };
}

/** Looks it up and asks it, without a request, which version it is and how it is logged in. */
export async function findProgram(name: ProgramName, config: Runs): Promise<FoundProgram> {
  const program = programNamed(name);
  const { title, company } = program;
  const { path, movedFrom } = pathOf(program, config);
  const found: FoundProgram = { name, title, company, path, ...(movedFrom && { movedFrom }) };
  if (path === null) {
    const problem = new AppError('no-model', `${title} (${program.command}) is not installed here.`, {
      remedy: 'Install it, or choose another model: nocturne setup.',
    });
    return { ...found, problem };
  }
  try {
    const { version, login } = await saidBy(program, path, config);
    const all = { ...found, version, login };
    if (version.localeCompare(program.oldest, 'en', { numeric: true }) < 0) {
      const message = `${title} ${version} (${path}) is older than ${program.oldest}, the oldest that was tried.`;
      return { ...all, problem: new AppError('no-model', message, { remedy: `Update ${title}.` }) };
    }
    if (login.isLoggedIn) return all;
    const message = `${title} (${path}) is not logged in, or its keychain is locked.`;
    return { ...all, problem: new AppError('auth', message, { remedy: logInRemedy(program) }) };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { ...found, problem: error };
  }
}

function pathOf(program: Program, { agentPrograms, environment }: Runs): { path: string | null; movedFrom?: string } {
  const kept = agentPrograms[program.name]?.path;
  if (kept !== undefined && isFile(kept)) return { path: kept };
  const paths = (environment.PATH ?? '').split(delimiter).filter(Boolean);
  const found = paths.map((each) => join(each, program.command)).find((path) => isFile(path));
  return { path: found ?? null, movedFrom: kept };
}

function isFile(path: string): boolean {
  const real = realPath(path);
  return real !== null && statNow(real)?.isFile === true;
}

/** Its version and its login. */
async function saidBy(program: Program, path: string, config: Runs): Promise<{ version: string; login: Login }> {
  const run = (args: string[]) =>
    inEmptyDirectory(config, randomUUID(), (cwd) =>
      runProgram({
        ...{ path, args, cwd, title: program.title, limitMs: ANSWERS_WITHIN_MS },
        environment: environmentOf(program, config),
      }),
    );
  const [versions, status] = await Promise.all([run(['--version']), run(program.statusArgs)]);
  const version = /\d+\.\d+\.\d+/.exec(versions.stdout)?.[0];
  if (version === undefined) {
    const words = quoteSaid(versions.stdout || versions.stderr);
    throw new AppError('no-model', `${path} is not ${program.title}: asked for its version, it said ${words}.`, {
      remedy: 'Check what it is: another program of that name may come first in PATH.',
    });
  }
  return { version, login: program.readStatus(status) };
}

function signOf(path: string): string {
  const real = realPath(path);
  const stat = real === null ? null : statNow(real);
  return stat ? `${stat.bytes} ${stat.modifiedMs}` : '';
}

/** Another one where the login of the program is another; its files are looked at, never read. */
export function loginSign(name: ProgramName, config: Runs): string {
  const program = programNamed(name);
  const own = Object.entries(environmentOf(program, config)).filter(([each]) => program.environment.test(each));
  const files = program.loginFiles.names.map((file) => signOf(join(directoryOf(name, config), file)));
  return hash('sha256', JSON.stringify([own, files])).slice(0, 16);
}

/** Where the program keeps its own files. */
export function directoryOf(name: ProgramName, { userDir, environment, agentPrograms }: Runs): string {
  const { variable, directory } = programNamed(name).loginFiles;
  return agentPrograms[name]?.environment[variable] ?? environment[variable] ?? join(userDir, directory);
}

/** In an empty directory of the home, before there is one in a temporary one; what is left of another run under that name is removed first. */
async function inEmptyDirectory<T>(
  { home }: Pick<Config, 'home'>,
  name: string,
  work: (cwd: string, beside: string) => Promise<T>,
): Promise<T> {
  const beside = join(isDirectory(home) ? join(home, 'programs') : tmpdir(), name);
  const cwd = join(beside, 'empty');
  removeTree(beside);
  makeDirectory(cwd);
  makePrivate(beside);
  try {
    return await work(cwd, beside);
  } finally {
    removeTree(beside);
  }
}

/** The same runs, by the program that a request's model names. */
export function withPrograms(config: Runs, run: RunAgent): RunAgent {
  return async (request, ports, signal) => {
    const named = programOf(request.model);
    if (!named) return run(request, ports, signal);
    const program = programNamed(named.name);
    const { path, login, problem } = await findProgram(named.name, config);
    if (problem || path === null || login === undefined) throw problem;
    const release = await takeTurn(config, signal);
    const over = new AbortController();
    const ended = signal ? AbortSignal.any([signal, over.signal]) : over.signal;
    const paid = { by: login.paidBy, model: named.model ?? program.boundedBy };
    let running: Promise<unknown> = Promise.resolve();
    const withProgram: AgentPorts = {
      ...ports,
      reserve: (tokens, outputTokens) => ports.reserve(tokens, outputTokens, paid),
      runProgram(task) {
        const answer = askOnce(program, { task, path, config, signal: ended });
        running = Promise.allSettled([answer]);
        return answer;
      },
    };
    try {
      return await run(request, withProgram, signal);
    } finally {
      over.abort(new AppError('conflict', `The run of ${program.title} is over.`));
      await running;
      release();
    }
  };
}

/** Runs the program for one answer. What goes wrong is its answer, too: only an end from outside is thrown. */
async function askOnce(
  program: Program,
  { task, path, config, signal }: { task: ProgramTask; path: string; config: Runs; signal: AbortSignal },
): Promise<ProgramAnswer> {
  try {
    // By the same name each time: programs note where they were run.
    return await inEmptyDirectory(config, 'run', async (cwd, beside) => {
      const pathOfFile = (file: string) => join(beside, file);
      const { args, environment, stdin, files } = program.start(task, pathOfFile);
      for (const [file, text] of Object.entries(files)) writeWhole(pathOfFile(file), text);
      const ended = await runProgram({
        ...{ path, cwd, stdin, title: program.title, limitMs: task.requestMs, signal },
        args: [...args, ...(config.agentArguments[program.name] ?? [])],
        environment: { ...environmentOf(program, config), ...environment },
      });
      if (ended.isEndless) return { output: ended.stdout };
      const answer = program.read(ended);
      return answer.failure ? { ...answer, failure: asData(answer.failure) } : answer;
    });
  } catch (error) {
    signal.throwIfAborted();
    if (isAppError(error)) return { failure: asData(error) };
    throw error;
  }
}

function asData({ code, message, remedy, retryAfterMs }: NonNullable<ProgramAnswer['failure']>) {
  return { code, message, remedy, retryAfterMs };
}

/** Waits until no other process of this home, and no other run of this one, asks a program. */
async function takeTurn({ home }: Pick<Config, 'home'>, signal?: AbortSignal): Promise<() => void> {
  const directory = join(home, 'programs');
  makeDirectory(directory);
  for (;;) {
    const release = takeLock(join(directory, 'turn.db'));
    if (release) return release;
    await sleep(LOOK_MS, undefined, { signal }).catch(() => signal?.throwIfAborted());
  }
}
