// Proposals at a terminal, one by one: shown whole, then a key. What is decided is done at once.

import type { ShownProposal } from '../../../jobs/review/list.ts';
import type { Decided, ReviewReport, Word } from '../../../jobs/review.ts';
import { isAppError } from '../../base/errors.ts';
import type { Store } from '../../memory/store/store.ts';
import { Questions } from '../cli/terminal/ask.ts';
import { note } from '../cli/terminal/output.ts';
import type { App } from '../compose.ts';
import { describeProposal, describeReport, type Place } from './describe.ts';
import { editText } from './editor.ts';

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
      const [proposal] = await app.listProposals(store, [id]);
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
    const report = await app.review(store, { ids: [asking.proposal.id], word });
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
