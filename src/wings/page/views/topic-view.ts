// One topic, line by line: each opens what it rests on, and can be changed in place or forgotten; the whole can be edited,
// pinned and shared. What is changed is changed from what was shown, or not at all.

import { html } from 'hono/html';
import { shownLine, shownTopic } from '../../../../jobs/edit.ts';
import { AppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { isArchivePath, isTopicPath, type LocatedLine, locateLines, parseTopic } from '../../../memory/text/topic.ts';
import { inlineMarkdown, markdown } from '../markdown.ts';
import type { MemoryPlace } from '../memory-places.ts';
import { type At, form, type Html, hrefWith, pageOf, pager } from '../shell.ts';
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
