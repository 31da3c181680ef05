// Changes: what waits for a person's answer, then what came and went, the latest first, of all memories or of one: by which cause, in
// which lines, and with what takes it back. One change alone is told whole, with its files before and after it.

import { html } from 'hono/html';
import type { DreamOutput, ToldOperation } from '../../jobs/dream/dream-landing.ts';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { sayCount } from '../base/text/wording.ts';
import { dayOf, formatIn } from '../base/time.ts';
import { marks } from '../db/sql.ts';
import { rawText } from '../memory/edit-text.ts';
import type { Content } from '../memory/file-rows.ts';
import { fileChangesOf, sayActor } from '../memory/job-rows.ts';
import { sayOp } from '../memory/memory-types.ts';
import { isTopicFile, parseTopic } from '../memory/text/topic.ts';
import { sayDid } from '../terminal/phrases.ts';
import { namesOf } from '../worker/whose-memory.ts';
import { inlineMarkdown } from './markdown-html.ts';
import { diffOfTexts } from './page-diff.ts';
import {
  type At,
  empty,
  form,
  type Html,
  hrefWith,
  type Place,
  placeCalled,
  switcher,
  thePlace,
  topicHref,
  type View,
  when,
} from './page-shell.ts';
import { waitingSection } from './waiting-changes.ts';

const SIZE = 20;
const SHOWN = { few: 6, all: 150 };
const MOST_FILES = 12;
/** Of a longer file it is only said that it changed. */
const MOST_BYTES = 64 * 2 ** 10;
const MOST_DIFFS = 20;
/** The highest number that both engines take. */
const MOST_CHANGES = 2 ** 31 - 1;

interface Made {
  change: string;
  job: string;
  /** The place of its last commit among all. */
  n: number;
  at: string;
  memory: string;
  /** Null: of no job that is kept: an edit of a file, or a program's. */
  kind: string | null;
  outcome: string | null;
  by: string | null;
  session: string | null;
  output: string | null;
  error: string | null;
  /** The job that took it back. */
  undone: string | null;
}

/**
 * A job by its last commit, each of those that belong to no job (an edit of a file) by itself; what only says that a session taught
 * nothing is no change, and an undo is told of what it took back.
 */
const MADE = `select * from (
  select c.id as change, c.job, c.n, c.at, coalesce(j.memory, (select v.memory from version v where v.change = c.id limit 1)) as memory, j.kind,
    j.outcome, j.started_by as "by", j.session, j.output, j.error,
    (select u.job from change u where u.id = c.undone_by) as undone
  from change c left join job j on j.id = c.job
  where (j.id is null or not exists (select 1 from change d where d.job = c.job and d.n > c.n))
    and (j.kind is null or j.kind <> 'undo')
    and (j.kind is null or j.kind not in ('extract', 'reprocess') or exists (select 1 from entry e where e.job = c.job))) made`;

export async function changesView(at: At, [job]: string[]): Promise<View> {
  if (job !== undefined) return changeView(at, job);
  const { app, places, url, config, visit } = at;
  const given = url.searchParams.get('memory');
  const asked = given === null ? undefined : thePlace(places, given);
  const ids = (asked ? [asked] : places).map(({ id }) => id);
  const before = Math.min(Math.trunc(Number(url.searchParams.get('before'))) || MOST_CHANGES, MOST_CHANGES);
  const found = await app.db.all<Made>(
    `${MADE} where n < ? and memory in (${marks(ids)}) order by n desc limit ?`,
    ...[before, ...ids, SIZE + 1],
  );
  const made = found.slice(0, SIZE);
  const names = await sessionsOf(at, made);
  const items = await Promise.all(
    made.map(async (each) => ({ each, item: await changeItem(at, each, { names, most: SHOWN.few }) })),
  );
  const last = made.at(-1);
  const isNew = made.some((each) => visit.since === null || each.at > visit.since);
  const to = switcher(at, asked, {
    href: (place) => (place ? `/changes?memory=${place.id}` : '/changes'),
    all: 'All memories',
  });
  return {
    title: 'Changes',
    part: 'changes',
    body: html`<div class="bar"><h1>What changed</h1>${to}</div>
${url.searchParams.has('before') ? '' : await waitingSection(at, asked)}
${made.length === 0 ? empty('Nothing changed yet', 'What sessions teach, what nights make of it and what you edit is here, with what takes it back.') : ''}
${isNew ? form(at, { action: '/do/seen', fields: {}, className: 'bar' }, html`<button>Mark all as seen</button>`) : ''}
${[...Map.groupBy(items, ({ each }) => dayOf(new Date(each.at), config.zone))].map(
  ([day, list]) =>
    html`<section><h2>${formatIn(`${day}T12:00:00Z`, 'UTC', 'EEEE d MMMM')}</h2><ol class="plain">${list.map(({ item }) => item)}</ol></section>`,
)}
${found.length > SIZE && last ? html`<nav class="pager" aria-label="Pages"><a class="button" href="${hrefWith(url, { before: String(last.n) })}">Older</a></nav>` : ''}`,
  };
}

