// undo: takes one action back, files and ledger together. Which is meant is looked for in the memories that belong to
// where one stands, the project's, the user's and the working tree's, or in the one that is named; without a name it is
// the last that a person began.

import type { UndoReport } from '../../../../jobs/undo.ts';
import { AppError, onAppError } from '../../../base/errors.ts';
import { canonicalPath } from '../../../base/files/directories.ts';
import { statNow } from '../../../base/files/files.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { type Pushed, pushedBy } from '../../../memory/history/job-changes.ts';
import { commitsOf, jobRow, lastChangingJob } from '../../../memory/ledger/job-rows.ts';
import { findId, shortId } from '../../../memory/ledger/short-ids.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { App } from '../../compose.ts';
import { type MemoryScope, scopeDir } from '../../places.ts';
import type { CommandSpec } from '../spec.ts';
import { canAsk, confirm } from '../terminal/ask.ts';
import { type CommonOptions, inApp, MEMORY, requirePerson, undoCommand } from '../terminal/options.ts';
import { EXIT, exitFor, note, print } from '../terminal/output.ts';
import { sayWhen } from '../terminal/phrases.ts';

interface UndoOptions extends CommonOptions {
  last?: boolean;
  any?: boolean;
  partial?: boolean;
}

const undo: CommandSpec<UndoOptions, [string | undefined]> = {
  name: 'undo',
  about: 'take back what you or a job did',
  group: 'Every day',
  args: [['[action]', 'which (job_…, or what it begins with); default: your last one, after asking']],
  options: [
    ['--last', 'your last one, without asking'],
    ['--any', 'the last one, whoever began it: a night, a hook, an agent'],
    ['--partial', 'take back what nothing rests on, and leave the rest'],
    ...MEMORY,
  ],
  json: '{ outcome, job, kind, undo, files, turns, stays, pushed: [{ path, to }] }',
  more: `Yours is what you did by a command here: remember, forget, pin, restore, edit, review, import, share, extract, dream. An
undo can be undone too. What an undone extraction covered is extracted again by nocturne extract or reprocess only.`,
  examples: ['undo', 'undo --last'],
  run: inApp(async (app, { options, args: [id] }) => {
    requirePerson(app.config, 'undo');
    if (id !== undefined && (options.last || options.any)) {
      throw new AppError('bad-input', 'Say what to undo: one action, or the last one, not both.');
    }
    if (id?.startsWith('memstore_')) return restoreStore(id, options, app);
    const action = id === undefined ? await lastAction(app, options) : await actionCalled(app, id, options);
    if (!action) throw unknown(id, options);
    if (id === undefined && !options.last && !(await isMeant(app, action, options))) return;
    const report = await app.undo(action.store, { job: action.job, partial: options.partial });
    print(options.json ? report : describe(report, action, options));
    process.exitCode = exitFor([report.outcome]);
  }),
};

/** What `nocturne stores` removed. */
async function restoreStore(id: string, { json }: UndoOptions, app: App): Promise<void> {
  const { storesOf } = await import('../../clients/rows.ts');
  const { name, dir } = await (await storesOf(app)).restore(id);
  print(json ? { outcome: 'undone', job: null, undo: id } : `${id} ${name} is back: ${dir}`);
}

function unknown(id: string | undefined, { any }: UndoOptions): AppError {
  const what =
    id !== undefined
      ? `There is no job ${id} here.`
      : any
        ? 'There is no job left to undo here.'
        : 'There is nothing here that you did and that is not taken back already.';
  const more = id === undefined && !any ? 'nocturne undo --any shows what was done last, whoever began it; ' : '';
  return new AppError('bad-input', what, {
    remedy: `${more}nocturne status and nocturne show --history name the jobs.`,
  });
}

/** Shows what would be taken back, and asks where someone is there to answer. */
async function isMeant(app: App, action: Action, { json, any }: UndoOptions): Promise<boolean> {
  const [what, ...more] = describeAction(action, app);
  if (json) {
    const { job, store } = action;
    const nothing = { undo: null, files: [], turns: 0, stays: [], pushed: [] };
    print({ outcome: 'unconfirmed', job, kind: jobRow(store.ledger, job)?.kind, ...nothing });
  }
  note(
    [
      any ? `Last: ${what}` : `You ${what}`,
      ...more,
      ...describePushed(await pushedBy(action.store, action.job, app.config.environment)),
    ].join('\n'),
  );
  if (!json && canAsk() && (await confirm('Take it back?'))) return true;
  if (json || !canAsk()) note(`Nothing was changed: nocturne undo --last${any ? ' --any' : ''} takes it back.`);
  else note('Nothing was changed.');
  process.exitCode = EXIT.usage;
  return false;
}

function describe(report: UndoReport, { store: { ledger }, scope }: Action, options: CommonOptions): string {
  const name = `${report.kind} ${shortId(ledger, 'job', report.job)}`;
  const stays = report.stays.map(
    ({ kind, name: what, by }) =>
      `  ${kind} ${what} (changed by ${by.map((each) => each.replace(/\bjob_\w+/, (job) => shortId(ledger, 'job', job))).join(', ')})`,
  );
  if (report.outcome === 'busy') return `${name}: busy; another process works on it. Try again when it is done.`;
  if (report.outcome === 'refused') {
    return [
      `${name}: refused, nothing was changed. Later work rests on it:`,
      ...stays,
      'Undo that first, or use --partial, which leaves it as it is.',
    ].join('\n');
  }
  const turns = report.turns > 0 ? `, ${sayCount(report.turns, 'turn')} undone` : '';
  const undo = undoCommand(report.undo, { scope, ...options, ledger });
  const lines = [`${name}: ${report.outcome}${turns}; ${undo} redoes it`];
  for (const path of report.files) lines.push(`  ${path}`);
  if (stays.length > 0) lines.push('What stays:', ...stays);
  return [...lines, ...describePushed(report.pushed)].join('\n');
}

