// How many tokens a text may cost: max(characters ÷ 3, o200k tokens × 1.53), where 1.53 is the measured factor of
// Claude's present tokenizer. The o200k tokens are estimated, not encoded: the text is cut as that encoder cuts it, into
// words, numbers, marks and white space, and a word costs by its length, by what comes before it and by how common its
// pairs of letters are; the tables were fitted to every second of the shared sessions by least squares.
// Promises: linear in the text; within 5 % of the encoder on each of the shared sessions and their excerpts
// (test/transcript/excerpt/real-excerpts.test.ts).

/** ’, which begins a contraction as ' does. */
const APOSTROPHE = 0x2019;

/** A word, by the character before it that belongs to it; `none` where none is, `other` for any else. */
const BEFORE: Record<string, number> = {
  ...{ ' ': 0.8, '\t': 1.5, '`': 2.06 },
  ...tableOf(
    String.raw`none 1 joined 1.35 _ 1.3 / 1.66 . 1.12 - 1.49 " 1.6 ( 1.26 \ 2.09 $ 2.08 * 2.22 : 2.04 [ 1.87 , 1.79 = 1.86 < 1.88
    @ 2.02 { 1.92 ' 1.6 ’ 1.07 other 2.04`,
  ),
};

/** Keys, each with its number behind it. */
function tableOf(text: string): Record<string, number> {
  return Object.fromEntries([...text.matchAll(/(\S+)\s+(\S+)/g)].map(([, key, number]) => [key, Number(number)]));
}

/** A word, by its length: from two letters to fourteen and more. */
const BY_LENGTH = {
  small: [-0.47, -0.22, -0.02, 0.15, 0.28, 0.38, 0.56, 0.64, 0.78, 0.91, 1.05, 1.21, 1.59],
  capital: [-0.21, -0.09, 0.1, 0.22, 0.3, 0.46, 0.65, 0.83, 0.98, 1.21, 1.1, 1.26, 1.68],
  capitals: [-0.36, 0.12, 0.26, 0.78, 0.75, 1.15, 1.64, 1.71, 2.19, 1.88, 2.98, 3.49, 4.72],
};

/**
 * A word, by its pairs of letters: a row for its beginning and for each letter from a to z, in it the letters that follow
 * and its end. A digit of base 36 each, 11 for nothing, a twentieth of a token a step.
 */
const PAIRS = `
  bca9fbiaa8dbedcciaccccaq8gg dab7medgagd9d9o9m8c9gbd0chd ffkmemn8d7padjagcbgkffmgbfc dmcibki9chcffrdld9eabmrhelc
  fjnecodnag6bgebeglcifcfbbh9 dh8cc9b4jhgdd8cd699ahbc7jc8 dmmoad8p8obb0pbbgbg9dgbefhd dpimapdache8g9ene87a8bdgd78
  e6picl7gcerlhddnqijbbgf7eea ca9a8abg6l8bc99abhcaaagagfh pjflbgbqahlggia8gbkbegkjhwg 6izd9f1ucgfhe6jgglagelbfnh9
  c6i8c9d9bkfcih96gg9988ejaf9 87gg56hjch8g77a7bq8tddmfgf9 blaaccdacjfi9behmccc6chafk9 dcabbaen97abe7bdf9fc9aa4kie
  bgg5bmicegib5s7cg8b9dlnfbhb qgleedhigfk1bgghcgof6jpciej cgead7fcbgfdc68egbccfdhdcnb cobm974bbucjk5dbn38aeh8hfeb
  ahdka7g5blsdgeabd9ce8g658m8 b77eab3v9gb6gafbq8c8fcgeb5i 9rhdbebfahbgmgfggbig0cegafl dhm9algadjlbia9hddbhdgbsj9a
  9d8th9gdafe39dgbdhhbbfeaf7j ggdaeqtnchabca7fob7hgg2gae7 7fmgciahhijicqcggipgjeegidl`
  .trim()
  .split(/\s+/);

/** What "'s" or "'t" adds to the word before it. */
const CONTRACTION_TOKENS = 0.78;

/** What each ASCII mark in a row of them costs beyond the first two. */
const MARK_TOKENS = 0.4;

/** A character of other scripts and signs, by the last code of its range. */
const RANGES = Object.entries(
  tableOf(
    `0xbf 1 0x36f 1.2 0x6ff 0.38 0x200f 0.6 0x2027 1 0x218f 1.2 0x21ff 1 0x24ff 1.5 0x259f 1 0x2fff 1.5 0x303f 1.2 0x30ff 0.72
    0x9fff 0.8 0xd7ff 0.68 0xdfff 1.2 0xffff 1.5`,
  ),
).map(([last, tokens]) => [Number(last), tokens] as const);

const CHARACTERS_PER_TOKEN = 3;
const O200K_FACTOR = 1.53;
/** What a budget keeps free: the estimate is at most so much too low on a text as large as a budget. */
const ROOM = 1.03;

/** The tokens of `text`, estimated; whole, 0 for an empty text. */
export function estimateTokens(text: string): number {
  return Math.ceil(Math.max(text.length / CHARACTERS_PER_TOKEN, countO200k(text) * O200K_FACTOR));
}

/** Whether a text keeps a budget, with room for the estimate's error; told without counting where the length alone tells it. */
export function isWithinTokens(text: string, budgetTokens: number): boolean {
  if (Math.ceil(text.length / CHARACTERS_PER_TOKEN) > budgetTokens) return false;
  // No sign of ASCII is more than a token.
  const isSurely = Math.ceil(text.length * O200K_FACTOR * ROOM) <= budgetTokens && !/[^\0-\x7f]/.test(text);
  return isSurely || Math.ceil(countO200k(text) * O200K_FACTOR * ROOM) <= budgetTokens;
}

