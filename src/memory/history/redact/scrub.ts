// Finds a text or a pattern, in plain text and in JSON, and puts `[redacted]` where it was. In JSON it looks at what the
// strings say, not at how they are escaped, and into JSON that is kept in a string.

import { AppError } from '../../../base/errors.ts';
import { parseJson } from '../../../base/text/json.ts';

export const REDACTED = '[redacted]';

export interface Scrub {
  /** The text with every match replaced; the same text where there is none. */
  text(text: string): string;
  /** The same for the strings of a JSON text, keys too; every other byte stays. */
  json(text: string): string;
  /** Whether `text` holds a match, as it is or as a JSON string would hold it. */
  isIn(text: string): boolean;
}

/** A scrub for the words of `match`, or for a pattern between slashes: `/acct-\d+/i`. Throws `bad-input`. */
export function scrubOf(match: string): Scrub {
  if (match.trim() === '') throw new AppError('bad-input', 'There is no text to redact.');
  const pattern = /^\/(.+)\/([a-z]*)$/s.exec(match);
  const find = pattern ? regexOf(pattern[1] as string, pattern[2] as string) : match;
  const text = (given: string) => given.replaceAll(find, REDACTED);
  const json = (given: string): string => given.replace(/"(?:[^"\\]|\\.)*"/g, scrubLiteral);
  const scrubLiteral = (literal: string): string => {
    const said = parseJson(literal);
    if (typeof said !== 'string') return text(literal);
    const scrubbed = text(/^\s*[[{]/.test(said) ? json(said) : said);
    return scrubbed === said ? literal : JSON.stringify(scrubbed);
  };
  const escaped = JSON.stringify(match).slice(1, -1);
  return { text, json, isIn: (given) => text(given) !== given || (!pattern && given.includes(escaped)) };
}

function regexOf(source: string, flags: string): RegExp {
  let regex: RegExp;
  try {
    regex = new RegExp(source, [...new Set(`${flags}g`)].join(''));
  } catch (error) {
    throw new AppError('bad-input', `/${source}/${flags} is no pattern: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  if (!''.match(regex) && !regex.sticky) return regex;
  throw new AppError('bad-input', `/${source}/${flags} matches nothing or everything.`, {
    remedy: 'Give a pattern that matches what shall go, and only that.',
  });
}
