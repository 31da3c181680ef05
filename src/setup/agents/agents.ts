// The agents that nocturne can be installed for: which file of theirs is changed, what is put into it, and how that is
// told from everything else there. Pure: texts in, texts out. The contracts differ: Claude Code starts a program without
// a shell and counts timeouts in seconds, Codex takes a shell's words and seconds, Gemini CLI a shell's words and
// milliseconds, opencode runs a module inside itself. And the programs that they and schedules start, by absolute path:
// they run without a shell's PATH.

import { delimiter, join, resolve } from 'node:path';
import { type Config, type Environment, userDirectory } from '../../base/config/config.ts';
import { AppError } from '../../base/errors.ts';
import { canonicalPath, realPath } from '../../base/files/directories.ts';
import { packagePath, readTextNow } from '../../base/files/files.ts';
import { memoryDirFor } from '../../memory/places.ts';
import { type Json, type Path, readSettings, setValue, takeOut } from './settings-text.ts';

export const AGENT_NAMES = ['claude-code', 'codex', 'gemini', 'opencode'] as const;
export type AgentName = (typeof AGENT_NAMES)[number];

export interface Agent {
  name: AgentName;
  title: string;
  /** Its hook asks what to tell a session with a prompt. */
  asksWithPrompt: boolean;
  file(config: Config): string;
  /**
   * The text with nocturne's part at the end of its lists; `rules`: permissions to add, only where the agent has such.
   * Throws `bad-input` for a text that it cannot change.
   */
  add(text: string, part: { programs: Programs; rules: string[] }, config: Config): string;
  /** The text without nocturne's part; `before` is what it was made from, where that is known. Null: nothing is left. */
  remove(text: string, at: { file: string; rules: string[]; before: string | null }): string | null;
  /** What of nocturne's is in the text: the same words for the same part. */
  find(text: string, file: string): string[];
  /** Rules that let the agent write its memory without asking, and nothing else. */
  rules(config: Config): string[];
  /** What is left for the person to do. */
  afterwards: string[];
}

interface Hook {
  event: string;
  /** Of which tools' calls. */
  matcher?: string;
  handler: { [key: string]: Json };
}

/** The hook itself ends far sooner. */
const PROMPT_S = 2;

export function findAgent(name: AgentName): Agent {
  return AGENTS[name];
}

/**
 * Settings stay when nocturne's files, or the Node that it was set up with, are removed without them: a hook says nothing then and ends with 0.
 * Whatever shell an agent runs, it only hands these words to `sh`. Windows has none.
 */
const WHILE_THERE =
  process.platform === 'win32' ? [] : ['sh', '-c', 'test -x "$0" && test -f "$1" || exit 0; exec "$0" "$@"'];

/** What is asked within a session: with each prompt, and at a call that failed. */
interface Wants {
  prompts: boolean;
  failures: boolean;
}
const ALL: Wants = { prompts: true, failures: true };

/** The hooks of Claude Code, as its settings and the plugin have them. */
export function claudeCodeHooks(
  { node, hook, nocturne }: Programs,
  { prompts, failures, isPlugin = false }: Wants & { isPlugin?: boolean } = ALL,
): Hook[] {
  const run = (program: string, more: string[], rest: { [key: string]: Json }) => {
    // A plugin is gone with its files, and is the same on every platform.
    const [command = node, ...args] = [...(isPlugin ? [] : WHILE_THERE), node, program, ...more];
    return { type: 'command', command, args, ...rest };
  };
  const record = (more: { [key: string]: Json }) => run(hook, ['claude-code'], more);
  const recall = run(nocturne, ['recall', '--hook', '--agent', 'claude-code'], { timeout: 15 });
  return [
    // The longest timeout here is what all SessionEnd hooks together are given; without one that is 1.5 s.
    { event: 'SessionEnd', handler: record({ timeout: 10 }) },
    { event: 'Stop', handler: record({ timeout: 30, async: true }) },
    { event: 'PreCompact', handler: record({ timeout: 30, async: true }) },
    { event: 'SessionStart', handler: record({ timeout: 30, async: true }) },
    { event: 'SessionStart', handler: recall },
    { event: 'SubagentStart', handler: recall },
    ...(prompts ? [{ event: 'UserPromptSubmit', handler: record({ timeout: PROMPT_S }) }] : []),
    ...(failures ? [{ event: 'PostToolUseFailure', matcher: 'Bash', handler: record({ timeout: PROMPT_S }) }] : []),
  ];
}

