// The desk: what a worker sees of all the stores that it works in, and what it does in each of them unasked. A worker looks
// here, and opens a store only to work an item of it. Locally that is every known memory directory of this machine that is
// there; where stores are kept elsewhere, a desk of there answers by the rows that are due.
// Promises: what is due of a store is named in the order in which it is to be worked; a night is begun once.

import { isAbsolute } from 'node:path';
import type { Config } from '../../base/config/config.ts';
import { type AppError, describeError, isAppError, onAppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { statNow } from '../../base/files/files.ts';
import type { Home } from '../../memory/home/home.ts';
import type { Enablement } from '../../memory/home/paths.ts';
import { outboxRows } from '../../memory/ledger/entries.ts';
import { type DueItem, inboxItem, isInboxEmpty, nextDueInInbox, putInInbox } from '../../memory/ledger/inbox.ts';
import type { JobKind } from '../../memory/ledger/job-rows.ts';
import { findLedger, ledgerPath } from '../../memory/ledger/ledger.ts';
import { hasUnapplied } from '../../memory/ledger/version-rows.ts';
import type { Store } from '../../memory/store/store.ts';

/** An item that may be worked, and the id of its store. */
export type Due = DueItem & { store: string };

/** Told of each store that could not be looked into, which keeps nobody from the others. */
type OnError = (message: string) => void;

/** What a worker works on. */
export interface Taken {
  store: Store;
  kind: JobKind;
  key: string;
  /** Called when it is over, however it ended: nobody else is handed it before. */
  done(outcome?: string): Promise<void>;
}

export interface Desk {
  /** Everything that may be worked now; where `isQuick`, in the stores that were found to have work at the look before. */
  due(onError: OnError, isQuick?: boolean): Promise<Due[]>;
  /** The stores of this machine in which something waits, be it for later. */
  busy(onError: OnError): Promise<Store[]>;
  /** Told when no work is under way: lets go of the stores in which nothing waits. */
  rest?(): Promise<void>;
  /** The item that is due next after an instant, of the stores that `due` looked into last; undefined: none is. */
  nextDue(now: string): Promise<Due | undefined>;
  /** The item that a worker works which found this one due: this, or one whose turn it is; null: there is none. */
  take(due: Pick<Due, 'store' | 'kind' | 'key'>): Promise<Taken | null>;
  /**
   * Puts the nightly dream into the inboxes, unless that was done since `dueAt`. A dream that a person asked for
   * meanwhile stays as asked.
   */
  beginNight(dueAt: Date | undefined, onError: OnError): Promise<void>;
  /** Delivers what an earlier process left in an outbox; what cannot be is named. */
  deliver(onError: OnError): Promise<void>;
}

/** What a desk is made of. */
export interface DeskParts {
  config: Config;
  home: Home;
  /** Opens a store; one that is open already is not opened twice. */
  store(place: string): Promise<Store>;
  /** Whether nocturne may work unasked in a store. */
  standingOf(store: Store): Promise<Enablement>;
  /** Delivers what waits in a store's outbox. */
  deliver(store: Store): Promise<void>;
  /** Lets go of all stores but these, which are opened again when they are asked for. */
  closeBut(stores: readonly Store[]): Promise<void>;
}

/** Over the memory directories of this machine. */
export function localDesk(parts: DeskParts): Desk {
  const { config, home, standingOf } = parts;
  /** In which something waits: the others are not even opened. */
  let stores: Store[] = [];
  const quiet = new QuietStores();
  const busy = (onError: OnError) => openStores(parts, onError, (place) => !quiet.has(place));
  return {
    busy,
    async due(onError, isQuick = false) {
      if (!isQuick) stores = await busy(onError);
      stores = stores.filter(({ ledger }) => !isInboxEmpty(ledger));
      const due: Due[] = [];
      for (const store of stores) {
        for (const item of await dueItems(parts, store)) due.push({ store: store.id, ...item });
      }
      return due;
    },
    async nextDue(now) {
      return stores
        .flatMap(({ id, ledger }): Due[] => {
          const item = nextDueInInbox(ledger, now);
          return item ? [{ store: id, ...item }] : [];
        })
        .sort((a, b) => (a.notBefore < b.notBefore ? -1 : 1))
        .at(0);
    },
    async take({ store, kind, key }) {
      if (!isThere(store)) return null;
      return { store: await parts.store(store), kind, key, done: async () => {} };
    },
    rest: () => parts.closeBut(stores),
    async beginNight(dueAt, onError) {
      const notBefore = config.clock.now().toISOString();
      const enabled: Store[] = [];
      for (const store of await openStores(parts, onError)) {
        if ((await standingOf(store)).enabled) enabled.push(store);
      }
      // Within the home's transaction, at once: whoever dies in it leaves a night that is still due.
      await home.nightlyRound(dueAt, () => {
        for (const { ledger } of enabled) {
          if (inboxItem(ledger, 'dream', 'dream')) continue;
          putInInbox(ledger, { kind: 'dream', key: 'dream', payload: { isNightly: true }, notBefore });
        }
      });
    },
    async deliver(onError) {
      for (const store of await busy(onError)) {
        const told = (error: AppError) =>
          onError(`${store.id}: what is about the user waits in the outbox: ${describeError(error)}`);
        await parts.deliver(store).catch(onAppError(told));
      }
    },
  };
}

/** The items of a store that may be worked now; a dream waits while there are extractions due or under way. */
export async function dueItems({ config }: { config: Config }, { work }: Pick<Store, 'work'>): Promise<DueItem[]> {
  const now = config.clock.now();
  const due = await work.due(now.toISOString());
  const sources = due.filter((item) => item.kind !== 'dream');
  const isOnlyDreams = due.length > 0 && sources.length === 0;
  // An extraction is under way, here or in another process.
  const isExtracting = isOnlyDreams && (await work.isLeased({ prefix: 'session:', now }));
  return isOnlyDreams && !isExtracting ? due : sources;
}

/** The known stores that are there; one that cannot be opened is named and keeps nobody from the others. */
export async function openStores(
  { home, store }: Pick<DeskParts, 'home' | 'store'>,
  onError: OnError,
  isMeant = (_place: string) => true,
): Promise<Store[]> {
  const stores: Store[] = [];
  for (const place of await home.stores()) {
    try {
      if (isThere(place) && isMeant(place)) stores.push(await store(place));
    } catch (error) {
      if (!isAppError(error)) throw error;
      onError(`${place}: ${describeError(error)}`);
    }
  }
  return stores;
}

/** Which memory directories have nothing to do, told by how the files of their ledgers look, so that most are never opened. */
class QuietStores {
  readonly #looks = new Map<string, string>();

  has(place: string): boolean {
    const before = lookOf(place);
    if (before === this.#looks.get(place)) return true;
    const ledger = findLedger(place);
    const isQuiet = ledger !== null && isInboxEmpty(ledger) && outboxRows(ledger).length === 0 && !hasUnapplied(ledger);
    ledger?.close();
    // What was written meanwhile is looked at the next time.
    if (isQuiet && lookOf(place) === before) this.#looks.set(place, before);
    return isQuiet;
  }
}

/** Changes with every commit: with the ledger's log, or with the ledger once that is written back. */
function lookOf(place: string): string {
  const path = ledgerPath(place);
  const looks = [path, `${path}-wal`].map((each) => statNow(each));
  return looks.map((look) => (look?.bytes ? `${look.bytes} ${look.modifiedMs}` : '')).join('|');
}

/** A directory that is gone is not made again; of a store that is kept elsewhere only opening tells. */
function isThere(place: string): boolean {
  return !isAbsolute(place) || isDirectory(place);
}
