// Memory: the projects and scopes, the topics of one by type, its archive, and its logs by day. A topic is topic.ts's, what a
// line or an entry rests on evidence.ts's.

import { html } from 'hono/html';
import { AppError } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { formatIn, isDay, timeOf } from '../../../base/time.ts';
import { refreshTopics, topicCards } from '../../../memory/dream/topic-table.ts';
import { catalogEntries, catalogTopics, logDays } from '../../../memory/recall/catalog.ts';
import { logPath } from '../../../memory/text/daily-log.ts';
import { MEMORY_TYPES } from '../../../memory/types.ts';
import { inlineMarkdown } from '../markdown.ts';
import { type At, empty, type Html, type MemoryPlace, memoryCalled, pageOf, pager, type View, when } from '../shell.ts';
import { entryBody } from './evidence-view.ts';
import { topicBody } from './topic-view.ts';

const SIZE = 50;
const TYPES: Record<string, string> = {
  user: 'About you',
  feedback: 'How to work',
  project: 'Project',
  reference: 'Reference',
};

export async function memoryView(at: At, [id, what, ...rest]: string[]): Promise<View> {
  const [first] = at.places.all;
  if (!first) {
    const text = html`When a session ends it is learned from; <code>nocturne remember "…"</code> keeps something now.`;
    return { title: 'Memory', part: 'memory', body: html`<h1>Memory</h1>${empty('No memory yet', text)}` };
  }
  const memory = id === undefined ? first : memoryCalled(at.places, id);
  if (!memory) throw new AppError('bad-input', 'There is no such memory.');
  const tab = ['archive', 'logs', 'topic', 'entry'].find((each) => each === what);
  const name = rest.join('/');
  const body =
    tab === 'topic'
      ? await topicBody(at, memory, name)
      : tab === 'entry'
        ? await entryBody(at, memory, name)
        : tab === 'logs'
          ? logs(at, memory, rest[0])
          : tab === 'archive'
            ? archive(at, memory)
            : topics(at, memory);
  const title = tab === 'topic' ? name.replace(/\.md$/, '') : memory.name;
  return {
    title,
    part: 'memory',
    body: html`<div class="split">${side(at, memory, tab)}<div>${body}</div></div>`,
  };
}

function side({ places }: At, memory: MemoryPlace, tab: string | undefined): Html {
  const link = (href: string, text: string, isHere: boolean) =>
    html`<a href="${href}" ${isHere ? html`aria-current="true"` : ''}>${text}</a>`;
  const base = `/memory/${memory.id}`;
  return html`<nav class="side" aria-label="Memories"><ul class="plain">${places.all.map(
    (each) =>
      html`<li><a href="/memory/${each.id}" ${each === memory ? html`aria-current="true"` : ''}><span class="said">${each.name}</span></a>${
        each === memory
          ? html`<ul class="plain">${[
              link(base, 'Topics', tab === undefined || tab === 'topic'),
              link(`${base}/logs`, 'Logs', tab === 'logs' || tab === 'entry'),
              link(`${base}/archive`, 'Archive', tab === 'archive'),
            ].map((each) => html`<li>${each}</li>`)}</ul>`
          : ''
      }</li>`,
  )}</ul></nav>`;
}

function topics({ url, ...at }: At, { id, name, path, store: { dir, ledger } }: MemoryPlace): Html {
  refreshTopics(ledger);
  const all = catalogTopics(dir, ledger).sort((a, b) => b.modifiedAt.localeCompare(a.modifiedAt));
  const asked = url.searchParams.get('type');
  const shown = asked === null ? all : all.filter(({ type }) => (type ?? 'other') === asked);
  const page = pageOf(url);
  const kinds = [...MEMORY_TYPES, 'other'].map((type) => ({
    type,
    count: all.filter((each) => (each.type ?? 'other') === type).length,
  }));
  const slice = shown.slice((page - 1) * SIZE, page * SIZE);
  return html`<h1 class="said">${name}</h1>
<p class="dim">${path === name ? '' : html`<span class="said">${path}</span> · `}${sayCount(all.length, 'topic')}, ${sayCount(
    all.reduce((sum, { lines }) => sum + lines, 0),
    'line',
  )}</p>
<nav class="tabs" aria-label="Types"><a href="/memory/${id}" ${asked === null ? html`aria-current="true"` : ''}>All</a>${kinds
    .filter(({ count }) => count > 0)
    .map(
      ({ type, count }) =>
        html`<a href="/memory/${id}?type=${type}" ${asked === type ? html`aria-current="true"` : ''}>${TYPES[type] ?? 'Other'} <span class="tag">${count}</span></a>`,
    )}</nav>
${slice.length === 0 ? empty('No topics yet', 'A dream works what sessions taught into topics, at night.') : ''}
${[...Map.groupBy(slice, ({ type }) => type ?? 'other')]
  .sort(([a], [b]) => orderOf(a) - orderOf(b))
  .map(
    ([type, list]) =>
      html`<section><h2><span class="dot ${type}"></span>${TYPES[type] ?? 'Other'}</h2><ul class="plain list">${list.map(
        ({ name: topic, path, description, lines, pinned, modifiedAt }) =>
          html`<li><a class="row" href="/memory/${id}/topic/${encodeURIComponent(path)}"><strong class="said">${topic}</strong>${pinned ? html` <span class="tag">pinned</span>` : ''}<span class="said description dim">${description.slice(0, 240)}</span></a><p class="meta">${sayCount(lines, 'line')} · ${when(modifiedAt, { ...at, url } as At)}</p></li>`,
      )}</ul></section>`,
  )}
${pager(url, { page, size: SIZE, total: shown.length })}`;
}

