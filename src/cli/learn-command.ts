// Jobs that a person starts one by one: learn (sessions given or new, now; and, where asked, dream after that), extract and
// reprocess (sessions into the daily log), dream (the log into topics). What only learn needs is loaded for it.

import type { ExtractReport } from '../../jobs/extract/extract-report.ts';
import type { Fork } from '../../jobs/extract/shown-turns.ts';
import type { LearnAgainRequest } from '../../jobs/learn-again.ts';
import { requireAccess } from '../agent/agent-types.ts';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { keySource, readAccess } from '../base/key.ts';
import { sayCount } from '../base/text/wording.ts';
import { DAY_MS, type Day, isDay, isInstant } from '../base/time.ts';
import type { MemoryRow } from '../memory/memories.ts';
import type { Enablement } from '../memory/paths.ts';
import { severalMeant } from '../memory/short-ids.ts';
import { EXIT, exitFor, note, print, progress } from '../terminal/output.ts';
import { plainly } from '../terminal/phrases.ts';
import { FOUND_AGENTS, type FoundAgent } from '../transcript/find-sessions.ts';
import type { App } from '../worker/compose.ts';
import { memoriesHere, placeOf } from '../worker/whose-memory.ts';
import { type CommonOptions, INSTRUCTIONS, MEMORY, MODEL, parsed, withApp } from './cli-options.ts';
import { printDream, printEstimate, printExtract } from './printer.ts';
import type { Call, CommandSpec, OptionSpec } from './spec.ts';

interface ExtractOptions extends CommonOptions {
  session?: string;
  live?: boolean;
  fork?: Fork;
}

const extract: CommandSpec<ExtractOptions, [string[]]> = {
  name: 'extract',
  about: 'read sessions into the daily log now',
  group: 'Jobs and numbers',
  args: [['<session...>', 'session files, in any format that nocturne reads']],
  options: [
    ['--session <id>', 'the id of the session, where its file holds none'],
    ['--live', 'the session still runs: leave its last turn alone'],
    [
      '--fork <how>',
      'what the model is shown: an excerpt, or, where the file is a whole Messages request, that request continued',
      { choices: ['excerpt', 'prefix'] },
    ],
    ...MEMORY,
    MODEL,
    INSTRUCTIONS,
  ],
  json: 'one line per session: { session, transcript, memory, outcome, entries, coverage, unsettledTurns, spend, fork?, error? }',
  examples: ['extract ~/.claude/projects/*/*.jsonl --model offline'],
  run(call) {
    const [transcripts] = call.args;
    const { session } = call.options;
    if (session && transcripts.length > 1) {
      throw new AppError('bad-input', `--session names one session, but ${transcripts.length} files are given.`);
    }
    return withApp(call, async (app) => void (await extractNow(app, transcripts, call.options)));
  },
};

/** Says so where nocturne would not do by itself what a person asked for. */
function noteOff({ enabled, reason }: Enablement, config: Config): void {
  if (!enabled) note(`nocturne is off here (${plainly(reason, config)}); done all the same, because you asked.`);
}

/** Answers the memories that the sessions belong to. */
async function extractNow(app: App, transcripts: string[], options: ExtractOptions): Promise<string[]> {
  const { session: name, live, fork, instructions } = options;
  noteOff(await app.standing({ cwd: process.cwd() }), app.config);
  const here = app.memoryDirOf();
  const outcomes: string[] = [];
  const memories = new Set<string>();
  for (const [index, transcript] of transcripts.entries()) {
    const bar = progress(`reading session ${index + 1} of ${transcripts.length}`);
    const request = { transcript, name, ended: !live, instructions, fork };
    const report = await app.extract({ ...request, takeUp: ['undone', 'declined'] }).finally(() => bar.stop());
    await printExtract(app, report, { ...options, here });
    outcomes.push(report.outcome);
    if (report.memory) memories.add(report.memory);
  }
  process.exitCode = exitFor(outcomes);
  return [...memories];
}

const agentFrom = parsed(
  (name) => FOUND_AGENTS.find((each) => each === name),
  `Name one of ${FOUND_AGENTS.join(', ')}. opencode keeps its sessions in a database: export one and give the file.`,
);
const whenFrom = parsed(
  (given) => (/^\d{1,5}d$/.test(given) || isInstant(given) ? given : undefined),
  'It is no time; give a date like 2026-11-20, an instant, or days like 7d.',
);

/** Which sessions are looked for. */
export const FINDING: OptionSpec[] = [
  ['--since <when>', 'only sessions that changed since then: a date, or so many days ago (7d)', { parse: whenFrom }],
  ['--agent <name>', `only sessions of one agent: ${FOUND_AGENTS.join(', ')}`, { parse: agentFrom }],
];

export function sinceOf(given: string, now: Date): Date {
  return given.endsWith('d') ? new Date(now.getTime() - Number.parseInt(given, 10) * DAY_MS) : new Date(given);
}

interface AgainOptions extends CommonOptions {
  session?: string;
  day?: string;
  all?: boolean;
  live?: boolean;
}

