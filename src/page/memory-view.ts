// Memory: what is known of one project. First what is in no topic yet, then the topics with their lines in sight, by type, each line
// with what it rests on in place; beside them the archive. One topic alone is topic-view.ts's, what a line or an entry rests on
// evidence-view.ts's.

import { html } from 'hono/html';
import { isDirectory } from '../base/files/directories.ts';
import { sayCount } from '../base/text/wording.ts';
import { lookInto } from '../memory/commit.ts';
import { entriesWhere } from '../memory/entries.ts';
import { MEMORY_TYPES } from '../memory/memory-types.ts';
import { isCheckedIn } from '../memory/paths.ts';
import { conflictedIn } from '../memory/recall/recall-source.ts';
import { isArchivePath, locateLines } from '../memory/text/topic.ts';
import { saySpeaker } from '../terminal/phrases.ts';
import { entryBody, quoted, TYPES } from './evidence-view.ts';
import { inlineMarkdown } from './markdown-html.ts';
import {
  type At,
  empty,
  form,
  type Html,
  type Place,
  paged,
  switcher,
  thePlace,
  topicHref,
  type View,
  when,
} from './page-shell.ts';
import { doubtsAbout, keysOf, lineItems, readTopic, topicBody } from './topic-view.ts';

/** So many topics stand on a page, with so many lines together, and each with at least so many. */
const TOPICS = 12;
const LINES = 120;
const LEAST = 6;
const MOST_NEW = 20;
const MOST_NAMED = 500;

const PARTS: Record<string, (at: At, memory: Place, name: string) => Promise<Html>> = {
  topic: topicBody,
  entry: entryBody,
  archive,
};

export async function memoryView(at: At, [id, what = '', ...rest]: string[]): Promise<View> {
  const memory = id === undefined ? at.places[0] : thePlace(at.places, id);
  if (!memory) {
    const text = html`Run <code>nocturne setup</code> to connect your agents: each session that ends is learned from, and what was learned is here. <code>nocturne remember "…"</code> keeps something now.`;
    return {
      title: 'Memory',
      part: 'memory',
      body: html`<h1>What it knows</h1>${empty('Nothing is remembered yet', text)}`,
    };
  }
  const part = Object.hasOwn(PARTS, what) ? PARTS[what] : undefined;
  const name = rest.join('/');
  const body = part ? await part(at, memory, name) : await topics(at, memory);
  const to = switcher(at, memory, { href: (place) => `/memory/${place?.id}` });
  return {
    title: what === 'topic' ? name.replace(/\.md$/, '') : memory.title,
    part: 'memory',
    body: html`${part ? html`<p class="meta"><a href="/memory/${memory.id}">Memory of <span class="said">${memory.title}</span></a></p>` : html`<h1>What it knows</h1>${to}`}
${body}`,
  };
}

interface Card {
  path: string;
  name: string;
  type: string;
  description: string;
  lines: number;
  pinned: boolean;
  updatedAt: string;
}

/** The topics of a memory, the one that changed last first. */
async function cardsOf({ app }: At, memory: string): Promise<Card[]> {
  await lookInto(app.memories, { memory, paths: 'all' });
  const rows = await app.db.all<{ path: string; meta: string; updatedAt: string }>(
    `select path, meta, updated_at as "updatedAt" from file
     where memory = ? and meta is not null and path is not null order by updated_at desc, path`,
    memory,
  );
  return rows.map(({ meta, ...row }) => {
    const { name, type, description, lines, pinned } = JSON.parse(meta);
    return { ...row, name, type: type ?? 'other', description, lines, pinned };
  });
}

async function topics(at: At, memory: Place): Promise<Html> {
  const { url } = at;
  const { id, title, name } = memory;
  const cards = await cardsOf(at, id);
  const all = cards.filter(({ path }) => !isArchivePath(path));
  const byType = [...MEMORY_TYPES, 'other'].flatMap((type) => all.filter((each) => each.type === type));
  const { items, others } = paged(url, byType, TOPICS);
  const sections = await topicSections(at, memory, items);
  const lines = all.reduce((sum, each) => sum + each.lines, 0);
  const archived = cards.length - all.length;
  return html`<p class="dim">${name.endsWith(`/${title}`) ? html`in <span class="said">${name.slice(0, -1 - title.length)}</span> · ` : ''}${sayCount(all.length, 'topic')}, ${sayCount(lines, 'line')}${archived > 0 ? html` · <a href="/memory/${id}/archive">Archive</a>` : ''} · <a href="/next?memory=${id}">What the next session is told</a></p>
${conflictsIn(memory)}
${await freshSection(at, memory)}
${all.length === 0 ? empty('No topics yet', html`At night what was learned is sorted into topics; <code>nocturne dream</code> does it now.`) : ''}
${
  others === ''
    ? ''
    : html`<details id="all"><summary>All ${all.length} topics</summary><ul class="names">${all
        .slice(0, MOST_NAMED)
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map(
          ({ path, name: topic }) => html`<li><a class="said" href="${topicHref(memory, path)}">${topic}</a></li>`,
        )}</ul></details>`
}
${sections}
${others}`;
}

