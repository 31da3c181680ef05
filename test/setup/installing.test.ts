import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { type Config, loadConfig } from '../../src/base/config/config.ts';
import { AGENT_NAMES, type AgentName, findAgent, findPrograms, type Programs } from '../../src/setup/agents/agents.ts';
import { readSettings } from '../../src/setup/agents/settings-text.ts';
import { applyChange, planInstall, planUninstall } from '../../src/setup/plan.ts';
import { tempDir } from '../support/temp.ts';

const PROGRAMS: Programs = {
  node: '/opt/node/bin/node',
  hook: "/opt/it's/nocturne/dist/hook.js",
  nocturne: "/opt/it's/nocturne/dist/nocturne.js",
};
const HOOKED: AgentName[] = ['claude-code', 'codex', 'gemini'];

async function aPerson(user = tempDir()): Promise<{ user: string; config: Config }> {
  const config = await loadConfig(
    {},
    {
      NOCTURNE_HOME: join(user, '.nocturne'),
      CLAUDE_CONFIG_DIR: join(user, '.claude'),
      CODEX_HOME: join(user, '.codex'),
      GEMINI_CLI_HOME: user,
      XDG_CONFIG_HOME: join(user, '.config'),
    },
  );
  return { user, config };
}

function install(config: Config, agent: AgentName, more: { programs?: Programs } = {}) {
  const change = planInstall(config, { agent, programs: PROGRAMS, ...more });
  if (change.from !== change.to) applyChange(config, change);
  return change;
}

function uninstall(config: Config, agent: AgentName) {
  const change = planUninstall(config, agent);
  applyChange(config, change);
  return change;
}

/** The hooks in the agent's settings. */
function handlersOf(config: Config, agent: AgentName) {
  const file = findAgent(agent).file(config);
  const { hooks } = readSettings(readFileSync(file, 'utf8'), file) as {
    hooks: Record<string, { hooks: { command: string; args?: string[]; timeout: number }[] }[]>;
  };
  return Object.entries(hooks).flatMap(([event, groups]) =>
    groups.flatMap((group) => group.hooks.map((hook) => ({ event, ...hook }))),
  );
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

test.each(AGENT_NAMES)(
  '%s: installed twice it is once, a new place takes the old one’s, and nothing stays of it',
  async (agent) => {
    const { user, config } = await aPerson();
    const file = findAgent(agent).file(config);
    const text = () => readFileSync(file, 'utf8');
    install(config, agent);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const first = text();
    expect(install(config, agent)).toMatchObject({ from: first, to: first });
    install(config, agent, { programs: { ...PROGRAMS, hook: '/new/nocturne/dist/hook.js' } });
    expect(text()).toContain('/new/nocturne/dist/hook.js');
    expect(text()).not.toContain(PROGRAMS.hook);
    uninstall(config, agent);
    expect(readdirSync(user)).toEqual(['.nocturne']);
    // A receipt that is lost changes nothing of that.
    install(config, agent);
    rmSync(join(config.home, 'installed'), { recursive: true });
    install(config, agent);
    expect(text()).toBe(first);
  },
);

test('a directory that was made stays where something else is in it by now', async () => {
  const { user, config } = await aPerson();
  install(config, 'claude-code');
  mkdirSync(join(user, '.claude', 'projects'));
  uninstall(config, 'claude-code');
  expect(readdirSync(join(user, '.claude'))).toEqual(['projects']);
});

test.each([
  ['claude-code', 'UserPromptSubmit', 'recallPrompts', { hooks: [{ type: 'command', timeout: 2 }] }],
  ['codex', 'UserPromptSubmit', 'recallPrompts', { hooks: [{ type: 'command', timeout: 2 }] }],
  ['gemini', 'BeforeAgent', 'recallPrompts', { hooks: [{ type: 'command', timeout: 2_000 }] }],
  ['claude-code', 'PostToolUseFailure', 'recallFailures', { hooks: [{ timeout: 2 }] }],
  ['codex', 'PostToolUse', 'recallFailures', { matcher: 'Bash', hooks: [{ timeout: 2 }] }],
  ['gemini', 'AfterTool', 'recallFailures', { matcher: 'run_shell_command', hooks: [{ timeout: 2_000 }] }],
] as const)(
  '%s: the hook of %s is there only where %s is on, and goes with it',
  async (agent, event, setting, group) => {
    const { config } = await aPerson();
    const hooksOf = (isOn: boolean) => {
      install({ ...config, [setting]: isOn }, agent);
      const file = findAgent(agent).file(config);
      return Object(readSettings(readFileSync(file, 'utf8'), file).hooks)[event];
    };
    expect(hooksOf(false)).toBeUndefined();
    expect(hooksOf(true)).toMatchObject([group]);
    expect(hooksOf(false)).toBeUndefined();
  },
);

test('a handler of the person’s own in one of nocturne’s groups stays, and so does a like-named hook of another tool', async () => {
  const { config } = await aPerson();
  const file = findAgent('claude-code').file(config);
  const other = { type: 'command', command: 'node', args: ['/opt/other/dist/hook.js', 'claude-code'] };
  write(file, JSON.stringify({ hooks: { Stop: [{ hooks: [other] }] } }));
  install(config, 'claude-code');
  const settings = JSON.parse(readFileSync(file, 'utf8'));
  settings.hooks.SessionEnd[0].hooks.push({ type: 'command', command: 'mine' });
  writeFileSync(file, JSON.stringify(settings));
  uninstall(config, 'claude-code');
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
    hooks: { Stop: [{ hooks: [other] }], SessionEnd: [{ hooks: [{ type: 'command', command: 'mine' }] }] },
  });
});

