// JSON of others, which may be none, and values of which nothing is known: looked at without throwing. And settings as
// people write them, with comments, whose errors name the line.

import type { ParseError } from 'jsonc-parser';

export type JsonObject = Record<string, unknown>;

/** The value that the text is the JSON of; undefined where it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * JSON as people write it: with comments, a comma behind the last, the mark of its byte order that some editors begin a
 * file with, or nothing at all. Throws a SyntaxError that names the line and nothing of what stands there.
 */
export async function parseWithComments(text: string): Promise<unknown> {
  const body = text.replace(/^\ufeff/, '');
  try {
    return JSON.parse(body);
  } catch {
    const { parse, printParseErrorCode } = await import('jsonc-parser');
    const problems: ParseError[] = [];
    const value: unknown = parse(body, problems, { allowTrailingComma: true, allowEmptyContent: true });
    const [first] = problems;
    if (!first) return value ?? {};
    const what = printParseErrorCode(first.error).replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    throw new SyntaxError(`${what} in line ${body.slice(0, first.offset).split('\n').length}`);
  }
}

/** The JSON in `text`, or `text` itself where it holds none. */
export function parsedOr(text: string): unknown {
  const value = parseJson(text);
  return value === undefined ? text : value;
}

/** A JSON object in text, such as a call's arguments; undefined where it is none. */
export function parseObject(text: string): JsonObject | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A string that says something; `undefined` for anything else. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The object at `key`, or an empty one. */
export function objectAt(object: JsonObject, key: string): JsonObject {
  const value = object[key];
  return isObject(value) ? value : {};
}

/** The objects in a list; none where the value is no list. */
export function objectsOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** All texts in a value, the names of its fields too, in order; without recursion, since some are nested without end. */
export function textsIn(value: unknown): string[] {
  const texts: string[] = [];
  const left = [value];
  while (left.length > 0) {
    const next = left.pop();
    if (typeof next === 'string') texts.push(next);
    else if (Array.isArray(next)) for (const item of next.toReversed()) left.push(item);
    else if (isObject(next)) for (const [key, item] of Object.entries(next).toReversed()) left.push(item, key);
  }
  return texts;
}
