// The tools that read: list, search, read. What a client is shown is redacted, as everywhere; the SHA-256 and the size
// are those of the file itself, since they are what a change is checked against.

import { join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { statNow } from '../../base/files/files.ts';
import { redact } from '../../base/text/redact.ts';
import { readVersion } from '../../memory/history/versions.ts';
import { type Hit, searchMemory } from '../../memory/recall/search.ts';
import { confine, type Location } from '../../memory/store/confine.ts';
import type { MemoryReader, ReadMemory } from '../../memory/store/live-files.ts';
import { readShown } from '../../memory/store/live-files.ts';
import { notThere } from '../../memory/store/staging.ts';
import { readLines } from '../../memory/text/blocks.ts';
import type { Input, Output } from './tool-shapes.ts';

/** Of one answer; a single line that is longer is shown whole. */
const MAX_CHARS = 16_000;

/** The place that a client names by path or by id. Throws `bad-input` for one that cannot be. */
export function placeOf({ dir, ledger }: MemoryReader, given: string): Location {
  const known = /^mem_[0-9a-f]{12}$/.test(given) && ledger.get('select path from memory where id = ?', given)?.path;
  return confine(dir, typeof known === 'string' ? known : given);
}

/** The memory at a place. Throws `bad-input` where there is none. */
export async function memoryAt(reader: MemoryReader, given: string): Promise<ReadMemory> {
  const { path, kind } = placeOf(reader, given);
  if (kind === 'directory') {
    throw new AppError('bad-input', `${path} is a directory.`, {
      remedy: `List it with the path_prefix ${JSON.stringify(`${path}/`)}.`,
    });
  }
  const found = await reader.lookUp(path);
  if (found === null) throw notThere(given);
  return found;
}

/** What of a memory is told beside its text. */
export function factsOf({ id, path, version, contentSha256, sizeBytes }: ReadMemory) {
  return { id, path, version, content_sha256: contentSha256, size_bytes: sizeBytes };
}

export async function listMemories(reader: MemoryReader, input: Input<'list'>): Promise<Output<'list'>> {
  const { store, path_prefix: prefix, depth, limit, page = '' } = input;
  const rest = (await reader.list({ prefix, depth })).filter((path) => path > page);
  const memories: Output<'list'>['memories'] = [];
  for (const path of rest.slice(0, limit)) {
    if (path.endsWith('/')) memories.push({ type: 'memory_prefix', path });
    // What went away meanwhile is left out.
    const found = path.endsWith('/') ? null : await reader.lookUp(path);
    const modifiedMs = statNow(join(reader.dir, path))?.modifiedMs ?? 0;
    if (found) memories.push({ type: 'memory', ...factsOf(found), modified_at: new Date(modifiedMs).toISOString() });
  }
  return { store, memories, next_page: rest.length > limit ? (rest[limit - 1] as string) : null };
}

export async function searchMemories(reader: MemoryReader, input: Input<'search'>): Promise<Output<'search'>> {
  const { store, query, path_prefix: under, limit, page = '0' } = input;
  const offset = /^\d{1,6}$/.test(page) ? Number(page) : Number.NaN;
  if (Number.isNaN(offset)) throw new AppError('bad-input', `${JSON.stringify(page)} is no next_page of a search.`);
  const { hits, total } = searchMemory(reader, { query, limit, offset, under });
  const shown = await withoutSecrets(reader, hits);
  const next = offset + hits.length;
  return { store, hits: shown, total, next_page: hits.length > 0 && next < total ? String(next) : null };
}

/** A secret may reach over several lines, so that it is not known by one of them. */
async function withoutSecrets({ dir, ledger }: MemoryReader, hits: Hit[]): Promise<Output<'search'>['hits']> {
  const texts = new Map<string, string>();
  for (const path of new Set(hits.map((hit) => hit.path))) {
    texts.set(path, (await redact(readShown(dir, path, ledger) ?? '')).text);
  }
  return hits.map(({ kind, path, line, text }) => {
    const isShown = texts.get(path)?.includes(text.replace(/^…|…$/g, '').trim());
    return { kind, path, line, text: isShown ? text : '[redacted: this line holds a secret]' };
  });
}

export async function readMemory(reader: MemoryReader, input: Input<'read'>): Promise<Output<'read'>> {
  const { store, path: given, version } = input;
  const current = version === undefined ? await memoryAt(reader, given) : null;
  const memory = current ?? versionAt(reader, { given, version: version as string });
  const { text, found } = await redact(memory.text);
  const redacted = found.reduce((sum, { count }) => sum + count, 0);
  const lines = readLines(text).map(({ raw }) => raw);
  const is_current = current !== null || (await reader.lookUp(memory.path))?.version === version;
  const previous = reader.ledger.get('select previous from version where id = ?', memory.version)?.previous;
  const previous_version = (previous as string | null | undefined) ?? null;
  return { store, ...factsOf(memory), previous_version, is_current, redacted, ...pageOf(lines, input) };
}

function pageOf(lines: string[], { first_line: from = 1, last_line: last = lines.length }: Input<'read'>) {
  const to = Math.min(last, lines.length);
  if (from > Math.max(to, 1)) {
    throw new AppError('bad-input', `There are no lines ${from} to ${last}: the memory has ${lines.length}.`, {
      remedy: 'Leave first_line and last_line out to read it from its beginning.',
    });
  }
  let content = lines[from - 1] ?? '';
  let next = Math.min(from + 1, lines.length + 1);
  while (next <= to && content.length + (lines[next - 1] as string).length <= MAX_CHARS) {
    content += lines[next - 1] as string;
    next += 1;
  }
  const next_line = next <= lines.length ? next : null;
  return {
    first_line: Math.min(from, lines.length),
    last_line: next - 1,
    total_lines: lines.length,
    next_line,
    content,
  };
}

function versionAt(reader: MemoryReader, { given, version }: { given: string; version: string }): ReadMemory {
  const { path } = placeOf(reader, given);
  const memory = reader.ledger.get('select id from memory where path = ?', path)?.id;
  const found = readVersion(reader.ledger, version);
  if (found.path !== path && found.memory !== memory) {
    throw new AppError('bad-input', `${version} is no version of ${given}.`, {
      remedy: 'Read the memory without a version.',
    });
  }
  if (found.text === null || found.sha === null) {
    const why = found.redactedAt ? 'was redacted' : `is of a memory that was ${found.operation}`;
    throw new AppError('bad-input', `Version ${version} ${why}: it has no text.`);
  }
  const { text, sha, sizeBytes } = found;
  return { id: found.memory, path, version, text, contentSha256: sha, sizeBytes: sizeBytes ?? Buffer.byteLength(text) };
}
