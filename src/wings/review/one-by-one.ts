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
      note(`\n(${at + 1} of ${shown.length}) ${describeProposal(proposal)}`);
      const said = await askUntilDone(app, store, { proposal, questions, place });
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

type Asking = { proposal: ShownProposal; questions: Questions; place: Place };

/** Words that cannot stand there are no decision: what is proposed waits as before, and is asked about again. */
async function askUntilDone(app: App, store: Store, asking: Asking): Promise<ReviewReport | 'skip' | 'quit'> {
  for (;;) {
    const word = await askFor(app, asking);
    if (word === 'quit' || word === 'skip') return word;
    const report = await reviewIn(app, { at: store, request: { ids: [asking.proposal.id], word } });
    note(describeReport(report, asking.place));
    if (word.kind !== 'edit' || report.decided[0]?.outcome !== 'refused') return report;
  }
}

async function askFor(app: App, { proposal, questions }: Asking): Promise<Word | 'skip' | 'quit'> {
  const keys = keysFor(proposal);
  for (;;) {
    const answer = await questions.ask(`${Object.values(keys).join(' ')}: `);
    const key = answer === null ? 'q' : (answer.trim().toLowerCase()[0] ?? '');
    if (!Object.hasOwn(keys, key)) continue;
    if (key === 'q') return 'quit';
    if (key === 's') return 'skip';
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

/** What can be said to it: nobody accepts what is stale, and what only takes lines away has no words. */
function keysFor({ state, kind, lines }: ShownProposal): Record<string, string> {
  const isStale = state === 'stale';
  const hasWords = lines.length > 0 || kind === 'drop';
  return {
    ...(!isStale && { a: '[a]ccept' }),
    r: '[r]eject',
    ...(!isStale && hasWords && { e: '[e]dit' }),
    s: '[s]kip',
    q: '[q]uit',
  };
}

async function inWords(app: App, proposal: ShownProposal, questions: Questions): Promise<Word> {
  const words = app.config.editor ? editText(app.config, proposal) : await questions.ask('In your words: ');
  const isNowhere = proposal.kind === 'drop' && proposal.topic === null;
  const topic = isNowhere ? await questions.ask('The topic that it goes into: ') : undefined;
  return { kind: 'edit', text: words ?? '', topic: topic?.trim() || undefined };
}

/** What a person makes of the words. Throws `bad-input` where there is no editor, or where it failed. */
export function editText({ editor, home }: Pick<Config, 'editor' | 'home'>, proposal: ShownProposal): string {
  if (editor === undefined || !process.stdin.isTTY) {
    throw new AppError('bad-input', 'There are no words: no --text, and no editor at a terminal.', {
      remedy: 'Give --text "…", or set EDITOR.',
    });
  }
  const path = join(home, `${proposal.id}.txt`);
  const words = proposal.lines.length > 0 ? proposal.lines : proposal.entries.map(({ text }) => text);
  writeWhole(path, `${words.join('\n')}\n`);
  try {
    if (!openEditor(editor, path)) throw new AppError('bad-input', `${editor} failed, so nothing was changed.`);
    return (readTextNow(path) ?? '').trim();
  } finally {
    removeFile(path);
  }
}
