// Finds many words in a text at once: what follows one is only looked at where it stands.
// Promises: one pass, whatever the number of words; case is ignored; made where a text is first read, not at each start.

/** By their first three letters, the words that begin with them, each with what is to be done there. */
type Made<Item> = ({ word: string; item: Item }[] | undefined)[];
export type Needles<Item> = () => Made<Item>;

const bucketOf = (first: number, second: number, third: number) =>
  ((first & 31) << 10) | ((second & 31) << 5) | (third & 31);

type Rows<Item> = readonly (readonly [word: string, item: Item])[];

export function needlesOf<Item>(rows: () => Rows<Item>): Needles<Item> {
  let made: Made<Item> | undefined;
  return () => {
    made ??= make(rows());
    return made;
  };
}

function make<Item>(rows: Rows<Item>): Made<Item> {
  const needles: Made<Item> = Array.from({ length: 1 << 15 }, () => undefined);
  for (const [word, item] of rows) {
    // Behind a short word stands anything.
    const codesAt = (at: number) =>
      at < word.length ? [word.charCodeAt(at)] : Array.from({ length: 32 }, (_, code) => code);
    for (const second of codesAt(1)) {
      for (const third of codesAt(2)) {
        const at = bucketOf(word.charCodeAt(0), second, third);
        needles[at] = [...(needles[at] ?? []), { word, item }];
      }
    }
  }
  return needles;
}

/** Calls `visit` where one of the words stands in `lower`, from the left to the right. */
export function scan<Item>(needles: Needles<Item>, lower: string, visit: (item: Item, at: number) => void): void {
  const made = needles();
  let bucket = bucketOf(0, lower.charCodeAt(0), lower.charCodeAt(1));
  for (let at = 0; at < lower.length - 1; at++) {
    bucket = ((bucket << 5) & 32767) | (lower.charCodeAt(at + 2) & 31);
    const near = made[bucket];
    if (near !== undefined) for (const { word, item } of near) if (lower.startsWith(word, at)) visit(item, at);
  }
}
