// The page as the server has it: which requests are its own, who is let in, which view or action answers, and the headers that keep
// what strangers wrote from doing anything. Before a visit has begun a browser sees a page with nothing of a memory in it. It brings
// the ticket that stands behind the # of the address, which no server is sent; where no scripts run, the ticket is typed.

import { html } from 'hono/html';
import { describeError, isAppError, onAppError } from '../base/errors.ts';
import { packagePath, readTextNow } from '../base/files/files.ts';
import { lookInto } from '../memory/commit.ts';
import { emptyMemories } from '../memory/memories.ts';
import { pausesOf } from '../queue/pauses.ts';
import type { Pages, ServeOptions } from '../server/serve.ts';
import type { App } from '../worker/compose.ts';
import { knownMemories, noteLook } from '../worker/overview.ts';
import { changesView } from './changes-view.ts';
import { costView } from './cost-view.ts';
import { memoryView } from './memory-view.ts';
import { nextView } from './next-view.ts';
import { act } from './page-actions.ts';
import { type At, enterPage, type Html, type Place, shell, type View } from './page-shell.ts';
import { searchView } from './search-view.ts';
import { isToken, noteEnded, noteServed, takeTicket, type Visit, Visits } from './visits.ts';

const VIEWS: Record<string, (at: At, path: string[]) => Promise<View>> = {
  '': (at) => memoryView(at, []),
  memory: memoryView,
  next: nextView,
  changes: changesView,
  search: searchView,
  cost: costView,
};
const OTHERS = ['assets', 'enter', 'do'];

const ASSETS: Record<string, string> = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
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
const ASSETS_DIR = import.meta.url.endsWith('.ts') ? packagePath('src', 'page', 'assets') : packagePath('dist', 'page');

/** The pages of an app, which stays its opener's. */
export function pagesOf(app: App): NonNullable<ServeOptions['openPages']> {
  return async ({ url, urls }) => {
    const page = new Page(app, new Visits({ url, urls, clock: app.clock }));
    await noteServed(app.db, url);
    return page;
  };
}

class Page implements Pages {
  readonly #app: App;
  readonly #visits: Visits;

  constructor(app: App, visits: Visits) {
    this.#app = app;
    this.#visits = visits;
  }

  async answer(request: Request): Promise<Response | null> {
    const path = pathOf(request);
    const [part = ''] = path ?? [];
    const isOurs = Object.hasOwn(VIEWS, part) || OTHERS.includes(part);
    if (!path || !isOurs || (part === '' && path.length > 1)) return null;
    const visit = this.#visits.of(request);
    try {
      return await this.#answer(request, { path, part, visit });
    } catch (error) {
      if (!isAppError(error) || !visit) throw error;
      const isAway = error.code === 'bad-input';
      const title = isAway ? 'That is not here' : 'That did not work';
      const body = html`<h1>${title}</h1><p>${describeError(error)}<br><a href="/">What is remembered</a> · <a href="/changes">Changes</a></p>`;
      const at = this.#at(request, { visit, places: [] });
      return page(isAway ? 404 : 500, shell({ title, part: 'none', body }, at));
    }
  }

