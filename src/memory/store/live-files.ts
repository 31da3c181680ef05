// The Markdown files of a memory directory as they stand, for those who only look.
// A file that looks as it did when it was last found to be its head (size and times, as outside.ts remembers them) is
// not opened: the ledger has its text in one place, where ten thousand files are ten thousand seeks. Every other file is
// read, so what a person wrote a second ago is seen, and a directory without a ledger is read whole. Nothing is changed.

import { join } from 'node:path';
import { lookNow, readMemoryNow } from '../../base/files/files.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { shownText } from '../team/shown-text.ts';
import { filesByName } from './confine.ts';
import { looksAsKnown, VISIBLE } from './known-files.ts';

export interface LiveFile {
  path: string;
  /** Where it is, as the disk spells it. */
  absolute: string;
  modifiedMs: number;
  /** The version that it is known to hold; null where it has to be read. */
  head: string | null;
}

type SeenRow = [string, number | null, number | null, number | null, string | null];

/** The files by path; `ledger` is null where nocturne has not worked. */
export function liveFiles(dir: string, ledger: Ledger | null): LiveFile[] {
  const seen = new Map(ledger && isApplied(ledger) ? seenRows(ledger).map((row) => [row[0], row]) : []);
  const paths = [...filesByName(dir)].filter(([path]) => path.endsWith('.md'));
  return paths.sort(byPath).flatMap(([path, spelled]) => {
    const absolute = join(dir, spelled);
    const look = lookNow(absolute);
    if (!look) return [];
    const [, bytes = null, modifiedMs = null, changedMs = null, head = null] = seen.get(path) ?? [];
    const isHead = look.isFile && looksAsKnown({ bytes, modifiedMs, changedMs }, look);
    return [{ path, absolute, modifiedMs: look.modifiedMs, head: isHead ? head : null }];
  });
}

/** The same with their texts as readers are shown them, one after the other. */
export function* liveTexts(dir: string, ledger: Ledger | null): Generator<LiveFile & { text: string }> {
  for (const file of liveFiles(dir, ledger)) {
    const known =
      file.head === null
        ? undefined
        : ledger?.get('select cast(content as text) as text from version where id = ?', file.head);
    const text = known?.text as string | null | undefined;
    yield { ...file, text: shownText(text ?? readMemoryNow(file.absolute) ?? '', { path: file.path, ledger }) };
  }
}

/** After a crash heads may be ahead of the files, until the store is opened. */
function isApplied(ledger: Ledger): boolean {
  return ledger.get('select 1 from "commit" where applied = 0') === undefined;
}

function seenRows(ledger: Ledger): SeenRow[] {
  const sql = `select path, seen_bytes, seen_modified, seen_changed, head from memory
    where ${VISIBLE} and missing_since is null`;
  return ledger.lists(sql) as SeenRow[];
}

function byPath([a]: [string, string], [b]: [string, string]): number {
  return a < b ? -1 : 1;
}
