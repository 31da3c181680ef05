#!/usr/bin/env node

// The hook that agents call: says in the spool that a session went on or ended, starts a worker where none is awake,
// and ends. Prints nothing and exits with 0 whatever happens; what went wrong is a line in `logs/hook.log` of the home.
// Never reads a transcript, but for the end of Codex's where a call may have failed, opens no database and no connection, waits no longer than half a second for its input, and
// does nothing in a process that a worker has started. Loads nothing but Node's own modules: it is bundled to one file.
// Only a prompt and a call that failed are answered, by a module of their own (recall-door.js), within 300 ms of the start or not at all.

import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { jsonProblem } from '../base/errors.ts';
import { homeDir } from '../base/files/directories.ts';
import { addLogLine, readEndNow, statNow } from '../base/files/files.ts';
import { environmentOfSession } from '../base/process.ts';
import { isObject, parseJson } from '../base/text/json.ts';
import { systemClock } from '../base/time.ts';
import { isAgentName, wakeWorker, writeSpoolItem } from '../queue/spool.ts';
import {
  failureOf,
  type HookInput,
  INPUT_MS,
  isPromptEvent,
  itemOf,
  MAX_INPUT_BYTES,
  readInput,
} from './hook-input.ts';

// Agents send these while they end; what is under way takes less time than they wait.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('uncaughtException', (error) => end(error));

/** A person waits for it: from the start of this process. On a slow machine one may give it more. */
const PROMPT_MS = Number(process.env.NOCTURNE_PROMPT_MS) || 300;

/** Of a session's file so much of the end is looked into for how a call ended: more than the output of one. */
const MOST_OF_ROLLOUT = 2 ** 18;

const home = homeDir(process.env.NOCTURNE_HOME, homedir());
const compiled = join(home, 'compiled');
const [named] = process.argv.slice(2);
const agent = isAgentName(named) ? named : 'claude-code';

if (process.env.NOCTURNE_WORKER) process.exit(0);
else readInput(process.stdin).then(take, end);

function take({ text, bytes, isLate }: HookInput): void {
  if (bytes > MAX_INPUT_BYTES) end(`the input has more than ${MAX_INPUT_BYTES} bytes`);
  else if (isLate && bytes === 0) end(`no input within ${INPUT_MS} ms`);
  else call(text);
}

function call(text: string): void {
  try {
    const input = readAsking(text);
    if (!input) end(spool(text));
    const failure = failureOf(input, (path) => readEndNow(path, MOST_OF_ROLLOUT));
    // A call that went well: nothing is to be told.
    if (failure === null) end();
    void answer({ input, ...(failure && { failure }) });
  } catch (error) {
    end(error);
  }
}

/** The input, where it is that of an event that is answered. */
function readAsking(text: string): Record<string, unknown> | null {
  const isAsking = /"(?:UserPromptSubmit|BeforeAgent|PostToolUse(?:Failure)?|AfterTool)"/.test(text);
  const input = isAsking ? parseJson(text) : undefined;
  return isObject(input) && (isPromptEvent(input.hook_event_name) || failureOf(input) !== undefined) ? input : null;
}

/** Beside this file; a checkout's sources take longer than there is, so there the build answers, where one is. */
function recallDoor(): URL {
  const built = new URL('../../dist/recall-door.js', import.meta.url);
  const isSource = import.meta.url.endsWith('.ts');
  if (isSource && statNow(fileURLToPath(built)) !== null) return built;
  return new URL('./recall-door.js', import.meta.url);
}

async function answer(asked: object): Promise<void> {
  const isOver = () => performance.now() > PROMPT_MS;
  setTimeout(end, Math.max(0, PROMPT_MS - performance.now()));
  try {
    // A sixth of the time that it takes goes into compiling.
    process.getBuiltinModule('node:module').enableCompileCache(compiled);
    const { answerWithin } = await import(recallDoor().href);
    const said: string = await answerWithin({ ...asked, isOver });
    if (said === '' || isOver()) end();
    process.stdout.write(`${said}\n`, () => end());
  } catch (error) {
    end(error);
  }
}

/** Answers what is worth a line in the log. Waits for nothing: threads for it would cost more than the disk does. */
function spool(text: string): string | undefined {
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (error) {
    return `the input is not JSON: ${jsonProblem(error)}`;
  }
  if (typeof input !== 'object' || input === null) return 'the input is no JSON object';
  const item = itemOf({ agent, input: { ...input }, at: systemClock.now().toISOString() });
  if (item === null || typeof item === 'string') return item ?? undefined;
  const transcript = item.transcript && resolve(item.cwd ?? home, item.transcript);
  const look = transcript ? statNow(transcript) : null;
  const mtime = look && new Date(look.modifiedMs).toISOString();
  const environment = environmentOfSession(process.env);
  writeSpoolItem(home, { ...item, transcript, size: look?.bytes ?? null, mtime, environment });
  // In this order: a worker leaves first and then looks into the spool.
  return wakeWorker(home, process.env);
}

/** Ends the process; a reason goes into the log, where the disk takes it. */
function end(reason?: unknown): never {
  try {
    if (reason !== undefined) {
      const said = reason instanceof Error ? reason.message : String(reason);
      const line = `${systemClock.now().toISOString()} ${agent}: ${said}`;
      addLogLine(join(home, 'logs', 'hook.log'), line);
    }
  } finally {
    process.exit(0);
  }
}
