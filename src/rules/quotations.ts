// A text without what stands in it between quotation marks, tags and comments, where that is long enough to be someone's
// sentence; a line end is in each gap. Each mark is looked for once, whatever a message of a megabyte repeats.

/** A quotation this long is someone's sentence, not a name or a word in quotation marks. */
const QUOTATION_CHARS = 20;
/** Over lines it is no longer than this. */
const MOST_OVER_LINES = 4_000;
const TAG = /<(\/?)(\p{L}[\p{L}\p{N}_.-]*)(?:\s[^<>]*)?>/gu;
const SINGLE_QUOTATION = /(?<![\p{L}\p{N}])'([^'\n]{20,})'(?![\p{L}\p{N}])/gu;
/** In code, a whole sentence. */
const CODE_QUOTATION = /`(\p{Lu}[^`\n]*[.!?])`/gu;
/** What opens a quotation, and what may close it. */
const QUOTATION_MARKS = ['“”', '„“”', '«»', '»«', '「」', '『』', '‘’'];

/** Without its quotations, in the marks of several languages; a word or a name in marks stays. */
export function withoutQuotations(text: string): string {
  const unmarked = [SINGLE_QUOTATION, CODE_QUOTATION].reduce(
    (left, quotation) => left.replace(quotation, (whole, said: string) => (isQuotation(said) ? '\n' : whole)),
    withoutStraightQuotations(text),
  );
  return QUOTATION_MARKS.reduce(withoutMarked, unmarked);
}

/** Without comments of HTML; one that is never closed goes on to the end. */
function withoutComments(text: string): string {
  const [first = '', ...rest] = text.split('<!--');
  return rest.reduce((kept, part) => {
    const end = part.indexOf('-->');
    return end < 0 ? kept : `${kept}\n${part.slice(end + 3)}`;
  }, first);
}

/**
 * Without the parts between tags; one that is never closed is a tag where a line begins with it, else a word in pointed
 * brackets.
 */
export function withoutTagged(whole: string): string {
  const text = withoutComments(whole);
  const tags = [...text.matchAll(TAG)];
  /** By name, where the next closing tag ends; by opening tag, where its own does. */
  const next = new Map<string, number>();
  const endOf = new Map<RegExpExecArray, number | undefined>();
  for (const tag of tags.toReversed()) {
    const [opened, slash, name = ''] = tag;
    if (slash) next.set(name.toLowerCase(), tag.index + opened.length);
    else endOf.set(tag, next.get(name.toLowerCase()));
  }
  let kept = '';
  let from = 0;
  for (const [tag, end] of endOf.entries().toArray().reverse()) {
    if (tag.index < from || (end === undefined && !beginsLine(text, tag.index))) continue;
    kept += `${text.slice(from, tag.index)}\n`;
    from = end ?? text.length;
  }
  return kept + text.slice(from);
}

function beginsLine(text: string, at: number): boolean {
  let begin = at;
  while (text[begin - 1] === ' ' || text[begin - 1] === '\t') begin -= 1;
  return begin === 0 || text[begin - 1] === '\n';
}

/**
 * Without what stands between straight marks: on one line any two, over lines where the first can open and the second can
 * close. What stands between a mark that closes an earlier line's quotation and one that opens the next was not quoted.
 */
function withoutStraightQuotations(text: string): string {
  let kept = '';
  let from = 0;
  let isOpen = false;
  for (let at = text.indexOf('"'); at >= 0; ) {
    const end = text.indexOf('"', at + 1);
    if (end < 0) break;
    const said = text.slice(at + 1, end);
    const isPair: boolean = said.includes('\n')
      ? said.length <= MOST_OVER_LINES && canOpen(text, at) && canClose(text, end)
      : said !== '' && !(isOpen && closes(text, at) && opens(text, end));
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
const canClose = (text: string, at: number) => !/^[\p{L}\p{N}]/u.test(text.slice(at + 1, at + 3));
const opens = (text: string, at: number) => canOpen(text, at) && /\S/.test(text[at + 1] ?? '');
const closes = (text: string, at: number) => !canOpen(text, at) && /\s/.test(text[at + 1] ?? ' ');

/** Not by a pattern, which looks through the rest of the text for each mark that nothing closes. */
function withoutMarked(text: string, marks: string): string {
  const [opening = '', ...closing] = marks;
  const endings = closing.map((mark) => ({ mark, at: -1 }));
  let kept = '';
  let from = 0;
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at)) {
    for (const ending of endings) {
      // Too far back: it is looked for again; nowhere: it stays so.
      if (ending.at <= at) ending.at = text.indexOf(ending.mark, at + 1);
      if (ending.at < 0) ending.at = text.length;
    }
    const end = Math.min(...endings.map((ending) => ending.at));
    if (end === text.length) break;
    const said = text.slice(at + 1, end);
    if (isQuotation(said)) {
      kept += `${text.slice(from, at)}\n`;
      from = end + 1;
    }
    at = said === '' ? at + 1 : end + 1;
  }
  return kept + text.slice(from);
}

function isQuotation(said: string): boolean {
  const length = /\p{sc=Han}|\p{sc=Hiragana}|\p{sc=Katakana}|\p{sc=Hangul}/u.test(said) ? said.length * 3 : said.length;
  return length >= QUOTATION_CHARS && (/\s/.test(said.trim()) || length !== said.length);
}
