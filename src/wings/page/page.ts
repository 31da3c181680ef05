// The page as the server has it: which requests are its own, who is let in, which view or action answers, and the headers
// that keep what strangers wrote from doing anything. Before a visit has begun a browser sees a page with nothing of a memory
// in it. It brings the ticket that stands behind the # of the address, which no server is sent; where no scripts run, the
// ticket is typed.

import { extname } from 'node:path';
import { html } from 'hono/html';
import { describeError, isAppError } from '../../base/errors.ts';
import { packagePath, readTextNow } from '../../base/files/files.ts';
import { openApp } from '../../doors/compose.ts';
import { countWaiting } from '../../memory/dream/proposals.ts';
import type { Pages, ServeOptions } from '../server/serve.ts';
import { act } from './actions.ts';
import { Live } from './live.ts';
import { type At, type Html, head, readPlaces, shell, type View } from './shell.ts';
import { costView } from './views/cost-view.ts';
import { homeView } from './views/home-view.ts';
import { memoryView } from './views/memories-view.ts';
import { nightsView } from './views/nights-view.ts';
import { reviewView } from './views/review-view.ts';
import { searchView } from './views/search-view.ts';
import { sessionsView } from './views/sessions-view.ts';
import { isToken, noteEnded, noteServed, takeTicket, type Visit, Visits } from './visits.ts';

type Show = (at: At, path: string[]) => Promise<View> | View;

const VIEWS: Record<string, Show> = {
  '': homeView,
  memory: memoryView,
  nights: nightsView,
  review: reviewView,
  sessions: sessionsView,
  search: searchView,
  cost: costView,
};
const OTHERS = ['assets', 'enter', 'leave', 'live', 'do'];

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Every answer has them. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const MOST_BODY = 512 * 1024;
const TOO_MUCH = 'More than 512 kB: nocturne show --edit opens a file in your editor.';

