// Transcripts for tests: files of our own in a temporary directory, and the real ones beside the checkout.

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listFiles } from '../../src/base/files/directories.ts';
import type { Message } from '../../src/transcript/messages.ts';
import { openSession } from '../../src/transcript/session.ts';
import { tempDir } from './temp.ts';

export const fixtures = join(import.meta.dirname, '../fixtures/transcripts');

/** Real sessions, not part of the project; tests that need them are skipped where they are not there. */
export const real = join(import.meta.dirname, '../../../shared/transcripts');
export const hasReal = existsSync(real);

export async function realFiles(pattern: RegExp): Promise<string[]> {
  return listFiles(real).filter((file) => pattern.test(file));
}

/** Writes a file in a directory of its own and returns its path. */
export function transcriptOf(text: string | Buffer, name = 'session.jsonl'): string {
  const path = join(tempDir(), name);
  writeFileSync(path, text);
  return path;
}

/** JSON lines. */
export function lines(...records: unknown[]): string {
  return records.map((record) => `${typeof record === 'string' ? record : JSON.stringify(record)}\n`).join('');
}

/** What is said in the transcript at a path. */
export async function messagesAt(path: string): Promise<Message[]> {
  return collect((await openSession(path)).messages());
}

/** What is said in these JSON lines. */
export async function messagesOf(...records: unknown[]): Promise<Message[]> {
  return messagesAt(transcriptOf(lines(...records)));
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