/**
 * As that encoder cuts a text: a word with the space or mark before it and its contraction, a number, marks and other scripts with
 * a space before and line ends behind them, or white space.
 */
const TOKEN =
  /([\0-\t\v\f\x0e-/:-@[-`{-\x7f’]?)(?=[A-Za-z\u00c0-\u024f])([A-Z\u00c0-\u00de]*[a-z\u00df-\u024f]*)('(?:[stmdSTMD]|[rR][eE]|[vV][eE]|[lL]{2})(?![A-Za-z]))?|(\d+)| ?([^A-Za-z\u00c0-\u024f\d \t\n\r]+)[\n\r]*|[ \t\n\r]+/g;

/** About the o200k tokens of `text`. Marks of that encoder's own (`<|endoftext|>`) are text like any other. */
export function countO200k(text: string): number {
  let tokens = 0;
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found !== null; found = TOKEN.exec(text)) {
    const [whole, before = '', word, contraction, digits, marks] = found;
    const { index } = found;
    if (word !== undefined) {
      const letters = index + before.length;
      tokens += wordTokens(text, { start: index, letters, end: letters + word.length, isContracted: !!contraction });
    } else if (digits !== undefined) tokens += Math.ceil(digits.length / 3);
    else if (marks !== undefined) tokens += markTokens(marks);
    else {
      const ended = Math.max(whole.lastIndexOf('\n'), whole.lastIndexOf('\r')) + 1;
      // The last space belongs to the word or the marks behind it; before a number it is a token of its own.
      const isShared = TOKEN.lastIndex < text.length && whole.length > 1 && whole.length > ended;
      if (isShared) TOKEN.lastIndex -= 1;
      tokens += rowTokens(ended) + rowTokens(whole.length - ended - (isShared ? 1 : 0));
    }
  }
  return tokens;
}

/** A row of one character is one token, up to some length. */
const ROW_CHARACTERS = 64;

function rowTokens(characters: number): number {
  return Math.ceil(characters / ROW_CHARACTERS);
}

/** In a pair: before the first letter and behind the last. */
const EDGE = 26;
const ACCENTED = 27;
const WIDTH = 28;
const pairTokens = readPairs();
const beforeTokens = Array.from({ length: 128 }, (_, code) => BEFORE[String.fromCharCode(code)] ?? BEFORE.other);

function readPairs(): number[] {
  // An accent costs a quarter of a token to each side.
  const tokens = Array.from({ length: WIDTH * WIDTH }, () => 0.3);
  for (const [at, row] of PAIRS.entries()) {
    const first = at === 0 ? EDGE : at - 1;
    for (const [second, digit] of [...row].entries()) {
      tokens[first * WIDTH + second] = (Number.parseInt(digit, 36) - 11) / 20;
    }
  }
  return tokens;
}

interface Word {
  /** The character before the letters, if one belongs to the word; else the first letter. */
  start: number;
  letters: number;
  end: number;
  isContracted: boolean;
}

function wordTokens(text: string, { start, letters, end, isContracted }: Word): number {
  const length = end - letters;
  if (length === 1) return 1;
  const before = start === letters ? beforeNothing(text, start) : (beforeTokens[text.charCodeAt(start)] ?? BEFORE['’']);
  const byLength = BY_LENGTH[caseOf(text, letters, end)];
  let tokens = (before as number) + (byLength[Math.min(length - 2, byLength.length - 1)] as number);
  let last = EDGE;
  for (let at = letters; at <= end; at += 1) {
    const letter = at === end ? EDGE : letterOf(text.charCodeAt(at));
    tokens += pairTokens[last * WIDTH + letter] as number;
    last = letter;
  }
  return Math.max(1, Math.min(tokens, end - start) + (isContracted ? CONTRACTION_TOKENS : 0));
}

function beforeNothing(text: string, start: number): number | undefined {
  return /[A-Za-z\u00c0-\u024f\d]/.test(text[start - 1] ?? '') ? BEFORE.joined : BEFORE.none;
}

function caseOf(text: string, letters: number, end: number): keyof typeof BY_LENGTH {
  if (isSmall(text.charCodeAt(letters))) return 'small';
  return isSmall(text.charCodeAt(end - 1)) ? 'capital' : 'capitals';
}

/** Of a letter. */
const isSmall = (code: number) => (code >= 97 && code < 128) || code > 0xde;

function letterOf(code: number): number {
  if (code >= 128) return ACCENTED;
  return code >= 97 ? code - 97 : code - 65;
}

/** Marks and other scripts: two ASCII marks are a token, each further one a part of one; a row of the same is one. */
function markTokens(text: string): number {
  let marks = 0;
  let foreign = 0;
  let row = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    row = at > 0 && code === text.charCodeAt(at - 1) ? row + 1 : 0;
    if (code < 128 || code === APOSTROPHE) marks += row < 3 ? 1 : 0;
    else if (row === 0 || code < 0x2010 || code >= 0x2600) foreign += RANGES.find(([last]) => code <= last)?.[1] ?? 1;
  }
  if (marks > 0) marks = row === text.length - 1 ? rowTokens(text.length) : 1 + MARK_TOKENS * Math.max(0, marks - 2);
  return Math.max(1, marks + foreign);
}
