// What can be done with a store, by name: each runs in the thread that has the store open (server-thread.ts), and is called
// through `StoreThreads.run`. What goes in and comes out is plain data. What a client sent of a session is kept here: read by
// the format it is in, redacted, without what is private.

import { createHash } from 'node:crypto';
import { isAppError } from '../../../base/errors.ts';
import { writePieces } from '../../../base/files/file-pieces.ts';
import { parseJson } from '../../../base/text/json.ts';
import { redact } from '../../../base/text/redact.ts';
import { localSession } from '../../../doors/clients/dream-sessions.ts';
import type { ToolCall } from '../../../doors/mcp/server.ts';
import { scanDecoded } from '../../../transcript/records.ts';
import { openSession, snapshotLines } from '../../../transcript/session.ts';
import type { Message } from '../../../transcript/types.ts';
import { ApiError, isHeld } from '../api-errors.ts';
import {
  type At,
  type Change,
  createMemory,
  deleteMemory,
  listMemories,
  retrieveMemory,
  updateMemory,
} from './stored-memories.ts';
import { listVersions, redactVersion, retrieveVersion } from './stored-versions.ts';

export const WORK = {
  callTool,
  createMemory,
  deleteMemory,
  listMemories,
  retrieveMemory,
  updateMemory,
  listVersions,
  redactVersion,
  retrieveVersion,
  hashSession,
  keepSession,
  /** Those of these sessions that belong to the store, a project's: as they were named, and their ids there. */
  findSessions: async ({ store }: At, { ids }: { ids: string[] }) => {
    const found: { named: string; local: string }[] = [];
    for (const named of ids) {
      const session = await localSession(store, named);
      if (session) found.push({ named, local: session.id });
    }
    return found;
  },
  /** False while someone works on the dream, which is canceled; then nothing of what it committed stands any more. */
  takeBackDream: async ({ store, config }: At, { id }: { id: string }) =>
    (await import('../../../doors/clients/client-work.ts')).takeBackDream(store, { id, config }),
} satisfies Record<string, (at: At, args: never) => Promise<unknown>>;

/** What only begins where a store is: it is of the request. */
export const ofNoStore = new Set<WorkName>(['hashSession', 'keepSession']);
/** What reads nothing before it commits. */
export const ofCommits = new Set<WorkName>(['createMemory', 'updateMemory', 'deleteMemory']);

export type WorkName = keyof typeof WORK;
export type ArgsOf<Name extends WorkName> = Parameters<(typeof WORK)[Name]>[1];
export type ResultOf<Name extends WorkName> = Awaited<ReturnType<(typeof WORK)[Name]>>;

/** The tools of MCP: those of `nocturne mcp`, with changes by the key that asks. */
async function callTool({ store, config }: At, { by, asked }: Pick<Change, 'by'> & { asked: ToolCall }) {
  const tools = await import('../../../doors/mcp/memory-tools.ts');
  return tools.callTool(asked, {
    openStore: async () => store,
    ...(store.id !== store.dir && { findStore: async () => store }),
    actor: `tool:${by}`,
    clock: config.clock,
    passesOn: (error) => isHeld(error) || isAppError(error, 'database-unavailable'),
  });
}

/** SHA-256 of what was sent, decompressed. Throws 413 past `most` bytes of it. */
export function hashSession(_: unknown, sent: { from: string; most: number }): Promise<string> {
  return readable(() => hashOf(sent));
}

async function hashOf({ from, most }: { from: string; most: number }): Promise<string> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const chunk of scanDecoded(from)) {
    size += chunk.length;
    if (size > most) {
      throw new ApiError('request_too_large', `The session is too large: at most ${most} bytes are allowed.`);
    }
    hash.update(chunk);
  }
  return hash.digest('hex');
}

export interface KeepSession {
  /** What was sent, as a file. */
  from: string;
  to: string;
}

/** Answers how many messages it has: of an array its items, else those that the reader finds. */
export async function keepSession(_: unknown, { from, to }: KeepSession): Promise<{ messages: number }> {
  const session = await readable(() => openSession(from));
  let count = 0;
  const kept = {
    ...session,
    path: to,
    // Directories of another machine mean nothing on this one.
    cwd: undefined,
    request: undefined,
    get unreadableLines() {
      return session.unreadableLines;
    },
    async *messages(): AsyncGenerator<Message> {
      for await (const { cwd: _, branch: __, ...message } of session.messages()) {
        count += 1;
        yield message;
      }
    },
  };
  await writePieces(to, snapshotLines(kept, redact));
  return { messages: session.format === 'messages' ? await itemsIn(from) : count };
}

async function itemsIn(path: string): Promise<number> {
  const pieces: Buffer[] = [];
  for await (const chunk of scanDecoded(path)) pieces.push(Buffer.from(chunk));
  const whole = parseJson(
    Buffer.concat(pieces)
      .toString()
      .replace(/^\ufeff/, ''),
  ) as unknown[] | { messages: unknown[] };
  return Array.isArray(whole) ? whole.length : whole.messages.length;
}

/** What cannot be read is told without the name of the file that it was for a moment. */
async function readable<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!isAppError(error, 'unknown-format') && !isAppError(error, 'bad-input')) throw error;
    const what = error.code === 'bad-input' ? 'cannot be read' : 'is a session in no format that is known here';
    throw new ApiError('invalid_request_error', `The body ${what}.`);
  }
}
