// The agents that nocturne can be installed for: which file of theirs is changed, what is put into it, and how that is
// told from everything else there. Pure: texts in, texts out. The contracts differ: Claude Code starts a program without
// a shell and counts timeouts in seconds, Codex takes a shell's words and seconds, Gemini CLI a shell's words and
// milliseconds, opencode runs a module inside itself. And the programs that they and schedules start, by absolute path:
// they run without a shell's PATH.

import { delimiter, join, resolve } from 'node:path';
import { type Config, type Environment, userDirectory } from '../../base/config/config.ts';
import { AppError } from '../../base/errors.ts';
import { realPath } from '../../base/files/directories.ts';
import { packagePath, readTextNow } from '../../base/files/files.ts';
import { objectAt, objectsOf } from '../../base/text/json.ts';
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
   * The text with nocturne's part at the end of its lists. Throws `bad-input` for a text that it cannot change.
   */
  add(text: string, programs: Programs, config: Config): string;
  /**
   * The text without nocturne's part; `before` is what it was made from, where that
   * is known. Null: nothing is left.
   */
  remove(text: string, at: { file: string; before: string | null }): string | null;
  /** What of nocturne's is in the text: the same words for the same part. */
  find(text: string, file: string): string[];
  /** What is left for the person to do. */
  afterwards: string[];
}

interface Hook {
  event: string;
  /** Of which tools' calls. */
  matcher?: string;
  handler: { [key: string]: Json };
}

/** Which events of an agent tell nocturne of a session, with the seconds that it may take, and which ask it something. */
interface Events {
  records: Record<string, number>;
  prompt: string;
  failure: Pick<Hook, 'event' | 'matcher'>;
}

export function findAgent(name: AgentName): Agent {
  return AGENTS[name];
}

/**
 * Settings stay when nocturne's files, or the Node that it was set up with, are removed without them: a hook says nothing then and ends with 0.
 * Whatever shell an agent runs, it only hands these words to `sh`. Windows has none.
 */
const WHILE_THERE =
  process.platform === 'win32' ? [] : ['sh', '-c', 'test -x "$0" && test -f "$1" || exit 0; exec "$0" "$@"'];

/** What is asked within a session: with each prompt, and at a call that failed. The hook itself ends far sooner. */
type Wants = Pick<Config, 'recallPrompts' | 'recallFailures'>;
const ASKED_S = 2;
const RECALL_S = 15;

/** The handler of an event, as the agent has it. */
type HandlerOf = (words: string[], seconds: number, of: { event: string; isRecall?: boolean }) => Hook['handler'];

function hooksOf(
  events: Events,
  handler: HandlerOf,
  { hook, nocturne, name }: Programs & { name: string },
  wants: Wants,
) {
  const { records, prompt, failure } = events;
  const record = (event: string, seconds: number) => handler([hook, name], seconds, { event });
  const [recall, event] = [[nocturne, 'recall', '--hook', '--agent', name], 'SessionStart'];
  return [
    ...Object.entries(records).map(([event, seconds]): Hook => ({ event, handler: record(event, seconds) })),
    { event, handler: handler(recall, RECALL_S, { event, isRecall: true }) },
    ...(wants.recallPrompts ? [{ event: prompt, handler: record(prompt, ASKED_S) }] : []),
    ...(wants.recallFailures ? [{ ...failure, handler: record(failure.event, ASKED_S) }] : []),
  ];
}

/** The longest timeout of SessionEnd is what all its hooks together are given; without one that is 1.5 s. */
const CLAUDE_CODE: Events = {
  records: { SessionEnd: 10, Stop: 30, PreCompact: 30, SessionStart: 30 },
  prompt: 'UserPromptSubmit',
  failure: { event: 'PostToolUseFailure' },
};
/** Codex cuts SessionEnd to three seconds and says so at every start where more is asked for. */
const CODEX: Events = {
  records: { SessionEnd: 3, Stop: 10, PreCompact: 10, SessionStart: 10 },
  prompt: 'UserPromptSubmit',
  failure: { event: 'PostToolUse', matcher: 'Bash' },
};
const GEMINI: Events = {
  records: { SessionEnd: 10, AfterAgent: 10, PreCompress: 10, SessionStart: 10 },
  prompt: 'BeforeAgent',
  failure: { event: 'AfterTool', matcher: 'run_shell_command' },
};

/** The hooks of Claude Code, as its settings and the plugin have them: a plugin is gone with its files. */
export function claudeCodeHooks(programs: Programs, wants: Wants, { isPlugin = false } = {}): Hook[] {
  const handler: HandlerOf = (words, timeout, { event, isRecall }) => {
    const [command = '', ...args] = [...(isPlugin ? [] : WHILE_THERE), programs.node, ...words];
    const isWaitedFor = isRecall || timeout === ASKED_S || event === 'SessionEnd';
    return { type: 'command', command, args, timeout, ...(!isWaitedFor && { async: true }) };
  };
  return hooksOf(CLAUDE_CODE, handler, { ...programs, name: 'claude-code' }, wants);
}

