// A copy of a memory as a client's store: its files as they stand, and what is known of them. Versions begin anew, and so do
// sessions, of which the copy knows what was learned, and neither words nor places.
// Promises: it is one transaction of its caller's; files, entries and what lines rest on keep their ids; the memory that is read stays as it is.

import { insert, newId, type Row, type Sql } from '../db/sql.ts';
import { countFiles, enterFile, headsOf } from './file-rows.ts';
import { addMemory, memoryRow } from './memories.ts';
import { Change } from './undo-rows.ts';

interface Copied {
  from: string;
  /** `memstore_…` */
  to: string;
  /** The key whose store it is, and its tenant. */
  owner: string;
  tenant: string;
  at: string;
}

export async function copyMemory(sql: Sql, { from, to, owner, tenant, at }: Copied): Promise<void> {
  const of = await memoryRow(sql, from);
  if (!of) return;
  const { name, description, metadata } = of;
  const flags = JSON.stringify({ ...JSON.parse(of.flags), owner });
  await addMemory(sql, { id: to, scope: 'store', name, description, metadata, flags, tenant }, at);
  // Nothing that a dream did: it is not taken back with one.
  const change = new Change(sql, { job: owner, at });
  for (const head of await headsOf(sql, from)) {
    const { id: file, path, version, content, sha, size, createdAt: created_at, updatedAt: updated_at } = head;
    const id = newId('memver');
    const by = await sql.get<Row>('select actor_kind, actor from version where id = ?', version);
    const made = { id, memory: to, file, change: change.id, op: 'created', path, sha, size, content, at };
    await insert(sql, 'version', [{ ...made, ...by }]);
    change.versions += 1;
    await enterFile(sql, { memory: to, id: file, path, head: id, placed: null, created_at, updated_at }, content);
  }
  await countFiles(sql, to, at);
  const sessions = new Map<unknown, string>();
  for (const row of await sql.all<Row>('select * from session where memory = ?', from)) {
    const id = newId('session');
    sessions.set(row.id, id);
    await insert(sql, 'session', [
      { id, name: row.name ?? '', memory: to, format: row.format ?? null, created_at: at },
    ]);
  }
  const moved = (row: Row): Row => ({ ...row, memory: to, ...(row.session && { session: sessions.get(row.session) }) });
  for (const table of ['turn', 'entry']) {
    const rows = await sql.all<Row>(`select * from ${table} where memory = ?`, from);
    await insert(sql, table, rows.map(moved));
  }
  const rests =
    'insert into rests (memory, file, line, source) select ?, file, line, source from rests where memory = ?';
  await sql.run(rests, to, from);
  await change.end();
}
