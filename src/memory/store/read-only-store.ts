// A memory directory that is only looked at: the same doors for reading as the store's, and none for writing.
// Promises: it cannot change a file or a row, since it has nothing to do it with: the ledger is opened for looking, and
// no lock, directory or version is made. An external edit is shown as it stands; it has no version yet.

import { resolve } from 'node:path';
import { canonicalPath } from '../../base/files/directories.ts';
import { readMemoryBytesNow } from '../../base/files/files.ts';
import { shownText } from '../conflicts/shown-text.ts';
import { emptyLedger, type Ledger, lookIntoLedger } from '../ledger/ledger.ts';
import { headAt, shaOf } from '../ledger/version-rows.ts';
import { locateFile } from './confine.ts';
import { missingIn } from './external-edits.ts';
import { type ListChoice, listPaths } from './live-files.ts';

/** A file as it stands, with what is known of it. */
export interface ReadMemory {
  /** `mem_…`; null where the ledger does not know the file yet. */
  id: string | null;
  path: string;
  /** The version that it holds, `memver_…`; null where the ledger does not know that yet. */
  version: string | null;
  text: string;
  contentSha256: string;
  sizeBytes: number;
}

/** What a store and a directory that is only looked at have in common. */
export interface MemoryReader {
  /** The memory directory, canonical. */
  readonly dir: string;
  readonly ledger: Ledger;
  /** The text of a file as it stands now, or null. */
  read(path: string): Promise<string | null>;
  lookUp(path: string): Promise<ReadMemory | null>;
  list(choice?: ListChoice): Promise<string[]>;
  /** Files that were gone or emptied so many at once that it looks like an accident, and are not back. */
  missing(): Promise<string[]>;
}

export class ReadOnlyStore implements MemoryReader {
  readonly dir: string;
  /** Empty where nocturne has not worked. */
  readonly ledger: Ledger;

  /** The directory need not be there. Close it when done. */
  constructor(dir: string) {
    this.dir = canonicalPath(resolve(dir));
    this.ledger = lookIntoLedger(this.dir) ?? emptyLedger();
  }

  /** A file as it stands, or null. Bytes that are no UTF-8 are shown as U+FFFD, conflict markers not at all. */
  async lookUp(given: string): Promise<ReadMemory | null> {
    const { path, absolute } = locateFile(this.dir, given);
    const content = readMemoryBytesNow(absolute);
    if (content === null) return null;
    const contentSha256 = shaOf(content);
    const head = headAt(this.ledger, path);
    const version = head?.sha === contentSha256 ? head.id : null;
    const text = shownText(content.toString(), { path, ledger: this.ledger });
    return { id: head?.memory ?? null, path, version, text, contentSha256, sizeBytes: content.length };
  }

  /** Without conflict markers, too. */
  async read(given: string): Promise<string | null> {
    return (await this.lookUp(given))?.text ?? null;
  }

  async list(choice?: ListChoice): Promise<string[]> {
    return listPaths(this, choice);
  }

  async missing(): Promise<string[]> {
    return missingIn(this.ledger);
  }

  close(): void {
    this.ledger.close();
  }
}
