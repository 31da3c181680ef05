// Where a token may begin, and how it may be broken: text comes escaped, coloured and wrapped.

/** A line break inside a token: real, continued with a backslash, or still escaped. */
export const BREAK = String.raw`(?:\\{1,4}r)?(?:\\{1,4}n|\\?\r?\n)[ \t]{0,40}`;

/** What ends in a letter or digit and yet ends a word: an escape of JSON, Python, C or a URL, a colour of a terminal. */
const ENDS_AS_ESCAPE = /(?:\\[nrtbfvae0]|\\u[\da-f]{4}|\\x[\da-f]{2}|\\[0-3][0-7]{2}|%[\da-f]{2}|\[[\d;]{0,12}m)$/i;

export function isAtWordStart(text: string, at: number): boolean {
  return !/[A-Za-z0-9]/.test(text[at - 1] ?? ' ') || ENDS_AS_ESCAPE.test(text.slice(Math.max(0, at - 15), at));
}

/** The same as a part of a pattern. */
export const WORD_START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrtbfvae0]|\\[uU][\da-fA-F]{4}|\\[xX][\da-fA-F]{2}|%[\da-fA-F]{2}|\[[\d;]{0,12}m))`;

/** The text, as long as it was, with spaces where an escape stands: what knows no escapes finds its words in it. */
export function blankEscapes(text: string): string {
  if (!text.includes('\\')) return text;
  return text.replace(/\\+(?:[nrtbfv]|u[\da-f]{4}|x[\da-f]{2})/gi, (sign) => ' '.repeat(sign.length));
}