const dayFrom = parsed((text) => (isDay(text) ? text : undefined), 'It is no day of the form YYYY-MM-DD.');

/** What is extracted again. */
export const AGAIN: OptionSpec[] = [
  ['--session <id>', 'one session', { conflicts: ['day', 'all'] }],
  ['--day <day>', 'the turns of one day, YYYY-MM-DD', { parse: dayFrom, conflicts: 'all' }],
  ['--all', 'everything'],
  ['--live', 'the sessions still run: leave their last turns alone'],
];

const reprocess: CommandSpec<AgainOptions> = {
  name: 'reprocess',
  about: 'extract a session, a day or everything again',
  group: 'Jobs and numbers',
  options: [...AGAIN, ...MEMORY, MODEL, INSTRUCTIONS],
  json: 'one line per session, as extract prints it',
  examples: ['reprocess --day 2026-11-20'],
  run(call) {
    const request = requestOf(call);
    return withApp(call, (app) => learnAgainNow(app, [request], call.options));
  },
};

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
    for (const request of requests) await app.learnAgain(memory, { ...request, instructions }, { onReport });
  } finally {
    bar.stop();
    await Promise.all(reports);
  }
  process.exitCode = exitFor(outcomes);
}

/** Ends in wrong usage where nothing of session, day and all was asked for. */
export function requestOf({ options, wrong }: Call<AgainOptions>): LearnAgainRequest {
  const { session, day, all, live } = options;
  if (session === undefined && day === undefined && !all) {
    wrong('say what to reprocess: one of --session ID, --day YYYY-MM-DD and --all');
  }
  return { session, day, all, ended: !live };
}

interface DreamOptions extends CommonOptions {
  acceptMissing?: boolean | string[];
  dryRun?: boolean;
  review?: boolean;
  share?: boolean;
}

const dream: CommandSpec<DreamOptions> = {
  name: 'dream',
  about: 'sort the daily logs into topic files and the index now',
  group: 'Jobs and numbers',
  options: [
    ['--now', 'at once, past the gates of the nightly dream; nocturne dream does this without it, too'],
    ['--share', "share what it changed in topics of the project and references with the working tree's team"],
    ['--dry-run', 'print what would be sent to the model and about what it would cost; change nothing'],
    ['--review', 'what would change waits for nocturne review, whatever config.json says; --no-review: it does not'],
    ['--no-review', '', { isHidden: true }],
    [
      '--accept-missing [day...]',
      'take logs, files and entries that are missing as meant to go; with days, the logs of these days',
    ],
    ...MEMORY,
    MODEL,
    INSTRUCTIONS,
  ],
  json: '{ outcome, operations: [{ kind, entries, topic, reason }], proposals, topics, indexLines, indexBytes, spend, shared?, error? }',
  examples: ['dream --memory ./memory --json'],
  run: (call) =>
    withApp(call, async (app) => {
      const { dryRun, instructions } = call.options;
      if (!dryRun) return dreamNow(app, await memoryForWork(app), call.options);
      return printEstimate(await app.estimateDream(await app.memoryFor(), { instructions }), call.options);
    }),
};

/** The memory here, for a job that asks a model: without a key none is made for nothing. */
async function memoryForWork(app: App): Promise<MemoryRow> {
  if (keySource(app.config) === 'none' && (await app.findMemory()) === null) requireAccess(app.config);
  return app.memoryFor();
}

async function dreamNow(app: App, memory: MemoryRow, options: DreamOptions): Promise<void> {
  noteOff(await app.standing({ cwd: process.cwd() }), app.config);
  const { instructions, review } = options;
  const acceptMissing = options.acceptMissing && acceptedDays(options.acceptMissing);
  const bar = progress('dreaming');
  const shareFrom = options.share ? process.cwd() : undefined;
  const dreaming = app.dream(memory, { instructions, acceptMissing, review }, { shareFrom });
  const { shared, ...report } = await dreaming.finally(() => bar.stop());
  const more = shared ? await (await import('./share-command.ts')).sayShare(app, shared) : [];
  await printDream(app, { memory, report }, { ...options, shared, more });
  process.exitCode = exitFor([report.outcome, ...(shared ? [shared.outcome] : [])]);
}

function acceptedDays(given: true | string[]): true | Day[] {
  if (given === true) return true;
  const unfit = given.find((day) => !isDay(day));
  if (unfit === undefined) return given;
  throw new AppError('bad-input', `--accept-missing: ${JSON.stringify(unfit)} is no day.`, {
    remedy: 'Give days like 2026-11-20, or none for all that is missing; nocturne names them.',
  });
}

interface LearnOptions extends AgainOptions {
  since?: string;
  agent?: FoundAgent;
  again?: boolean;
  dream?: boolean;
}

