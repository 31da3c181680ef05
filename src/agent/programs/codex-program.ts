// Codex as the model: one answer of `codex exec`, by our instructions in place of its own, without the person's configuration,
// hooks, plugins, skills, agents and rules, and without a session of its own. Some tools of its own go out with each request,
// and so does `AGENTS.md` of its directory, which nothing holds off. What each setting holds off was measured with the real
// program (test/agents).

import { isObject, objectAt, objectsOf, parseJson, parseObject } from '../../base/text/json.ts';
import { lastWords, type Program } from './program.ts';
import { failureOf } from './program-failures.ts';

/** What its versions do not know of these is told and passed over; by `--disable` it would be an error. */
const OFF = [
  ...[
    'apps',
    'plugins',
    'hooks',
    'shell_tool',
    'unified_exec',
    'image_generation',
    'view_image',
    'goals',
    'sleep_tool',
  ],
  ...['tool_suggest', 'browser_use', 'computer_use', 'skill_search', 'unbounded_connection_retries'],
].map((feature) => `features.${feature}=false`);
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
  read(ended, now) {
    const { stdout, code } = ended;
    const events = objectsOf(stdout.split('\n').map(parseObject));
    const failed = events.findLast(({ type }) => type === 'turn.failed' || type === 'error');
    const completed = events.findLast(({ type }) => type === 'turn.completed');
    if (!completed && (failed || code !== 0)) {
      const said = failed ? String(objectAt(failed, 'error').message ?? failed.message) : lastWords(ended);
      const status = /(?:unexpected|last) status:? (\d{3})/.exec(said)?.[1];
      throw failureOf(this, { said, now, status: status === undefined ? undefined : Number(status) });
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
