// Sessions of agents in the database, where a worker on any machine can read them.
// What is kept is what a snapshot holds: the messages as they were read, each text redacted whole before anything is cut, so
// that ids, places and quotes are what they were, and what a person marked as private is not there. The file's own lines are
// not kept: they repeat each text in places that no reader looks at, and half of the formats are one value that has no lines.
// Promises: no secret reaches the database; memory does not grow with a session of lines; what is sent again sends the pieces
// that changed, and where the file did not change nothing; a reader gets the old or the new one, whole; what a person redacted
// stays redacted when the session grows.

import { createHash, hash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import { isDirectory, listNames, removeTree } from '../../../base/files/directories.ts';
import { writePieces } from '../../../base/files/file-pieces.ts';
import { removeFile, statNow } from '../../../base/files/files.ts';
import { isDead, thisProcess } from '../../../base/process.ts';
import { redact } from '../../../base/text/redact.ts';
import { systemClock } from '../../../base/time.ts';
import { type TranscriptPlace, transcriptFiles } from '../../../doors/transcripts.ts';
import { REDACTED } from '../../../memory/history/redact/scrub.ts';
import { newId } from '../../../memory/ledger/ledger.ts';
import {
  type OpenOptions,
  openSession,
  openSnapshot,
  type Session,
  snapshotLines,
} from '../../../transcript/session.ts';
import type { Database } from '../postgres.ts';
import {
  arrivedPieces,
  beginSending,
  dropOlder,
  endSending,
  NAMED,
  putPiece,
  readWhole,
  renewSending,
  type SendLease,
  sentBefore,
  stopSending,
  type TranscriptName,
  transcriptRow,
  type Whole,
} from './transcript-rows.ts';

/** Named before each is taken; tests end the process there. */
export type SendStep = 'begin' | 'put' | 'end' | 'done';

export interface TranscriptDeps {
  database: Pick<Database, 'ask' | 'readAtOnce'>;
  /** The nocturne home of this machine: what is read lies in its `transcripts/` until it was read. */
  home: string;
  /** Which machine this is; default: the host's name. */
  machine?: string;
  /** How long a process that hangs keeps others from sending the same session; default: 60 s. */
  leaseMs?: number;
  onStep?(step: SendStep): void;
  /** Told the bytes of each piece that is sent. */
  onSent?(bytes: number): void;
}

/** A file of this machine with what the database keeps. */
export interface Brought {
  path: string;
  discard(): void;
}

const PIECE_BYTES = 2 ** 20;
const DEFAULT_LEASE_MS = 60_000;
const FORGOTTEN_MS = 24 * 60 * 60_000;

export class Transcripts implements TranscriptPlace {
  readonly deps: TranscriptDeps;
  readonly #dir: string;

  constructor(deps: TranscriptDeps) {
    this.deps = deps;
    const root = join(deps.home, 'transcripts');
    this.#dir = join(root, encodeURIComponent(thisProcess()));
    // What processes that died had brought.
    for (const name of listNames(root)) {
      if (isDirectory(join(root, name)) && isDead(decodeURIComponent(name))) removeTree(join(root, name));
    }
  }

  /**
   * Sends a session of this machine, or what is new of it; answers by what name the inbox and ledgers know it. Errors: those of
   * reading it; `bad-input` where there is no such store, `conflict` where another process sends it, `fenced` where another took
   * it over, `database-unavailable`: after each, what was kept of it before is kept, and sending it again goes on.
   */
  async send(session: Session, store: string): Promise<string> {
    const { machine = hostname() } = this.deps;
    const file = session.path.replace(/\.zst$/, '');
    const name = { store, kind: 'session', name: hash('sha256', JSON.stringify([machine, file, session.id])) } as const;
    const id = await this.keepAs(name, session, async (lease, put) => {
      let [head, tail] = ['', ''];
      const redacted = new Set(lease.redacted);
      const kept = {
        ...session,
        path: `${NAMED}${lease.id}`,
        get unreadableLines() {
          return session.unreadableLines;
        },
      };
      async function* messages() {
        for await (const line of snapshotLines(kept, redact)) {
          // The first and the last change with each growth, and are not of the pieces.
          if (line.startsWith('{"message":')) yield withhold(line, redacted);
          else if (head === '') head = withhold(line, redacted);
          else tail = line;
        }
      }
      return { ...(await put(messages())), head, tail };
    });
    return `${NAMED}${id}`;
  }

  /** Sends the session in a file. */
  async keep(path: string, store: string, options?: OpenOptions): Promise<string> {
    return this.send(await openSession(path, options), store);
  }

  /** The session of that name, from a private file of this machine that is to be discarded; or in a file of its own. */
  async open(name: string, options?: OpenOptions): Promise<Session> {
    if (!name.startsWith(NAMED)) return openSession(name, options);
    const { path, discard } = await this.bring(name.slice(NAMED.length));
    try {
      return Object.assign(await openSnapshot(path), { discard });
    } catch (error) {
      discard();
      throw error;
    }
  }

  /** How many bytes the file had that was read of it. */
  async sizeOf(name: string): Promise<number | null> {
    if (!name.startsWith(NAMED)) return transcriptFiles.sizeOf(name);
    return (await transcriptRow(this.deps.database.ask, name.slice(NAMED.length)))?.sizeBytes ?? null;
  }

  /** Removes what was sent last so many days ago and no item of the inbox names; answers how many sessions that were. */
  dropOlder(days: number): Promise<number> {
    return dropOlder(this.deps.database.ask, days);
  }

  /** Puts what is kept under an id into a file of this machine. Throws `transcript-gone`. */
  async bring(id: string): Promise<Brought> {
    this.#dropForgotten();
    const path = join(this.#dir, `${randomUUID()}.jsonl`);
    let failed: unknown;
    const isThere = await readWhole(this.deps.database, id, async ({ head, tail }, pieces) => {
      async function* all() {
        yield head;
        try {
          yield* pieces;
        } catch (error) {
          failed = error;
        }
        yield tail;
      }
      await writePieces(path, all());
      if (failed) throw failed;
    }).catch((error) => {
      removeFile(path);
      throw error;
    });
    if (isThere) return { path, discard: () => removeFile(path) };
    throw new AppError('transcript-gone', `There is no transcript ${NAMED}${id} in the database any more.`, {
      remedy: 'Sessions are kept there for sessionDays; what was learned from this one stays.',
    });
  }

  /** Whoever did not come to read what it had asked for has left it. */
  #dropForgotten(): void {
    const now = systemClock.now().getTime();
    for (const name of listNames(this.#dir)) {
      const path = join(this.#dir, name);
      if (now - (statNow(path)?.modifiedMs ?? now) > FORGOTTEN_MS) removeFile(path);
    }
  }

  /** Keeps what `work` puts, and answers its id. `file`: known again by its size and time, where nothing is done. */
  async keepAs(
    name: TranscriptName,
    file: Pick<Session, 'id' | 'format' | 'sizeBytes' | 'modifiedAt'>,
    work: (lease: SendLease & { redacted: string[] }, put: PutAll) => Promise<Whole>,
  ): Promise<string> {
    const { onStep, leaseMs = DEFAULT_LEASE_MS } = this.deps;
    const { ask } = this.deps.database;
    const before = await sentBefore(ask, name, file);
    if (before !== null) return before;
    onStep?.('begin');
    const what = { ...name, session: storable(file.id), format: file.format };
    const lease = await beginSending(ask, { ...what, id: newId('tran'), leaseMs });
    if (!lease) {
      throw new AppError('conflict', `Another process sends session ${file.id} to the database.`, {
        remedy: 'Nothing is lost; it is sent again when there is news of it.',
      });
    }
    return this.underLease(lease, async (put) => ({ ...(await work(lease, put)), file }));
  }

  /** Replaces what is kept of a session by what `work` puts. */
  async underLease(
    lease: SendLease,
    work: (put: PutAll) => Promise<Omit<Parameters<typeof endSending>[2], never>>,
  ): Promise<string> {
    const { onStep, onSent, leaseMs = DEFAULT_LEASE_MS } = this.deps;
    const { ask } = this.deps.database;
    const renewing = setInterval(() => renewSending(ask, lease, leaseMs).catch(() => {}), leaseMs / 3).unref();
    try {
      const arrived = await arrivedPieces(ask, lease);
      const done = await work(async (texts) => {
        const put = { pieces: [] as string[], bytes: 0 };
        for await (const bytes of cut(texts)) {
          const sha = createHash('sha256').update(bytes).digest('hex');
          put.pieces.push(sha);
          put.bytes += bytes.length;
          if (arrived.has(sha)) continue;
          onStep?.('put');
          if (!(await putPiece(ask, lease, { sha, bytes }))) throw takenOver(lease);
          arrived.add(sha);
          onSent?.(bytes.length);
        }
        return put;
      });
      onStep?.('end');
      if (!(await endSending(ask, lease, done))) throw takenOver(lease);
      onStep?.('done');
      return lease.id;
    } catch (error) {
      // Where that fails the lease ends by the database's time.
      await stopSending(ask, lease).catch(() => {});
      throw error;
    } finally {
      clearInterval(renewing);
    }
  }
}

/** Puts texts in pieces. */
export type PutAll = (texts: AsyncIterable<string | Buffer>) => Promise<Pick<Whole, 'pieces' | 'bytes'>>;

/** Pieces of one size, the last one smaller; each holds until the next is asked for. */
async function* cut(texts: AsyncIterable<string | Buffer>): AsyncGenerator<Buffer> {
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  let length = 0;
  for await (const text of texts) {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text;
    for (let from = 0; from < bytes.length; ) {
      const copied = bytes.copy(piece, length, from);
      from += copied;
      length += copied;
      if (length < PIECE_BYTES) continue;
      yield piece;
      length = 0;
    }
  }
  if (length > 0) yield piece.subarray(0, length);
}

/** What is kept of an id or a directory with which something was redacted. */
export function sumOf(told: unknown): string {
  return hash('sha256', String(told)).slice(0, 16);
}

/** The line of a session or a message; where something was redacted in it, without what it says. */
function withhold(line: string, redacted: ReadonlySet<string>): string {
  if (redacted.size === 0) return line;
  const record = JSON.parse(line);
  const told = record.message ?? record.session ?? {};
  const parts = [{ kind: 'text', text: REDACTED }];
  const withheld = {
    ...(told.parts !== undefined && redacted.has(sumOf(told.id)) && { parts }),
    ...(told.cwd !== undefined && redacted.has(sumOf(told.cwd)) && { cwd: REDACTED }),
    ...(told.branch !== undefined && redacted.has(sumOf(told.branch)) && { branch: REDACTED }),
  };
  if (Object.keys(withheld).length === 0) return line;
  return `${JSON.stringify({ [record.message ? 'message' : 'session']: { ...told, ...withheld } })}\n`;
}

/** PostgreSQL's texts hold no NUL. */
function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD');
}

function takenOver({ id }: SendLease): AppError {
  return new AppError('fenced', `Another process took over sending ${NAMED}${id}; nothing of this try counts.`);
}
