// Proposals at a terminal, one by one: shown whole, then a key. What is decided is done at once.

import { join } from 'node:path';
import type { Config } from '../../base/config/config.ts';
import { AppError, isAppError } from '../../base/errors.ts';
import { readTextNow, removeFile, writeWhole } from '../../base/files/files.ts';
import { openEditor, Questions } from '../../doors/cli/terminal/ask.ts';
import { note } from '../../doors/cli/terminal/output.ts';
import type { App } from '../../doors/compose.ts';
import type { Store } from '../../memory/store/store.ts';
import { describeProposal, describeReport, type Place } from './describe.ts';
import { listProposals, type ShownProposal } from './list.ts';
import type { Decided, ReviewReport, Word } from './review.ts';
import { reviewIn } from './review.ts';

/** Asks until there is nothing left, or the person quits; answers what was decided. */
export async function reviewOneByOne(
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
    const report = await reviewIn(app, { at: store, request: { ids, word } });
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
      const sure = await questions.ask(`Accept all ${left.length} that wait? [y/N] `);
      if (/^y(es)?$/i.test(sure?.trim() ?? '')) return 'all';
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
  const said: string[] = [];
  for (const [at, line] of lines.entries()) {
    const which = lines.length > 1 ? ` (${at + 1} of ${lines.length})` : '';
    said.push((await questions.ask(`In your words${which}: `, line)) ?? '');
  }
  return said.join('\n');
}

function wordsOf({ lines, entries }: ShownProposal): string[] {
  return lines.length > 0 ? lines : entries.map(({ text }) => text);
}

/** What a person makes of the words. Throws `bad-input` where there is no editor, or where it failed. */
export function editText({ editor, home }: Pick<Config, 'editor' | 'home'>, proposal: ShownProposal): string {
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
