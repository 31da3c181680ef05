// Take in: the home of an earlier nocturne (`home.db`), with every memory that it knew.
//
// 1. Each store that clients have, under the id that they know: its files and versions from its ledger.
// 2. Each directory.
// 3. In one transaction: keys, what was spent, ceilings, pauses, what set-up declined, what clients sent and asked for.
// 4. Put the home's database aside.
//
// Promises: broken off, it goes on where it was; a memory that cannot be read is named, and the others are taken in.

import { join } from 'node:path';
import { isAppError } from '../../src/base/errors.ts';
import { isDirectory } from '../../src/base/files/directories.ts';
import { readBytesNow } from '../../src/base/files/files.ts';
import { openOld, putAside } from '../../src/db/old-database.ts';
import type { Memories, Scope } from '../../src/memory/memories.ts';
import { takeIn } from '../take-in.ts';
import { copiesIn, keptParts, type OldStore, storeRow, takeInHomeRows } from './home-rows.ts';

/** What could not be taken in, and why. */
type Left = { place: string; why: string }[];

export async function takeInHome(
  /** The directory of that home. */
  home: string,
  { memories, describe }: { memories: Memories; describe(dir: string): { scope: Scope; name: string } },
): Promise<Left> {
  const path = join(home, 'home.db');
  const left: Left = [];
  const old = openOld(path);
  if (!old) return left;
  const { db, clock, machine } = memories;
  const take = async (of: Parameters<typeof takeIn>[0]) => {
    try {
      await takeIn(of, memories);
    } catch (error) {
      const cause = isAppError(error) || (error as { code?: string }).code?.startsWith('SQLITE_');
      if (!cause) throw error;
      left.push({ place: of.dir, why: (error as Error).message });
    }
  };
  try {
    // 1.
    const copies = copiesIn(old);
    const stores = old
      .rows<OldStore>('memory_store')
      .sort((a, b) => Number(copies.has(a.id)) - Number(copies.has(b.id)));
    for (const store of stores.filter(({ dir }) => dir === null)) {
      const kept = join(home, 'stores', store.removed_at === null ? '' : '.removed', store.id, 'memory');
      await take({ dir: kept, id: store.id, scope: 'store', name: store.name, isStore: true, ...storeRow(store) });
    }
    // 2.
    const ids = new Map(stores.flatMap((store) => (store.dir === null ? [] : [[store.dir, store.id] as const])));
    const isOwn = (dir: string) => dir.startsWith(join(home, 'stores', '/'));
    const dirs = new Set([...old.rows<{ path: string }>('store').map((row) => row.path), ...ids.keys()]);
    for (const dir of dirs)
      if (!isOwn(dir) && isDirectory(dir)) await take({ dir, ...describe(dir), id: ids.get(dir) });
    // 3.
    const kept = keptParts(old, ({ store, session, file }) =>
      readBytesNow(join(home, 'sessions', store, session, file)),
    );
    const now = clock.now();
    await db.write((sql) => takeInHomeRows(sql, old, { of: path, machine, now, kept }));
  } finally {
    old.close();
  }
  // 4.
  putAside(path);
  return left;
}
