// What dreams propose and waits for a person, one by one with the words it rests on and what it would change.

import { html } from 'hono/html';
import { type ShownProposal, shownProposals } from '../../jobs/dream/dream-approval.ts';
import { withoutMark } from '../memory/text/topic.ts';
import { saySpeaker } from '../terminal/phrases.ts';
import { quoted } from './evidence-view.ts';
import { inlineMarkdown } from './markdown-html.ts';
import { sideBySide } from './page-diff.ts';
import { type At, form, type Html, type Place, when } from './page-shell.ts';

/** Kinds of proposals that are called otherwise here. */
const ASKED: Record<string, string> = { retire: 'remove', drop: 'leave out' };

const SHOWN = 10;

/** `asked`: of this memory alone. */
export async function waitingSection(at: At, asked: Place | undefined): Promise<Html | ''> {
  const { app, places } = at;
  const open = await app.db.all<{ memory: string; id: string }>(
    "select memory, id from proposal where state = 'open' order by at, id",
  );
  const waiting = (asked ? [asked] : places).flatMap((memory) =>
    open.flatMap((each) => (each.memory === memory.id ? { memory, id: each.id } : [])),
  );
  if (waiting.length === 0) return '';
  const items: Html[] = [];
  for (const [memory, list] of Map.groupBy(waiting.slice(0, SHOWN), (each) => each.memory)) {
    const ids = list.map(({ id }) => id);
    for (const proposal of await shownProposals(app.db, memory.row, ids))
      items.push(proposalItem(at, memory, proposal));
  }
  const [memory, ...others] = new Set(waiting.map((each) => each.memory));
  const all = { memory: memory?.id ?? '', id: 'all', word: 'accept' };
  return html`<section aria-labelledby="waits"><div class="bar"><h2 id="waits">${waiting.length} wait for your answer</h2>${others.length === 0 && waiting.length > 1 ? form(at, { action: '/do/review', fields: all }, html`<button>Accept all ${waiting.length}</button>`) : ''}</div>
<p class="keys meta"><kbd>j</kbd> <kbd>k</kbd> next, previous · <kbd>a</kbd> accept · <kbd>r</kbd> reject · <kbd>e</kbd> edit</p>
<ol class="plain">${items}</ol>
${waiting.length > items.length ? html`<p class="dim">${waiting.length - items.length} more follow when these are decided.</p>` : ''}</section>`;
}

function proposalItem(at: At, memory: Place, proposal: ShownProposal): Html {
  const { id, kind, topic, reason, at: proposedAt, state, why, lines, entries, diff } = proposal;
  const fields = { memory: memory.id, id };
  const decide = (word: string, className: string, text: string, rest: unknown = '') =>
    form(
      at,
      { action: '/do/review', fields: { ...fields, word }, className: `inline ${word}` },
      html`${rest}<button class="${className}">${text}</button>`,
    );
  const words = (lines.length > 0 ? lines : entries.map(({ text }) => text)).join('\n');
  const hasWords = lines.length > 0 || kind === 'drop';
  const source = (entry: string, saidAt: string) =>
    html`<a href="/memory/${memory.id}/entry/${entry}">${when(saidAt, at)}</a>`;
  return html`<li class="card proposal" tabindex="-1" id="${id}"><p class="meta"><span class="tag op-${kind}">${ASKED[kind] ?? kind}</span> ${topic ? html`<span class="said">${topic}</span> · ` : ''}<span class="said">${memory.title}</span> · ${when(proposedAt, at)}</p>
${lines.length > 0 ? html`<div class="statement">${lines.map((line) => html`<p>${inlineMarkdown(line)}</p>`)}</div>` : ''}
<p class="said">${reason}</p>
${state === 'stale' ? html`<p class="problem">It is outdated: <span class="said">${why}</span> The next dream proposes it again.</p>` : ''}
<h3>It rests on</h3>
${entries.slice(0, 8).map(({ id: entry, text, at: saidAt, quotes, speakers }) => html`<div class="entry">${lines.some((line) => withoutMark(line) === text) ? '' : html`<p>${inlineMarkdown(text)}</p>`}${quotes.map((quote, n) => html`${quote === text ? '' : quoted(quote)}<p class="meta">said by ${saySpeaker(speakers[n])}, ${source(entry, saidAt)}</p>`)}${quotes.length === 0 ? html`<p class="meta">written by a person, ${source(entry, saidAt)}</p>` : ''}</div>`)}
${diff ? html`<details id="w-${id}" ${lines.length === 0 && diff.length < 4_000 ? html`open` : ''}><summary>What would change</summary>${sideBySide(diff)}</details>` : ''}
<div class="actions">${state === 'stale' ? '' : decide('accept', 'primary', 'Accept')}${decide('reject', 'danger', 'Reject')}${
    state === 'stale' || !hasWords
      ? ''
      : html`<details class="words"><summary class="button">Edit</summary>${decide(
          'edit',
          'primary',
          'Do it in these words',
          html`<label>In your words<textarea name="text" rows="3" dir="auto">
${words}</textarea></label>${kind === 'drop' ? html`<label>Topic it goes into<input name="topic"></label>` : ''}`,
        )}</details>`
  }</div></li>`;
}
