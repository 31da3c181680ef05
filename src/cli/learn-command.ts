// Jobs that a person starts: learn (sessions that are given, all that are new, or again what was read), dream (the log into topics);
// now, or put into the inbox for a worker.

import { resolve } from 'node:path';
import type { ExtractReport, LearnAgainRequest } from '../../jobs/extract.ts';
import { requireAccess } from '../agent/agent-types.ts';
import { type Config, configOfSession } from '../base/config/config.ts';
import { AppError, describeError, onAppError } from '../base/errors.ts';
import { statNow } from '../base/files/files.ts';
import { keySource, readAccess } from '../base/key.ts';
import { sayCount } from '../base/text/wording.ts';
import { DAY_MS, isDay, isInstant } from '../base/time.ts';
import type { JobKind } from '../memory/job-rows.ts';
import type { MemoryRow } from '../memory/memories.ts';
import type { Enablement } from '../memory/paths.ts';
import { findId } from '../memory/short-ids.ts';
import type { Put } from '../queue/inbox.ts';
import { environmentOf } from '../queue/swept.ts';
import { openWake } from '../queue/wake.ts';
import { queueNamespace } from '../queue/workers.ts';
import { EXIT, exitFor, note, print, progress } from '../terminal/output.ts';
import { plainly } from '../terminal/phrases.ts';
import { FOUND_AGENTS, type FoundAgent } from '../transcript/find-sessions.ts';
import { openSession } from '../transcript/session.ts';
import type { App } from '../worker/compose.ts';
import { announceSession } from '../worker/ingest.ts';
import { putWork } from '../worker/work-item.ts';
import { type CommonOptions, INSTRUCTIONS, MEMORY, MODEL, parsed, withApp } from './cli-options.ts';
import { printDream, printEstimate, printExtract, workNames } from './printer.ts';
import type { CommandSpec } from './spec.ts';

const agentFrom = parsed(
  (name) => FOUND_AGENTS.find((each) => each === name),
  `Name one of ${FOUND_AGENTS.join(', ')}. opencode keeps its sessions in a database: export one and give the file.`,
);
const whenFrom = parsed(
  (given) => (/^\d{1,5}d$/.test(given) || isInstant(given) ? given : undefined),
  'Give a date like 2026-11-20, a time, or days like 7d.',
);
const dayFrom = parsed((text) => (isDay(text) ? text : undefined), 'Give a day as YYYY-MM-DD.');

function sinceOf(given: string | undefined, { clock }: App): Date | undefined {
  if (given === undefined) return undefined;
  return given.endsWith('d') ? new Date(clock.now().getTime() - Number.parseInt(given, 10) * DAY_MS) : new Date(given);
}

/** Says so where nocturne would not do by itself what a person asked for. */
function noteOff({ enabled, reason }: Enablement, config: Config): void {
  if (!enabled) note(`nocturne is off here (${plainly(reason, config)}); done anyway, because you asked for it.`);
}

async function extractNow(app: App, transcripts: string[], options: LearnOptions): Promise<void> {
  const { session: name, live, instructions } = options;
  noteOff(await app.standing({ cwd: process.cwd() }), app.config);
  const here = app.memoryDirOf();
  const outcomes: string[] = [];
  for (const [index, transcript] of transcripts.entries()) {
    const bar = progress(`reading session ${index + 1} of ${transcripts.length}`);
    const request = { transcript, name, ended: !live, instructions };
    const report = await app
      .extract({ ...request, takeUp: ['undone', 'declined', 'gave_up'] })
      .finally(() => bar.stop());
    await printExtract(app, report, { ...options, here });
    outcomes.push(report.outcome);
  }
  process.exitCode ||= exitFor(outcomes);
}

async function learnAgainNow(app: App, requests: LearnAgainRequest[], options: CommonOptions): Promise<void> {
  const memory = await app.memoryFor();
  const bar = progress('reading again');
  const outcomes: string[] = [];
  const reports: Promise<void>[] = [];
  const onReport = (report: ExtractReport) => {
    outcomes.push(report.outcome);
    reports.push(printExtract(app, report, options));
    bar.say(`reading again: ${sayCount(outcomes.length, 'session')} done`);
  };
  const { instructions } = options;
  try {
    for (const request of requests)
      await amongSeveral(requests, app.learnAgain(memory, { ...request, instructions }, { onReport }));
  } finally {
    bar.stop();
    await Promise.all(reports);
  }
  process.exitCode ||= exitFor(outcomes);
}

const LATER_JSON = 'one line per piece of work: { memory, kind, key }';

interface DreamOptions extends CommonOptions {
  dryRun?: boolean;
  review?: boolean;
  share?: boolean;
  later?: boolean;
}

