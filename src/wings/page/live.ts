// What tells an open page that something changed: which memory, never what. Whether another process changed one is found by
// a look at its ledger and at its files every second, and only while somebody watches. Who comes back is told what was missed.

import type { App } from '../../doors/compose.ts';
import { liveFiles } from '../../memory/store/live-files.ts';
import { readPlaces } from './places.ts';

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

  stream(lastId: string | null): Response {
    let own: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        own = controller;
        this.#watchers.add(controller);
        send(controller, `retry: 1000\nid: ${this.#begun}.${this.#id}\nevent: hello\ndata: -\n\n`);
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

  /** Without waiting for the next second, where somebody watches. */
  lookNow(): void {
    if (this.#watchers.size > 0) void this.#look();
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

  #begin(): void {
    if (this.#timer) return;
    this.#seen.clear();
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
    for (const { id, store } of all) this.#compare(id, signOf(store));
    if (this.#looks % SIGN_OF_LIFE_LOOKS === 0) for (const each of this.#watchers) send(each, ': still here\n\n');
  }

  #compare(memory: string, sign: string): void {
    const before = this.#seen.get(memory);
    this.#seen.set(memory, sign);
    if (before === undefined || before === sign) return;
    this.#id += 1;
    const event = { id: this.#id, memory };
    this.#events.push(event);
    if (this.#events.length > REMEMBERED) this.#events.shift();
    for (const each of this.#watchers) send(each, this.#say(event));
  }
}

/** Another one where another process wrote the ledger, this one did, or a file is another. */
function signOf(store: { dir: string; ledger: Parameters<typeof liveFiles>[1] }): string {
  const { ledger, dir } = store;
  const others = ledger?.get<{ data_version: number }>('pragma data_version')?.data_version;
  const own = ledger?.get<{ changes: number }>('select total_changes() as changes')?.changes;
  const files = liveFiles(dir, null);
  const times = files.reduce((sum, { modifiedMs }) => sum + modifiedMs, 0);
  return [others, own, files.length, times].join(' ');
}

function send(controller: ReadableStreamDefaultController<Uint8Array>, text: string): void {
  try {
    controller.enqueue(new TextEncoder().encode(text));
  } catch {
    // It was closed meanwhile, and is dropped by its own cancel.
  }
}
