// Nights: what dreams did, the latest first; each with its operations and their reasons, and the files before and after it.

import { join } from 'node:path';
import { html } from 'hono/html';
import { AppError } from '../../../base/errors.ts';
import { listNames } from '../../../base/files/directories.ts';
import { readTextNow } from '../../../base/files/files.ts';
import { formatIn, timeOf } from '../../../base/time.ts';
import { dreamsOf, type ReportedDream } from '../../../doors/cli/terminal/looking.ts';
import { readVersion } from '../../../memory/history/versions.ts';
import { commitsOf, jobRow, undoneBy } from '../../../memory/ledger/job-rows.ts';
import {
  countOps,
  numbered,
  parseJsonReport,
  type ReportRow,
  reportDay,
  reportPath,
} from '../../../memory/text/dream-report.ts';
import { inlineMarkdown } from '../markdown.ts';
import {
  type At,
  diffOfTexts,
  empty,
  form,
  type Html,
  type MemoryPlace,
  memoryCalled,
  memoryTabs,
  pageOf,
  pager,
  type View,
} from '../shell.ts';

const SIZE = 20;
const MOST_ITEMS = 150;
const MOST_DIFFS = 20;
/** What an operation of a dream did, in a word. */
export const DID: Record<string, string> = {
  add: 'added',
  merge: 'merged',
  supersede: 'replaced',
  change: 'changed',
  retire: 'no longer true',
  drop: 'left out',
  archive: 'put away',
  rename: 'renamed',
  propose: 'waits for you',
  failed: 'failed',
};

export async function nightsView(at: At, [id, job]: string[]): Promise<View> {
  if (id !== undefined && job !== undefined) return nightView(at, id, job);
  const asked = memoryCalled(at.places, at.url.searchParams.get('memory'));
  const day = at.url.searchParams.get('day');
  const nights = (asked ? [asked] : at.places.all)
    .flatMap((memory) => daysOf(memory.store.dir).map((each) => ({ memory, day: each })))
    .filter((each) => day === null || each.day === day)
    .sort((a, b) => b.day.localeCompare(a.day));
  const page = pageOf(at.url);
  const shown = nights.slice((page - 1) * SIZE, page * SIZE);
  return {
    title: 'Nights',
    part: 'nights',
    body: html`<h1>Nights ${day === null ? '' : html`<small>${day} · <a href="/nights">all</a></small>`}</h1>
${memoryTabs(at, { current: asked, href: (memory) => (memory ? `/nights?memory=${memory.id}` : '/nights') })}
${shown.length === 0 ? empty('No night yet', html`At night the new entries are worked into topics; <code>nocturne dream</code> does it now.`) : ''}
<ol class="plain timeline">${shown.map(
      ({ memory, day: of }) =>
        html`<li><h2>${formatIn(`${of}T12:00:00Z`, 'UTC', 'EEEE d MMMM')}</h2>${[
          ...Map.groupBy(parseJsonReport(reportOf(memory, of)) ?? [], (row) => row.job),
        ]
          .toReversed()
          .map((dream) => dreamItem(dream, memory, at))}</li>`,
    )}</ol>
${pager(at.url, { page, size: SIZE, total: nights.length })}`,
  };
}

function daysOf(dir: string): string[] {
  return listNames(join(dir, '.nocturne/dreams')).flatMap((name) => reportDay(name) ?? []);
}

function reportOf({ store: { dir } }: MemoryPlace, day: string): string {
  return readTextNow(join(dir, reportPath(day, 'json'))) ?? '';
}

function dreamItem([job, rows]: [string, ReportRow[]], { id, name, store }: MemoryPlace, { config }: At): Html {
  const when = jobRow(store.ledger, job)?.createdAt;
  return html`<a class="card row" href="/nights/${id}/${job}"><strong class="said">${name}</strong> ${undoneBy(store.ledger, job) ? html`<span class="tag bad">taken back</span>` : ''}<span class="meta">${when ? timeOf(when, config.zone) : ''}</span><span class="ops">${opTags(numbered(rows))}</span></a>`;
}

function opTags(rows: Pick<ReportRow, 'op' | 'entry' | 'operation'>[]): Html[] {
  return countOps(rows).map(([op, count]) => html`<span class="tag op-${op}">${count} ${DID[op] ?? op}</span>`);
}

