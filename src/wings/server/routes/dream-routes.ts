// Dreams as clients see them: asked for, read, listed, canceled, archived. What a dream does is the worker's
// (clients/client-work.ts). Promises: after the answer to a cancel nothing more is committed for the dream.

import { setTimeout as pause } from 'node:timers/promises';
import { z } from '@hono/zod-openapi';
import { needsKey } from '../../../agent/types.ts';
import { priceOf } from '../../../base/config/prices.ts';
import {
  type DreamError,
  type DreamRow,
  type DreamSession,
  STATUSES,
  sessionOfDream,
} from '../../../doors/clients/dreams.ts';
import { ApiError } from '../api-errors.ts';
import { type Asker, type Call, type Endpoint, endpointsWith, seenBy, visibleStore } from '../endpoint.ts';
import { instantSchema, optional, pageOf, pageQuery, pageSchema, switchSchema } from '../shapes.ts';
import { seenSession } from './session-routes.ts';

const PATH = '/v1/dreams';
const endpoint = endpointsWith({ tag: 'Dreams', right: 'dream' });

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

const dreamSchema = z
  .object({
    id: z.string(),
    type: z.literal('dream'),
    status: z.enum(STATUSES),
    inputs,
    outputs: z.array(storeInput),
    model: z.object({ id: z.string(), speed: z.literal('standard').optional() }),
    instructions: z.string().nullable(),
    output_behavior: outputBehavior,
    session_id: z.string().nullable(),
    created_at: z.string(),
    ended_at: z.string().nullable(),
    archived_at: z.string().nullable(),
    usage: z.object({
      input_tokens: z.int(),
      output_tokens: z.int(),
      cache_creation_input_tokens: z.int(),
      cache_read_input_tokens: z.int(),
    }),
    error: z.object({ type: z.string(), message: z.string() }).nullable(),
  })
  .openapi('Dream');

export function dreamRoutes(): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: PATH,
      about: 'Ask for a dream',
      body: z.strictObject({
        inputs,
        model: z.union([modelId, z.strictObject({ id: modelId, speed: z.enum(['standard', 'fast']).nullish() })]),
        instructions: optional(z.string().min(1).max(4_096)),
        output_behavior: optional(outputBehavior),
      }),
      answer: dreamSchema,
      handle: async (call) => create(call, call.body),
    }),
    endpoint({
      method: 'get',
      path: PATH,
      about: 'List dreams, newest first',
      query: z.strictObject({
        ...pageQuery,
        'statuses[]': z.array(z.enum(STATUSES)).optional(),
        statuses: z.enum(STATUSES).optional(),
        'created_at[gt]': instantSchema.optional(),
        'created_at[lt]': instantSchema.optional(),
        include_archived: switchSchema.default(false),
      }),
      answer: pageSchema(dreamSchema),
      async handle(call) {
        const { deps, caller, query } = call;
        const { limit: _, page: __, ...filters } = query;
        const statuses = [...(filters['statuses[]'] ?? []), ...(filters.statuses ? [filters.statuses] : [])];
        await deps.dreams.endLate(deps.config.dreamHours);
        return pageOf(deps.cursors, {
          query,
          of: ['dreams', caller.id, filters],
          list: (from) =>
            deps.dreams.list({
              isSeen: (row) => isSeen(row, call),
              ...(statuses.length > 0 && { statuses }),
              since: filters['created_at[gt]'],
              until: filters['created_at[lt]'],
              withArchived: filters.include_archived,
              ...from,
            }),
          shape: dreamShape,
        });
      },
    }),
    endpoint({
      method: 'get',
      path: `${PATH}/{dream}`,
      about: 'Read a dream',
      answer: dreamSchema,
      async handle(call) {
        await call.deps.dreams.endLate(call.deps.config.dreamHours);
        return dreamShape(await dreamOf(call));
      },
    }),
    endpoint({
      method: 'post',
      path: `${PATH}/{dream}/cancel`,
      about: 'Stop a dream',
      answer: dreamSchema,
      async handle(call) {
        const { deps } = call;
        await deps.dreams.cancel((await dreamOf(call)).id);
        const row = await dreamOf(call);
        if (row.status !== 'canceled') {
          throw new ApiError('invalid_request_error', `This dream is ${row.status}: it cannot be canceled any more.`);
        }
        // What is being committed just now is waited for; whoever commits after that finds the dream over.
        const output = row.output === null || row.closedAt !== null ? null : await deps.stores.find(row.output);
        if (output) await takeBack(row.id, output.dir, deps);
        return dreamShape(row);
      },
    }),
    endpoint({
      method: 'post',
      path: `${PATH}/{dream}/archive`,
      about: 'Take a dream that is over out of the list',
      answer: dreamSchema,
      async handle(call) {
        const row = await dreamOf(call);
        if (row.endedAt === null) {
          throw new ApiError('invalid_request_error', `This dream is ${row.status}: cancel it before.`);
        }
        await call.deps.dreams.archive(row.id);
        return dreamShape(await dreamOf(call));
      },
    }),
  ];
}

interface Asked {
  inputs: z.output<typeof inputs>;
  model: string | { id: string; speed?: 'standard' | 'fast' | null };
  instructions?: string;
  output_behavior?: z.output<typeof outputBehavior>;
}

