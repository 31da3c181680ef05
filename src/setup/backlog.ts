// What was said before nocturne was there: the sessions that nobody read yet, what reading them would take, and learning them now.
// Nothing is read by a model before a person says so; what is declined at set-up is taken by name alone. What was found is left
// waiting in the inbox where learning ends early.

import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { offerPending } from '../../jobs/extract/pending-turns.ts';
import { OFFLINE_LIMITS, OFFLINE_MODEL } from '../agent/agent-types.ts';
import { programNamed, programOf } from '../agent/programs/programs.ts';
import type { Config } from '../base/config/config.ts';
import { costMicroUsd, priceOf } from '../base/config/prices.ts';
import { describeError, isAppError, sayOfFile } from '../base/errors.ts';
import { removeTree } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { DAY_MS, type Day, dayOf } from '../base/time.ts';
import { databasePath } from '../db/open-database.ts';
import { type EntryRow, entriesAmong } from '../memory/entries.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { declineBefore, declinedBefore } from '../memory/session-rows.ts';
import { type Look, looksOf } from '../queue/swept.ts';
import { type Asking, note, progress } from '../terminal/output.ts';
import { saySpeaker, sayTokens } from '../terminal/phrases.ts';
import { type FoundAgent, findSessions } from '../transcript/find-sessions.ts';
import type { Session } from '../transcript/session.ts';
import { type App, type At, openApp } from '../worker/compose.ts';
import { announceSession, openFound, sortFound, whyLeft } from '../worker/ingest.ts';
import { refusedOf } from '../worker/session-fate.ts';
import { placeOf } from '../worker/whose-memory.ts';
import { runWorker } from '../worker/worker.ts';

interface BacklogSession extends Pick<Look, 'environment'> {
  agent: FoundAgent;
  transcript: string;
  cwd?: string;
  /** When it changed last. */
  day: Day;
  /** What nobody read yet. */
  turns: number;
  /** Of transcript, estimated on the high side. */
  tokens: number;
  /** Requests to the model, where none has to be repeated. */
  requests: number;
}

export type Backlog = Awaited<ReturnType<typeof findBacklog>>;

/** Looks where nothing is there yet: what looking needs is kept aside, and removed. */
export async function lookBefore(config: Config): Promise<Backlog> {
  const isThere = config.databaseUrl !== undefined || statNow(databasePath(config.home)) !== null;
  const home = isThere ? config.home : join(tmpdir(), `nocturne-${randomUUID()}`);
  try {
    const app = await openApp({ ...config, home });
    return await lookForBacklog(app).finally(() => app.close());
  } finally {
    if (!isThere) await removeTree(home);
  }
}

/** Of a request: the prompt with the tool that it names, and what the model answers. */
const PROMPT_TOKENS = 5_000;
const ANSWER_TOKENS = 500;
/** Of a dream's request: entries and topics. */
const DREAM_TOKENS = 2_500;
const REQUEST_MS = { offline: 300, model: 12_000 };

/** The newest first; `since`: default `sweepDays` ago; `agents`: default all. */
async function findBacklog(app: App, only: { since?: Date; agents?: readonly FoundAgent[] } = {}) {
  const { agentDirs, clock, sweepDays: days, zone } = app.config;
  const problems: string[] = [];
  const onProblem = (path: string, error: unknown) => {
    if (!isAppError(error)) throw error;
    problems.push(sayOfFile(path, describeError(error)));
  };
  const since = only.since ?? new Date(clock.now().getTime() - days * DAY_MS);
  const found = findSessions(agentDirs, { since, agents: only.agents, onClosed: onProblem });
  const sessions: BacklogSession[] = [];
  const left = new Map<string, number>();
  const known = await looksOf(app.db, app.machine);
  for (const { agent, path, modifiedAt } of found) {
    try {
      const { environment } = known.get(path) ?? {};
      const session = await openFound(app, path, environment);
      const why = await whyNotRead(app, session);
      if (why) left.set(why, (left.get(why) ?? 0) + 1);
      const size = why === null && (await sizeOf(app, session));
      const of = { agent, transcript: path, environment, day: dayOf(new Date(modifiedAt), zone) };
      if (size) sessions.push({ ...of, cwd: session.cwd, ...size });
    } catch (error) {
      onProblem(path, error);
    }
  }
  return {
    sessions,
    /** How many are left alone, by the reason. */
    left: Object.fromEntries(left),
    /** They changed within so many days. */
    days,
    /** What could not be read. */
    problems,
  };
}

