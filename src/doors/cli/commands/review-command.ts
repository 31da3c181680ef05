// review: what a dream proposed, shown one by one or as a list, and what a person says to it. One by one each is shown
// whole, then a key is asked for; what is decided is done at once.

import { join } from 'node:path';
import { listProposals, type ShownProposal } from '../../../../jobs/review/waiting-proposals.ts';
import type { Decided, ReviewReport, Word } from '../../../../jobs/review.ts';
import type { Config } from '../../../base/config/config.ts';
import { AppError, isAppError } from '../../../base/errors.ts';
import { readTextNow, removeFile, writeWhole } from '../../../base/files/files.ts';
import { agentOfShell } from '../../../base/process.ts';
import { localTime } from '../../../base/time.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId, wholeId } from '../../../memory/ledger/short-ids.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { App } from '../../compose.ts';
import type { CommandSpec, OptionSpec } from '../spec.ts';
import { canAsk, openEditor, Questions } from '../terminal/ask.ts';
import { type CommonOptions, inApp, MEMORY, requirePerson, undoCommand } from '../terminal/options.ts';
import { EXIT, note, print, style } from '../terminal/output.ts';

interface ReviewOptions extends CommonOptions {
  list?: boolean;
  show?: string;
  accept?: string[];
  acceptAll?: boolean;
  reject?: string[];
  rejectAll?: boolean;
  because?: string;
  edit?: string;
  text?: string;
  topic?: string;
}

/** What review is asked to do: one of these, or to ask one by one. Looking is never deciding as well. */
const WORDS = ['list', 'show', 'accept', 'acceptAll', 'reject', 'rejectAll', 'edit'];

function alone(flags: string, about: string): OptionSpec {
  const own = flags.replace(/^--| .*$/g, '').replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return [flags, about, { conflicts: WORDS.filter((word) => word !== own) }];
}

const review: CommandSpec<ReviewOptions> = {
  name: 'review',
  about: 'what a dream would change and waits for your word',
  group: 'Every day',
  options: [
    alone('--list', 'only list what waits'),
    alone('--show <id>', 'one proposal whole: its reason, its quotes, its diff'),
    alone('--accept <id...>', 'do it'),
    alone('--accept-all', 'do all that is as it was when it was proposed'),
    alone('--reject <id...>', 'leave it, and do not propose it again'),
    alone('--reject-all', 'leave all of it'),
    ['--because <text>', 'with --reject: the reason that is kept'],
    alone('--edit <id>', 'do it in your own words: --text, or in your editor'),
    ['--text <text>', 'with --edit: the line; several lines, several lines'],
    ['--topic <name>', 'with --edit of what would be left out: the topic that it goes into'],
    ...MEMORY,
  ],
  json: '[{ id, kind, topic, reason, job, at, state, why, lines, entries, diff }]; after a decision { outcome, decided: [{ id, outcome, why, job }] }',
  more: `With review: true in config.json, or dream --review, a dream changes nothing: what it would do waits here. What is
stale (its topic or an entry changed since) cannot be accepted; the next dream makes it again.
Each decision is a job that nocturne undo takes back. Exit code 3 where something asked for was not done.`,
  examples: ['review --accept prop_0123abcd'],
  run: inApp(async (app, { options }) => {
    const asked = wordOf(options);
    if (asked) requirePerson(app.config, 'review');
    const store = await app.storeFor();
    if (asked) return decide(app, store, { ...asked, options });
    const shown = await listProposals(store);
    const place = placeOf(app, store, options);
    if (options.show !== undefined) return showOne(shown, { id: options.show, json: options.json, place });
    if (options.json) return print(shown);
    if (options.list || shown.length === 0 || !canAsk() || agentOfShell(app.config.environment))
      return print(listOf(shown, store.id));
    process.exitCode = exitOf(await reviewOneByOne(app, { store, shown, place }));
  }),
};

type Asked = { ids?: string[]; word?: Word; edit?: string; topic?: string };

/** What is to be decided without questions; null where nothing is. */
function wordOf(options: ReviewOptions): Asked | null {
  const { accept, acceptAll, reject, rejectAll, because, edit, text, topic } = options;
  if (because !== undefined && !reject && !rejectAll) throw misplaced('--because', '--reject or --reject-all');
  if ((text !== undefined || topic !== undefined) && edit === undefined)
    throw misplaced(text === undefined ? '--topic' : '--text', '--edit');
  if (edit !== undefined && text === undefined) return { edit, topic };
  if (edit !== undefined) return { ids: [edit], word: { kind: 'edit', text: text ?? '', topic } };
  if (reject || rejectAll) return { ids: rejectAll ? undefined : reject, word: { kind: 'reject', because } };
  return accept || acceptAll ? { ids: acceptAll ? undefined : accept, word: { kind: 'accept' } } : null;
}

function misplaced(option: string, beside: string): AppError {
  return new AppError('bad-input', `${option} belongs to ${beside}, which was not given.`);
}

