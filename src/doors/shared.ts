// What the server and its workers keep beside memory and the home, where several machines share it: where the stores are that
// clients make, the sessions that clients sent, and what one process does for all. On one machine it is the server's own.

import type { Config } from '../base/config/config.ts';
import type { Ledger } from '../memory/ledger/ledger.ts';
import type { Store } from '../memory/store/store.ts';

/** Where the stores are that clients make. An id names one store for ever. */
export interface StorePlaces {
  /** By what the store is opened: its directory, or its id. */
  of(id: string): string;
  /** Makes an empty store; one that is there stays as it is. */
  make(id: string, of: { tenant: string | null }): Promise<void>;
  /** Makes a store that holds what another holds now, apart from what `leaveOut` takes out; one that is there stays as it is. */
  copy(from: Store, to: string, of: { tenant: string | null; leaveOut(ledger: Ledger): void }): Promise<void>;
  /** The store is known by a row: from now on work is looked for in it. */
  entered(id: string): Promise<void>;
  /** Puts a store aside: nothing is written to it any more. `close`: lets go of it here, before it is moved. */
  remove(id: string, close: () => Promise<void>): Promise<void>;
  /** Brings it back; false where it is gone for good. */
  restore(id: string): Promise<boolean>;
  /** Drops for good what was put aside. */
  drop(id: string): Promise<void>;
  /** All that there are, for whoever lost the rows that name them. */
  found(): { id: string; isRemoved: boolean }[];
}

/** Which session that a client sent. */
export interface SessionName {
  /** The store that it belongs to. */
  store: string;
  /** `sesn_…` */
  id: string;
}

export interface SessionParts {
  /** Keeps the file `from`, which is gone afterwards. A name is used once. */
  put(name: SessionName, part: string, from: string): Promise<void>;
  /** A file of this machine with what was put, to be discarded when it was read; null where it is not kept. */
  read(name: SessionName, part: string): Promise<{ path: string; discard(): void } | null>;
  /** Removes a part, or all of a session. */
  remove(name: SessionName, part?: string): Promise<void>;
  /** The sessions of which nothing was put since. */
  putBefore(at: Date): Promise<SessionName[]>;
}

export interface Shared {
  places: StorePlaces;
  parts: SessionParts;
  /**
   * Does `work` unless another process does what is called so; null where one does. `keepMs`: for so long afterwards only this
   * process does it again. A process that hangs for long finds that another is at it: what is done must bear that.
   */
  alone<T>(name: string, work: () => Promise<T>, options?: { keepMs?: number }): Promise<T | null>;
  /** The file of a `ThreadModule`, as a URL. */
  threadModule: string;
}

/** How a thread of its own has stores open. */
export interface ThreadModule {
  openStores(config: Config): Promise<ThreadStores>;
}

export interface ThreadStores {
  /** Runs `work` with a store; `look` brings what is read there to what the store is now. A store that another writes to is not waited for. */
  use<T>(id: string, work: (store: Store, look: () => Promise<unknown>) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
