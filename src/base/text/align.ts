// Which lines of two texts are the same lines, by Myers' algorithm: what differences, merges and undo rest on.
// Promises: what is paired is equal and in the order of both, as many as can be. Only where more than `MOST` lines that
// both have somewhere differ in a row it may be fewer: time grows with the number of lines, whatever strangers wrote.

/** Beyond so many differences it goes on from where most of both texts is behind it. */
const MOST = 512;

/** Where each line of `from` stands in `to`, by number; -1: nowhere. */
export function align(from: readonly string[], to: readonly string[]): Int32Array {
  const place = new Int32Array(from.length).fill(-1);
  let [start, startTo, end, endTo] = [0, 0, from.length, to.length];
  while (start < end && startTo < endTo && from[start] === to[startTo]) place[start++] = startTo++;
  while (start < end && startTo < endTo && from[end - 1] === to[endTo - 1]) place[--end] = --endTo;
  const ids = new Map([...new Set(from.slice(start, end))].map((line, id) => [line, id]));
  const known = (lines: readonly string[], first: number, behind: number, isKnown: (line: string) => boolean) =>
    Array.from({ length: behind - first }, (_, at) => first + at).filter((at) => isKnown(lines[at] as string));
  const common = new Set(to.slice(startTo, endTo).filter((line) => ids.has(line)));
  const a = known(from, start, end, (line) => common.has(line));
  const b = known(to, startTo, endTo, (line) => common.has(line));
  const idsOf = (lines: readonly string[], at: number[]) =>
    Int32Array.from(at, (n) => ids.get(lines[n] as string) ?? -1);
  const [inA, inB] = [idsOf(from, a), idsOf(to, b)];
  for (let [x, y] = [0, 0]; x < a.length && y < b.length; ) {
    const [baseX, baseY] = [x, y];
    const came = walk(inA.subarray(x), inB.subarray(y), (atX, atY) => {
      place[a[baseX + atX] as number] = b[baseY + atY] as number;
    });
    [x, y] = [x + came.x, y + came.y];
  }
  return place;
}

/** What `to` has in the place of what: the first line of each, and how many. */
export function changesOf(from: readonly string[], to: readonly string[]): { a: Span; b: Span }[] {
  const changes: { a: Span; b: Span }[] = [];
  const place = align(from, to);
  let [at, there] = [0, 0];
  for (let line = 0; line <= from.length; line += 1) {
    const now = line === from.length ? to.length : (place[line] as number);
    if (now < 0) continue;
    if (line > at || now > there) changes.push({ a: [at, line - at], b: [there, now - there] });
    [at, there] = [line + 1, now + 1];
  }
  return changes;
}

type Span = [start: number, length: number];

/** From the beginning of both to their ends, or past `MOST` differences; tells what is the same, and answers how far it came. */
function walk(a: Int32Array, b: Int32Array, pair: (x: number, y: number) => void): { x: number; y: number } {
  /** For each number of differences: by diagonal (x - y), how far one comes in `a`; -1: not at all. */
  const rows: Int32Array[] = [];
  /** Where the last difference on the way to a diagonal ends, by a line of `b` or one of `a`; -1: where there is no way. */
  const down = (count: number, k: number) => {
    const x = rows[count - 1]?.[k + MOST + 2] as number;
    return x - k > b.length ? -1 : x;
  };
  const over = (count: number, k: number) => {
    const x = rows[count - 1]?.[k + MOST] as number;
    return x < 0 || x === a.length ? -1 : x + 1;
  };
  let best = { x: 0, k: 0, came: -1 };
  for (let count = 0; best.came < a.length + b.length && count <= MOST; count += 1) {
    const row = new Int32Array(2 * MOST + 3).fill(-1);
    best = { x: 0, k: 0, came: -1 };
    for (let k = -count; k <= count; k += 2) {
      let x = count === 0 ? 0 : Math.max(down(count, k), over(count, k));
      if (x < 0) continue;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      row[k + MOST + 1] = x;
      if (2 * x - k > best.came) best = { x, k, came: 2 * x - k };
    }
    rows.push(row);
  }
  let { x, k } = best;
  for (let count = rows.length - 1; count >= 0; count -= 1) {
    const [fromB, fromA] = count === 0 ? [0, 0] : [down(count, k), over(count, k)];
    for (x -= 1; x >= Math.max(fromB, fromA); x -= 1) pair(x, x - k);
    if (count > 0) k += fromB >= fromA ? 1 : -1;
    x = rows[count - 1]?.[k + MOST + 1] as number;
  }
  return { x: best.x, y: best.x - best.k };
}