/** Topics with as many of their lines as there is room for. */
async function topicSections(at: At, memory: Place, cards: readonly Card[]): Promise<Html[]> {
  const each = Math.max(LEAST, Math.floor(LINES / Math.max(1, cards.length)));
  const read = [];
  for (const card of cards) {
    const raw = (await readTopic(at, memory, card.path)) ?? '';
    const all = locateLines(raw);
    const keys = keysOf(all);
    const lines = all.slice(0, each).map((line, index) => ({ ...line, key: keys[index] ?? line.id, index }));
    read.push({ card, raw, lines, more: all.length - lines.length });
  }
  const doubts = await doubtsAbout(
    at,
    memory,
    read.flatMap(({ lines }) => lines),
  );
  const sections: Html[] = [];
  for (const [n, { card, raw, lines, more }] of read.entries()) {
    const { path, name, type, description, pinned, updatedAt } = card;
    const href = topicHref(memory, path);
    const items = await lineItems(at, memory, { path, raw, lines, prefix: `${n}-` }, doubts);
    sections.push(
      html`<section class="topic"><h2><a class="row said" href="${href}">${name}</a> <small>${TYPES[type]} · ${when(updatedAt, at)}${pinned ? ' · pinned' : ''}</small></h2>${description === lines[0]?.text ? '' : html`<p class="meta said" dir="auto">${description.slice(0, 240)}</p>`}<ol class="plain">${items}</ol>${more > 0 ? html`<p class="meta"><a href="${href}">${sayCount(more, 'more line')}</a></p>` : ''}</section>`,
    );
  }
  return sections;
}

/** What no night has sorted yet, the newest first. */
async function freshSection(at: At, { id, row }: Place): Promise<Html | ''> {
  const { app, url } = at;
  if (url.searchParams.has('page')) return '';
  const fresh = (await entriesWhere(app.db, row.id, "and state = 'new'")).reverse();
  if (fresh.length === 0) return '';
  const more = fresh.length - MOST_NEW;
  return html`<section class="topic"><h2>New <small>${sayCount(fresh.length, 'entry')} that the next night sorts into topics</small></h2>
<ul class="plain">${fresh
    .slice(0, MOST_NEW)
    .map(
      ({ id: entry, text, evidence, by, changes, at: saidAt }) =>
        html`<li class="line"><details id="n-${entry}"><summary><div class="what">${inlineMarkdown(text)}</div>${by === 'human' ? '' : html` <span class="tag">said by ${saySpeaker(by)}</span>`}</summary><div class="evidence">${changes ? html`<p>Instead of: <span class="said">${changes}</span></p>` : ''}${evidence.map(({ quote }) => (quote === text ? '' : quoted(quote)))}<p class="meta">${when(saidAt, at)} · <a href="/memory/${id}/entry/${entry}">Where it was said</a></p><div class="actions">${form(at, { action: '/do/forget', fields: { memory: id, target: entry } }, html`<button class="danger">Forget</button>`)}</div></div></details></li>`,
    )}</ul>${more > 0 ? html`<p class="meta"><a href="/changes?memory=${id}">${sayCount(more, 'more entry')}</a></p>` : ''}</section>`;
}

/** Of a memory that a repository carries: what git left in conflict, which is neither read nor told. */
function conflictsIn({ row: { dir } }: Place): Html | '' {
  const paths = dir !== null && isDirectory(dir) && isCheckedIn(dir) ? conflictedIn(dir) : [];
  if (paths.length === 0) return '';
  return html`<p class="problem">git left conflict markers in <span class="said">${paths.join(', ')}</span>: no session is told of it until they are resolved in the file.</p>`;
}

async function archive(at: At, memory: Place): Promise<Html> {
  const all = (await cardsOf(at, memory.id)).filter(({ path }) => isArchivePath(path));
  const { items, others } = paged(at.url, all, LINES / 2);
  return html`<h1>Archive</h1><p class="dim">Lines that were not used for long, or whose date has passed. Agents are not told of it; search finds it; it comes back when it is used.</p>
${all.length === 0 ? empty('The archive is empty', 'Nothing was put away yet.') : ''}
<ul class="plain list">${items.map(({ path, name, description, lines }) => html`<li><a class="row said" href="${topicHref(memory, path)}">${name}</a><p class="meta"><span class="said">${description.slice(0, 240)}</span> · ${sayCount(lines, 'line')}</p></li>`)}</ul>${others}`;
}