async function nightView(at: At, id: string, job: string): Promise<View> {
  const memory = memoryCalled(at.places, id);
  const day =
    memory && daysOf(memory.store.dir).findLast((each) => reportOf(memory, each).includes(JSON.stringify(job)));
  const dream = memory && day && dreamsOf(reportOf(memory, day), memory.store.ledger).find((each) => each.job === job);
  if (!memory || !day || !dream) throw new AppError('bad-input', 'There is no report of such a night any more.');
  const { ledger } = memory.store;
  const undone = undoneBy(ledger, job);
  const items = [...Map.groupBy(dream.rows, (row) => row.operation ?? row).values()];
  const files = filesOf(memory, job);
  const back = undone
    ? form(at, { action: '/do/undo', fields: { memory: memory.id, job: undone } }, html`<button>Do it again</button>`)
    : form(
        at,
        { action: '/do/undo', fields: { memory: memory.id, job } },
        html`<button class="danger">Undo this night</button>`,
      );
  return {
    title: `Night of ${day}`,
    part: 'nights',
    body: html`<header class="title"><div><p class="meta"><a href="/nights">Nights</a> · <span class="said">${memory.name}</span>${undone ? html` · <span class="tag bad">taken back</span>` : ''}</p><h1>Night of ${formatIn(`${day}T12:00:00Z`, 'UTC', 'd MMMM')} <small>${dream.at ? timeOf(dream.at, at.config.zone) : ''}</small></h1><p class="ops">${opTags(dream.rows)}</p></div>
<div class="actions">${files.length > 0 ? back : ''}</div></header>
<section><h2>What it did, and why</h2><ul class="plain list">${items.slice(0, MOST_ITEMS).map((item) => operation(item, memory))}</ul>
${items.length > MOST_ITEMS ? html`<p class="dim">${items.length - MOST_ITEMS} more.</p>` : ''}
${dream.left.length > 0 ? html`<h3>Left for another night</h3><ul class="plain list">${dream.left.slice(0, MOST_ITEMS).map(({ entry, reason }) => html`<li><a href="/memory/${memory.id}/entry/${entry}">${entry}</a> <span class="said">${reason}</span></li>`)}</ul>` : ''}</section>
${files.length > 0 ? html`<section><h2>Files, before and after</h2>${files.slice(0, MOST_DIFFS).map(({ path, before, after }) => diffOfTexts(path, before, after))}</section>` : ''}`,
  };
}

function operation(rows: ReportedDream['rows'], memory: MemoryPlace): Html {
  const [{ op, topic, reason }] = rows as [ReportedDream['rows'][number]];
  const written = [...new Set(rows.flatMap((row) => row.written))];
  const said = written.length > 0 ? written : [...new Set(rows.map(({ text, entry }) => text ?? entry))];
  const over = [...new Set(rows.flatMap((row) => row.over ?? []))];
  const entries = [...new Set(rows.map(({ entry }) => entry))].filter(Boolean);
  const isSeenOnce = written.some((text) => text.startsWith('Seen once'));
  return html`<li class="operation"><p><span class="tag op-${op}">${DID[op] ?? op}</span>${isSeenOnce ? html` <span class="tag op-hold">seen once</span>` : ''}${topic ? html` <a class="said" href="/memory/${memory.id}/topic/${encodeURIComponent(topic)}">${topic.replace(/\.md$/, '')}</a>` : ''}</p>
${said.map((text) => html`<p>${inlineMarkdown(text)}</p>`)}
${over.map((text) => html`<p class="meta">no longer true: <del class="said">${text}</del></p>`)}
<p class="meta"><span class="said">${reason}</span> ${entries.slice(0, 5).map((entry) => html`<a href="/memory/${memory.id}/entry/${entry}">${entry.slice(0, 8)}</a> `)}</p></li>`;
}

/** The topics that a job wrote, as they were before and after it. */
function filesOf(
  { store: { ledger } }: MemoryPlace,
  job: string,
): { path: string; before: string | null; after: string | null }[] {
  const commits = commitsOf(ledger, job);
  const marks = commits.map(() => '?').join(', ');
  const rows = ledger.all<{ id: string; path: string; previous: string | null }>(
    `select id, path, previous from version where "commit" in (${marks}) and path is not null and path not like '.%' and path not like 'logs/%' order by rowid`,
    ...commits,
  );
  const textOf = (version: string | null) => (version === null ? null : readVersion(ledger, version).text);
  return [...Map.groupBy(rows, ({ path }) => path)].map(([path, list]) => ({
    path,
    before: textOf(list[0]?.previous ?? null),
    after: textOf(list.at(-1)?.id ?? null),
  }));
}
