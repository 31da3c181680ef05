// One topic, line by line: each opens what it rests on and what speaks against it, and can be changed in place or forgotten; the whole
// can be pinned or forgotten. A line is changed from what was shown, or not at all: where two wrote it, the page shows both.

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
  withoutMark,
} from '../memory/text/topic.ts';
import { similarity } from '../rules/words.ts';
import { evidenceOfLine, TYPES } from './evidence-view.ts';
import { inlineMarkdown, markdown } from './markdown-html.ts';
import { type At, form, type Html, type Place, paged, pageOf, topicHref, type View } from './page-shell.ts';

const SIZE = 150;

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
  const fields = { memory: memory.id, path };
  const { items: shown, from, others } = paged(at.url, lines, SIZE, page);
  const of = {
    path,
    raw,
    lines: shown.map((line, n) => ({ ...line, key: keys[from + n] ?? line.id, index: from + n })),
  };
  const items = await lineItems(at, memory, of, await doubtsAbout(at, memory, lines));
  const pin = { action: '/do/pin', fields: { ...fields, pinned: String(!pinned) } };
  const forget = { action: '/do/forget', fields: { memory: memory.id, target: path }, to: `/memory/${memory.id}` };
  return html`<h1 class="said">${name}</h1><p class="dim said" dir="auto">${description}</p>
<div class="bar"><p class="meta">${TYPES[type ?? 'other']} · ${sayCount(lines.length, 'line')}${pinned ? ' · pinned' : ''}${isTopicPath(path) ? '' : ' · archive'}</p>${
    isTopicPath(path)
      ? html`<div class="actions">${form(at, pin, html`<button>${pinned ? 'Unpin' : 'Pin'}</button>`)}${form(at, forget, html`<button class="danger">Forget all of it</button>`)}</div>`
      : ''
  }</div>
${lines.length === 0 ? html`<p class="dim">It is empty.</p>` : ''}
<ol class="plain">${items}</ol>
${others}`;
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
interface Doubts {
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
  const asked = prefix === '' ? at.url.searchParams : new URLSearchParams();
  const shown = shownLine(raw, line);
  const isTopic = isTopicPath(path);
  if (isTopic && asked.get('edit') === key)
    return html`<li id="l-${key}" class="line card">${editForm(at, memory, { path, line: id, key, index, shown })}</li>`;
  const body = line.kind === 'fence' || shown.includes('\n') ? markdown(shown) : inlineMarkdown(withoutMark(text));
  const href = topicHref(memory, path, key);
  const proposal = doubts.waits.get(`${path} ${id}`);
  const newer = doubts.newer(text);
  const fields = { memory: memory.id, target: `${path}:${number}`, said: text };
  return html`<li id="l-${prefix}${key}" class="line"><details id="d-${prefix}${key}" ${asked.get('line') === key ? html`open` : ''}><summary><div class="what">${body}</div>${marksOf(text, { explained, isContested: newer.length > 0, waits: proposal !== undefined })}</summary>
<div class="evidence">${newer.map(({ id: entry, text: said }) => html`<p class="problem">Told since, in no topic yet: <a href="/memory/${memory.id}/entry/${entry}">${inlineMarkdown(said)}</a></p>`)}${
    proposal ? html`<p><a href="/changes#${proposal}">A change of it waits for your answer</a></p>` : ''
  }${explained ? await evidenceOfLine(at, memory, explained) : ''}
${isTopic ? html`<div class="actions"><a class="button" href="${href.replace('?line=', '?edit=')}">Edit</a>${form(at, { action: '/do/forget', fields }, html`<button class="danger">Forget</button>`)}</div>` : ''}</div></details></li>`;
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
  /** See `keysOf`. */
  key: string;
  index: number;
  shown: string;
}

/** `text`: what the person has made of it so far. */
function editForm(at: At, memory: Place, edited: EditedLine, text = edited.shown): Html {
  const { path, line, key, index, shown } = edited;
  const to = topicHref(memory, path, key);
  const rows = Math.min(12, Math.max(2, Math.ceil(text.length / 70) + text.split('\n').length - 1));
  return form(
    at,
    { action: '/do/edit', fields: { memory: memory.id, path, line, index: String(index), shown }, to, className: '' },
    html`<label>The line as it is in the file<textarea name="text" rows="${rows}" dir="auto">
${text}</textarea></label><div class="actions"><button class="primary">Save</button><a class="button" href="${to}">Cancel</a></div>`,
  );
}

/** What standing at the same place counts, in words in common. */
const SAME_PLACE = 0.3;

/** What a person wrote in the place of a line, and what became of that meanwhile, as far as anybody can tell: what is most like it. */
export async function lineConflict(
  at: At,
  memory: Place,
  { path, index, shown, text }: Pick<EditedLine, 'path' | 'index' | 'shown'> & { text: string },
): Promise<View> {
  const raw = (await readTopic(at, memory, path)) ?? '';
  const lines = locateLines(raw);
  const keys = keysOf(lines);
  const [near] = lines
    .map((line, place) => {
      const now = shownLine(raw, line);
      const score = similarity(shown, now) + (place === index ? SAME_PLACE : 0);
      return { path, line: line.id, key: keys[place] ?? line.id, index: place, shown: now, score };
    })
    .sort((a, b) => b.score - a.score);
  const now = near && near.score >= SAME_PLACE ? near : undefined;
  return {
    title: 'Changed meanwhile',
    part: 'memory',
    status: 409,
    body: html`<h1>This line was changed meanwhile</h1><p>Your text was not saved yet.</p>
${
  now
    ? html`<h2>What is there now</h2>${markdown(now.shown)}<h2>Yours, to replace it</h2>${editForm(at, memory, now, text)}`
    : html`<p>The line is gone. What you wrote:</p><pre class="said">${text}</pre><p><a href="${topicHref(memory, path)}">Back to the topic</a></p>`
}`,
  };
}
