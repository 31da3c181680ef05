// A set of keys that only knows whether it has met one, in eleven to twenty-two bytes each, so that what a file of any
// size repeats is known again without keeping its ids and texts. Keys are hashed to 53 bits: among a million, the odds
// that two are taken for one are one in twenty thousand.

const FIRST_SLOTS = 1 << 10;

export class SeenKeys {
  /** Open addressing; 0 is an empty slot. At most three quarters of the slots are used. */
  #slots = new Float64Array(FIRST_SLOTS);
  #used = 0;

  /** Adds a key, which may have a second part; whether it was not there before. */
  add(key: string, part = ''): boolean {
    if (!this.#put(this.#slots, hashOf(key, part))) return false;
    this.#used += 1;
    if (this.#used * 4 > this.#slots.length * 3) this.#grow();
    return true;
  }

  #put(slots: Float64Array, hash: number): boolean {
    const mask = slots.length - 1;
    let at = hash & mask;
    while (slots[at] !== 0) {
      if (slots[at] === hash) return false;
      at = (at + 1) & mask;
    }
    slots[at] = hash;
    return true;
  }

  #grow(): void {
    const slots = new Float64Array(this.#slots.length * 2);
    for (const hash of this.#slots) if (hash !== 0) this.#put(slots, hash);
    this.#slots = slots;
  }
}

/** Never 0. Of a text past 64 characters its length and some of its characters count. */
function hashOf(key: string, part: string): number {
  let high = 0x9e3779b9;
  let low = 0x41c6ce57 ^ key.length;
  const mix = (code: number): void => {
    high = Math.imul(high ^ code, 0x9e3779b1);
    low = Math.imul(low ^ code, 0x5f356495);
  };
  for (const text of [key, part]) {
    const step = Math.max(1, Math.floor(text.length / 64));
    for (let at = 0; at < text.length; at += step) mix(text.charCodeAt(at));
    mix(text.length);
  }
  high = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ Math.imul(low ^ (low >>> 13), 0xc2b2ae35);
  low = Math.imul(low ^ (low >>> 16), 0x85ebca6b) ^ Math.imul(high ^ (high >>> 13), 0xc2b2ae35);
  return 0x100000000 * (high & 0x1fffff) + (low >>> 0) || 1;
}
