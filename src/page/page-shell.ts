// What every view is shown in: the head, the way to the other views, the word of what was just done; and the small pieces that
// several views use.

import { basename } from 'node:path';
import { html } from 'hono/html';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import type { Pause } from '../memory/paths.ts';
import { sayWhen } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import type { KnownMemory } from '../worker/overview.ts';
import type { Flash, Visit } from './visits.ts';

export type Html = ReturnType<typeof html>;

/** A memory as the page calls it: by the last name of its project's directory, where no other has that. */
export interface Place extends KnownMemory {
  id: string;
  title: string;
}

/** One request of a visit. */
export interface At {
  app: App;
  config: Config;
  places: Place[];
  visit: Visit;
  url: URL;
}

export interface View {
  title: string;
  /** The part of the way that it is of. */
  part: (typeof PARTS)[number][0] | 'search' | 'none';
  body: unknown;
  status?: number;
}

const PARTS = [
  ['memory', '/', 'Memory'],
  ['next', '/next', 'Next'],
  ['changes', '/changes', 'Changes'],
  ['cost', '/cost', 'Cost and health'],
] as const;

const KEYS: [keys: string[], what: string][] = [
  [['/', 'Ctrl+K'], 'search'],
  [['Ctrl+Enter'], 'save what you write'],
  [['?'], 'these keys'],
  [['Esc'], 'close'],
];

const MOON = html`<path fill="currentColor" d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z"/>`;

/** What the way to the other views says of them. */
interface News {
  /** How much waits for an answer. */
  waiting?: number;
  pauses?: Pause[];
}

export function shell({ title, part, body }: View, at: At, { waiting = 0, pauses = [] }: News = {}): Html {
  const { said } = at.visit;
  const paused = pauses.map(
    ({ project }) => html` <span class="tag wait">${project === null ? '' : `${basename(project)} `}paused</span>`,
  );
  const link = ([name, href, text]: (typeof PARTS)[number]) =>
    html`<a href="${href}" ${name === part ? html`aria-current="page"` : ''}>${text}${
      name === 'changes' && waiting > 0
        ? html` <span class="tag count" title="${waiting} wait for your answer">${waiting}</span>`
        : ''
    }${name === 'cost' ? paused : ''}</a>`;
  return html`<!doctype html>
<html lang="en">
${head(title)}
<body>
<a class="skip" href="#main">To the content</a>
<header class="top">
<a class="brand" href="/"><svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true">${MOON}</svg>nocturne</a>
<nav aria-label="Views">${PARTS.map(link)}</nav>
<form action="/search" role="search" class="search"><label for="q" class="hidden">Search all memories</label><input id="q" type="search" name="q" value="${part === 'search' ? at.url.searchParams.get('q') : ''}" placeholder="Search" autocomplete="off" spellcheck="false" dir="auto"></form>
<button type="button" id="show-keys" aria-label="Keys">?</button>
</header>
<main id="main" tabindex="-1">
${body}
</main>
<dialog id="keys" aria-labelledby="keys-title"><h2 id="keys-title">Keys</h2>
<dl>${KEYS.map(([keys, what]) => html`<dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${what}</dd>`)}</dl>
<form method="dialog"><button>Close</button></form></dialog>
<div id="said">${said && said.id === at.url.searchParams.get('said') ? toast(said, at) : ''}</div>
</body>
</html>`;
}

/** Its forms name our origin, also where no scripts run; nobody else is told of an address. */
function head(title: string): Html {
  return html`<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="same-origin">
<title>${title} · nocturne</title>
<link rel="stylesheet" href="/assets/page.css">
<link rel="icon" href="/assets/icon.svg">
<script type="module" src="/assets/page.js"></script>
</head>`;
}

/** Shown before a visit has begun: there is nothing of a memory in it. */
export function enterPage({ wasWrong = false } = {}): Html {
  return html`<!doctype html>
<html lang="en">
${head('Open')}
<body class="enter">
<main id="main">
<p class="brand"><svg viewBox="0 0 24 24" width="28" height="28" aria-hidden="true">${MOON}</svg>nocturne</p>
<h1>${wasWrong ? 'That key was used already, or is too old' : 'Open your memory'}</h1>
<p>${wasWrong ? 'A key opens the page once, within a minute.' : 'This page is for you alone.'} In a terminal on this machine, run</p>
<pre><code>nocturne open</code></pre>
<p>and follow the address it prints, or type what stands behind its <code>#</code> here:</p>
<form method="post" action="/enter" id="enter" class="asked">
<label>Key<input id="ticket" name="ticket" autocomplete="off" spellcheck="false" required></label>
<button class="primary">Open</button>
</form>
</main>
</body>
</html>`;
}

