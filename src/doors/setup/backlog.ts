// What is on this disk from before: the sessions of the last days with turns that nobody extracted, about what learning
// them costs and how long it takes, and learning them. Looking makes nothing and asks no model. What is to be learned is
// put into the inboxes before it is worked, so that whatever ends it early, a later worker goes on.

import { join } from 'node:path';
import { inspect } from '../../../jobs/inspect.ts';
import { costMicroUsd, priceOf } from '../../base/config/prices.ts';
import { describeError, isAppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { renderPrompt } from '../../base/prompt.ts';
import { type EntryRow, entriesOfSession } from '../../memory/ledger/entries.ts';
import { findLedger } from '../../memory/ledger/ledger.ts';
import type { Store } from '../../memory/store/store.ts';
import { estimateTokens } from '../../transcript/excerpt/tokens.ts';
import { type FoundAgent, findSessions } from '../../transcript/find-sessions.ts';
import { openSession, type Session } from '../../transcript/session.ts';
import type { App } from '../compose.ts';
import { announceSession } from '../hook/announce.ts';
import { reasonToSkip } from '../hook/ingest.ts';
import { memoriesOf } from '../places.ts';
import { drainInboxes } from '../worker/worker.ts';

export interface BacklogSession {
  agent: FoundAgent;
  transcript: string;
  session: string;
  cwd?: string;
  /** Of transcript, estimated on the high side. */
  tokens: number;
  /** Requests to the model, where none has to be repeated. */
  requests: number;
}

export interface Backlog {
  sessions: BacklogSession[];
  /** They changed within so many days. */
  days: number;
  /** About what it costs, in millionths of a dollar: 0 offline, null for a model without a price. */
  microUsd: number | null;
  /** About how long it takes. */
  ms: number;
  /** What could not be read. */
  problems: string[];
}

const DAY_MS = 86_400_000;
/** Of a request: the tool that it names, and what the model answers. */
const TOOL_TOKENS = 1_000;
const ANSWER_TOKENS = 500;
const REQUEST_MS = { offline: 300, model: 12_000 };

export interface BacklogOptions {
  /** Default: `sweepDays` ago. */
  since?: Date;
  /** Default: all. */
  agents?: readonly FoundAgent[];
  onFound?(count: number): void;
  onLooked?(): void;
}

/** The newest first. `onFound` is called once with how many there are to look at, `onLooked` after each. */
export async function findBacklog(app: App, { onFound, onLooked, ...only }: BacklogOptions = {}): Promise<Backlog> {
  const { agentDirs, clock, sweepDays: days, model, prices, concurrency } = app.config;
  const problems: string[] = [];
  const onProblem = (path: string, error: unknown) => {
    if (!isAppError(error)) throw error;
    problems.push(`${path}: ${describeError(error)}`);
  };
  const since = only.since ?? new Date(clock.now().getTime() - days * DAY_MS);
  const found = findSessions(agentDirs, { since, agents: only.agents, onClosed: onProblem });
  onFound?.(found.length);
  const sessions: BacklogSession[] = [];
  for (const { agent, path } of found) {
    try {
      const session = await openSession(path, { isLive: true });
      const size = await sizeOf(app, session);
      if (size) sessions.push({ agent, transcript: path, session: session.id, cwd: session.cwd, ...size });
    } catch (error) {
      onProblem(path, error);
    }
    onLooked?.();
  }
  const requests = sessions.reduce((sum, each) => sum + each.requests, 0);
  const tokens = sessions.reduce((sum, each) => sum + each.tokens, 0);
  const isOffline = model === 'offline';
  const price = priceOf(model, prices);
  const prompt = estimateTokens((await renderPrompt('extract', {})).text) + TOOL_TOKENS;
  // The prompt is written to the cache once, and read from it by those that follow.
  const inputTokens = tokens + prompt;
  const used = {
    inputTokens,
    cacheWriteTokens: inputTokens,
    cachedInputTokens: Math.max(0, requests - 1) * prompt,
    outputTokens: requests * ANSWER_TOKENS,
  };
  return {
    sessions,
    days,
    microUsd: isOffline ? 0 : price ? costMicroUsd(used, price) : null,
    ms: (requests * (isOffline ? REQUEST_MS.offline : REQUEST_MS.model)) / concurrency,
    problems,
  };
}

/** What would be shown of a session; null where there is nothing, or it is to be left alone. */
async function sizeOf(app: App, session: Session): Promise<Pick<BacklogSession, 'tokens' | 'requests'> | null> {
  if ((await reasonToSkip(app, session)) || !app.standing({ cwd: session.cwd }).enabled) return null;
  const memoryDir = app.memoryDirOf(session);
  const ledger = isDirectory(join(memoryDir, '.nocturne')) ? findLedger(memoryDir) : null;
  try {
    const memories = memoriesOf(app.config, { cwd: session.cwd, memory: memoryDir });
    const deps = { ...app.config, memoryDir, memories, ledger, now: app.config.clock.now() };
    const { offered } = await inspect({ session, ended: true }, deps);
    return offered.excerpts.length === 0 ? null : { tokens: offered.tokens, requests: offered.excerpts.length };
  } finally {
    ledger?.close();
  }
}

export interface Learned {
  /** Sessions that are done. */
  done: number;
  /** What could not be learned now, each with its reason. */
  waiting: { transcript: string; reason: string }[];
  memories: { memory: string; cwd?: string; entries: EntryRow[] }[];
}

/** Learns them now, two at a time. `onDone` is called after each. An abort leaves the rest waiting in the inboxes. */
export async function learnBacklog(
  app: App,
  { sessions }: Pick<Backlog, 'sessions'>,
  { signal, onDone, onError }: { signal: AbortSignal; onDone(): void; onError(message: string): void },
): Promise<Learned> {
  const asked = new Map<string, { transcript: string; session: string; cwd?: string; store: Store; reason?: string }>();
  for (const { transcript, session, cwd } of sessions) {
    const news = { transcript, session, cwd: cwd ?? null, ended: true, isDueNow: true, takeDeclined: true };
    const { store, key } = await announceSession(app, news);
    asked.set(`${store.dir}\n${key}`, { transcript, session, cwd, store, reason: 'it was not reached' });
  }
  await drainInboxes(app, {
    signal,
    onError,
    onResult({ kind, key, reason }, store) {
      const each = kind === 'extract' && asked.get(`${store.dir}\n${key}`);
      if (!each) return;
      each.reason = reason ?? undefined;
      onDone();
    },
  });
  const all = [...asked.values()];
  const memories = [...Map.groupBy(all, ({ store }) => store)].map(([store, of]) => ({
    memory: store.dir,
    cwd: of[0]?.cwd,
    entries: of.flatMap(({ session }) => entriesOfSession(store.ledger, session)),
  }));
  return {
    done: all.filter(({ reason }) => reason === undefined).length,
    waiting: all.flatMap(({ transcript, reason }) => (reason === undefined ? [] : [{ transcript, reason }])),
    memories: memories.filter(({ entries }) => entries.length > 0),
  };
}