type UseConfig = Pick<Config, 'model' | 'prices' | 'concurrency'>;

/** About what a model takes for the sessions, and with `dreams` for the nights after them. */
function useOf(sessions: BacklogSession[], { model, prices, concurrency }: UseConfig, dreams = 0) {
  const sum = (of: 'requests' | 'tokens') => sessions.reduce((total, each) => total + each[of], 0);
  const requests = sum('requests') + dreams;
  const shown = sum('tokens') + dreams * DREAM_TOKENS;
  const isOffline = model === OFFLINE_MODEL;
  const [program, price] = [programOf(model), priceOf(model, prices)];
  // The prompt is read from the cache by all requests but the first.
  const [cached, answers] = [requests * PROMPT_TOKENS, requests * ANSWER_TOKENS];
  const used = { inputTokens: shown, cacheWriteTokens: shown, cachedInputTokens: cached, outputTokens: answers };
  const ownTokens = program ? requests * programNamed(program.name).usualTokens : 0;
  return {
    requests,
    /** Sent and received, cached or not. */
    tokens: isOffline ? 0 : shown + cached + answers + ownTokens,
    /** In millionths of a dollar: 0 offline, null for a model without a price. */
    microUsd: isOffline ? 0 : price ? costMicroUsd(used, price) : null,
    /** About how long it takes. */
    ms: (requests * (isOffline ? REQUEST_MS.offline : REQUEST_MS.model)) / (program ? 1 : concurrency),
  };
}

/** About what a day takes on which sessions ended, with the dream of each of their projects; null: there were none. */
export function usualDay(sessions: BacklogSession[], config: UseConfig) {
  const days = new Set(sessions.map(({ day }) => day)).size;
  if (days === 0) return null;
  const dreams = new Set(sessions.map(({ day, cwd }) => `${day} ${cwd}`)).size;
  const { requests, tokens, microUsd } = useOf(sessions, config, dreams);
  const each = (whole: number) => Math.ceil(whole / days);
  return { requests: each(requests), tokens: each(tokens), microUsd: microUsd === null ? null : each(microUsd) };
}

/** Also where nocturne is paused. */
async function whyNotRead(app: App, session: Session & At): Promise<string | null> {
  const left = await whyLeft(app, session);
  if (left) return left.why;
  const { enabled, reason } = await app.standing(session);
  return enabled ? null : reason;
}

/** What would be shown of a session, declined or not; null where there is nothing. */
async function sizeOf(app: App, session: Session & At) {
  const { config } = app;
  const memory = await app.findMemory(session);
  const sorted = await sortFound(app, session, { memory, ended: true, takeUp: ['declined'] });
  const { excerptTokens, zone } = config;
  let [tokens, requests] = [0, 0];
  for await (const { excerpt } of offerPending(sorted, { excerptTokens, zone })) {
    tokens += excerpt.tokens;
    requests += 1;
  }
  return requests === 0 ? null : { turns: sorted.pending.size + sorted.later, tokens, requests };
}

export type Learned = Awaited<ReturnType<typeof learnFound>>;

/** The sessions are read: the same model would not be asked again. */
function sayNothing({ turns, tokens, refused }: Learned, model: string): string[] {
  const proposed = `proposed ${sayCount(refused, 'thing')}, which ${refused === 1 ? 'was' : 'were'} refused`;
  const found = refused > 0 ? proposed : 'found nothing in them to keep';
  return [
    `They had ${sayCount(turns, 'turn')}, about ${sayTokens(tokens)}; ${model} ${found}.`,
    ...(model === OFFLINE_MODEL ? [OFFLINE_LIMITS] : []),
    'nocturne why SESSION says what was read; nocturne learn --again SESSION reads one again, with another model, too.',
  ];
}

