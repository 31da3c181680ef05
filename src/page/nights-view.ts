// Nights: what dreams did, the latest first; each with its operations and their reasons, and the files before and after it.

import { html } from 'hono/html';
import type { DreamOutput, ToldOperation } from '../../jobs/dream/dream-landing.ts';
import { AppError, onAppError } from '../base/errors.ts';
import { dayOf, formatIn, timeOf } from '../base/time.ts';
import { fileChangesOf } from '../memory/job-rows.ts';
import { countOperations, sayOp } from '../memory/memory-types.ts';
import { inlineMarkdown } from './markdown-html.ts';
import { diffOfTexts } from './page-diff.ts';
import {
  type At,
  askedOf,
  empty,
  form,
  type Html,
  memoryTabs,
  type Place,
  paged,
  placeCalled,
  shortEntry,
  topicHref,
  type View,
} from './page-shell.ts';

const SIZE = 20;
const MOST_ITEMS = 150;
const MOST_DIFFS = 20;

interface Night {
  job: string;
  memory: string;
  /** When it began. */
  at: string;
  output: string | null;
  error: string | null;
  /** The job that took it back. */
  undone: string | null;
}

/** Dreams that did something; `and`: more conditions. */
const NIGHT = `select job.id as job, job.memory, job.created_at as at, job.output, job.error,
  (select max(u.job) from change c join change u on u.id = c.undone_by where c.job = job.id) as undone
  from job where job.kind = 'dream' and job.ended_at is not null and job.output is not null`;

export async function nightsView(at: At, [id, job]: string[]): Promise<View> {
  if (id !== undefined && job !== undefined) return nightView(at, id, job);
  const { app, config } = at;
  const { asked, isAsked } = askedOf(at);
  const day = at.url.searchParams.get('day');
  const begun = await app.db.all<{ id: string; memory: string; at: string }>(
    `select id, memory, created_at as at from job where kind = 'dream' and ended_at is not null and output is not null
       and (progress > 0 or error is not null)
     order by created_at desc, (select max(n) from change where change.job = job.id) desc, id`,
  );
  const dayOfNight = ({ at: begunAt }: { at: string }) => dayOf(new Date(begunAt), config.zone);
  const all = begun.filter((each) => isAsked(each) && (day === null || dayOfNight(each) === day));
  const { items, others } = paged(at.url, all, SIZE);
  const nights: Night[] = [];
  for (const each of items) nights.push(...(await app.db.all<Night>(`${NIGHT} and job.id = ?`, each.id)));
  return {
    title: 'Nights',
    part: 'nights',
    body: html`<h1>Nights ${day === null ? '' : html`<small>${day} · <a href="/nights">all</a></small>`}</h1>
${memoryTabs(at, asked, '/nights')}
${nights.length === 0 ? empty('No night yet', html`At night the new entries are sorted into topics; <code>nocturne dream</code> does it now.`) : ''}
<ol class="plain timeline">${[...Map.groupBy(nights, dayOfNight)].map(
      ([of, list]) =>
        html`<li><h2>${formatIn(`${of}T12:00:00Z`, 'UTC', 'EEEE d MMMM')}</h2>${list.map((night) => nightItem(at, night))}</li>`,
    )}</ol>
${others}`,
  };
}

function nightItem({ places, config }: At, night: Night): Html {
  const { job, memory, at, undone } = night;
  return html`<a class="card row" href="/nights/${memory}/${job}"><strong class="said">${placeCalled(places, memory)?.title}</strong> ${undone ? html`<span class="tag bad">taken back</span>` : ''}<span class="meta">${timeOf(at, config.zone)}</span><span class="ops">${opTags(night)}</span></a>`;
}

function opTags({ output, error }: Night): Html[] {
  const { operations = [], proposals = [] }: Partial<DreamOutput> = JSON.parse(output ?? '{}');
  const counts = countOperations(operations);
  if (proposals.length > 0) counts.push(['propose', proposals.length]);
  if (error !== null) counts.push(['failed', 1]);
  return counts.map(([kind, count]) => html`<span class="tag op-${kind}">${count} ${sayOp(kind)}</span>`);
}

