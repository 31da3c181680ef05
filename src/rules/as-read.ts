// A text as whoever reads it takes it: look-alike letters as the plain ones, what is hidden in base64, escapes or tag
// characters in plain sight; and the tags that nocturne puts around data, which no text of others may hold.

import { asSeen } from '../base/text/wording.ts';

/** The tags that nocturne itself puts around data, and those that pass for a system's. */
const NAMES =
  'entries|withdrawn|topics|others|sessions?|excerpt|known|index|pending|operator_instructions|nocturne-[a-z]+|system(?:-reminder)?|instructions|recalled';
const tagsWith = (opening: string) => new RegExp(String.raw`${opening}\s*\/?\s*(?:${NAMES})\b`, 'gi');
/** A word in pointed brackets that a path or a command goes on with: `logs/<session>.jsonl`. */
const PLACEHOLDER =
  /(?<=[\w/.:=-])<(?!system|operator|nocturne)[a-z_-]+>|<(?!system|operator|nocturne)[a-z_-]+>(?=[/.:=-]\w)/gi;

/** Whether a text holds a tag that could pass for one of nocturne's or of a system. */
export function hasWrapperTag(text: string): boolean {
  const seen = plain(text).replace(PLACEHOLDER, ' ');
  return new RegExp(`${tagsWith('[<‹⟨〈❮]').source}[^<]*[>›⟩〉❯]`, 'i').test(seen);
}

/** Text with the `<` of each tag of nocturne's or a system's replaced by one that begins none; all else as it stands. */
export const withoutTagLines = (text: string) => text.replace(tagsWith('<'), (tag) => `‹${tag.slice(1)}`);

/** The reverse: what a model copied of such a text, as it was said. */
export const withTags = (text: string) => text.replace(tagsWith('‹'), (tag) => `<${tag.slice(1)}`);

/** The text with the brackets of such tags as they are meant, and without what is not seen in them. */
export function withPlainTags(text: string): string {
  return text
    .replace(/[\u00ad\u200b-\u200f\u2060\ufeff]/g, '')
    .replace(
      /[‹⟨〈❮＜]([/／]?[a-z][^<>‹›⟨⟩〈〉❮❯＜＞\n]{1,60})[›⟩〉❯＞]/gi,
      (_, name: string) => `<${name.normalize('NFKC')}>`,
    )
    .replace(/\[(\/?)([a-z][\w-]{2,30})\]/gi, (whole, slash: string, name: string) =>
      hasWrapperTag(`<${name}>`) ? `<${slash}${name}>` : whole,
    );
}

/** A text as it is read, line by line, and what it holds that is not seen as words. */
export function asRead(text: string): string[] {
  return [text, ...decoded(text)].map((each) => each.split(/\r?\n/).map(plain).join('\n'));
}

function decoded(text: string): string[] {
  const blobs = asSeen(text).match(/[A-Za-z0-9+/_-]{16,}={0,2}/g) ?? [];
  const said = blobs
    .map((blob) => Buffer.from(blob, 'base64').toString('utf8'))
    .filter((words) => !words.includes('\uFFFD') && !/[\p{Cc}]/u.test(words.replace(/\s/g, ' ')));
  const unescaped = text.replace(ESCAPE, (whole, decimal?: string, ...hex: unknown[]) => {
    const code = decimal ? Number(decimal) : Number.parseInt(String(hex.slice(0, 2).find(Boolean)), 16);
    return code > 0 && code < 0x11_0000 ? String.fromCodePoint(code) : whole;
  });
  // Not spread into one call: a text may hold more of them than a call takes arguments.
  const tags = text.match(/[\u{e0020}-\u{e007e}]/gu) ?? [];
  const hidden = tags.map((tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000)).join('');
  return [...said, unescaped, hidden].filter((each) => each !== '' && each !== text);
}

/** Of HTML, of URLs, of JSON and of programs. */
const ESCAPE = /&#(\d{1,7});|&#x([0-9a-f]{1,6});|(?:%|\\x|\\u00|\\u\{)([0-9a-f]{2})\}?/gi;

/** Letters of other scripts that look like Latin ones, in words that mix them: each with the one it looks like. */
const LOOKALIKES = new Map(
  `аa еe оo рp сc уy хx іi јj ѕs ԁd ɡg һh кk мm тt вb нh АA ВB ЕE КK МM НH ОO РP СC
  ТT ХX ІI αa οo εe ιi νv ρp τt υu κk ΑA ΒB ΕE ΙI ΟO ΡP ոn սu ցg օo ıi ɩi`
    .split(/\s+/)
    .map(([letter = '', latin = '']) => [letter, latin]),
);

/** Full-width and styled letters as plain ones, without strokes and rings, look-alikes of a mixed word as Latin. */
function plain(text: string): string {
  const seen = asSeen(text.normalize('NFD').replace(/[\u0334-\u0338\u20d0-\u20f0]/g, '')).normalize('NFKC');
  return seen.replace(/[\p{L}\p{M}]+/gu, (word) => {
    if (!/\p{sc=Latin}/u.test(word) || !/[^\p{sc=Latin}\p{sc=Zinh}]/u.test(word)) return word;
    return [...word].map((letter) => LOOKALIKES.get(letter) ?? letter).join('');
  });
}