function toast({ text, undo, isProblem }: Flash, at: At): Html {
  const fields = undo && { memory: undo.memory, job: undo.job };
  const back = fields
    ? form(at, { action: '/do/undo', fields }, html`<button>${undo.isRedo ? 'Redo' : 'Undo'}</button>`)
    : '';
  return html`<div class="toast ${isProblem ? 'problem' : ''}" role="status"><p>${text}</p>${back}</div>`;
}

interface FormOf {
  action: string;
  fields: Record<string, string>;
  /** Where one is back afterwards; default: where one is now. */
  to?: string;
  className?: string;
}

/** A form that changes something. */
export function form(at: At, { action, fields, to, className = 'inline' }: FormOf, inner: unknown): Html {
  const all = { token: at.visit.token, to: to ?? hrefWith(at.url, {}), ...fields };
  return html`<form method="post" action="${action}" class="${className}">${Object.entries(all).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}${inner}</form>`;
}

/** The same address with other parameters, without the word of what was just done; null takes one away. */
export function hrefWith(url: URL, values: Record<string, string | null>): string {
  const params = new URLSearchParams(url.search);
  for (const [name, value] of Object.entries({ said: null, ...values })) {
    if (value === null) params.delete(name);
    else params.set(name, value);
  }
  const search = params.toString();
  return `${url.pathname}${search && `?${search}`}`;
}

export function topicHref({ id }: Pick<Place, 'id'>, path: string, line?: string): string {
  return `/memory/${id}/topic/${encodeURIComponent(path)}${line ? `?line=${line}#l-${line}` : ''}`;
}

export function when(instant: string | null | undefined, { config }: Pick<At, 'config'>): Html {
  if (!instant) return html`<span class="dim">never</span>`;
  return html`<time datetime="${instant}">${sayWhen(instant, config)}</time>`;
}

/** What is shown where there is nothing. */
export function empty(title: string, text: unknown): Html {
  return html`<section class="card dim"><h2>${title}</h2><p>${text}</p></section>`;
}

/** Which page is shown of so many. */
export function pageOf(url: URL): number {
  const page = Number(url.searchParams.get('page') ?? 1);
  return Number.isInteger(page) && page > 0 && page < 100_000 ? page : 1;
}

export function pager(url: URL, { page, size, total }: { page: number; size: number; total: number }): Html | '' {
  const last = Math.max(1, Math.ceil(total / size));
  if (last === 1) return '';
  const to = (n: number, text: string) =>
    html`<a class="button" href="${hrefWith(url, { page: String(n) })}">${text}</a>`;
  return html`<nav class="pager" aria-label="Pages">${page > 1 ? to(page - 1, 'Previous') : ''}<span class="dim">${page} of ${last}</span>${
    page < last ? to(page + 1, 'More') : ''
  }</nav>`;
}

/** What is shown of a list, and the way to the rest. */
export function paged<Item>(url: URL, all: readonly Item[], size: number, page = pageOf(url)) {
  const from = (page - 1) * size;
  return { items: all.slice(from, from + size), from, others: pager(url, { page, size, total: all.length }) };
}

export function placeCalled(places: readonly Place[], id: string | null | undefined): Place | undefined {
  return places.find((each) => each.id === id);
}

/** Errors: `bad-input` where there is none of this id. */
export function thePlace(places: readonly Place[], id: string | null | undefined): Place {
  const place = placeCalled(places, id);
  if (place) return place;
  throw new AppError('bad-input', 'There is no such memory.');
}

/** The way to another memory; `all`: what none of them alone is called, where that can be asked for. */
export function switcher(at: At, current: Place | undefined, of: { href(place?: Place): string; all?: string }): Html {
  const { href, all = '' } = of;
  const link = (place?: Place) =>
    html`<li><a href="${href(place)}" ${place === current ? html`aria-current="true"` : ''}><span class="said">${place?.title ?? all}</span></a></li>`;
  return html`<details id="switch"><summary>Memory: <strong class="said">${current?.title ?? all}</strong></summary><ul class="names">${all && link()}${at.places.map(link)}</ul></details>`;
}