export async function openPages({
  config,
  url,
  urls,
}: Parameters<NonNullable<ServeOptions['openPages']>>[0]): Promise<Pages> {
  const app = await openApp(config, { startedBy: 'person' });
  const visits = new Visits({ url, urls, clock: config.clock });
  const live = new Live(app);
  await noteServed(app.home, url);

  const answer = async (request: Request, path: string[]): Promise<Response> => {
    if (!visits.isOurs(request))
      return plain(403, 'This page opens from its own address alone: nocturne open prints it.');
    const isChange = request.method === 'POST';
    if (!isChange && request.method !== 'GET') return plain(405, 'Only GET and POST.');
    if (isChange && Number(request.headers.get('content-length') ?? Infinity) > MOST_BODY) return plain(413, TOO_MUCH);
    const [part = ''] = path;
    if (part === 'assets') return isChange ? plain(405, 'Only GET.') : asset(path.slice(1).join('/'));
    if (part === 'enter' && isChange) return enter(request);
    const visit = visits.of(request);
    if (!visit)
      return isChange || part === 'live'
        ? plain(401, 'This visit is over: nocturne open begins another.')
        : page(401, enterPage());
    if (part === 'live')
      return live.stream(request.headers.get('last-event-id') ?? new URL(request.url).searchParams.get('after'));
    if (isChange) return change(request, { visit, path });
    // What only takes forms.
    if (!Object.hasOwn(VIEWS, part)) return new Response(null, { status: 303, headers: { ...HEADERS, location: '/' } });
    // What a page reads again by itself is no look of a person.
    if (part === '' && request.headers.get('sec-fetch-mode') === 'navigate') await app.home.noteLook();
    return show(await here(request, visit), path);
  };

  const here = async (request: Request, visit: Visit): Promise<At> => {
    const mark = await live.mark();
    return { app, config, visit, places: await readPlaces(app), url: new URL(request.url), mark };
  };

  const show = async (at: At, path: string[]): Promise<Response> => {
    const view = await (VIEWS[path[0] ?? ''] as Show)(at, path.slice(1));
    const waiting = at.places.all.reduce((sum, { store }) => sum + countWaiting(store.ledger), 0);
    return page(view.status ?? 200, shell(view, at, waiting));
  };

  const enter = async (request: Request): Promise<Response> => {
    // A browser that runs no scripts says `null` here; what it brings is good once and known to nobody else.
    if (!visits.isFromHere(request) && request.headers.get('origin') !== 'null')
      return plain(403, 'From another page.');
    const fields = await fieldsOf(request);
    const ticket = (fields?.get('ticket') ?? '').trim().replace(/^.*#/, '');
    if (!(await takeTicket(app.home, { ticket, clock: config.clock }))) return page(401, enterPage({ wasWrong: true }));
    return new Response(null, {
      status: 303,
      headers: { ...HEADERS, location: '/', 'set-cookie': visits.begin(await app.home.lookedAt()) },
    });
  };

  const change = async (request: Request, { visit, path }: { visit: Visit; path: string[] }): Promise<Response> => {
    if (!visits.isFromHere(request)) return plain(403, 'What changes something must come from this page.');
    const fields = await fieldsOf(request);
    if (!fields || !isToken(fields.get('token'), visit))
      return plain(403, 'The form is of another visit: load the page again.');
    if (path[0] === 'leave') {
      visits.end(request);
      return new Response(null, { status: 303, headers: { ...HEADERS, location: '/' } });
    }
    const at = await here(request, visit);
    const done = await act(at, { name: path[1] ?? '', fields });
    live.tell(fields.get('memory') ?? 'home');
    if (typeof done !== 'string') return page(done.status ?? 200, shell(done, at, 0));
    return new Response(null, { status: 303, headers: { ...HEADERS, location: done } });
  };

  return {
    async answer(request) {
      const path = pathOf(request);
      const [part = ''] = path ?? [];
      if (!path || !(Object.hasOwn(VIEWS, part) || OTHERS.includes(part)) || (part === '' && path.length > 1))
        return null;
      try {
        return await answer(request, path);
      } catch (error) {
        if (!isAppError(error)) throw error;
        const visit = visits.of(request);
        if (!visit) throw error;
        const places = { all: [], broken: [] };
        const at: At = { app, config, visit, places, url: new URL(request.url), mark: await live.mark() };
        const isAway = error.code === 'bad-input';
        const title = isAway ? 'That is not here' : 'That did not work';
        const ways = html`${describeError(error)}<br><a href="/memory">What is remembered</a> · <a href="/search">Search</a> · <a href="/">Home</a>`;
        const view: View = {
          title,
          part: 'none',
          status: isAway ? 404 : 500,
          body: html`<h1>${title}</h1><p>${ways}</p>`,
        };
        return page(view.status ?? 500, shell(view, at, 0));
      }
    },
    async close() {
      live.close();
      await noteEnded(app.home).finally(() => app.close());
    },
  };
}

/** Null for one that is no text. */
function pathOf({ url }: Request): string[] | null {
  try {
    return new URL(url).pathname.slice(1).split('/').map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** The fields of a form; null for anything else. */
async function fieldsOf(request: Request): Promise<URLSearchParams | null> {
  if (!/^application\/x-www-form-urlencoded\b/.test(request.headers.get('content-type') ?? '')) return null;
  return new URLSearchParams(await request.text());
}

function page(status: number, body: Html): Promise<Response> | Response {
  const respond = (text: unknown) =>
    new Response(String(text), { status, headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' } });
  return body instanceof Promise ? body.then(respond) : respond(body);
}

function plain(status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' } });
}

const ASSETS = import.meta.url.endsWith('.ts')
  ? packagePath('src', 'wings', 'page', 'assets')
  : packagePath('dist', 'page');

function asset(name: string): Response {
  const type = TYPES[extname(name)];
  const text = type && /^[\w-]+\.\w+$/.test(name) ? readTextNow(`${ASSETS}/${name}`) : null;
  if (!type || text === null) return plain(404, 'There is no such file.');
  return new Response(text, { headers: { ...HEADERS, 'content-type': type } });
}

export function enterPage({ wasWrong = false } = {}): Html {
  return html`<!doctype html>
<html lang="en">
${head('Open')}
<body class="enter">
<main id="main">
<p class="brand"><svg viewBox="0 0 24 24" width="28" height="28" aria-hidden="true"><path d="M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z"/></svg>nocturne</p>
<h1>${wasWrong ? 'That key is used up' : 'Open your memory'}</h1>
<p>${wasWrong ? 'A key opens the page once, within a minute.' : 'This page is for you alone.'} In a terminal on this machine, run</p>
<pre><code>nocturne open</code></pre>
<p>and follow the address it prints, or type what stands behind its <code>#</code> here:</p>
<form method="post" action="/enter" id="enter">
<label for="ticket">Key</label>
<input id="ticket" name="ticket" autocomplete="off" spellcheck="false" required>
<button class="primary">Open</button>
</form>
</main>
</body>
</html>`;
}