const dream: CommandSpec<DreamOptions> = {
  name: 'dream',
  about: 'sort the daily logs into topic files and the index now',
  options: [
    ['--share', 'also share changed topics of type project and reference with the team'],
    ['--dry-run', 'print what would be sent to the model and about what it would cost; change nothing'],
    ['--review', 'let changes wait for nocturne review, whatever config.json says; --no-review: make them at once'],
    ['--no-review', '', { isHidden: true }],
    ['--later', 'leave it to the next worker', { conflicts: ['dryRun', 'review', 'share'] }],
    ...MEMORY,
    MODEL,
    INSTRUCTIONS,
  ],
  json: `{ outcome, operations: [{ kind, entries, topic, reason }], proposals, spend, shared?, error? }; with --later ${LATER_JSON}`,
  examples: ['dream --memory ./memory --json', 'dream --later && nocturne worker --once'],
  async inApp(app, call) {
    const { dryRun, instructions, later } = call.options;
    if (later) return dreamLater(app, call.options);
    if (!dryRun) return dreamNow(app, await memoryForWork(app), call.options);
    return printEstimate(await app.estimateDream(await app.memoryFor(), { instructions }), call.options);
  },
};

/** The memory here, for a job that asks a model: without a key none is made for nothing. */
async function memoryForWork(app: App): Promise<MemoryRow> {
  if (keySource(app.config) === 'none' && (await app.findMemory()) === null) requireAccess(app.config);
  return app.memoryFor();
}

async function dreamNow(app: App, memory: MemoryRow, options: DreamOptions): Promise<void> {
  noteOff(await app.standing({ cwd: process.cwd() }), app.config);
  const { instructions, review } = options;
  const bar = progress('dreaming');
  const shareFrom = options.share ? process.cwd() : undefined;
  const dreaming = app.dream(memory, { instructions, review }, { shareFrom });
  const { shared, ...report } = await dreaming.finally(() => bar.stop());
  const more = shared ? await (await import('./share-command.ts')).sayShare(app, shared) : [];
  await printDream(app, { memory, report }, { ...options, shared, more });
  process.exitCode ||= exitFor([report.outcome, ...(shared ? [shared.outcome] : [])]);
}

interface LearnOptions extends CommonOptions {
  since?: string;
  agent?: FoundAgent;
  again?: boolean;
  day?: string;
  all?: boolean;
  later?: boolean;
  live?: boolean;
  session?: string;
  snapshot?: boolean;
}

const learn: CommandSpec<LearnOptions, [string[]]> = {
  name: 'learn',
  about: 'read sessions now: those given, or all that are new',
  args: [['[session...]', 'session files, or ids of sessions (default: all that is new)']],
  options: [
    ['--again', 'read sessions again: those given, or with --day or --all more'],
    ['--day <day>', 'with --again: the turns of one day, YYYY-MM-DD', { parse: dayFrom, conflicts: 'all' }],
    ['--all', 'with --again: everything'],
    ['--later', 'leave them to the next worker', { conflicts: 'again' }],
    ['--snapshot', 'with --later: keep redacted copies, for agents that delete their sessions before a worker comes'],
    ['--live', 'the sessions are still running: skip their last turns'],
    ['--session <id>', 'the id of the session, if its file has none'],
    ['--since <when>', 'only sessions that changed since then: a date, or so many days ago (7d)', { parse: whenFrom }],
    ['--agent <name>', `only sessions of one agent: ${FOUND_AGENTS.join(', ')}`, { parse: agentFrom }],
    ...MEMORY,
    MODEL,
    INSTRUCTIONS,
  ],
  json: `one line per session: { session, transcript, memory, outcome, entries, refused, openTurns, spend, error? }; without sessions { done, turns, tokens, refused, waiting: [{ transcript, reason }], left, memories: [{ memory, entries }] }; with --later ${LATER_JSON}`,
  more: 'Sessions from before set-up are read too.',
  examples: [
    'learn',
    'learn ~/.claude/projects/-home-kim-orchard/0d8c1a52.jsonl && nocturne dream',
    'learn --again 0d8c1a52',
    'learn --later --since 30d && nocturne worker --once',
  ],
  run(call) {
    const [given] = call.args;
    const { options } = call;
    const { again, day, all, later } = options;
    const isMore = day !== undefined || all === true;
    if (!again && isMore) call.wrong('--day and --all need --again');
    if (again && given.length === 0 && !isMore)
      call.wrong('say what to read again: sessions, --day YYYY-MM-DD or --all');
    if (options.snapshot && !later) call.wrong('--snapshot needs --later');
    if (options.session && given.length > 1)
      call.wrong(`--session names one session, but ${given.length} files are given`);
    return withApp(call, async (app) => {
      if (again) return learnAgainNow(app, await whatAgain(given, options), options);
      if (later) return learnLater(app, await filesOf(app, given), options);
      if (given.length > 0) return extractNow(app, await filesOf(app, given), options);
      return learnNew(app, options);
    });
  },
};

