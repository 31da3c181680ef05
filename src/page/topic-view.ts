// One topic, line by line: each opens what it rests on and what speaks against it, and can be changed in place or forgotten; the whole can
// be edited, pinned and shared. What is changed is changed from what was shown, or not at all: where two wrote one line, or one topic, both
// are shown, and nothing is written before the person has looked.

import { html } from 'hono/html';
import { AppError } from '../base/errors.ts';
import { sayCount } from '../base/text/wording.ts';
import { entriesWhere } from '../memory/entries.ts';
import { openProposals } from '../memory/proposals.ts';
import { newerAmong } from '../memory/recall/recall-words.ts';
import { type ExplainedLine, explainLines } from '../memory/rests.ts';
import {
  foundOn,
  isTopicFile,
  isTopicPath,
  type LocatedLine,
  lineNumbers,
  locateLines,
  mayBeOver,
  parseTopic,
  seenOnceOn,
  shownLine,
  shownTopic,
  withoutMark,
} from '../memory/text/topic.ts';
import { similarity } from '../rules/words.ts';
import { evidenceOfLine, TYPES } from './evidence-view.ts';
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
  const asked = at.url.searchParams.get('line') ?? at.url.searchParams.get('edit');
  const keys = keysOf(lines);
  const found = keys.indexOf(asked ?? '');
  const page = found >= 0 && !at.url.searchParams.has('page') ? Math.floor(found / SIZE) + 1 : pageOf(at.url);
  const isTopic = isTopicPath(path);
  const fields = { memory: memory.id, path };
  const isEdited = isTopic && at.url.searchParams.get('edit') === 'topic';
  const { items: shown, from, others } = paged(at.url, lines, SIZE, page);
  const of = {
    path,
    raw,
    lines: shown.map((line, n) => ({ ...line, key: keys[from + n] ?? line.id, index: from + n })),
  };
  const items = isEdited ? [] : await lineItems(at, memory, of, await doubtsAbout(at, memory, lines));
  return html`<header class="title"><div><p class="meta"><span class="dot ${type ?? 'other'}"></span>${TYPES[type ?? 'other']} · ${sayCount(lines.length, 'line')}${pinned ? html` · <span class="tag">pinned</span>` : ''}${isTopic ? '' : html` · <span class="tag">archive</span>`}</p><h1 class="said">${name}</h1>${isEdited ? '' : html`<p class="lead dim said" dir="auto">${description}</p>`}</div>
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
export function keysOf(lines: readonly LocatedLine[]): string[] {
  const count = new Map<string, number>();
  return lines.map(({ id }) => {
    const n = (count.get(id) ?? 0) + 1;
    count.set(id, n);
    return n === 1 ? id : `${id}.${n}`;
  });
}

/** A line of a file, with what names it on the page and its place among the lines. */
type ShownLine = LocatedLine & { key: string; index: number };

interface ShownLines {
  path: string;
  raw: string;
  lines: ShownLine[];
  /** Where several topics stand on a page: what tells its lines' ids from those of others. */
  prefix?: string;
}

/** What speaks against lines of a memory. */
export interface Doubts {
  /** By path, a space and the line's id: the proposal that would take it out or that rests on it. */
  waits: Map<string, string>;
  /** Entries that say they change it, and are in no topic yet. */
  newer(text: string): { id: string; text: string }[];
}

/** `lines`: all among which a newer entry may find the one that it changes. */
export async function doubtsAbout({ app: { db } }: At, { id }: Place, lines: LocatedLine[]): Promise<Doubts> {
  const waits = new Map<string, string>();
  for (const proposal of await openProposals(db, id))
    for (const { path, lines } of proposal.files) for (const line of lines) waits.set(`${path} ${line}`, proposal.id);
  const fresh = await entriesWhere(db, id, "and state = 'new' and changes is not null");
  return {
    waits,
    newer: newerAmong(
      lines.map(({ text }) => text),
      fresh,
    ),
  };
}

/** Lines as a page shows them, each with what it rests on in place. */
export async function lineItems(at: At, memory: Place, of: ShownLines, doubts: Doubts): Promise<Html[]> {
  const { path, lines } = of;
  const among = new Set(lines.map(({ id }) => id));
  const explained = lines.length > 0 ? await explainLines(at.app.db, { memory: memory.id, path, among }) : [];
  const byId = new Map(explained.map((each) => [each.id, each]));
  const numbers = lineNumbers(of.raw);
  return Promise.all(
    lines.map((line) => {
      const number = numbers[line.index]?.first;
      return lineItem(at, memory, { ...of, line, number, doubts, explained: byId.get(line.id) });
    }),
  );
}

interface LineOf extends ShownLines {
  line: ShownLine;
  /** Where it stands in the file, from 1. */
  number: number | undefined;
  doubts: Doubts;
  explained: ExplainedLine | undefined;
}

async function lineItem(at: At, memory: Place, of: LineOf): Promise<Html> {
  const { path, raw, line, number, doubts, explained, prefix = '' } = of;
  const { id, key, index, text } = line;
  const { searchParams } = at.url;
  const shown = shownLine(raw, line);
  const isTopic = isTopicPath(path);
  if (isTopic && prefix === '' && searchParams.get('edit') === key)
    return html`<li id="l-${key}" class="line open">${editForm(at, memory, { path, line: id, key, index, shown })}</li>`;
  const body = line.kind === 'fence' || shown.includes('\n') ? markdown(shown) : inlineMarkdown(withoutMark(text));
  const href = topicHref(memory, path, key);
  const proposal = doubts.waits.get(`${path} ${id}`);
  const newer = doubts.newer(text);
  const fields = { memory: memory.id, target: `${path}:${number}`, said: text };
  const isOpen = prefix === '' && searchParams.get('line') === key;
  return html`<li id="l-${prefix}${key}" class="line"><details id="d-${prefix}${key}" ${isOpen ? html`open` : ''}><summary><div class="what">${body}</div>${marksOf(text, { explained, isContested: newer.length > 0, waits: proposal !== undefined })}</summary>