function commandOf({ node }: Programs, words: string[]) {
  return { type: 'command', command: shellWords([...WHILE_THERE, node, ...words]) };
}

function hookedAgent(
  made: Omit<Agent, 'add' | 'remove' | 'find' | 'asksWithPrompt'> & { hooks(programs: Programs, wants: Wants): Hook[] },
): Agent {
  const isOurs = (value: unknown, path: Path) => isOurHook(value, path, made.name);
  return {
    ...made,
    asksWithPrompt: true,
    add(text, programs, config) {
      const file = made.file(config);
      return made.hooks(programs, config).reduce((into, { event, handler, ...matcher }) => {
        return setValue(into, { path: ['hooks', event, -1], value: { ...matcher, hooks: [handler] }, file });
      }, text);
    },
    remove(text, { file, before }) {
      const kept = readSettings(before ?? '', file);
      const rest = takeOut(text, {
        file,
        isOurs,
        stays: (path) => path.length === 0 || reaches(kept, path),
      });
      return before === null && /^\s*(\{\s*\})?\s*$/.test(rest) ? null : rest;
    },
    find(text, file) {
      const found = Object.entries(objectAt(readSettings(text, file), 'hooks')).flatMap(([event, groups]) => {
        const ours = objectsOf(groups).flatMap(({ hooks }) =>
          objectsOf(hooks).filter((each) => isOurHandler(each, made.name)),
        );
        return ours.map((handler) => `${event} ${JSON.stringify(handler)}`);
      });
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
    afterwards: ['Claude Code has the hooks in sessions that start from now on.'],
  }),
  codex: hookedAgent({
    name: 'codex',
    title: 'Codex',
    file: ({ environment }) =>
      join(resolve(environment.CODEX_HOME || join(userDirectory(environment), '.codex')), 'hooks.json'),
    hooks: (programs, wants) =>
      hooksOf(
        CODEX,
        (words, timeout) => ({ ...commandOf(programs, words), timeout }),
        { ...programs, name: 'codex' },
        wants,
      ),
    afterwards: [
      'Codex runs no hook that you have not trusted: start codex, type /hooks, and trust those of nocturne.',
    ],
  }),
  gemini: hookedAgent({
    name: 'gemini',
    title: 'Gemini CLI',
    file: ({ environment }) =>
      join(resolve(environment.GEMINI_CLI_HOME || userDirectory(environment)), '.gemini', 'settings.json'),
    hooks: (programs, wants) =>
      hooksOf(
        GEMINI,
        (words, seconds, { isRecall }) => {
          const name = isRecall ? 'nocturne-recall' : 'nocturne';
          return { name, ...commandOf(programs, words), timeout: seconds * 1_000 };
        },
        { ...programs, name: 'gemini' },
        wants,
      ),
    afterwards: ['Gemini CLI before 0.26 has hooks switched off; a worker finds its sessions all the same.'],
  }),
  opencode: {
    name: 'opencode',
    title: 'opencode',
    asksWithPrompt: false,
    file: ({ environment }) => join(configDirectory(environment), 'opencode', 'plugins', 'nocturne.js'),
    add(text, programs, config) {
      if (text === '' || isOpencodePlugin(text)) return opencodePlugin({ programs, home: config.home });
      throw new AppError('bad-input', `${this.file(config)} is not nocturne's; nothing was changed.`, {
        remedy: 'Move it away, then run the same command again.',
      });
    },
    remove: (text) => (isOpencodePlugin(text) ? null : text),
    find: (text) => (isOpencodePlugin(text) ? [text] : []),
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
  const { hooks } = Object(value);
  if (path.length === 3)
    return Array.isArray(hooks) && hooks.length > 0 && hooks.every((each) => isOurHandler(each, agent));
  return path.length === 5 && path[3] === 'hooks' && isOurHandler(value, agent);
}

/** Whether a handler runs nocturne's hook or recall for this agent, of whatever version and place. */
function isOurHandler(handler: unknown, agent: AgentName): boolean {
  const { command, args } = Object(handler);
  const words = [command, args ?? []].flat().join(' ').replace(/["']/g, '');
  const isHook = new RegExp(`[\\\\/]hook\\.[jt]s ${agent}$`).test(words);
  const isRecall = new RegExp(`[\\\\/]nocturne\\.js recall --hook --agent ${agent}$`).test(words);
  // Others may call a program so, too.
  return isRecall || (isHook && (words.includes('nocturne') || words.includes(packagePath())));
}

/** Whether there is something at `path`. */
function reaches(value: unknown, path: Path): boolean {
  return path.reduce<unknown>((inner, key) => Object(inner)[key], value) !== undefined;
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
  throw new AppError('bad-input', `This nocturne is in npm's cache (${nocturne}), which npm may empty.`, {
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
