// A file that is one JSON value: whether it is worth parsing whole, told by how it begins.
// Only such a file is: JSON lines begin alike, and may be too long to be held in memory.

import { parseJson } from '../../base/text/json.ts';
import { isObject, type JsonObject } from './format.ts';

/** Keys that the body of a request to Anthropic or OpenAI begins with, whatever client wrote it. */
export const REQUEST_KEYS: ReadonlySet<string> = new Set(
  `model messages input system instructions tools tool_choice max_tokens max_completion_tokens max_output_tokens
  temperature top_p top_k stream stream_options metadata thinking reasoning reasoning_effort text store include
  parallel_tool_calls previous_response_id prompt_cache_key service_tier stop stop_sequences user betas
  anthropic_version container context_management mcp_servers output_config response_format`.split(/\s+/),
);

export function mayBeArray(head: string): boolean {
  return /^\ufeff?\s*\[\s*\{/.test(head);
}

/** Whether it may be one object, and not lines of them, whose first key is one of `keys`. */
export function mayBeObject(head: string, keys: ReadonlySet<string>): boolean {
  const [, key] = /^\ufeff?\s*\{\s*"(\w+)"\s*:/.exec(head) ?? [];
  return key !== undefined && keys.has(key) && !isJsonLines(head);
}

/** A JSON object in text, such as a call's arguments; undefined where it is none. */
export function parseObject(text: string): JsonObject | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

function isJsonLines(head: string): boolean {
  const text = head.replace(/^\ufeff?\s*/, '');
  const end = text.indexOf('\n');
  return end !== -1 && text.slice(end).trim() !== '' && parseObject(text.slice(0, end)) !== undefined;
}
