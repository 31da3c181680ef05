// Take in: the home of the nocturne of before (`home.db`), with every memory that it knew.
//
// 1. Each store that clients have, under the id that they know: its files and versions from its ledger.
// 2. Each directory: the user's first, so that what was on its way to it arrives.
// 3. In one transaction: keys, what was spent today, pauses, limits, what set-up declined.
// 4. Put the home's database aside.
//
// Promises: broken off, it goes on where it was; a memory that cannot be read is named, and the others are taken in.

import { join } from 'node:path';
import { isAppError } from '../../../base/errors.ts';
import { isDirectory } from '../../../base/files/directories.ts';
import { openOld, putAside } from '../../db/old-database.ts';
import { insert, type Row, type Sql } from '../../db/sql.ts';
import type { Memories, MemoryRow, Scope } from '../../memory/memories.ts';
import { takeIn } from '../take-in.ts';

export interface HomeReport {
  /** Directories and stores that were taken in. */
  taken: string[];
  /** Those that could not be, and why. */
  left: { place: string; why: string }[];
  /** Where the database of before is now; null where there was none. */
  aside: string | null;
}

interface OldStore extends Record<string, string | number | null> {
  id: string;
  dir: string | null;
  name: string;
}

export async function takeInHome(
  /** The directory of the home of before. */
  home: string,
  {
    memories,
    zone,
    describe,
  }: { memories: Memories; zone: string; describe(dir: string): { scope: Scope; name: string } },
): Promise<HomeReport> {
  const path = join(home, 'home.db');
  const report: HomeReport = { taken: [], left: [], aside: null };
  const old = openOld(path);
  if (!old) return report;
  let user: MemoryRow | null = null;
  const take = async (of: Parameters<typeof takeIn>[0]) => {
    try {
      const { memory } = await takeIn(of, { memories, zone, userMemory: async () => user });
      report.taken.push(of.dir);
      if (of.scope === 'user') user = memory;
    } catch (error) {
      const cause = isAppError(error) || (error as { code?: string }).code?.startsWith('SQLITE_');
      if (!cause) throw error;
      report.left.push({ place: of.dir, why: (error as Error).message });
    }
  };
  try {
    // 1.
    const stores = old.rows<OldStore>('memory_store');
    for (const store of stores.filter(({ dir }) => dir === null)) {
      const kept = join(home, 'stores', store.removed_at === null ? '' : '.removed', store.id, 'memory');
      await take({ dir: kept, id: store.id, scope: 'store', name: store.name, isStore: true, ...storeRow(store) });
    }
    // 2.
    const ids = new Map(stores.flatMap((store) => (store.dir === null ? [] : [[store.dir, store.id] as const])));
    const isOwn = (dir: string) => dir.startsWith(join(home, 'stores', '/'));
    const dirs = new Set([...old.rows<{ path: string }>('store').map((row) => row.path), ...ids.keys()]);
    const there = [...dirs].filter((dir) => !isOwn(dir) && isDirectory(dir)).map((dir) => ({ dir, ...describe(dir) }));
    for (const of of there.sort((a, b) => Number(b.scope === 'user') - Number(a.scope === 'user')))
      await take({ ...of, id: ids.get(of.dir) });
    // 3.
    await memories.db.write(async (sql) => {
      await takeInKeys(sql, old.rows<Row>('api_key'));
      for (const { day, used, reserved, calls, used_micro_usd, reserved_micro_usd } of old.rows<Record<string, number>>(
        'spend',
      )) {
        const sums = {
          tokens: (used ?? 0) + (reserved ?? 0),
          micro_usd: (used_micro_usd ?? 0) + (reserved_micro_usd ?? 0),
        };
        await insert(sql, 'day', [{ day: day ?? '', scope: '', ...sums, calls: calls ?? 0 }], 'on conflict do nothing');
      }
      for (const { day, plan_requests } of old.rows<Record<string, number>>('spend'))
        if (plan_requests) await insert(sql, 'day', [planOf(day as number, plan_requests)], 'on conflict do nothing');
      for (const { key, day, micro_usd } of old.rows<Row>('key_spend'))
        await insert(
          sql,
          'day',
          [{ day, scope: key, tokens: 0, micro_usd, calls: 0 } as Row],
          'on conflict do nothing',
        );
      for (const [key, value] of settingsOf(old.rows))
        await insert(sql, 'setting', [{ key, value }], 'on conflict (key) do nothing');
    });
  } finally {
    old.close();
  }
  // 4.
  report.aside = putAside(path);
  return report;
}

function planOf(day: number | string, calls: number): Row {
  return { day, scope: 'plan', tokens: 0, micro_usd: 0, calls };
}

function storeRow(store: OldStore) {
  const {
    description,
    metadata,
    archived_at,
    removed_at: deleted_at,
    tenant,
    owner,
    allows_secrets,
    created_at,
  } = store;
  const flags = { ...(owner !== null && { owner }), ...(allows_secrets === 1 && { allowsSecrets: true }) };
  const more = { description, metadata, archived_at, deleted_at, tenant: tenant ?? '', flags: JSON.stringify(flags) };
  return { more: more as Row, createdAt: created_at as string };
}

async function takeInKeys(sql: Sql, keys: readonly Row[]): Promise<void> {
  for (const { stores, day_micro_usd, tenant, ...key } of keys) {
    const row = { ...key, memories: stores ?? null, day_usd: day_micro_usd ?? null, tenant: tenant ?? '' };
    await insert(sql, 'api_key', [row], 'on conflict do nothing');
  }
}

/** Single values, by the names that they have here. */
function settingsOf(rows: <Found>(table: string) => Found[]): [string, string][] {
  const pauses = rows<{ project: string; until: string | null }>('pause');
  const [declined] = rows<{ before: string }>('declined');
  const [limits] = rows<{ day_tokens: number; day_micro_usd: number | null; zone: string }>('limits');
  const [server] = rows<{ user: string }>('server');
  const found: [string, string | undefined][] = [
    [
      'pauses',
      pauses.length > 0
        ? JSON.stringify(pauses.map(({ project, until }) => ({ project: project || null, until })))
        : undefined,
    ],
    ['declined_before', declined?.before],
    [
      'limits',
      limits &&
        JSON.stringify({
          dayTokens: limits.day_tokens,
          zone: limits.zone,
          ...(limits.day_micro_usd !== null && { dayMoneyUsd: limits.day_micro_usd / 1e6 }),
        }),
    ],
    ['user', server?.user],
  ];
  return found.filter((each): each is [string, string] => each[1] !== undefined);
}
