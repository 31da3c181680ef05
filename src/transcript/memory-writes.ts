// Did the main agent itself keep something in this turn? Then nocturne leaves the turn alone.
// Only a write that succeeded counts, and only into the memory directory: not reading it, not a file beside it, not
// what a subagent did. Judged by what the transcript records; nothing is looked up but links in paths.

import { homedir } from 'node:os';
import { isInside, type Place, projectName, resolvePath, withAncestors } from './recorded-paths.ts';
import { findScriptCommands, findScriptPatches } from './script-calls.ts';
import { findPowerShellWrites } from './script-writes.ts';
import { findPatchedPaths, findWrittenPaths } from './shell-writes.ts';
import type { Part, Turn } from './types.ts';

export interface WhereMemoryIs {
  memoryDir: string;
  /** A working directory of the session, for messages that record none and to know the session's project. */
  cwd?: string;
  /** What `~` stands for in the session. Default: this user's home. */
  home?: string;
}

type Call = Extract<Part, { kind: 'call' }>;

/**
 * Whether the main agent wrote in `turn` to the memory directory, or to the session's own memory as Claude Code lays
 * it out (`…/projects/<project>/memory/`, where the project is a directory the session was in, or one above it).
 */
export function wroteMemory(turn: Turn, where: WhereMemoryIs): boolean {
  const home = where.home ?? homedir();
  const memoryDir = resolvePath(where.memoryDir, { home });
  const own = turn.messages.filter(
    (message) => !message.isSidechain && !message.isAbandoned && message.speaker !== 'subagent',
  );
  const succeeded = new Set(
    own.flatMap(({ parts }) => parts.flatMap((part) => (part.kind === 'result' && !part.isError ? [part.callId] : []))),
  );
  const cwds = [where.cwd, ...turn.messages.map((message) => message.cwd)].filter((cwd) => cwd !== undefined);
  const projects = new Set([...new Set(cwds)].flatMap(withAncestors).map(projectName));
  return own.some(({ parts, cwd = where.cwd }) =>
    parts.some(
      (part) =>
        part.kind === 'call' &&
        succeeded.has(part.id) &&
        (isMemoryCommand(part) ||
          pathsWrittenBy(part, { cwd, home }).some((path) => isInside(memoryDir, path) || isOwnMemory(path, projects))),
    ),
  );
}

/** The memory tool's own paths (`/memories/…`) always mean memory. */
function isMemoryCommand(call: Call): boolean {
  const command = textAt(call.input, 'command') ?? '';
  return call.tool === 'memory' && ['create', 'str_replace', 'insert', 'delete', 'rename'].includes(command);
}

function pathsWrittenBy({ tool, input }: Call, from: Place): string[] {
  const place = placeOf(input, from);
  switch (tool.toLowerCase().replace(/[^a-z]/g, '')) {
    case 'write':
    case 'writefile':
    case 'create':
    case 'edit':
    case 'replace':
    case 'multiedit':
    case 'notebookedit':
    case 'createfile':
    case 'editfile': {
      const path = ['file_path', 'notebook_path', 'filePath', 'path'].map((key) => textAt(input, key)).find(Boolean);
      return path === undefined ? [] : [resolvePath(path, place)];
    }
    case 'patch':
    case 'applypatch': {
      const patch =
        typeof input === 'string'
          ? input
          : ['input', 'patch', 'patchText'].map((key) => textAt(input, key)).find(Boolean);
      // An operation of OpenAI's own patch tool names its one file itself.
      const paths = patch === undefined ? [textAt(input, 'path') ?? ''] : findPatchedPaths(patch);
      return paths.filter((path) => path !== '').map((path) => resolvePath(path, place));
    }
    case 'bash':
    case 'shell':
    case 'localshell':
    case 'shellcommand':
    case 'execcommand':
    case 'runshellcommand':
      return findWrittenPaths(commandLine(input), place);
    case 'powershell':
      return findPowerShellWrites(commandLine(input)).map((path) => resolvePath(path, place));
    case 'exec':
      return typeof input === 'string' ? pathsWrittenByScript(input, place) : [];
    default:
      return [];
  }
}

function pathsWrittenByScript(script: string, place: Place): string[] {
  const commands = findScriptCommands(script);
  return [
    ...findScriptPatches(script).map((path) => resolvePath(path, place)),
    ...commands.flatMap(({ line, workdir }) => findWrittenPaths(line, placeOf({ workdir }, place))),
  ];
}

/** Some tools are told in which directory to work. */
function placeOf(input: unknown, place: Place): Place {
  const directory = ['workdir', 'working_directory', 'dir_path', 'directory'].map((key) => textAt(input, key));
  const cwd = directory.find(Boolean);
  return cwd === undefined ? place : { ...place, cwd: resolvePath(cwd, place) };
}

/** A command is a line or, as Codex has it, an argument list such as `["bash", "-lc", line]`. */
function commandLine(input: unknown): string {
  const command = valueAt(input, 'command') ?? valueAt(input, 'cmd');
  if (!Array.isArray(command)) return typeof command === 'string' ? command : '';
  const words = command.map((word) => (typeof word === 'object' ? '' : String(word)));
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
}

function isOwnMemory(path: string, projects: ReadonlySet<string>): boolean {
  const project = /\/projects\/([^/]+)\/memory(?:\/|$)/.exec(path)?.[1];
  if (project === undefined) return false;
  // Claude Code cuts a long name to 200 characters and adds a hash.
  return projects.has(project) || (project.length > 200 && [...projects].some((name) => isCutFrom(project, name)));
}

function isCutFrom(project: string, name: string): boolean {
  return name.length > 200 && project.startsWith(name.slice(0, 200));
}

function textAt(input: unknown, key: string): string | undefined {
  const value = valueAt(input, key);
  return typeof value === 'string' ? value : undefined;
}

function valueAt(input: unknown, key: string): unknown {
  return typeof input === 'object' && input !== null ? (input as Record<string, unknown>)[key] : undefined;
}
