// Memory: the projects and scopes, the topics of one by type, its archive, and its logs by day. A topic is topic-view.ts's, what a
// line or an entry rests on evidence-view.ts's.

import { html } from 'hono/html';
import { sayCount } from '../base/text/wording.ts';
import { formatIn, isDay, timeOf } from '../base/time.ts';
import { lookInto } from '../memory/commit.ts';
import { entriesAmong } from '../memory/entries.ts';
import { MEMORY_TYPES } from '../memory/memory-types.ts';
import { logDay, logPath, parseLog } from '../memory/text/daily-log.ts';
import { isArchivePath } from '../memory/text/topic.ts';
import { entryBody } from './evidence-view.ts';
import { inlineMarkdown } from './markdown-html.ts';
import {
  type At,
  empty,
  type Html,
  hereLink,
  type Place,
  paged,
  thePlace,
  topicHref,
  type View,
  when,
} from './page-shell.ts';
import { topicBody } from './topic-view.ts';

const SIZE = 50;
const TYPES: Record<string, string> = {
  user: 'About you',
  feedback: 'How to work',
  project: 'Project',
  reference: 'Reference',
  other: 'Other',
};

type Body = (at: At, memory: Place, name: string) => Promise<Html>;

const TABS: Record<string, { body: Body; of: string }> = {
  topics: { body: topics, of: 'topics' },
  topic: { body: topicBody, of: 'topics' },
  logs: { body: logs, of: 'logs' },
  entry: { body: entryBody, of: 'logs' },
  archive: { body: archive, of: 'archive' },
};

export async function memoryView(at: At, [id, what = 'topics', ...rest]: string[]): Promise<View> {
  const [first] = at.places;
  if (!first) {
    const text = html`When a session ends it is learned from; <code>nocturne remember "…"</code> keeps something now.`;
    return { title: 'Memory', part: 'memory', body: html`<h1>Memory</h1>${empty('No memory yet', text)}` };
  }
  const memory = id === undefined ? first : thePlace(at.places, id);
  const tab = (Object.hasOwn(TABS, what) && TABS[what]) || { body: topics, of: 'topics' };
  const name = rest.join('/');
  const body = await tab.body(at, memory, name);
  return {
    title: what === 'topic' ? name.replace(/\.md$/, '') : memory.title,
    part: 'memory',
    body: html`<div class="split">${side(at, memory, tab.of)}<div>${body}</div></div>`,
  };
}

