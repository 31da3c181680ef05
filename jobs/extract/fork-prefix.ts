// Whether a session is extracted by continuing the request that its transcript holds, so that the agent's own prompt
// cache is read; and what is said of its messages then. What stands in that request was sent to the provider before: it
// goes out again as it is. Where it may not, the excerpt is shown instead, and why is said.

import { OFFLINE_MODEL } from '../../src/agent/types.ts';
import { redact } from '../../src/base/text/redact.ts';
import type { Excerpt } from '../../src/transcript/excerpt/excerpt.ts';
import { listMessages } from '../../src/transcript/excerpt/message-list.ts';
import type { Session } from '../../src/transcript/session.ts';
import type { SortedTurns } from './pending-turns.ts';
import { readShown } from './shown-turns.ts';

export type Fork = 'excerpt' | 'prefix';

/** The request to be continued and which of its messages are offered; or why it is not continued. */
export type Continuation =
  | { request: NonNullable<Session['request']>; pending: Excerpt }
  | { request: null; why: string };

export async function continuationOf(
  {
    session,
    sorted,
  }: {
    session: Pick<Session, 'request' | 'path' | 'messages'>;
    sorted: Pick<SortedTurns, 'shown' | 'from' | 'states'>;
  },
  deps: { agent: { model: string }; excerptTokens: number; zone: string },
): Promise<Continuation> {
  const { request } = session;
  if (!request) return { request: null, why: 'the transcript holds no request' };
  if (deps.agent.model === OFFLINE_MODEL) return { request: null, why: 'the offline model reads excerpts only' };
  const obstacle = obstacleIn(request);
  if (obstacle) return { request: null, why: obstacle };
  if ([...sorted.states.values()].includes('private')) return { request: null, why: PRIVATE };
  const shown = await Array.fromAsync(readShown({ session, sorted }));
  const pending = await listMessages(shown, { budgetTokens: deps.excerptTokens, redact, zone: deps.zone });
  return pending ? { request, pending } : { request: null, why: 'too many of its messages are pending' };
}

const PRIVATE = 'something in it is marked as private';

/** What the program that sent the request runs itself; all other kinds of tools run at the provider. */
const RUN_BY_CLIENT = /^(custom|(bash|text_editor|computer|memory)_\d+)$/;

function obstacleIn(request: Readonly<Record<string, unknown>>): string | undefined {
  const { model, tools, tool_choice: choice } = request;
  if (typeof model !== 'string') return 'the request names no model';
  if (/<private[\s>]/i.test(textOf(request))) return PRIVATE;
  if (/^(any|tool)$/.test(String(fieldOf(choice, 'type')))) return 'the request demands a call';
  if (request.output_format ?? fieldOf(request.output_config, 'format')) return 'the request demands a format';
  const kinds = (Array.isArray(tools) ? tools : []).map((tool) => fieldOf(tool, 'type') ?? 'custom');
  const isRunElsewhere = (kind: unknown) => !RUN_BY_CLIENT.test(String(kind));
  if (request.mcp_servers || request.container || kinds.some(isRunElsewhere)) {
    return 'the provider would run tools of the request';
  }
  // A ceiling stands before the bytes that are sent; how much such a file holds is not among them.
  if (hasSourceElsewhere(request)) return 'the request names files that are kept elsewhere';
  return undefined;
}

/** Whether an image or a document is named by its address or its id. */
function hasSourceElsewhere(value: unknown): boolean {
  let isFound = false;
  JSON.stringify(value, (key, item: unknown) => {
    if (key === 'source' && /^(url|file)$/.test(String(fieldOf(item, 'type')))) isFound = true;
    return item;
  });
  return isFound;
}

/** All strings of a value, one below the other. */
function textOf(value: unknown): string {
  const texts: string[] = [];
  JSON.stringify(value, (_, item: unknown) => {
    if (typeof item === 'string') texts.push(item);
    return item;
  });
  return texts.join('\n');
}

function fieldOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
