// Looks at JSON of which nothing is known, without throwing.

import { parseJson } from '../../base/text/json.ts';
import { isInstant } from '../../base/time.ts';

export type JsonObject = Record<string, unknown>;

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

/** Nearly every timestamp, without the cost of parsing it; only the end of February is left to the calendar. */
const USUAL_INSTANT =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?Z$/;

export function instantOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  return USUAL_INSTANT.test(value) || isInstant(value) ? value : undefined;
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
