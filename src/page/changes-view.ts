// Changes: what waits for a person's answer, one by one with the words it rests on; then what came and went, the latest first, of all
// memories or of one: by which cause, in which lines, and with what takes it back. One change alone is told with all its lines.

import { html } from 'hono/html';
import type { DreamOutput, ToldOperation } from '../../jobs/dream/dream-landing.ts';
import { type ShownProposal, shownProposals } from '../../jobs/review.ts';
import { AppError, onAppError } from '../base/errors.ts';
import { sayCount } from '../base/text/wording.ts';
import { dayOf, formatIn } from '../base/time.ts';
import { marks } from '../db/sql.ts';
import { lookInto } from '../memory/commit.ts';
import { rawText } from '../memory/edit-text.ts';
import type { Content } from '../memory/file-rows.ts';
import { sayActor } from '../memory/job-rows.ts';
import { sayOp } from '../memory/memory-types.ts';
import { isTopicFile, parseTopic, withoutMark } from '../memory/text/topic.ts';
import { sayDid, saySpeaker } from '../terminal/phrases.ts';
import { namesOf } from '../worker/whose-memory.ts';
import { quoted } from './evidence-view.ts';
import { inlineMarkdown } from './markdown-html.ts';
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

/** Changes, proposals and files of a change that stand on a page; lines of one among others, and alone. */
const SIZE = 20;
const PROPOSALS = 10;
const MOST_FILES = 12;
const FEW = 6;
const MANY = 150;
const MOST_OF_DIFF = 400;
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
  const { app, places, url, config } = at;
  const given = url.searchParams.get('memory');
  const asked = given === null ? undefined : thePlace(places, given);
  const ids = (asked ? [asked] : places).map(({ id }) => id);
  // What was edited past nocturne has no row before somebody looks; what keeps a memory from being read its own view tells.
  for (const memory of ids) await lookInto(app.memories, { memory, paths: 'all' }).catch(onAppError(() => {}));
  const before = Math.min(Math.trunc(Number(url.searchParams.get('before'))) || MOST_CHANGES, MOST_CHANGES);
  const found = await app.db.all<Made>(
    `${MADE} where n < ? and memory in (${marks(ids)}) order by n desc limit ?`,
    ...[before, ...ids, SIZE + 1],
  );
  const made = found.slice(0, SIZE);
  const names = await sessionNames(at, made);
  const items = await Promise.all(made.map(async (each) => ({ each, item: await changeItem(at, each, names, FEW) })));
  const last = made.at(-1);
  const to = switcher(at, asked, {
    href: (place) => (place ? `/changes?memory=${place.id}` : '/changes'),
    all: 'All memories',
  });
  return {
    title: 'Changes',
    part: 'changes',
    body: html`<h1>What changed</h1>${to}
${url.searchParams.has('before') ? '' : await waitingSection(at, asked)}
${made.length === 0 ? empty('Nothing changed yet', 'What sessions teach, what nights make of it and what you edit is here, with what takes it back.') : ''}
${[...Map.groupBy(items, ({ each }) => dayOf(new Date(each.at), config.zone))].map(
  ([day, list]) =>
    html`<section><h2>${formatIn(`${day}T12:00:00Z`, 'UTC', 'EEEE d MMMM')}</h2><ol class="plain">${list.map(({ item }) => item)}</ol></section>`,
)}
${found.length > SIZE && last ? html`<nav class="pager" aria-label="Pages"><a class="button" href="${hrefWith(url, { before: String(last.n) })}">Older</a></nav>` : ''}`,
  };
}

/** `id`: of a job, or of a change that belongs to none. */
async function changeView(at: At, id: string): Promise<View> {
  const made = await at.app.db.get<Made>(`${MADE} where job = ? and kind is not null or change = ?`, id, id);
  if (!made || !placeCalled(at.places, made.memory))
    throw new AppError('bad-input', 'There is no such change any more.');
  const item = await changeItem(at, made, await sessionNames(at, [made]), MANY);
  return {
    title: 'Change',
    part: 'changes',
    body: html`<p class="meta"><a href="/changes">Changes</a></p><h1>Change</h1><ol class="plain">${item}</ol>`,
  };
}

// What waits.

/** Kinds of proposals that are called otherwise here. */
const ASKED: Record<string, string> = { retire: 'remove', drop: 'leave out' };