/** Where there was nothing to learn: what was found, and why it was left alone. */
export function describeNothingNew({ left, days }: Pick<Backlog, 'left' | 'days'>, since?: string): string {
  const others = Object.entries(left).map(
    ([why, count]) => `${sayCount(count, 'session')} ${count === 1 ? 'is' : 'are'} left alone: ${why}`,
  );
  const what = others.length > 0 ? 'every other session' : 'every session';
  const [when, further] =
    since === undefined ? [` of the last ${sayCount(days, 'day')}`, '; --since looks further back'] : ['', ''];
  return [`Nothing new: ${what}${when} that was found was read${further}.`, ...others].join('\n');
}

const MOST_SHOWN = 20;
const STOPPED =
  'Stopped. What is learned stays; the rest waits, and the next session or nocturne worker --once goes on with it.';

/** Learns them now, some at a time; what ends it early leaves the rest waiting in the inbox. */
export async function learnFound(app: App, { sessions }: Pick<Backlog, 'sessions'>) {
  const count = sayCount(sessions.length, 'session');
  const learning = progress(`learning ${count}`, STOPPED);
  const asked = new Map<string, BacklogSession & { memory: MemoryRow; reason?: string }>();
  let done = 0;
  try {
    for (const each of sessions) {
      const { transcript, environment } = each;
      const of = { session: await openFound(app, transcript, environment), environment };
      const takeUp = ['declined', 'undone'] as const;
      const { memory, key } = await announceSession(app, { ...of, ended: true, isDueNow: true, takeUp });
      asked.set(key, { ...each, memory, reason: 'it was not reached' });
    }
    await runWorker(app, {
      ends: 'idle',
      signal: new AbortController().signal,
      onError: note,
      onResult({ kind, key, reason }) {
        const each = kind === 'extract' && asked.get(key);
        if (!each) return;
        each.reason = reason ?? undefined;
        done += 1;
        learning.say(`${done} of ${count} learned`);
      },
    });
  } finally {
    learning.stop();
  }
  const memories: { memory: string; cwd?: string; entries: EntryRow[] }[] = [];
  for (const [id, of] of Map.groupBy(asked, ([, { memory }]) => memory.id)) {
    const entries = await entriesAmong(app.db, id, { column: 'session', of: of.map(([key]) => key) });
    const standing = entries.filter(({ state }) => state !== 'gone').sort((a, b) => (a.at < b.at ? -1 : 1));
    const [[, first] = []] = of;
    if (first && standing.length > 0)
      memories.push({ memory: placeOf(first.memory), cwd: first.cwd, entries: standing });
  }
  const all = [...asked.values()];
  const read = all.filter(({ reason }) => reason === undefined);
  const sum = (of: 'turns' | 'tokens') => read.reduce((total, each) => total + each[of], 0);
  return {
    /** Sessions that are done, and what these held. */
    ...{ done: read.length, turns: sum('turns'), tokens: sum('tokens') },
    /** What could not be learned now, each with its reason. */
    waiting: all.flatMap(({ transcript, reason }) => (reason === undefined ? [] : [{ transcript, reason }])),
    /** How much of what a model proposed was refused. */
    refused: (await refusedOf(app.db, [...asked.keys()])).length,
    memories,
  };
}

interface Offer extends Asking {
  /** The model can be asked. */
  canLearn: boolean;
  /** What was found before; default: it is looked for. */
  backlog?: Backlog;
}

