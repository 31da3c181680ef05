// What tells an open page that something changed: in which memory, or elsewhere, never what. Rows tell it, asked every second, and
// only while someone watches; so are the directories, for what was edited past nocturne. Every page says what was known when it was
// made, so that whoever comes late, or comes back after a sleep, is told what was missed.

import { onAppError } from '../base/errors.ts';
import type { Db } from '../db/sql.ts';
import { lookInto } from '../memory/commit.ts';
import type { App } from '../worker/compose.ts';

const LOOK_MS = 1_000;
/** A connection that says nothing for long is cut by what stands between. */
const SIGN_OF_LIFE_LOOKS = 20;
const REMEMBERED = 200;

type Watcher = ReadableStreamDefaultController<Uint8Array>;

export class LiveChanges {
  readonly #app: App;
  readonly #watchers = new Set<Watcher>();
  readonly #events: { id: number; of: string }[] = [];
  readonly #begun = Math.floor(Math.random() * 2 ** 32).toString(16);
  #signs: Map<string, string> | undefined;
  #id = 0;
  #looks = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(app: App) {
    this.#app = app;
  }

  /** What a page that is made now knows; whatever changes from here on comes later. */
  async mark(): Promise<string> {
    if (!this.#signs) await this.#compare();
    return `${this.#begun}.${this.#id}`;
  }

  /** `lastId`: what who listens knows already, as `mark` said it or the last event did. */
  stream(lastId: string | null): Response {
    let own: Watcher;
    const body = new ReadableStream<Uint8Array>({
      start: (watcher) => {
        own = watcher;
        this.#watchers.add(watcher);
        send(watcher, 'retry: 1000\n\n');
        for (const each of this.#missed(lastId)) send(watcher, this.#say(each));
        if (this.#timer) return;
        // The first look finds what changed while nobody watched.
        this.#look();
        this.#timer = setInterval(() => this.#look(), LOOK_MS);
      },
      cancel: () => {
        this.#watchers.delete(own);
        if (this.#watchers.size === 0) this.#stop();
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  /** Something was done here: it is told without waiting for the next look. */
  async done(of: string): Promise<void> {
    const before = this.#id;
    await this.#compare();
    if (this.#id === before) this.#tell(of);
  }

  #tell(of: string): void {
    this.#id += 1;
    const event = { id: this.#id, of };
    this.#events.push(event);
    if (this.#events.length > REMEMBERED) this.#events.shift();
    for (const each of this.#watchers) send(each, this.#say(event));
  }

  async close(): Promise<void> {
    this.#stop();
    for (const each of this.#watchers) each.close();
    this.#watchers.clear();
    await this.#looking;
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #missed(lastId: string | null): { id: number; of: string }[] {
    if (lastId === null) return [];
    const [begun, id] = lastId.split('.');
    const isKnown = begun === this.#begun && Number(id) >= this.#id - this.#events.length;
    return isKnown ? this.#events.filter((each) => each.id > Number(id)) : [{ id: this.#id, of: 'all' }];
  }

  #say({ id, of }: { id: number; of: string }): string {
    return `id: ${this.#begun}.${id}\nevent: changed\ndata: ${of}\n\n`;
  }

  #look(): void {
    // A database that cannot be asked now is asked again.
    this.#looking ??= this.#lookOnce()
      .catch(onAppError(() => {}))
      .finally(() => {
        this.#looking = undefined;
      });
  }

  async #lookOnce(): Promise<void> {
    const { memories } = this.#app;
    this.#looks += 1;
    // What keeps one from being read is told by its own view.
    for (const memory of this.#signs?.keys() ?? [])
      if (memory !== 'home') await lookInto(memories, { memory, paths: 'all' }).catch(onAppError(() => {}));
    await this.#compare();
    if (this.#looks % SIGN_OF_LIFE_LOOKS === 0) for (const each of this.#watchers) send(each, ': still here\n\n');
  }

  async #compare(): Promise<void> {
    const before = this.#signs;
    this.#signs = await signsOf(this.#app.db);
    if (before) for (const [of, sign] of this.#signs) if (before.get(of) !== sign) this.#tell(of);
  }
}

const OF_MEMORY = `select id, (select max(seq) from version where version.memory = memory.id) as seq, archived_at, paused_until
  from memory where deleted_at is null and tenant = ''`;
/** Of work, of who works, and of single values, those apart that the page writes itself by being opened. */
const ELSEWHERE = [
  "select max(created_at), max(ended_at), sum(case when status = 'running' then 1 else 0 end), count(*) from job",
  'select count(*), max(id), max(not_before), sum(fence), sum(attempts), sum(news) from inbox',
  'select count(*), max(started_at) from worker',
  "select key, value from setting where key not in ('looked', 'night') and key not like 'ticket:%' and key not like 'page:%' order by key",
];

/** For each memory, and for all else, what is another one once something changed. */
async function signsOf(db: Db): Promise<Map<string, string>> {
  const rows = await db.all<{ id: string }>(OF_MEMORY);
  const home: object[] = [];
  for (const select of ELSEWHERE) home.push(await db.all(select));
  return new Map(rows.map((row) => [row.id, JSON.stringify(row)])).set('home', JSON.stringify(home));
}

function send(watcher: Watcher, text: string): void {
  try {
    watcher.enqueue(new TextEncoder().encode(text));
  } catch {
    // It was closed meanwhile, and is dropped by its own cancel.
  }
}
