// review: what a dream proposed, shown one by one or as a list, and what a person says to it.

import { AppError } from '../../base/errors.ts';
import type { CommandSpec, OptionSpec } from '../../doors/cli/spec.ts';
import { canAsk } from '../../doors/cli/terminal/ask.ts';
import { type CommonOptions, MEMORY, withApp } from '../../doors/cli/terminal/options.ts';
import { EXIT, print } from '../../doors/cli/terminal/output.ts';
import type { App } from '../../doors/compose.ts';
import { wholeId } from '../../memory/ledger/short-ids.ts';
import type { Store } from '../../memory/store/store.ts';
import { describeProposal, describeReport, listOf, type Place } from './describe.ts';
import { listProposals, type ShownProposal } from './list.ts';
import { editText, reviewOneByOne } from './one-by-one.ts';
import type { Decided, ReviewReport, Word } from './review.ts';
import { reviewIn } from './review.ts';

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
stale (its topic or an entry changed since) cannot be accepted; the next dream makes it anew.
Each decision is a job that nocturne undo takes back. Exit code 3 where something asked for was not done.`,
  examples: ['review --accept prop_0123abcd'],
  run: (call) =>
    withApp(call, async (app) => {
      const { options } = call;
      const store = await app.storeFor({ cwd: process.cwd() });
      const asked = wordOf(options);
      if (asked) return decide(app, store, { ...asked, options });
      const shown = await listProposals(store);
      const place = placeOf(app, store, options);
      if (options.show !== undefined) return showOne(shown, { id: options.show, json: options.json, place });
      if (options.json) return print(JSON.stringify(shown));
      if (options.list || shown.length === 0 || !canAsk()) return print(listOf(shown, store.dir));
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
  const report = await reviewIn(app, { at: store, request: { ids, word: word as Word } });
  print(options.json ? JSON.stringify(report) : describeReport(report, placeOf(app, store, options)));
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
  print(json ? JSON.stringify(found) : describeProposal(found, place));
}

function exitOf({ outcome, decided }: ReviewReport): number {
  if (outcome === 'busy') return EXIT.later;
  const isDone = (each: Decided) => ['accepted', 'edited', 'rejected'].includes(each.outcome);
  return decided.every(isDone) ? EXIT.fine : EXIT.attention;
}

export const commands: CommandSpec[] = [review];
