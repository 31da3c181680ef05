// A redacted copy of a session, for agents that delete their transcripts: its messages as they were read, one a line,
// so that every id is what it is in the original, whatever its format makes ids of.
// Promises: all text was redacted whole; what is private or binary is not in it. A snapshot has no read points.

import { AppError } from '../base/errors.ts';
import { statFile } from '../base/files/files.ts';
import { isObject } from '../base/text/json.ts';
import { compactJson } from './excerpt/segments.ts';
import { readObjects } from './formats/jsonl.ts';
import { markPasted } from './marks.ts';
import type { Message, Part, Session } from './types.ts';

type Redact = (text: string) => Promise<{ text: string; found: readonly unknown[] }>;

const RECORD_START = '{"message":';

/** The lines of a session's snapshot, with their ends. */
export async function* snapshotLines(session: Session, redact: Redact): AsyncGenerator<string> {
  const { messages: _, request: __, unreadableLines: ___, ...head } = session;
  yield `${JSON.stringify({ session: head })}\n`;
  for await (const message of session.messages()) {
    const { byte: _, ...kept } = message;
    // What the program says is never shown, so it need not be kept.
    const said = message.speaker === 'harness' ? [] : message.parts;
    const parts = await Promise.all(said.map((part) => redactPart(part, redact)));
    yield `${JSON.stringify({ message: { ...kept, parts } })}\n`;
  }
  yield `${JSON.stringify({ unreadableLines: session.unreadableLines })}\n`;
}

/** The session in a snapshot, as it was then. Throws `transcript-gone` where it is not there, or is none. */
export async function openSnapshot(path: string): Promise<Session> {
  const gone = new AppError('transcript-gone', `There is no snapshot of a session at ${path}.`);
  if ((await statFile(path)) === null) throw gone;
  const head = await findHead(path);
  if (head === null) throw gone;
  let unreadableLines = 0;
  return {
    ...head,
    get unreadableLines() {
      return unreadableLines;
    },
    async *messages() {
      for await (const record of recordsOf(path)) {
        if (isObject(record.message)) yield markPasted(record.message as unknown as Message);
        if (typeof record.unreadableLines === 'number') unreadableLines = record.unreadableLines;
      }
    },
  };
}

type Head = Omit<Session, 'messages' | 'unreadableLines' | 'request'>;

async function findHead(path: string): Promise<Head | null> {
  for await (const { session } of recordsOf(path)) return isObject(session) ? (session as unknown as Head) : null;
  return null;
}

function recordsOf(path: string) {
  return readObjects(path, { recordStart: RECORD_START });
}

async function redactPart(part: Part, redact: Redact): Promise<Part> {
  switch (part.kind) {
    case 'text':
    case 'result':
      return { ...part, text: (await redact(part.text)).text };
    case 'attachment':
      return { ...part, label: (await redact(part.label)).text };
    case 'call': {
      const input = await redactValue(part.input, { redact, depth: 0 });
      // What only shows where all of it is seen at once costs the call its form.
      const whole = await redact(compactJson(input));
      return { ...part, input: whole.found.length > 0 ? whole.text : input };
    }
  }
}

/** No deeper than it is ever shown. */
const MAX_DEPTH = 8;

/** The same value with its texts redacted, each with the name of its field: `password` tells what it is. */
async function redactValue(
  value: unknown,
  { redact, depth, name = '' }: { redact: Redact; depth: number; name?: string },
): Promise<unknown> {
  if (typeof value === 'string') return redactNamed(value, name, redact);
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return '…';
  const inner = (item: unknown, key: string) => redactValue(item, { redact, depth: depth + 1, name: key });
  if (Array.isArray(value)) return Promise.all(value.map((item) => inner(item, name)));
  const fields = Object.entries(value).map(async ([key, item]) => [key, await inner(item, key)] as const);
  return Object.fromEntries(await Promise.all(fields));
}

async function redactNamed(value: string, name: string, redact: Redact): Promise<string> {
  const alone = (await redact(value)).text;
  const before = `"${name}":"`;
  const { text } = await redact(`${before}${alone}"`);
  return text.startsWith(before) && text.endsWith('"') ? text.slice(before.length, -1) : '[redacted]';
}
