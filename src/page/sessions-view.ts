// Sessions: what was learned from, each with what became of its turns, and beside the conversation what it taught.

import { html } from 'hono/html';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { sayCount } from '../base/text/wording.ts';
import type { EntryRow, TurnRow } from '../memory/entries.ts';
import { coverageOf, coverageWhere, entriesAmong, standsForMore } from '../memory/entries.ts';
import type { Disposition } from '../memory/memory-types.ts';
import { sessionNamed } from '../memory/session-rows.ts';
import { plainly, sayFate } from '../terminal/phrases.ts';
import type { Turn } from '../transcript/messages.ts';
import { readTurns } from '../transcript/turns.ts';
import { stateWord } from '../worker/session-ranges.ts';
import { messageItem, openNamed, textOf } from './evidence-view.ts';
import { inlineMarkdown } from './markdown-html.ts';
import {
  type At,
  askedOf,
  empty,
  form,
  type Html,
  memoryTabs,
  type Place,
  paged,
  placeCalled,
  thePlace,
  type View,
  when,
} from './page-shell.ts';

const SIZE = 30;
const TURNS = 12;
const MESSAGES_OF_TURN = 8;
const STATES: Record<string, string> = {
  recorded: 'recorded',
  'main-agent': 'the agent wrote it',
  nothing: 'nothing worth keeping',
  private: 'private',
  pending: 'pending',
  'gave-up': 'given up',
  undone: 'undone',
  assumed: 'read before',
  declined: 'declined',
};
export async function sessionsView(at: At, [id, ...rest]: string[]): Promise<View> {
  if (id !== undefined && rest.length > 0) return sessionView(at, id, rest.join('/'));
  const { app, places } = at;
  const { asked, isAsked } = askedOf(at);
  const ended = await app.db.all<{ id: string; name: string; memory: string; readAt: string }>(
    `select session.id, session.name, session.memory, max(job.ended_at) as "readAt" from session
     join job on job.session = session.id where job.ended_at is not null
     group by session.id, session.name, session.memory order by 4 desc, session.id`,
  );
  const all = ended.filter(isAsked);
  const { items: read, others } = paged(at.url, all, SIZE);
  const items: Html[] = [];
  for (const { id: session, name, memory, readAt } of read) {
    const entries = await entriesAmong(app.db, memory, { column: 'session', of: [session] });
    const said =
      entries.length > 0 ? sayCount(entries.length, 'entry') : sayFates(await coverageWhere(app.db, { session }));
    items.push(
      html`<li><a class="row" href="/sessions/${memory}/${encodeURIComponent(name)}"><strong class="said">${shortName(name)}</strong> <span class="${entries.length === 0 ? 'dim' : ''}">${said}</span></a>${entries.slice(0, 2).map(({ text }) => html`<p>${inlineMarkdown(text)}</p>`)}<p class="meta"><span class="said">${placeCalled(places, memory)?.title}</span> · read ${when(readAt, at)}</p></li>`,
    );
  }
  return {
    title: 'Sessions',
    part: 'sessions',
    body: html`<h1>Sessions <small>${all.length === 0 ? '' : `${sayCount(all.length, 'session')} read`}</small></h1>
${memoryTabs(at, asked, '/sessions')}
${all.length === 0 ? empty('No session was read yet', html`When a session of your agent ends it is read. <code>nocturne learn</code> reads those of before.`) : ''}
<ul class="plain list">${items}</ul>${others}`,
  };
}

/** What became of a range, as the page calls it. */
function fateOf({ state, reason }: TurnRow): string {
  return state === 'done' ? 'nothing' : stateWord(reason ?? state);
}

/** A UUID by how it begins. */
function shortName(name: string): string {
  return name.replace(/^([0-9a-f]{8})-[0-9a-f-]{27}$/, '$1').slice(0, 80);
}

/** What became of a session that taught nothing. */
function sayFates(rows: readonly TurnRow[]): string {
  const [fate, ...others] = new Set(rows.map(fateOf));
  return sayFate(others.length === 0 ? (fate as Disposition) : null);
}

interface StateOf {
  turn: Turn;
  state: string;
}

