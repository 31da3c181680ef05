// A text without what stands in it between quotation marks, tags and comments, where that is long enough to be someone's
// sentence; a line end is in each gap. Each mark is looked for once, whatever a message of a megabyte repeats.

/** A quotation this long is someone's sentence, not a name or a word in quotation marks. */
const QUOTATION_CHARS = 20;
/** Over lines it is no longer than this. */
const MOST_OVER_LINES = 4_000;
const COMMENT = /<!--[\s\S]*?(?:-->|$)/g;
/** The first group is there where a line begins with it. */
const TAG = /(?<=(^)[ \t]*|)<(\/?)(\p{L}[\p{L}\p{N}_.-]*)(?:\s[^<>]*)?>/gmu;
/** In marks of one kind, which what is quoted does not hold; in those of code a whole sentence. */
const QUOTATIONS = [
  /(?<![\p{L}\p{N}])'([^'\n]{20,})'(?![\p{L}\p{N}])/gu,
  /`(\p{Lu}[^`\n]*[.!?])`/gu,
  /“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»|»([^«»]*)«|「([^「」]*)」|『([^『』]*)』|‘([^‘’]*)’/g,
];

/** Without its quotations, in the marks of several languages; a word or a name in marks stays. */
export function withoutQuotations(text: string): string {
  const unless = (whole: string) => (isQuotation(whole.slice(1, -1)) ? '\n' : whole);
  return QUOTATIONS.reduce((left, marks) => left.replace(marks, unless), withoutStraightQuotations(text));
}

/**
 * Without comments, and without the parts between tags; one that is never closed is a tag where a line begins with it, else
 * a word in pointed brackets.
 */
export function withoutTagged(whole: string): string {
  const text = whole.replace(COMMENT, '\n');
  /** By name, where the next closing tag ends; and by opening tag, where its own does. */
  const next = new Map<string, number>();
  const parts: { from: number; to: number }[] = [];
  for (const tag of [...text.matchAll(TAG)].reverse()) {
    const [opened, begin, slash, name = ''] = tag;
    const end = next.get(name.toLowerCase());
    if (slash) next.set(name.toLowerCase(), tag.index + opened.length);
    else if (end !== undefined || begin !== undefined) parts.push({ from: tag.index, to: end ?? text.length });
  }
  let [kept, from] = ['', 0];
  for (const part of parts.reverse()) {
    if (part.from < from) continue;
    kept += `${text.slice(from, part.from)}\n`;
    from = part.to;
  }
  return kept + text.slice(from);
}

/**
 * Without what stands between straight marks: on one line any two, over lines where the first can open and the second can
 * close. What stands between a mark that closes an earlier line's quotation and one that opens the next was not quoted.
 */
function withoutStraightQuotations(text: string): string {
  let [kept, from, isOpen] = ['', 0, false];
  for (let at = text.indexOf('"'), end = 0; at >= 0; ) {
    end = text.indexOf('"', at + 1);
    if (end < 0) break;
    const said = text.slice(at + 1, end);
    const isPair: boolean = said.includes('\n')
      ? said.length <= MOST_OVER_LINES && canOpen(text, at) && !/^[\p{L}\p{N}]/u.test(text.slice(end + 1, end + 3))
      : said !== '' && !(isOpen && closes(text, at) && canOpen(text, end) && /\S/.test(text[end + 1] ?? ''));
    if (isPair && isQuotation(said)) {
      kept += `${text.slice(from, at)}\n`;
      from = end + 1;
    }
    isOpen = !isPair && said !== '' && !isOpen;
    at = isPair ? text.indexOf('"', end + 1) : end;
  }
  return kept + text.slice(from);
}

const canOpen = (text: string, at: number) => at === 0 || /[\s(]/.test(text[at - 1] as string);
const closes = (text: string, at: number) => !canOpen(text, at) && /\s/.test(text[at + 1] ?? ' ');

function isQuotation(said: string): boolean {
  const isJoined = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u.test(said);
  const isLong = said.length * (isJoined ? 3 : 1) >= QUOTATION_CHARS;
  return isLong && (isJoined || /\s/.test(said.trim()));
}
