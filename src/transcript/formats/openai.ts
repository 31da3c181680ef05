// OpenAI's two shapes: chat messages (`role`, `content`, `tool_calls`) and the items of the Responses API (`message`,
// `function_call`, `function_call_output`, …), as a plain array or as the body of a request (`messages`, `input`).
// It is one JSON value, so it is read whole. Ids are a hash chain, the same that an Anthropic array of the same words
// has, so that one keeps them which begins as either and turns out to be OpenAI's. Instructions are never human.

import type { Message } from '../types.ts';
import { Conversation } from './conversation.ts';
import { mayBeArray, mayBeObject, REQUEST_KEYS } from './document.ts';
import { type Format, isObject, type JsonObject } from './format.ts';
import { isItem, utterancesOf } from './openai-items.ts';

const KEYS: ReadonlySet<string> = new Set([...REQUEST_KEYS, 'session']);

export const openai: Format = {
  name: 'openai',

  async recognises(source) {
    if (!mayBeArray(source.head) && !mayBeObject(source.head, KEYS)) return false;
    return itemsIn(await source.document()) !== null;
  },

  async open(source) {
    const items = itemsIn(await source.document()) ?? [];
    return {
      id: findId(items),
      async *messages() {
        yield* readItems(items);
      },
    };
  },
};

function itemsIn(document: unknown): JsonObject[] | null {
  const list = isObject(document) ? (document.messages ?? document.input ?? firstCodexItems(document)) : document;
  // A mere `input` can be anything's; with a model beside it, it is a prompt.
  const isPrompt = isObject(document) && typeof list === 'string' && typeof document.model === 'string';
  const items = isPrompt ? [{ role: 'user', content: list }] : list;
  const isOurs = Array.isArray(items) && items.every(isItem) && items.some((item) => item.role !== undefined);
  return isOurs ? items : null;
}

/** The first Codex, of spring 2025, kept a session as `{ session, items }`. */
function firstCodexItems({ session, items }: JsonObject): unknown {
  return isObject(session) ? items : undefined;
}

/** That of the first thing a person said: many sessions begin with the same instructions. */
function findId(items: readonly JsonObject[]): string {
  let first: string | undefined;
  for (const { id, speaker } of readItems(items)) {
    if (speaker === 'human') return id;
    first ??= id;
  }
  return first ?? '';
}

function* readItems(items: readonly JsonObject[]): Generator<Message> {
  const conversation = new Conversation();
  for (const item of items) for (const utterance of utterancesOf(item)) yield* conversation.add(utterance);
}