/** `asked`: of this memory alone. */
async function waitingSection(at: At, asked: Place | undefined): Promise<Html | ''> {
  const open = await at.app.db.all<{ memory: string; id: string }>(
    "select memory, id from proposal where state = 'open' order by at, id",
  );
  const waiting = (asked ? [asked] : at.places).flatMap((memory) =>
    open.flatMap((each) => (each.memory === memory.id ? { memory, id: each.id } : [])),
  );
  if (waiting.length === 0) return '';
  const items: Html[] = [];
  for (const [memory, list] of Map.groupBy(waiting.slice(0, PROPOSALS), (each) => each.memory)) {
    const ids = list.map(({ id }) => id);
    for (const proposal of await shownProposals(at.app.db, memory.row, ids))
      items.push(proposalItem(at, memory, proposal));
  }
  const [memory, ...others] = new Set(waiting.map((each) => each.memory.id));
  const fields = { memory: memory ?? '', id: 'all', word: 'accept' };
  const all = form(at, { action: '/do/review', fields }, html`<button>Accept all ${waiting.length}</button>`);
  return html`<section aria-labelledby="waits"><div class="bar"><h2 id="waits">${waiting.length} wait for your answer</h2>${others.length === 0 && waiting.length > 1 ? all : ''}</div>
<ol class="plain">${items}</ol>
${waiting.length > items.length ? html`<p class="dim">${waiting.length - items.length} more follow when these are decided.</p>` : ''}</section>`;
}

function proposalItem(at: At, memory: Place, proposal: ShownProposal): Html {
  const { id, kind, topic, reason, at: proposedAt, state, why, lines, entries, diff } = proposal;
  const isStale = state === 'stale';
  const decide = (word: string, button: Html) =>
    form(at, { action: '/do/review', fields: { memory: memory.id, id, word } }, button);
  const source = (entry: string, saidAt: string) =>
    html`<a href="/memory/${memory.id}/entry/${entry}">${when(saidAt, at)}</a>`;
  return html`<li class="card proposal" id="${id}"><p class="meta"><span class="tag">${ASKED[kind] ?? kind}</span> ${topic ? html`<span class="said">${topic}</span> · ` : ''}<span class="said">${memory.title}</span> · ${when(proposedAt, at)}</p>
${lines.map((line) => html`<p class="statement">${inlineMarkdown(line)}</p>`)}
<p class="said">${reason}</p>
${isStale ? html`<p class="problem">It is outdated: <span class="said">${why}</span> The next dream proposes it again.</p>` : ''}
<h3>It rests on</h3>
${entries.slice(0, 8).map(({ id: entry, text, at: saidAt, quotes, speakers }) => html`<div class="entry">${lines.some((line) => withoutMark(line) === text) ? '' : html`<p>${inlineMarkdown(text)}</p>`}${quotes.map((quote, n) => html`${quote === text ? '' : quoted(quote)}<p class="meta">said by ${saySpeaker(speakers[n])}, ${source(entry, saidAt)}</p>`)}${quotes.length === 0 ? html`<p class="meta">written by a person, ${source(entry, saidAt)}</p>` : ''}</div>`)}
${diff ? html`<details id="w-${id}" ${lines.length === 0 ? html`open` : ''}><summary>What would change</summary>${shownDiff(diff)}</details>` : ''}
<div class="actions">${isStale ? '' : decide('accept', html`<button class="primary">Accept</button>`)}${decide('reject', html`<button class="danger">Reject</button>`)}</div>
</li>`;
}

function shownDiff(diff: string): Html {
  const rows = diff
    .trimEnd()
    .split('\n')
    .filter((row) => !/^(?:\+\+\+|@@) /.test(row));
  const kinds: Record<string, string> = { '+': 'came', '-': 'gone' };
  const shown = rows.slice(0, MOST_OF_DIFF).map((row) => {
    if (row.startsWith('--- ')) return html`<p class="meta said">${row.slice(4)}</p>`;
    return html`<p class="text said ${kinds[row[0] ?? ''] ?? 'dim'}" dir="auto">${row.slice(1)}</p>`;
  });
  return html`<div class="diff">${shown}${rows.length > MOST_OF_DIFF ? html`<p class="dim">${rows.length - MOST_OF_DIFF} more</p>` : ''}</div>`;
}

// What came and went.

const WHO: Record<string, string> = { person: 'You', hook: 'nocturne', api: 'A client', program: 'An agent' };

const isLearned = ({ kind }: Made) => kind === 'extract' || kind === 'reprocess';

type Names = Awaited<ReturnType<typeof namesOf>>;

function sessionNames({ app }: At, made: Made[]): Promise<Names> {
  return namesOf(
    app,
    made.filter(isLearned).flatMap(({ session }) => session ?? []),
  );
}

/** By whom, and what was done, as one would say it. */
async function causeOf({ app }: At, made: Made, names: Names): Promise<Html> {
  const { change, kind, outcome, by, session } = made;
  if (kind === null) return html`Changed by ${await sayActor(app.db, change)}`;
  const named = isLearned(made) && names.get(session ?? '')?.name;
  if (named) return html`Learned from <span class="said">“${named}”</span>`;
  return html`${WHO[by ?? ''] ?? 'nocturne'} ${sayDid({ kind, outcome })}`;
}

