// The agents' programs that may stand as the model, and which model id names one.
//
// Claude Code is one request of `claude -p`, without tools, settings, hooks, MCP servers, skills, project files, memory and a
// session of its own. Thinking is off and its answer bounded, as by key. Codex is one of `codex exec` in the same way. What
// each flag holds off was measured with the real programs (test/agents).

import { AppError } from '../../base/errors.ts';
import { isObject, objectAt, objectsOf, parsedOr, parseJson, parseObject } from '../../base/text/json.ts';
import { failureOf, lastWords, type Program, type ProgramName, quoteSaid } from './program.ts';

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
