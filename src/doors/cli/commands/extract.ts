// Jobs that a person starts one by one: extract and reprocess (sessions into the daily log), dream (the log into topics).

import { InvalidArgumentError } from 'commander';
import type { Fork } from '../../../../jobs/extract/show.ts';
import type { ExtractReport } from '../../../../jobs/extract.ts';
import type { ReprocessRequest } from '../../../../jobs/reprocess.ts';
import type { Config } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { type Day, isDay } from '../../../base/time.ts';
import type { Enablement } from '../../../memory/home/paths.ts';
import type { App } from '../../compose.ts';
import type { JobOptions } from '../../job-bounds.ts';
import { wings } from '../../wing.ts';
import type { Call, CommandSpec, OptionSpec } from '../spec.ts';
import { type CommonOptions, INSTRUCTIONS, keysOf, MEMORY, MODEL, withApp } from '../terminal/options.ts';
import { exitFor, note, printDream, printEstimate, printExtract } from '../terminal/output.ts';
import { progress } from '../terminal/progress.ts';
import { plainly } from '../terminal/words.ts';

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
export async function extractNow(app: App, transcripts: string[], options: ExtractOptions): Promise<string[]> {
  const { session, live, fork, instructions } = options;
  noteOff(await app.standing({ cwd: process.cwd() }), app.config);
  const here = app.memoryDirOf({ cwd: process.cwd() });
  const outcomes: string[] = [];
  const memories = new Set<string>();
  for (const [index, transcript] of transcripts.entries()) {
    const bar = progress(`reading session ${index + 1} of ${transcripts.length}`);
    const report = await app
      .extract({ transcript, session, ended: !live, instructions, fork, reopenUndone: true, takeDeclined: true })
      .finally(() => bar.stop());
    printExtract(report, { ...options, here });
    outcomes.push(report.outcome);
    if (report.memory) memories.add(report.memory);
  }
  process.exitCode = exitFor(outcomes);
  return [...memories];
}

export interface ReprocessOptions extends CommonOptions {
  session?: string;
  day?: string;
  all?: boolean;
  live?: boolean;
}

/** What is extracted again. */
export const AGAIN: OptionSpec[] = [
  ['--session <id>', 'one session', { conflicts: ['day', 'all'] }],
  ['--day <day>', 'the turns of one day, YYYY-MM-DD', { parse: reprocessedDay, conflicts: 'all' }],
  ['--all', 'everything'],
  ['--live', 'the sessions still run: leave their last turns alone'],
];

const reprocess: CommandSpec<ReprocessOptions> = {
  name: 'reprocess',
  about: 'extract a session, a day or everything again',
  group: 'Jobs and numbers',
  options: [...AGAIN, ...MEMORY, MODEL, INSTRUCTIONS],
  json: 'one line per session, as extract prints it',
  examples: ['reprocess --day 2026-11-20'],
  run(call) {
    const request = requestOf(call);
    return withApp(call, (app) => reprocessNow(app, [request], call.options));
  },
};

export async function reprocessNow(app: App, requests: ReprocessRequest[], options: CommonOptions): Promise<void> {
  const store = await app.storeFor({ cwd: process.cwd() });
  const bar = progress('reading again');
  const outcomes: string[] = [];
  const onReport = (report: ExtractReport) => {
    outcomes.push(report.outcome);
    bar.print(() => printExtract(report, options));
    bar.say(`reading again: ${sayCount(outcomes.length, 'session')} done`);
  };
  const { instructions } = options;
  try {
    for (const request of requests) await app.reprocess(store, { ...request, instructions }, { onReport });
  } finally {
    bar.stop();
  }
  process.exitCode = exitFor(outcomes);
}

/** Ends in wrong usage where nothing of session, day and all was asked for. */
export function requestOf({ options, wrong }: Call<ReprocessOptions>): ReprocessRequest {
  const { session, day, all, live } = options;
  if (session === undefined && day === undefined && !all) {
    wrong('say what to reprocess: one of --session ID, --day YYYY-MM-DD and --all');
  }
  return { session, day, all, ended: !live };
}

export function reprocessedDay(value: string): Day {
  if (isDay(value)) return value;
  throw new InvalidArgumentError('It is no day of the form YYYY-MM-DD.');
}

interface DreamOptions extends CommonOptions {
  acceptMissing?: boolean | string[];
  dryRun?: boolean;
  review?: boolean;
  batch?: boolean;
}

/** What wings add to a dream. */
const parts = () => wings().flatMap(({ dream }) => dream ?? []);

const dream: CommandSpec<DreamOptions> = {
  name: 'dream',
  about: 'sort the daily logs into topic files and the index now',
  group: 'Jobs and numbers',
  get options(): OptionSpec[] {
    return [
      ['--now', 'at once, past the gates of the nightly dream; nocturne dream does this without it, too'],
      ...parts().flatMap(({ options }) => options),
      ['--dry-run', 'print what would be sent to the model and about what it would cost; change nothing'],
      ['--review', 'what would change waits for nocturne review, whatever config.json says; --no-review: it does not'],
      ['--no-review', '', { isHidden: true }],
      ['--batch', 'send it as a Message Batch: half the price, an answer within a day, fetched by a worker'],
      ['--no-batch', 'take back what waits in a batch and dream over it at once'],
      [
        '--accept-missing [day...]',
        'take logs, files and entries that are missing as meant to go; with days, the logs of these days',
      ],
      ...MEMORY,
      MODEL,
      INSTRUCTIONS,
    ];
  },
  get json() {
    return `{ outcome, operations: [{ kind, entries, topic, reason }], proposals, topics, indexLines, indexBytes, spend, waits?${keysOf(parts())}, error? }`;
  },
  examples: ['dream --memory ./memory --json'],
  run: dreamNow,
};

export function dreamNow(call: Call<DreamOptions>): Promise<void> {
  const { options } = call;
  return withApp(call, async (app) => {
    const session = { cwd: process.cwd() };
    const store = options.dryRun ? await app.storeFor(session) : await app.storeForWork(session);
    noteOff(await app.standingOf(store), app.config);
    const batch = options.batch === undefined ? undefined : options.batch ? 'send' : 'cancel';
    const { instructions, review } = options;
    const acceptMissing = options.acceptMissing && acceptedDays(options.acceptMissing);
    if (options.dryRun) {
      printEstimate(await app.estimateDream(store, { instructions, batch }), options);
      return;
    }
    const bar = progress('dreaming');
    const asked: JobOptions = Object.assign({}, ...parts().map((part) => part.asks({ ...options }, session)));
    const dreaming = app.dream(store, { instructions, acceptMissing, review, batch }, asked);
    const report = await dreaming.finally(() => bar.stop());
    const said = (await Promise.all(parts().map((part) => part.say(report)))).flatMap((each) => each ?? []);
    printDream(report, { ...options, more: said.flatMap(({ lines }) => lines) });
    process.exitCode = exitFor([report.outcome, ...said.map(({ outcome }) => outcome)]);
  });
}

function acceptedDays(given: true | string[]): true | Day[] {
  if (given === true) return true;
  const unfit = given.find((day) => !isDay(day));
  if (unfit === undefined) return given;
  throw new AppError('bad-input', `--accept-missing: ${JSON.stringify(unfit)} is no day.`, {
    remedy: 'Give days like 2026-11-20, or none for all that is missing; nocturne status names them.',
  });
}

export const commands: CommandSpec[] = [extract, dream, reprocess];