async function nightView(at: At, id: string, job: string): Promise<View> {
  const { app, config, places } = at;
  const memory = placeCalled(places, id);
  const night = await app.db.get<Night>(`${NIGHT} and job.id = ? and job.memory = ?`, job, id);
  if (!memory || !night) throw new AppError('bad-input', 'The report of this night is gone.');
  const { undone } = night;
  const { operations, left }: DreamOutput = JSON.parse(night.output ?? '{}');
  const files = await filesOf(at, job);
  const day = dayOf(new Date(night.at), config.zone);
  const back = undone
    ? form(at, { action: '/do/undo', fields: { memory: id, job: undone } }, html`<button>Do it again</button>`)
    : form(
        at,
        { action: '/do/undo', fields: { memory: id, job } },
        html`<button class="danger">Undo this night</button>`,
      );
  return {
    title: `Night of ${day}`,
    part: 'nights',
    body: html`<header class="title"><div><p class="meta"><a href="/nights">Nights</a> · <span class="said">${memory.title}</span>${undone ? html` · <span class="tag bad">taken back</span>` : ''}</p><h1>Night of ${formatIn(`${day}T12:00:00Z`, 'UTC', 'd MMMM')} <small>${timeOf(night.at, config.zone)}</small></h1><p class="ops">${opTags(night)}</p></div>
<div class="actions">${files.length > 0 ? back : ''}</div></header>
${night.error === null ? '' : html`<p class="problem">${night.error}</p>`}
<section><h2>What it did, and why</h2><ul class="plain list">${operations.slice(0, MOST_ITEMS).map((each) => operation(each, memory))}</ul>
${operations.length > MOST_ITEMS ? html`<p class="dim">${operations.length - MOST_ITEMS} more.</p>` : ''}
${left.length > 0 ? html`<h3>Waits for another night</h3><ul class="plain list">${left.slice(0, MOST_ITEMS).map(({ entry, reason }) => html`<li><a href="/memory/${id}/entry/${entry}">${shortEntry(entry)}</a> <span class="said">${reason}</span></li>`)}</ul>` : ''}</section>
${files.length > 0 ? html`<section><h2>Files, before and after</h2>${files.slice(0, MOST_DIFFS).map(({ path, before, after }) => diffOfTexts(path, before, after))}</section>` : ''}`,
  };
}

function operation({ kind, topic, from, reason, entries, came = [], over = [] }: ToldOperation, memory: Place): Html {
  const isSeenOnce = came.some((text) => text.startsWith('Seen once'));
  return html`<li class="operation"><p><span class="tag op-${kind}">${sayOp(kind)}</span>${isSeenOnce ? html` <span class="tag op-hold">seen once</span>` : ''}${from ? html` <span class="said">${from.replace(/\.md$/, '')}</span> →` : ''}${topic ? html` <a class="said" href="${topicHref(memory, topic)}">${topic.replace(/\.md$/, '')}</a>` : ''}</p>
${came.map((text) => html`<p>${inlineMarkdown(text)}</p>`)}
${over.map((text) => html`<p class="meta">no longer true: <del class="said">${text}</del></p>`)}
<p class="meta"><span class="said">${reason}</span> ${entries.slice(0, 5).map((entry) => html`<a href="/memory/${memory.id}/entry/${entry}">${shortEntry(entry)}</a> `)}</p></li>`;
}

/** The topics that a job wrote, as they were before and after it; none where that is not kept any more. */
async function filesOf(
  { app }: At,
  job: string,
): Promise<{ path: string; before: string | null; after: string | null }[]> {
  const changes = await fileChangesOf(app.db, job).catch(onAppError(() => [], 'refused'));
  return changes.flatMap(({ steps }) => {
    const [first, last] = [steps.at(-1)?.before ?? null, steps[0]?.after ?? null];
    const path = last?.path ?? first?.path ?? '';
    return /^(?:logs|index)\//.test(path) ? [] : [{ path, before: first?.text ?? null, after: last?.text ?? null }];
  });
}
