// What a line or an entry rests on: the entry, the words in the conversation with who spoke and when, the session, and the night
// that put it there.

import { html } from 'hono/html';
import type { ToldOperation } from '../../jobs/dream/dream-landing.ts';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { dayOf } from '../base/time.ts';
import { sayOp } from '../memory/memory-types.ts';
import { type ExplainedEntry, type ExplainedLine, explainEntries, nightsOf, restingOn } from '../memory/rests.ts';
import { openTranscript, sessionNamed } from '../memory/session-rows.ts';
import { withoutMark } from '../memory/text/topic.ts';
import { sayBy, saySpeaker } from '../terminal/phrases.ts';
import type { Message } from '../transcript/messages.ts';
import type { Session } from '../transcript/session.ts';
import { saySession, sayWriter } from '../worker/whose-memory.ts';
import { inlineMarkdown } from './markdown-html.ts';
import { type At, form, type Html, type Place, topicHref, when } from './page-shell.ts';

const BEFORE = 2;
const AFTER = 1;
const MOST_SAID = 1_600;
const MOST_ENTRIES = 20;

/** Kinds of topics and entries, as they are called here. */
export const TYPES: Record<string, string> = {
  user: 'About you',
  feedback: 'How to work',
  project: 'Project',
  reference: 'Reference',
  other: 'Other',
};

/** What a line rests on, in short; the conversation is one click further. */
export async function evidenceOfLine(at: At, memory: Place, line: ExplainedLine): Promise<Html[]> {
  const { isPersons, program, authors, entries, text } = line;
  const parts: Html[] = [];
  if (authors.length > 0)
    parts.push(html`<p class="meta">Shared by <span class="said">${authors.join(', ')}</span></p>`);
  if (program) parts.push(html`<p class="meta">Written by a program, not by you.</p>`);
  else if (isPersons && authors.length === 0)
    parts.push(
      html`<p class="meta">${(await sayWriter(at.app, memory.id, line)).replace(/^./, (first) => first.toUpperCase())}.</p>`,
    );
  const said = withoutMark(text);
  for (const entry of entries.slice(0, MOST_ENTRIES))
    parts.push(html`<article class="entry">${entry.text === said ? '' : html`<p>${inlineMarkdown(entry.text)}</p>`}
${entry.evidence.map(({ quote }) => (quote === said ? '' : quoted(quote)))}
<p class="meta">${sayOrigin(at, entry, said)} · <a href="/memory/${memory.id}/entry/${entry.id}">In the conversation</a></p></article>`);
  if (entries.length > MOST_ENTRIES) parts.push(html`<p class="meta">and ${entries.length - MOST_ENTRIES} more</p>`);
  return parts;
}

/** Who said it and when, and what became of it where that is not as usual. */
function sayOrigin(at: At, entry: ExplainedEntry, said: string): Html {
  const { evidence, by, at: saidAt, state, reason, strength, type } = entry;
  const [first] = evidence;
  const who = first
    ? html`Said ${sayBy(entry)}${first.quote === said ? ' in these words' : ''}`
    : html`Written by a ${by === 'assistant' ? 'program' : 'person'}`;
  const became = state === 'placed' ? '' : `, ${state === 'gone' ? reason : state}`;
  return html`${who}, ${when(saidAt, at)}${became || strength === 'implied' ? ` · ${type}, ${strength}${became}` : ''}`;
}

/** One entry, in the conversation it was said in, with what became of it. */
export async function entryBody(at: At, memory: Place, id: string): Promise<Html> {
  const { db } = at.app;
  const [entry] = await explainEntries(db, memory.id, [id]);
  if (!entry) throw new AppError('bad-input', 'There is no such entry any more.');
  const { text, type, evidence, session, reason } = entry;
  const { alone, shared } = await restingOn(db, memory.id, [id]);
  const lines = [...alone, ...shared];
  const [first, ...others] = evidence;
  const forget = { action: '/do/forget', fields: { memory: memory.id, target: id } };
  return html`<h1 class="statement">${inlineMarkdown(text)}</h1>
<div class="bar"><p class="meta">${TYPES[type]}</p>${reason === 'forgotten' ? '' : form(at, forget, html`<button class="danger">Forget</button>`)}</div>
<p class="meta">${sayOrigin(at, entry, text)}${session ? html`, in <span class="said">${await saySession(at.app, session)}</span>` : ''}</p>
${first && session ? await surroundings(at, memory, { session, ...first }) : ''}
${(session ? others : evidence).map(({ quote }) => (quote === text ? '' : quoted(quote)))}
${await sayNights(at, memory, id)}
${lines.length > 0 ? html`<h2>Lines that rest on it</h2><ul class="plain list">${lines.map(({ path, id: line, text }) => html`<li><a class="row" href="${topicHref(memory, path, line)}">${inlineMarkdown(text)}</a><p class="meta said">${path}</p></li>`)}</ul>` : ''}`;
}

