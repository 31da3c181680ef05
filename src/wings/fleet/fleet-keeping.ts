// Memory, home and work of several machines, as a process has them: opened by what is asked first. One pool of connections
// serves stores, work and sessions, another the home.
// Promises: nothing is reached before it is asked something, and a database that was away is asked again; a store is held for
// as long as a job may last after it was asked for, and is brought to its newest revision each time it is asked for.

import { hash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Config } from '../../base/config/config.ts';
import { canonicalPath } from '../../base/files/directories.ts';
import { packagePath } from '../../base/files/files.ts';
import type { Checked } from '../../doors/doctor/checked.ts';
import type { Keep, Keeping, KeepingParts, SharedOverview, WorkFigures } from '../../doors/keeping.ts';
import type { SessionParts, Shared, StorePlaces } from '../../doors/shared.ts';
import type { TranscriptPlace } from '../../doors/transcripts.ts';
import type { Desk, DeskParts } from '../../doors/worker/desk.ts';
import type { RedactElsewhere } from '../../memory/history/redact/redaction.ts';
import type { Home } from '../../memory/home/home.ts';
import type { Ledger, StartedBy } from '../../memory/ledger/ledger.ts';
import type { Alone } from './alone.ts';
import { PostgresHome } from './home/postgres-home.ts';
import type { Database } from './postgres.ts';
import type { DatabasePlaces } from './stores/database-places.ts';
import type { FleetStore } from './stores/fleet-store.ts';
import type { FleetStores } from './stores/fleet-stores.ts';
import type { Transcripts } from './transcripts/fleet-transcripts.ts';
import type { FleetDesk } from './work/fleet-desk.ts';

const CONNECTIONS = 6;

interface Opened {
  database: Database;
  stores: FleetStores;
  transcripts: Transcripts;
}

interface Held {
  store: FleetStore;
  letGo: NodeJS.Timeout;
}

