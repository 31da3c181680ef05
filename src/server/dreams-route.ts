// Dreams as clients see them: asked for, read, listed, canceled, archived. What a dream does is jobs/client-dream.ts's.
// Promises: after the answer to a cancel nothing more is committed for the dream, and nothing of it stands.

import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import {
  askDream,
  type ClientDream,
  cancelDream,
  clientDream,
  type DreamFailure,
  type DreamJob,
  endLate,
} from '../../jobs/client-dream.ts';
import { needsKey } from '../agent/agent-types.ts';
import { priceOf } from '../base/config/prices.ts';
import { marks } from '../db/sql.ts';
import { type MemoryRow, memoryRow } from '../memory/memories.ts';
import { isSent } from '../memory/session-rows.ts';
import {
  ApiError,
  forbidden,
  instantSchema,
  invalid,
  missing,
  optional,
  pageQuery,
  switchSchema,
} from './api-shapes.ts';
import { type Asker, type Call, type Endpoint, endpoint } from './endpoint.ts';
import { isTeams, isVisible, newestPage, sessionsSeen } from './visible.ts';

const PATH = '/v1/dreams';
const STATUSES = ['pending', 'running', 'completed', 'failed', 'canceled'] as const;
const FAILURES: DreamFailure[] = ['timeout', 'input_memory_store_unavailable', 'input_session_unavailable'];

const storeInput = z.strictObject({ type: z.literal('memory_store'), memory_store_id: z.string().min(1) });
const sessionsInput = z.strictObject({
  type: z.literal('sessions'),
  session_ids: z
    .array(z.string().min(1))
    .min(1)
    .max(100)
    .refine((ids) => new Set(ids).size === ids.length, 'an id is given twice'),
});
const inputs = z
  .array(z.discriminatedUnion('type', [storeInput, sessionsInput]))
  .refine(
    (all) => all.length === 2 && new Set(all.map(({ type }) => type)).size === 2,
    'exactly one memory_store and one sessions are needed',
  );
const modelId = z.string().min(1).max(256);
const outputBehavior = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('create_new') }),
  z.strictObject({ type: z.literal('update_existing'), memory_store_id: z.string().min(1) }),
]);
const askedBody = z.strictObject({
  inputs,
  model: z.union([modelId, z.strictObject({ id: modelId, speed: z.enum(['standard', 'fast']).nullish() })]),
  instructions: optional(z.string().min(1).max(4_096)),
  output_behavior: optional(outputBehavior),
});

const listQuery = z.strictObject({
  ...pageQuery,
  'statuses[]': z.array(z.enum(STATUSES)).optional(),
  statuses: z.enum(STATUSES).optional(),
  'created_at[gt]': instantSchema.optional(),
  'created_at[lt]': instantSchema.optional(),
  include_archived: switchSchema.default(false),
});

export function dreamRoutes(): Endpoint[] {
  return [
    endpoint.post(PATH, 'dream', {
      body: askedBody,
      handle: async (call) => create(call, call.body),
    }),
    endpoint.get(PATH, 'dream', {
      query: listQuery,
      async handle(call) {
        const { limit, page, ...filters } = call.query;
        await endLateOnes(call);
        return newestPage(call.deps.memories.db, dreamsFor(call, filters), {
          ...{ limit, page, shape: dreamShape },
          of: ['dreams', call.caller.id, filters],
        });
      },
    }),
    endpoint.get(`${PATH}/{dream}`, 'dream', {
      async handle(call) {
        await endLateOnes(call);
        return dreamShape(await dreamOf(call));
      },
    }),
    endpoint.post(`${PATH}/{dream}/cancel`, 'dream', {
      async handle(call) {
        const { id } = await dreamOf(call);
        await cancel(id, call);
        const row = await dreamOf(call);
        if (row.status === 'canceled') return dreamShape(row);
        throw invalid(`This dream is ${row.status}: it cannot be canceled any more.`);
      },
    }),
    endpoint.post(`${PATH}/{dream}/archive`, 'dream', {
      async handle(call) {
        const row = await dreamOf(call);
        if (row.ended_at === null) throw invalid(`This dream is ${row.status}: cancel it before.`);
        const { db, clock } = call.deps.memories;
        const archive = 'update job set archived_at = coalesce(archived_at, ?) where id = ?';
        await db.run(archive, clock.now().toISOString(), row.id);
        return dreamShape(await dreamOf(call));
      },
    }),
  ];
}

async function create(call: Asker, asked: z.output<typeof askedBody>) {
  const { deps, caller } = call;
  const { db, clock } = deps.memories;
  const model = typeof asked.model === 'string' ? { id: asked.model } : asked.model;
  refuseModel(model, deps);
  const input = asked.inputs.flatMap((each) => (each.type === 'memory_store' ? [each.memory_store_id] : []))[0] ?? '';
  const ids = asked.inputs.flatMap((each) => (each.type === 'sessions' ? each.session_ids : [])).toSorted();
  const behavior = asked.output_behavior;
  const row = await memoryRow(db, input);
  const store = row && isVisible(row, call) ? row : undefined;
  if (behavior?.type === 'update_existing') {
    if (behavior.memory_store_id !== input)
      throw invalid('output_behavior: it must name the memory store of the inputs.');
    if (!caller.rights.includes('write')) throw forbidden('This key has no right to write.');
    if (store && isTeams(store)) throw forbidden("A team's memory is changed in its repository alone: nocturne dream.");
  }
  const sessions = await Promise.all(ids.map(async (id) => ({ id, row: await sessionSeen(id, input, call) })));
  const absent = sessions.find((each) => each.row === null);
  const failed =
    !store || store.archived_at !== null
      ? { how: 'input_memory_store_unavailable' as const, why: `There is no memory store ${input} to be read.` }
      : absent
        ? { how: 'input_session_unavailable' as const, why: `There is no session ${absent.id} to be read.` }
        : undefined;
  const request: ClientDream = {
    ...{ input, updates: behavior?.type === 'update_existing', sessions, model: model.id },
    speed: model.speed === 'standard' ? 'standard' : null,
    instructions: asked.instructions ?? null,
  };
  const made = await askDream(db, { ...request, key: caller.id, tenant: caller.tenant, failed }, clock.now());
  if ('heldBy' in made)
    throw new ApiError(
      'conflict_error',
      `The dream ${made.heldBy} writes to this memory store; it has not stopped yet.`,
    );
  const job = (await clientDream(db, made.id)) as DreamJob;
  return dreamShape({ ...job, status: 'pending', error: null, ended_at: null });
}

