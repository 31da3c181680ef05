// Codex's rollouts: JSON lines `{ timestamp, type, payload }`, read in file order.
// Knows such a file by its records, and finds what the reader has to know before it begins: whose session it is, where
// a person's words are, what was rolled back. Record by record reading is in codex-reader.ts.

import { basename, extname } from 'node:path';
import { scanDecoded } from '../decoded.ts';
import { enveloped, isBareHeader } from './codex-items.ts';
import { type CodexFile, CodexReader } from './codex-reader.ts';
import { type Format, isObject, type JsonObject } from './format.ts';
import { objectsIn, readObjects, readRecords } from './jsonl.ts';
import { objectAt, textOf } from './values.ts';

const RECORD_START = '{"timestamp":';

const RECORD_TYPES = new Set(['session_meta', 'turn_context', 'response_item', 'event_msg', 'compacted']);

export const codex: Format = {
  name: 'codex',

  recognises({ head }) {
    return objectsIn(head, RECORD_START).some((record) => isRecord(record) || isBareHeader(record));
  },

  async open({ path }) {
    const marks = await findMarks(path);
    const { meta, cwd, hasUserEvents } = await findMeta(path, marks.userEvents);
    const id = textOf(meta.id) ?? basename(path, extname(path));
    const parent = parentOf(meta);
    const subagent = parent === undefined ? undefined : { session: parent, agent: id };
    const known = { cwd, branch: textOf(objectAt(meta, 'git').branch), agent: subagent?.agent, hasUserEvents };
    const rolledBack = marks.rolledBack ? await findRolledBack(path, known) : new Set<number>();
    const file: CodexFile = { ...known, rolledBack };
    return {
      id: subagent ? `${subagent.session}/${id}` : id,
      cwd,
      subagent,
      async *messages(onUnreadable) {
        const reader = new CodexReader(file, onUnreadable);
        for await (const batch of readRecords(path, { recordStart: RECORD_START, onUnreadable })) {
          for (const { object } of batch) reader.take(object);
          yield* reader.drain();
        }
      },
    };
  },
};

function isRecord(record: JsonObject): boolean {
  return typeof record.type === 'string' && RECORD_TYPES.has(record.type) && isObject(record.payload);
}

/** The session that this one's agent works for; itself, where it is nobody's conversation and names no other. */
function parentOf(meta: JsonObject): string | undefined {
  const source = objectAt(meta, 'source');
  const named = textOf(meta.parent_thread_id) ?? textOf(spawnOf(source).parent_thread_id);
  const isInner = 'subagent' in source || 'internal' in source;
  const isPersons = !isInner && (textOf(meta.thread_source) ?? 'user') === 'user';
  return named ?? (isPersons ? undefined : (textOf(meta.session_id) ?? textOf(meta.id)));
}

function spawnOf(source: JsonObject): JsonObject {
  return objectAt(objectAt(source, 'subagent'), 'thread_spawn');
}

/** How the events begin in which a person's words are, and the one that takes some back. */
const USER_EVENTS = [Buffer.from('"user_message"'), Buffer.from('"UserMessage"')];
const ROLLED_BACK = Buffer.from('"thread_rolled_back"');
const MARK_BYTES = ROLLED_BACK.length;

interface Meta {
  /** The first `session_meta`: those that follow came with copied history. */
  meta: JsonObject;
  cwd?: string;
  hasUserEvents: boolean;
}

async function findMeta(path: string, mayHaveUserEvents: boolean): Promise<Meta> {
  let meta: JsonObject | undefined;
  let cwd: string | undefined;
  let hasUserEvents = false;
  for await (const record of readQuietly(path)) {
    const { type, payload } = enveloped(record);
    if (!isObject(payload)) continue;
    if (type === 'session_meta') meta ??= payload;
    if (type === 'session_meta' || type === 'turn_context') cwd ??= textOf(payload.cwd);
    if (type === 'event_msg') hasUserEvents ||= isUserEvent(payload);
    if (meta && cwd !== undefined && (hasUserEvents || !mayHaveUserEvents)) break;
  }
  return { meta: meta ?? {}, cwd, hasUserEvents };
}

function isUserEvent({ type, item }: JsonObject): boolean {
  return type === 'user_message' || (type === 'item_completed' && isObject(item) && item.type === 'UserMessage');
}

/** Which of the person's messages, counted from 0 as the reader counts them, were taken back. */
async function findRolledBack(path: string, file: Omit<CodexFile, 'rolledBack'>): Promise<Set<number>> {
  const rolledBack = new Set<number>();
  const standing: number[] = [];
  const reader = new CodexReader({ ...file, rolledBack }, () => undefined);
  for await (const record of readQuietly(path)) {
    const before = reader.prompts;
    reader.take(record);
    reader.drain();
    if (reader.prompts > before) standing.push(before);
    const { type, num_turns: turns } = objectAt(record, 'payload');
    if (type !== 'thread_rolled_back' || typeof turns !== 'number' || !Number.isInteger(turns) || turns < 1) continue;
    for (const prompt of standing.splice(-turns)) rolledBack.add(prompt);
  }
  return rolledBack;
}

/** What may be in the file, by its bytes: far cheaper than reading its records. */
async function findMarks(path: string): Promise<{ userEvents: boolean; rolledBack: boolean }> {
  const found = { userEvents: false, rolledBack: false };
  let tail = Buffer.alloc(0);
  for await (const chunk of scanDecoded(path)) {
    const seam = Buffer.concat([tail, chunk.subarray(0, MARK_BYTES)]);
    const isIn = (mark: Buffer): boolean => seam.includes(mark) || chunk.includes(mark);
    found.userEvents ||= USER_EVENTS.some(isIn);
    found.rolledBack ||= isIn(ROLLED_BACK);
    if (found.userEvents && found.rolledBack) break;
    tail = Buffer.concat([tail, chunk.subarray(-MARK_BYTES)]).subarray(-MARK_BYTES);
  }
  return found;
}

function readQuietly(path: string): AsyncGenerator<JsonObject> {
  return readObjects(path, { recordStart: RECORD_START, onUnreadable: () => undefined });
}