async function changeItem(at: At, made: Made, names: Names, most: number): Promise<Html> {
  const { change, job, kind, undone, error } = made;
  const href = `/changes/${kind === null ? change : job}`;
  const memory = placeCalled(at.places, made.memory);
  if (!memory) return html``;
  const { lines, more } = await linesOf(at, { made, memory, most });
  const button = html`<button>${undone ? 'Do it again' : 'Undo'}<span class="hidden"> ${kind} ${job}</span></button>`;
  const undo =
    kind === null || kind === 'redact'
      ? ''
      : form(at, { action: '/do/undo', fields: { memory: memory.id, job: undone ?? job } }, button);
  return html`<li class="card change ${undone ? 'dim' : ''}"><div class="bar"><p><strong>${await causeOf(at, made, names)}</strong>${undone ? html` <span class="tag bad">taken back</span>` : ''}<br><span class="meta"><span class="said">${memory.title}</span> · ${when(made.at, at)}${most === MANY ? '' : html` · <a href="${href}">Details</a>`}</span></p>${undo}</div>
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
  if (isLearned(asked.made) || kind === 'remember') return entryLines(at, asked);
  return fileLines(at, asked);
}

const came = (text: unknown) => html`<li class="came">${text}</li>`;
const gone = (text: unknown) => html`<li class="gone">${text}</li>`;
const plainly = (text: string) => html`<span class="said" dir="auto">${text}</span>`;
const nameOf = (path: string) => path.replace(/\.md$/, '');

function operationLines({ made, memory, most }: Asked, operations: ToldOperation[]): Lines {
  const { proposals = [], left = [] }: Partial<DreamOutput> = JSON.parse(made.output ?? '{}');
  const source = (id: string) => html` <a href="/memory/${memory.id}/entry/${id}">source</a>`;
  const lines = operations.slice(0, most).map((each) => {
    const { kind, topic, from, reason, entries, came: now = [], gone: was = [], over = [] } = each;
    return html`<li class="operation"><p class="meta"><span class="tag">${sayOp(kind)}</span>${from ? html` <span class="said">${nameOf(from)}</span> →` : ''}${topic ? html` <a class="said" href="${topicHref(memory, topic)}">${nameOf(topic)}</a>` : ''} <span class="said">${reason}</span>${entries.slice(0, 5).map(source)}</p><ul class="plain">${now.map((text) => came(inlineMarkdown(text)))}${[...was, ...over].map((text) => gone(plainly(text)))}</ul></li>`;
  });
  if (proposals.length > 0) lines.push(html`<li>${sayCount(proposals.length, 'change')} proposed for your answer</li>`);
  for (const { entry, reason } of most === MANY ? left.slice(0, most) : [])
    lines.push(html`<li>Waits for another night:${source(entry)} <span class="said">${reason}</span></li>`);
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
    { path: string | null; wasPath: string | null; isOld: number } & Record<'content' | 'was', Content>
  >(
    `select v.path, p.path as "wasPath", case when v.previous is not null and p.id is null then 1 else 0 end as "isOld",
       v.content, p.content as was
     from version v join change c on c.id = v.change left join version p on p.id = v.previous
     where ${made.kind === null ? 'c.id' : 'c.job'} = ? and coalesce(v.path, p.path) not like 'logs/%'
       and coalesce(v.path, p.path) <> 'MEMORY.md' order by v.seq limit ?`,
    ...[made.kind === null ? made.change : made.job, MOST_FILES + 1],
  );
  let [room, more] = [most, Math.max(0, rows.length - MOST_FILES)];
  const lines = rows.slice(0, MOST_FILES).map(({ path, wasPath, isOld, content, was }) => {
    const place = path ?? wasPath ?? '';
    const isTopic = isTopicFile(place);
    const read = (bytes: Content) => (isTopic && bytes && !isOld ? parseTopic(place, rawText(bytes)).lines : []);
    const [after, before] = [read(content), read(was)];
    const [stood, stands] = [before, after].map((all) => new Set(all.map(({ id }) => id))) as [
      Set<string>,
      Set<string>,
    ];
    const texts = [
      ...after.filter(({ id }) => !stood.has(id)).map(({ text }) => came(inlineMarkdown(text))),
      ...before.filter(({ id }) => !stands.has(id)).map(({ text }) => gone(plainly(text))),
    ];
    const shown = texts.slice(0, room);
    room -= shown.length;
    more += texts.length - shown.length;
    const name =
      isTopic && path !== null
        ? html`<a class="said" href="${topicHref(memory, place)}">${nameOf(place)}</a>`
        : html`<span class="said">${place}</span>`;
    return html`<li class="operation"><p class="meta">${name}${wasPath === null && !isOld ? ' is new' : path === null ? ' is gone' : ''}</p><ul class="plain">${shown}</ul></li>`;
  });
  return { lines, more };
}
