// Finds many words in a text at once: what follows one is only looked at where it stands.
// Promises: one pass, whatever the number of words; case is ignored.

export interface Needle<Item> {
  word: string;
  item: Item;
}

/** Buckets of needles by their first two characters. */
export type Needles<Item> = Needle<Item>[][];

const NONE: never[] = [];
const bucketOf = (first: number, second: number) => ((first & 127) << 7) | (second & 127);

export function needlesOf<Item>(rows: readonly (readonly [word: string, item: Item])[]): Needles<Item> {
  const buckets: Needles<Item> = Array.from({ length: 1 << 14 }, () => NONE);
  for (const [word, item] of rows) {
    const at = bucketOf(word.charCodeAt(0), word.charCodeAt(1));
    buckets[at] = [...(buckets[at] as Needle<Item>[]), { word, item }];
  }
  return buckets;
}

/** Calls `visit` where one of the words stands in `lower`, from the left to the right. */
export function scan<Item>(needles: Needles<Item>, lower: string, visit: (item: Item, at: number) => void): void {
  let second = lower.charCodeAt(0);
  for (let at = 0; at < lower.length - 1; at++) {
    const first = second;
    second = lower.charCodeAt(at + 1);
    const bucket = needles[bucketOf(first, second)] as Needle<Item>[];
    for (const { word, item } of bucket) {
      if (lower.charCodeAt(at) === word.charCodeAt(0) && lower.startsWith(word, at)) visit(item, at);
    }
  }
}
