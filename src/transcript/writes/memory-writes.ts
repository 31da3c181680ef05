// What the main agent itself wrote into a memory in a turn, and whether that memory is on this disk. Only a write that
// succeeded is one: not reading, not a file next to it, not what a subagent did.
// Judged by what the transcript records; nothing is looked up but links in paths. Whether what was written elsewhere is
// known here is for the caller to say.

import { homedir } from 'node:os';
import { isObject, objectsOf, textOf } from '../../base/text/json.ts';
import type { Call, Message, Part, Turn } from '../types.ts';
import { homeIn, insideAny, type Place, projectName, resolvePath, withAncestors } from './recorded-paths.ts';
import {
  findPatches,
  findPowerShellWrites,
  findScriptCommands,
  findScriptPatches,
  findShellWrites,
  linesOf,
  literalsIn,
  type Written,
} from './shell-writes.ts';

/** The memories on this disk that a session may write to. */
export interface Memories {
  /** The memory directory, and those of extra scopes. */
  dirs: readonly string[];
  /** Where Claude Code on this disk keeps a folder for each project; of these the session's own count. */
  projectsDirs?: readonly string[];
  /** A working directory of the session, for messages that record none and to know the session's project. */
  cwd?: string;
  /** What `~` stands for in the session. Default: the home that its working directory is in. */
  home?: string;
}

/** A call that wrote memory. */
export interface MemoryWrite {
  call: string;
  /** Where its message stands in the turn, and the last message that belongs to it: mostly its result. */
  at: number;
  through: number;
  path: string;
  /** It is in one of the memories on this disk, by its path. Else it is the memory tool's, or another machine's. */
  isHere: boolean;
  /** The lines that it added; empty for a deletion, a rename, and where nothing tells. */
  added: string[];
}

/** The calls in `turn` that wrote memory, on this disk or by all appearance elsewhere, in order. */
export function findMemoryWrites(turn: Turn, memories: Memories): MemoryWrite[] {
  const { messages } = turn;
  const results = new Map<string, number>();
  for (const [at, message] of messages.entries()) {
    if (!isMainAgents(message)) continue;
    for (const part of message.parts) if (part.kind === 'result' && !part.isError) results.set(part.callId, at);
  }
  const isHere = judgeOf(turn, memories);
  return messages.flatMap((message, at) => {
    if (!isMainAgents(message)) return [];
    return message.parts.flatMap((part) => {
      const result = part.kind === 'call' ? results.get(part.id) : undefined;
      if (part.kind !== 'call' || result === undefined) return [];
      const written = writtenBy(part, placeIn(message, memories)).filter(({ path }) => path !== '');
      const here = written.filter(({ path }) => isHere(path));
      const found = here.length > 0 ? here : written.filter(({ path }) => isMemoryPath(path));
      if (found.length === 0) return [];
      const through = endOfWrite(messages, { at, result });
      const path = [...new Set(found.map((each) => each.path))].join(', ');
      return [
        { call: part.id, at, through, path, isHere: here.length > 0, added: found.flatMap(({ added }) => added) },
      ];
    });
  });
}

/** The message with what these of its calls wrote as words instead of the calls. */
export function sayWrites(message: Message, calls: ReadonlySet<string>): Message {
  if (!message.parts.some((part) => part.kind === 'call' && calls.has(part.id))) return message;
  const parts = message.parts.map((part): Part => {
    if (part.kind !== 'call' || !calls.has(part.id)) return part;
    const written = writtenBy(part, placeIn(message, {})).filter(({ path }) => isMemoryPath(path));
    const text = written.map(({ path, added }) => [`[wrote ${path}]`, ...added].join('\n')).join('\n');
    return { kind: 'text', text };
  });
  return { ...message, parts };
}

/** Whether a message is a part of the conversation between a person and the main agent. */
export function isMainAgents({ isSidechain, isAbandoned, speaker }: Message): boolean {
  return !isSidechain && !isAbandoned && speaker !== 'subagent';
}

/** What a person says before the result comes was not known to the write. */
function endOfWrite(messages: readonly Message[], { at, result }: { at: number; result: number }): number {
  const human = messages.findIndex(
    (message, index) => index > at && index <= result && message.speaker === 'human' && isMainAgents(message),
  );
  return human === -1 ? Math.max(at, result) : human - 1;
}

function placeIn({ cwd }: Message, memories: Pick<Memories, 'cwd' | 'home'>): Place {
  const at = cwd ?? memories.cwd;
  return { cwd: at, home: memories.home ?? homeIn(at) ?? homedir() };
}

/** Says of a path whether it is in a memory on this disk. */
function judgeOf({ messages }: Turn, memories: Memories): (path: string) => boolean {
  const home = memories.home ?? homedir();
  const dirs = memories.dirs.map((dir) => resolvePath(dir, { home }));
  const projectsDirs = (memories.projectsDirs ?? []).map((dir) => resolvePath(dir, { home }));
  const cwds = [memories.cwd, ...messages.map(({ cwd }) => cwd)].filter((cwd) => cwd !== undefined);
  const projects = [...new Set([...new Set(cwds)].flatMap(withAncestors).map(projectName))];
  const own = projectsDirs.flatMap((dir) => projects.map((name) => `${dir}/${name}/memory`));
  const isInMemory = insideAny([...dirs, ...own]);
  const isInProjects = insideAny(projectsDirs);
  const long = projects.filter((name) => name.length > MOST_OF_NAME);
  return (path) => isInMemory(path) || (long.some((name) => isCutFrom(path, name)) && isInProjects(path));
}