async function decide(
  app: App,
  store: Store,
  { options, ...asked }: Asked & { options: ReviewOptions },
): Promise<void> {
  const whole = (id: string) => wholeId(store.ledger, 'proposal', id);
  let { ids, word } = { ...asked, ids: asked.ids?.map(whole) };
  if (asked.edit !== undefined) {
    const id = whole(asked.edit);
    const [shown] = await listProposals(store, [id]);
    const text = shown ? editText(app.config, shown) : '';
    [ids, word] = [[id], { kind: 'edit', text, topic: asked.topic }];
  }
  const report = await app.review(store, { ids, word: word as Word });
  print(options.json ? report : describeReport(report, placeOf(app, store, options)));
  process.exitCode = exitOf(report);
}

function placeOf(app: App, { ledger }: Store, { memory, scope }: ReviewOptions): Place {
  return { memory, scope, ledger, zone: app.config.zone };
}

function showOne(
  shown: ShownProposal[],
  { id: given, json, place }: { id: string; json?: boolean; place: Place },
): void {
  const id = wholeId(place.ledger, 'proposal', given);
  const found = shown.find((each) => each.id === id);
  if (!found) {
    throw new AppError('bad-input', `Nothing waits as ${id}.`, { remedy: 'nocturne review --list names what waits.' });
  }
  print(json ? found : describeProposal(found, place));
}

function exitOf({ outcome, decided }: ReviewReport): number {
  if (outcome === 'busy') return EXIT.later;
  const isDone = (each: Decided) => ['accepted', 'edited', 'rejected'].includes(each.outcome);
  return decided.every(isDone) ? EXIT.fine : EXIT.attention;
}

/** Asks until there is nothing left, or the person quits; answers what was decided. */
async function reviewOneByOne(
  app: App,
  { store, shown, place }: { store: Store; shown: ShownProposal[]; place: Place },
): Promise<ReviewReport> {
  const decided: Decided[] = [];
  const questions = new Questions();
  try {
    for (const [at, { id }] of shown.entries()) {
      // What was accepted before may have changed it.
      const [proposal] = await listProposals(store, [id]);
      if (!proposal) continue;
      note(`\n(${at + 1} of ${shown.length}) ${describeProposal(proposal, place)}`);
      const left = shown.slice(at).map((each) => each.id);
      const said = await askUntilDone(app, store, { proposal, left, questions, place });
      if (said === 'quit') break;
      if (said === 'skip') continue;
      if (said.outcome === 'busy') return { outcome: 'busy', decided };
      decided.push(...said.decided);
      if (said.decided.length > 1) break;
    }
  } finally {
    questions.close();
  }
  return { outcome: 'reviewed', decided };
}

/** `left`: it, and those that wait behind it. */
type Asking = { proposal: ShownProposal; left: string[]; questions: Questions; place: Place };

/** Words that cannot stand there are no decision: what is proposed waits as before, and is asked about again. */
async function askUntilDone(app: App, store: Store, asking: Asking): Promise<ReviewReport | 'skip' | 'quit'> {
  for (;;) {
    const said = await askFor(app, asking);
    if (said === 'quit' || said === 'skip') return said;
    const word: Word = said === 'all' ? { kind: 'accept' } : said;
    const ids = said === 'all' ? asking.left : [asking.proposal.id];
    const report = await app.review(store, { ids, word });
    note(describeReport(report, asking.place));
    if (word.kind !== 'edit' || report.decided[0]?.outcome !== 'refused') return report;
  }
}

async function askFor(app: App, { proposal, left, questions }: Asking): Promise<Word | 'all' | 'skip' | 'quit'> {
  const keys = keysFor(proposal, left.length);
  const names = Object.values(keys).map(([name]) => name);
  for (;;) {
    const answer = await questions.ask(`${names.join(' ')}: `);
    const typed = answer === null ? 'q' : (answer.trim().toLowerCase()[0] ?? '');
    const key = Object.hasOwn(keys, typed) ? typed : '?';
    if (key === '?')
      note(
        Object.values(keys)
          .map(([name, about]) => `  ${name.padEnd(9)} ${about}`)
          .join('\n'),
      );
    if (key === 'q') return 'quit';
    if (key === 's') return 'skip';
    if (key === 'l') {
      if (await questions.confirm(`Accept all ${left.length} that wait?`)) return 'all';
    }
    if (key === 'r') {
      const because = await questions.ask('Why (may be empty): ');
      return { kind: 'reject', because: because?.trim() || undefined };
    }
    if (key === 'a') return { kind: 'accept' };
    if (key === 'e') {
      try {
        return await inWords(app, proposal, questions);
      } catch (error) {
        // An editor that failed, or was left by force, has said nothing.
        if (!isAppError(error, 'bad-input')) throw error;
        note(error.message);
      }
    }
  }
}

/** What can be said to it, and what that does: nobody accepts what is stale, and what only takes lines away has no words. */
function keysFor({ state, kind, lines }: ShownProposal, left: number): Record<string, [name: string, about: string]> {
  const isStale = state === 'stale';
  const hasWords = lines.length > 0 || kind === 'drop';
  return {
    ...(!isStale && { a: ['[a]ccept', 'do it'] }),
    r: ['[r]eject', 'leave it; it is not proposed again'],
    ...(!isStale && hasWords && { e: ['[e]dit', 'do it in your own words, which begin as they stand above'] }),
    s: ['[s]kip', 'decide it later: it goes on waiting'],
    q: ['[q]uit', 'decide the rest later'],
    ...(left > 1 && { l: ['a[l]l', `accept it and what waits behind it, ${left} in all; what is stale waits`] }),
    '?': ['[?]', 'this help'],
  };
}