async function create(call: Asker, asked: Asked) {
  const { deps, caller } = call;
  const model = typeof asked.model === 'string' ? { id: asked.model } : asked.model;
  refuseModel(model, deps);
  const input = asked.inputs.flatMap((each) => (each.type === 'memory_store' ? [each.memory_store_id] : []))[0] ?? '';
  const ids = asked.inputs.flatMap((each) => (each.type === 'sessions' ? each.session_ids : [])).toSorted();
  const behavior = asked.output_behavior;
  const updates = behavior?.type === 'update_existing';
  const store = await visibleStore(input, call);
  if (behavior?.type === 'update_existing') {
    if (behavior.memory_store_id !== input) {
      throw new ApiError('invalid_request_error', 'output_behavior: it must name the memory store of the inputs.');
    }
    if (!caller.rights.includes('write')) throw new ApiError('permission_error', 'This key has no right to write.');
    if (store?.kind === 'team') {
      throw new ApiError('permission_error', "A team's memory is changed in its repository alone: nocturne dream.");
    }
  }
  const sessions = await sessionsOf(ids, input, call);
  const row = await deps.dreams.create({
    owner: caller.id,
    input,
    // A store that the caller does not see is no target.
    target: updates && store ? input : null,
    updates,
    sessions: ids.map((id) => sessions.get(id) ?? { id, store: '' }),
    model: model.id,
    speed: model.speed === 'standard' ? 'standard' : null,
    instructions: asked.instructions ?? null,
  });
  if ('heldBy' in row) {
    throw new ApiError(
      'conflict_error',
      `The dream ${row.heldBy} writes to this memory store; it has not stopped yet.`,
    );
  }
  const shape = dreamShape(row);
  const missing = ids.find((id) => !sessions.has(id));
  const error: DreamError | null =
    !store || store.archivedAt !== null
      ? { type: 'input_memory_store_unavailable', message: `There is no memory store ${input} to be read.` }
      : missing === undefined
        ? null
        : { type: 'input_session_unavailable', message: `There is no session ${missing} to be read.` };
  if (error) await deps.dreams.failAtOnce(row.id, error);
  return shape;
}

/** Those of these sessions that the caller may read, by id: sent to a store, or of this disk, its project's. */
async function sessionsOf(ids: string[], input: string, call: Asker): Promise<Map<string, DreamSession>> {
  const { deps } = call;
  const found = new Map<string, DreamSession>();
  for (const id of ids) {
    const sent = await seenSession(id, call);
    if (sent) found.set(id, { id, store: sent.store });
  }
  const seen = await deps.stores.list({ seenBy: seenBy(call), withArchived: true });
  const projects = seen.filter(({ kind }) => kind === 'project');
  for (const { id: store, dir } of projects.toSorted((a, b) => Number(b.id === input) - Number(a.id === input))) {
    const rest = ids.filter((id) => !found.has(id));
    if (rest.length === 0) break;
    for (const { named, local } of await deps.threads.run(dir, 'findSessions', { ids: rest })) {
      found.set(named, { id: named, store, local });
    }
  }
  return found;
}

/** What a worker needs to see that a dream is over, and to stop, is less. */
const TAKEN_BACK_WITHIN_MS = 8_000;
const BETWEEN_LOOKS_MS = 50;

/** Throws where a worker does not stop: it takes back itself, once it does. */
async function takeBack(id: string, dir: string, { threads }: Call['deps']): Promise<void> {
  const began = performance.now();
  while (!(await threads.run(dir, 'takeBackDream', { id }))) {
    if (performance.now() - began > TAKEN_BACK_WITHIN_MS) {
      const message = 'The dream is canceled; what it changed is taken back as soon as its worker stops.';
      throw new ApiError('overloaded_error', message, { retryAfterSeconds: 1 });
    }
    await pause(BETWEEN_LOOKS_MS);
  }
}

function refuseModel({ id, speed }: { id: string; speed?: string | null }, { config }: Call['deps']): void {
  if (speed === 'fast') throw new ApiError('invalid_request_error', 'model: its speed can only be standard.');
  const models = config.serverModels ?? [config.model];
  if (!models.includes(id)) {
    throw new ApiError('invalid_request_error', `model: it is none of ${models.join(', ')}.`);
  }
  const isCounted = !needsKey(id) || config.dayMoneyUsd === undefined || priceOf(id, config.prices);
  if (!isCounted) {
    const message = `model: ${id} has no price, and what a day may cost is limited.`;
    throw new ApiError('invalid_request_error', message);
  }
}

async function isSeen({ owner, input }: DreamRow, by: Asker): Promise<boolean> {
  if (owner === by.caller.id) return true;
  return by.caller.stores === 'all' && (await visibleStore(input, by)) !== null;
}

async function dreamOf(call: Pick<Call, 'deps' | 'caller' | 'params'>): Promise<DreamRow> {
  const row = await call.deps.dreams.find(call.params.dream as string);
  if (row && (await isSeen(row, call))) return row;
  throw new ApiError('not_found_error', 'There is no such dream.');
}

function dreamShape(row: DreamRow): z.infer<typeof dreamSchema> {
  const { id, status, input, output, sessions, model, speed, instructions, usage, error } = row;
  return {
    id,
    type: 'dream',
    status,
    inputs: [
      { type: 'memory_store', memory_store_id: input },
      { type: 'sessions', session_ids: sessions.map((each) => each.id) },
    ],
    outputs: row.beganAt !== null && output !== null ? [{ type: 'memory_store', memory_store_id: output }] : [],
    model: { id: model, ...(speed && { speed }) },
    instructions,
    output_behavior: row.updates ? { type: 'update_existing', memory_store_id: input } : { type: 'create_new' },
    session_id: row.beganAt !== null ? sessionOfDream(id) : null,
    created_at: row.createdAt,
    ended_at: row.endedAt,
    archived_at: row.archivedAt,
    usage: {
      input_tokens: usage.input,
      output_tokens: usage.output,
      cache_creation_input_tokens: usage.cacheCreation,
      cache_read_input_tokens: usage.cacheRead,
    },
    error,
  };
}
