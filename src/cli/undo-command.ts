// A person's word on what jobs do. undo: takes one action back, files and rows together. Which is meant is looked for in the memories
// that belong to where one stands, the project's, the user's and the working tree's, or in the one that is named; without a name it is
// the last that a person began. review: what a dream would change and waits for a person's word: each whole, and what the person says.

import { type Decided, type ShownProposal, shownProposals, type Word } from '../../jobs/review.ts';
import { lastJob, type UndoReport } from '../../jobs/undo.ts';
import { AppError, onAppError } from '../base/errors.ts';
import { sayCount } from '../base/text/wording.ts';
import { localTime } from '../base/time.ts';
import { type MemoryRow, restoreMemory } from '../memory/memories.ts';
import { scopeDir } from '../memory/places.ts';
import { findId, shortId, wholeId } from '../memory/short-ids.ts';
import { EXIT, exitFor, note, print, style } from '../terminal/output.ts';
import { sayDid, saySpeaker, sayWhen } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { withoutDreams } from '../worker/job-bounds.ts';
import { placeOf } from '../worker/whose-memory.ts';
import {
  agreed,
  BUSY,
  type CommonOptions,
  isNamed,
  MEMORY,
  requirePerson,
  undoCommand,
  withApp,
} from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

interface UndoOptions extends CommonOptions {
  last?: boolean;
  any?: boolean;
  partial?: boolean;
  file?: string;
  version?: string;
}

const undo: CommandSpec<UndoOptions, [string | undefined]> = {
  name: 'undo',
  about: 'take back what you or a job did',
  args: [['[action]', 'which (job_…, or what it begins with); default: your last one, after asking']],
  options: [
    ['--last', 'your last one, without asking'],
    ['--any', 'the last one of anybody: also of a night, a hook, an agent'],
    ['--partial', 'take back only what no later work builds on'],
    ['--file <path>', 'set a file of the memory back to a version', { conflicts: ['last', 'any', 'partial'] }],
    ['--version <id>', 'with --file: the version (memver_…, or what it begins with)'],
    ...MEMORY,
  ],
  json: '{ outcome, job, kind, undo, files, turns, stays }; with --file the version that it is at now, as show --history prints it',
  more: `Yours is what you did by a command here: remember, forget, show --pin, show --edit, undo --file, review, import, share, learn,
dream. Edits by hand are in show --history, and undo --file sets one back. An undo can be undone too. A session whose learning was undone is read again by nocturne learn only.`,
  examples: ['undo', 'undo --last', 'undo --file working-agreements.md --version memver_01234567'],
  run(call) {
    const { options } = call;
    const { file, version } = options;
    const [id] = call.args;
    if (id !== undefined && (options.last || options.any || file))
      call.wrong('say what to undo: one action, the last one, or a file');
    if ((file === undefined) !== (version === undefined)) call.wrong('--file and --version need each other');
    return withApp(call, async (app) => {
      requirePerson(app.config, 'undo');
      if (file && version)
        return (await import('./history-command.ts')).restoreFile(app, file, { version, json: options.json });
      if (id && /^mem(?:store|ory)_/.test(id)) {
        const { name, dir } = await restoreMemory(app.db, id);
        const said = `${id} ${name} is back${dir === null ? '.' : `: ${dir}`}`;
        return print(options.json ? { outcome: 'undone', job: null, undo: id } : said);
      }
      const action = id === undefined ? await lastAction(app, options) : await actionCalled(app, id, options);
      if (!action) throw unknown(id, options);
      if (id === undefined && !options.last && !(await isMeant(app, action, options))) return;
      const report = await app.undo({ job: action.job, partial: options.partial });
      print(options.json ? report : await describe(app, report, { scope: action.scope, ...options }));
      process.exitCode = exitFor([report.outcome]);
    });
  },
};

function unknown(id: string | undefined, { any }: UndoOptions): AppError {
  const what =
    id !== undefined
      ? `There is no job ${id} here.`
      : any
        ? 'There is no job left to undo here.'
        : 'There is nothing left here that you did.';
  const more = id === undefined && !any ? 'nocturne undo --any also takes back what a night or an agent did; ' : '';
  return new AppError('bad-input', what, { remedy: `${more}nocturne show --history names them.` });
}

interface Action {
  memory: MemoryRow;
  /** Whose memory, where that is not the project's or the one that was named. */
  scope?: 'user' | 'local';
  job: string;
}

/** The last one that a person began, or with `any` whoever did, in the project's memory or the named one; undefined: none. */
async function lastAction(app: App, { any, ...options }: UndoOptions): Promise<Action | undefined> {
  const all = await memoriesHere(app, options);
  const places = any ? all.slice(0, 1) : all;
  const memories = places.map(({ memory }) => memory.id);
  const last = await lastJob(app.db, { memories, ...(!any && { startedBy: 'person' }) });
  const place = places.find(({ memory }) => memory.id === last?.memory);
  return last && place && { ...place, job: last.id };
}

