// What the server keeps in the database beside memory and the home (see doors/shared.ts). Nothing is loaded or reached before
// it is asked.

import { pathToFileURL } from 'node:url';
import { packagePath } from '../../base/files/files.ts';
import type { SessionParts, Shared, StorePlaces } from '../../doors/shared.ts';
import type { Alone } from './alone.ts';
import type { Database } from './postgres.ts';
import type { DatabasePlaces } from './stores/database-places.ts';
import type { FleetStores } from './stores/fleet-stores.ts';
import type { Transcripts } from './transcripts/fleet-transcripts.ts';

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
