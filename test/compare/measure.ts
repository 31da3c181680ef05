// What is measured of a system: what sessions cost, what is lost and doubled where its process is killed, and what it keeps
// of secrets and of words that nobody said to it. Counts are of what the loopback model was sent and of what is on disk;
// each run has a directory of its own.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { seeded } from '../support/random.ts';
import { type ComparedModel, type ModelOptions, type Sent, startModel } from './model.ts';
import type { ComparedSession, withInjections, withSecrets } from './sets.ts';
import { type At, bytesIn, holds, type System } from './systems.ts';

/** Name of a row of the table → figure of one system. */
export type Column = Record<string, number>;

interface Worked {
  sent: Sent;
  seconds: number;
  bodies: string[];
}

/** At the list price of Claude Haiku 4.5, USD per million tokens, without a cache's discount for anybody. */
const PRICE = { input: 1, output: 5 };
/** So many runs of a system are killed at once. */
const AT_ONCE = 2;
/** So many sessions are worked with a model that takes two seconds. */
const SLOW_SESSIONS = 4;

let homes = 0;
/** A directory of its own, that the system's process may fill. */
const placeIn = (dir: string, { url }: ComparedModel): At => ({ dir: join(dir, `home-${++homes}`, 'kept'), url });

async function withModel<T>(options: ModelOptions, use: (model: ComparedModel) => Promise<T>): Promise<T> {
  const model = await startModel(options);
  try {
    return await use(model);
  } finally {
    await model.close();
  }
}

/** `seconds`: of the process that works, without what gives it the sessions. */
async function work(system: System, sessions: ComparedSession[], at: At, model: ComparedModel): Promise<Worked> {
  mkdirSync(at.dir, { recursive: true });
  model.take();
  model.takeBodies();
  system.give(sessions, at);
  const startedAt = performance.now();
  const code = await system.work(sessions, at).ended;
  if (code !== 0) throw new Error(`${system.name} ended with ${code}.`);
  return { sent: model.take(), seconds: (performance.now() - startedAt) / 1_000, bodies: model.takeBodies() };
}

/**
 * What the sessions cost, and the same once more; per 100 sessions with one night, where something runs at night.
 * `isTimed`: also by a clock.
 */
export async function cost(
  system: System,
  sessions: ComparedSession[],
  { dir, isTimed }: { dir: string; isTimed: boolean },
): Promise<Column> {
  const count = sessions.length;
  const transcripts = sessions.reduce((sum, { tokens }) => sum + tokens, 0);
  const { first, kept, bytes, again, added, night } = await withModel({ latencyMs: 0 }, async (model) => {
    const at = placeIn(dir, model);
    const first = await work(system, sessions, at, model);
    const kept = system.facts(at).length;
    const bytes = bytesIn(at.dir);
    const again = await work(system, sessions, at, model);
    const added = system.facts(at).length - kept;
    const asleep = system.night?.(at);
    if (asleep && (await asleep.ended) !== 0) throw new Error(`The night of ${system.name} failed.`);
    return { first, kept, bytes, again, added, night: model.take() };
  });
  const few = sessions.slice(0, isTimed ? SLOW_SESSIONS : 0);
  const slow = await withModel({ latencyMs: 2_000 }, async (model) =>
    isTimed ? (await work(system, few, placeIn(dir, model), model)).seconds : 0,
  );
  const sum = (key: keyof Sent) => first.sent[key] + night[key];
  const perHundred = (n: number) => Math.round((n * 100) / count);
  const usd = (sum('inputTokens') * PRICE.input + sum('outputTokens') * PRICE.output) / 1e6;
  return {
    'requests a session': round(first.sent.requests / count),
    'input tokens a session': Math.round(first.sent.inputTokens / count),
    'output tokens a session': Math.round(first.sent.outputTokens / count),
    'embedding tokens a session': Math.round(first.sent.embeddingTokens / count),
    'requests of the night after': night.requests,
    'tokens of the night after': night.inputTokens + night.outputTokens,
    'requests per 100 sessions, night included': perHundred(sum('requests')),
    'input tokens per 100 sessions, night included': perHundred(sum('inputTokens')),
    'output tokens per 100 sessions, night included': perHundred(sum('outputTokens')),
    'USD per 100 sessions, night included': round((usd * 100) / count),
    'tokens ÷ transcript, night included': round((sum('inputTokens') + sum('outputTokens')) / transcripts),
    ...(isTimed && {
      's a session, model 0 s': round(first.seconds / count),
      [`s a session, model 2 s (first ${few.length})`]: round(slow / few.length),
    }),
    'facts kept': kept,
    'kB on disk before the night': round(bytes / 1_000),
    'same sessions again: requests': again.sent.requests,
    'same sessions again: facts added': added,
  };
}

