// The rows of the home of an earlier nocturne, as rows of the one database: keys, what was spent, ceilings, pauses, what set-up
// declined, which sessions on the disk were seen, what clients sent and asked for. Once: what says so is written with them.

import type { OldDatabase } from '../../src/db/old-database.ts';
import { insert, type Row, type Sql } from '../../src/db/sql.ts';
import { takeInDreams, takeInSessions } from './old-clients.ts';

export interface OldStore extends Record<string, string | number | null> {
  id: string;
  dir: string | null;
  name: string;
}

/** Further columns of the memory that a store becomes. */
export function storeRow({ tenant, owner, allows_secrets, removed_at, ...store }: OldStore) {
  const { description, metadata, archived_at, created_at } = store;
  const flags = { ...(owner !== null && { owner }), ...(allows_secrets === 1 && { allowsSecrets: true }) };
  const more = { description, metadata, archived_at, deleted_at: removed_at, tenant: tenant ?? '' };
  return { more: { ...more, flags: JSON.stringify(flags) } as Row, createdAt: created_at as string };
}

export async function takeInHomeRows(
  sql: Sql,
  old: OldDatabase,
  { of, machine, now, kept }: { of: string; machine: string; now: Date; kept: Map<string, Buffer[]> },
): Promise<void> {
  const once = [{ key: `taken_in ${of}`, value: now.toISOString() }];
  if (await sql.get('select 1 from setting where key = ?', once[0]?.key as string)) return;
  await insert(sql, 'setting', once);
  for (const { stores, day_micro_usd, tenant, ...key } of old.rows<Row>('api_key')) {
    const row = { ...key, memories: stores ?? null, day_usd: day_micro_usd ?? null, tenant: tenant ?? '' };
    await insert(sql, 'api_key', [row], 'on conflict do nothing');
  }
  for (const { day = '', used = 0, reserved = 0, calls = 0, plan_requests, ...usd } of old.rows<Record<string, number>>(
    'spend',
  )) {
    const micro_usd = (usd.used_micro_usd ?? 0) + (usd.reserved_micro_usd ?? 0);
    await add(sql, { day, scope: '', tokens: used + reserved, micro_usd, calls });
    if (plan_requests) await add(sql, { day, scope: 'plan', tokens: 0, micro_usd: 0, calls: plan_requests });
  }
  for (const { key, day, micro_usd } of old.rows<Row>('key_spend'))
    await add(sql, { day, scope: key, tokens: 0, micro_usd, calls: 0 } as Row);
  for (const [key, value] of settingsOf(old, machine))
    if (value !== undefined) await insert(sql, 'setting', [{ key, value }], 'on conflict (key) do nothing');
  await takeInSessions(sql, old, { kept, now });
  await takeInDreams(sql, old, now);
}

/** What was spent here on the same day counts, too. */
function add(sql: Sql, row: Row): Promise<void> {
  const sum = (column: string) => `${column} = day.${column} + excluded.${column}`;
  const set = ['tokens', 'micro_usd', 'calls'].map(sum).join(', ');
  return insert(sql, 'day', [row], `on conflict (day, scope) do update set ${set}`);
}

/** Single values, by the names that they have here. */
function settingsOf({ rows }: OldDatabase, machine: string): [string, string | undefined][] {
  const pauses = rows<{ project: string; until: string | null }>('pause');
  const [declined] = rows<{ before: string }>('declined');
  const [limits] = rows<{ day_tokens: number; day_micro_usd: number | null; zone: string }>('limits');
  const [server] = rows<{ user: string }>('server');
  const [night] = rows<{ at: string }>('nightly');
  const [looked] = rows<{ at: string }>('looked');
  const looks = rows<Record<string, unknown>>('look').map(({ modified_at: modifiedAt, store: dir, ...look }) => ({
    ...look,
    modifiedAt,
    dir,
  }));
  const blocked = rows<{ path: string; reason: string; since: string }>('blocked').map((row) => {
    return { ...row, size: 0, modifiedAt: row.since, verdict: 'blocked', cwd: null, dir: null };
  });
  const found = pauses.map(({ project, until }) => ({ project: project || null, until }));
  const money = limits?.day_micro_usd == null ? {} : { dayMoneyUsd: limits.day_micro_usd / 1e6 };
  return [
    ['pauses', found.length > 0 ? JSON.stringify(found) : undefined],
    ['declined_before', declined?.before],
    ['limits', limits && JSON.stringify({ dayTokens: limits.day_tokens, zone: limits.zone, ...money })],
    ['user', server?.user],
    ['night', night?.at],
    ['looked', looked?.at],
    [`swept ${machine}`, looks.length + blocked.length > 0 ? JSON.stringify([...looks, ...blocked]) : undefined],
  ];
}
