// The texts that Claude Code holds back while the agent works, as its `queue-operation` records tell of them.
// A text that is sent stands in a record of its own and is forgotten here; one that never was is left over. An
// operation that names no text is taken to be about the oldest, or about all where it takes all back.

import type { Part } from '../types.ts';
import type { JsonObject } from './format.ts';

interface Queued {
  record: JsonObject;
  parts: Part[];
}

const MOST_TAKEN = 8;

export class TextQueue {
  #waiting: Queued[] = [];
  /** What an operation took that named no text: the record it was sent in comes next, or soon. */
  #taken: Queued[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  take(record: JsonObject): void {
    const { operation, content } = record;
    const text = typeof content === 'string' ? content : undefined;
    if (operation === 'enqueue' && text !== undefined) {
      this.#waiting.push({ record, parts: [{ kind: 'text', text }] });
    } else if (operation === 'dequeue' || operation === 'remove' || operation === 'popAll') {
      const taken = operation === 'popAll' ? this.#waiting.length : 1;
      if (text === undefined) this.#taken = [...this.#taken, ...this.#waiting.splice(0, taken)].slice(-MOST_TAKEN);
      else this.drop([{ kind: 'text', text }]);
    }
  }

  /** Forgets the text that was sent as `parts`; whether it had been queued, now or a moment ago. */
  drop(parts: readonly Part[]): boolean {
    const sent = wordsOf(parts);
    for (const queue of [this.#waiting, this.#taken]) {
      const at = queue.findIndex((queued) => wordsOf(queued.parts) === sent);
      if (at === -1) continue;
      queue.splice(at, 1);
      return true;
    }
    return false;
  }

  /** All that is left, which is forgotten with it. */
  clear(): Queued[] {
    return this.#waiting.splice(0);
  }
}

function wordsOf(parts: readonly Part[]): string {
  return parts
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('')
    .trim();
}
