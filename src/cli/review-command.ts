// review: what a dream would change and waits for a person's word: each whole, and what the person says of it.

import { type Decided, type ShownProposal, shownProposals, type Word } from '../../jobs/review.ts';
import { AppError, onAppError } from '../base/errors.ts';
import { localTime } from '../base/time.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { shortId, wholeId } from '../memory/short-ids.ts';
import { EXIT, print, style } from '../terminal/output.ts';
import { saySpeaker } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { withoutDreams } from '../worker/job-bounds.ts';
import { placeOf } from '../worker/whose-memory.ts';
import { BUSY, type CommonOptions, MEMORY, requirePerson, undoCommand } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

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

export const commands: CommandSpec[] = [review];