function codexHooks({ node, hook, nocturne }: Programs, { prompts, failures }: Wants): Hook[] {
  const run = (words: string[], timeout: number) => {
    return { type: 'command', command: shellWords([...WHILE_THERE, node, ...words]), timeout };
  };
  const record = (timeout: number) => run([hook, 'codex'], timeout);
  return [
    // Codex cuts this one to three seconds and says so at every start where more is asked for.
    { event: 'SessionEnd', handler: record(3) },
    { event: 'Stop', handler: record(10) },
    { event: 'PreCompact', handler: record(10) },
    { event: 'SessionStart', handler: record(10) },
    { event: 'SessionStart', handler: run([nocturne, 'recall', '--hook', '--agent', 'codex'], 15) },
    ...(prompts ? [{ event: 'UserPromptSubmit', handler: record(PROMPT_S) }] : []),
    ...(failures ? [{ event: 'PostToolUse', matcher: 'Bash', handler: record(PROMPT_S) }] : []),
  ];
}

function geminiHooks({ node, hook, nocturne }: Programs, { prompts, failures }: Wants): Hook[] {
  const run = (name: string, words: string[], timeout: number) => {
    return { name, type: 'command', command: shellWords([...WHILE_THERE, node, ...words]), timeout };
  };
  const record = run('nocturne', [hook, 'gemini'], 10_000);
  const recall = run('nocturne-recall', [nocturne, 'recall', '--hook', '--agent', 'gemini'], 15_000);
  return [
    { event: 'SessionEnd', handler: record },
    { event: 'AfterAgent', handler: record },
    { event: 'PreCompress', handler: record },
    { event: 'SessionStart', handler: record },
    { event: 'SessionStart', handler: recall },
    ...(prompts ? [{ event: 'BeforeAgent', handler: { ...record, timeout: PROMPT_S * 1_000 } }] : []),
    ...(failures
      ? [{ event: 'AfterTool', matcher: 'run_shell_command', handler: { ...record, timeout: PROMPT_S * 1_000 } }]
      : []),
  ];
}

function hookedAgent(
  made: Omit<Agent, 'add' | 'remove' | 'find' | 'asksWithPrompt'> & {
    hooks(programs: Programs, wants: Wants): Hook[];
  },
): Agent {
  const isOurs = (value: unknown, path: Path) => isOurHook(value, path, made.name);
  return {
    ...made,
    asksWithPrompt: true,
    add(text, { programs, rules }, config) {
      const file = made.file(config);
      const hooks = made.hooks(programs, { prompts: config.recallPrompts, failures: config.recallFailures });
      return [
        ...hooks.map(({ event, handler, ...matcher }) => {
          return { path: ['hooks', event, -1], value: { ...matcher, hooks: [handler] } };
        }),
        ...rules.map((value) => ({ path: ['permissions', 'allow', -1], value })),
      ].reduce((into, { path, value }) => setValue(into, { path, value, file }), text);
    },
    remove(text, { file, rules, before }) {
      const kept = readSettings(before ?? '', file);
      const rest = takeOut(text, {
        file,
        isOurs: (value, path) => isOurs(value, path) || isRule(value, path, rules),
        stays: (path) => path.length === 0 || reaches(kept, path),
      });
      return before === null && /^\s*(\{\s*\})?\s*$/.test(rest) ? null : rest;
    },
    find(text, file) {
      const found: string[] = [];
      for (const [event, groups] of Object.entries(recordOf(readSettings(text, file).hooks))) {
        for (const group of listOf(groups)) {
          for (const handler of listOf(recordOf(group).hooks)) {
            if (isOurHandler(handler, made.name)) found.push(`${event} ${JSON.stringify(handler)}`);
          }
        }
      }
      return found.sort();
    },
  };
}

