// Claude Code's JSONL: one record per line, read in file order (timestamps and `parentUuid` are not to be trusted).
// Knows such a file by its records and finds what names the session; record by record reading is in
// claude-code-reader.ts. Memory stays constant but for a few bytes per record, by which repeats are known.

import { basename, extname } from 'node:path';
import { isObject, type JsonObject, textOf } from '../../base/text/json.ts';
import { type JsonlRecord, messagesOf, objectsIn, readObjects, readRecords } from '../records.ts';
import { blocksOf } from './blocks.ts';
import { ClaudeCodeReader } from './claude-code-reader.ts';
import { type Format, namesOf, type OnUnreadable } from './format.ts';

/** Every record of the conversation begins so; only these are worth saving from a damaged line. */
const RECORD_START = '{"parentUuid":';

export const claudeCode: Format = {
  name: 'claude-code',

  async open({ path, head }) {
    if (!isOurs(head)) return null;
    const { session, cwd, agent } = await findNames(path, head);
    const id = session ?? basename(path, extname(path));
    const read = (startByte: number, onUnreadable: OnUnreadable) => {
      const records = readRecords(path, { recordStart: RECORD_START, onUnreadable, startByte });
      return messagesOf(records, new ClaudeCodeReader(onUnreadable));
    };
    return {
      ...(agent === undefined ? { id } : namesOf(agent, id)),
      cwd,
      messages: (onUnreadable) => read(0, onUnreadable),
      async messagesFrom(byte, onUnreadable) {
        const tail = await lookAhead(path, byte);
        if (!tail.isNew) return null;
        if (!tail.records) return read(byte, onUnreadable);
        for (const line of tail.unreadable) onUnreadable(line);
        return messagesOf([tail.records], new ClaudeCodeReader(onUnreadable));
      },
    };
  },
};

function isOurs(head: string): boolean {
  let mayBegin = false;
  for (const record of objectsIn(head, RECORD_START)) {
    // Others (Qwen Code) write records of the same outline, but keep what was said elsewhere in them.
    if (isSpoken(record)) return isObject(record.message) && blocksOf(record.message.content) !== null;
    mayBegin ||= isBookkeeping(record);
  }
  return mayBegin;
}

interface Tail {
  /** Nothing in it is older than what it begins with: a replay of earlier records keeps their times. */
  isNew: boolean;
  /** All that is in it, where it is short: then it need not be read twice. */
  records: JsonlRecord[] | null;
  unreadable: Parameters<OnUnreadable>[0][];
}

const SHORT_BYTES = 1 << 20;

/** Reads ahead from `byte` on. */
async function lookAhead(path: string, byte: number): Promise<Tail> {
  const tail: Tail = { isNew: false, records: [], unreadable: [] };
  const onUnreadable: OnUnreadable = (line) => tail.unreadable.push(line);
  let since: string | undefined;
  for await (const batch of readRecords(path, { recordStart: RECORD_START, onUnreadable, startByte: byte })) {
    for (const record of batch) {
      if (record.byte - byte > SHORT_BYTES) tail.records = null;
      tail.records?.push({ ...record });
      if (!isSpoken(record.object)) continue;
      const at = textOf(record.object.timestamp);
      since ??= at;
      if (since === undefined || at === undefined || at < since) return tail;
    }
  }
  return { ...tail, isNew: since !== undefined };
}

function isSpoken(record: JsonObject): boolean {
  const isMessage = record.type === 'user' || record.type === 'assistant';
  return isMessage && (typeof record.uuid === 'string' || typeof record.sessionId === 'string');
}

/** A record with which a session can begin before anybody has said anything. */
function isBookkeeping(record: JsonObject): boolean {
  const { type } = record;
  if (typeof type !== 'string') return false;
  if (type === 'summary') return typeof record.leafUuid === 'string';
  if (type === 'file-history-snapshot') return isObject(record.snapshot);
  return typeof record.sessionId === 'string' && !('payload' in record) && !('data' in record && type !== 'progress');
}

interface Names {
  session?: string;
  cwd?: string;
  /** Set where the first thing said was said inside a subagent: then this file is that subagent's own. */
  agent?: string;
  hasSpoken?: true;
}

/** From the beginning that was read already, where it tells all of them. */
async function findNames(path: string, head: string): Promise<Names> {
  const names: Names = {};
  for (const record of objectsIn(head, RECORD_START)) if (addNames(names, record)) return names;
  for await (const record of readObjects(path, { recordStart: RECORD_START })) if (addNames(names, record)) break;
  return names;
}

/** Whether all that there can be is known now. */
function addNames(names: Names, record: JsonObject): boolean {
  names.session ??= textOf(record.sessionId);
  names.cwd ??= textOf(record.cwd);
  if (!names.hasSpoken && isSpoken(record)) {
    names.hasSpoken = true;
    if (record.isSidechain === true) names.agent = textOf(record.agentId);
  }
  return names.session !== undefined && names.cwd !== undefined && names.hasSpoken === true;
}
