// The agents' programs that may stand as the model, which model id names one, how each is started for one answer, and what it
// says. A program holds its own login; nothing here reads, copies or asks for a token. What one says that cannot answer becomes the
// AppError that it means to a job: by the status of the service where it is told, else by words.
//
// Claude Code is one request of `claude -p`, without tools, settings, hooks, MCP servers, skills, project files, memory and a
// session of its own. Thinking is off and its answer bounded, as by key. Codex is one of `codex exec` in the same way. What
// each flag holds off was measured with the real programs (test/agents).

import { AppError, type ErrorCode } from '../../base/errors.ts';
import { isObject, objectAt, objectsOf, parsedOr, parseJson, parseObject } from '../../base/text/json.ts';

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
function lastWords({ stdout, stderr, code }: Ended): string {
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

/** Its configuration, its service, and a token made for machines without a browser. */
const HANDED_ON = /^(?:CLAUDE_CONFIG_DIR|ANTHROPIC_BASE_URL|CLAUDE_CODE_OAUTH_TOKEN)$/;

export const claudeCode: Program = {
  name: 'claude-code',
  title: 'Claude Code',
  company: 'Anthropic',
  command: 'claude',
  oldest: '2.1.197',
  // A sentence, the date and the tool of the answer: 1.3 kB.
  ownTokens: 2_000,
  usualTokens: 400,
  boundedBy: 'claude-fable-5-1',
  logIn: 'claude, then /login',
  alsoShown: [],
  environment: HANDED_ON,
  loginFiles: { variable: 'CLAUDE_CONFIG_DIR', directory: '.claude', names: ['.credentials.json'] },
  // With the sources of settings of its runs: a helper for keys in the person's settings counts in none.
  statusArgs: ['--setting-sources', '', 'auth', 'status'],
  readStatus({ stdout }) {
    const status = parseJson(stdout);
    const { loggedIn, authMethod, apiKeySource, subscriptionType } = isObject(status) ? status : {};
    const hasKey = typeof apiKeySource === 'string' && apiKeySource !== 'none';
    const isPlan = !hasKey && /^(?:claude\.ai|oauth_token)$/.test(String(authMethod));
    const plan = typeof subscriptionType === 'string' ? ` (${subscriptionType})` : '';
    return {
      isLoggedIn: loggedIn === true,
      paidBy: isPlan ? 'plan' : 'key',
      said: loggedIn === true ? `${hasKey ? `a key of ${apiKeySource}` : authMethod}${plan}` : 'not logged in',
    };
  },
  start({ model, system, prompt, schema, maxOutputTokens }, pathOf) {
    const args = [
      ...['-p', '--output-format', 'json', '--json-schema', JSON.stringify(schema)],
      ...['--system-prompt-file', pathOf('system.txt'), '--tools', '', '--setting-sources', ''],
      ...['--strict-mcp-config', '--disable-slash-commands', '--no-session-persistence', '--safe-mode'],
      // Else it asks again by itself, up to five times.
      ...['--max-turns', '1'],
      ...(model ? ['--model', model] : []),
    ];
    const environment = {
      MAX_THINKING_TOKENS: '0',
      CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(maxOutputTokens),
      // Whoever waits knows better when to try again.
      CLAUDE_CODE_MAX_RETRIES: '0',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    };
    return { args, environment, stdin: prompt, files: { 'system.txt': system } };
  },
  read(ended) {
    const result = parseJson(ended.stdout);
    if (!isObject(result)) {
      if (ended.code !== 0) throw failureOf(this, { said: lastWords(ended) });
      return { output: ended.stdout };
    }
    const usage = objectAt(result, 'usage');
    const used = {
      ...('input_tokens' in usage && { usage: usage as Record<string, number> }),
      model: Object.keys(objectAt(result, 'modelUsage'))[0],
    };
    // It was answered, but not in the form that was asked for.
    if (String(result.subtype).startsWith('error_max')) return { output: '', ...used };
    if (result.is_error === true) {
      const said = String(result.result ?? lastWords(ended));
      const { api_error_status: status, stop_reason } = result;
      const failure =
        stop_reason === 'refusal'
          ? new AppError('refusal', `Claude Code's model refused: ${quoteSaid(said)}`)
          : failureOf(this, {
              said,
              status: typeof status === 'number' ? status : undefined,
              isBusy: said.includes('not your usage limit'),
            });
      return { failure, ...used };
    }
    return { output: result.structured_output ?? parsedOr(String(result.result ?? '')), ...used };
  },
};

/** What its versions do not know of these is told and passed over; by `--disable` it would be an error. */
const OFF =
  `apps plugins hooks shell_tool unified_exec image_generation view_image goals sleep_tool tool_suggest browser_use
  computer_use skill_search unbounded_connection_retries`
    .split(/\s+/)
    .map((feature) => `features.${feature}=false`);
const SETTINGS = [
  ...OFF,
  'skills.include_instructions=false',
  'include_permissions_instructions=false',
  'include_environment_context=false',
  'include_apps_instructions=false',
  'include_collaboration_mode_instructions=false',
  'agents.enabled=false',
  // The directory of a run lies in the home, which some keep in git.
  'project_doc_max_bytes=0',
  'web_search="disabled"',
  'model_reasoning_effort="low"',
];

export const codex: Program = {
  name: 'codex',
  title: 'Codex',
  company: 'OpenAI',
  command: 'codex',
  oldest: '0.169.0',
  // 14 kB of tools, and AGENTS.md, of which it reads 32 KiB.
  ownTokens: 50_000,
  usualTokens: 3_500,
  logIn: 'codex login',
  alsoShown: ['AGENTS.md'],
  environment: /^(?:CODEX_HOME|CODEX_CA_CERTIFICATE)$/,
  loginFiles: { variable: 'CODEX_HOME', directory: '.codex', names: ['auth.json'] },
  statusArgs: ['login', 'status'],
  readStatus({ code, stdout, stderr }) {
    const said = `${stdout}\n${stderr}`;
    const isKey = /api key/i.test(said);
    const isLoggedIn = code === 0 && /logged in|api key/i.test(said);
    const how = isKey ? 'an API key' : 'ChatGPT';
    return { isLoggedIn, paidBy: isKey ? 'key' : 'plan', said: isLoggedIn ? how : 'not logged in' };
  },
  start({ model, system, prompt, schema }, pathOf) {
    const args = [
      ...['exec', '--ephemeral', '--skip-git-repo-check', '-s', 'read-only', '--ignore-user-config', '--ignore-rules'],
      ...[...SETTINGS, `model_instructions_file=${JSON.stringify(pathOf('system.txt'))}`].flatMap((each) => [
        '-c',
        each,
      ]),
      ...(model ? ['-m', model] : []),
      ...['--json', '--output-schema', pathOf('schema.json')],
    ];
    const files = { 'schema.json': JSON.stringify(schema), 'system.txt': system };
    return { args: [...args, '-'], environment: {}, stdin: prompt, files };
  },
  read(ended) {
    const { stdout, code } = ended;
    const events = objectsOf(stdout.split('\n').map(parseObject));
    const failed = events.findLast(({ type }) => type === 'turn.failed' || type === 'error');
    const completed = events.findLast(({ type }) => type === 'turn.completed');
    if (!completed && (failed || code !== 0)) {
      const said = failed ? String(objectAt(failed, 'error').message ?? failed.message) : lastWords(ended);
      const status = /(?:unexpected|last) status:? (\d{3})/.exec(said)?.[1];
      throw failureOf(this, { said, status: status === undefined ? undefined : Number(status) });
    }
    const items = events.map((event) => objectAt(event, 'item'));
    const text = String(items.findLast(({ type }) => type === 'agent_message')?.text ?? stdout);
    const usage = completed?.usage;
    return { output: parseJson(text) ?? text, ...(isObject(usage) && { usage: usageOf(usage) }) };
  },
};

/** Its input counts what was read from the cache, ours does not. */
function usageOf(usage: Record<string, unknown>): Record<string, number> {
  const tokens = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  const cached = tokens('cached_input_tokens');
  return {
    input_tokens: tokens('input_tokens') - cached,
    cache_read_input_tokens: cached,
    output_tokens: tokens('output_tokens'),
  };
}

const ALL: Record<ProgramName, Program> = { 'claude-code': claudeCode, codex };

export const PROGRAMS = Object.keys(ALL) as ProgramName[];

export function programNamed(name: ProgramName): Program {
  return ALL[name];
}

/** `codex/gpt-6` is a model of the program `codex`, `codex` the one that it chooses itself; null: no program is named. */
export function programOf(model: string): { name: ProgramName; model?: string } | null {
  const [, name, own] = /^([a-z-]+)(?:\/(.+))?$/.exec(model) ?? [];
  return PROGRAMS.includes(name as ProgramName) ? { name: name as ProgramName, ...(own && { model: own }) } : null;
}
