// Codex's rollouts: JSON lines `{ timestamp, type, payload }`, read in file order.
// Knows such a file by its records, and finds what the reader has to know before it begins: whose session it is, where
// a person's words are, what was rolled back. Record by record reading is in codex-reader.ts.

import { basename, extname } from 'node:path';
import { scanChunks } from '../../file-pieces.ts';
import { type CodexFile, CodexReader } from './codex-reader.ts';
import { type Format, isObject, type JsonObject } from './format.ts';
import { objectsIn, readObjects } from './jsonl.ts';
import { objectAt, textOf } from './values.ts';

const RECORD_START = '{"timestamp":';

const RECORD_TYPES = new Set(['session_meta', 'turn_context', 'response_item', 'event_msg', 'compacted']);

export const codex: Format = {
  name: 'codex',

  recognises({ head }) {
    return objectsIn(head, RECORD_START).some(isRecord);
  },

  async open({ path }) {
    const { meta, cwd, hasUserEvents } = await findMeta(path);
    const id = textOf(meta.id) ?? basename(path, extname(path));
    const parent = parentOf(meta);
    const subagent = parent === undefined ? undefined : { session: parent, agent: id };
    const known = { cwd, branch: textOf(objectAt(meta, 'git').branch), agent: subagent?.agent, hasUserEvents };
    const file: CodexFile = { ...known, rolledBack: await findRolledBack(path, known) };
    return {
      id: subagent ? `${subagent.session}/${id}` : id,
      cwd,
      subagent,
      async *messages(onUnreadable) {
        const reader = new CodexReader(file, onUnreadable);
        for await (const record of readObjects(path, { recordStart: RECORD_START, onUnreadable })) {
          yield* reader.take(record);
        }
      },
    };
  },
};

function isRecord(record: JsonObject): boolean {
  return typeof record.type === 'string' && RECORD_TYPES.has(record.type) && isObject(record.payload);
}

/** The session that this one's agent works for; itself, where it is a subagent's and names no other. */
function parentOf(meta: JsonObject): string | undefined {
  const source = objectAt(meta, 'source');
  const named = textOf(meta.parent_thread_id) ?? textOf(spawnOf(source).parent_thread_id);
  if (named !== undefined || !('subagent' in source)) return named;
  return textOf(meta.session_id) ?? textOf(meta.id);
}

function spawnOf(source: JsonObject): JsonObject {
  return objectAt(objectAt(source, 'subagent'), 'thread_spawn');
}

interface Meta {
  /** The first `session_meta`: those that follow came with copied history. */
  meta: JsonObject;
  cwd?: string;
  hasUserEvents: boolean;
}

async function findMeta(path: string): Promise<Meta> {
  let meta: JsonObject | undefined;
  let cwd: string | undefined;
  let hasUserEvents = false;
  for await (const { type, payload } of readQuietly(path)) {
    if (!isObject(payload)) continue;
    if (type === 'session_meta') meta ??= payload;
    if (type === 'session_meta' || type === 'turn_context') cwd ??= textOf(payload.cwd);
    if (type === 'event_msg' && payload.type === 'user_message') hasUserEvents = true;
    if (meta && cwd !== undefined && hasUserEvents) break;
  }
  return { meta: meta ?? {}, cwd, hasUserEvents };
}

const ROLLED_BACK = 'thread_rolled_back';

/** Which of the person's messages, counted from 0 as the reader counts them, were taken back. */
async function findRolledBack(path: string, file: Omit<CodexFile, 'rolledBack'>): Promise<Set<number>> {
  const rolledBack = new Set<number>();
  if (!(await holds(path, ROLLED_BACK))) return rolledBack;
  const standing: number[] = [];
  const reader = new CodexReader({ ...file, rolledBack: new Set() }, () => undefined);
  for await (const record of readQuietly(path)) {
    const before = reader.prompts;
    Array.from(reader.take(record));
    if (reader.prompts > before) standing.push(before);
    const { type, num_turns: turns } = objectAt(record, 'payload');
    if (type !== ROLLED_BACK || typeof turns !== 'number' || !Number.isInteger(turns) || turns < 1) continue;
    for (const prompt of standing.splice(-turns)) rolledBack.add(prompt);
  }
  return rolledBack;
}

/** Whether the bytes of `text` are anywhere in the file: far cheaper than reading its records. */
async function holds(path: string, text: string): Promise<boolean> {
  let tail = Buffer.alloc(0);
  for await (const chunk of scanChunks(path)) {
    const seam = Buffer.concat([tail, chunk.subarray(0, text.length)]);
    if (seam.includes(text) || chunk.includes(text)) return true;
    tail = Buffer.concat([tail, chunk.subarray(-text.length)]).subarray(-text.length);
  }
  return false;
}

function readQuietly(path: string): AsyncGenerator<JsonObject> {
  return readObjects(path, { recordStart: RECORD_START, onUnreadable: () => undefined });
}
