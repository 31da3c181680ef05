// The SDK's transport over stdin and stdout, which answers what was asked before it ends: a client that writes its
// requests and closes its end at once (a pipe, a script) gets its answers, too.

import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

/** A request that is never answered, such as one that listens, does not keep the process. */
const LONGEST_WAIT_MS = 10_000;

export class AnsweringTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Not ended with stdin, or the SDK would close. */
  readonly #input = new PassThrough();
  readonly #stdio = new StdioServerTransport(this.#input);
  readonly #asked = new Set<string | number>();
  #onAnswer = () => {};
  #answered?: Promise<void>;

  async start(): Promise<void> {
    this.#stdio.onclose = () => this.onclose?.();
    this.#stdio.onerror = (error) => this.onerror?.(error);
    this.#stdio.onmessage = (message) => {
      if ('method' in message && 'id' in message) this.#asked.add(message.id);
      if ('method' in message && message.method === 'notifications/cancelled') this.#settle(message.params?.requestId);
      this.onmessage?.(message);
    };
    await this.#stdio.start();
    process.stdin.pipe(this.#input, { end: false });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#stdio.send(message);
    if (!('method' in message)) this.#settle(message.id);
  }

  close(): Promise<void> {
    process.stdin.unpipe(this.#input);
    // Else it keeps the process.
    process.stdin.pause();
    return this.#stdio.close();
  }

  /** Resolves when everything that came in so far is answered, or will not be within ten seconds. */
  answered(): Promise<void> {
    this.#answered ??= this.#waitForAnswers();
    return this.#answered;
  }

  async #waitForAnswers(): Promise<void> {
    // What came last may be on its way to the reader still.
    do await setImmediate();
    while (this.#input.readableLength > 0);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, LONGEST_WAIT_MS);
      this.#onAnswer = () => {
        if (this.#asked.size > 0) return;
        clearTimeout(timer);
        resolve();
      };
      this.#onAnswer();
    });
  }

  #settle(id: unknown): void {
    if (typeof id !== 'string' && typeof id !== 'number') return;
    this.#asked.delete(id);
    this.#onAnswer();
  }
}
