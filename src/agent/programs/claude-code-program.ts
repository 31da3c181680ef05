// Claude Code as the model: one request of `claude -p`, without tools, settings, hooks, MCP servers, skills, project files,
// memory and a session of its own. Thinking is off and its answer bounded, as by key. What each flag holds off was measured
// with the real program (test/agents).

import { AppError } from '../../base/errors.ts';
import { isObject, objectAt, parsedOr, parseJson } from '../../base/text/json.ts';
import { lastWords, type Program, quoteSaid } from './program.ts';
import { failureOf } from './program-failures.ts';

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
  read(ended, now) {
    const result = parseJson(ended.stdout);
    if (!isObject(result)) {
      if (ended.code !== 0) throw failureOf(this, { said: lastWords(ended), now });
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
              now,
              status: typeof status === 'number' ? status : undefined,
              isBusy: said.includes('not your usage limit'),
            });
      return { failure, ...used };
    }
    return { output: result.structured_output ?? parsedOr(String(result.result ?? '')), ...used };
  },
};
