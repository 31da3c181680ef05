// review: what a dream would change and waits for a person's word: as a list, one whole, or one by one with questions.

import { type ShownProposal, shownProposals } from '../../jobs/dream/dream-approval.ts';
import type { Decided, ReviewRequest, Word } from '../../jobs/review.ts';
import { AppError, onAppError } from '../base/errors.ts';
import { agentOfShell } from '../base/process.ts';
import { localTime } from '../base/time.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { shortId, wholeId } from '../memory/short-ids.ts';
import { canAsk, Questions } from '../terminal/ask.ts';
import { EXIT, note, print, style } from '../terminal/output.ts';
import { saySpeaker } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { withoutDreams } from '../worker/job-bounds.ts';
import { placeOf } from '../worker/whose-memory.ts';
import { type CommonOptions, MEMORY, type OptionSpec, requirePerson, undoCommand } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

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
  about: 'changes of a dream that wait for your answer',
  options: [
    alone('--list', 'only list what waits'),
    alone('--show <id>', 'one proposal whole: its reason, its quotes, its diff'),
    alone('--accept <id...>', 'make this change'),
    alone('--accept-all', 'make all changes that are not outdated'),
    alone('--reject <id...>', 'do not make this change, and do not propose it again'),
    alone('--reject-all', 'reject all'),
    ['--because <text>', 'with --reject: the reason that is kept'],
    alone('--edit <id>', 'make it in your own words, which --text has'),
    ['--text <text>', 'with --edit: the new line, or several'],
    ['--topic <name>', 'with --edit of an entry that would be left out: the topic it goes into'],
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
    const at: Place = { app, memory: await app.memoryFor(), options };
    if (asked) return decideNow(at, asked);
    const shown = await shownProposals(app.db, at.memory);
    if (options.show !== undefined) return showOne(at, shown, options.show);
    if (options.json) return print(shown);
    if (options.list || shown.length === 0 || !canAsk() || agentOfShell(app.config.environment))
      return print(listOf(shown, placeOf(at.memory)));
    process.exitCode = exitOf(await reviewOneByOne(at, shown));
  },
};

interface Place {
  app: App;
  memory: MemoryRow;
  options: ReviewOptions;
}

interface ReviewReport {
  /** `busy`: a dream is at work. */
  outcome: 'reviewed' | 'busy';
  decided: Decided[];
}

type Asked = { ids?: string[]; word: Word };

/** What is to be decided without questions; null where nothing is. */
function wordOf(options: ReviewOptions): Asked | null {
  const { accept, acceptAll, reject, rejectAll, because, edit, text, topic } = options;
  if (because !== undefined && !reject && !rejectAll) throw misplaced('--because', '--reject or --reject-all');
  if ((text !== undefined || topic !== undefined) && edit === undefined)
    throw misplaced(text === undefined ? '--topic' : '--text', '--edit');
  if (edit !== undefined && text === undefined) throw misplaced('--edit', '--text');
  if (edit !== undefined && text !== undefined) return { ids: [edit], word: { kind: 'edit', text, topic } };
  if (reject || rejectAll) return { ids: rejectAll ? undefined : reject, word: { kind: 'reject', because } };
  return accept || acceptAll ? { ids: acceptAll ? undefined : accept, word: { kind: 'accept' } } : null;
}

function misplaced(option: string, beside: string): AppError {
  return new AppError('bad-input', `${option} needs ${beside}.`);
}

async function decideNow(at: Place, { ids, word }: Asked): Promise<void> {
  const named = ids && (await Promise.all(ids.map((id) => wholeId(at.app.db, 'proposal', id))));
  const report = await decide(at, { ids: named, word });
  print(at.options.json ? report : await describeReport(at, report));
  process.exitCode = exitOf(report);
}

/** Beside no dream. */
async function decide({ app, memory }: Place, request: ReviewRequest): Promise<ReviewReport> {
  const decided = await withoutDreams(app, memory, (claim) => app.review(memory, { ...request, claim })).catch(
    onAppError((): null => null, 'conflict'),
  );
  return decided ? { outcome: 'reviewed', decided } : { outcome: 'busy', decided: [] };
}

async function showOne({ app, options }: Place, shown: ShownProposal[], given: string): Promise<void> {
  const id = await wholeId(app.db, 'proposal', given);
  const found = shown.find((each) => each.id === id);
  if (!found)
    throw new AppError('bad-input', `No proposal ${id} is waiting.`, {
      remedy: 'nocturne review --list shows what waits.',
    });
  print(options.json ? found : await describeProposal(app, found));
}

function exitOf({ outcome, decided }: ReviewReport): number {
  if (outcome === 'busy') return EXIT.later;
  const isDone = (each: Decided) => ['accepted', 'edited', 'rejected'].includes(each.outcome);
  return decided.every(isDone) ? EXIT.fine : EXIT.attention;
}

