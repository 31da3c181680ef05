// What hooks leave, and who takes it. The spool, `$NOCTURNE_HOME/spool/`, holds one small file for each time a hook was
// called, until a worker has put the session into an inbox; `$NOCTURNE_HOME/awake/` a file for each worker that takes it
// in, so that a hook knows within a millisecond, without a database or a server, whether it has to start one.
// Promises: a file is whole or absent, no two calls share one, and reading never throws for what is in it (what cannot be
// read is set aside, named); nothing spooled is left behind, because a hook first spools and then looks who is awake, and a
// worker first leaves and then looks into the spool once more. Loads nothing but Node's own modules, for the hook's sake.

import { basename, dirname, join } from 'node:path';
import { attempt, describeError, isAppError, jsonProblem } from '../base/errors.ts';
import { listNames } from '../base/files/directories.ts';
import {
  makeDirectory,
  moveFile,
  openLog,
  packagePath,
  readTextNow,
  removeFile,
  statNow,
  writeNew,
  writeWhole,
} from '../base/files/files.ts';
import { environmentOfWorker, isDead, thisProcess } from '../base/process.ts';
import { type Clock, systemClock } from '../base/time.ts';

const AGENT_NAMES = ['claude-code', 'codex', 'gemini', 'opencode', 'copilot', 'pi'] as const;
export type AgentName = (typeof AGENT_NAMES)[number];

export interface SpoolItem {
  v: 1;
  agent: AgentName;
  session: string | null;
  /** Absolute; null where the agent did not say. */
  transcript: string | null;
  cwd: string | null;
  /** As the agent names it. */
  event: string;
  /** Of the transcript when the hook was called; null where there was none. */
  size: number | null;
  mtime: string | null;
  at: string;
  /** Of the hook, what decides for this session (`environmentOfSession`). */
  environment?: Record<string, string | undefined>;
}

/** What an event means here: a session began, went on, or ended. */
type EventKind = 'start' | 'turn' | 'end';

const EVENTS: Record<string, EventKind> = {
  SessionStart: 'start',
  Stop: 'turn',
  StopFailure: 'turn',
  PreCompact: 'turn',
  PreCompress: 'turn',
  AfterAgent: 'turn',
  'session.idle': 'turn',
  'session.compacted': 'turn',
  SessionEnd: 'end',
};

/** Undefined for an event that is nothing to nocturne. */
export function kindOfEvent(event: string): EventKind | undefined {
  return Object.hasOwn(EVENTS, event) ? EVENTS[event] : undefined;
}

export function isAgentName(name: unknown): name is AgentName {
  return (AGENT_NAMES as readonly unknown[]).includes(name);
}

/** A file that was begun so long ago belongs to a hook that was killed. */
const ABANDONED_MS = 60_000;

function spoolDir(home: string): string {
  return join(home, 'spool');
}

/**
 * Throws an AppError `storage` where the disk does not take it; then nothing of it is left. Not synced, which would take
 * as long as all else a hook does: what a power loss takes is found by the next sweep.
 */
export function writeSpoolItem(home: string, item: SpoolItem): void {
  const dir = spoolDir(home);
  makeDirectory(dir);
  const name = `${item.at.replaceAll(':', '-')}.${process.pid}.${Math.random().toString(36).slice(2, 8)}`;
  const temporary = join(dir, `${name}.tmp`);
  try {
    writeNew(temporary, JSON.stringify(item));
    moveFile(temporary, join(dir, `${name}.json`));
  } catch (error) {
    removeFile(temporary);
    throw error;
  }
}

export interface Spooled {
  /** To be removed once the item is in an inbox, never before. */
  file: string;
  item: SpoolItem;
}

/** What waits, in the order the hooks were called. `onProblem` is told, in a sentence, of each file that is none. */
export function readSpool(home: string, onProblem: (problem: string) => void): Spooled[] {
  const found: Spooled[] = [];
  for (const file of spoolFiles(home)) {
    try {
      const item = readItem(file);
      if (item === null) continue;
      if (typeof item !== 'string') found.push({ file, item });
      else onProblem(`A hook's file could not be read and was set aside as ${setAside(home, file)}: ${item}.`);
    } catch (error) {
      // Of another user, for example: it stays, and keeps nothing else from being taken in.
      if (!isAppError(error, 'storage')) throw error;
      onProblem(`A hook's file waits: ${describeError(error)}`);
    }
  }
  return found.sort((a, b) => Date.parse(a.item.at) - Date.parse(b.item.at));
}

/** Removes what killed hooks have left half written. */
export function removeAbandoned(home: string, now: Date): void {
  for (const name of listNames(spoolDir(home)).filter((name) => name.endsWith('.tmp'))) {
    const path = join(spoolDir(home), name);
    const look = statNow(path);
    if (look && now.getTime() - look.modifiedMs > ABANDONED_MS) removeFile(path);
  }
}

/** The files of what waits. */
export function spoolFiles(home: string): string[] {
  return listNames(spoolDir(home))
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(spoolDir(home), name));
}

/** What lies in the spool, sessions by their names, files that are none by theirs; nothing is set aside or removed. */
export function namesInSpool(home: string): string[] {
  const damaged = listNames(join(spoolDir(home), 'damaged')).map((name) => join('damaged', name));
  return [...new Set([...spoolFiles(home).map(nameOf), ...damaged])];
}

