// What a memory is, without what differs from run to run: the texts of its files, what was learned and what became of it and of turns.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lookInto } from '../../src/memory/commit.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import type { World } from '../support/memory-world.ts';

export async function stateNow({
  db,
  memories,
  row,
  dir,
}: Pick<World, 'db' | 'memories'> & { row: MemoryRow; dir: string }): Promise<string[]> {
  await lookInto(memories, { memory: row.id, paths: 'all' });
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.md') && !path.startsWith('.nocturne'),
  );
  const texts = files.sort().map((path) => `${path}: ${readFileSync(join(dir, path), 'utf8')}`);
  const entries = await db.all<{ text: string; state: string; reason: string | null }>(
    'select text, state, reason from entry where memory = ? order by id',
    row.id,
  );
  const turns = await db.all<{ id: string; state: string }>(
    'select id, state from turn where memory = ? order by id, begins',
    row.id,
  );
  return [
    ...texts,
    ...entries.map(({ text, state, reason }) => `${state} ${reason ?? ''}: ${text}`),
    ...turns.map(({ id, state }) => `${id}: ${state}`),
  ];
}
