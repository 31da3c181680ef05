// Opens a transcript of any format that nocturne reads. The format is known by content, never by the file's name.
// The file is evidence: it is read, in order and as a stream, and nothing is ever written to it.

import { hash } from 'node:crypto';
import { AppError, isAppError } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import { readSlice } from '../base/files/file-pieces.ts';
import { type FileStat, statFile } from '../base/files/files.ts';
import { parseJson } from '../base/text/json.ts';
import { readHead, readTail, scanDecoded } from './decoded.ts';
import { atif } from './formats/atif.ts';
import { claudeCode } from './formats/claude-code.ts';
import { codex } from './formats/codex.ts';
import { copilot } from './formats/copilot.ts';
import { entire } from './formats/entire.ts';
import type { Format, OnUnreadable, Reading, Source } from './formats/format.ts';
import { gemini } from './formats/gemini.ts';
import { messagesFormat } from './formats/messages.ts';
import { openai } from './formats/openai.ts';
import { opencode } from './formats/opencode.ts';
import { pi } from './formats/pi.ts';
import { markPasted, withhold } from './marks.ts';
import { openSnapshot } from './snapshot.ts';
import type { FormatName, ReadPoint, Session } from './types.ts';

export type { ReadPoint, Session } from './types.ts';

const FORMATS: readonly Format[] = [
  claudeCode,
  codex,
  gemini,
  copilot,
  pi,
  entire,
  opencode,
  atif,
  messagesFormat,
  openai,
];

/** How much of the beginning is read: the first is enough for nearly every file, the others for those that begin with pictures. */
const HEAD_BYTES = [64 * 2 ** 10, 8 * 2 ** 20, 64 * 2 ** 20];

/** A file that is one JSON value has to be held in memory whole. */
const MAX_DOCUMENT_BYTES = 256 * 2 ** 20;

export interface OpenOptions {
  /** The session's id, where the caller knows it; else it is the one in the file. */
  id?: string;
  /** The session still runs: a last line that is only half there is not unreadable, it waits. */
  isLive?: boolean;
  /** Where a snapshot of it is, for when the transcript is gone. */
  snapshot?: string;
}

/**
 * Opens a transcript and tells its format, once for all who need the session: hand the session on, not its path.
 * an AppError: `transcript-gone`, `unknown-format`, or `bad-input` for a directory or a JSON document past 256 MiB.
 */
export async function openSession(path: string, options: OpenOptions = {}): Promise<Session> {
  try {
    return await openTranscript(path, options);
  } catch (error) {
    if (!options.snapshot || !isAppError(error, 'transcript-gone')) throw error;
    return openSnapshot(options.snapshot);
  }
}

async function openTranscript(path: string, options: OpenOptions): Promise<Session> {
  if (path === '') {
    const which = options.id === undefined ? 'the session' : `session ${options.id}`;
    throw new AppError('transcript-gone', `It is not known where the transcript of ${which} is.`, {
      remedy: 'Run nocturne extract TRANSCRIPT once; what was extracted before is not extracted again.',
    });
  }
  const file = await findFile(path);
  if (file === null) {
    if (isDirectory(path)) {
      throw new AppError('bad-input', `${path} is a directory.`, { remedy: 'Give the session file itself.' });
    }
    throw new AppError('transcript-gone', `There is no transcript at ${path}.`, {
      remedy: 'Agents delete old sessions; what was kept of this one stays.',
    });
  }
  const { format, reading } = await openReading(file);
  let unreadableLines = 0;
  return {
    id: options.id ?? reading.id,
    format,
    ...file,
    cwd: reading.cwd,
    subagent: reading.subagent,
    request: reading.request,
    get unreadableLines() {
      return unreadableLines;
    },
    async *messages(from) {
      unreadableLines = 0;
      const onUnreadable: OnUnreadable = (line) => {
        if (!(options.isLive && line?.isHalfWritten)) unreadableLines++;
      };
      // Both at once: each waits for the disk.
      const [isUnchanged, rest] = from
        ? await Promise.all([isStillThere(file.path, from), reading.messagesFrom?.(from.byte, onUnreadable)])
        : [];
      const isContinued = isUnchanged && rest;
      if (!isContinued) unreadableLines = 0;
      for await (const message of isContinued ? rest : reading.messages(onUnreadable))
        yield markPasted(withhold(message));
    },
  };
}

