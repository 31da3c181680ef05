// Copilot CLI's `events.jsonl`: one event per line, `{ type, data, id, timestamp, parentId }`, read in file order.
// Knows such a file by its events; event by event reading is in copilot-reader.ts.

import { basename, dirname, extname } from 'node:path';
import { CopilotReader } from './copilot-reader.ts';
import { type Format, isObject, type JsonObject } from './format.ts';
import { objectsIn, readObjects } from './jsonl.ts';
import { objectAt, textOf } from './values.ts';

const RECORD_START = '{"type":"';

export const copilot: Format = {
  name: 'copilot',

  recognises({ head }) {
    return objectsIn(head, RECORD_START).some(isEvent);
  },

  async open({ path }) {
    const { session, cwd } = await findNames(path);
    return {
      id: session ?? nameOf(path),
      cwd,
      async *messages(onUnreadable) {
        const reader = new CopilotReader(onUnreadable);
        for await (const record of readObjects(path, { recordStart: RECORD_START, onUnreadable })) {
          yield* reader.take(record);
        }
      },
    };
  },
};

function isEvent({ type, data, id }: JsonObject): boolean {
  return (
    /^(session|user|assistant|system|tool|hook)\.[a-z_]+$/.test(textOf(type) ?? '') && isObject(data) && !!textOf(id)
  );
}

async function findNames(path: string): Promise<{ session?: string; cwd?: string }> {
  for await (const record of readObjects(path, { recordStart: RECORD_START, onUnreadable: () => undefined })) {
    if (record.type !== 'session.start' && record.type !== 'session.resume') continue;
    const data = objectAt(record, 'data');
    return { session: textOf(data.sessionId), cwd: textOf(objectAt(data, 'context').cwd) };
  }
  return {};
}

/** Copilot keeps each session in a directory called like it. */
function nameOf(path: string): string {
  return basename(path) === 'events.jsonl' ? basename(dirname(path)) : basename(path, extname(path));
}
