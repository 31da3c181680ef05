// Looks at JSON of which nothing is known, without throwing.

import { parseJson } from '../../base/text/json.ts';
import { isInstant } from '../../base/time.ts';
import { isObject, type JsonObject } from './format.ts';

/** A string that says something; `undefined` for anything else. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The object at `key`, or an empty one. */
export function objectAt(object: JsonObject, key: string): JsonObject {
  const value = object[key];
  return isObject(value) ? value : {};
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

/** How an attachment is labelled, from its media type and its base64 data or data URL. */
export function attachmentLabel(mediaType: string, base64: string | undefined): string {
  return base64 === undefined ? mediaType : `${mediaType}, ${Math.ceil((base64.length * 0.75) / 1024)} kB`;
}
