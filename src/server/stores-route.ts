// Memory stores: made, listed, read, changed, archived, deleted. What a store holds is memories-route.ts's.

import { z } from 'zod';
import { addMemory, type MemoryRow, memoryRow } from '../memory/memories.ts';
import { createdQuery, forbidden, invalid, optional, pageQuery, storeShape, switchSchema } from './api-shapes.ts';
import { type Asker, type Endpoint, endpoint } from './endpoint.ts';
import { isVisible, newestPage, refuseArchived, storeOf } from './visible.ts';

const PATH = '/v1/memory_stores';
const MOST_METADATA = 16;

const name = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => !/\p{Cc}/u.test(text), 'it holds a control character');
const description = z.string().max(1_024);
const key = z.string().min(1).max(64);
const value = z.string().max(512);
const metadata = z
  .record(key, value)
  .refine((all) => Object.keys(all).length <= MOST_METADATA, `at most ${MOST_METADATA} pairs`);

const listQuery = z.strictObject({ ...pageQuery, ...createdQuery, include_archived: switchSchema.default(false) });

export function storeRoutes(): Endpoint[] {
  return [
    endpoint.post(PATH, 'create', {
      body: z.strictObject({ name, description: optional(description), metadata: optional(metadata) }),
      async handle({ deps, caller, body }) {
        const { name, description = '', metadata = {} } = body;
        const { db, clock } = deps.memories;
        const flags = JSON.stringify({ owner: caller.id });
        const made = {
          scope: 'store' as const,
          name,
          description,
          metadata: JSON.stringify(metadata),
          flags,
          tenant: caller.tenant,
        };
        const at = clock.now().toISOString();
        return storeShape(
          await db.write(async (sql) => (await memoryRow(sql, await addMemory(sql, made, at))) as MemoryRow),
        );
      },
    }),
    endpoint.get(PATH, 'read', {
      query: listQuery,
      async handle(call) {
        const { limit, page, ...filters } = call.query;
        return newestPage(call.deps.memories.db, storesFor(call, filters), {
          ...{ limit, page, shape: storeShape },
          of: ['stores', call.caller.id, filters],
        });
      },
    }),
    endpoint.get(`${PATH}/{store}`, 'read', {
      handle: async (call) => storeShape(await storeOf(call)),
    }),
    endpoint.post(`${PATH}/{store}`, 'write', {
      body: z.strictObject({
        name: optional(name),
        description: optional(description),
        metadata: optional(z.record(key, value.nullable())),
      }),
      async handle(call) {
        const row = await storeOf(call);
        refuseArchived(row);
        const { name = row.name, description = row.description } = call.body;
        return changed(call, row, async (now) => {
          const merged = Object.entries({ ...JSON.parse(now.metadata), ...call.body.metadata });
          const to = metadata.safeParse(Object.fromEntries(merged.filter((pair) => pair[1] !== null)));
          if (!to.success) throw invalid(`metadata: ${to.error.issues[0]?.message}.`);
          return { name, description, metadata: JSON.stringify(to.data) };
        });
      },
    }),
    endpoint.post(`${PATH}/{store}/archive`, 'write', {
      async handle(call) {
        const row = await storeOf(call);
        refuseForeign(row, 'archived');
        const at = call.deps.memories.clock.now().toISOString();
        return row.archived_at === null ? changed(call, row, async () => ({ archived_at: at })) : storeShape(row);
      },
    }),
    endpoint.delete(`${PATH}/{store}`, 'write', {
      async handle(call) {
        const row = await storeOf(call);
        refuseForeign(row, 'deleted');
        const at = call.deps.memories.clock.now().toISOString();
        await call.deps.memories.db.run(
          'update memory set deleted_at = ? where id = ? and deleted_at is null',
          at,
          row.id,
        );
        return { id: row.id, type: 'memory_store_deleted' };
      },
    }),
  ];
}

/** The memories that a caller sees, for a list of them. */
function storesFor(
  by: Asker,
  filters: Partial<z.output<typeof listQuery>> = {},
): Parameters<typeof newestPage<MemoryRow, unknown>>[1] {
  const { 'created_at[gte]': since, 'created_at[lte]': until } = filters;
  return {
    table: 'memory',
    conditions: [
      ['deleted_at is null'],
      filters.include_archived ? null : ['archived_at is null'],
      since === undefined ? null : ['created_at >= ?', since],
      until === undefined ? null : ['created_at <= ?', until],
    ],
    isSeen: (row) => isVisible(row, by),
  };
}

type Columns = Partial<Pick<MemoryRow, 'name' | 'description' | 'metadata' | 'archived_at'>>;

/** Changes a row from what it is by then. */
function changed({ deps }: Asker, { id }: MemoryRow, to: (row: MemoryRow) => Promise<Columns>) {
  const { db, clock } = deps.memories;
  const at = clock.now().toISOString();
  return db.write(async (sql) => {
    const row = await sql.get<MemoryRow>(`select * from memory where id = ?${db.lock.wait}`, id);
    const columns = { ...(await to(row as MemoryRow)), updated_at: at };
    const set = Object.keys(columns).map((column) => `${column} = ?`);
    await sql.run(`update memory set ${set.join(', ')} where id = ?`, ...Object.values(columns), id);
    return storeShape((await memoryRow(sql, id)) as MemoryRow);
  });
}

function refuseForeign({ scope }: MemoryRow, what: string): void {
  if (scope === 'store') return;
  throw forbidden(
    `A ${scope}'s memory is not ${what} over HTTP. On its machine, nocturne stores list names its directory, and nocturne pause keeps nocturne from it.`,
  );
}
