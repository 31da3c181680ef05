// Sessions: what was learned from, each with what became of its turns, and beside the conversation what it taught.

import { html } from 'hono/html';
import { AppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { type Explanation, explainSessions } from '../../../doors/cli/terminal/explain-session.ts';
import { plainly, sayFate } from '../../../doors/cli/terminal/phrases.ts';
import { fateOf, learnedSessions } from '../../../memory/ledger/coverage.ts';
import { type EntryRow, entriesOfSession } from '../../../memory/ledger/entries.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import { openSession } from '../../../transcript/session.ts';
import { readTurns } from '../../../transcript/turns.ts';
import type { Turn } from '../../../transcript/types.ts';
import { inlineMarkdown } from '../markdown.ts';
import {
  type At,
  empty,
  form,
  type Html,
  type MemoryPlace,
  memoryCalled,
  memoryTabs,
  pageOf,
  pager,
  type View,
  when,
} from '../shell.ts';
import { messageItem, textOf } from './evidence-view.ts';

const SIZE = 30;
const TURNS = 12;
const MESSAGES_OF_TURN = 8;
const MOST_LISTED = 2_000;
const STATES: Record<string, string> = {
  recorded: 'recorded',
  'main-agent': 'the agent wrote it',
  nothing: 'nothing worth keeping',
  private: 'private',
  pending: 'pending',
  open: 'may still go on',
  'gave-up': 'given up',
  undone: 'undone',
  assumed: 'read before',
  declined: 'declined',
  'taken-back': 'taken back',
  own: "nocturne's own",
};

export async function sessionsView(at: At, [id, ...rest]: string[]): Promise<View> {
  if (id !== undefined && rest.length > 0) return sessionView(at, id, rest.join('/'));
  const asked = memoryCalled(at.places, at.url.searchParams.get('memory'));
  const all = (asked ? [asked] : at.places.all)
    .flatMap((memory) => learnedSessions(memory.store.ledger, MOST_LISTED).map((each) => ({ ...each, memory })))
    .sort((a, b) => b.readAt.localeCompare(a.readAt));
  const page = pageOf(at.url);
  return {
    title: 'Sessions',
    part: 'sessions',
    body: html`<h1>Sessions <small>${all.length === 0 ? '' : `${sayCount(all.length, 'session')} read`}</small></h1>
${memoryTabs(at, { current: asked, href: (memory) => (memory ? `/sessions?memory=${memory.id}` : '/sessions') })}
${all.length === 0 ? empty('No session was read yet', html`When a session of your agent ends it is read. <code>nocturne learn</code> reads those of before.`) : ''}
<ul class="plain list">${all.slice((page - 1) * SIZE, page * SIZE).map(({ memory, session, readAt }) => {
      const entries = entriesOfSession(memory.store.ledger, session);
      return html`<li><a class="row" href="/sessions/${memory.id}/${encodeURIComponent(session)}"><strong>${shortId(memory.store.ledger, 'session', session)}</strong> <span class="${entries.length === 0 ? 'dim' : ''}">${entries.length > 0 ? sayCount(entries.length, 'entry') : sayFate(fateOf(memory.store.ledger, session))}</span></a>${entries.slice(0, 2).map(({ text }) => html`<p>${inlineMarkdown(text)}</p>`)}<p class="meta"><span class="said">${memory.name}</span> · read ${when(readAt, at)}</p></li>`;
    })}</ul>${pager(at.url, { page, size: SIZE, total: all.length })}`,
  };
}

async function sessionView(at: At, id: string, session: string): Promise<View> {
  const memory = memoryCalled(at.places, id);
  if (!memory) throw new AppError('bad-input', 'There is no such memory.');
  const found = (await explainSessions(at.app, { what: session, memory: memory.store.dir })).find(
    (each) => each.session === session,
  );
  if (!found) throw new AppError('bad-input', 'There is no such session any more.');
  const entries = entriesOfSession(memory.store.ledger, session);
  const turns = found.unreadable ? [] : await turnsOf(found);
  const page = pageOf(at.url);
  const total = found.ranges.reduce((sum, { turns: count }) => sum + count, 0);
  const shown: Html[] = [];
  for (const turn of turns.slice((page - 1) * TURNS, page * TURNS))
    shown.push(await turnItem(turn, { at, memory, entries }));
  return {
    title: `Session ${found.shortId}`,
    part: 'sessions',
    body: html`<header class="title"><div><p class="meta"><a href="/sessions">Sessions</a> · <span class="said">${memory.name}</span></p><h1>Session ${found.shortId}</h1><p class="lead dim">${sayCount(total, 'turn')}, ${entries.length === 0 ? 'nothing kept' : `${sayCount(entries.length, 'entry')}`}. ${/^Nothing: all/.test(found.next) ? 'All of it was read.' : plainly(found.next.replaceAll(session, found.shortId), at.config)}</p></div>
<div class="actions">${form(at, { action: '/do/again', fields: { memory: memory.id, session } }, html`<button>Learn again</button>`)}</div></header>
${found.unreadable ? html`<p class="problem">${plainly(found.unreadable, at.config)}</p>` : ''}
${rangeBar(found)}
${found.failures.filter(({ isOver }) => !isOver).map(({ message, at: failedAt }) => html`<p class="problem">${plainly(message, at.config)} (${when(failedAt, at)})</p>`)}
${entries.length > 0 && turns.length === 0 ? html`<h2>What it taught</h2><ul class="plain list">${entries.map((entry) => entryLink(entry, memory))}</ul>` : ''}
<ol class="plain">${shown}</ol>${pager(at.url, { page, size: TURNS, total: turns.length })}`,
  };
}

type StateOf = { turn: Turn; state: string };

/** Each turn with what became of it. */
async function turnsOf({ transcript, session, ranges }: Explanation): Promise<StateOf[]> {
  const turns: StateOf[] = [];
  let at = 0;
  let left = ranges[0]?.turns ?? 0;
  for await (const turn of readTurns((await openSession(transcript, { id: session })).messages())) {
    const named = ranges.findIndex(({ from }) => from === turn.id);
    if (named >= 0) {
      at = named;
      left = ranges[named]?.turns ?? 0;
    }
    turns.push({ turn, state: left > 0 ? (ranges[at]?.state ?? 'nothing') : 'nothing' });
    left -= 1;
  }
  return turns;
}

/** Its turns as a band, coloured by what became of them, and the same in words. */
function rangeBar({ ranges }: Explanation): Html | '' {
  if (ranges.length === 0) return '';
  const total = ranges.reduce((sum, { turns }) => sum + turns, 0);
  let x = 0;
  const pieces = ranges.map(({ state, turns }) => {
    const width = (turns / total) * 1_000;
    x += width;
    return html`<rect class="r-${state}" x="${(x - width).toFixed(1)}" y="0" width="${Math.max(2, width - 2).toFixed(1)}" height="14"/>`;
  });
  return html`<svg class="ranges" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">${pieces}</svg>
<ul class="plain legend meta">${[...Map.groupBy(ranges, ({ state }) => state)].map(([state, list]) => html`<li><span class="dot r-${state}"></span>${list.reduce((sum, { turns }) => sum + turns, 0)} ${STATES[state] ?? state}</li>`)}</ul>`;
}

async function turnItem(
  { turn, state }: StateOf,
  { at, memory, entries }: { at: At; memory: MemoryPlace; entries: EntryRow[] },
): Promise<Html> {
  const said = turn.messages.filter((message) => textOf(message) !== '');
  const taught = entries.filter((entry) => entry.turn === turn.id);
  const items =
    state === 'private'
      ? []
      : await Promise.all(
          said.slice(0, MESSAGES_OF_TURN).map((message) =>
            messageItem(message, {
              at,
              quote: taught.flatMap(({ evidence }) => evidence).find((each) => each.message === message.id)?.quote,
            }),
          ),
        );
  return html`<li class="turn r-${state}"><div><p class="meta"><span class="dot r-${state}"></span>${STATES[state] ?? state}</p><ol class="plain talk">${items}</ol>${said.length > MESSAGES_OF_TURN && state !== 'private' ? html`<p class="dim">${said.length - MESSAGES_OF_TURN} messages more.</p>` : ''}</div>
<ul class="plain taught">${taught.map((entry) => entryLink(entry, memory))}</ul></li>`;
}

function entryLink({ id, type, text, state }: EntryRow, memory: MemoryPlace): Html {
  return html`<li><a class="row" href="/memory/${memory.id}/entry/${id}">${inlineMarkdown(text)}</a><p class="meta"><span class="dot ${type}"></span>${type}${state === 'distilled' ? '' : html`, ${state}`}</p></li>`;
}