<div class="evidence">${newer.map(({ id: entry, text: said }) => html`<p class="problem">Told since, in no topic yet: <a href="/memory/${memory.id}/entry/${entry}">${inlineMarkdown(said)}</a></p>`)}${
    proposal ? html`<p><a href="/changes#${proposal}">A change of it waits for your answer</a></p>` : ''
  }${explained ? await evidenceOfLine(at, memory, { line: explained, href }) : ''}
${isTopic ? html`<div class="actions"><a class="button swap" href="${href.replace('?line=', '?edit=')}">Edit</a>${form(at, { action: '/do/forget', fields }, html`<button class="danger">Forget</button>`)}</div>` : ''}</div></details></li>`;
}

interface Marked {
  explained: ExplainedLine | undefined;
  isContested: boolean;
  waits: boolean;
}

/** What is uncertain about a line, or in conflict with it, in a few words. */
function marksOf(text: string, { explained, isContested, waits }: Marked): Html[] {
  const day = seenOnceOn(text);
  const isGone = explained && explained.entries.length > 0 && explained.entries.every(({ isInLog }) => !isInLog);
  const marks = [
    ...(isContested ? [['bad', 'told otherwise since']] : []),
    ...(isGone ? [['bad', 'its source was taken back']] : []),
    ...(waits ? [['wait', 'a change waits']] : []),
    ...(day === undefined ? [] : [['wait', `${foundOn(text) ? 'found by the agent' : 'seen once'}, ${day}`]]),
    ...(mayBeOver(text) ? [['wait', 'may be over']] : []),
    ...(explained?.program ? [['', 'written by a program']] : []),
  ];
  return marks.map(([kind, said]) => html` <span class="tag ${kind}">${said}</span>`);
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