  async close(): Promise<void> {
    await noteEnded(this.#app.db);
  }

  async #answer(request: Request, of: { path: string[]; part: string; visit: Visit | null }): Promise<Response> {
    const { path, part, visit } = of;
    if (!this.#visits.isOurs(request))
      return plain(403, 'This page opens from its own address alone: nocturne open prints it.');
    const isChange = request.method === 'POST';
    if (!isChange && request.method !== 'GET') return plain(405, 'Only GET and POST.');
    if (isChange && Number(request.headers.get('content-length') ?? Infinity) > MOST_BODY) return plain(413, TOO_MUCH);
    if (part === 'assets') return asset(path.slice(1).join('/'));
    if (part === 'enter' && isChange) return this.#enter(request);
    if (!visit) return isChange ? plain(401, 'You were signed out: run nocturne open again.') : page(401, enterPage());
    if (isChange) return this.#change(request, { visit, path });
    // What only takes forms.
    if (!Object.hasOwn(VIEWS, part)) return seeOther('/');
    if (part === 'changes') await noteLook(this.#app);
    const at = await this.#here(request, visit);
    return this.#show(await (VIEWS[part] as (typeof VIEWS)[string])(at, path.slice(1)), at);
  }

  async #here(request: Request, visit: Visit): Promise<At> {
    return this.#at(request, { visit, places: await placesOf(this.#app) });
  }

  #at({ url }: Request, of: Pick<At, 'visit' | 'places'>): At {
    return { app: this.#app, config: this.#app.config, url: new URL(url), ...of };
  }

  async #show(view: View, at: At): Promise<Response> {
    const waits = "select count(*) as count from proposal where state = 'open'";
    const { db, clock } = this.#app;
    const waiting = await db.get<{ count: number }>(waits);
    const pauses = await pausesOf(db, clock.now());
    return page(view.status ?? 200, shell(view, at, { waiting: waiting?.count, pauses }));
  }

  async #enter(request: Request): Promise<Response> {
    if (!this.#visits.isFromHere(request))
      return plain(
        403,
        'Refused: the browser says that another website sent this. Open the address that nocturne open prints.',
      );
    const fields = await fieldsOf(request);
    const ticket = (fields?.get('ticket') ?? '').trim().replace(/^.*#/, '');
    if (!(await takeTicket(this.#app, ticket))) return page(401, enterPage({ wasWrong: true }));
    return seeOther('/', { 'set-cookie': this.#visits.begin() });
  }

  async #change(request: Request, { visit, path }: { visit: Visit; path: string[] }): Promise<Response> {
    if (!this.#visits.isFromHere(request)) return plain(403, 'What changes something must come from this page.');
    const fields = await fieldsOf(request);
    if (!fields || !isToken(fields.get('token'), visit))
      return plain(403, 'This form is out of date: load the page again.');
    const at = await this.#here(request, visit);
    const done = await act(at, { name: path[1] ?? '', fields });
    return typeof done === 'string' ? seeOther(done) : this.#show(done, at);
  }
}

/** The memories that hold something, each by the shortest tail of its name that tells it from the others. */
async function placesOf(app: App): Promise<Place[]> {
  const all = await knownMemories(app);
  // What an editor wrote there a moment ago has no row yet.
  for (const { id } of await emptyMemories(app.db))
    await lookInto(app.memories, { memory: id, paths: 'all' }).catch(onAppError(() => {}));
  const empty = new Set((await emptyMemories(app.db)).map(({ id }) => id));
  const known = all.filter(({ row }) => !empty.has(row.id));
  const tails = known.map(({ name }) => name.split('/').map((_, at, parts) => parts.slice(-1 - at).join('/')));
  const count = new Map<string, number>();
  for (const tail of tails.flat()) count.set(tail, (count.get(tail) ?? 0) + 1);
  return known.map((each, at) => {
    const { id } = each.row;
    const alone = tails[at]?.find((tail) => tail !== '' && count.get(tail) === 1);
    return { ...each, id, title: alone ?? `${each.name} (${id.slice(-4)})` };
  });
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

async function page(status: number, body: Html): Promise<Response> {
  const headers = { ...HEADERS, 'content-type': 'text/html; charset=utf-8' };
  return new Response(String(await body), { status, headers });
}

function plain(status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' } });
}

function seeOther(location: string, more: Record<string, string> = {}): Response {
  return new Response(null, { status: 303, headers: { ...HEADERS, location, ...more } });
}

function asset(name: string): Response {
  const type = Object.hasOwn(ASSETS, name) ? ASSETS[name] : undefined;
  if (!type) return plain(404, 'There is no such file.');
  return new Response(readTextNow(`${ASSETS_DIR}/${name}`), { headers: { ...HEADERS, 'content-type': type } });
}
