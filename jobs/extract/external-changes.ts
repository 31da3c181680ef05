// What was written into the memories on this disk, other than by nocturne, since a session began, and which of its calls
// wrote it: one that names the file and is the first whose text holds a line that was added there, or during which the
// file was written. So a call that reads, fails or only names a file covers nothing, and no tool or shell has to be
// understood.
// What a script does unseen, or only removes, is not told: its turn is extracted (docs/decisions.md).

import { basename, dirname, join } from 'node:path';
import { attempt } from '../../src/base/errors.ts';
import { realPath, walkNow } from '../../src/base/files/directories.ts';
import { readMemoryNow, statNow } from '../../src/base/files/files.ts';
import { isCheckedInDir } from '../../src/memory/home/paths.ts';
import { lookIntoLedger } from '../../src/memory/ledger/ledger.ts';
import { externalVersions, headAt, shaOf } from '../../src/memory/ledger/version-rows.ts';
import type { FinishedCall } from '../../src/transcript/own-writes.ts';

/** A change of a memory file that nocturne did not make. */
export interface ExternalChange {
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
export interface MemoryWrite extends Pick<FinishedCall, 'call' | 'at' | 'through'> {
  path: string;
  /** The lines that it added, as far as files or its own text tell. */
  added: string[];
}

/** Between the clock of a transcript and that of a disk. */
const TICK_MS = 1000;

/** The time of a file may lie this much before the call that wrote it. A call that follows a write comes later. */
const GRAIN_MS = 100;

/** The changes of the memories in `dirs` since an instant; without one, all. */
export function findExternalChanges(dirs: readonly string[], since = ''): ExternalChange[] {
  const changes: ExternalChange[] = [];
  const sinceMs = (Date.parse(since) || 0) - TICK_MS;
  for (const dir of new Set(dirs)) {
    // A ledger that came with a repository proves nothing.
    const ledger = isCheckedInDir(dir) ? null : lookIntoLedger(dir);
    try {
      const versions = ledger ? externalVersions(ledger, new Date(sinceMs).toISOString()) : [];
      const newest = new Map<string, ExternalChange>();
      for (const { path, content, before, at } of versions) {
        const added = linesAdded(before, content);
        const change = { path: join(dir, path), text: content, added, knownMs: Date.parse(at) };
        newest.set(path, change);
        changes.push(change);
      }
      // What may not be read shows nothing.
      for (const path of walkNow(dir, '', () => {})) {
        const file = join(dir, path);
        const stat = path.endsWith('.md') ? statNow(file) : null;
        if (!stat || stat.modifiedMs < sinceMs) continue;
        const text = attempt(
          () => readMemoryNow(file) ?? '',
          () => '',
          'storage',
        );
        const head = ledger && headAt(ledger, path);
        const isHead = head?.sha === shaOf(text);
        if (isHead && head.actor !== 'external') continue;
        const times = { knownMs: stat.modifiedMs, writtenMs: stat.modifiedMs };
        const taken = isHead && newest.get(path);
        const added = isHead ? [] : linesAdded(head?.content?.toString() ?? '', text);
        if (taken) Object.assign(taken, times);
        else changes.push({ path: file, text, added, ...times });
      }
    } finally {
      ledger?.close();
    }
  }
  return changes;
}

/**
 * Which of a session's calls wrote into a memory on this disk; to be asked of one call after another, in their order.
 * A line was added by the first call that holds it: one that looks for it later did not write it.
 */
export function writesAmong(changes: readonly ExternalChange[]): (call: FinishedCall) => MemoryWrite | null {
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
      const isNew = held.some((line) => !ofOthers.has(line));
      claimed.set(change.path, new Set([...ofOthers, ...held]));
      if (began - GRAIN_MS <= writtenMs && writtenMs <= ended + TICK_MS) return true;
      if (!isNew || (isVirtual && told.length === 0)) return false;
      const lines = saying(change.text.split(/\r?\n/));
      return told.filter((line) => stands(line, lines)).length * 2 >= told.length;
    });
    if (wrote.length === 0) return null;
    const path = [...new Set(wrote.map((change) => change.path))].join(', ');
    const added = told.length > 0 ? call.added : wrote.flatMap((change) => change.added);
    const { call: id, at, through } = call;
    return { call: id, at, through, path, added };
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
