// Anthropic Messages: a plain JSON array `[{ role: 'user' | 'assistant', content }, …]`, or a whole request that holds
// one with `model`, `system` and `tools`; the request is handed on unchanged.
// It is one JSON value, so it is read whole. Nothing in it has an id or a time: ids are a hash chain, which an array
// keeps as it grows, and the session's id is that of its first message.

import { isObject, type JsonObject, objectsOf, textOf } from '../../base/text/json.ts';
import { type Format, mayBeArray, mayBeObject, REQUEST_KEYS } from './format.ts';
import { CLAUDES_DIALOGS } from './human-text.ts';
import { blocksOf, chainId, MessageBuilder } from './message-builder.ts';

interface ApiMessage {
  role: 'user' | 'assistant';
  content: string | JsonObject[];
}

/** An OpenAI array looks similar; its part types are others, and so are its roles and its `tool_calls`. */
const BLOCK_TYPE =
  /^(text|image|document|search_result|container_upload|(redacted_)?thinking|fallback|\w*tool_(use|result))$/;

export const messagesFormat: Format = {
  name: 'messages',

  async open({ head, document }) {
    if (!mayBeArray(head) && !mayBeObject(head, REQUEST_KEYS)) return null;
    const whole = await document();
    const messages = messagesIn(whole);
    const [first] = messages;
    if (first === undefined) return null;
    return {
      id: chainId('', first.role, blocksOf(first.content) ?? []),
      request: isObject(whole) ? whole : undefined,
      *messages() {
        const builder = new MessageBuilder();
        builder.dialogs = CLAUDES_DIALOGS;
        for (const { role, content } of messages) yield* builder.add({ by: role, blocks: blocksOf(content) ?? [] });
      },
    };
  },
};

/** None where they are not all such messages. */
function messagesIn(document: unknown): ApiMessage[] {
  const isOpenAis = isObject(document) && objectsOf(document.tools).some(({ type }) => type === 'function');
  const messages = isObject(document) && !isOpenAis ? document.messages : document;
  return Array.isArray(messages) && messages.every(isApiMessage) ? messages : [];
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
