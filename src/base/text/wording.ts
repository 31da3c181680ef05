// How a number of things is said, a text as it is seen, what a person may have meant who typed a name that is none, and
// how much of something fits.

/** A number of things: `1 topic`, `2 topics`, `0 entries`. */
export function sayCount(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : noun.replace(/(?<![aeiou])y$/, 'ie').replace(/$/, 's')}`;
}

// Nobody sees these, and a text with them is not what it looks like: controls, direction, fillers, tags, halves.
const UNSEEN =
  /\u034f|[\p{Cc}\p{Cs}\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;

/** Whether a text holds characters that nobody sees; a tab and line ends are seen. */
export function hasUnseen(text: string): boolean {
  return text.replace(/[\t\n\r]/g, ' ').search(UNSEEN) >= 0;
}

/** What most texts have none of: they are letters, digits and signs of ASCII with single spaces between them. */
const NOT_PLAIN = /[^ -~]|^ | $| {2}/;

/** The text as it is seen: without what is not, composed, white space as single spaces. */
export function asSeen(text: string): string {
  if (!NOT_PLAIN.test(text)) return text;
  return text
    .replace(/[\t-\r\u0085\u2028\u2029]/g, ' ')
    .replace(UNSEEN, '')
    .replace(/\s+/g, ' ')
    .normalize('NFC')
    .trim();
}

/** The most that is held, below what is too many and not below `least`: by halves, since a part of what is held is held. */
export function mostThat(isHeld: (count: number) => boolean, tooMany: number, least = 0): number {
  let [most, bound] = [least, tooMany];
  while (bound - most > 1) {
    const middle = (most + bound) >> 1;
    if (isHeld(middle)) most = middle;
    else bound = middle;
  }
  return most;
}

/** The known names that are nearest to a word, best first; none where nothing is near. */
export function nearest(word: string, names: Iterable<string>): string[] {
  const typed = word.toLowerCase();
  const near = [...names].flatMap((name) => {
    const distance = distanceBetween(typed, name.toLowerCase());
    const isPart = typed.length >= 3 && name.toLowerCase().includes(typed);
    const isNear = isPart || distance <= Math.max(1, Math.floor(Math.max(typed.length, name.length) * 0.4));
    return isNear ? [{ name, distance: isPart ? 0.5 : distance }] : [];
  });
  near.sort((a, b) => a.distance - b.distance || a.name.localeCompare(b.name));
  return near.slice(0, 3).map(({ name }) => name);
}

/** A remedy that names what is near; `otherwise` where nothing is. */
export function didYouMean(word: string, names: Iterable<string>, otherwise: string): string {
  const near = nearest(word, names);
  return near.length > 0 ? `Did you mean ${near.join(' or ')}?` : otherwise;
}

/** How many letters have to be put in, taken out, replaced, or changed with the next. */
export function distanceBetween(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isTurned = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const turned = isTurned ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, turned, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}