const MOST_OF_NAME = 200;

/** Claude Code cuts a long name of a project to 200 characters and adds a hash. */
function isCutFrom(path: string, name: string): boolean {
  const project = /\/projects\/([^/]+)\/memory(?:\/|$)/.exec(path)?.[1] ?? '';
  return project.length > MOST_OF_NAME && project.startsWith(name.slice(0, MOST_OF_NAME));
}

/** The memory tool's own paths, and where agents keep memory, on whatever machine. */
function isMemoryPath(path: string): boolean {
  return /^\/memories(?:\/|$)|\/projects\/[^/]+\/memory(?:\/|$)|\/\.(?:claude\/memory|codex\/memories)(?:\/|$)/.test(
    path,
  );
}

/** What a call of each tool writes, by the letters of its name. */
const WRITERS: readonly [tool: RegExp, written: (input: unknown, place: Place) => Written[]][] = [
  [/^memory$/, writtenByMemoryTool],
  [/^(?:write|writefile|create|createfile|edit|editfile|multiedit|notebookedit|replace)$/, writtenByEdit],
  [/^(?:patch|applypatch)$/, writtenByPatch],
  [
    /^(?:bash|shell|localshell|shellcommand|execcommand|runshellcommand)$/,
    (input, place) => findShellWrites(commandLine(input), place),
  ],
  [/^powershell$/, (input, place) => writtenByPowerShell(commandLine(input), place)],
  [/^exec$/, (input, place) => (typeof input === 'string' ? writtenByScript(input, place) : [])],
];

function writtenBy({ tool, input }: Call, from: Place): Written[] {
  const name = tool.toLowerCase().replace(/[^a-z]/g, '');
  const written = WRITERS.find(([pattern]) => pattern.test(name))?.[1];
  return written?.(input, placeOf(input, from)) ?? [];
}

function writtenByMemoryTool(input: unknown): Written[] {
  const command = textAt(input, 'command') ?? '';
  if (!['create', 'str_replace', 'insert', 'delete', 'rename'].includes(command)) return [];
  const path = textAt(input, 'path', 'new_path', 'old_path') ?? '';
  return [{ path: path.startsWith('/memories') ? path : `/memories/${path}`, added: addedBy(input) }];
}

function writtenByEdit(input: unknown, place: Place): Written[] {
  const path = textAt(input, 'file_path', 'notebook_path', 'filePath', 'path');
  return path === undefined ? [] : [{ path: resolvePath(path, place), added: addedBy(input) }];
}

function writtenByPatch(input: unknown, place: Place): Written[] {
  const patch = typeof input === 'string' ? input : textAt(input, 'input', 'patch', 'patchText');
  // An operation of OpenAI's own patch tool names its one file itself.
  const path = textAt(input, 'path') ?? '';
  const diff = `*** Update File: ${path}\n${textAt(input, 'diff') ?? ''}`;
  return patch === undefined && path === '' ? [] : resolved(findPatches(patch ?? diff), place);
}

function writtenByPowerShell(script: string, place: Place): Written[] {
  const added = literalsIn(script);
  return resolved(
    findPowerShellWrites(script).map((path) => ({ path, added })),
    place,
  );
}

function writtenByScript(script: string, place: Place): Written[] {
  const commands = findScriptCommands(script);
  return [
    ...resolved(findScriptPatches(script), place),
    ...commands.flatMap(({ line, workdir }) => findShellWrites(line, placeOf({ workdir }, place))),
  ];
}

const KEYS_OF_NEW = 'content contents file_text insert_text new_string newString newText new_str new_source'.split(' ');
const KEYS_OF_OLD = 'old_string oldString oldText old_str'.split(' ');

/** The lines of the new text that the old one lacks, for every way in which a tool is told of them. */
function addedBy(input: unknown): string[] {
  const edits = objectsOf(isObject(input) ? input.edits : undefined);
  return [input, ...edits].flatMap((each) => {
    const linesAt = (key: string) => linesOf(textAt(each, key) ?? '');
    const before = new Set(KEYS_OF_OLD.flatMap(linesAt));
    return KEYS_OF_NEW.flatMap(linesAt).filter((line) => !before.has(line));
  });
}

function resolved(written: Written[], place: Place): Written[] {
  return written.map(({ path, added }) => ({ path: resolvePath(path, place), added }));
}

/** Some tools are told in which directory to work. */
function placeOf(input: unknown, place: Place): Place {
  const cwd = textAt(input, 'workdir', 'working_directory', 'dir_path', 'directory');
  return cwd === undefined ? place : { ...place, cwd: resolvePath(cwd, place) };
}

/** A command is a line or, as Codex has it, an argument list such as `["bash", "-lc", line]`. */
function commandLine(input: unknown): string {
  const command = isObject(input) ? (input.command ?? input.cmd) : undefined;
  if (!Array.isArray(command)) return textOf(command) ?? '';
  const words = command.map((word) => (typeof word === 'object' ? '' : String(word)));
  return words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ');
}

/** The first of these keys that holds text. */
function textAt(input: unknown, ...keys: string[]): string | undefined {
  return isObject(input) ? keys.map((key) => textOf(input[key])).find((text) => text !== undefined) : undefined;
}
