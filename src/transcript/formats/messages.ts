// Anthropic Messages: a plain JSON array `[{ role: 'user' | 'assistant', content }, …]`, or a whole request that holds
// one beside `model`, `system` and `tools`; the request is handed on as it stands.
// It is one JSON value, so it is read whole. Nothing in it has an id or a time: ids are a hash chain, which an array
// keeps as it grows, and the session's id is that of its first message.

import type { Message } from '../types.ts';
import { blocksOf } from './blocks.ts';
import { chainId } from './chain.ts';
import { Conversation } from './conversation.ts';
import { mayBeArray, mayBeObject, REQUEST_KEYS } from './document.ts';
import { type Format, isObject, type JsonObject } from './format.ts';
import { textOf } from './values.ts';

interface ApiMessage {
  role: 'user' | 'assistant';
  content: string | JsonObject[];
}

/** An OpenAI array looks alike from afar; its part types are others, and so are its roles and its `tool_calls`. */
const BLOCK_TYPE =
  /^(text|image|document|search_result|container_upload|(redacted_)?thinking|fallback|\w*tool_(use|result))$/;

export const messagesFormat: Format = {
  name: 'messages',

  async recognises(source) {
    if (!mayBeArray(source.head) && !mayBeObject(source.head, REQUEST_KEYS)) return false;
    return messagesIn(await source.document()) !== null;
  },

  async open(source) {
    const document = await source.document();
    const array = messagesIn(document) ?? [];
    const [first] = array;
    return {
      id: first === undefined ? '' : chainId('', first.role, blocksOf(first.content) ?? []),
      request: isObject(document) ? document : undefined,
      async *messages() {
        yield* readMessages(array);
      },
    };
  },
};

function messagesIn(document: unknown): ApiMessage[] | null {
  const array = isObject(document) && !hasOpenAiTools(document) ? document.messages : document;
  return Array.isArray(array) && array.length > 0 && array.every(isApiMessage) ? array : null;
}

function hasOpenAiTools({ tools }: JsonObject): boolean {
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && tool.type === 'function');
}

function isApiMessage(value: unknown): value is ApiMessage {
  if (!isObject(value) || 'tool_calls' in value) return false;
  if (value.role !== 'user' && value.role !== 'assistant') return false;
  const { content } = value;
  if (typeof content === 'string') return true;
  return (
    Array.isArray(content) && content.every((block) => isObject(block) && BLOCK_TYPE.test(textOf(block.type) ?? ''))
  );
}

function* readMessages(array: readonly ApiMessage[]): Generator<Message> {
  const conversation = new Conversation();
  for (const { role, content } of array) yield* conversation.add({ by: role, blocks: blocksOf(content) ?? [] });
}
