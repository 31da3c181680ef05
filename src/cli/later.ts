// Work that is put into the inbox for a worker: sessions that are given, all that a sweep finds, what is to be learned again, a dream.

import { resolve } from 'node:path';
import type { LearnAgainRequest } from '../../jobs/extract.ts';
import { sayCount } from '../base/text/wording.ts';
import { DAY_MS } from '../base/time.ts';
import type { JobKind } from '../memory/job-rows.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { whyTurnedOff } from '../memory/places.ts';
import { sessionRow } from '../memory/session-rows.ts';
import { shortId, wholeId } from '../memory/short-ids.ts';
import type { Put } from '../queue/inbox.ts';
import { openWake } from '../queue/wake.ts';
import { queueNamespace } from '../queue/workers.ts';
import { note, print, progress } from '../terminal/output.ts';
import type { FoundAgent } from '../transcript/find-sessions.ts';
import { openSession } from '../transcript/session.ts';
import type { App } from '../worker/compose.ts';
import { announceSession } from '../worker/ingest.ts';
import type { SweepReport } from '../worker/sweep.ts';
import { placeOf } from '../worker/whose-memory.ts';
import { putWork } from '../worker/work-item.ts';

export const LATER_JSON = 'one line per piece of work: { memory, kind, key, isNotified }';

/** Which sessions are looked for, and what to keep of them. */
export interface Finding {
  since?: string;
  agent?: FoundAgent;
  instructions?: string;
  json?: boolean;
}

export function sinceOf(given: string, now: Date): Date {
  return given.endsWith('d') ? new Date(now.getTime() - Number.parseInt(given, 10) * DAY_MS) : new Date(given);
}

export async function learnLater(
  app: App,
  transcripts: string[],
  options: Finding & { live?: boolean; snapshot?: boolean },
): Promise<void> {
  if (transcripts.length === 0) return find(app, options);
  const { live, instructions, snapshot } = options;
  const waiting = await Array.fromAsync(transcripts, (transcript) =>
    enqueueExtract(app, { transcript, ended: !live, instructions, snapshot }),
  );
  await tell(app, waiting, options);
  for (const transcript of transcripts) await noteTurnedOff(app, transcript);
}

/** A worker leaves alone what a person may have read at once. */
async function noteTurnedOff(app: App, transcript: string): Promise<void> {
  const { cwd } = await openSession(transcript);
  const why = whyTurnedOff(await app.standing({ cwd }));
  if (why)
    note(
      `nocturne is off where this session ran (${why}), so a worker skips it. To read it: nocturne learn ${transcript}`,
    );
}

export async function dreamLater(app: App, { instructions, json }: Finding): Promise<void> {
  const memory = await app.memoryFor();
  await putAndTell(app, { kind: 'dream', key: memory.id, memory, payload: { instructions, isNightly: false } }, json);
}

export async function againLater(app: App, requests: LearnAgainRequest[], options: Finding): Promise<void> {
  const memory = await app.memoryFor();
  for (const request of requests) {
    const session = request.session && (await wholeId(app.db, 'session', request.session));
    const key = `${memory.id} ${session ?? request.day ?? 'all'}`;
    const payload = { ...request, session, instructions: options.instructions };
    await putAndTell(app, { kind: 'reprocess', key, memory, payload }, options.json);
  }
}

async function putAndTell(app: App, work: Parameters<typeof putWork>[1], json?: boolean): Promise<void> {
  await tell(app, [{ ...work, ...(await putWork(app, work)) }], { json });
}

interface Waiting extends Put {
  kind: JobKind;
  key: string;
  memory: MemoryRow;
}

/** Puts a session into the inbox of the memory that it belongs to, due at once. */
export async function enqueueExtract(
  app: App,
  ask: { transcript: string; ended: boolean; instructions?: string; snapshot?: boolean },
): Promise<Waiting> {
  const { ended, instructions, snapshot } = ask;
  const session = await openSession(resolve(ask.transcript), { isLive: !ended });
  const keepsCopy = snapshot ? { keepsCopy: true } : {};
  const takeUp = ['declined'] as const;
  return announceSession(app, { session, ended, instructions, isDueNow: true, takeUp, ...keepsCopy });
}

async function tell(app: App, waiting: Waiting[], { json }: { json?: boolean }): Promise<void> {
  const isNotified = await ring(app, waiting);
  for (const { memory, kind, key } of waiting) {
    const { name, place } = await namesOf(app, { kind, key, memory });
    print(json ? { memory: place, kind, key, isNotified } : `${name} waits in ${place}`);
  }
}

/** What a piece of work is called: in JSON, to a person (`session 0d8c1a52`, `dream`), and where it is. */
export async function namesOf(
  { db }: App,
  { kind, key, memory }: { kind: JobKind; key: string; memory: MemoryRow | null | undefined },
) {
  const session = kind === 'extract' ? await sessionRow(db, key) : undefined;
  const short = session ? await shortId(db, 'session', session.name) : key.split(' ').at(-1);
  return {
    key: session?.name ?? (kind === 'dream' ? kind : key),
    name: kind === 'dream' ? kind : `${kind === 'extract' ? 'session' : 'learn again:'} ${short}`,
    place: memory ? placeOf(memory) : null,
  };
}

/** Whether a queue was told. */
async function ring(app: App, waiting: Waiting[]): Promise<boolean> {
  const { config, db, clock } = app;
  if (!config.queueUrl) return false;
  let isNotified = true;
  const wake = openWake({
    ...{ url: config.queueUrl, namespace: await queueNamespace(db, config.home), now: () => clock.now() },
    onError(message) {
      isNotified = false;
      note(`Redis was not told: ${message} A worker finds it by itself.`);
    },
  });
  for (const { kind, key, news, notBefore } of waiting) await wake.ring({ kind, key, news, at: new Date(notBefore) });
  await wake.close();
  return isNotified;
}

/** Finds sessions and puts what is pending into the inbox; prints what it found. What cannot be read is named, and no failure. */
async function find(app: App, { agent, since, instructions, json }: Finding): Promise<void> {
  const { sweepSessions } = await import('../worker/sweep.ts');
  const bar = progress('looking for sessions');
  let [found, looked] = [0, 0];
  const report = await sweepSessions(app, {
    agents: agent && [agent],
    since: since === undefined ? undefined : sinceOf(since, app.clock.now()),
    instructions,
    onFound(count) {
      found = count;
    },
    onLooked: () => bar.say(`looked at ${++looked} of ${sayCount(found, 'session')}`),
  }).finally(() => bar.stop());
  print(json ? report : describe(report));
  for (const problem of report.problems) note(problem);
}

const SAID: Record<string, string> = {
  'nothing-new': 'with nothing new',
  waiting: 'waiting already',
  blocked: 'not readable yet',
  'still-open': 'still open',
  declined: 'from before set-up',
  'non-interactive': 'without a person',
  subagent: 'of subagents',
  own: "of nocturne's own",
};

function describe(report: SweepReport): string {
  const lines = Object.entries(report.agents).map(([agent, { found, enqueued = 0, ...skipped }]) => {
    const others = Object.entries(skipped).map(([verdict, count]) => `${count} ${SAID[verdict] ?? verdict}`);
    return `${agent.padEnd(12)} ${found} found, ${enqueued} to be read${others.length > 0 ? `, ${others.join(', ')}` : ''}`;
  });
  for (const [reason, count] of Object.entries(report.off ?? {}))
    lines.push(`${' '.repeat(13)}${count} off: ${reason}`);
  return lines.length > 0 ? lines.join('\n') : 'no sessions found';
}
