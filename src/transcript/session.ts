// Opens a transcript of any format that nocturne reads, known by its content, never by the file's name; or a snapshot, a
// redacted copy for agents that delete theirs: its messages as they were read, so that every id is what it was.
// Promises: a transcript is evidence: read in order and as a stream, never written. What a person marked as private, and
// memory that nocturne recalled into the session, is in no message; what a person pasted is a part of its own; ids are
// made before that, so that none changes. All text of a snapshot was redacted whole.

import { AppError } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import { type FileStat, statFile } from '../base/files/files.ts';
import { isObject, parsedOr, parseJson } from '../base/text/json.ts';
import { passagesOf } from '../rules/spoken-text.ts';
import { compactJson } from './excerpt/segments.ts';
import { atif, entire } from './formats/atif.ts';
import { messagesFormat, openai } from './formats/chat-arrays.ts';
import { claudeCode } from './formats/claude-code.ts';
import { codex } from './formats/codex.ts';
import { copilot } from './formats/copilot.ts';
import { gemini } from './formats/gemini.ts';
import { opencode } from './formats/opencode.ts';
import { pi } from './formats/pi.ts';
import type { Format, FormatName, Message, OnUnreadable, Part, Reading, Session } from './messages.ts';
import { MAX_HELD_BYTES, MAX_LINE_BYTES, objectsIn, readEnds, readHead, scanDecoded } from './records.ts';

export type { Session } from './messages.ts';

const FORMATS: Format[] = [claudeCode, codex, gemini, copilot, pi, entire, opencode, atif, messagesFormat, openai];

/** How much of the beginning is read: the first is enough for nearly every file, the second for those that begin with pictures. */
const HEAD_BYTES = [64 * 2 ** 10, 64 * 2 ** 20];

export interface OpenOptions {
  /** The session's id, where the caller knows it; else it is the one in the file. */
  id?: string;
  /** The session still runs: a last line that is only half there is not unreadable, it waits. */
  isLive?: boolean;
}

/**
 * Opens a transcript and tells its format, once for all who need the session: hand the session on, not its path.
 * an AppError: `transcript-gone`, `unknown-format`, or `bad-input` for a directory or a JSON document past 256 MiB.
 */
export async function openSession(path: string, options: OpenOptions = {}): Promise<Session> {
  if (path === '') {
    const which = options.id === undefined ? 'the session' : `session ${options.id}`;
    throw new AppError('transcript-gone', `It is not known where the transcript of ${which} is.`, {
      remedy: 'Run nocturne learn TRANSCRIPT once; what was learned before is not learned again.',
    });
  }
  const file = findFile(path);
  if (file === null) {
    if (isDirectory(path)) {
      throw new AppError('bad-input', `${path} is a directory.`, { remedy: 'Give the session file itself.' });
    }
    throw new AppError('transcript-gone', `There is no transcript at ${path}.`, {
      remedy: 'Where the path is right its agent deleted it; what was kept of it stays.',
    });
  }
  const { format, reading } = openReading(file.path);
  let unreadableLines = 0;
  return {
    id: options.id ?? reading.id,
    format,
    ...file,
    cwd: reading.cwd,
    subagent: reading.subagent,
    get unreadableLines() {
      return unreadableLines;
    },
    async *messages() {
      unreadableLines = 0;
      const onUnreadable: OnUnreadable = (line) => {
        if (!(options.isLive && line?.isHalfWritten)) unreadableLines++;
      };
      for (const message of reading.messages(onUnreadable)) yield markPasted(withhold(message));
    },
  };
}

const COMPRESSED = '.zst';

/** What is at `path`; else what Codex made of it: it compresses old rollouts, and decompresses one to go on with it. */
function findFile(path: string): ({ path: string } & FileStat) | null {
  const other = path.endsWith(COMPRESSED) ? path.slice(0, -COMPRESSED.length) : path + COMPRESSED;
  for (const candidate of [path, other]) {
    const stat = statFile(candidate);
    if (stat) return { path: candidate, ...stat };
  }
  return null;
}

