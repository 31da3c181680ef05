// One topic, line by line: each opens what it rests on, and can be changed in place or forgotten; the whole can be edited, pinned
// and shared. What is changed is changed from what was shown, or not at all: where two wrote one line, or one topic, both are
// shown, and nothing is written before the person has looked.

import { html } from 'hono/html';
import { AppError } from '../base/errors.ts';
import { sayCount } from '../base/text/wording.ts';
import { explainLines } from '../memory/rests.ts';
import type { LocatedLine } from '../memory/text/topic.ts';
import {
  isTopicFile,
  isTopicPath,
  lineNumbers,
  locateLines,
  parseTopic,
  shownLine,
  shownTopic,
} from '../memory/text/topic.ts';
import { similarity } from '../rules/words.ts';
import { evidenceOfLine } from './evidence-view.ts';
import { inlineMarkdown, markdown } from './markdown-html.ts';
import { diffOfTexts } from './page-diff.ts';
import { type At, form, type Html, hrefWith, type Place, paged, pageOf, topicHref, type View } from './page-shell.ts';

const SIZE = 150;
/** What comes back from a browser as something else: NUL, a lone CR, bytes that are no UTF-8. */
const CHANGED_BY_BROWSERS = /[\0\uFFFD]|\r(?!\n)/;

export async function readTopic({ app }: At, { row }: Place, path: string): Promise<string | null> {
  return isTopicFile(path) ? ((await app.files(row).read({ path }))?.text ?? null) : null;
}

export async function topicBody(at: At, memory: Place, path: string): Promise<Html> {
  const raw = await readTopic(at, memory, path);
  if (raw === null) throw new AppError('bad-input', 'There is no such topic any more.');
  const { name, description, type, pinned } = parseTopic(path, raw);
  const lines = locateLines(raw);
  const asked = at.url.searchParams.get('line');
  const keys = keysOf(lines);
  const found = keys.indexOf(asked ?? '');
  const page = found >= 0 && !at.url.searchParams.has('page') ? Math.floor(found / SIZE) + 1 : pageOf(at.url);
  const isTopic = isTopicPath(path);
  const fields = { memory: memory.id, path };
  const isEdited = isTopic && at.url.searchParams.get('edit') === 'topic';
  const { items: shown, from, others } = paged(at.url, lines, SIZE, page);
  const items: Html[] = [];
  for (const [n, line] of isEdited ? [] : shown.entries()) {
    const index = from + n;
    items.push(await lineItem(at, memory, { path, raw, line, key: keys[index] ?? line.id, index, isTopic }));
  }
  return html`<header class="title"><div><p class="meta"><span class="dot ${type ?? 'other'}"></span>${type ?? 'no type'} · ${sayCount(lines.length, 'line')}${pinned ? html` · <span class="tag">pinned</span>` : ''}${isTopic ? '' : html` · <span class="tag">archive</span>`}</p><h1 class="said">${name}</h1><p class="lead dim said" dir="auto">${description}</p></div>
${
  isTopic && !isEdited
    ? html`<div class="actions"><a class="button swap" href="${hrefWith(at.url, { edit: 'topic', line: null })}#topic-form">Edit topic</a>${form(at, { action: '/do/pin', fields: { ...fields, pinned: String(!pinned) } }, html`<button>${pinned ? 'Unpin' : 'Pin'}</button>`)}${
        memory.root === null ? '' : form(at, { action: '/do/share', fields }, html`<button>Share</button>`)
      }${form(at, { action: '/do/forget', fields: { memory: memory.id, target: path }, to: `/memory/${memory.id}` }, html`<button class="danger">Forget all of it</button>`)}</div>`
    : ''
}</header>
${
  isEdited
    ? topicForm(at, memory, { path, raw })
    : html`${lines.length === 0 ? html`<p class="dim">It is empty.</p>` : ''}
<ol class="plain">${items}</ol>
${others}`
}`;
}

/** What names each line on the page: its id, and which one it is of those that say the same. */
function keysOf(lines: readonly LocatedLine[]): string[] {
  const count = new Map<string, number>();
  return lines.map(({ id }) => {
    const n = (count.get(id) ?? 0) + 1;
    count.set(id, n);
    return n === 1 ? id : `${id}.${n}`;
  });
}

interface Shown {
  path: string;
  raw: string;
  line: LocatedLine;
  key: string;
  /** Its place among the lines. */
  index: number;
  isTopic: boolean;
}

async function lineItem(at: At, memory: Place, { path, raw, line, key, index, isTopic }: Shown): Promise<Html> {
  const { url } = at;
  const { id } = line;
  const isOpen = url.searchParams.get('line') === key;
  const shown = shownLine(raw, line);
  if (isTopic && url.searchParams.get('edit') === key)
    return html`<li id="l-${key}" class="line open">${editForm(at, memory, { path, line: id, key, index, shown })}</li>`;
  const body = line.kind === 'fence' || shown.includes('\n') ? markdown(shown) : inlineMarkdown(line.text);
  const open = hrefWith(url, { line: isOpen ? null : key, edit: null, around: null });
  const of = html`<span class="hidden">: ${line.text.slice(0, 60)}</span>`;
  const fields = { memory: memory.id, target: `${path}:${lineNumbers(raw)[index]?.first}`, said: line.text };
  const [explained] = isOpen ? await explainLines(at.app.db, { memory: memory.id, path, line: id }) : [];
  return html`<li id="l-${key}" class="line ${isOpen ? 'open' : ''}"><div class="what">${body}</div>
<div class="actions"><a class="button quiet swap" href="${open}#l-${key}" aria-expanded="${String(isOpen)}">${isOpen ? 'Close' : 'Why'}${of}</a>${
    isTopic
      ? html`<a class="button quiet swap" href="${hrefWith(url, { edit: key, line: null })}#l-${key}">Edit${of}</a>${form(at, { action: '/do/forget', fields }, html`<button class="quiet danger">Forget${of}</button>`)}`
      : ''
  }</div>${explained ? await evidenceOfLine(at, memory, explained) : ''}</li>`;
}

