// Where memory and the home are kept, where that is not a disk of this machine: what a keeping is. The fleet has one; programs say so
// before they begin (`useKeeping`), because it stands above who asks for it.

import type { Config } from '../base/config/config.ts';
import { onAppError } from '../base/errors.ts';
import { thisProcess } from '../base/process.ts';
import type { RedactElsewhere } from '../memory/history/redact/redaction.ts';
import { Home, openHome } from '../memory/home/home.ts';
import type { HomeDatabase } from '../memory/home/home-database.ts';
import type { Lease } from '../memory/ledger/job-rows.ts';
import { type Ledger, newId, type StartedBy } from '../memory/ledger/ledger.ts';
import type { Store } from '../memory/store/store.ts';
import type { Checked } from './doctor/checked.ts';
import type { Shared } from './shared.ts';
import type { TranscriptPlace } from './transcripts.ts';
import type { Desk, DeskParts } from './worker/desk.ts';

/** How much waits and is worked on now, in all memory that a worker works for. */
export interface WorkFigures {
  /** Items in the inboxes. */
  waiting: number;
  /** Since when the oldest of them waits, ISO-8601; null: none does. */
  oldestSince: string | null;
  /** Keys that someone works on. */
  leases: number;
}

/** How all of it is that several machines share. */
export interface SharedOverview {
  id: string;
  /** Where it is, without a password. */
  server: string;
  stores: { ready: number; arriving: number };
  /** `oldest`: since when, ISO-8601, or null; `tenants`: the longest line first, null: the stores of none. */
  waiting: {
    count: number;
    oldest: string | null;
    tenants: { tenant: string | null; count: number; oldest: string }[];
  };
  /** Keys that someone works on. */
  leases: number;
  /** How much waits for another try or was given up, by the code of the error. */
  failures: Record<string, number>;
  givenUp: number;
  /** The newest 20 of them. */
  failed: { store: string; name: string; kind: string; key: string; code: string; at: string; message: string }[];
  /** Where each store is asked for, by name; `isHere`: it stands for a directory of this machine. */
  each?: { id: string; name: string; isHere: boolean; waiting: number; givenUp: number }[];
}

export interface KeepingParts {
  startedBy?: StartedBy;
  /** A database is away that takes longer to be connected to, or to answer a statement. */
  within?: { connectMs: number; answerMs: number };
}

/** Where memory and the home are kept, where that is not a disk of this machine. */
export interface Keeping {
  homeDatabase: HomeDatabase;
  /** The store of this id; or the one that stands for a directory, made where there is none. The same object while it is open. */
  openStore(place: string): Promise<Store>;
  /** The same where it is there; null: nothing is kept of it yet. */
  findStore(place: string): Promise<Store | null>;
  /** All stores that can be worked in; `isHere`: it stands for a directory of this machine. */
  stores(): Promise<{ id: string; name: string; isHere: boolean }[]>;
  /**
   * The store that stands for the user's directory of this machine, made where there is none; null where the one with this id is
   * that, or stands for no directory of this machine.
   */
  userStoreBeside?(id: string, dir: string): Promise<string | null>;
  /** Redacts what is kept of a store outside of its files and its ledger. */
  redactElsewhere?: RedactElsewhere;
  /** Where transcripts are kept for workers of other machines; default: in their files. */
  transcripts?: TranscriptPlace;
  /** What a worker sees of all its stores. */
  desk(parts: DeskParts): Desk;
  /** For metrics. */
  figures?(): Promise<WorkFigures>;
  /** For who asks how it is; `isAll`: and each store. */
  overview?(ask?: { isAll?: boolean }): Promise<SharedOverview>;
  /** What doctor looks at. */
  checks?(at: { home: Home; now(): Date }): Promise<Checked[]>;
  /** Calls `look` with the ledger of a store, of which nothing else is read. */
  lookIntoLedger?(id: string, look: (ledger: Ledger) => void): Promise<void>;
  shared: Shared | null;
  /** Of the queue that all workers share. */
  queueNamespace(): Promise<string>;
  /** Lets go of all that was opened. */
  close(): Promise<void>;
}

/** Where memory is kept, as the settings say; null: on this machine. Nothing is reached before it is asked. */
export type Keep = (config: Config, parts: KeepingParts) => Keeping | null;

let keep: Keep = () => null;

/** Called once, by a program's own file, before anything else. */
export function useKeeping(how: Keep): void {
  keep = how;
}

/** Where memory is kept, where that is not this machine. */
export function keepingOf(config: Config, parts: KeepingParts = {}): Keeping | null {
  return keep(config, parts);
}

/** The home that the settings name, of this machine or where several share it, for doors without an app; to be closed. */
export function openHomeOf(config: Config): { home: Home } & Pick<Keeping, 'shared' | 'close'> {
  const keeping = keepingOf(config);
  const home = homeOf(config, { keeping });
  return { home, shared: keeping?.shared ?? null, close: () => (keeping ?? home).close() };
}

/** `look`: see `openHome`. */
export function homeOf(
  { home: dir, clock, zone }: Config,
  { keeping, look }: { keeping: Keeping | null; look?: () => string[] },
): Home {
  if (keeping) return new Home(dir, { database: keeping.homeDatabase, clock, zone });
  return openHome(dir, clock, zone, look);
}

/** Runs `work` while no other process works on the key in the store; null where one does. */
export async function withLease<T>(
  store: Store,
  { key, config, work }: { key: string; config: Config; work: (lease: Lease) => Promise<T> },
): Promise<T | null> {
  const owner = `${thisProcess()}/${newId('run')}`;
  const lease = await store.work.takeLease({ key, owner, now: config.clock.now(), ttlMs: config.leaseMs });
  if (!lease) return null;
  const renew = () => store.work.renewLease(lease, { now: config.clock.now(), ttlMs: config.leaseMs });
  // A full disk or a busy ledger: thrown from here it would end the process with all its jobs. The next renewal may get
  // through, and a lease that is lost keeps the work from being committed.
  const renewal = setInterval(() => void renew().catch(onAppError(() => {})), config.leaseMs / 3);
  try {
    return await work(lease);
  } finally {
    clearInterval(renewal);
    await store.work.releaseLease(lease);
  }
}
