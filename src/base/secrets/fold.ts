// A text as rules read it: compatibility forms as plain letters, escapes and entities decoded, what is not seen and the colours of
// a terminal left out, and in one piece what a program puts together or a shell continues.
// Promises: of each part of the copy it can be told what it stands for; what needs no folding is its own copy; linear time.

interface Folded {
  text: string;
  /** Where in the original stands what a part of the copy stands for. */
  original(start: number, end: number): [start: number, end: number];
}

const UNSEEN = String.raw`\u00ad\u034f\u061c\u115f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff`;
const BEGINS = new RegExp(
  String.raw`[\\^\x1b\x9b]|&(?=#|[a-z]{2,6};)|%(?=[2-7][\dA-Fa-f]|0[aA])|[${UNSEEN}\u1d2c-\u1d6a\u2070-\u209c\u2100-\u214f\u2460-\u24ff\ufb00-\ufb06\uff01-\uff5e\ud835]|["'\x60](?=[ \t]{0,9}(?:[+.&|\\]|\r?\n[ \t]{0,40}["'\x60+.&|]))`,
  'g',
);
const NEXT_LINE = String.raw`(?:\r?\n|\\{1,4}n)[ \t]{0,40}`;
/** Each way in which a part of a text stands for something else. */
const FOLDED = new RegExp(
  [
    String.raw`(?<unseen>[${UNSEEN}]+|(?:\x1b|\x9b|\^\[|\\(?:u001[bB]|x1[bB]|033|e))\[[\d;]{0,20}[A-Za-z])`,
    String.raw`(?<joined>\\\r?\n[ \t]{0,40}|(?<!\\)\\{3}n[ \t]{0,40}|(?<=[^\s,:=([{\\])(\\{0,4}["'\x60])[ \t]{0,9}(?:(?:${NEXT_LINE})?(?:[+.&]|\|\||\.\.)[ \t]{0,9}(?:${NEXT_LINE})?\3|${NEXT_LINE}(?<=[ \t])\3(?=[^\s,:}\])\\])))`,
    String.raw`\\{1,8}(?<sign>["'\x60/]|(?<!(?<![A-Za-z])[A-Za-z]:\\[\w\\.-]{0,60})[nrt])`,
    String.raw`(?:\\{1,4}(?:u\{?|U0000)|&#[xX])(?<hex>[\da-fA-F]{2,4})[;}]?|\\{1,4}x\{?(?<byte>[\da-fA-F]{2})\}?|%(?<percent>2[1-9A-Fa-f]|[3-7][\da-fA-F]|0[aA])`,
    String.raw`&(?:#(?<decimal>\d{2,5})|(?<entity>amp|lt|gt|quot|apos|colon|equals|commat|num|dollar|excl|period|sol|lowbar));`,
    String.raw`(?<compatible>[\u1d2c-\u1d6a\u2070-\u209c\u2100-\u214f\u2460-\u24ff\ufb00-\ufb06\uff01-\uff5e]|\ud835[\udc00-\udfff])`,
  ].join('|'),
  'y',
);
const SIGNS: Record<string, string> = { n: '\n', r: '', t: '\t' };
const ENTITIES: Record<string, string> = Object.fromEntries(
  'amp& lt< gt> quot" apos\' colon: equals= commat@ num# dollar$ excl! period. sol/ lowbar_'
    .split(' ')
    .map((each) => [each.slice(0, -1), each.slice(-1)]),
);

function meant(groups: Record<string, string | undefined>): string {
  const { sign, entity, compatible } = groups;
  if (sign !== undefined) return SIGNS[sign] ?? sign;
  if (entity !== undefined) return ENTITIES[entity] as string;
  const hex = groups.hex ?? groups.byte ?? groups.percent;
  const code = hex === undefined ? Number(groups.decimal) : Number.parseInt(hex, 16);
  if (compatible === undefined && Number.isNaN(code)) return '';
  return (compatible ?? String.fromCharCode(code)).normalize('NFKC').replace(ALL_UNSEEN, '');
}

const ALL_UNSEEN = new RegExp(`[${UNSEEN}]`, 'g');

export function fold(text: string): Folded {
  let copy = '';
  let done = 0;
  // Where lengths differ: [where in the copy, how long there, from and to in the original], one after the other.
  const changes: number[] = [];
  BEGINS.lastIndex = 0;
  for (let hit = BEGINS.exec(text); hit !== null; hit = BEGINS.exec(text)) {
    FOLDED.lastIndex = hit.index;
    const found = FOLDED.exec(text);
    if (found === null) continue;
    const to = FOLDED.lastIndex;
    const stands = meant(found.groups as Record<string, string | undefined>);
    copy += text.slice(done, hit.index);
    if (stands.length !== to - hit.index) changes.push(copy.length, stands.length, hit.index, to);
    copy += stands;
    BEGINS.lastIndex = done = to;
  }
  if (done === 0) return { text, original: (start, end) => [start, end] };
  const placeOf = (at: number): [number, number] => {
    let [low, high] = [0, changes.length / 4];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((changes[middle * 4] as number) <= at) low = middle + 1;
      else high = middle;
    }
    const [start = 0, length = 0, from = 0, behind = 0] = low === 0 ? [] : changes.slice(low * 4 - 4, low * 4);
    const place = behind + at - start - length;
    return at < start + length ? [from, behind] : [place, place + 1];
  };
  return { text: copy + text.slice(done), original: (start, end) => [placeOf(start)[0], placeOf(end - 1)[1]] };
}