const AGENTS: Record<AgentName, Agent> = {
  'claude-code': hookedAgent({
    name: 'claude-code',
    title: 'Claude Code',
    file: (config) => join(config.claudeDir, 'settings.json'),
    hooks: claudeCodeHooks,
    rules: memoryRules,
    afterwards: ['Claude Code has the hooks in sessions that start from now on.'],
  }),
  codex: hookedAgent({
    name: 'codex',
    title: 'Codex',
    file: ({ environment }) =>
      join(resolve(environment.CODEX_HOME || join(userDirectory(environment), '.codex')), 'hooks.json'),
    hooks: codexHooks,
    rules: () => [],
    afterwards: [
      'Codex runs no hook that you have not trusted: start codex, type /hooks, and trust those of nocturne.',
    ],
  }),
  gemini: hookedAgent({
    name: 'gemini',
    title: 'Gemini CLI',
    file: ({ environment }) =>
      join(resolve(environment.GEMINI_CLI_HOME || userDirectory(environment)), '.gemini', 'settings.json'),
    hooks: geminiHooks,
    rules: () => [],
    afterwards: ['Gemini CLI before 0.26 has hooks switched off; a worker finds its sessions all the same.'],
  }),
  opencode: {
    name: 'opencode',
    title: 'opencode',
    asksWithPrompt: false,
    file: ({ environment }) => join(configDirectory(environment), 'opencode', 'plugins', 'nocturne.js'),
    add(text, { programs }, config) {
      if (text === '' || isOpencodePlugin(text)) return opencodePlugin({ programs, home: config.home });
      throw new AppError('bad-input', `${this.file(config)} is not nocturne's; nothing was changed.`, {
        remedy: 'Move it away, then run the same command again.',
      });
    },
    remove: (text) => (isOpencodePlugin(text) ? null : text),
    find: (text) => (isOpencodePlugin(text) ? [text] : []),
    rules: () => [],
    afterwards: ['opencode loads the plugin when it is started again.'],
  },
};

/** Where programs keep their settings, for those that follow XDG. */
export function configDirectory(environment: Environment): string {
  return resolve(environment.XDG_CONFIG_HOME || join(userDirectory(environment), '.config'));
}

/** The arguments as one line that a shell takes apart again. */
function shellWords(words: string[]): string {
  const quote = (word: string) =>
    process.platform === 'win32' ? `"${word}"` : `'${word.replaceAll("'", String.raw`'\''`)}'`;
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : quote(word))).join(' ');
}

/** A group of handlers that are all ours, or one of ours among others'. */
function isOurHook(value: unknown, path: Path, agent: AgentName): boolean {
  if (path[0] !== 'hooks') return false;
  const handlers = listOf(recordOf(value).hooks);
  if (path.length === 3) return handlers.length > 0 && handlers.every((handler) => isOurHandler(handler, agent));
  return path.length === 5 && path[3] === 'hooks' && isOurHandler(value, agent);
}

