// Sessions in a PostgreSQL database, as machines with homes of their own have them.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { redact } from '../../../src/base/text/redact.ts';
import type { Message, Part, Session } from '../../../src/transcript/types.ts';
import { type Database, openDatabase } from '../../../src/wings/fleet/postgres.ts';
import { type TranscriptDeps, Transcripts } from '../../../src/wings/fleet/transcripts/fleet-transcripts.ts';
import { tempDir } from '../../support/temp.ts';

export function openTranscriptDatabase(url: string): Promise<Database> {
  return openDatabase(url);
}

/** A machine of its own. */
export function machine(database: TranscriptDeps['database'], more: Partial<TranscriptDeps> = {}): Transcripts {
  return new Transcripts({ machine: 'one', ...more, database, home: more.home ?? tempDir() });
}

let stores = 0;

/** A store that sessions can be of; answers its id. */
export async function storeIn({ ask }: Pick<Database, 'ask'>): Promise<string> {
  stores += 1;
  const id = `memstore_${process.pid}_${stores}`;
  await ask(`insert into store (id, name, state, revision, pages, page_bytes) values ($1, $1, 'ready', 0, 0, 4096)`, [
    id,
  ]);
  return id;
}

/** Files that a machine has of sessions that it read. */
export function broughtFiles(home: string): string[] {
  return readdirSync(join(home, 'transcripts'), { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map(({ name }) => name);
}

/** All that is to be the same wherever a session is read: of what programs say, only that it is there. */
export async function readThrough(session: Session) {
  const messages: Message[] = [];
  for await (const { byte: _, ...message } of session.messages()) {
    messages.push({ ...message, parts: message.speaker === 'harness' ? [] : message.parts });
  }
  const { id, format, cwd, subagent, sizeBytes, modifiedAt, unreadableLines } = session;
  return { id, format, cwd, subagent, sizeBytes, modifiedAt, unreadableLines, messages };
}

/** The same with its texts redacted. What a call was given is left out where something is to be redacted in it. */
export async function redactedThrough(session: Session) {
  const read = await readThrough(session);
  const hasSecret: string[] = [];
  const partOf = async (part: Part): Promise<Part> => {
    if (part.kind === 'text' || part.kind === 'result') return { ...part, text: (await redact(part.text)).text };
    if (part.kind === 'attachment') return { ...part, label: (await redact(part.label)).text };
    if ((await redact(JSON.stringify(part.input))).found.length > 0) hasSecret.push(part.id);
    return part;
  };
  const messages = [];
  for (const message of read.messages) {
    const parts = [];
    for (const part of message.parts) parts.push(await partOf(part));
    messages.push({ ...message, parts });
  }
  return { read: { ...read, messages }, hasSecret };
}

/** Without what the calls were given that hold secrets. */
export function withoutInputs<Read extends { messages: Message[] }>(read: Read, calls: string[]): Read {
  const bare = (part: Part) => (part.kind === 'call' && calls.includes(part.id) ? { ...part, input: null } : part);
  return { ...read, messages: read.messages.map((message) => ({ ...message, parts: message.parts.map(bare) })) };
}
