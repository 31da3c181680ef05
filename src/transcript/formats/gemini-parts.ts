// Gemini's content, and the tool calls recorded beside it → parts. Thoughts are dropped; of binary data a label stays.

import type { Part } from '../types.ts';
import { isObject, type JsonObject } from './format.ts';
import { attachmentLabel, objectAt, textOf } from './values.ts';

/** `content` is a string, a part, or a list of either. */
export function contentParts(content: unknown): Part[] {
  if (Array.isArray(content)) return content.flatMap((item) => (Array.isArray(item) ? [] : contentParts(item)));
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  if (!isObject(content) || content.thought === true) return [];
  if (isObject(content.functionCall)) return [callPart(content.functionCall)];
  if (isObject(content.functionResponse)) return [resultPart(content.functionResponse, undefined)];
  const data = isObject(content.inlineData) ? content.inlineData : objectAt(content, 'fileData');
  const mediaType = textOf(data.mimeType);
  if (mediaType !== undefined) return [{ kind: 'attachment', label: attachmentLabel(mediaType, textOf(data.data)) }];
  const text = textOf(content.text);
  return text === undefined ? [] : [{ kind: 'text', text }];
}

/** The calls recorded with a message of the model, and what came of those that have ended. */
export function toolCallParts(toolCalls: unknown): { calls: Part[]; results: Part[] } {
  const recorded = Array.isArray(toolCalls) ? toolCalls.filter(isObject) : [];
  return { calls: recorded.map(callPart), results: recorded.flatMap(resultsOf) };
}

function callPart(call: JsonObject): Part {
  return { kind: 'call', id: textOf(call.id) ?? '', tool: textOf(call.name) ?? '', input: call.args };
}

const ENDED = new Set(['success', 'error', 'cancelled']);

function resultsOf(call: JsonObject): Part[] {
  const given = Array.isArray(call.result) ? call.result.filter(isObject) : [];
  if (!ENDED.has(textOf(call.status) ?? '') && given.length === 0) return [];
  const response = given.find((part) => isObject(part.functionResponse));
  const result = resultPart({ ...objectAt(response ?? {}, 'functionResponse'), id: call.id }, call.status);
  return [result, ...contentParts(given).filter((part) => part.kind === 'attachment')];
}

function resultPart(functionResponse: JsonObject, status: unknown): Part {
  const response = objectAt(functionResponse, 'response');
  const error = textOf(response.error) ?? textOf(objectAt(response, 'error').message);
  const text = textOf(response.output) ?? error ?? '';
  const exitCode = /^Exit Code: (-?\d{1,9})/m.exec(text)?.[1] ?? '0';
  const isError = error !== undefined || exitCode !== '0' || status === 'error' || status === 'cancelled';
  return { kind: 'result', callId: textOf(functionResponse.id) ?? '', text, isError };
}