/** Whether a handler runs nocturne's hook or recall for this agent, of whatever version and place. */
function isOurHandler(handler: unknown, agent: AgentName): boolean {
  const { command, args } = recordOf(handler);
  const words = [command, ...listOf(args)].join(' ').replace(/["']/g, '');
  const isHook = new RegExp(`[\\\\/]hook\\.[jt]s ${agent}$`).test(words);
  const isRecall = new RegExp(`[\\\\/]nocturne\\.js recall --hook --agent ${agent}$`).test(words);
  // Others may call a program so, too.
  return isRecall || (isHook && (words.includes('nocturne') || words.includes(packagePath())));
}

function isRule(value: unknown, path: Path, rules: string[]): boolean {
  return path.length === 3 && path[0] === 'permissions' && path[1] === 'allow' && rules.includes(String(value));
}

/** Whether there is something at `path`. */
function reaches(value: unknown, path: Path): boolean {
  return path.reduce<unknown>((inner, key) => Object(inner)[key], value) !== undefined;
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export interface Programs {
  /** The Node that runs the others. */
  node: string;
  /** What an agent's hooks run; in a checkout, its source. */
  hook: string;
  /** The command line. */
  nocturne: string;
}

/** Whether what runs is the build; not told from where this file is, which the build packs into others. */
const isBuilt = import.meta.url.endsWith('.js');

/** The programs of this nocturne. */
export function findPrograms(environment: Environment): Programs {
  return {
    node: findNode(environment),
    hook: isBuilt ? packagePath('dist', 'hook.js') : packagePath('src', 'hook', 'hook.ts'),
    nocturne: isBuilt ? packagePath('dist', 'nocturne.js') : packagePath('src', 'cli', 'nocturne.js'),
  };
}

/** The template of the module that opencode is given. */
function opencodeTemplate(): string {
  return isBuilt
    ? packagePath('dist', 'opencode-module.js')
    : packagePath('src', 'setup', 'agents', 'opencode-module.js');
}

/** Throws where the programs will not stay: `npx` keeps packages in a cache that npm empties. */
export function refusePassing({ nocturne }: Programs): void {
  if (!/[\\/]_npx[\\/]/.test(nocturne)) return;
  throw new AppError('bad-input', `This nocturne is in npm's cache (${nocturne}), which is emptied one day.`, {
    remedy: 'Install it first: npm install --global nocturne',
  });
}

/**
 * This Node. Homebrew removes the directory of an old version when it updates, so there the name on PATH that leads to it
 * is taken; elsewhere such a name may be a shell's own and gone with it.
 */
function findNode(environment: Environment): string {
  const node = process.execPath;
  if (!node.includes('/Cellar/')) return node;
  const own = realPath(node);
  const named = (environment.PATH ?? '').split(delimiter).map((dir) => join(dir, 'node'));
  return named.find((path) => !path.includes('/node_modules/') && realPath(path) === own) ?? node;
}

const MARK = '// Written by nocturne ';
const INSTALLED = "const INSTALLED = { node: '', hook: '', nocturne: '', home: '' };";

function isOpencodePlugin(text: string): boolean {
  return text.startsWith(MARK);
}

/** The module's text. */
export function opencodePlugin({ programs, home }: { programs: Programs; home: string }): string {
  const path = opencodeTemplate();
  const template = readTextNow(path);
  if (!template?.includes(INSTALLED)) throw new AppError('storage', `${path} is not the template it should be.`);
  return template.replace(INSTALLED, () => `const INSTALLED = ${JSON.stringify({ ...programs, home })};`);
}

/** The rules for where memory is kept: in one place, or in that of each project. Errors: those of the chain of places. */
function memoryRules(config: Config): string[] {
  const { memoryDir, agentMemory, claudeDir, userDir } = config;
  const isOnePlace = (memoryDir ?? agentMemory.settings.autoMemoryDirectory) !== undefined;
  const base = isOnePlace ? memoryDirFor(config, {}) : join(agentMemory.remoteDir ?? claudeDir, 'projects');
  const below = isOnePlace ? '' : '/*/memory';
  const places = [...new Set([base, canonicalPath(base)])].map((place) => anchored(place, userDir) + below);
  return places.flatMap((place) => [`Edit(${place}/*.md)`, `Edit(${place}/logs/**/*.md)`]);
}

function anchored(path: string, user: string): string {
  const isBelowHome = path.startsWith(`${user}/`) || path.startsWith(`${user}\\`);
  const rest = (isBelowHome ? path.slice(user.length + 1) : path)
    .replaceAll('\\', '/')
    .replace(/^([A-Za-z]):\//, (_, drive: string) => `/${drive.toLowerCase()}/`)
    .replace(/[[\]*?!#]/g, '\\$&');
  return isBelowHome ? `~/${rest}` : `/${rest}`;
}
