// What every view is shown in: the head, the way to the other views, the word of what was just done, and small pieces that
// several views use.

import { createHash } from 'node:crypto';
import { html } from 'hono/html';
import type { Config } from '../../base/config/config.ts';
import { describeError, isAppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { whoseMemory } from '../../doors/cli/terminal/looking.ts';
import { sayWhen } from '../../doors/cli/terminal/phrases.ts';
import type { App } from '../../doors/compose.ts';
import { unifiedDiff } from '../../memory/history/line-diff.ts';
import { sessionDirs } from '../../memory/ledger/coverage.ts';
import { lastSuccessAt } from '../../memory/ledger/job-rows.ts';
import type { Store } from '../../memory/store/store.ts';
import type { Flash, Visit } from './visits.ts';

export type Html = ReturnType<typeof html>;

/** One request of a visit. */
export interface At {
  app: App;
  config: Config;
  places: Places;
  visit: Visit;
  url: URL;
  /** What was known when it was asked for: whatever changes later is told to the page (live.ts). */
  mark: string;
}

export interface View {
  title: string;
  /** The part of the way that it is of. */
  part: PartName | 'none';
  body: unknown;
  status?: number;
}

const PARTS = [
  ['home', '/', 'Home'],
  ['memory', '/memory', 'Memory'],
  ['nights', '/nights', 'Nights'],
  ['review', '/review', 'Review'],
  ['sessions', '/sessions', 'Sessions'],
  ['search', '/search', 'Search'],
  ['cost', '/cost', 'Cost'],
] as const;

export type PartName = (typeof PARTS)[number][0];

export function shell({ title, part, body }: View, at: At, waiting: number): Html {
  const flash = at.visit.flashes.get(at.url.searchParams.get('said') ?? '');
  const link = ([name, href, text]: (typeof PARTS)[number]) =>
    html`<a href="${href}" ${name === part ? html`aria-current="page"` : ''}>${text}${
      name === 'review' && waiting > 0 ? html` <span class="tag count">${waiting}</span>` : ''
    }</a>`;
  return html`<!doctype html>
<html lang="en">
${head(title)}
<body data-mark="${at.mark}">
<a class="skip" href="#main">To the content</a>
<header class="top">
<a class="brand" href="/"><svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z"/></svg>nocturne</a>
<nav aria-label="Views">${PARTS.map(link)}</nav>
</header>
<main id="main" tabindex="-1">
${body}
</main>
<div id="said">${flash ? toast(flash, at) : ''}</div>
<div id="live" role="status" class="live" hidden>This page changed meanwhile. <button type="button" id="reload">Show it</button></div>
<div id="gone" role="status" class="live" hidden>nocturne does not answer: what you see may be old. <code>nocturne open</code> opens it again.</div>
</body>
</html>`;
}

export function head(title: string): Html {
  return html`<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title} · nocturne</title>
<link rel="stylesheet" href="/assets/page.css">
<link rel="icon" href="/assets/icon.svg">
<script type="module" src="/assets/page.js"></script>
</head>`;
}

function toast({ text, undo, isProblem }: Flash, at: At): Html {
  const back =
    undo &&
    form(
      at,
      { action: '/do/undo', fields: { memory: undo.memory, job: undo.job } },
      html`<button>${undo.isRedo ? 'Redo' : 'Undo'}</button>`,
    );
  return html`<div class="toast ${isProblem ? 'problem' : ''}" role="status"><p>${text}</p>${back ?? ''}</div>`;
}

/** A form that changes something; where one is back afterwards is where one is now, or `to`. */
export function form(
  at: At,
  {
    action,
    fields,
    to,
    className,
  }: { action: string; fields: Record<string, string>; to?: string; className?: string },
  inner: unknown,
): Html {
  const all = { token: at.visit.token, to: to ?? here(at), ...fields };
  return html`<form method="post" action="${action}" class="${className ?? 'inline'}">${Object.entries(all).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}${inner}</form>`;
}

/** The address of what is shown, without the word of what was just done. */
export function here({ url }: Pick<At, 'url'>): string {
  return hrefWith(url, { said: null });
}

/** The same address with other parameters; null takes one away. */
export function hrefWith(url: URL, values: Record<string, string | null>): string {
  const params = new URLSearchParams(url.search);
  for (const [name, value] of Object.entries({ said: null, ...values })) {
    if (value === null) params.delete(name);
    else params.set(name, value);
  }
  const search = params.toString();
  return `${url.pathname}${search && `?${search}`}`;
}

export function when(instant: string | null | undefined, { config }: Pick<At, 'config'>): Html {
  if (!instant) return html`<span class="dim">never</span>`;
  return html`<time datetime="${instant}">${sayWhen(instant, config)}</time>`;
}

/** What is shown where there is nothing. */
export function empty(title: string, text: unknown): Html {
  return html`<div class="empty dim"><svg viewBox="0 0 24 24" width="40" height="40" aria-hidden="true"><path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z"/></svg><h2>${title}</h2><p>${text}</p></div>`;
}

/** A page of a list, and the ways to those beside it. */
export function pager(url: URL, { page, size, total }: { page: number; size: number; total: number }): Html | '' {
  const last = Math.max(1, Math.ceil(total / size));
  if (last === 1) return '';
  const to = (n: number, text: string) =>
    html`<a class="button" href="${hrefWith(url, { page: String(n) })}">${text}</a>`;
  return html`<nav class="pager" aria-label="Pages">${page > 1 ? to(page - 1, 'Newer') : ''}<span class="dim">${page} of ${last}</span>${
    page < last ? to(page + 1, 'Older') : ''
  }</nav>`;
}

export function pageOf(url: URL): number {
  const page = Number(url.searchParams.get('page') ?? 1);
  return Number.isInteger(page) && page > 0 && page < 100_000 ? page : 1;
}

/** The way to choose one memory of several; `all`: or all of them. */
export function memoryTabs(
  { places }: Pick<At, 'places'>,
  { current, href }: { current?: MemoryPlace; href(memory: MemoryPlace | undefined): string },
): Html | '' {
  if (places.all.length < 2) return '';
  return html`<nav class="tabs" aria-label="Memories"><a href="${href(undefined)}" ${current ? '' : html`aria-current="true"`}>All</a>${places.all.map(
    (each) =>
      html`<a href="${href(each)}" ${each === current ? html`aria-current="true"` : ''}><span class="said">${each.name}</span></a>`,
  )}</nav>`;
}

const MOST_ROWS = 400;

interface Row {
  left: string | null;
  right: string | null;
  kind: 'same' | 'changed' | 'gap';
}

export function diffOfTexts(path: string, before: string | null, after: string | null): Html {
  return sideBySide(unifiedDiff({ name: path, text: before ?? '' }, { name: path, text: after ?? '' }));
}

/** `diff`: of one file, or of several one behind the other. */
export function sideBySide(diff: string): Html {
  if (diff === '') return html`<p class="dim">No file changes.</p>`;
  const files = diff.split(/^(?=--- )/m).filter(Boolean);
  return html`${files.map(fileDiff)}`;
}

function fileDiff(diff: string): Html {
  const [before = '', after = '', ...lines] = diff.replace(/\n$/, '').split('\n');
  const name = (after.startsWith('+++ /dev/null') ? before : after).slice(4);
  const rows = rowsOf(lines);
  const side = (text: string | null, kind: string) =>
    html`<div class="${text === null ? 'none' : kind}">${text === null ? '' : html`<span class="said" dir="auto">${text || ' '}</span>`}</div>`;
  return html`<figure class="diff"><figcaption class="said">${name}</figcaption><div class="sides">${rows
    .slice(0, MOST_ROWS)
    .map((row) =>
      row.kind === 'gap'
        ? html`<div class="gap dim">⋯</div>`
        : html`${side(row.left, row.kind === 'same' ? 'dim' : 'gone')}${side(row.right, row.kind === 'same' ? 'dim' : 'came')}`,
    )}</div>${rows.length > MOST_ROWS ? html`<p class="dim">${rows.length - MOST_ROWS} rows more.</p>` : ''}</figure>`;
}

function rowsOf(lines: string[]): Row[] {
  const rows: Row[] = [];
  let [gone, came]: [string[], string[]] = [[], []];
  const flush = () => {
    for (let at = 0; at < Math.max(gone.length, came.length); at += 1) {
      rows.push({ left: gone[at] ?? null, right: came[at] ?? null, kind: 'changed' });
    }
    [gone, came] = [[], []];
  };
  for (const line of lines) {
    if (line.startsWith('-')) gone.push(line.slice(1));
    else if (line.startsWith('+')) came.push(line.slice(1));
    else if (!line.startsWith('\\')) {
      flush();
      if (!line.startsWith('@@')) rows.push({ left: line.slice(1), right: line.slice(1), kind: 'same' });
      else if (rows.length > 0) rows.push({ left: null, right: null, kind: 'gap' });
    }
  }
  flush();
  return rows;
}

export interface MemoryPlace {
  id: string;
  /** As a person calls it: the project's directory, by its last name where no other has that. */
  name: string;
  /** Where the project lies, else the memory. */
  path: string;
  store: Store;
  /** Where its sessions ran, if that is one place. */
  cwd: string | null;
}

export interface Places {
  all: MemoryPlace[];
  /** What could not be opened, with what is wrong. */
  broken: { dir: string; message: string }[];
}

export function memoryId(dir: string): string {
  return createHash('sha256').update(dir).digest('hex').slice(0, 10);
}

export async function readPlaces(app: App): Promise<Places> {
  const places: Places = { all: [], broken: [] };
  for (const dir of (await app.home.stores()).filter(isDirectory)) {
    try {
      const store = await app.store(dir);
      const { name } = whoseMemory({ dir, ledger: store.ledger }, app.config);
      const [cwd, ...others] = sessionDirs(store.ledger).filter((each) => each !== undefined);
      places.all.push({ id: memoryId(dir), name, path: name, store, cwd: others.length === 0 ? (cwd ?? null) : null });
    } catch (error) {
      if (!isAppError(error)) throw error;
      places.broken.push({ dir, message: describeError(error) });
    }
  }
  const shortOf = ({ path }: MemoryPlace) => path.slice(path.lastIndexOf('/') + 1) || path;
  const count = new Map([...Map.groupBy(places.all, shortOf)].map(([name, list]) => [name, list.length]));
  for (const each of places.all) if (count.get(shortOf(each)) === 1) each.name = shortOf(each);
  // The one that was learned from last comes first.
  const learnedAt = new Map(places.all.map((each) => [each, lastSuccessAt(each.store.ledger) ?? '']));
  places.all.sort(
    (a, b) => (learnedAt.get(b) ?? '').localeCompare(learnedAt.get(a) ?? '') || a.path.localeCompare(b.path),
  );
  return places;
}

export function memoryCalled({ all }: Places, id: string | null | undefined): MemoryPlace | undefined {
  return all.find((each) => each.id === id);
}