export const commands: CommandSpec[] = [undo];

interface Action {
  store: Store;
  /** Whose memory, where that is not the project's or the one that was named. */
  scope?: MemoryScope;
  job: string;
}

const MOST_SHOWN = 8;

/** The last one that a person began, or with `any` whoever did, in the project's memory or the named one; undefined: none. */
async function lastAction(app: App, options: CommonOptions & { any?: boolean }): Promise<Action | undefined> {
  if (options.any) {
    const store = await app.storeFor();
    const job = lastChangingJob(store.ledger)?.id;
    return job === undefined ? undefined : { store, job };
  }
  const found = (await memoriesHere(app, options)).flatMap((place) => {
    const last = lastChangingJob(place.store.ledger, { byPerson: true });
    return last ? [{ ...place, job: last.id, at: last.at }] : [];
  });
  return found.toSorted((a, b) => a.at.localeCompare(b.at)).at(-1);
}

/** The action of this id, or that a prefix of it means, wherever it is among the memories here. */
async function actionCalled(app: App, id: string, options: CommonOptions): Promise<Action | undefined> {
  const found = (await memoriesHere(app, options)).flatMap((place) => {
    const job = findId(place.store.ledger, 'job', id);
    return job === undefined ? [] : [{ ...place, job }];
  });
  if (found.length < 2) return found[0];
  const whole = found.find(({ job }) => job === id);
  if (whole) return whole;
  throw new AppError('bad-input', `${JSON.stringify(id)} may mean ${found.length} jobs.`, {
    remedy: `Say which: ${found.map(({ job, store }) => `${shortId(store.ledger, 'job', job)} in ${store.id}`).join(', ')}`,
  });
}

async function memoriesHere(app: App, options: CommonOptions): Promise<Omit<Action, 'job'>[]> {
  const cwd = process.cwd();
  const places: Omit<Action, 'job'>[] = [{ store: await app.storeFor({ cwd }) }];
  if (options.memory !== undefined || options.scope !== undefined) return places;
  for (const scope of ['user', 'local'] as const) {
    const dir = canonicalPath(scopeDir(app.config, { memory: scope, cwd }));
    if (app.keeping) {
      const store = scope === 'user' ? await app.keeping.findStore(dir) : null;
      if (store && places.every((each) => each.store.id !== store.id)) places.push({ store, scope });
      continue;
    }
    const isWorkedIn = statNow(`${dir}/.nocturne/ledger.db`)?.isFile;
    if (!isWorkedIn || places.some(({ store }) => store.dir === dir)) continue;
    // What cannot be opened holds nothing that could be taken back now; who names it is told why.
    const store = await app.store(dir).catch(onAppError(() => null));
    if (store) places.push({ store, scope });
  }
  return places;
}

const DID: Record<string, string> = {
  extract: 'learned from a session',
  dream: 'dreamed',
  reprocess: 'learned a session again',
  remember: 'remembered',
  forget: 'forgot',
  pin: 'pinned a topic',
  unpin: 'let dreams change a topic again',
  restore: 'made a file what it was',
  edit: 'edited a file',
  review: 'decided in review',
  import: 'imported an archive',
  share: 'shared with the team',
  init: 'began topics',
  'apply-snapshot': 'took in a snapshot',
};

/** What was done, when, by which name it is taken back, and what it wrote. */
function describeAction({ store: { ledger }, scope, job: id }: Action, { config }: App): string[] {
  const job = jobRow(ledger, id);
  if (!job) return [];
  const when = sayWhen(job.endedAt ?? job.createdAt, config);
  const where = scope === 'user' ? ', in the user scope' : scope === 'local' ? ", in the team's memory" : '';
  const about = ledger.all<{ text: string }>('select text from entry where job = ? limit ?', id, MOST_SHOWN + 1);
  const sql = `select distinct path from version where "commit" in (select value from json_each(?)) and path is not null
    order by path limit ?`;
  const files = ledger.all<{ path: string }>(sql, JSON.stringify(commitsOf(ledger, id)), MOST_SHOWN + 1);
  const shown = [...about.map(({ text }) => text), ...files.map(({ path }) => path)];
  return [
    `${DID[job.kind] ?? `did ${job.kind}`}, ${when}${where} (${shortId(ledger, 'job', id)})`,
    ...shown.slice(0, MOST_SHOWN).map((line) => `  ${line}`),
    ...(shown.length > MOST_SHOWN ? ['  …'] : []),
  ];
}

function describePushed(pushed: Pushed[]): string[] {
  if (pushed.length === 0) return [];
  return [
    'It has left this machine: others have what was pushed, until you commit and push the file without it.',
    ...pushed.map(({ path, to }) => `  ${path} (${to.join(', ')})`),
  ];
}