/** The row of a session that the caller may read, one that was sent before others; null: it sees none. */
async function sessionSeen(id: string, input: string, call: Asker): Promise<string | null> {
  const seen = (await sessionsSeen(id, call)).map(({ row }) => row);
  const [first] = seen.toSorted(
    (a, b) => Number(isSent(b)) - Number(isSent(a)) || Number(b.memory === input) - Number(a.memory === input),
  );
  return first?.id ?? null;
}

/** What a worker needs to see that a dream is over, and to stop, is less. */
const TAKEN_BACK_WITHIN_MS = 8_000;
const BETWEEN_LOOKS_MS = 50;

async function cancel(id: string, { deps }: Asker): Promise<void> {
  const { memories } = deps;
  const began = performance.now();
  while (!(await cancelDream(id, memories))) {
    if (performance.now() - began > TAKEN_BACK_WITHIN_MS) {
      const message = 'The dream is canceled; what it changed is taken back as soon as its worker stops.';
      throw new ApiError('overloaded_error', message, { retryAfterSeconds: 1 });
    }
    await pause(BETWEEN_LOOKS_MS);
  }
}

function refuseModel({ id, speed }: { id: string; speed?: string | null }, { config }: Call['deps']): void {
  if (speed === 'fast') throw invalid('model: its speed can only be standard.');
  if (id !== config.model) throw invalid(`model: it is not ${config.model}, the configured one.`);
  const isCounted = !needsKey(id) || config.dayMoneyUsd === undefined || priceOf(id, config.prices);
  if (isCounted) return;
  throw invalid(`model: ${id} has no price, and what a day may cost is limited.`);
}

function endLateOnes({ deps: { memories, config } }: Asker): Promise<void> {
  return endLate(memories.db, config.dreamHours, memories.clock.now());
}

async function isSeen({ actor, request }: DreamJob, by: Asker): Promise<boolean> {
  if (actor === by.caller.id) return true;
  if (by.caller.memories !== 'all') return false;
  const input: MemoryRow | undefined = await memoryRow(by.deps.memories.db, JSON.parse(request).input);
  return input !== undefined && isVisible(input, by);
}

async function dreamOf(call: Call): Promise<DreamJob> {
  const row = await clientDream(call.deps.memories.db, call.params.dream as string);
  if (row && (await isSeen(row, call))) return row;
  throw missing('dream');
}

function dreamsFor(
  by: Asker,
  filters: Omit<z.output<typeof listQuery>, 'limit' | 'page'>,
): Parameters<typeof newestPage<DreamJob, unknown>>[1] {
  const statuses = [...(filters['statuses[]'] ?? []), ...(filters.statuses ? [filters.statuses] : [])];
  const { 'created_at[gt]': since, 'created_at[lt]': until } = filters;
  return {
    table: 'job',
    conditions: [
      ["kind = 'dream' and id like 'drm%'"],
      statuses.length === 0 ? null : [`status in (${marks(statuses)})`, ...statuses],
      since === undefined ? null : ['created_at > ?', since],
      until === undefined ? null : ['created_at < ?', until],
      filters.include_archived ? null : ['archived_at is null'],
    ],
    isSeen: (row) => isSeen(row, by),
  };
}

function dreamShape(row: DreamJob) {
  const { input, updates, sessions, model, speed, instructions }: ClientDream = JSON.parse(row.request);
  const used = {
    inputTokens: 0,
    outputTokens: 0,
    cacheWriteTokens: 0,
    cachedInputTokens: 0,
    ...JSON.parse(row.usage ?? '{}'),
  };
  const began = row.started_at !== null;
  const type = FAILURES.find((each) => each === row.outcome) ?? 'internal_error';
  return {
    id: row.id,
    type: 'dream',
    status: row.status,
    inputs: [
      { type: 'memory_store', memory_store_id: input },
      { type: 'sessions', session_ids: sessions.map(({ id }) => id) },
    ],
    outputs: began && row.memory !== null ? [{ type: 'memory_store', memory_store_id: row.memory }] : [],
    model: { id: model, ...(speed && { speed }) },
    instructions,
    output_behavior: updates ? { type: 'update_existing', memory_store_id: input } : { type: 'create_new' },
    session_id: began ? row.id.replace('drm_', 'sesn_') : null,
    created_at: row.created_at,
    ended_at: row.ended_at,
    archived_at: row.archived_at,
    usage: {
      input_tokens: used.inputTokens - used.cacheWriteTokens,
      output_tokens: used.outputTokens,
      cache_creation_input_tokens: used.cacheWriteTokens,
      cache_read_input_tokens: used.cachedInputTokens,
    },
    error: row.status === 'failed' ? { type, message: row.error ?? '' } : null,
  };
}
