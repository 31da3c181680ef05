// What a person or a model types into a search: words, "phrases" and begin* of words.
// Scripts that are written without spaces are taken apart by the system's dictionary, so that a question finds the
// words it is made of.

export interface Term {
  /** In lower case and NFC; a phrase with single spaces. */
  text: string;
  /** A `word` may stand inside of another; a `prefix` begins one; a `phrase` must be in the line. */
  kind: 'word' | 'prefix' | 'phrase';
}

const TERM = /["“„]([^"“”„]+)["“”]|([\p{L}\p{N}\p{M}_./@-]+)(\*?)/gu;
const WITHOUT_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

/** The terms of a query, each once; one without a letter or digit is looked for as it stands, such as an emoji. */
export function readQuery(query: string): Term[] {
  const terms = [...inOneCase(query).matchAll(TERM)].flatMap(([, phrase, run = '', star]): Term[] => {
    if (phrase !== undefined) return [{ text: withSingleSpaces(phrase).trim(), kind: 'phrase' }];
    if (star) return [{ text: run, kind: 'prefix' }];
    return wordsIn(run).map((text) => ({ text, kind: 'word' }));
  });
  const meant = terms.filter(({ text }) => /[\p{L}\p{N}_]/u.test(text));
  const asItStands = withSingleSpaces(inOneCase(query)).trim();
  if (meant.length === 0 && asItStands !== '') return [{ text: asItStands, kind: 'phrase' }];
  return [...new Map(meant.map((term) => [`${term.kind} ${term.text}`, term])).values()];
}

/** Text as it is compared. */
export function inOneCase(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** Text as phrases are looked for in it; its lines stay lines. */
export function withSingleSpaces(text: string): string {
  return text.replace(/[^\S\n]+/gu, ' ');
}

/** 3: the term stands in the line as a word; 2: it begins one; 1: it is part of one; 0: it is not there. */
export function qualityIn(line: string, { text, kind }: Term): number {
  let best = 0;
  for (let at = line.indexOf(text); at >= 0 && best < 3; at = line.indexOf(text, at + 1)) {
    const begins = !isOfWord(line[at - 1]);
    best = Math.max(best, begins ? (isOfWord(line[at + text.length]) ? 2 : 3) : 1);
  }
  return kind === 'prefix' && best < 2 ? 0 : best;
}

function wordsIn(run: string): string[] {
  // The end of a sentence is no part of its last word.
  if (!WITHOUT_SPACES.test(run)) return [run.replace(/(?<![./-])[./-]+$/, '')];
  const words = [...new Intl.Segmenter(undefined, { granularity: 'word' }).segment(run)].flatMap((part) =>
    part.isWordLike ? part.segment : [],
  );
  // Single kana are endings and particles, which every line holds.
  const telling = words.filter((word) => !/^\p{sc=Hiragana}$/u.test(word));
  return telling.length > 0 ? telling : words;
}

function isOfWord(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}_]/u.test(character);
}
