// Which of a session's calls wrote into a memory: one that names a file which was changed past nocturne, and is the first whose
// text holds a line that was added there, or during which the file was written. So a call that reads, fails or only names a file
// covers nothing, and no tool or shell has to be understood.
// What a script does unseen, or only removes, is not told: its turn is extracted (docs/dev/decisions.md).

import { basename, dirname, join } from 'node:path';
import { attempt } from '../../src/base/errors.ts';
import { realPath } from '../../src/base/files/directories.ts';
import { statNow } from '../../src/base/files/files.ts';
import { allOf } from '../../src/db/sql.ts';
import { lookInto } from '../../src/memory/commit.ts';
import type { Memories } from '../../src/memory/memories.ts';
import type { FinishedCall } from '../../src/transcript/own-writes.ts';

/** A file that was changed past nocturne. */
interface ExternalChange {
  path: string;
  text: string;
  /** The lines that it added. */
  added: string[];
  /** When the file was written, or where that is not known, when nocturne took it in. */
  knownMs: number;
  /** When the file was written, where it still is as this change left it. */
  writtenMs?: number;
}

/** A call that wrote memory. */
export interface AgentWrite extends Pick<FinishedCall, 'call' | 'at' | 'through'> {
  /** The lines that it added, as far as files or its own text tell. */
  added: string[];
}

/** Between the clock of a transcript and that of a disk. */
const TICK_MS = 1000;

/** The time of a file may lie this much before the call that wrote it. A call that follows a write comes later. */
const GRAIN_MS = 100;

/** The changes of these memories since an instant, the last few seconds included; without one, all. */
export async function externalChanges(
  memories: Memories,
  of: readonly string[],
  since = '',
): Promise<ExternalChange[]> {
  for (const memory of of) {
    await memories.of(memory);
    await lookInto(memories, { memory, paths: 'all' });
  }
  const sinceMs = (Date.parse(since) || 0) - TICK_MS;
  const rows = await allOf<Changed>(memories.db, CHANGED, of, new Date(sinceMs).toISOString());
  const changes = rows.map((row): ExternalChange => {
    const path = join(row.machine === memories.machine && row.dir !== null ? row.dir : '/', row.path);
    const [text, before] = [row.content.toString(), row.before?.toString() ?? ''];
    const writtenMs = row.id === row.head ? statNow(path)?.modifiedMs : undefined;
    const knownMs = writtenMs ?? Date.parse(row.at);
    return { path, text, added: linesAdded(before, text), knownMs, writtenMs };
  });
  return changes.filter(({ knownMs }) => knownMs >= sinceMs);
}

type Changed = Record<'id' | 'path' | 'at' | 'head', string> & { dir: string | null; machine: string | null } & {
  content: Buffer;
  before: Buffer | null;
};

const CHANGED = `select version.id, version.path, version.at, version.content, before.content as before, file.head, memory.dir, memory.machine
  from version join memory on memory.id = version.memory
  join file on file.memory = version.memory and file.id = version.file
  left join version before on before.id = version.previous
  where version.actor_kind = 'external' and version.content is not null and version.at >= ? and version.memory in (#)
  order by version.seq`;

/**
 * Which of a session's calls wrote into a memory; to be asked of one call after another, in their order. A line was added by the
 * first call that holds it: one that looks for it later did not write it.
 */
export function writesAmong(changes: readonly ExternalChange[]): (call: FinishedCall) => AgentWrite | null {
  const claimed = new Map<string, Set<string>>();
  return (call) => {
    const [began, ended] = [Date.parse(call.began ?? ''), Date.parse(call.ended ?? '')];
    const isVirtual = call.memory?.path.startsWith('/memories') ?? false;
    // What was known before the call was not made by it.
    const since = changes.filter(({ knownMs }) => !(knownMs < began - TICK_MS));
    const named = since.filter(({ path }) => isVirtual || isNamed(path, call.text));
    if (named.length === 0) return null;
    const said = [plain(call.text)];
    const told = saying(call.added);
    const wrote = named.filter((change) => {
      const writtenMs = isVirtual ? Number.NaN : (change.writtenMs ?? Number.NaN);
      const ofOthers = claimed.get(change.path) ?? new Set();
      const held = saying(change.added).filter((line) => stands(line, told.length > 0 ? told : said));
      claimed.set(change.path, ofOthers.union(new Set(held)));
      if (began - GRAIN_MS <= writtenMs && writtenMs <= ended + TICK_MS) return true;
      if (held.every((line) => ofOthers.has(line)) || (isVirtual && told.length === 0)) return false;
      const lines = saying(change.text.split(/\r?\n/));
      return told.filter((line) => stands(line, lines)).length * 2 >= told.length;
    });
    if (wrote.length === 0) return null;
    const added = told.length > 0 ? call.added : wrote.flatMap((change) => change.added);
    return { call: call.call, at: call.at, through: call.through, added };
  };
}

/** How many places of a name in one call are looked at: each costs a look at the disk. */
const MOST_LOOKS = 1_000;

/** Whether a text names a file: by its path, or where no path of this machine stands before its name, by that alone. */
function isNamed(path: string, text: string): boolean {
  const name = basename(path);
  for (let at = text.indexOf(name), looks = 0; at !== -1 && looks < MOST_LOOKS; at = text.indexOf(name, at + 1)) {
    looks += 1;
    const before = /(?:^|[\s=<>|;&(,])["'`]?(\/[^\s\p{Cc}=<>|;&(,"'`$]*)$/u.exec(
      text.slice(Math.max(0, at - 1000), at),
    )?.[1];
    if (before === undefined) return true;
    const dir = attempt(
      () => realPath(before),
      () => null,
      'storage',
    );
    if (dir !== null && dir === realPath(dirname(path))) return true;
  }
  return false;
}

/** Shorter lines stand by chance in others. */
const SHORT = 8;

function stands(line: string, lines: readonly string[]): boolean {
  return lines.some((other) => other === line || (line.length >= SHORT && other.includes(line)));
}

function linesAdded(before: string, after: string): string[] {
  const known = new Set(before.split(/\r?\n/));
  return after.split(/\r?\n/).filter((line) => line.trim() !== '' && !known.has(line));
}

/** A heading and a field of one word (`type: project`) stand in every other file. */
function saying(lines: readonly string[]): string[] {
  return lines.filter((line) => /[\p{L}\p{N}]/u.test(line) && !/^(?:#+ |[\w-]+:(?: ?\S*)?$)/.test(line)).map(plain);
}

/** A line without its mark, and without what a shell or a script needs to say it. */
function plain(line: string): string {
  return line
    .normalize('NFC')
    .replace(/[\\'"`]/g, '')
    .replace(/^[\s>*+-]+/, '')
    .replace(/\s+/g, ' ')
    .trim();
}
