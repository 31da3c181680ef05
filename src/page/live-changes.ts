// What tells an open page that something changed, never what and where: the page is read again then. Rows tell it, asked every second,
// and only while someone watches; so are the directories, for what was edited past nocturne. Every page says what was known when it was
// made, so that whoever comes late, or comes back after a sleep, is told that there is more.

import { onAppError } from '../base/errors.ts';
import { lookInto } from '../memory/commit.ts';
import type { App } from '../worker/compose.ts';

const LOOK_MS = 1_000;
/** A connection that says nothing for long is cut by what stands between. */
const SIGN_OF_LIFE_LOOKS = 20;

type Watcher = ReadableStreamDefaultController<Uint8Array>;

/** Of memories, of work, of who works, and of single values, those apart that the page writes itself by being opened. */
const TELLING = [
  `select id, (select max(seq) from version where version.memory = memory.id), archived_at, paused_until
    from memory where deleted_at is null and tenant = '' order by id`,
  "select max(created_at), max(ended_at), sum(case when status = 'running' then 1 else 0 end), count(*) from job",
  'select count(*), max(id), max(not_before), sum(fence), sum(attempts), sum(news) from inbox',
  'select count(*), max(started_at) from worker',
  "select key, value from setting where key not in ('looked', 'night') and key not like 'ticket:%' and key not like 'page:%' order by key",
];

export class LiveChanges {
  readonly #app: App;
  readonly #watchers = new Set<Watcher>();
  readonly #begun = Math.floor(Math.random() * 2 ** 32).toString(16);
  /** What is another text once something changed. */
  #sign: string | undefined;
  #changes = 0;
  #looks = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(app: App) {
    this.#app = app;
  }

  /** What a page that is made now knows; whatever changes from here on comes later. */
  async mark(): Promise<string> {
    if (this.#sign === undefined) await this.#compare();
    return this.#mark;
  }

  get #mark(): string {
    return `${this.#begun}.${this.#changes}`;
  }

  /** `lastId`: what who listens knows already, as `mark` said it or the last event did. */
  stream(lastId: string | null): Response {
    let own: Watcher;
    const body = new ReadableStream<Uint8Array>({
      start: (watcher) => {
        own = watcher;
        this.#watchers.add(watcher);
        send(watcher, 'retry: 1000\n\n');
        if (lastId !== null && lastId !== this.#mark) this.#tell(watcher);
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
  async done(): Promise<void> {
    const before = this.#changes;
    await this.#compare();
    if (this.#changes === before) this.#changed();
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

  #changed(): void {
    this.#changes += 1;
    for (const each of this.#watchers) this.#tell(each);
  }

  #tell(watcher: Watcher): void {
    send(watcher, `id: ${this.#mark}\nevent: changed\ndata: again\n\n`);
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
    const { memories, db } = this.#app;
    this.#looks += 1;
    const ours = await db.all<{ id: string }>("select id from memory where deleted_at is null and tenant = ''");
    // What keeps one from being read is told by its own view.
    for (const { id } of ours) await lookInto(memories, { memory: id, paths: 'all' }).catch(onAppError(() => {}));
    await this.#compare();
    if (this.#looks % SIGN_OF_LIFE_LOOKS === 0) for (const each of this.#watchers) send(each, ': still here\n\n');
  }

  async #compare(): Promise<void> {
    const before = this.#sign;
    const rows: object[] = [];
    for (const select of TELLING) rows.push(await this.#app.db.all(select));
    this.#sign = JSON.stringify(rows);
    if (before !== undefined && before !== this.#sign) this.#changed();
  }
}

function send(watcher: Watcher, text: string): void {
  try {
    watcher.enqueue(new TextEncoder().encode(text));
  } catch {
    // It was closed meanwhile, and is dropped by its own cancel.
  }
}