/** What hooks told of and what is found on this disk, declined or not. */
async function learnNew(app: App, { since, agent, json }: LearnOptions): Promise<void> {
  const [{ ingestSpool }, { describeLearned, describeNothingNew, learnFound, lookForBacklog }] = await Promise.all([
    import('../worker/ingest.ts'),
    import('../setup/backlog.ts'),
  ]);
  await ingestSpool(app, note);
  const found = await lookForBacklog(app, { since: sinceOf(since, app), agents: agent && [agent] });
  // Else each of them fails by itself, and the model counts as out of reach.
  if (found.sessions.length > 0) requireAccess({ model: app.config.model, access: await readAccess(app.config) });
  const learned = await learnFound(app, found);
  if (learned.waiting.length > 0) process.exitCode = EXIT.attention;
  if (json)
    print({
      ...learned,
      left: found.left,
      memories: learned.memories.map(({ memory, entries }) => ({ memory, entries })),
    });
  else print(found.sessions.length > 0 ? describeLearned(learned, app.config) : describeNothingNew(found, since));
}

/** Sessions, by how their ids begin or by their files; those of a day, or all. */
async function whatAgain(given: string[], { day, all, live }: LearnOptions): Promise<LearnAgainRequest[]> {
  const ended = !live;
  const sessions = await Array.fromAsync(given, async (what) =>
    statNow(what)?.isFile ? (await openSession(what, { isLive: true })).id : what,
  );
  const isMore = day !== undefined || all;
  return [...sessions.map((session) => ({ session, ended })), ...(isMore ? [{ day, all, ended }] : [])];
}

/** Of several, what is not there is named, and the rest done. */
function amongSeveral<T>(several: readonly unknown[], work: Promise<T>): Promise<T | undefined> {
  if (several.length < 2) return work;
  const name = (error: AppError) => {
    note(`nocturne: ${describeError(error)}`);
    process.exitCode = EXIT.failed;
    return undefined;
  };
  return work.catch(onAppError(name, 'bad-input'));
}

/** Files as they are given; an id, or what it begins with, is looked up. */
async function filesOf(app: App, given: string[]): Promise<string[]> {
  const files = await Array.fromAsync(given, (what) => amongSeveral(given, fileOf(app, what)));
  return files.flatMap((file) => file ?? []);
}

async function fileOf({ db }: App, what: string): Promise<string> {
  if (/[\\/]|\.jsonl?$/.test(what) || statNow(what)?.isFile) return what;
  const session = await findId(db, 'session', what);
  const select = 'select path from session where name = ? and path is not null';
  const found = session === undefined ? undefined : await db.get<{ path: string }>(select, session);
  if (found) return found.path;
  throw new AppError('bad-input', `There is no session ${JSON.stringify(what)}.`, {
    remedy: 'Give its file, or an id from nocturne list --sessions.',
  });
}

async function learnLater(app: App, transcripts: string[], options: LearnOptions): Promise<void> {
  if (transcripts.length === 0) return find(app, options);
  const { live, instructions, snapshot } = options;
  const waiting = await Array.fromAsync(transcripts, (transcript) =>
    enqueueExtract(app, { transcript, ended: !live, instructions, snapshot }),
  );
  await tell(app, waiting, options);
}

async function dreamLater(app: App, { instructions, json }: DreamOptions): Promise<void> {
  const memory = await app.memoryFor();
  const work = { kind: 'dream', key: memory.id, memory, payload: { instructions } } as const;
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
  const opened = await openSession(resolve(ask.transcript), { isLive: !ended });
  const environment = await environmentOf(app.db, app.machine, opened.path);
  const session = Object.assign(opened, { config: await configOfSession(app.config, environment) });
  const keepsCopy = snapshot ? { keepsCopy: true } : {};
  const takeUp = ['declined'] as const;
  return announceSession(app, { session, environment, ended, instructions, isDueNow: true, takeUp, ...keepsCopy });
}

async function tell(app: App, waiting: Waiting[], { json }: { json?: boolean }): Promise<void> {
  await ring(app, waiting);
  for (const { memory, kind, key } of waiting) {
    const { name, place } = await workNames(app, { kind, key, memory });
    print(json ? { memory: place, kind, key } : `${name} waits in ${place}`);
  }
}

/** Tells the queue, where there is one. */
async function ring(app: App, waiting: Waiting[]): Promise<void> {
  const { config, db, clock } = app;
  if (!config.queueUrl) return;
  const wake = openWake({
    ...{ url: config.queueUrl, namespace: await queueNamespace(db, config.home), now: () => clock.now() },
    onError: (message) => note(`Redis was not told: ${message} A worker finds it by itself.`),
  });
  for (const { kind, key, news, notBefore } of waiting) await wake.ring({ kind, key, news, at: new Date(notBefore) });
  await wake.close();
}

/** Finds sessions and puts what is pending into the inbox. What cannot be read is named, and no failure. */
async function find(app: App, { agent, since, instructions, json }: LearnOptions): Promise<void> {
  const { sweepSessions } = await import('../worker/ingest.ts');
  const bar = progress('looking for sessions');
  const takeUp = ['declined'] as const;
  const wanted = { agents: agent && [agent], since: sinceOf(since, app), instructions, takeUp };
  const { enqueued, problems } = await sweepSessions(app, wanted).finally(() => bar.stop());
  for (const problem of problems) note(problem);
  await tell(app, enqueued, { json });
  if (enqueued.length === 0 && !json) print('Nothing new: every session that was found was read, or waits already.');
}

export const commands: CommandSpec[] = [learn, dream];