function nameOf(file: string): string {
  // Of another user, for example.
  const item = attempt(
    () => readItem(file),
    () => null,
    'storage',
  );
  return item === null || typeof item === 'string' ? basename(file) : sessionName(item);
}

/** The item in a file, or why it holds none; null where another worker has taken it in meanwhile. */
function readItem(file: string): SpoolItem | string | null {
  if (statNow(file)?.isFile === false) return 'it is no file';
  const text = readTextNow(file);
  return text === null ? null : parseItem(text);
}

/** A session as hooks told of it, for messages. */
export function sessionName({ agent, session, transcript }: SpoolItem): string {
  const name = session || transcript || 'without a name';
  return `${agent} session ${name.length > MOST_NAME ? `${name.slice(0, MOST_NAME)}…` : name}`;
}

const MOST_NAME = 100;

function setAside(home: string, file: string): string {
  const aside = join(spoolDir(home), 'damaged', basename(file));
  makeDirectory(dirname(aside));
  moveFile(file, aside);
  return aside;
}

/** The item, or why it is none. Checked by hand: a schema library would be loaded by every hook. */
function parseItem(text: string): SpoolItem | string {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (error) {
    return jsonProblem(error);
  }
  const item = Object(found) as Partial<SpoolItem>;
  if (item.v !== 1) return `version ${JSON.stringify(item.v)} is not known here`;
  if (!isAgentName(item.agent)) return `agent ${JSON.stringify(item.agent)} is not known`;
  if (typeof item.event !== 'string') return 'no event';
  if (typeof item.at !== 'string' || Number.isNaN(Date.parse(item.at))) return 'no time';
  for (const name of ['session', 'transcript', 'cwd'] as const)
    if (item[name] !== null && typeof item[name] !== 'string') return `${name} is no text`;
  const { environment = {} } = item;
  const isOfTexts = Object.values(Object(environment)).every((value) => typeof value === 'string');
  if (Object(environment) !== environment || !isOfTexts) return 'environment is no object of texts';
  return item as SpoolItem;
}

/** A process on another host (a container that was made again) cannot be asked: its file tells by being renewed. */
const RENEWED_MS = 30_000;
const FORGOTTEN_MS = 4 * RENEWED_MS;

export function awakeIn(home: string, clock: Clock) {
  const dir = join(home, 'awake');
  // In the order of their names the older come first.
  const name = `${String(clock.now().getTime()).padStart(15, '0')}-${process.pid}`;
  let renewal: NodeJS.Timeout | undefined;
  const write = () => writeWhole(join(dir, name), thisProcess());
  /** Enters this process, and its file is renewed until it leaves. */
  const enter = () => {
    for (const gone of listNames(dir).filter((other) => !isAwake(join(dir, other), clock))) removeFile(join(dir, gone));
    write();
    renewal ??= setInterval(write, RENEWED_MS).unref();
  };
  const leave = () => {
    clearInterval(renewal);
    renewal = undefined;
    removeFile(join(dir, name));
  };
  const hasOlder = () => listNames(dir).some((other) => other < name && isAwake(join(dir, other), clock));
  return {
    enter,
    leave,
    /** Enters, unless an older worker is awake: then this one is not needed and has left. */
    enterIfNeeded(): boolean {
      enter();
      if (!hasOlder()) return true;
      leave();
      // Asked again after leaving: who is still awake now will look into the spool after all that relied on this one.
      if (hasOlder()) return false;
      enter();
      return true;
    },
  };
}

export function isAnyAwake(home: string, clock: Clock): boolean {
  return listNames(join(home, 'awake')).some((name) => isAwake(join(home, 'awake', name), clock));
}

/** Starts a worker where none is awake, with what of an environment is no session's own; answers why there is none. */
export function wakeWorker(home: string, environment: Record<string, string | undefined>): string | undefined {
  if (isAnyAwake(home, systemClock)) return undefined;
  // Most hooks start none and need not load what starts one.
  const { spawn } = process.getBuiltinModule('node:child_process');
  const door = packagePath(import.meta.url.endsWith('.ts') ? 'src/cli' : 'dist', 'nocturne.js');
  const log = openLog(join(home, 'logs', 'worker.log'));
  const worker = spawn(process.execPath, [door, 'worker', '--once', '--after-hook'], {
    cwd: home,
    detached: true,
    // Made absolute: the worker stands elsewhere. A fifth of its start, and of its agent's, goes into compiling.
    env: { NODE_COMPILE_CACHE: join(home, 'compiled'), ...environmentOfWorker(environment), NOCTURNE_HOME: home },
    stdio: ['ignore', log, log],
    windowsHide: true,
  });
  worker.on('error', () => {});
  worker.unref();
  return worker.pid === undefined ? 'no worker could be started; the next one reads what hooks left' : undefined;
}

function isAwake(path: string, clock: Clock): boolean {
  const process = path.endsWith('.tmp') ? null : readTextNow(path);
  if (!process || isDead(process)) return false;
  const isHere = process.split(':')[0] === thisProcess().split(':')[0];
  return isHere || clock.now().getTime() - (statNow(path)?.modifiedMs ?? 0) < FORGOTTEN_MS;
}