function orderOf(type: string): number {
  return [...MEMORY_TYPES, 'other'].indexOf(type);
}

function archive({ url }: At, { id, store: { ledger } }: MemoryPlace): Html {
  refreshTopics(ledger);
  const all = topicCards(ledger).filter(({ isArchived }) => isArchived);
  const page = pageOf(url);
  return html`<h1>Archive</h1><p class="dim">What dreams put away: out of what agents are told, found by a search, back when it is touched.</p>
${all.length === 0 ? empty('The archive is empty', 'Lines that were long not needed, and whose date has passed, are put here.') : ''}
<ul class="plain list">${all
    .slice((page - 1) * SIZE, page * SIZE)
    .map(
      ({ path, name, description, lines }) =>
        html`<li><a class="row" href="/memory/${id}/topic/${encodeURIComponent(path)}"><strong class="said">${name}</strong><span class="said description dim">${description.slice(0, 240)}</span></a><p class="meta">${sayCount(lines, 'line')}</p></li>`,
    )}</ul>${pager(url, { page, size: SIZE, total: all.length })}`;
}

function logs(at: At, { id, store: { dir, ledger } }: MemoryPlace, asked: string | undefined): Html {
  const days = logDays(dir);
  const day = asked !== undefined && isDay(asked) ? asked : days.at(-1);
  if (day === undefined)
    return html`<h1>Logs</h1>${empty('No log yet', 'Each day on which something was learned has one.')}`;
  const entries = catalogEntries(dir, [logPath(day)], ledger);
  const page = pageOf(at.url);
  return html`<h1>Logs <small>${formatIn(`${day}T12:00:00Z`, 'UTC', 'EEEE d MMMM yyyy')}</small></h1>
${calendar({ id, day, days })}
${entries.length === 0 ? html`<p class="dim">Nothing was learned on this day.</p>` : ''}
<ul class="plain list">${entries
    .slice((page - 1) * SIZE, page * SIZE)
    .map(
      (entry) =>
        html`<li><a class="row" href="/memory/${id}/entry/${entry.id}">${inlineMarkdown(entry.text)}</a><p class="meta"><span class="dot ${entry.type}"></span>${entry.type} · ${entry.kind === 'own' ? html`${timeOf(entry.at, at.config.zone)} · ` : ''}${entry.state}</p></li>`,
    )}</ul>${pager(at.url, { page, size: SIZE, total: entries.length })}`;
}

/** The month of a day; those that have a log lead to it. */
function calendar({ id, day, days }: { id: string; day: string; days: string[] }): Html {
  const month = day.slice(0, 7);
  const has = new Set(days);
  const first = new Date(`${month}-01T12:00:00Z`);
  const count = new Date(Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + 1, 0)).getUTCDate();
  const lead = (first.getUTCDay() + 6) % 7;
  const before = days.findLast((each) => each < `${month}-01`);
  const after = days.find((each) => each > `${month}-31`);
  const step = (to: string | undefined, text: string) =>
    to ? html`<a class="button" href="/memory/${id}/logs/${to}">${text}</a>` : html`<span></span>`;
  const cells = Array.from({ length: count }, (_, at) => {
    const each = `${month}-${String(at + 1).padStart(2, '0')}`;
    if (!has.has(each)) return html`<li class="dim">${at + 1}</li>`;
    return html`<li><a href="/memory/${id}/logs/${each}" ${each === day ? html`aria-current="date"` : ''}>${at + 1}</a></li>`;
  });
  return html`<div class="calendar"><div class="bar">${step(before, 'Earlier')}<strong>${formatIn(first, 'UTC', 'MMMM yyyy')}</strong>${step(after, 'Later')}</div>
<ol class="plain days" aria-label="Days with a log">${Array.from({ length: lead }, () => html`<li aria-hidden="true"></li>`)}${cells}</ol></div>`;
}