interface EditedLine {
  path: string;
  line: string;
  /** See `keysOf`; default: its id. */
  key?: string;
  index: number;
  shown: string;
  /** What the person has made of it so far. */
  text?: string;
}

function editForm(at: At, memory: Place, { path, line, key = line, index, shown, text = shown }: EditedLine): Html {
  const to = backFrom(at, memory, path);
  const fields = { memory: memory.id, path, line, index: String(index), shown };
  return form(
    at,
    { action: '/do/edit', fields, to, className: 'edit' },
    html`<label for="t-${key}">The line as it is in the file</label><textarea id="t-${key}" name="text" rows="${rowsFor(text, { least: 2, most: 12 })}" dir="auto">
${text}</textarea>${saveAndCancel(to)}`,
  );
}

interface Typed {
  description: string;
  body: string;
}

/** `typed`: what the person has made of it so far. */
function topicForm(at: At, memory: Place, { path, raw, typed }: { path: string; raw: string; typed?: Typed }): Html {
  const shown = shownTopic(raw);
  const to = backFrom(at, memory, path);
  const { description, body } = typed ?? shown;
  if (CHANGED_BY_BROWSERS.test(raw))
    return html`<p>It holds bytes that a browser would change. <code>nocturne show --edit</code> opens it in your editor.</p><p><a class="button" href="${to}">Back to the topic</a></p>`;
  const fields = { memory: memory.id, path, shown: shown.version };
  return html`<section id="topic-form">${form(
    at,
    { action: '/do/edit-topic', fields, to, className: 'edit' },
    html`<label for="topic-name">Name</label><input id="topic-name" value="${parseTopic(path, raw).name}" readonly dir="auto">
<label for="topic-description">Description, one line</label><textarea id="topic-description" name="description" rows="${rowsFor(description, { least: 2, most: 4 })}" dir="auto">
${description}</textarea>
<label for="topic-body">Text, in Markdown</label><textarea id="topic-body" name="text" rows="${rowsFor(body, { least: 8, most: 30 })}" dir="auto">
${body}</textarea>${saveAndCancel(to)}`,
  )}</section>`;
}

/** Where one goes from a form that edits. */
function backFrom({ url }: At, memory: Place, path: string): string {
  return url.pathname.startsWith('/memory') ? hrefWith(url, { edit: null }) : topicHref(memory, path);
}

function rowsFor(text: string, { least, most }: { least: number; most: number }): number {
  return Math.min(most, Math.max(least, Math.ceil(text.length / 70) + text.split('\n').length - 1));
}

function saveAndCancel(back: string): Html {
  return html`<div class="actions"><button class="primary">Save</button><a class="button swap" href="${back}">Cancel</a></div>`;
}

/** What standing at the same place counts, in words in common. */
const SAME_PLACE = 0.3;

export async function lineConflict(at: At, memory: Place, edit: EditedLine & { text: string }): Promise<View> {
  const { path, shown, index, text } = edit;
  const raw = (await readTopic(at, memory, path)) ?? '';
  // What became of the line, as far as anybody can tell: the one most like it, or at its place.
  const [near] = locateLines(raw)
    .map((line, place) => {
      const now = shownLine(raw, line);
      const score = similarity(shown, now) + (place === index ? SAME_PLACE : 0);
      return { line: line.id, index: place, shown: now, score };
    })
    .sort((a, b) => b.score - a.score);
  const now = near && near.score >= SAME_PLACE ? near : undefined;
  return changedMeanwhile('This line was changed meanwhile', {
    diff: diffOfTexts(path, `${now?.shown ?? ''}\n`, `${text}\n`),
    yours: now ? editForm(at, memory, { ...now, path, text }) : null,
    gone: html`<p>The line is gone. What you wrote:</p><pre><code>${text}</code></pre><p><a class="button" href="${topicHref(memory, path)}">Back to the topic</a></p>`,
  });
}

export async function topicConflict(
  at: At,
  memory: Place,
  { path, ...typed }: Typed & { path: string },
): Promise<View> {
  const raw = await readTopic(at, memory, path);
  const textOf = (of: Typed) => `Description: ${of.description}\n\n${of.body.replaceAll('\r\n', '\n').trim()}\n`;
  return changedMeanwhile('This topic was changed meanwhile', {
    diff: diffOfTexts(path, raw === null ? null : textOf(shownTopic(raw)), textOf(typed)),
    yours: raw === null ? null : topicForm(at, memory, { path, raw, typed }),
    gone: html`<p>The topic is gone. What you wrote:</p><pre><code>${textOf(typed)}</code></pre><p><a class="button" href="/memory/${memory.id}">Back to the topics</a></p>`,
  });
}

function changedMeanwhile(title: string, { diff, yours, gone }: { diff: Html; yours: Html | null; gone: Html }): View {
  return {
    title: 'Changed meanwhile',
    part: 'memory',
    status: 409,
    body: html`<h1>${title}</h1>
<p class="lead dim">Your text was not saved yet. On the left is what is there now, on the right what you wrote.</p>
${diff}
${yours ? html`<h2>Yours, to replace it</h2>${yours}` : gone}`,
  };
}