async function inWords(app: App, proposal: ShownProposal, questions: Questions): Promise<Word> {
  const { editor } = app.config;
  const words = editor ? questions.lend(() => editText(app.config, proposal)) : await askWords(proposal, questions);
  const isNowhere = proposal.kind === 'drop' && proposal.topic === null;
  const topic = isNowhere ? await questions.ask('The topic that it goes into: ') : undefined;
  return { kind: 'edit', text: words, topic: topic?.trim() || undefined };
}

/** Line by line, each as it would stand there; one that is emptied is left out. */
async function askWords(proposal: ShownProposal, questions: Questions): Promise<string> {
  const lines = wordsOf(proposal);
  const said = await Array.fromAsync(lines, (line, at) => {
    const which = lines.length > 1 ? ` (${at + 1} of ${lines.length})` : '';
    return questions.ask(`In your words${which}: `, line);
  });
  return said.join('\n');
}

function wordsOf({ lines, entries }: ShownProposal): string[] {
  return lines.length > 0 ? lines : entries.map(({ text }) => text);
}

/** What a person makes of the words. Throws `bad-input` where there is no editor, or where it failed. */
function editText({ editor, home }: Pick<Config, 'editor' | 'home'>, proposal: ShownProposal): string {
  if (editor === undefined || !process.stdin.isTTY) {
    throw new AppError('bad-input', 'There are no words: no --text, and no editor at a terminal.', {
      remedy: 'Give --text "…", or set EDITOR.',
    });
  }
  const path = join(home, `${proposal.id}.txt`);
  writeWhole(path, `${wordsOf(proposal).join('\n')}\n`);
  try {
    if (!openEditor(editor, path)) throw new AppError('bad-input', `${editor} failed, so nothing was changed.`);
    return (readTextNow(path) ?? '').trim();
  } finally {
    removeFile(path);
  }
}

/** Whose proposals they are, as it was said on the command line. */
type Place = Pick<CommonOptions, 'memory' | 'scope'> & { ledger: Ledger; zone: string };

/** What each kind would do. */
const WOULD: Record<string, string> = {
  add: 'add to',
  change: 'change in',
  retire: 'take out of',
  archive: 'put away from',
  drop: 'leave out',
};

function listOf(shown: ShownProposal[], memory: string): string {
  if (shown.length === 0) return `Nothing waits for a word in ${memory}.`;
  return shown
    .map(({ id, kind, topic, state, why, lines, entries, reason }) => {
      const says = lines[0] ?? entries[0]?.text ?? reason;
      const stale = state === 'stale' ? style('yellow', `\n    stale: ${why} The next dream makes it again.`) : '';
      return `${style('bold', id)}  ${WOULD[kind] ?? kind} ${topic ?? ''}: ${says}${stale}`;
    })
    .join('\n');
}

/** One proposal whole. */
function describeProposal(proposal: ShownProposal, { ledger, zone }: Place): string {
  const { id, kind, topic, reason, entries, diff, state, why, job } = proposal;
  return [
    style('bold', `${id}: ${WOULD[kind] ?? kind} ${topic ?? ''}`.trimEnd()),
    `  ${reason} (${shortId(ledger, 'job', job)})`,
    ...(state === 'stale' ? [style('yellow', `  stale: ${why} The next dream makes it again.`)] : []),
    ...entries.flatMap(({ id: entry, text, by, at, quotes }) => [
      `  ${text} ${style('dim', `(${shortId(ledger, 'entry', entry)})`)}`,
      ...quotes.map((quote) => `    “${quote}” — ${by}, ${localTime(at, zone)}`),
      ...(quotes.length === 0 ? [`    written by a person, ${localTime(at, zone)}`] : []),
    ]),
    ...(diff ? ['', colored(diff.trimEnd())] : []),
  ].join('\n');
}

function describeDecided({ id, outcome, why, job }: Decided, place: Place): string {
  const undo = job ? `; ${undoCommand(job, place)} takes it back` : '';
  const next = outcome === 'stale' ? ' The next dream makes it again.' : '';
  const found = why ? `\n  ${why.split('\n').join('\n  ')}${next}` : '';
  return `${id}  ${outcome}${undo}${found}`;
}

function describeReport({ outcome, decided }: ReviewReport, place: Place): string {
  if (outcome === 'busy') return 'A dream works on this memory; try again when it is done.';
  return decided.map((each) => describeDecided(each, place)).join('\n') || 'Nothing waits for a word.';
}

function colored(diff: string): string {
  return diff
    .split('\n')
    .map((line) => {
      if (line.startsWith('+')) return style('green', line);
      return line.startsWith('-') ? style('red', line) : line;
    })
    .join('\n');
}

export const commands: CommandSpec[] = [review];
