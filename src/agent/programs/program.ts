// What the program of a coding agent is as a model: how it is started for one answer, and what it says. A program holds its
// own login; nothing here reads, copies or asks for a token. What one says that cannot answer becomes the AppError that it means
// to a job: by the status of the service where it is told, else by words.

import { AppError, type ErrorCode } from '../../base/errors.ts';

export type ProgramName = 'claude-code' | 'codex';

/** One answer that is wanted. */
export interface ProgramTask {
  /** Default: the program's own choice. */
  model?: string;
  system: string;
  prompt: string;
  /** What the answer is, in the strict subset of JSON schema that services take. */
  schema: Record<string, unknown>;
  maxOutputTokens: number;
  /** How long the program may take. */
  requestMs: number;
}

/** What the program answered, as the Messages API would tell it; plain data, for the pipe to the forked agent. */
export interface ProgramAnswer {
  /** By `schema`. */
  output?: unknown;
  /** Why there is none. */
  failure?: ProgramProblem;
  /** Undefined where it does not say. */
  usage?: Record<string, number>;
  /** The model that answered, where it says. */
  model?: string;
}

type ProgramProblem = Pick<AppError, 'code' | 'message' | 'remedy' | 'retryAfterMs'>;

/** How a process ended. */
export interface Ended {
  /** Null: it was ended by a signal. */
  code: number | null;
  stdout: string;
  stderr: string;
}

/** How it is started. The prompt comes on stdin: arguments are seen by everyone on a machine. */
export interface Start {
  args: string[];
  environment: Record<string, string>;
  stdin: string;
  /** Files that arguments name, by name; they lie beside the empty directory that it runs in. */
  files: Record<string, string>;
}

export interface Login {
  isLoggedIn: boolean;
  /** `key`: what is used costs money. */
  paidBy: 'plan' | 'key';
  /** In the program's own word, as `claude.ai (max)`. */
  said: string;
}

export interface Program {
  name: ProgramName;
  title: string;
  /** Who reads what it is shown. */
  company: string;
  /** What it is called on the path. */
  command: string;
  /** The oldest version that was tried. */
  oldest: string;
  /** What a request may hold beyond ours: at most so many tokens. */
  ownTokens: number;
  /** How many they are as a rule, as measured. */
  usualTokens: number;
  /** The dearest model that it may choose itself, whose price bounds a request; undefined: its prices are not known. */
  boundedBy?: string;
  /** What a person does to log in. */
  logIn: string;
  /** Of the person's files, what reaches the model though nothing of ours asks for it. */
  alsoShown: string[];
  /** Its settings, its login and its service's address: what it is handed on of the environment; no key is. */
  environment: RegExp;
  /** Where its login lies, below the user's directory, or what these variables name instead: another there is news. */
  loginFiles: { variable: string; directory: string; names: string[] };
  /** What asks it how it is logged in, without a request. */
  statusArgs: string[];
  readStatus(ended: Ended): Login;
  /** `pathOf`: where a file of `files` will be. */
  start(task: ProgramTask, pathOf: (file: string) => string): Start;
  /** Throws what went wrong as an AppError where no usage is told. */
  read(ended: Ended): ProgramAnswer;
}

/** The line to a person who is to log in. */
export function logInRemedy({ title, logIn }: Pick<Program, 'title' | 'logIn'>): string {
  return `Log in to ${title} (${logIn}). What waits then goes on by itself.`;
}

/** What a program said, short enough for a message. */
export function quoteSaid(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 300 ? `${line.slice(0, 300)}…` : line || 'nothing';
}

/** What a program said that ended without an answer; where it said nothing, how it ended. */
export function lastWords({ stdout, stderr, code }: Ended): string {
  return stderr.trim() || stdout.trim() || (code === null ? 'it was killed' : `it ended with exit code ${code}`);
}

/** Why a run of a program failed; it passes the SDK, which would try again whatever reads like a broken connection. */
export class ProgramFailure extends Error {
  readonly failure: AppError;
  readonly usage: Record<string, number> | undefined;

  constructor(problem: ProgramProblem, usage?: Record<string, number>) {
    super('The program that stands as the model failed.');
    this.failure = new AppError(problem.code, problem.message, problem);
    this.usage = usage;
  }
}

/** A plan that is used up is asked again after so long: that costs nothing. */
const PLAN_MS = 3_600_000;

type Of = Pick<Program, 'title' | 'logIn'>;

interface Told {
  /** Of the service; undefined: none was told. */
  status?: number;
  said: string;
  isBusy?: boolean;
}

const LIMIT = /hit your [\w -]*limit|(?:usage|session|weekly) limit (?:reached|has been)/i;
const NO_BUDGET = /credit balance|quota exceeded|upgrade to \w+:/i;
const NO_LOGIN = /not logged in|log ?in again|sign in again|run \/login|authenticat|oauth|refresh token|keychain/i;
const NO_MODEL = /model.*(?:not exist|not found|not have access|not supported|not available)/i;
const NOT_REACHED = /unable to connect|connection (?:failed|refused)|error sending request/i;
const TOO_LONG = /prompt is too long|context window|context length|too many tokens/i;
const BUSY = /overloaded|high demand|at capacity|rate limit/i;
const INVALID = /invalid_request_error/;
const CUT = /output token maximum|max_output_tokens/i;

/** `isBusy`: the program itself says that it is no limit of the plan. */
export function failureOf(program: Of, { status, said, isBusy = false }: Told): AppError {
  const fail = (code: ErrorCode, what: string, remedy?: string, retryAfterMs?: number) =>
    new AppError(code, `${program.title} ${what}: ${quoteSaid(said).replace(/(?<![.…!?])$/, '.')}`, {
      ...{ remedy, retryAfterMs },
    });
  if (!isBusy && LIMIT.test(said)) {
    const remedy = 'The work is tried again each hour, or choose another model: nocturne setup.';
    return fail('plan-limit', 'says that the plan is used up', remedy, PLAN_MS);
  }
  if (status === 402 || NO_BUDGET.test(said)) return fail('quota', 'has no budget left', 'Add credit; the work waits.');
  if (NOT_REACHED.test(said)) return fail('network', 'could not reach its service', 'Check the network.');
  if (status === 401 || status === 403 || (status === undefined && NO_LOGIN.test(said)))
    return fail('auth', 'is not logged in', logInRemedy(program));
  if (status === 404 || (status !== 429 && NO_MODEL.test(said)))
    return fail('no-model', 'cannot use the model', 'Name one that the plan has: nocturne config model.');
  if (status === 429 || status === 529 || BUSY.test(said)) return fail('overloaded', 'is busy');
  if (status !== undefined && status >= 500) return fail('server-error', 'cannot answer now');
  if (status === 413 || TOO_LONG.test(said)) return fail('oversize', 'does not take requests of this length');
  if (CUT.test(said)) return fail('bad-reply', 'was cut', 'Another model may say it in fewer words.');
  if (status !== undefined || INVALID.test(said)) return fail('bad-reply', 'did not take the request');
  return fail('server-error', 'could not answer');
}