type Names = Awaited<ReturnType<typeof namesOf>>;

function sessionsOf({ app }: At, made: Made[]): Promise<Names> {
  const learned = made.filter(({ kind }) => kind === 'extract' || kind === 'reprocess');
  return namesOf(
    app,
    learned.flatMap(({ session }) => session ?? []),
  );
}

const WHO: Record<string, string> = { person: 'You', hook: 'nocturne', api: 'A client', program: 'An agent' };

/** By whom, and what was done, as one would say it. */
async function causeOf({ app }: At, { change, kind, outcome, by, session }: Made, names: Names): Promise<Html> {
  if (kind === null) return html`Changed by ${await sayActor(app.db, change)}`;
  const named = names.get(session ?? '')?.name;
  if (named && (kind === 'extract' || kind === 'reprocess'))
    return html`Learned from <span class="said">“${named}”</span>`;
  return html`${WHO[by ?? ''] ?? 'nocturne'} ${sayDid({ kind, outcome })}`;
}

async function changeItem(at: At, made: Made, { names, most }: { names: Names; most: number }): Promise<Html> {
  const { change, job, kind, memory: id, undone, error } = made;
  const href = `/changes/${kind === null ? change : job}`;
  const memory = placeCalled(at.places, id);
  if (!memory) return html``;
  const { lines, more } = await linesOf(at, { made, memory, most });
  const isNew = at.visit.since !== null && made.at > at.visit.since;
  const undo =
    kind === null || kind === 'redact'
      ? ''
      : form(
          at,
          { action: '/do/undo', fields: { memory: id, job: undone ?? job } },
          html`<button class="quiet">${undone ? 'Do it again' : 'Undo'}<span class="hidden"> ${kind} ${job}</span></button>`,
        );
  return html`<li class="card change ${undone ? 'dim' : ''}"><div class="bar"><p><strong>${await causeOf(at, made, names)}</strong>${undone ? html` <span class="tag bad">taken back</span>` : ''}${isNew ? html` <span class="tag">new</span>` : ''}<br><span class="meta"><span class="said">${memory.title}</span> · ${when(made.at, at)}${most === SHOWN.all ? '' : html` · <a href="${href}">Details</a>`}</span></p>${undo}</div>
${error === null ? '' : html`<p class="problem said">${error}</p>`}<ul class="plain">${lines}</ul>${more > 0 ? html`<p class="meta"><a href="${href}">${more} more</a></p>` : ''}</li>`;
}

interface Asked {
  made: Made;
  memory: Place;
  most: number;
}

interface Lines {
  lines: Html[];
  /** So many are not shown. */
  more: number;
}

function linesOf(at: At, asked: Asked): Promise<Lines> | Lines {
  const { kind, output } = asked.made;
  const { operations }: Partial<DreamOutput> = JSON.parse(output ?? '{}');
  if (Array.isArray(operations)) return operationLines(asked, operations);
  if (kind === 'extract' || kind === 'reprocess' || kind === 'remember') return entryLines(at, asked);
  return fileLines(at, asked);
}

const came = (text: unknown) => html`<li class="came">${text}</li>`;
const gone = (text: unknown) => html`<li class="gone">${text}</li>`;

function operationLines({ made, memory, most }: Asked, operations: ToldOperation[]): Lines {
  const { proposals = [], left = [] }: Partial<DreamOutput> = JSON.parse(made.output ?? '{}');
  const entryLink = (id: string, text: unknown) => html`<a href="/memory/${memory.id}/entry/${id}">${text}</a>`;
  const lines = operations.slice(0, most).map((each) => {
    const { kind, topic, from, reason, entries, came: now = [], gone: was = [], over = [] } = each;
    const name = (path: string) => path.replace(/\.md$/, '');
    return html`<li class="operation"><p class="meta"><span class="tag op-${kind}">${sayOp(kind)}</span>${from ? html` <span class="said">${name(from)}</span> →` : ''}${topic ? html` <a class="said" href="${topicHref(memory, topic)}">${name(topic)}</a>` : ''} <span class="said">${reason}</span>${entries.slice(0, 5).map((id) => html` ${entryLink(id, 'source')}`)}</p><ul class="plain">${now.map((text) => came(inlineMarkdown(text)))}${[...was, ...over].map((text) => gone(html`<span class="said" dir="auto">${text}</span>`))}</ul></li>`;
  });
  if (proposals.length > 0) lines.push(html`<li>${sayCount(proposals.length, 'change')} proposed for your answer</li>`);
  const isAll = most === SHOWN.all;
  for (const { entry, reason } of isAll ? left.slice(0, most) : [])
    lines.push(
      html`<li>Waits for another night: ${entryLink(entry, 'source')} <span class="said">${reason}</span></li>`,
    );
  return { lines, more: Math.max(0, operations.length - most) };
}

