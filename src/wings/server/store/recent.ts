// The memories that were read last, so that reading one again wakes no thread, which costs more than all else of a request.
// Promises: what is answered is what the store's thread would answer: a memory is kept only while its file and the ledger
// of its store look exactly as they did when the thread read it, which the disk is asked each time; a file that was
// written so lately that its times could not tell a further change is not kept. Of other directories than the home's, which
// this thread uses anyway, none is kept: their disk may be slow, or gone. At most 16 MiB are kept.

import { fileIdentity, looksNow } from '../../../base/files/files.ts';
import type { StoreRow } from '../../../doors/clients/stores.ts';
import type { Memory, Retrieved } from './stored-memories.ts';
import type { StoreThreads } from './threads.ts';

const MOST_BYTES = 16 * 1024 * 1024;
/** Of a memory beside its content. */
const ROW_BYTES = 1_024;

export class RecentMemories {
  readonly #threads: StoreThreads;
  /** By store and id; what was read last is the last. */
  readonly #kept = new Map<string, Retrieved>();
  #bytes = 0;

  constructor(threads: StoreThreads) {
    this.#threads = threads;
  }

  /** A memory of a store as it stands. Throws `ApiError`. */
  async retrieve({ dir, kind }: Pick<StoreRow, 'dir' | 'kind'>, id: string): Promise<Memory> {
    const name = `${id} ${dir}`;
    const before = this.#kept.get(name);
    const found = before && looksAsBefore(before) ? before : await this.#threads.run(dir, 'retrieveMemory', { id });
    this.#drop(name);
    if (kind === 'own') this.#keep(name, found);
    return found.memory;
  }

  #keep(name: string, retrieved: Retrieved): void {
    if (retrieved.restsOn === null) return;
    this.#kept.set(name, retrieved);
    this.#bytes += bytesOf(retrieved);
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= MOST_BYTES) break;
      this.#drop(oldest);
    }
  }

  #drop(name: string): void {
    const kept = this.#kept.get(name);
    if (!kept) return;
    this.#kept.delete(name);
    this.#bytes -= bytesOf(kept);
  }
}

function bytesOf({ memory }: Retrieved): number {
  return 2 * memory.content.length + ROW_BYTES;
}

function looksAsBefore({ restsOn }: Retrieved): boolean {
  if (restsOn === null) return false;
  return looksNow(restsOn.file) === restsOn.looks && fileIdentity(restsOn.ledger) === restsOn.identity;
}