async function sessionView(at: At, id: string, name: string): Promise<View> {
  const { app, config } = at;
  const memory = thePlace(at.places, id);
  const row = await sessionNamed(app.db, id, name);
  if (!row) throw new AppError('bad-input', 'There is no such session any more.');
  const entries = await entriesAmong(app.db, id, { column: 'session', of: [row.id] });
  const { turns, problem } = await turnsOf(at, memory, name, entries);
  const waiting = await app.db.get<{ state: string; error: string | null; not_before: string }>(
    "select state, error, not_before from inbox where kind = 'extract' and key = ?",
    row.id,
  );
  const pending = turns.filter(({ state }) => state === 'pending').length;
  const next =
    waiting?.state === 'failed'
      ? `It was given up: ${waiting.error}`
      : waiting
        ? html`The next worker reads it, ${when(waiting.not_before, at)}.`
        : pending > 0
          ? `${sayCount(pending, 'turn')} ${pending === 1 ? 'is' : 'are'} not read yet.`
          : 'All of it was read.';
  const { items, others } = paged(at.url, turns, TURNS);
  const shown: Html[] = [];
  for (const turn of items) shown.push(await turnItem(turn, { at, memory, entries }));
  return {
    title: `Session ${shortName(name)}`,
    part: 'sessions',
    body: html`<header class="title"><div><p class="meta"><a href="/sessions">Sessions</a> · <span class="said">${memory.title}</span></p><h1>Session <span class="said">${shortName(name)}</span></h1><p class="lead dim">${turns.length > 0 ? `${sayCount(turns.length, 'turn')}, ` : ''}${entries.length === 0 ? 'nothing kept' : sayCount(entries.length, 'entry')}. ${next}</p></div>
<div class="actions">${form(at, { action: '/do/again', fields: { memory: id, session: name } }, html`<button>Learn again</button>`)}</div></header>
${problem ? html`<p class="problem">${plainly(problem, config)}</p>` : ''}
${rangeBar(turns)}
${waiting?.error && waiting.state !== 'failed' ? html`<p class="problem">${plainly(waiting.error, config)}</p>` : ''}
${entries.length > 0 && turns.length === 0 ? html`<h2>What it taught</h2><ul class="plain list">${entries.map((entry) => entryLink(entry, memory))}</ul>` : ''}
<ol class="plain">${shown}</ol>${others}`,
  };
}

/** Each turn with what became of it; why there are none, where the transcript cannot be read. */
async function turnsOf(
  at: At,
  memory: Place,
  name: string,
  entries: readonly EntryRow[],
): Promise<{ turns: StateOf[]; problem?: string }> {
  let session: Awaited<ReturnType<typeof openNamed>> | undefined;
  try {
    session = await openNamed(at, memory, name);
    const turns = await Array.fromAsync(readTurns(session.messages()));
    const ids = turns.map(({ id, messages }) => ({ id, messageIds: messages.map((message) => message.id) }));
    const known = await coverageOf(at.app.db, memory.id, ids);
    const assumed = known.findLastIndex((rows) => rows.some(standsForMore));
    const taught = new Set(entries.map(({ turn }) => turn));
    const stateOf = (rows: readonly TurnRow[], turn: Turn, n: number) => {
      const last = rows.at(-1);
      if (!last) return n <= assumed ? 'assumed' : 'pending';
      return taught.has(turn.id) ? 'recorded' : fateOf(last);
    };
    return { turns: turns.map((turn, n) => ({ turn, state: stateOf(known[n] ?? [], turn, n) })) };
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { turns: [], problem: describeError(error) };
  } finally {
    session?.discard?.();
  }
}

/** Its turns as a band, coloured by what became of them, and the same in words. */
function rangeBar(turns: readonly StateOf[]): Html | '' {
  if (turns.length === 0) return '';
  const runs: { state: string; count: number }[] = [];
  for (const { state } of turns) {
    const last = runs.at(-1);
    if (last?.state === state) last.count += 1;
    else runs.push({ state, count: 1 });
  }
  let x = 0;
  const pieces = runs.map(({ state, count }) => {
    const width = (count / turns.length) * 1_000;
    x += width;
    return html`<rect class="r-${state}" x="${(x - width).toFixed(1)}" y="0" width="${Math.max(2, width - 2).toFixed(1)}" height="14"/>`;
  });
  return html`<svg class="ranges" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">${pieces}</svg>
<ul class="plain legend meta">${[...Map.groupBy(turns, ({ state }) => state)].map(([state, of]) => html`<li><span class="dot r-${state}"></span>${of.length} ${STATES[state] ?? state}</li>`)}</ul>`;
}

async function turnItem(
  { turn, state }: StateOf,
  { at, memory, entries }: { at: At; memory: Place; entries: readonly EntryRow[] },
): Promise<Html> {
  const said = turn.messages.filter((message) => textOf(message) !== '');
  const taught = entries.filter((entry) => entry.turn === turn.id);
  const quotes = new Map(taught.flatMap(({ evidence }) => evidence).map((each) => [each.message, each.quote]));
  const shown = state === 'private' ? [] : said.slice(0, MESSAGES_OF_TURN);
  const items = await Promise.all(shown.map((message) => messageItem(message, { at, quote: quotes.get(message.id) })));
  const more = state === 'private' ? 0 : said.length - shown.length;
  return html`<li class="turn r-${state}"><div><p class="meta"><span class="dot r-${state}"></span>${STATES[state] ?? state}</p><ol class="plain talk">${items}</ol>${more > 0 ? html`<p class="dim">${more} messages more.</p>` : ''}</div>
<ul class="plain taught">${taught.map((entry) => entryLink(entry, memory))}</ul></li>`;
}

function entryLink({ id, type, text, state, reason }: EntryRow, memory: Place): Html {
  const became = state === 'placed' ? '' : html`, ${state === 'gone' ? reason : state}`;
  return html`<li><a class="row" href="/memory/${memory.id}/entry/${id}">${inlineMarkdown(text)}</a><p class="meta"><span class="dot ${type}"></span>${type}${became}</p></li>`;
}