async function entryLines({ app }: At, { made, memory, most }: Asked): Promise<Lines> {
  const all = await app.db.all<{ id: string; text: string; state: string }>(
    'select id, text, state from entry where job = ? order by at, id',
    made.job,
  );
  const lines = all.slice(0, most).map(({ id, text, state }) => {
    const said = html`<a class="row" href="/memory/${memory.id}/entry/${id}">${inlineMarkdown(text)}</a>`;
    return state === 'gone' ? gone(said) : came(said);
  });
  return { lines, more: Math.max(0, all.length - most) };
}

/** What an edit did to lines of topics, as far as its versions are kept. */
async function fileLines({ app }: At, { made, memory, most }: Asked): Promise<Lines> {
  const rows = await app.db.all<
    { path: string | null; wasPath: string | null; size: number | null; isOld: number } & Record<
      'content' | 'was',
      Content
    >
  >(
    `select v.path, p.path as "wasPath", v.size, case when v.previous is not null and p.id is null then 1 else 0 end as "isOld",
       case when coalesce(v.size, 0) <= ${MOST_BYTES} then v.content end as content,
       case when coalesce(p.size, 0) <= ${MOST_BYTES} then p.content end as was
     from version v join change c on c.id = v.change left join version p on p.id = v.previous
     where ${made.kind === null ? 'c.id' : 'c.job'} = ? and coalesce(v.path, p.path) not like 'logs/%' and coalesce(v.path, p.path) not like 'index/%'
       and coalesce(v.path, p.path) <> 'MEMORY.md' order by v.seq limit ?`,
    ...[made.kind === null ? made.change : made.job, MOST_FILES + 1],
  );
  const lines: Html[] = [];
  let [room, more] = [most, Math.max(0, rows.length - MOST_FILES)];
  for (const { path, wasPath, size, isOld, content, was } of rows.slice(0, MOST_FILES)) {
    const place = path ?? wasPath ?? '';
    const read = (bytes: Content) => (isTopicFile(place) && bytes ? parseTopic(place, rawText(bytes)).lines : []);
    const [after, before] = [read(content), read(was)];
    const isOf = (others: typeof after) => (line: (typeof after)[number]) => !others.some(({ id }) => id === line.id);
    const isLong = (size ?? 0) > MOST_BYTES || isOld === 1;
    const texts = isLong
      ? []
      : [
          ...after.filter(isOf(before)).map(({ text }) => came(inlineMarkdown(text))),
          ...before.filter(isOf(after)).map(({ text }) => gone(html`<span class="said" dir="auto">${text}</span>`)),
        ];
    more += Math.max(0, texts.length - room);
    if (room === 0) continue;
    const name =
      isTopicFile(place) && path !== null
        ? html`<a class="said" href="${topicHref(memory, place)}">${place.replace(/\.md$/, '')}</a>`
        : html`<span class="said">${place}</span>`;
    lines.push(
      html`<li class="operation"><p class="meta">${name}${wasPath === null ? ' is new' : path === null ? ' is gone' : ''}</p><ul class="plain">${texts.slice(0, room)}</ul></li>`,
    );
    room = Math.max(0, room - Math.max(1, texts.length));
  }
  return { lines, more };
}

/** `id`: of a job, or of a change that belongs to none. */
async function changeView(at: At, id: string): Promise<View> {
  const made = await at.app.db.get<Made>(`${MADE} where job = ? and kind is not null or change = ?`, id, id);
  const memory = placeCalled(at.places, made?.memory);
  if (!made || !memory) throw new AppError('bad-input', 'There is no such change any more.');
  const item = await changeItem(at, made, { names: await sessionsOf(at, [made]), most: SHOWN.all });
  return {
    title: 'Change',
    part: 'changes',
    body: html`<p class="meta"><a href="/changes">Changes</a></p><h1>Change <small>${when(made.at, at)}</small></h1>
<ol class="plain">${item}</ol>
${made.kind === null ? '' : await filesSection(at, made.job)}`,
  };
}

/** The files that a job wrote, as they were before and after it; where that is not kept any more, that. */
async function filesSection({ app }: At, job: string): Promise<Html | ''> {
  try {
    const changes = await fileChangesOf(app.db, job);
    const files = changes.flatMap(({ steps }) => {
      const [first, last] = [steps.at(-1)?.before ?? null, steps[0]?.after ?? null];
      const path = last?.path ?? first?.path ?? '';
      return /^(?:logs|index)\//.test(path) ? [] : [diffOfTexts(path, first?.text ?? null, last?.text ?? null)];
    });
    return files.length === 0 ? '' : html`<h2>Files, before and after</h2>${files.slice(0, MOST_DIFFS)}`;
  } catch (error) {
    if (!isAppError(error, 'refused')) throw error;
    return html`<p class="dim">${describeError(error)}</p>`;
  }
}
