// Take in: a memory directory that an earlier nocturne worked on becomes a memory of this one, once.
//
// 1. Read its ledger. Where its rows were taken in already, and the crash came after that, go on with 3.
// 2. In one transaction: the memory, its files with all versions, what was learned, what lines rest on, what waits.
// 3. Put the ledger aside: it stays beside, and says no more.
// 4. Look at the files, as at every opening; what a person changed since is an external edit.
//
// Promises: taken in whole or not at all; no session is paid for twice, nothing that was forgotten comes back. What is gone is the
// undo of earlier jobs; their versions stay.

import { join } from 'node:path';
import { canonicalPath } from '../src/base/files/directories.ts';
import { readBytesNow } from '../src/base/files/files.ts';
import { isOld, type OldDatabase, openOld, putAside } from '../src/db/old-database.ts';
import type { Row } from '../src/db/sql.ts';
import { addMemory, type Memories, oldLedgerPath, type Scope } from '../src/memory/memories.ts';
import { nameIn, projectOf, takeInLedger } from './take-in/old-ledger.ts';

interface OldMemory {
  dir: string;
  /** As clients know it; default: a new id. */
  id?: string;
  scope: Scope;
  name: string;
  /** It becomes a store without a directory; its files stay where they are. */
  isStore?: boolean;
  /** Default: now. */
  createdAt?: string;
  /** Further columns of its row. */
  more?: Row;
}

export async function takeIn(of: OldMemory, memories: Memories): Promise<void> {
  const { db, machine, clock } = memories;
  const dir = canonicalPath(of.dir);
  const path = oldLedgerPath(dir);
  const at = clock.now().toISOString();
  // 1.
  const old = openOld(path);
  try {
    const kept = old ? snapshotsOf(dir, old) : new Map();
    // 2.
    await db.write(async (sql) => {
      const known = of.isStore
        ? await sql.get('select id from memory where id = ?', of.id ?? '')
        : await sql.get('select id from memory where machine = ? and dir = ?', machine, dir);
      if (known) return;
      const place = of.isStore ? {} : { dir, machine };
      const name = (of.scope === 'project' && old && projectOf(old)) || of.name;
      const made = { ...of.more, ...place, id: of.id, scope: of.scope, name };
      const memory = await addMemory(sql, made, of.createdAt ?? at);
      if (old) await takeInLedger(sql, old, { memory, hasDirectory: !of.isStore, machine, at, kept });
    });
  } finally {
    old?.close();
  }
  // 3.
  if (isOld(path)) putAside(path);
  // 4.
  if (!of.isStore) await memories.ofDirectory(dir, of);
}

/** What was kept of sessions that wait, for agents that delete theirs. */
function snapshotsOf(dir: string, old: OldDatabase): Map<string, Buffer[]> {
  const rows = old.rows<{ key: string; payload: string }>('inbox').flatMap(({ key, payload }) => {
    const { snapshot, session } = JSON.parse(payload) as { snapshot?: string; session?: string };
    const bytes = snapshot === undefined ? null : readBytesNow(join(dir, '.nocturne', 'snapshots', snapshot));
    return bytes ? [[nameIn(key, session), [bytes]] as [string, Buffer[]]] : [];
  });
  return new Map(rows);
}
