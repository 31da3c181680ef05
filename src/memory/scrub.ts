// Takes what must not be kept out of texts: words, a pattern, or secrets. In JSON it looks at what the strings say, not at how they are
// escaped, and into JSON that is kept in a string. A part of an id or of a sum is no match: four digits of a door's code stand in many,
// and an entry whose id is changed is another's. `scrubFile`: what becomes of a file of a memory, where what hangs on its words follows.

import { AppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { parseJson } from '../base/text/json.ts';
import { logDay, sealAgain } from './text/daily-log.ts';
import { readFrontmatter, setKeys } from './text/frontmatter.ts';
import { isTopicFile, parseTopic } from './text/topic.ts';

export const REDACTED = '[redacted]';

/** The same text where there is nothing to take out. */
export type Scrub = (text: string) => Promise<string>;

/** Our ids, and where ids stand (in the comment of an entry, as a string of JSON) those of sessions and messages, and sums. */
const IDS =
  /(?<![\w-])[a-z]+_[0-9a-f]{12}(?:[0-9a-f]{12})?(?![\w-])|(?<= [a-z]=)(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{8}|[0-9a-f]{12})(?= )|(?<=")(?=\d*[a-f-])[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?(?=")/g;
const IS_ID = /^(?:[a-z]+_[0-9a-f]{12}(?:[0-9a-f]{12})?|[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?)$/;
/** No id is longer, with what must stand before it. */
const ID_CHARACTERS = 60;

function isPartOfId(text: string, { at, length }: { at: number; length: number }): boolean {
  if (length >= ID_CHARACTERS) return false;
  const from = Math.max(0, at - ID_CHARACTERS);
  const around = text.slice(from, at + length + ID_CHARACTERS);
  return [...around.matchAll(IDS)].some(
    ({ 0: id, index }) => id.length > length && from + index <= at && at + length <= from + index + id.length,
  );
}

/** A scrub for the words of `match`, or for a pattern between slashes: `/acct-\d+/i`. Errors: `bad-input`. */
export function scrubOf(match: string): Scrub {
  if (match.trim() === '') throw new AppError('bad-input', 'There is no text to redact.');
  const pattern = /^\/(.+)\/([a-z]*)$/s.exec(match);
  const find = pattern ? regexOf(pattern[1] as string, pattern[2] as string) : match;
  return async (text) =>
    text.replaceAll(find, (found: string, ...more: unknown[]) => {
      const at = more.find((each) => typeof each === 'number') as number;
      return isPartOfId(text, { at, length: found.length }) ? found : REDACTED;
    });
}

/** A scrub for what looks like a secret. */
export const scrubSecrets: Scrub = async (text) => (await redact(text)).text;

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

/** The same for the strings of a JSON text, names of fields too; what is no JSON is a text. */
export async function scrubJson(scrub: Scrub, json: string): Promise<string> {
  const value = parseJson(json);
  if (value === undefined) return scrub(json);
  const scrubbed = await scrubValue(scrub, value);
  return scrubbed === value ? json : JSON.stringify(scrubbed);
}

/** The very same value where there is nothing to take out. */
export async function scrubValue<T>(scrub: Scrub, value: T): Promise<T> {
  if (typeof value === 'string') return (await scrubString(scrub, value)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const before = Array.isArray(value) ? value : Object.entries(value);
  const after: unknown[] = [];
  for (const each of before) after.push(await scrubValue(scrub, each));
  if (after.every((each, at) => each === before[at])) return value;
  return (Array.isArray(value) ? after : Object.fromEntries(after as [string, unknown][])) as T;
}

async function scrubString(scrub: Scrub, text: string): Promise<string> {
  const after = /^\s*[[{]/.test(text) ? await scrubJson(scrub, text) : await scrub(text);
  // As a whole an id may be what is looked for.
  return IS_ID.test(text) && after !== REDACTED ? text : after;
}

/** What a file of a memory becomes: nothing of it passes for an edit of a person's. */
export async function scrubFile(scrub: Scrub, path: string, text: string): Promise<string> {
  if (path.endsWith('.json')) return scrubJson(scrub, text);
  const scrubbed = await scrub(text);
  if (scrubbed === text) return text;
  if (logDay(path)) return sealAgain(text, scrubbed);
  const description = isTopicFile(path) ? readFrontmatter(text).data.description : undefined;
  if (typeof description !== 'string') return scrubbed;
  // Bare, `[redacted]` would make a list of it.
  const said = await scrub(description);
  return said === description ? scrubbed : scrub(setKeys(text, { description: said }));
}

/** The lines of a topic whose ids a scrub of it changes. */
export function movedLines(path: string, before: string, after: string): { from: string; to: string }[] {
  if (!isTopicFile(path)) return [];
  const now = parseTopic(path, after).lines;
  return parseTopic(path, before).lines.flatMap(({ id: from }, at) => {
    const to = now[at]?.id;
    return to === undefined || to === from ? [] : [{ from, to }];
  });
}