export function quoted(quote: string): Html {
  return html`<blockquote class="quote"><q class="said" dir="auto">${quote}</q></blockquote>`;
}

/** What dreams did with an entry, the earliest first. */
async function sayNights({ app: { db }, config }: At, memory: Place, entry: string): Promise<Html[]> {
  const told: Html[] = [];
  for (const { job, at, output } of await nightsOf(db, memory.id, entry)) {
    const operations: ToldOperation[] = JSON.parse(output ?? '{}').operations ?? [];
    const day = dayOf(new Date(at), config.zone);
    for (const { kind, topic, reason } of operations.filter(({ entries }) => entries.includes(entry)))
      told.push(
        html`<p class="meta"><span class="tag">${sayOp(kind)}</span> <a href="/changes/${job}">night of ${day}</a>${topic ? html` → <span class="said">${topic}</span>` : ''}: <span class="said">${reason}</span></p>`,
      );
  }
  return told;
}

/** Opens a session of a memory, where it is or as it was kept. Errors: those of its transcript. */
async function openNamed({ app }: At, memory: Place, name: string): Promise<Session> {
  const row = await sessionNamed(app.db, memory.id, name);
  if (!row) throw new AppError('bad-input', 'There is no such session any more.');
  return openTranscript(app.db, { session: row.id, name, isLive: false, machine: app.machine });
}

/** The message with the words, and what stands before and behind it. */
async function surroundings(
  at: At,
  memory: Place,
  { session, message, quote }: { session: string; message: string; quote: string },
): Promise<Html> {
  const found: Message[] = [];
  let after = -1;
  try {
    const opened = await openNamed(at, memory, session);
    for await (const each of opened.messages()) {
      if (after < 0 && found.length > BEFORE) found.shift();
      if (textOf(each) === '') continue;
      found.push(each);
      if (after >= 0) after += 1;
      if (each.id === message) after = 0;
      if (after >= AFTER) break;
    }
    if (after < 0) return html`${quoted(quote)}<p class="dim">These words are no longer in the conversation.</p>`;
  } catch (error) {
    if (!isAppError(error)) throw error;
    return html`${quoted(quote)}<p class="dim">The conversation cannot be shown: ${describeError(error)}</p>`;
  }
  const said = await Promise.all(
    found.map((each) => messageItem(each, { at, quote: each.id === message ? quote : undefined })),
  );
  return html`<ol class="plain talk" aria-label="The conversation around it">${said}</ol>`;
}

/** One message of a conversation, without what is secret; the quoted words stand out. */
async function messageItem(message: Message, { at, quote }: { at: At; quote?: string }): Promise<Html> {
  const { text } = await redact(textOf(message));
  const where = quote ? text.indexOf(quote) : -1;
  const shown = where > MOST_SAID / 2 ? `…${text.slice(where - MOST_SAID / 4)}` : text;
  const cut = shown.length > MOST_SAID ? `${shown.slice(0, MOST_SAID)}…` : shown;
  const place = quote ? cut.indexOf(quote) : -1;
  const said =
    quote && place >= 0
      ? html`${cut.slice(0, place)}<mark>${quote}</mark>${cut.slice(place + quote.length)}`
      : html`${cut}`;
  return html`<li class="message ${message.speaker}"><p class="meta">${saySpeaker(message.speaker)}${message.at ? html`, ${when(message.at, at)}` : ''}</p><p class="text said" dir="auto">${said}</p></li>`;
}

function textOf({ parts, isPrivate }: Message): string {
  if (isPrivate) return '(private)';
  return parts
    .map((part) => {
      if (part.kind === 'text') return part.text;
      if (part.kind === 'call') return `▸ ${part.tool}`;
      if (part.kind === 'result') return part.isError ? `✗ ${part.text.slice(0, 300)}` : '';
      return `[${part.label}]`;
    })
    .filter(Boolean)
    .join('\n');
}
