// What tells an open page that something changed: in which memory, or in the home, never what. Whether another process
// changed one is found by a look at its database and at its files every second, and only while someone watches. Every page
// says what it knew when it was made, so that whoever comes late, or comes back after a sleep, is told what was missed.

import type { App } from '../../doors/compose.ts';
import { liveFiles } from '../../memory/store/live-files.ts';
import { readPlaces } from './shell.ts';

const LOOK_MS = 1_000;
/** A connection that says nothing for long is cut by what stands between. */
const SIGN_OF_LIFE_LOOKS = 20;
const REMEMBERED = 200;

export class Live {
  readonly #app: App;
  readonly #watchers = new Set<ReadableStreamDefaultController<Uint8Array>>();
  readonly #events: { id: number; memory: string }[] = [];
  readonly #seen = new Map<string, string>();
  readonly #begun = Math.floor(Math.random() * 2 ** 32).toString(16);
  #id = 0;
  #looks = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;

  constructor(app: App) {
    this.#app = app;
  }

  /** What a page that is made now knows; whatever changes from here on comes later. */
  async mark(): Promise<string> {
    if (this.#seen.size === 0) await this.#look();
    return `${this.#begun}.${this.#id}`;
  }

  /** `lastId`: what who listens knows already, as `mark` said it or the last event did. */
  stream(lastId: string | null): Response {
    let own: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        own = controller;
        this.#watchers.add(controller);
        send(controller, 'retry: 1000\n\n');
        this.#catchUp(controller, lastId);
        this.#begin();
      },
      cancel: () => this.#drop(own),
    });
    return new Response(body, {
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'cross-origin-resource-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      },
    });
  }

  close(): void {
    clearInterval(this.#timer);
    for (const each of this.#watchers) each.close();
    this.#watchers.clear();
  }

  #catchUp(controller: ReadableStreamDefaultController<Uint8Array>, lastId: string | null): void {
    if (lastId === null) return;
    const [begun, id] = lastId.split('.');
    const isKnown = begun === this.#begun && Number(id) >= this.#id - this.#events.length;
    const missed = isKnown ? this.#events.filter((each) => each.id > Number(id)) : [{ id: this.#id, memory: 'all' }];
    for (const each of missed) send(controller, this.#say(each));
  }

  #say({ id, memory }: { id: number; memory: string }): string {
    return `id: ${this.#begun}.${id}\nevent: changed\ndata: ${memory}\n\n`;
  }

  /** The first look finds what changed while nobody watched. */
  #begin(): void {
    if (this.#timer) return;
    void this.#look();
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
  }

  #drop(controller: ReadableStreamDefaultController<Uint8Array>): void {
    this.#watchers.delete(controller);
    if (this.#watchers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    this.#looking ??= this.#lookOnce().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookOnce(): Promise<void> {
    this.#looks += 1;
    const { all } = await readPlaces(this.#app);
    const isFirst = this.#seen.size === 0;
    const home = await this.#app.home.sign();
    const signs = new Map(all.map(({ id, store }) => [id, signOf(store)])).set('home', home);
    for (const [name, sign] of signs) {
      const isOther = this.#seen.get(name) !== sign;
      this.#seen.set(name, sign);
      if (isOther && !isFirst) this.tell(name);
    }
    if (this.#looks % SIGN_OF_LIFE_LOOKS === 0) for (const each of this.#watchers) send(each, ': still here\n\n');
  }

  /** Something changed in a memory, or in the home: what is done here is told without waiting for the next look. */
  tell(memory: string): void {
    this.#id += 1;
    const event = { id: this.#id, memory };
    this.#events.push(event);
    if (this.#events.length > REMEMBERED) this.#events.shift();
    for (const each of this.#watchers) send(each, this.#say(event));
  }
}

/** Another one where another process wrote the ledger, or a file is another. What this one does is told when it is done. */
function signOf(store: { dir: string; ledger: Parameters<typeof liveFiles>[1] }): string {
  const { ledger, dir } = store;
  const others = ledger?.get<{ data_version: number }>('pragma data_version')?.data_version;
  const files = liveFiles(dir, null);
  const times = files.reduce((sum, { modifiedMs }) => sum + modifiedMs, 0);
  return [others, files.length, times].join(' ');
}

function send(controller: ReadableStreamDefaultController<Uint8Array>, text: string): void {
  try {
    controller.enqueue(new TextEncoder().encode(text));
  } catch {
    // It was closed meanwhile, and is dropped by its own cancel.
  }
}