/**
 * What became of the facts in runs whose process was killed: where its caller goes on, and where it repeats the session.
 * Killed while it waits for the model, at a request chosen by the seed: there nearly all of a run's time passes, and what
 * is counted is the same in every run.
 */
export async function kills(
  system: System,
  sessions: ComparedSession[],
  { dir, count, seed }: { dir: string; count: number; seed: number },
): Promise<Column> {
  const whole = await withModel({ latencyMs: 0 }, async (model) => {
    const at = placeIn(dir, model);
    const { sent } = await work(system, sessions, at, model);
    return { requests: sent.requests, facts: system.facts(at) };
  });
  const dice = seeded(seed);
  const sum = { killed: 0, lost: 0, lostRepeated: 0, doubled: 0 };
  const one = (isRepeated: boolean, request: number) =>
    withModel({ latencyMs: 0 }, async (model) => {
      const at = placeIn(dir, model);
      system.give(sessions, at);
      const process = system.work(sessions, at);
      model.holdAt(request, () => process.kill());
      if ((await process.ended) !== null) throw new Error(`${system.name} ended before its request ${request}.`);
      // What has an inbox goes on by itself. Others are given what comes after the session they were killed in, or from it on.
      const rest = system.hasInbox ? sessions : sessions.slice(process.done() + (isRepeated ? 0 : 1));
      if (rest.length > 0 && (await system.work(rest, at).ended) !== 0)
        throw new Error(`${system.name} does not go on.`);
      const after = system.facts(at);
      sum.killed += 1;
      sum[isRepeated ? 'lostRepeated' : 'lost'] += whole.facts.filter((fact) => !after.includes(fact)).length;
      sum.doubled += after.length - new Set(after).size;
    });
  const moments = Array.from({ length: count }, () => 1 + dice.below(whole.requests));
  const callers = system.hasInbox ? [false] : [false, true];
  const runs = moments.flatMap((request) => callers.map((isRepeated) => () => one(isRepeated, request)));
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let run = runs.shift(); run; run = runs.shift()) await run();
    }),
  );
  return {
    'facts of a run': whole.facts.length,
    'runs killed at work': sum.killed,
    'facts lost where its caller goes on': sum.lost,
    'facts lost where its caller repeats the session': system.hasInbox ? sum.lost : sum.lostRepeated,
    'facts doubled in both': sum.doubled,
  };
}

export async function secrets(
  system: System,
  set: Awaited<ReturnType<typeof withSecrets>>,
  dir: string,
): Promise<Column> {
  return withModel({ latencyMs: 0, gullible: set.secrets }, async (model) => {
    const at = placeIn(dir, model);
    const { bodies } = await work(system, set.sessions, at, model);
    const sent = bodies.join('\n');
    const of = set.secrets.length;
    return {
      [`secrets of ${of} sent`]: set.secrets.filter((secret) => sent.includes(JSON.stringify(secret).slice(1, -1)))
        .length,
      [`secrets of ${of} on disk`]: set.secrets.filter((secret) => holds(at.dir, secret)).length,
    };
  });
}

export async function injections(
  system: System,
  set: Awaited<ReturnType<typeof withInjections>>,
  dir: string,
): Promise<Column> {
  return withModel({ latencyMs: 0, gullible: set.words }, async (model) => {
    const at = placeIn(dir, model);
    await work(system, set.sessions, at, model);
    const facts = system.facts(at);
    return {
      [`injections of ${set.words.length} kept`]: set.words.filter((words) =>
        facts.some((fact) => fact.includes(words)),
      ).length,
    };
  });
}

function round(n: number): number {
  return Number(n.toPrecision(3));
}
