// An endpoint: its method and path, who may call it and what goes in, by one description from which requests are checked.
// Promises: what is not described is refused: unknown keys of a body and of the query (`beta` and `order_by` apart), bodies
// that are too large, no JSON or no UTF-8. `null` for what need not be given counts as not given.

import { isUtf8 } from 'node:buffer';
import type { HttpBindings } from '@hono/node-server';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import type { Config } from '../base/config/config.ts';
import { jsonProblem } from '../base/errors.ts';
import type { Log } from '../base/logger.ts';
import type { Memories } from '../memory/memories.ts';
import type { ApiKeys, Caller, Right } from './api-keys.ts';
import { ApiError, forbidden, invalid } from './api-shapes.ts';

export interface Env {
  /** Of a request that came over a socket. */
  Bindings: Partial<HttpBindings>;
  Variables: { requestId: string; caller: Caller; route: string };
}

/** What endpoints work with. */
export interface ServerDeps {
  config: Config;
  log: Log;
  memories: Memories;
  keys: ApiKeys;
  /** Memories of projects, too, to keys that name no memories. */
  withProjects: boolean;
  /** Who a person of this machine is to clients. */
  user: string;
  /** Of nocturne. */
  version: string;
  /** Ends where the server does. */
  closing: AbortSignal;
}

/** One request, checked. */
export interface Call<Body = unknown, Query = unknown> {
  deps: ServerDeps;
  caller: Caller;
  params: Record<string, string>;
  body: Body;
  query: Query;
  /** For answers and bodies of another kind. */
  context: Context<Env>;
}

export interface Endpoint<Body extends z.ZodType = z.ZodType, Query extends z.ZodObject = z.ZodObject> {
  method: 'get' | 'post' | 'patch' | 'delete';
  /** With `{id}` for what a caller names. */
  path: string;
  /** What the key must allow. */
  right: Right;
  /** Default: an empty body, or `{}`. Not read here where `raw`. */
  body?: Body;
  /** The body is the endpoint's own to read. */
  isRaw?: boolean;
  query?: Query;
  handle(call: Call<z.output<Body>, z.output<Query>>): Promise<object>;
}

/** A header of the request, as Node has read it: to make all of them into `Headers` costs more than what is done with them. */
export function headerOf({ env, req }: Context<Env>, name: string): string | undefined {
  const read = env?.incoming?.headers;
  return read ? read[name]?.toString() : req.header(name);
}

/** Makes endpoints; the body and the query of each have their types in its `handle`. */
const by =
  (method: Endpoint['method']) =>
  <Body extends z.ZodType = z.ZodType<unknown>, Query extends z.ZodObject = z.ZodObject>(
    path: string,
    right: Right,
    of: Omit<Endpoint<Body, Query>, 'method' | 'path' | 'right'>,
  ) =>
    ({ method, path, right, ...of }) as unknown as Endpoint;
export const endpoint = { get: by('get'), post: by('post'), patch: by('patch'), delete: by('delete') };

/** One for all: a schema is compiled when it is first used. */
const NOTHING = z.strictObject({});
const BODY_BYTES = 1024 * 1024;
/** Of every list and view: what a client may send and nobody needs. */
const IGNORED = ['beta', 'order_by'];

/** Adds endpoints to the app; any other method on one of their paths is answered 405. */
export function mount(app: Hono<Env>, endpoints: Endpoint[], deps: ServerDeps): void {
  for (const each of endpoints) {
    app.on(each.method.toUpperCase(), honoPath(each.path), async (context) => {
      context.set('route', each.path);
      return answered(context, await each.handle({ deps, context, ...(await check(each, context)) }));
    });
  }
  for (const [path, same] of Map.groupBy(endpoints, (each) => each.path)) {
    const allowed = same.map(({ method }) => method.toUpperCase()).join(', ');
    app.all(honoPath(path), (context) => {
      context.header('allow', allowed);
      throw new ApiError('invalid_request_error', `${context.req.method} is not allowed here; ${allowed} is.`, {
        status: 405,
      });
    });
  }
}

export type Asker = Pick<Call, 'deps' | 'caller'>;

function answered(context: Context<Env>, value: object): Response {
  return value instanceof Response ? value : context.json(value);
}

async function check(of: Endpoint, context: Context<Env>) {
  const caller = context.get('caller');
  refuseWithout(of.right, caller);
  const searchParams = new URLSearchParams(/\?(.*)/s.exec(context.req.url)?.[1]);
  const query = parse(of.query ?? NOTHING, queryOf(searchParams), 'query');
  const body = of.isRaw ? undefined : parse(of.body ?? NOTHING, await bodyOf(of, context), 'body');
  return { caller, params: context.req.param() as Record<string, string>, query: query as never, body };
}

export function refuseWithout(right: Right, { rights }: Caller): void {
  if (!rights.includes(right)) throw forbidden(`This key has no right to ${right}.`);
}

function queryOf(given: URLSearchParams): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  for (const name of new Set(given.keys())) {
    if (IGNORED.includes(name)) continue;
    const values = given.getAll(name);
    const isList = name.endsWith('[]');
    if (values.length > 1 && !isList) throw invalid(`${name}: it is given more than once.`);
    query[name] = isList ? values : (values[0] as string);
  }
  return query;
}

async function bodyOf(of: Endpoint, context: Context<Env>): Promise<unknown> {
  // A body that nobody reads costs a request nothing.
  if (of.method === 'get') return {};
  const bytes = await readBody(context);
  if (bytes.length === 0) return of.body ? undefined : {};
  if (!isUtf8(bytes)) throw invalid('The body is not UTF-8.');
  try {
    return JSON.parse(bytes.toString(), (_, value) => {
      if (typeof value === 'string' && !value.isWellFormed()) throw new SyntaxError('a string has half a character');
      return value;
    });
  } catch (error) {
    throw invalid(`The body is not JSON: ${jsonProblem(error)}.`);
  }
}

/** The body in whole. Throws 413 for one that is too large as soon as it is. */
export async function readBody(context: Context<Env>, most = BODY_BYTES): Promise<Buffer> {
  const { req } = context;
  const length = headerOf(context, 'content-length');
  if (Number(length ?? 0) > most) throw tooLarge(most);
  if (length !== undefined) return Buffer.from(await req.arrayBuffer());
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of req.raw.body ?? []) {
    size += piece.length;
    if (size > most) throw tooLarge(most);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function tooLarge(most: number): ApiError {
  return new ApiError('request_too_large', `The body is too large: at most ${most} bytes are allowed.`);
}

function parse(schema: z.ZodType, given: unknown, where: string): unknown {
  const parsed = schema.safeParse(given);
  if (parsed.success) return parsed.data;
  const said = parsed.error.issues.map(({ path, message, ...issue }) => {
    const at = path.length > 0 ? `${z.core.toDotPath(path)}: ` : '';
    // The words of an issue may quote what was given.
    if (issue.code === 'unrecognized_keys')
      return `${at}unknown ${where === 'query' ? 'parameter' : 'key'} ${issue.keys.map((key) => JSON.stringify(key.slice(0, 64))).join(', ')}`;
    return `${at}${message}`;
  });
  throw invalid(`${said.join('; ')}.`);
}

function honoPath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1');
}