class FleetKeeping implements Keeping {
  readonly homeDatabase: PostgresHome;
  readonly shared = new FleetShared(() => this.#open());
  readonly #url: string;
  readonly #config: Config;
  readonly #startedBy: StartedBy | undefined;
  readonly #within: KeepingParts['within'];
  #opening: Promise<Opened> | undefined;
  readonly #ids = new Map<string, string>();
  readonly #held = new Map<string, Held>();

  constructor(url: string, config: Config, { startedBy, within }: KeepingParts) {
    this.#url = url;
    this.#config = config;
    this.#startedBy = startedBy;
    this.#within = within;
    this.homeDatabase = new PostgresHome(url, { within });
  }

  async openStore(place: string): Promise<FleetStore> {
    return this.#openId(isAbsolute(place) ? await this.#idOf(canonicalPath(place)) : place);
  }

  async findStore(place: string): Promise<FleetStore | null> {
    const { stores } = await this.#open();
    const dir = isAbsolute(place) ? canonicalPath(place) : null;
    const id = dir === null ? place : (this.#ids.get(dir) ?? (await stores.ofSource(dir)));
    return id === null ? null : this.#openId(id);
  }

  async stores(): Promise<{ id: string; name: string; isHere: boolean }[]> {
    const { stores } = await this.#open();
    const found = await stores.list();
    return found
      .filter(({ state }) => state === 'ready')
      .map(({ id, name, source }) => ({ id, name, isHere: stores.isHere(source) }));
  }

  async userStoreBeside(id: string, dir: string): Promise<string | null> {
    const { stores } = await this.#open();
    if (!stores.isHere(await stores.sourceOf(id))) return null;
    const own = await this.#idOf(dir);
    return own === id ? null : own;
  }

  readonly transcripts: TranscriptPlace = {
    keep: async (...sent) => (await this.#open()).transcripts.keep(...sent),
    open: async (...named) => (await this.#open()).transcripts.open(...named),
    sizeOf: async (name) => (await this.#open()).transcripts.sizeOf(name),
  };

  readonly redactElsewhere: RedactElsewhere = async (asked) => {
    const [{ redactingElsewhere }, { transcripts }] = await Promise.all([import('./fleet-redaction.ts'), this.#open()]);
    return redactingElsewhere(transcripts)(asked);
  };

  async figures(): Promise<WorkFigures> {
    const [{ workFigures }, { database }] = await Promise.all([import('./figures.ts'), this.#open()]);
    return workFigures(database.ask);
  }

  async overview({ isAll = false } = {}): Promise<SharedOverview> {
    const [{ eachStore, overviewOf }, { database, stores }] = await Promise.all([import('./figures.ts'), this.#open()]);
    const found = await overviewOf(database);
    if (!isAll) return found;
    const each = await eachStore(database.ask);
    return { ...found, each: each.map(({ source, ...row }) => ({ ...row, isHere: stores.isHere(source) })) };
  }

  async checks(at: { home: Home; now(): Date }): Promise<Checked[]> {
    const [{ checkDatabase }, { database }] = await Promise.all([import('./figures.ts'), this.#open()]);
    return checkDatabase(database, at);
  }

  async lookIntoLedger(id: string, look: (ledger: Ledger) => void): Promise<void> {
    await (await this.#open()).stores.lookIntoLedger(id, look);
  }

  desk(parts: DeskParts): Desk {
    const load = async () => {
      const [{ FleetDesk }, { database }] = await Promise.all([import('./work/fleet-desk.ts'), this.#open()]);
      return new FleetDesk(parts, database.ask);
    };
    let loaded: Promise<FleetDesk> | undefined;
    const desk = () => {
      loaded ??= load().catch((error) => {
        loaded = undefined;
        throw error;
      });
      return loaded;
    };
    return {
      busy: async (onError) => (await desk()).busy(onError),
      due: async () => (await desk()).due(),
      nextDue: async (now) => (await desk()).nextDue(now),
      take: async () => (await desk()).take(),
      beginNight: async (dueAt) => (await desk()).beginNight(dueAt),
      // Done where a store is worked in.
      deliver: async () => {},
    };
  }

  async queueNamespace(): Promise<string> {
    const { database } = await this.#open();
    return `nocturne-${hash('sha256', database.id).slice(0, 8)}`;
  }

  async close(): Promise<void> {
    for (const { letGo } of this.#held.values()) clearTimeout(letGo);
    this.#held.clear();
    const opened = await this.#opening?.catch(() => undefined);
    await this.shared.close();
    await opened?.stores.close();
    await opened?.database.close();
    await this.homeDatabase.close();
  }

  #open(): Promise<Opened> {
    this.#opening ??= this.#connect().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #connect(): Promise<Opened> {
    const { home, clock, telemetry } = this.#config;
    const { memoryBytes, maxMemories: memories, totalMemoryBytes: totalBytes } = this.#config;
    // Loaded only here: without a database nothing of it is.
    const [{ openDatabase }, { FleetStores }, { Transcripts }] = await Promise.all([
      import('./postgres.ts'),
      import('./stores/fleet-stores.ts'),
      import('./transcripts/fleet-transcripts.ts'),
    ]);
    const count = checkedInCounter(telemetry);
    const database = await openDatabase(this.#url, {
      connections: CONNECTIONS,
      within: this.#within,
    });
    try {
      const stores = await FleetStores.open({
        database,
        home,
        leaseMs: this.#config.leaseMs,
        open: { clock, limits: { memoryBytes, memories, totalBytes }, startedBy: this.#startedBy },
        onSent: (bytes) => void count?.(bytes),
      });
      return { database, stores, transcripts: new Transcripts({ database, home }) };
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  async #openId(id: string): Promise<FleetStore> {
    const { stores } = await this.#open();
    const store = this.#hold(id, await stores.open(id));
    await store.refresh();
    await store.recalls.bring();
    return store;
  }

  async #idOf(dir: string): Promise<string> {
    const { stores } = await this.#open();
    const id = this.#ids.get(dir) ?? (await stores.forSource(dir, { name: dir }));
    this.#ids.set(dir, id);
    return id;
  }

  /** A store that was opened once more is let go of once more, when no job of now can need it any longer. */
  #hold(id: string, store: FleetStore): FleetStore {
    const before = this.#held.get(id);
    if (before) {
      clearTimeout(before.letGo);
      before.store.close();
    }
    const letGo = setTimeout(() => {
      this.#held.delete(id);
      store.close();
    }, this.#config.jobWallMs).unref();
    this.#held.set(id, { store, letGo });
    return store;
  }
}

/** Without a database's URL memory is on this machine, and nothing of the fleet but this file and what it names is loaded. */
export const keepInDatabase: Keep = (config, parts) =>
  config.databaseUrl ? new FleetKeeping(config.databaseUrl, config, parts) : null;

interface Opened {
  database: Database;
  stores: FleetStores;
  transcripts: Transcripts;
}

interface Loaded {
  places: DatabasePlaces;
  parts: SessionParts;
  alone: Alone;
}

export class FleetShared implements Shared {
  readonly places: StorePlaces;
  readonly parts: SessionParts;
  readonly alone: Shared['alone'];
  readonly threadModule = pathToFileURL(
    import.meta.url.endsWith('.ts')
      ? packagePath('src', 'wings', 'fleet', 'fleet-thread.ts')
      : packagePath('dist', 'lib', 'fleet-thread.js'),
  ).href;
  #loading: Promise<Loaded> | undefined;

  constructor(open: () => Promise<Opened>) {
    const load = () => {
      this.#loading ??= loaded(open).catch((error) => {
        this.#loading = undefined;
        throw error;
      });
      return this.#loading;
    };
    this.places = {
      of: (id) => id,
      make: async (id, of) => (await load()).places.make(id, of),
      copy: async (from, to, of) => (await load()).places.copy(from, to, of),
      // Work is found by its own rows.
      entered: async () => {},
      remove: async (id, close) => {
        await (await load()).places.remove(id);
        await close();
      },
      restore: async (id) => (await load()).places.restore(id),
      drop: async (id) => (await load()).places.drop(id),
      // The rows that name them are in the same database.
      found: () => [],
    };
    this.parts = {
      put: async (name, part, from) => (await load()).parts.put(name, part, from),
      read: async (name, part) => (await load()).parts.read(name, part),
      remove: async (name, part) => (await load()).parts.remove(name, part),
      putBefore: async (at) => (await load()).parts.putBefore(at),
    };
    this.alone = async (name, work, options) => (await load()).alone.do(name, work, options);
  }

  /** To be called while the database is open. */
  async close(): Promise<void> {
    const loaded = await this.#loading?.catch(() => undefined);
    await loaded?.alone.close();
  }
}

async function loaded(open: () => Promise<Opened>): Promise<Loaded> {
  const [{ Alone }, { DatabasePlaces }, { DatabaseParts }, { database, stores, transcripts }] = await Promise.all([
    import('./alone.ts'),
    import('./stores/database-places.ts'),
    import('./alone.ts'),
    open(),
  ]);
  return { places: new DatabasePlaces(stores), parts: new DatabaseParts(transcripts), alone: new Alone(database.ask) };
}

/** Counts bytes of pages and files that a check-in sent to the database; none with telemetry off. */
export function checkedInCounter(isOn: boolean): ((bytes: number) => Promise<void>) | undefined {
  if (!isOn) return undefined;
  const loading = import('@opentelemetry/api');
  return async (bytes) => {
    const options = { description: 'bytes of memory that commits sent to the database', unit: 'By' };
    (await loading).metrics.getMeter('nocturne').createCounter('nocturne.fleet.checked_in', options).add(bytes);
  };
}