function side({ places }: At, memory: Place, tab: string): Html {
  const base = `/memory/${memory.id}`;
  const tabs = html`<ul class="plain"><li>${hereLink(base, tab === 'topics', 'Topics')}</li><li>${hereLink(`${base}/logs`, tab === 'logs', 'Logs')}</li><li>${hereLink(`${base}/archive`, tab === 'archive', 'Archive')}</li></ul>`;
  return html`<nav class="side" aria-label="Memories"><ul class="plain">${places.map(
    (each) =>
      html`<li>${hereLink(`/memory/${each.id}`, each === memory, html`<span class="said">${each.title}</span>`)}${each === memory ? tabs : ''}</li>`,
  )}</ul></nav>`;
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

function cardItem(at: At, memory: Place, { path, name, description, lines, pinned, updatedAt }: Card): Html {
  return html`<li><a class="row" href="${topicHref(memory, path)}"><strong class="said">${name}</strong>${pinned ? html` <span class="tag">pinned</span>` : ''}<span class="said description dim">${description.slice(0, 240)}</span></a><p class="meta">${sayCount(lines, 'line')}${isArchivePath(path) ? '' : html` · ${when(updatedAt, at)}`}</p></li>`;
}

async function topics(at: At, memory: Place): Promise<Html> {
  const { url } = at;
  const all = (await cardsOf(at, memory.id)).filter(({ path }) => !isArchivePath(path));
  const asked = url.searchParams.get('type');
  const shown = asked === null ? all : all.filter(({ type }) => type === asked);
  const { items, others } = paged(url, shown, SIZE);
  const slice = Map.groupBy(items, ({ type }) => type);
  const kinds = [...MEMORY_TYPES, 'other'].map((type) => ({
    type,
    count: all.filter((each) => each.type === type).length,
  }));
  const { id, title, name } = memory;
  return html`<h1 class="said">${title}</h1>
<p class="dim">${name === title ? '' : html`<span class="said">${name}</span> · `}${sayCount(all.length, 'topic')}, ${sayCount(
    all.reduce((sum, { lines }) => sum + lines, 0),
    'line',
  )}</p>
<nav class="tabs" aria-label="Types">${hereLink(`/memory/${id}`, asked === null, 'All')}${kinds
    .filter(({ count }) => count > 0)
    .map(({ type, count }) =>
      hereLink(`/memory/${id}?type=${type}`, asked === type, html`${TYPES[type]} <span class="tag">${count}</span>`),
    )}</nav>
${slice.size === 0 ? empty('No topics yet', 'A dream sorts what was learned into topics, at night.') : ''}
${kinds.map(({ type }) => {
  const list = slice.get(type);
  return list
    ? html`<section><h2><span class="dot ${type}"></span>${TYPES[type]}</h2><ul class="plain list">${list.map((card) => cardItem(at, memory, card))}</ul></section>`
    : '';
})}
${others}`;
}

async function archive(at: At, memory: Place): Promise<Html> {
  const all = (await cardsOf(at, memory.id)).filter(({ path }) => isArchivePath(path));
  const { items, others } = paged(at.url, all, SIZE);
  return html`<h1>Archive</h1><p class="dim">What dreams archived. Agents are not told of it; search finds it; it comes back when it is used.</p>
${all.length === 0 ? empty('The archive is empty', 'Lines that were not used for long, or whose date has passed, come here.') : ''}
<ul class="plain list">${items.map((card) => cardItem(at, memory, card))}</ul>${others}`;
}

async function logs(at: At, { id, row }: Place, asked: string): Promise<Html> {
  const { app, config } = at;
  await lookInto(app.memories, { memory: id, paths: 'all' });
  const paths = await app.db.all<{ path: string }>(
    "select path from file where memory = ? and path >= 'logs/' and path < 'logs0'",
    id,
  );
  const days = paths.flatMap(({ path }) => logDay(path) ?? []).sort();
  const day = isDay(asked) ? asked : days.at(-1);
  if (day === undefined)
    return html`<h1>Logs</h1>${empty('No log yet', 'Each day on which something was learned has one.')}`;
  const all = parseLog((await app.files(row).read({ path: logPath(day) }))?.text ?? '', day);
  const known = await entriesAmong(app.db, id, { column: 'id', of: all.map((item) => item.id) });
  const states = new Map(known.map((entry) => [`${entry.id} ${entry.text}`, entry.state]));
  const { items, others } = paged(at.url, all, SIZE);
  return html`<h1>Logs <small>${formatIn(`${day}T12:00:00Z`, 'UTC', 'EEEE d MMMM yyyy')}</small></h1>
${daysBeside({ id, day, days })}
${all.length === 0 ? html`<p class="dim">Nothing was learned on this day.</p>` : ''}
<ul class="plain list">${items.map((item) => {
    const said = item.kind === 'own' ? html`${timeOf(item.at, config.zone)} · ` : '';
    const state = states.get(`${item.id} ${item.text}`) ?? 'new';
    return html`<li><a class="row" href="/memory/${id}/entry/${item.id}">${inlineMarkdown(item.text)}</a><p class="meta"><span class="dot ${item.type}"></span>${item.type} · ${said}${state}</p></li>`;
  })}</ul>${others}`;
}

/** The days with a log before and after a day. */
function daysBeside({ id, day, days }: { id: string; day: string; days: string[] }): Html {
  const [before, after] = [days.findLast((each) => each < day), days.find((each) => each > day)];
  const link = (to: string | undefined, text: string) =>
    to ? html`<a class="button" href="/memory/${id}/logs/${to}">${text} (${to})</a>` : '';
  return html`<nav class="pager" aria-label="Days with a log">${link(after, 'Newer')}${link(before, 'Older')}</nav>`;
}
