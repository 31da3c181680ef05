// Finds a text or a pattern, in plain text and in JSON, and puts `[redacted]` where it was. In JSON it looks at what the
// strings say, not at how they are escaped, and into JSON that is kept in a string. A part of an id or of a sum is no match:
// four digits of a door's code stand in many, and an entry whose id is changed is another's.
// `FileScrub` says what becomes of the files of a memory. Their words go, and what hangs on the words follows: the sum of an
// entry in its log, the ids of lines in reports. So nothing passes for an edit of a person's, and nothing is news to a
// ledger that is rebuilt from these files.

import { AppError } from '../../../base/errors.ts';
import { parseJson } from '../../../base/text/json.ts';
import { allEntries } from '../../ledger/entries.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { logDay, sealAgain } from '../../text/daily-log.ts';
import { isReportPath } from '../../text/dream-report.ts';
import { readFrontmatter, setKeys } from '../../text/frontmatter.ts';
import { isTopicFile, lineId, parseTopic } from '../../text/topic.ts';

export const REDACTED = '[redacted]';

export interface Scrub {
  /** The text with every match replaced; the same text where there is none. */
  text(text: string): string;
  /** The same for the strings of a JSON text, keys too; every other byte stays. */
  json(text: string): string;
  /** Whether `text` holds a match, as it is or as a JSON string would hold it. */
  isIn(text: string): boolean;
}

/**
 * Our ids; where ids stand (in the comment of an entry, as a string of JSON) those of sessions and messages, and sums.
 * Eight digits between quotation marks are a number: a code, or a date.
 */
const IDS =
  /(?<![\w-])(?:e|job|mem|memver|memstore|prop|snap|tran|apikey)_[0-9a-f]{12}(?![\w-])|(?<= [a-z]=)(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}|[0-9a-f]{12})(?= )|(?<=")(?=\d*[a-f-])[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?(?=")/g;
const IS_ID = /^"[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?"$/;
/** No id is longer, with what must stand before it. */
const ID_CHARACTERS = 48;

function isPartOfId(text: string, { at, length }: { at: number; length: number }): boolean {
  if (length >= ID_CHARACTERS) return false;
  const from = Math.max(0, at - ID_CHARACTERS);
  const around = text.slice(from, at + length + ID_CHARACTERS);
  return [...around.matchAll(IDS)].some(({ 0: id, index }) => {
    return id.length > length && from + index <= at && at + length <= from + index + id.length;
  });
}

/** A scrub for the words of `match`, or for a pattern between slashes: `/acct-\d+/i`. Throws `bad-input`. */
export function scrubOf(match: string): Scrub {
  if (match.trim() === '') throw new AppError('bad-input', 'There is no text to redact.');
  const pattern = /^\/(.+)\/([a-z]*)$/s.exec(match);
  const find = pattern ? regexOf(pattern[1] as string, pattern[2] as string) : match;
  const text = (given: string) =>
    given.replaceAll(find, (found: string, ...more: unknown[]) => {
      const at = more.find((each) => typeof each === 'number') as number;
      return isPartOfId(given, { at, length: found.length }) ? found : REDACTED;
    });
  const json = (given: string): string => given.replace(/"(?:[^"\\]|\\.)*"/g, scrubLiteral);
  const scrubLiteral = (literal: string): string => {
    const said = parseJson(literal);
    if (typeof said !== 'string' || IS_ID.test(literal)) return text(literal);
    const scrubbed = text(/^\s*[[{]/.test(said) ? json(said) : said);
    return scrubbed === said ? literal : JSON.stringify(scrubbed);
  };
  const escaped = JSON.stringify(match).slice(1, -1);
  const isEscaped = !pattern && escaped !== match;
  return { text, json, isIn: (given) => text(given) !== given || (isEscaped && given.includes(escaped)) };
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

/** Ids of lines by those that the same lines had before they were scrubbed. */
type MovedIds = Map<string, string>;

export class FileScrub {
  readonly #scrub: Scrub;
  readonly #moved: MovedIds;

  /** Knows what becomes of the entries that the ledger holds; what becomes of lines it learns from `learn`. */
  constructor(scrub: Scrub, ledger: Ledger) {
    this.#scrub = scrub;
    const said = allEntries(ledger).filter(({ text }) => scrub.isIn(text));
    this.#moved = new Map(said.map(({ text }) => [lineId(text), lineId(scrub.text(text))]));
  }

  /** Takes note of the lines of a file, which reports may name. */
  learn(path: string, text: string): void {
    for (const { from, to } of this.movedLines(path, text)) this.#moved.set(from, to);
  }

  /** The lines of a topic whose ids a scrub of it changes. */
  movedLines(path: string, text: string): { path: string; from: string; to: string }[] {
    if (!isTopicFile(path)) return [];
    const after = parseTopic(path, this.of(path, text)).lines;
    return parseTopic(path, text).lines.flatMap(({ id }, at) => {
      const to = after[at]?.id;
      return to && to !== id ? [{ path, from: id, to }] : [];
    });
  }

  /** What a file becomes; the same text where it holds no match. */
  of(path: string, text: string): string {
    const scrub = this.#scrub;
    if (path.endsWith('.json')) {
      const scrubbed = scrub.json(text);
      if (!isReportPath(path)) return scrubbed;
      return scrubbed.replace(/(?<=")[0-9a-f]{8}(?=")/g, (id) => this.#moved.get(id) ?? id);
    }
    if (logDay(path)) return sealAgain(text, scrub.text(text));
    const description = isTopicFile(path) ? readFrontmatter(text).data.description : undefined;
    if (typeof description !== 'string' || !scrub.isIn(description)) return scrub.text(text);
    // Bare, `[redacted]` would make a list of it.
    return scrub.text(setKeys(text, { description: scrub.text(description) }));
  }
}
