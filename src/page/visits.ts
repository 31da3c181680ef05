// Who may see the page, and where it is served now. A visit begins with a ticket, 256 random bits that are good once and for a
// minute; the database keeps only their hash. From then on it is a cookie: known by this process alone, never shown to scripts,
// ended after twelve hours or with the process. What others sent a browser here for is refused before anything is read: by the
// name it asked for, by where the request comes from, and for what changes something by its origin and a token, too.

import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isDead, thisProcess } from '../base/process.ts';
import type { Clock } from '../base/time.ts';
import { type Db, replace } from '../db/sql.ts';

const VISIT_MS = 12 * 3_600_000;
const TICKET_MS = 60_000;

/** What a page says of something that was just done, and what takes it back. */
export interface Flash {
  text: string;
  undo?: { memory: string; job: string; isRedo?: boolean };
  isProblem?: boolean;
}

export interface Visit {
  /** Stands in every form. */
  token: string;
  endsMs: number;
  /** What was done last, under the name by which the page that follows asks for it. */
  said?: Flash & { id: string };
}

export class Visits {
  readonly #visits = new Map<string, Visit>();
  readonly #clock: Clock;
  readonly cookie: string;
  /** `127.0.0.1:4114` and what else this server is called. */
  readonly #hosts: Set<string>;

  constructor({ url, urls, clock }: { url: string; urls: readonly string[]; clock: Clock }) {
    const { port } = new URL(url);
    this.#clock = clock;
    this.cookie = `nocturne-${port || '80'}`;
    const own = ['127.0.0.1', 'localhost', '[::1]'].map((name) => new URL(`http://${name}:${port}`));
    // From elsewhere only where what is before it speaks TLS.
    const others = urls.filter((each) => each.startsWith('https:')).map((each) => new URL(each));
    this.#hosts = new Set([...own, ...others].map(({ host }) => host));
  }

  begin(): string {
    const now = this.#clock.now().getTime();
    for (const [id, { endsMs }] of this.#visits) if (endsMs <= now) this.#visits.delete(id);
    const id = randomBytes(32).toString('base64url');
    this.#visits.set(id, { token: randomBytes(32).toString('base64url'), endsMs: now + VISIT_MS });
    return `${this.cookie}=${id}; HttpOnly; SameSite=Strict; Path=/; Max-Age=${VISIT_MS / 1_000}`;
  }

  of(request: Request): Visit | null {
    const cookies = (request.headers.get('cookie') ?? '').split(';').map((each) => each.trim());
    const id = cookies.find((each) => each.startsWith(`${this.cookie}=`))?.slice(this.cookie.length + 1);
    const visit = id === undefined ? undefined : this.#visits.get(id);
    return visit && visit.endsMs > this.#clock.now().getTime() ? visit : null;
  }

  /** Whether it was made by our own page, or by a person who opens one: not by a page of elsewhere. */
  isOurs({ method, headers }: Request): boolean {
    if (!this.#hosts.has(headers.get('host') ?? '')) return false;
    const from = headers.get('sec-fetch-site');
    const isOpened = from === 'none' && method === 'GET' && headers.get('sec-fetch-mode') === 'navigate';
    return from === 'same-origin' || isOpened;
  }

  /** Whether what changes something names our own origin. */
  isFromHere({ headers }: Request): boolean {
    const host = headers.get('host') ?? '';
    const scheme = /^(?:127\.|localhost(?:$|:)|\[)/.test(host) ? 'http:' : 'https:';
    return headers.get('origin') === `${scheme}//${host}`;
  }
}

export function isToken(given: unknown, { token }: Visit): boolean {
  if (typeof given !== 'string' || given.length !== token.length) return false;
  return timingSafeEqual(Buffer.from(given), Buffer.from(token));
}

interface Kept {
  db: Db;
  clock: Clock;
}

export async function makeTicket({ db, clock }: Kept): Promise<string> {
  const now = clock.now();
  const ticket = randomBytes(32).toString('base64url');
  const ends = new Date(now.getTime() + TICKET_MS).toISOString();
  await db.run("delete from setting where key like 'ticket:%' and value <= ?", now.toISOString());
  await replace(db, 'setting', ['key'], { key: `ticket:${hash('sha256', ticket)}`, value: ends });
  return ticket;
}

/** Whether it was good, which it then is no more. */
export async function takeTicket({ db, clock }: Kept, ticket: string): Promise<boolean> {
  const values = [`ticket:${hash('sha256', ticket)}`, clock.now().toISOString()];
  return (await db.run('delete from setting where key = ? and value > ?', ...values)) === 1;
}

export function noteServed(db: Db, url: string): Promise<void> {
  return replace(db, 'setting', ['key'], { key: `page:${thisProcess()}`, value: url });
}

export async function noteEnded(db: Db): Promise<void> {
  await db.run('delete from setting where key = ?', `page:${thisProcess()}`);
}

/** Where pages are served by processes of this machine that live. */
export async function servedAt(db: Db): Promise<string[]> {
  const rows = await db.all<{ key: string; value: string }>("select key, value from setting where key like 'page:%'");
  return rows.filter(({ key }) => !isDead(key.slice('page:'.length))).map(({ value }) => value);
}