const learn: CommandSpec<LearnOptions, [string[]]> = {
  name: 'learn',
  about: 'read sessions now: those given, or all that are new',
  group: 'Every day',
  args: [['[session...]', 'session files, or ids of sessions (default: all that changed lately and nobody read yet)']],
  options: [
    ['--again', 'read again what was read: these sessions, or with --day or --all more'],
    ['--day <day>', 'with --again: the turns of one day, YYYY-MM-DD', { parse: dayFrom, conflicts: 'all' }],
    ['--all', 'with --again: everything'],
    ['--dream', 'sort what is in the log into topics, too'],
    ['--live', 'the sessions still run: leave their last turns alone'],
    ...FINDING,
    ...MEMORY,
    MODEL,
    INSTRUCTIONS,
  ],
  json: 'one line per session, as extract prints it; without sessions { done, turns, tokens, waiting: [{ transcript, reason }], left, memories: [{ memory, entries }] }; with --dream then that of dream',
  more: 'What was declined at set-up is learned too. nocturne dream sorts without learning.',
  examples: ['learn', 'learn ~/.claude/projects/-home-kim-orchard/0d8c1a52.jsonl --dream', 'learn --again 0d8c1a52'],
  run(call) {
    const [sessions] = call.args;
    const { again, day, all, live, dream: isSorted } = call.options;
    if (!again && (day !== undefined || all)) call.wrong('--day and --all go with --again');
    if (again && sessions.length === 0 && day === undefined && !all) {
      call.wrong('say what to read again: sessions, --day YYYY-MM-DD or --all');
    }
    return withApp(call, async (app) => {
      const memories = await learnNow(app, sessions, { ...call.options, ended: !live });
      if (!isSorted) return;
      let { exitCode = EXIT.fine } = process;
      // Where it was learned; where nothing was, the memory here.
      for (const memory of memories.length > 0 ? memories : [await app.memoryFor()]) {
        await dreamNow(app, memory, call.options);
        exitCode = exitCode === EXIT.fine ? (process.exitCode ?? EXIT.fine) : exitCode;
      }
      process.exitCode = exitCode;
    });
  },
};

async function learnNow(app: App, given: string[], options: LearnOptions & { ended: boolean }): Promise<MemoryRow[]> {
  const { again, day, all, ended } = options;
  if (!again && given.length === 0) return learnNew(app, options);
  const known = await sessionsNamed(app, given);
  if (again) {
    const ofSessions = known.map(({ session }) => ({ session, ended }));
    await learnAgainNow(app, [...ofSessions, ...(day !== undefined || all ? [{ day, all, ended }] : [])], options);
    return [];
  }
  const ids = await extractNow(
    app,
    known.map(({ transcript }) => transcript),
    options,
  );
  return Promise.all(ids.map((id) => app.memories.of(id)));
}

/** What hooks told of and what is found on this disk, declined or not. */
async function learnNew(app: App, { since, agent, json }: LearnOptions): Promise<MemoryRow[]> {
  const [{ ingestSpool }, { describeLearned, describeNothingNew, findBacklog, learnFound }] = await Promise.all([
    import('../worker/ingest.ts'),
    import('../setup/backlog.ts'),
  ]);
  await ingestSpool(app, note);
  const bar = progress('looking for sessions');
  const from = since === undefined ? undefined : sinceOf(since, app.config.clock.now());
  const found = await findBacklog(app, { since: from, agents: agent && [agent] }).finally(() => bar.stop());
  for (const problem of found.problems) note(problem);
  // Else each of them fails by itself, and the model counts as out of reach.
  if (found.sessions.length > 0) requireAccess({ model: app.config.model, access: await readAccess(app.config) });
  const learned = await learnFound(app, found);
  if (learned.waiting.length > 0) process.exitCode = EXIT.attention;
  const rows = (await memoriesHere(app)).filter((row) =>
    learned.memories.some(({ memory }) => memory === placeOf(row)),
  );
  if (json)
    print({
      ...learned,
      left: found.left,
      memories: learned.memories.map(({ memory, entries }) => ({ memory, entries })),
    });
  else print(found.sessions.length > 0 ? describeLearned(learned, app.config) : describeNothingNew(found, since));
  return rows;
}

/** Files as they are given; an id, or what it begins with, is looked up. */
async function sessionsNamed(app: App, given: string[]): Promise<{ session: string; transcript: string }[]> {
  const { statNow } = await import('../base/files/files.ts');
  const { openSession } = await import('../transcript/session.ts');
  const found: { session: string; transcript: string }[] = [];
  for (const what of given) {
    if (statNow(what)?.isFile) {
      const session = await openSession(what, { isLive: true }).then(
        ({ id }) => id,
        () => what,
      );
      found.push({ session, transcript: what });
      continue;
    }
    const rows = await app.db.all<{ name: string; path: string | null }>(
      'select name, path from session where substr(name, 1, ?) = ? order by name',
      ...[what.length, what],
    );
    const names = [...new Set(rows.map(({ name }) => name))];
    if (names.length > 1 && !names.includes(what)) throw severalMeant(what, 'session', names);
    const path = rows.find(({ path }) => path !== null)?.path;
    if (!path) {
      throw new AppError('bad-input', `There is no session ${JSON.stringify(what)}.`, {
        remedy: 'Give its file, or an id that nocturne sessions lists.',
      });
    }
    found.push({ session: names[0] ?? what, transcript: path });
  }
  return found;
}

export const commands: CommandSpec[] = [learn, extract, dream, reprocess];