/** Asks until there is nothing left, or the person quits; answers what was decided. */
async function reviewOneByOne(at: Place, shown: ShownProposal[]): Promise<ReviewReport> {
  const { app, memory } = at;
  const decided: Decided[] = [];
  const questions = new Questions();
  try {
    for (const [n, { id }] of shown.entries()) {
      // What was accepted before may have changed it.
      const [proposal] = await shownProposals(app.db, memory, [id]);
      if (!proposal) continue;
      note(`\n(${n + 1} of ${shown.length}) ${await describeProposal(app, proposal)}`);
      const said = await askUntilDone(at, proposal, questions);
      if (said === 'quit') break;
      if (said === 'skip') continue;
      if (said.outcome === 'busy') return { outcome: 'busy', decided };
      decided.push(...said.decided);
    }
  } finally {
    questions.close();
  }
  return { outcome: 'reviewed', decided };
}

/** Words that cannot stand there are no decision: what is proposed waits as before, and is asked about again. */
async function askUntilDone(
  at: Place,
  proposal: ShownProposal,
  questions: Questions,
): Promise<ReviewReport | 'skip' | 'quit'> {
  for (;;) {
    const word = await askFor(proposal, questions);
    if (word === 'quit' || word === 'skip') return word;
    const report = await decide(at, { ids: [proposal.id], word });
    note(await describeReport(at, report));
    if (word.kind !== 'edit' || report.decided[0]?.outcome !== 'refused') return report;
  }
}

/** What is stale cannot be accepted, and what only takes lines away has no words. */
async function askFor(proposal: ShownProposal, questions: Questions): Promise<Word | 'skip' | 'quit'> {
  const isStale = proposal.state === 'stale';
  const hasWords = !isStale && (proposal.lines.length > 0 || proposal.kind === 'drop');
  const keys = `${isStale ? '' : '[a]ccept '}[r]eject ${hasWords ? '[e]dit ' : ''}[s]kip [q]uit: `;
  for (;;) {
    const answer = await questions.ask(keys);
    const key = answer === null ? 'q' : answer.trim().toLowerCase()[0];
    if (key === 'q') return 'quit';
    if (key === 's') return 'skip';
    if (key === 'a' && !isStale) return { kind: 'accept' };
    if (key === 'e' && hasWords) return inWords(proposal, questions);
    if (key === 'r') {
      const because = await questions.ask('Why (may be empty): ');
      return { kind: 'reject', because: because?.trim() || undefined };
    }
  }
}

/** Line by line, each as it would stand there; one that is emptied is left out. */
async function inWords({ kind, topic, lines, entries }: ShownProposal, questions: Questions): Promise<Word> {
  const words = lines.length > 0 ? lines : entries.map(({ text }) => text);
  const said = await Array.fromAsync(words, (line, at) => {
    const which = words.length > 1 ? ` (${at + 1} of ${words.length})` : '';
    return questions.ask(`In your words${which}: `, line);
  });
  const isNowhere = kind === 'drop' && topic === null;
  const into = isNowhere ? await questions.ask('The topic that it goes into: ') : undefined;
  return { kind: 'edit', text: said.join('\n'), topic: into?.trim() || undefined };
}

/** What each kind would do. */
const WOULD: Record<string, string> = {
  add: 'add to',
  change: 'change in',
  retire: 'take out of',
  drop: 'leave out',
};

const sayStale = ({ state, why }: ShownProposal, indent: string) =>
  state === 'stale' ? [style('yellow', `${indent}outdated: ${why} The next dream proposes it again.`)] : [];

function listOf(shown: ShownProposal[], memory: string): string {
  if (shown.length === 0) return `Nothing waits for your answer in ${memory}.`;
  return shown
    .flatMap((each) => {
      const { id, kind, topic, lines, entries, reason } = each;
      const says = lines[0] ?? entries[0]?.text ?? reason;
      return [`${style('bold', id)}  ${WOULD[kind] ?? kind} ${topic ?? ''}: ${says}`, ...sayStale(each, '    ')];
    })
    .join('\n');
}

/** One proposal whole. */
async function describeProposal({ db, config: { zone } }: App, proposal: ShownProposal): Promise<string> {
  const { id, kind, topic, reason, entries, diff, job } = proposal;
  const told = entries.map(async ({ id: entry, text, at, quotes, speakers }) => [
    `  ${text} ${style('dim', `(${await shortId(db, 'entry', entry)})`)}`,
    ...quotes.map((quote, n) => `    “${quote}” — ${saySpeaker(speakers[n])}, ${localTime(at, zone)}`),
    ...(quotes.length === 0 ? [`    written by a person, ${localTime(at, zone)}`] : []),
  ]);
  return [
    style('bold', `${id}: ${WOULD[kind] ?? kind} ${topic ?? ''}`.trimEnd()),
    `  ${reason} (${await shortId(db, 'job', job)})`,
    ...sayStale(proposal, '  '),
    ...(await Promise.all(told)).flat(),
    ...(diff ? ['', colored(diff.trimEnd())] : []),
  ].join('\n');
}

async function describeReport({ app, options }: Place, { outcome, decided }: ReviewReport): Promise<string> {
  if (outcome === 'busy') return 'A dream is running on this memory; try again when it has ended.';
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

export const commands: CommandSpec[] = [review];
