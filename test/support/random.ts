// A seeded source of chance, so that a run that failed can be run again.

export interface Random {
  /** A number from 0 up to, but without, `below`. */
  below(below: number): number;
  /** A number from 0 up to, but without, 1. */
  share(): number;
  pick<Item>(items: readonly Item[]): Item;
}

/** The generator known as mulberry32: one word of state, good enough to choose whom to kill and what to damage. */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let word = Math.imul(state ^ (state >>> 15), state | 1);
    word ^= word + Math.imul(word ^ (word >>> 7), word | 61);
    return ((word ^ (word >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    share: next,
    pick(items) {
      if (items.length === 0) throw new RangeError('nothing to pick from');
      return items[below(items.length)] as (typeof items)[number];
    },
  };
}
