// Ids for the messages of a file read record by record: from a key that the record carries, or else chained to the
// message before. An id depends on nothing that comes later, so it survives growth; none is given twice.

import type { Part, Speaker } from '../types.ts';
import { chainId } from './chain.ts';
import { SeenKeys } from './seen-keys.ts';

export class MessageIds {
  readonly #given = new SeenKeys();
  #lastId: string;

  /** What two files that should share no id differ in. */
  constructor(seed = '') {
    this.#lastId = seed;
  }

  /** What follows is chained to `key` instead of to the message before. */
  restart(key: string): void {
    this.#lastId = key;
  }

  /** The id of a message that stands beside `own`'s and on which no other id depends. */
  beside(own: string): string {
    let id = own;
    while (!this.#given.add(id)) id = chainId(id, 'human', []);
    return id;
  }

  /** `own` itself where no message had it, else a chained id. */
  next(own: string | undefined, speaker: Speaker, parts: readonly Part[]): string {
    let id = own ?? chainId(this.#lastId, speaker, parts);
    while (!this.#given.add(id)) id = chainId(`${this.#lastId} ${id}`, speaker, parts);
    this.#lastId = id;
    return id;
  }
}