const COMPRESSED = '.zst';

/** What is at `path`; else what Codex made of it: it compresses old rollouts, and decompresses one to go on with it. */
async function findFile(path: string): Promise<({ path: string } & FileStat) | null> {
  const other = path.endsWith(COMPRESSED) ? path.slice(0, -COMPRESSED.length) : path + COMPRESSED;
  for (const candidate of [path, other]) {
    const stat = await statFile(candidate);
    if (stat) return { path: candidate, ...stat };
  }
  return null;
}

/** The file in the first format that takes it for its own. */
async function openReading({ path, sizeBytes }: { path: string; sizeBytes: number }): Promise<{
  format: FormatName;
  reading: Reading;
}> {
  let parsed: Promise<unknown> | undefined;
  const document = (): Promise<unknown> => {
    parsed ??= readDocument(path, sizeBytes);
    return parsed;
  };
  for (const headBytes of HEAD_BYTES) {
    const head = await readHead(path, headBytes);
    const source: Source = { path, head: head.toString('utf8'), document };
    for (const { name, open } of FORMATS) {
      const reading = await open(source);
      if (reading) return { format: name, reading };
    }
    if (head.length < headBytes) break;
  }
  const names = FORMATS.map((format) => format.name).join(', ');
  throw new AppError('unknown-format', `${path} is in none of the formats nocturne reads: ${names}.`, {
    remedy: 'Give a session file in one of them, as its program wrote it.',
  });
}

async function readDocument(path: string, sizeBytes: number): Promise<unknown> {
  if (sizeBytes > MAX_DOCUMENT_BYTES) throw tooLarge(path, sizeBytes);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of scanDecoded(path)) {
    bytes += chunk.length;
    if (bytes > MAX_DOCUMENT_BYTES) throw tooLarge(path, bytes);
    pieces.push(Buffer.from(chunk));
  }
  const text = Buffer.concat(pieces).toString('utf8');
  return parseJson(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
}

function tooLarge(path: string, bytes: number): AppError {
  return new AppError('bad-input', `${path} is one JSON document of ${Math.round(bytes / 2 ** 20)} MiB.`, {
    remedy: 'A transcript that is one JSON value may have 256 MiB; split it, or write it as JSON lines.',
  });
}

const HASHED_BYTES = 64 * 2 ** 10;

/** Where reading can go on from `byte` when the file has grown; null where it has no such byte. */
export async function readPointAt(path: string, byte: number): Promise<ReadPoint | null> {
  const start = Math.max(0, byte - HASHED_BYTES);
  const before = await readSlice(path, start, byte);
  return before.length < byte - start ? null : { byte, hash: hash('sha256', before) };
}

/** Whether the file still has before the point what it had; one that was rewritten is read from its beginning. */
async function isStillThere(path: string, point: ReadPoint): Promise<boolean> {
  return (await readPointAt(path, point.byte))?.hash === point.hash;
}

const LOOK_BYTES = 64 * 2 ** 10;

/**
 * Whether a person sat at the session, and not a program that ran it: `claude -p`, the Agent SDK, `codex exec`. Claude
 * Code and Codex write it into their records; sessions of other agents do not tell and count as a person's. False only
 * where all that the beginning and the end of the file say of it names a program: it may be resumed by hand.
 */
export async function isInteractive({ path, sizeBytes, format }: Pick<Session, 'path' | 'sizeBytes' | 'format'>) {
  if (format !== 'claude-code' && format !== 'codex') return true;
  const ends = [await readHead(path, LOOK_BYTES), await readTail(path, { bytes: LOOK_BYTES, sizeBytes })].join('\n');
  // Within a text of the conversation these quotes would be escaped.
  const field = format === 'codex' ? /"originator":\s*"([^"\\]+)"/g : /"entrypoint":\s*"([^"\\]+)"/g;
  const named = [...ends.matchAll(field)].map((match) => match[1] as string);
  return named.length === 0 || named.some((name) => !/^sdk-|^codex_(exec|sdk)/.test(name));
}