/** The action of this id, or that a prefix of it means, wherever it is among the memories here. */
async function actionCalled(app: App, id: string, options: CommonOptions): Promise<Action | undefined> {
  const job = await findId(app.db, 'job', id);
  const row = job && (await app.db.get<{ memory: string | null }>('select memory from job where id = ?', job));
  const place = row && (await memoriesHere(app, options)).find(({ memory }) => memory.id === row.memory);
  return job && place ? { ...place, job } : undefined;
}

async function memoriesHere(app: App, options: CommonOptions): Promise<Omit<Action, 'job'>[]> {
  const cwd = process.cwd();
  const here = await app.findMemory({ cwd });
  const places: Omit<Action, 'job'>[] = here ? [{ memory: here }] : [];
  if (isNamed(options)) return places;
  for (const scope of ['user', 'local'] as const) {
    const dir = scopeDir(app.config, { memory: scope, cwd });
    const isKept = app.db.engine === 'sqlite' || scope === 'local';
    const memory = await (isKept ? app.memories.findDirectory(dir) : app.memories.findPlace(dir));
    if (memory && places.every((each) => each.memory.id !== memory.id)) places.push({ memory, scope });
  }
  return places;
}

/** Shows what would be taken back, and asks where someone is there to answer. */
async function isMeant(app: App, action: Action, { json, any }: UndoOptions): Promise<boolean> {
  const [what, ...more] = await describeAction(app, action);
  const { job } = action;
  if (json) {
    const row = await app.db.get<{ kind: string }>('select kind from job where id = ?', job);
    print({ outcome: 'unconfirmed', job, kind: row?.kind, undo: null, files: [], turns: 0, stays: [] });
  }
  note([any ? `Last: ${what}` : `You ${what}`, ...more].join('\n'));
  if (!json && (await agreed('Take it back?', `nocturne undo --last${any ? ' --any' : ''}`))) return true;
  note('Nothing was changed.');
  process.exitCode = EXIT.usage;
  return false;
}

async function describe(app: App, report: UndoReport, options: CommonOptions): Promise<string> {
  const name = `${report.kind} ${await shortId(app.db, 'job', report.job)}`;
  const stays = report.stays.map(({ kind, name: what, by }) => `  ${kind} ${what} (changed by ${by.join(', ')})`);
  if (report.outcome === 'busy') return BUSY;
  if (report.outcome === 'refused' || report.undo === null) {
    return [
      `${name}: refused, nothing was changed. Later work builds on it:`,
      ...stays,
      'Undo that first, the latest first (an edit by nocturne undo --file), or use --partial, which leaves it as it is.',
    ].join('\n');
  }
  const turns = report.turns > 0 ? `, ${sayCount(report.turns, 'turn')} undone` : '';
  const lines = [`${name}: ${report.outcome}${turns}; ${await undoCommand(app, report.undo, options)} redoes it`];
  for (const path of report.files) lines.push(`  ${path}`);
  if (stays.length > 0) lines.push('What stays:', ...stays);
  return lines.join('\n');
}

const MOST_SHOWN = 8;

/** What was done, when, by which name it is taken back, and what it wrote. */
async function describeAction({ db, config }: App, { memory, scope, job: id }: Action): Promise<string[]> {
  const job = await db.get<{ kind: string; outcome: string | null; at: string }>(
    'select kind, outcome, coalesce(ended_at, created_at) as at from job where id = ?',
    id,
  );
  if (!job) return [placeOf(memory)];
  const where = scope === 'user' ? ', in the user scope' : scope === 'local' ? ", in the team's memory" : '';
  const texts = await db.all<{ text: string }>(
    'select text from entry where job = ? order by id limit ?',
    id,
    MOST_SHOWN + 1,
  );
  const paths = await db.all<{ path: string }>(
    `select distinct v.path from version v join change c on c.id = v.change where c.job = ? and v.path is not null
     order by v.path limit ?`,
    ...[id, MOST_SHOWN + 1],
  );
  const shown = [...texts.map(({ text }) => text), ...paths.map(({ path }) => path)];
  return [
    `${sayDid(job)}, ${sayWhen(job.at, config)}${where} (${await shortId(db, 'job', id)})`,
    ...shown.slice(0, MOST_SHOWN).map((line) => `  ${line}`),
    ...(shown.length > MOST_SHOWN ? ['  …'] : []),
  ];
}

interface ReviewOptions extends CommonOptions {
  accept?: string[];
  acceptAll?: boolean;
  reject?: string[];
  rejectAll?: boolean;
  because?: string;
}

