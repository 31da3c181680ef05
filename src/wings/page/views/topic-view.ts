// One topic, line by line: each opens what it rests on, and can be changed in place or forgotten; the whole can be edited,
// pinned and shared. What is changed is changed from what was shown, or not at all: where two wrote one line, or one topic,
// both are shown, and nothing is written before the person has looked.

import { html } from 'hono/html';
import { shownLine, shownTopic } from '../../../../jobs/edit.ts';
import { AppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { isArchivePath, isTopicPath, type LocatedLine, locateLines, parseTopic } from '../../../memory/text/topic.ts';
import { inlineMarkdown, markdown } from '../markdown.ts';
import {
  type At,
  diffOfTexts,
  form,
  type Html,
  hrefWith,
  type MemoryPlace,
  pageOf,
  pager,
  type View,
} from '../shell.ts';
import { evidenceOfLine } from './evidence-view.ts';

const SIZE = 150;
/** What comes back from a browser as something else: NUL, a lone CR, bytes that are no UTF-8. */
const CHANGED_BY_BROWSERS = /[\0\uFFFD]|\r(?!\n)/;

export async function topicBody(at: At, memory: MemoryPlace, path: string): Promise<Html> {
  const raw = isTopicPath(path) || isArchivePath(path) ? await memory.store.read(path) : null;
  if (raw === null) throw new AppError('bad-input', 'There is no such topic any more.');
  const { name, description, type, pinned } = parseTopic(path, raw);
  const lines = locateLines(raw);
  const asked = at.url.searchParams.get('line');
  const found = lines.findIndex(({ id }) => id === asked);
  const page = found >= 0 && !at.url.searchParams.has('page') ? Math.floor(found / SIZE) + 1 : pageOf(at.url);
  const isTopic = isTopicPath(path);
  const fields = { memory: memory.id, path };
  const isEdited = isTopic && at.url.searchParams.get('edit') === 'topic';
  const items: Html[] = [];
  for (const line of isEdited ? [] : lines.slice((page - 1) * SIZE, page * SIZE))
    items.push(await lineItem(at, memory, { path, raw, line, index: lines.indexOf(line), isTopic }));
  return html`<header class="title"><div><p class="meta"><span class="dot ${type ?? 'other'}"></span>${type ?? 'no type'} · ${sayCount(lines.length, 'line')}${pinned ? html` · <span class="tag">pinned</span>` : ''}${isTopic ? '' : html` · <span class="tag">archive</span>`}</p><h1 class="said">${name}</h1><p class="lead dim said" dir="auto">${description}</p></div>
${
  isTopic && !isEdited
    ? html`<div class="actions"><a class="button swap" href="${hrefWith(at.url, { edit: 'topic', line: null })}#topic-form">Edit topic</a>${form(at, { action: '/do/pin', fields: { ...fields, pinned: String(!pinned) } }, html`<button>${pinned ? 'Unpin' : 'Pin'}</button>`)}${
        memory.cwd === null ? '' : form(at, { action: '/do/share', fields }, html`<button>Share</button>`)
      }${form(at, { action: '/do/forget', fields: { memory: memory.id, target: name }, to: `/memory/${memory.id}` }, html`<button class="danger">Forget all of it</button>`)}</div>`
    : ''
}</header>
${
  isEdited
    ? topicForm(at, memory, { path, raw })
    : html`${lines.length === 0 ? html`<p class="dim">Nothing stands in it.</p>` : ''}
<ol class="plain">${items}</ol>
${pager(at.url, { page, size: SIZE, total: lines.length })}`
}`;
}

interface Shown {
  path: string;
  raw: string;
  line: LocatedLine;
  /** Its place among the lines. */
  index: number;
  isTopic: boolean;
}

async function lineItem(at: At, memory: MemoryPlace, { path, raw, line, index, isTopic }: Shown): Promise<Html> {
  const { url } = at;
  const isOpen = url.searchParams.get('line') === line.id;
  const isEdited = isTopic && url.searchParams.get('edit') === line.id;
  const shown = shownLine(raw, line);
  const body = line.kind === 'fence' || shown.includes('\n') ? markdown(shown) : inlineMarkdown(line.text);
  const open = hrefWith(url, { line: isOpen ? null : line.id, edit: null, around: null });
  if (isEdited)
    return html`<li id="l-${line.id}" class="line open">${await editForm(at, memory, { path, line: line.id, index, shown })}</li>`;
  return html`<li id="l-${line.id}" class="line ${isOpen ? 'open' : ''}"><div class="what">${body}</div>
<div class="actions"><a class="button quiet swap" href="${open}#l-${line.id}" aria-expanded="${String(isOpen)}">${isOpen ? 'Close' : 'Why'}<span class="hidden">: ${line.text.slice(0, 60)}</span></a>${
    isTopic
      ? html`<a class="button quiet swap" href="${hrefWith(url, { edit: line.id, line: null })}#l-${line.id}">Edit<span class="hidden">: ${line.text.slice(0, 60)}</span></a>${form(
          at,
          { action: '/do/forget', fields: { memory: memory.id, target: line.id } },
          html`<button class="quiet danger">Forget<span class="hidden">: ${line.text.slice(0, 60)}</span></button>`,
        )}`
      : ''
  }</div>${isOpen ? await evidenceOfLine(at, memory, { path, line: line.id }) : ''}</li>`;
}

/** `text`: what the person has made of it so far. */
export async function editForm(
  at: At,
  memory: MemoryPlace,
  {
    path,
    line,
    index,
    shown,
    text = shown,
  }: { path: string; line: string; index: number; shown: string; text?: string },
): Promise<Html> {
  const back = backFrom(at, { memory, path });
  const fields = { memory: memory.id, path, line, index: String(index), shown };
  return html`${form(
    at,
    { action: '/do/edit', fields, to: back, className: 'edit' },
    html`<label for="t-${line}">The line as it stands in the file</label><textarea id="t-${line}" name="text" rows="${rowsFor(text, { least: 2, most: 12 })}" dir="auto">
${text}</textarea>${previewAndButtons(back)}`,
  )}`;
}

/** `typed`: what the person has made of it so far. */
export function topicForm(
  at: At,
  memory: MemoryPlace,
  { path, raw, typed }: { path: string; raw: string; typed?: { description: string; body: string } },
): Html | Promise<Html> {
  const shown = shownTopic(raw);
  const back = backFrom(at, { memory, path });
  const { description, body } = typed ?? shown;
  if (CHANGED_BY_BROWSERS.test(raw))
    return html`<p>It holds bytes that a browser would change. <code>nocturne show --edit</code> opens it in your editor.</p><p><a class="button" href="${back}">Back to the topic</a></p>`;
  return html`<section id="topic-form">${form(
    at,
    {
      action: '/do/edit-topic',
      fields: { memory: memory.id, path, shown: shown.version },
      to: back,
      className: 'edit',
    },
    html`<label for="topic-name">Name</label><input id="topic-name" value="${parseTopic(path, raw).name}" readonly dir="auto">
<label for="topic-description">Description, one line</label><textarea id="topic-description" name="description" rows="${rowsFor(description, { least: 2, most: 4 })}" dir="auto">
${description}</textarea>
<label for="topic-body">Text, in Markdown</label><textarea id="topic-body" name="text" rows="${rowsFor(body, { least: 8, most: 30 })}" dir="auto">
${body}</textarea>${previewAndButtons(back)}`,
  )}</section>`;
}

/** Where one goes from a form that edits. */
function backFrom(at: At, { memory, path }: { memory: MemoryPlace; path: string }): string {
  return at.url.pathname.startsWith('/memory')
    ? hrefWith(at.url, { edit: null })
    : `/memory/${memory.id}/topic/${encodeURIComponent(path)}`;
}

function rowsFor(text: string, { least, most }: { least: number; most: number }): number {
  return Math.min(most, Math.max(least, Math.ceil(text.length / 70) + text.split('\n').length - 1));
}

function previewAndButtons(back: string): Html {
  return html`<div class="preview" aria-live="polite" hidden></div><div class="actions"><button class="primary">Save</button><button type="button" class="show-preview" hidden>Preview</button><a class="button swap" href="${back}">Cancel</a></div>`;
}

/** What standing at the same place counts, in words in common. */
const SAME_PLACE = 0.3;

export async function conflictView(
  at: At,
  {
    memory,
    path,
    shown,
    index,
    text,
  }: { memory: MemoryPlace; path: string; shown: string; index: number; text: string },
): Promise<View> {
  const raw = (await memory.store.read(path)) ?? '';
  const lines = locateLines(raw);
  // What became of the line, as far as anybody can tell: the one most like it, or at its place.
  const near = lines
    .map((each, place) => ({ each, score: likeness(shown, shownLine(raw, each)) + (place === index ? SAME_PLACE : 0) }))
    .sort((a, b) => b.score - a.score)[0];
  const now = near && near.score >= SAME_PLACE ? near.each : undefined;
  const current = now ? shownLine(raw, now) : '';
  return changedMeanwhile('This line was changed meanwhile', {
    diff: diffOfTexts(path, `${current}\n`, `${text}\n`),
    yours: now
      ? html`<h2>Yours, to be put in its place</h2>${await editForm(at, memory, { path, line: now.id, index: lines.indexOf(now), shown: current, text })}`
      : goneView(memory, { what: 'line', path, text }),
  });
}

export async function topicConflictView(
  at: At,
  { memory, path, description, body }: { memory: MemoryPlace; path: string; description: string; body: string },
): Promise<View> {
  const raw = await memory.store.read(path);
  const now = shownTopic(raw ?? '');
  const textOf = (of: { description: string; body: string }) =>
    `Description: ${of.description}\n\n${of.body.replaceAll('\r\n', '\n').trim()}\n`;
  return changedMeanwhile('This topic was changed meanwhile', {
    diff: diffOfTexts(path, raw === null ? null : textOf(now), textOf({ description, body })),
    yours:
      raw === null
        ? goneView(memory, { what: 'topic', path, text: textOf({ description, body }) })
        : html`<h2>Yours, to be put in its place</h2>${topicForm(at, memory, { path, raw, typed: { description, body } })}`,
  });
}

function changedMeanwhile(title: string, { diff, yours }: { diff: Html; yours: Html | Promise<Html> }): View {
  return {
    title: 'Changed meanwhile',
    part: 'memory',
    status: 409,
    body: html`<h1>${title}</h1>
<p class="lead dim">Nothing of yours was written. On the left is what stands there now, on the right what you wrote.</p>
${diff}
${yours}`,
  };
}

function goneView(memory: MemoryPlace, { what, path, text }: { what: string; path: string; text: string }): Html {
  const back =
    what === 'line'
      ? html`<a class="button" href="/memory/${memory.id}/topic/${encodeURIComponent(path)}">Back to the topic</a>`
      : html`<a class="button" href="/memory/${memory.id}">Back to the topics</a>`;
  return html`<p>The ${what} is gone. What you wrote:</p><pre><code>${text}</code></pre><p>${back}</p>`;
}

/** The share of words that two texts have in common. */
function likeness(a: string, b: string): number {
  const [one, other] = [a, b].map((text) => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])) as [
    Set<string>,
    Set<string>,
  ];
  return one.intersection(other).size / Math.max(1, one.union(other).size);
}
