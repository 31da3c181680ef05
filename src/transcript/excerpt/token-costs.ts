// What pieces of text cost in tokens of o200k: coefficients, fitted to every second of the shared sessions by least squares
// over their words; those of other scripts are what most texts cost, or a little more. Data of tokens.ts.

/** ’, which begins a contraction as ' does. */
export const APOSTROPHE = 0x2019;

/** A word, by the character before it that belongs to it; `none` where none is, `other` for any else. */
export const BEFORE: Record<string, number> = {
  ...{
    none: 1,
    joined: 1.35,
    ' ': 0.8,
    _: 1.3,
    '/': 1.66,
    '.': 1.12,
    '-': 1.49,
    '"': 1.6,
    '(': 1.26,
    '\\': 2.09,
    '\t': 1.5,
  },
  ...{ $: 2.08, '*': 2.22, '`': 2.06, ':': 2.04, '[': 1.87, ',': 1.79, '=': 1.86, '<': 1.88, '@': 2.02, '{': 1.92 },
  ...{ "'": 1.6, '’': 1.07, other: 2.04 },
};

/** A word, by its length: from two letters to fourteen and more. */
export const BY_LENGTH = {
  small: [-0.47, -0.22, -0.02, 0.15, 0.28, 0.38, 0.56, 0.64, 0.78, 0.91, 1.05, 1.21, 1.59],
  capital: [-0.21, -0.09, 0.1, 0.22, 0.3, 0.46, 0.65, 0.83, 0.98, 1.21, 1.1, 1.26, 1.68],
  capitals: [-0.36, 0.12, 0.26, 0.78, 0.75, 1.15, 1.64, 1.71, 2.19, 1.88, 2.98, 3.49, 4.72],
};

/**
 * A word, by its pairs of letters: a row for its beginning and for each letter from a to z, in it the letters that follow
 * and its end. A digit of base 36 each, 11 for nothing, a twentieth of a token a step.
 */
export const PAIRS = `
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
export const CONTRACTION_TOKENS = 0.78;

/** What each ASCII mark in a row of them costs beyond the first two. */
export const MARK_TOKENS = 0.4;

/** A character of other scripts and signs, by the last code of its range. */
export const RANGES: readonly (readonly [last: number, tokens: number])[] = [
  ...([
    [0xbf, 1],
    [0x36f, 1.2],
    [0x6ff, 0.38],
    [0x200f, 0.6],
    [0x2027, 1],
    [0x218f, 1.2],
    [0x21ff, 1],
  ] as const),
  ...([
    [0x24ff, 1.5],
    [0x259f, 1],
    [0x2fff, 1.5],
    [0x303f, 1.2],
    [0x30ff, 0.72],
    [0x9fff, 0.8],
  ] as const),
  ...([
    [0xd7ff, 0.68],
    [0xdfff, 1.2],
    [0xffff, 1.5],
  ] as const),
];