const review: CommandSpec<ReviewOptions> = {
  name: 'review',
  about: 'changes of a dream that wait for your answer',
  options: [
    ['--accept <id...>', 'make this change', { conflicts: ['acceptAll', 'reject', 'rejectAll'] }],
    ['--accept-all', 'make all changes that are not outdated', { conflicts: ['reject', 'rejectAll'] }],
    ['--reject <id...>', 'do not make this change, and do not propose it again', { conflicts: 'rejectAll' }],
    ['--reject-all', 'reject all'],
    ['--because <text>', 'with --reject: the reason that is kept'],
    ...MEMORY,
  ],
  json: '[{ id, kind, topic, reason, job, at, state, why, lines, entries, diff }]; after a decision { outcome, decided: [{ id, outcome, why, job }] }',
  more: `Where config.json says review, or dream --review, a dream changes nothing: what it would do waits here. What is
stale (its lines or an entry changed since) cannot be accepted; the next dream makes it again.
Each decision is a job that nocturne undo takes back. Exit code 3 where something asked for was not done.`,
  examples: ['review --accept prop_0123abcd'],
  async inApp(app, call) {
    const { options } = call;
    const asked = wordOf(options);
    if (asked) requirePerson(app.config, 'review');
    const memory = await app.memoryFor();
    if (asked) return decide(app, memory, { ...asked, options });
    const shown = await shownProposals(app.db, memory);
    if (options.json) return print(shown);
    if (shown.length === 0) return print(`Nothing waits for your answer in ${placeOf(memory)}.`);
    for (const each of shown) print(await describeProposal(app, each));
    print('To decide: nocturne review --accept ID or --reject ID; or in a browser: nocturne open');
  },
};

type Asked = { ids?: string[]; word: Word };

/** What is to be decided; null where nothing is. */
function wordOf(options: ReviewOptions): Asked | null {
  const { accept, acceptAll, reject, rejectAll, because } = options;
  if (because !== undefined && !reject && !rejectAll)
    throw new AppError('bad-input', '--because needs --reject or --reject-all.');
  if (reject || rejectAll) return { ids: rejectAll ? undefined : reject, word: { kind: 'reject', because } };
  return accept || acceptAll ? { ids: acceptAll ? undefined : accept, word: { kind: 'accept' } } : null;
}

/** Beside no dream. */
async function decide(
  app: App,
  memory: MemoryRow,
  { ids, word, options }: Asked & { options: ReviewOptions },
): Promise<void> {
  const named = ids && (await Promise.all(ids.map((id) => wholeId(app.db, 'proposal', id))));
  const decided = await withoutDreams(app, memory, (claim) => app.review(memory, { ids: named, word, claim })).catch(
    onAppError((): null => null, 'conflict'),
  );
  const report = { outcome: decided ? 'reviewed' : 'busy', decided: decided ?? [] };
  print(options.json ? report : decided ? await describeDecided(app, decided, options) : BUSY);
  const isDone = decided?.every(({ outcome }) => outcome === 'accepted' || outcome === 'rejected');
  process.exitCode = !decided ? EXIT.later : isDone ? EXIT.fine : EXIT.attention;
}

/** What each kind would do. */
const WOULD: Record<string, string> = {
  add: 'add to',
  change: 'change in',
  retire: 'take out of',
  drop: 'leave out',
};

/** One proposal whole. */
async function describeProposal(
  { db, config: { zone } }: App,
  { id, kind, topic, reason, entries, diff, job, state, why }: ShownProposal,
): Promise<string> {
  const told = entries.map(async ({ id: entry, text, at, quotes, speakers }) => [
    `  ${text} ${style('dim', `(${await shortId(db, 'entry', entry)})`)}`,
    ...quotes.map((quote, n) => `    “${quote}” — ${saySpeaker(speakers[n])}, ${localTime(at, zone)}`),
    ...(quotes.length === 0 ? [`    written by a person, ${localTime(at, zone)}`] : []),
  ]);
  return [
    style('bold', `${id}: ${WOULD[kind] ?? kind} ${topic ?? ''}`.trimEnd()),
    `  ${reason} (${await shortId(db, 'job', job)})`,
    ...(state === 'stale' ? [style('yellow', `  outdated: ${why} The next dream proposes it again.`)] : []),
    ...(await Promise.all(told)).flat(),
    ...(diff ? ['', colored(diff.trimEnd())] : []),
  ].join('\n');
}

async function describeDecided(app: App, decided: Decided[], options: CommonOptions): Promise<string> {
  const told = decided.map(async ({ id, outcome: ended, why, job }) => {
    const undo = job ? `; ${await undoCommand(app, job, options)} takes it back` : '';
    const next = ended === 'stale' ? ' The next dream proposes it again.' : '';
    return `${id}  ${ended}${undo}${why ? `\n  ${why.split('\n').join('\n  ')}${next}` : ''}`;
  });
  return (await Promise.all(told)).join('\n') || 'Nothing waits for your answer.';
}

function colored(diff: string): string {
  return diff
    .split('\n')
    .map((line) => (line.startsWith('+') ? style('green', line) : line.startsWith('-') ? style('red', line) : line))
    .join('\n');
}

export const commands = [undo, review] as CommandSpec[];
