// The memories that the page shows: every directory in which nocturne has worked, under a name that goes into an address.

import { createHash } from 'node:crypto';
import { describeError, isAppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { whoseMemory } from '../../doors/cli/terminal/phrases.ts';
import type { App } from '../../doors/compose.ts';
import { sessionDirs } from '../../memory/ledger/coverage.ts';
import { lastSuccessAt } from '../../memory/ledger/job-rows.ts';
import type { Store } from '../../memory/store/store.ts';

export interface MemoryPlace {
  id: string;
  /** As a person calls it: the project's directory, by its last name where no other has that. */
  name: string;
  /** Where the project lies, else the memory. */
  path: string;
  store: Store;
  /** Where its sessions ran, if that is one place. */
  cwd: string | null;
}

export interface Places {
  all: MemoryPlace[];
  /** What could not be opened, with what is wrong. */
  broken: { dir: string; message: string }[];
}

export function memoryId(dir: string): string {
  return createHash('sha256').update(dir).digest('hex').slice(0, 10);
}

export async function readPlaces(app: App): Promise<Places> {
  const places: Places = { all: [], broken: [] };
  for (const dir of (await app.home.stores()).filter(isDirectory)) {
    try {
      const store = await app.store(dir);
      const { name } = whoseMemory({ dir, ledger: store.ledger }, app.config);
      const [cwd, ...others] = sessionDirs(store.ledger).filter((each) => each !== undefined);
      places.all.push({ id: memoryId(dir), name, path: name, store, cwd: others.length === 0 ? (cwd ?? null) : null });
    } catch (error) {
      if (!isAppError(error)) throw error;
      places.broken.push({ dir, message: describeError(error) });
    }
  }
  const shortOf = ({ path }: MemoryPlace) => path.slice(path.lastIndexOf('/') + 1) || path;
  const count = new Map([...Map.groupBy(places.all, shortOf)].map(([name, list]) => [name, list.length]));
  for (const each of places.all) if (count.get(shortOf(each)) === 1) each.name = shortOf(each);
  // The one that was learned from last comes first.
  const learnedAt = new Map(places.all.map((each) => [each, lastSuccessAt(each.store.ledger) ?? '']));
  places.all.sort(
    (a, b) => (learnedAt.get(b) ?? '').localeCompare(learnedAt.get(a) ?? '') || a.path.localeCompare(b.path),
  );
  return places;
}

export function memoryCalled({ all }: Places, id: string | null | undefined): MemoryPlace | undefined {
  return all.find((each) => each.id === id);
}