/** The file in the first format that takes it for its own. */
function openReading(path: string): { format: FormatName; reading: Reading } {
  let parsed: { value: unknown } | undefined;
  const document = (): unknown => {
    parsed ??= { value: readDocument(path) };
    return parsed.value;
  };
  for (const [at, headBytes] of HEAD_BYTES.entries()) {
    const head = readHead(path, headBytes);
    const text = head.toString('utf8').replace(/^\ufeff?\s*/, '');
    const isAll = head.length < headBytes || at === HEAD_BYTES.length - 1;
    const records = [...objectsIn(text, '{"')];
    const documentIn = () => (mayBeDocument(text, isAll) ? document() : undefined);
    for (const { name, open } of FORMATS) {
      const reading = open({ path, records, document: documentIn });
      if (reading) return { format: name, reading };
    }
    if (head.length < headBytes) break;
  }
  const names = FORMATS.map((format) => format.name).join(', ');
  throw new AppError('unknown-format', `${path} is in none of the formats nocturne reads: ${names}.`, {
    remedy: 'Give a session file in one of them, as its program wrote it.',
  });
}

/** Whether a file may be one JSON value, told by its beginning; JSON lines begin alike, and may be too long to be held. */
function mayBeDocument(beginning: string, isAll: boolean): boolean {
  const end = beginning.indexOf('\n');
  if (!/^[[{]/.test(beginning)) return false;
  if (end === -1) return isAll;
  return beginning.slice(end).trim() === '' || parseJson(beginning.slice(0, end)) === undefined;
}

/** A file that is one JSON value; undefined where it is none. Errors: `bad-input` for one past 256 MiB. */
export function readDocument(path: string): unknown {
  const tooLarge = new AppError('bad-input', `${path} is one JSON document of more than 256 MiB.`, {
    remedy: 'Split it, or write it as JSON lines.',
  });
  if ((statFile(path)?.sizeBytes ?? 0) > MAX_HELD_BYTES) throw tooLarge;
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (const chunk of scanDecoded(path)) {
    bytes += chunk.length;
    if (bytes > MAX_HELD_BYTES) throw tooLarge;
    pieces.push(chunk);
  }
  const text = Buffer.concat(pieces).toString('utf8');
  return parseJson(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
}

/**
 * Whether a person sat at the session, and not a program that ran it: `claude -p`, the Agent SDK, `codex exec`. Claude
 * Code and Codex write it into their records; sessions of other agents do not tell and count as a person's. False only
 * where all that the beginning and the end of the file say of it names a program: it may be resumed by hand.
 */
export function isInteractive({ path, sizeBytes, format }: Pick<Session, 'path' | 'sizeBytes' | 'format'>): boolean {
  if (format !== 'claude-code' && format !== 'codex') return true;
  const ends = readEnds({ path, sizeBytes });
  // Within a text of the conversation these quotes would be escaped.
  const field = format === 'codex' ? /"originator":\s*"([^"\\]+)"/g : /"entrypoint":\s*"([^"\\]+)"/g;
  const named = [...ends.matchAll(field)].map((match) => match[1] as string);
  return named.length === 0 || named.some((name) => !/^sdk-|^codex_(exec|sdk)/.test(name));
}

// What every message goes through, in every format alike, before anything else reads it.

/** `<private>`, with any attributes. */
const PRIVATE = /<private(?:\s[^>]{0,200})?>/i;

/** How recalled memory is fenced where it is put into a session: `<nocturne-memory …>` … `</nocturne-memory>`. */
const RECALLED = /<nocturne-memory(?:\s[^>]{0,200})?>[\s\S]*?(?:<\/nocturne-memory>|$)/g;

/** How the input of nocturne's own agent begins (see `prompts/extract-input.md` and `prompts/dream-input.md`). */
const OWN_INPUT = '<nocturne-agent>';

/** The message without what is withheld. One in which a person said nothing else is the program's. */
export function withhold(message: Message): Message {
  if (isOwnInput(message)) return { ...message, isOwn: true };
  if (message.speaker === 'human' && message.parts.some((part) => part.kind === 'text' && PRIVATE.test(part.text))) {
    return { ...message, parts: [], isPrivate: true };
  }
  if (!message.parts.some(holdsRecalled)) return message;
  const parts = message.parts.map(withoutRecalled).filter((part) => part.kind !== 'text' || part.text !== '');
  if (message.speaker !== 'human' || parts.length > 0) return { ...message, parts };
  return { ...message, parts, speaker: 'harness', beginsTurn: false };
}

function isOwnInput({ speaker, parts: [first] }: Message): boolean {
  if (speaker !== 'human' && speaker !== 'harness') return false;
  return first?.kind === 'text' && first.text.trimStart().startsWith(OWN_INPUT);
}

function holdsRecalled(part: Part): boolean {
  return (part.kind === 'text' || part.kind === 'result') && part.text.includes('<nocturne-memory');
}

function withoutRecalled(part: Part): Part {
  return holdsRecalled(part) && 'text' in part ? { ...part, text: part.text.replace(RECALLED, '').trim() } : part;
}

/** The message with what the person pasted in parts of its own. */
export function markPasted(message: Message): Message {
  if (message.speaker !== 'human') return message;
  const parts = message.parts.flatMap(cut);
  return parts.length === message.parts.length && !parts.some((part, at) => part !== message.parts[at])
    ? message
    : { ...message, parts };
}

function cut(part: Part): Part[] {
  if (part.kind !== 'text' || part.untyped !== undefined) return [part];
  const passages = passagesOf(part.text);
  if (passages.every(({ isPasted }) => !isPasted)) return [part];
  return passages.map(({ text, isPasted }) => (isPasted ? { ...part, text, untyped: 'pasted' } : { ...part, text }));
}

// Snapshots: a session, then its messages, one a line.

type Redact = (text: string) => Promise<{ text: string; found: readonly unknown[] }>;

const RECORD_START = '{"message":';

/** The lines of a session's snapshot, with their ends. */
export async function* snapshotLines(session: Session, redact: Redact): AsyncGenerator<string> {
  const { messages: _, unreadableLines: __, ...head } = session;
  yield `${JSON.stringify({ session: head })}\n`;
  for await (const message of session.messages()) {
    // What the program says is never shown, so it need not be kept.
    const said = message.speaker === 'harness' ? [] : message.parts;
    const parts = await Promise.all(said.map((part) => redactPart(part, redact)));
    const line = JSON.stringify({ message: { ...message, parts } });
    yield `${isTooLong(line) ? JSON.stringify({ message: { ...message, parts: [] } }) : line}\n`;
  }
  yield `${JSON.stringify({ unreadableLines: session.unreadableLines })}\n`;
}

/** Nobody could read it again. */
function isTooLong(line: string): boolean {
  return line.length > MAX_LINE_BYTES / 3 && Buffer.byteLength(line) > MAX_LINE_BYTES;
}

/** The session in a snapshot, as it was then. Errors: `transcript-gone` where it is none. */
export function openSnapshot(bytes: Buffer): Session {
  const records = () => objectsIn(bytes.toString(), RECORD_START);
  const head = records().next().value?.session;
  if (!isObject(head)) throw new AppError('transcript-gone', 'What is kept of the session is no snapshot of one.');
  let unreadableLines = 0;
  return {
    ...(head as unknown as Omit<Session, 'messages' | 'unreadableLines' | 'request'>),
    isKept: true,
    get unreadableLines() {
      return unreadableLines;
    },
    async *messages() {
      for (const record of records()) {
        if (isObject(record.message)) yield markPasted(record.message as unknown as Message);
        if (typeof record.unreadableLines === 'number') unreadableLines = record.unreadableLines;
      }
    },
  };
}

async function redactPart(part: Part, redact: Redact): Promise<Part> {
  switch (part.kind) {
    case 'text':
    case 'result':
      return { ...part, text: (await redact(part.text)).text };
    case 'attachment':
      return { ...part, label: (await redact(part.label)).text };
    case 'call': {
      // As JSON a text has the name of its field before it: `password` tells what it is.
      const given = shallow(part.input);
      const json = await redact(JSON.stringify(given) ?? '');
      const input = json.found.length > 0 ? parsedOr(json.text) : given;
      // What only shows in the decoded text costs the call its form.
      const shown = await redact(compactJson(input));
      return { ...part, input: shown.found.length > 0 ? shown.text : input };
    }
  }
}

/** No deeper than it is ever shown. */
const MAX_DEPTH = 8;

function shallow(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return '…';
  if (Array.isArray(value)) return value.map((item) => shallow(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shallow(item, depth + 1)]));
}
