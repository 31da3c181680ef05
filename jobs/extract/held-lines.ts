// Whether lines that an agent wrote somewhere stand in a memory on this disk, or stood there once. It only looks.

import { join } from 'node:path';
import { listFiles } from '../../src/base/files/directories.ts';
import { readText } from '../../src/base/files/files.ts';
import { isCheckedInDir } from '../../src/memory/home/paths.ts';
import { type Ledger, lookIntoLedger } from '../../src/memory/ledger/ledger.ts';

/** So many versions are held at once. */
const VERSIONS_AT_ONCE = 100;

/** Whether at least half of the lines that say anything are found in one of the directories or its versions. */
export async function areHeld(lines: readonly string[], dirs: readonly string[]): Promise<boolean> {
  const wanted = lines.map(plain).filter(saysSomething);
  if (wanted.length === 0) return false;
  for (const dir of new Set(dirs)) {
    const missing = new Set(wanted);
    const isEnough = () => wanted.filter((line) => !missing.has(line)).length * 2 >= wanted.length;
    for await (const text of textsOf(dir)) {
      for (const line of text.split(/\r?\n/)) missing.delete(plain(line));
      if (isEnough()) return true;
    }
  }
  return false;
}

/** The files of a memory directory, and what its ledger keeps of what they were. */
async function* textsOf(dir: string): AsyncGenerator<string> {
  for (const path of await listFiles(dir)) {
    if (path.endsWith('.md') && !path.startsWith('.')) yield (await readText(join(dir, path))) ?? '';
  }
  // A ledger that came with a repository is nobody's word.
  const ledger = isCheckedInDir(dir) ? null : lookIntoLedger(dir);
  try {
    if (ledger) yield* versionsIn(ledger);
  } finally {
    ledger?.close();
  }
}

function* versionsIn(ledger: Ledger): Generator<string> {
  const sql = 'select rowid as at, content from version where content is not null and rowid > ? order by rowid limit ?';
  for (let after = 0; ; ) {
    const rows = ledger.all<{ at: number; content: Buffer }>(sql, after, VERSIONS_AT_ONCE);
    for (const { content } of rows) yield content.toString('utf8');
    const last = rows.at(-1);
    if (!last) return;
    after = last.at;
  }
}

function plain(line: string): string {
  return line
    .normalize('NFC')
    .replace(/^[\s>*+-]+/, '')
    .replace(/\s+/g, ' ')
    .trim();
}

/** A heading and a field of one word (`type: project`) stand in every other file. */
function saysSomething(line: string): boolean {
  return /[\p{L}\p{N}]/u.test(line) && !/^(?:#+ |[\w-]+:(?: ?\S*)?$)/.test(line);
}
