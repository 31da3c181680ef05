// A memory directory that is only looked at: the same doors for reading as the store's, and none for writing.
// Promises: it cannot change a file or a row, since it has nothing to do it with: the ledger is opened for looking, and
// no lock, directory or version is made. What was edited outside is shown as it stands; it has no version yet.

import { resolve } from 'node:path';
import { canonicalPath } from '../../directories.ts';
import { readBytesNow } from '../../files.ts';
import { type Ledger, lookIntoLedger } from '../ledger/ledger.ts';
import { shownText } from '../team/shown-text.ts';
import { locateFile } from './confine.ts';
import { headOf, memoryAt, shaOf } from './heads.ts';
import { type ListChoice, listPaths } from './listing.ts';

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
  /** Null where nocturne has not worked. */
  readonly ledger: Ledger | null;
  lookUp(path: string): Promise<ReadMemory | null>;
  list(choice?: ListChoice): Promise<string[]>;
}

export class ReadOnlyStore implements MemoryReader {
  readonly dir: string;
  readonly ledger: Ledger | null;

  /** The directory need not be there. Close it when done. */
  constructor(dir: string) {
    this.dir = canonicalPath(resolve(dir));
    this.ledger = lookIntoLedger(this.dir);
  }

  /** A file as it stands, or null. Bytes that are no UTF-8 are shown as U+FFFD, conflict markers not at all. */
  async lookUp(given: string): Promise<ReadMemory | null> {
    const { path, absolute } = locateFile(this.dir, given);
    const content = readBytesNow(absolute);
    if (content === null) return null;
    const contentSha256 = shaOf(content);
    const id = this.ledger && memoryAt(this.ledger, path);
    const head = this.ledger && id ? headOf(this.ledger, id) : null;
    const version = head?.sha === contentSha256 ? head.id : null;
    const text = shownText(content.toString(), { path, ledger: this.ledger });
    return { id, path, version, text, contentSha256, sizeBytes: content.length };
  }

  async list(choice?: ListChoice): Promise<string[]> {
    return listPaths(this, choice);
  }

  close(): void {
    this.ledger?.close();
  }
}
