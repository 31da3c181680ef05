// What a line or an entry rests on: the entry, the words in the conversation with who spoke and when, the session, and the
// night that put it there.

import { html } from 'hono/html';
import { AppError, describeError, isAppError } from '../../../base/errors.ts';
import { redact } from '../../../base/text/redact.ts';
import {
  type ExplainedEntry,
  explainEntry,
  explainLines,
  restingOn,
  toldOf,
} from '../../../memory/dream/provenance.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import { openSession } from '../../../transcript/session.ts';
import type { Message } from '../../../transcript/types.ts';
import { inlineMarkdown } from '../markdown.ts';
import { type At, form, type Html, hrefWith, type MemoryPlace, when } from '../shell.ts';
import { DID } from './nights-view.ts';

const BEFORE = 2;
const AFTER = 1;
const MOST_SAID = 1_600;
const MOST_ENTRIES = 20;
/** Who spoke, as one says it to the person. */
export const SPEAKERS: Record<string, string> = {
  human: 'you',
  assistant: 'the agent',
  tool: 'a tool',
  subagent: 'a subagent',
  harness: 'the program',
};

export async function evidenceOfLine(
  at: At,
  memory: MemoryPlace,
  { path, line }: { path: string; line: string },
): Promise<Html> {
  const [found] = await explainLines(memory.store, { path, line });
  if (!found) return html``;
  const { isPersons, program, authors, entries, changed } = found;
  const parts: Html[] = [];
  if (authors.length > 0)
    parts.push(html`<p class="meta">Shared by <span class="said">${authors.join(', ')}</span></p>`);
  if (changed) {
    const by = changed.actor === 'external' || changed.actor === 'person' ? 'you' : changed.actor;
    parts.push(
      html`<p class="meta">Changed by ${by}, ${when(changed.at, at)}. It said: <span class="said">${changed.text}</span></p>`,
    );
  } else if (program) {
    parts.push(html`<p class="meta">Written by a program, ${when(program.at, at)}: it is no word of yours.</p>`);
  } else if (isPersons && authors.length === 0)
    parts.push(html`<p class="meta">Written by a person, or by the main agent.</p>`);
  for (const entry of (changed?.entries ?? entries).slice(0, MOST_ENTRIES))
    parts.push(await entryItem(at, memory, { entry, said: found.text }));
  return html`<section class="evidence" aria-label="What it rests on">${parts}</section>`;
}

export async function entryBody(at: At, memory: MemoryPlace, id: string): Promise<Html> {
  const entry = explainEntry(memory.store, id);
  if (!entry) throw new AppError('bad-input', 'There is no such entry any more.');
  const { alone, shared } = await restingOn(memory.store, [id]);
  const lines = [...alone, ...shared];
  return html`<header class="title"><div><p class="meta"><span class="dot ${entry.type}"></span>${entry.type} · ${entry.state}</p><h1 class="statement">${inlineMarkdown(entry.text)}</h1></div>
<div class="actions">${entry.state === 'forgotten' ? '' : form(at, { action: '/do/forget', fields: { memory: memory.id, target: id } }, html`<button class="danger">Forget</button>`)}</div></header>
${await entryItem(at, memory, { entry, said: entry.text })}
${lines.length > 0 ? html`<h2>Lines that rest on it</h2><ul class="plain list">${lines.map(({ path, id: line, text }) => html`<li><a class="row" href="/memory/${memory.id}/topic/${encodeURIComponent(path)}?line=${line}#l-${line}">${inlineMarkdown(text)}</a><p class="meta said">${path}</p></li>`)}</ul>` : ''}`;
}

/** `said`: what is told above it already. */
async function entryItem(
  at: At,
  memory: MemoryPlace,
  { entry, said }: { entry: ExplainedEntry; said: string },
): Promise<Html> {
  const { id, text, evidence, by, session, at: saidAt, state, transcript, strength, type } = entry;
  const nights = toldOf(memory.store.dir, id);
  const isAround = at.url.searchParams.get('around') === id;
  const name = session && shortId(memory.store.ledger, 'session', session);
  const around = at.url.pathname.includes('/entry/') || isAround;
  return html`<article class="entry"><p class="meta"><a href="/memory/${memory.id}/entry/${id}">${shortId(memory.store.ledger, 'entry', id)}</a> · ${type}, ${strength}${state === 'distilled' ? '' : html`, ${state}`}</p>
${text === said ? '' : html`<p>${inlineMarkdown(text)}</p>`}
${(transcript && around ? evidence.slice(1) : evidence).map(({ quote }) => quoted(quote))}
<p class="meta">${evidence.length === 0 ? `Written by a ${by === 'assistant' ? 'program' : 'person'}` : html`Said by ${SPEAKERS[by] ?? by}`}, ${when(saidAt, at)}${
    session && name
      ? html`, in session <a href="/sessions/${memory.id}/${encodeURIComponent(session)}">${name}</a>`
      : ''
  }${transcript && evidence[0] && !around ? html` · <a class="swap" href="${hrefWith(at.url, { around: id })}">In the conversation</a>` : ''}</p>
${transcript && evidence[0] && around ? await surroundings({ transcript, session, message: evidence[0].message, quote: evidence[0].quote }, at) : ''}
${nights.map(({ day, op, topic, reason }) => html`<p class="night meta"><span class="tag op-${op}">${DID[op] ?? op}</span> <a href="/nights?day=${day}">night of ${day}</a>${topic ? html` → <span class="said">${topic}</span>` : ''}: <span class="said">${reason}</span></p>`)}
</article>`;
}

function quoted(quote: string): Html {
  return html`<blockquote class="quote"><q class="said" dir="auto">${quote}</q></blockquote>`;
}

interface Said {
  transcript: string;
  session: string;
  message: string;
  quote: string;
}

/** The message with the words, and what stands before and behind it. */
async function surroundings({ transcript, session, message, quote }: Said, at: At): Promise<Html> {
  const found: Message[] = [];
  try {
    let after = -1;
    for await (const each of (await openSession(transcript, { id: session })).messages()) {
      if (after < 0 && found.length > BEFORE) found.shift();
      if (textOf(each) === '') continue;
      found.push(each);
      if (after >= 0) after += 1;
      if (each.id === message) after = 0;
      if (after >= AFTER) break;
    }
    if (after < 0) return html`${quoted(quote)}<p class="dim">The conversation does not hold these words any more.</p>`;
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
export async function messageItem(message: Message, { at, quote }: { at: At; quote?: string }): Promise<Html> {
  const { text } = await redact(textOf(message));
  const where = quote ? text.indexOf(quote) : -1;
  const shown = where > MOST_SAID / 2 ? `…${text.slice(where - MOST_SAID / 4)}` : text;
  const cut = shown.length > MOST_SAID ? `${shown.slice(0, MOST_SAID)}…` : shown;
  const [before, behind] =
    quote && cut.includes(quote)
      ? [cut.slice(0, cut.indexOf(quote)), cut.slice(cut.indexOf(quote) + quote.length)]
      : [cut, null];
  return html`<li class="message ${message.speaker}"><p class="meta">${SPEAKERS[message.speaker] ?? message.speaker}${message.at ? html`, ${when(message.at, at)}` : ''}</p><p class="text said" dir="auto">${before}${behind === null ? '' : html`<mark>${quote}</mark>${behind}`}</p></li>`;
}

export function textOf({ parts, isPrivate }: Message): string {
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