/** Answers what it found and what was learned of it, for programs. `learn`: nobody is asked. */
export async function offerBacklog(app: App, offer: Offer & { learn?: boolean }) {
  const { db, config } = app;
  const isFirst = (await declinedBefore(db)) === undefined && !(await db.get('select 1 from memory'));
  const now = config.clock.now();
  const backlog = offer.backlog ?? (await lookForBacklog(app));
  // Before anything may be taken: what is learned now is asked for by name.
  if (isFirst) await declineBefore(db, now);
  const { sessions, days } = backlog;
  const use = useOf(sessions, config);
  const found = { backlog: { days, ...use, sessions: sessions.length } };
  if (sessions.length === 0 || !(await isAccepted({ ...backlog, ...use, model: config.model }, offer))) return found;
  offer.questions?.close();
  const learned = await learnFound(app, backlog);
  offer.say(describeLearned(learned, config));
  return {
    ...found,
    learned: { ...learned, memories: learned.memories.map(({ memory, entries }) => ({ memory, entries })) },
  };
}

/** With a word while it looks, and what could not be read told. */
export async function lookForBacklog(app: App, only?: Parameters<typeof findBacklog>[1]): Promise<Backlog> {
  const bar = progress('looking for sessions');
  const backlog = await findBacklog(app, only).finally(() => bar.stop());
  for (const problem of backlog.problems) note(problem);
  return backlog;
}

async function isAccepted(
  backlog: Backlog & ReturnType<typeof useOf> & { model: string },
  { questions, say, canLearn, learn }: Offer & { learn?: boolean },
): Promise<boolean> {
  const what = `${sayCount(backlog.sessions.length, 'session')} of the last ${sayCount(backlog.days, 'day')}`;
  const price = `${what}, ${sayUse(backlog)}, ${sayTime(backlog.ms)}`;
  if (!canLearn) {
    say(`${what} could be learned: nocturne setup --learn does it once the model can be asked.`);
    return false;
  }
  if (learn) {
    say(`${price}.`);
    return true;
  }
  if (await questions?.confirm(`${price}: learn them now?`)) return true;
  say(`${price}: left alone. nocturne learn takes them, nocturne learn FILE one.`);
  return false;
}

type Use = Pick<ReturnType<typeof useOf>, 'requests' | 'tokens' | 'microUsd'>;

/** What it takes of money, or of a program's login. */
function sayUse({ model, microUsd, ...use }: Use & { model: string }): string {
  const size = saySize(use);
  if (programOf(model)) return size;
  if (microUsd === null) return 'no price known';
  if (microUsd === 0) return 'free';
  return microUsd < 10_000 ? 'less than $0.01' : `about $${(microUsd / 1_000_000).toFixed(2)}`;
}

export function saySize({ requests, tokens }: Pick<Use, 'requests' | 'tokens'>): string {
  return `about ${sayTokens(Number(tokens.toPrecision(2)))} in ${sayCount(requests, 'request')}`;
}

function sayTime(ms: number): string {
  if (ms < 60_000) return 'less than a minute';
  return `about ${sayCount(Math.round(ms / 60_000), 'minute')}`;
}

/** What was learned, by project, each fact with its quote; where nothing was, why, and what to do. */
export function describeLearned(learned: Learned, { model }: Pick<Config, 'model'>): string {
  const { done, waiting, memories } = learned;
  const entries = memories.flatMap((each) => each.entries);
  const lines = [`Learned ${sayCount(entries.length, 'thing')} from ${sayCount(done, 'session')}.`];
  if (entries.length === 0 && done > 0) lines.push(...sayNothing(learned, model));
  let left = MOST_SHOWN;
  for (const { memory, cwd, entries: of } of memories) {
    if (left === 0) break;
    lines.push('', cwd ? basename(cwd) : memory);
    for (const { text, evidence, by } of of.slice(0, left)) {
      lines.push(`  - ${text}`, `    ${saySpeaker(by)}: “${evidence[0]?.quote ?? ''}”`);
    }
    left -= Math.min(left, of.length);
  }
  const more = entries.length - MOST_SHOWN;
  if (more > 0) lines.push('', `… and ${more} more: nocturne list --sessions --all shows them.`);
  if (entries.length > 0)
    lines.push('', 'The next session of each project is told; the nightly dream sorts them into topics.');
  for (const [reason, of] of Map.groupBy(waiting, (each) => each.reason)) {
    lines.push('', `${sayCount(of.length, 'session')} not learned yet: ${reason}`);
  }
  return lines.join('\n');
}