test('a settings file that is no settings, a dead link and bytes that are no text are named and left alone', async () => {
  const { user, config } = await aPerson();
  const file = findAgent('claude-code').file(config);
  for (const text of ['{ "hooks": ', '{ "hooks": "none" }', '[]', Buffer.from([0x7b, 0xff, 0x7d])]) {
    write(file, '');
    writeFileSync(file, text);
    expect(() => install(config, 'claude-code')).toThrow(file);
    expect(readFileSync(file)).toEqual(Buffer.from(text));
  }
  rmSync(file);
  symlinkSync(join(user, 'nowhere'), file);
  expect(() => install(config, 'claude-code')).toThrow('broken link');
  expect(existsSync(config.home)).toBe(false);
  const plugin = findAgent('opencode').file(config);
  write(plugin, 'export const Mine = 1;\n');
  expect(() => install(config, 'opencode')).toThrow(plugin);
  expect(uninstall(config, 'opencode').to).toBe('export const Mine = 1;\n');
});

test('a file that changes between the look and the write is not written', async () => {
  const { config } = await aPerson();
  const file = findAgent('codex').file(config);
  write(file, '{}');
  const change = planInstall(config, { agent: 'codex', programs: PROGRAMS });
  writeFileSync(file, '{ "hooks": {} }');
  expect(() => applyChange(config, change)).toThrow('changed meanwhile');
  expect(readFileSync(file, 'utf8')).toBe('{ "hooks": {} }');
});

test('each agent gets what its contract asks for: seconds or milliseconds, a program or a shell’s words', async () => {
  const { config } = await aPerson();
  for (const agent of HOOKED) install(config, agent);
  const { node, hook, nocturne } = PROGRAMS;
  const whileThere = ['-c', 'test -x "$0" && test -f "$1" || exit 0; exec "$0" "$@"', node];
  const claude = { type: 'command', command: 'sh', args: [...whileThere, hook, 'claude-code'] };
  expect(handlersOf(config, 'claude-code')).toEqual([
    { event: 'SessionEnd', ...claude, timeout: 10 },
    { event: 'Stop', ...claude, timeout: 30, async: true },
    { event: 'PreCompact', ...claude, timeout: 30, async: true },
    { event: 'SessionStart', ...claude, timeout: 30, async: true },
    {
      ...{ event: 'SessionStart', ...claude, timeout: 15 },
      args: [...whileThere, nocturne, 'recall', '--hook', '--agent', 'claude-code'],
    },
    ...['UserPromptSubmit', 'PostToolUseFailure'].map((event) => ({ event, ...claude, timeout: 2 })),
  ]);
  const codex = handlersOf(config, 'codex');
  expect(codex.map(({ event, timeout }) => [event, timeout])).toEqual([
    ['SessionEnd', 3],
    ['Stop', 10],
    ['PreCompact', 10],
    ['SessionStart', 10],
    ['SessionStart', 15],
    ['UserPromptSubmit', 2],
    ['PostToolUse', 2],
  ]);
  const guard = `sh -c 'test -x "$0" && test -f "$1" || exit 0; exec "$0" "$@"'`;
  expect(codex[0]?.command).toBe(String.raw`${guard} /opt/node/bin/node '/opt/it'\''s/nocturne/dist/hook.js' codex`);
  const gemini = handlersOf(config, 'gemini');
  expect(gemini.map(({ event, timeout }) => [event, timeout])).toEqual([
    ['SessionEnd', 10_000],
    ['AfterAgent', 10_000],
    ['PreCompress', 10_000],
    ['SessionStart', 10_000],
    ['SessionStart', 15_000],
    ['BeforeAgent', 2_000],
    ['AfterTool', 2_000],
  ]);
});

test('the programs that agents are told to start are there, in a checkout too', () => {
  const { node, hook, nocturne } = findPrograms({});
  expect([node, hook, nocturne].filter((path) => !existsSync(path))).toEqual([]);
});

test.each(HOOKED)(
  '%s: a hook runs as it is written, and once its file or its Node is gone it says nothing and ends with 0',
  async (agent) => {
    const { user, config } = await aPerson();
    const hook = join(user, "it's nocturne", 'dist', 'hook.js');
    write(hook, 'process.stdin.pipe(process.stdout); console.error(process.argv.slice(2)); process.exitCode = 3;');
    const node = join(user, 'node');
    symlinkSync(process.execPath, node);
    install(config, agent, { programs: { node, hook, nocturne: join(user, 'gone', 'nocturne.js') } });
    const run = ({ command, args }: { command: string; args?: string[] }) => {
      const { status, stdout, stderr } = args
        ? spawnSync(command, args, { input: 'told', encoding: 'utf8' })
        : spawnSync(command, { input: 'told', encoding: 'utf8', shell: true });
      return [status, stdout, stderr];
    };
    const handlers = handlersOf(config, agent);
    const isRecall = ({ command, args = [] }: (typeof handlers)[number]) =>
      [command, ...args].join(' ').includes('recall');
    const runs = () =>
      handlers.map((handler) => (isRecall(handler) ? null : run(handler))).filter((each) => each !== null);
    expect(handlers.filter(isRecall).map(run)).toEqual(handlers.filter(isRecall).map(() => [0, '', '']));
    for (const ran of runs()) expect(ran).toEqual([3, 'told', `[ '${agent}' ]\n`]);
    renameSync(node, `${node}-gone`);
    for (const ran of runs()) expect(ran).toEqual([0, '', '']);
    renameSync(`${node}-gone`, node);
    rmSync(hook);
    for (const ran of runs()) expect(ran).toEqual([0, '', '']);
  },
);
