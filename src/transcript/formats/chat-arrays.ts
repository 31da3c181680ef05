// OpenAI's two shapes: chat messages (`role`, `content`, `tool_calls`) and the items of the Responses API (`message`,
// `function_call`, `function_call_output`, …), as a plain array or as the body of a request (`messages`, `input`).
// It is one JSON value, so it is read whole. Ids are a hash chain, the same that an Anthropic array of the same words
// has, so that one keeps them which begins as either and turns out to be OpenAI's. Instructions are never human.
// A call's arguments come as JSON in a string and are parsed; what is not JSON stays the string it is. Reasoning, and
// calls that OpenAI answers itself (web search, code interpreter), say nothing.

import { isObject, type JsonObject, objectAt, objectsOf, parseObject, textOf } from '../../base/text/json.ts';
import type { Format, Message } from '../messages.ts';
import { CLAUDES_DIALOGS } from './human-text.ts';
import {
  blockOfUrl,
  blocksOf,
  callBlock,
  chainId,
  MessageBuilder,
  resultBlock,
  type Utterance,
} from './message-builder.ts';

export const openai: Format = {
  name: 'openai',

  open({ document }) {
    const items = itemsIn(document());
    return items && { id: findId(items), messages: () => readItems(items) };
  },
};

function itemsIn(document: unknown): JsonObject[] | null {
  const list = isObject(document) ? (document.messages ?? document.input) : document;
  // A mere `input` can be anything's; with a `model`, it is a prompt.
  const isPrompt = isObject(document) && typeof list === 'string' && typeof document.model === 'string';
  const items = isPrompt ? [{ role: 'user', content: list }] : list;
  const isOurs = Array.isArray(items) && items.every(isItem) && items.some((item) => item.role !== undefined);
  return isOurs ? items : null;
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
  const builder = new MessageBuilder();
  for (const item of items) for (const utterance of utterancesOf(item)) yield* builder.add(utterance);
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

const PART_TYPES: ReadonlySet<unknown> = new Set(
  'text image_url input_audio file refusal input_text output_text input_image input_file summary_text'.split(' '),
);

const ITEM_TYPE = /^(reasoning|item_reference|compaction\w*|mcp_\w+|\w+_call|\w+_call_output|\w+_output)$/;

/** Whether it is a chat message or an item of the Responses API, also of a kind that says nothing here. */
function isItem(value: unknown): value is JsonObject {
  if (!isObject(value)) return false;
  const { type, role, content } = value;
  if (role === undefined) return ITEM_TYPE.test(textOf(type) ?? '');
  if (!ROLES.has(role) || (type !== undefined && type !== 'message')) return false;
  if (content === undefined || content === null) return role === 'assistant';
  return typeof content === 'string' || (Array.isArray(content) && content.every(isPart));
}

function isPart(value: unknown): boolean {
  return isObject(value) && PART_TYPES.has(value.type);
}

function utterancesOf(item: JsonObject): Utterance[] {
  switch (item.role) {
    case 'user':
      return [{ by: 'user', blocks: blocksIn(item.content) }];
    case 'assistant':
      return [{ by: 'assistant', blocks: [...blocksIn(item.content), ...objectsOf(item.tool_calls).map(chatCall)] }];
    case 'tool':
      return [resultOf(item.tool_call_id, blocksIn(item.content))];
    case undefined:
      return utterancesOfCall(item);
    default:
      return [{ by: 'harness', blocks: blocksIn(item.content) }];
  }
}

function utterancesOfCall(item: JsonObject): Utterance[] {
  const { type, call_id: id } = item;
  const called = CALLS.get(type)?.(item);
  if (called) return [{ by: 'assistant', blocks: [callBlock(id, ...called)] }];
  if (type !== 'mcp_call') {
    return /_call_output$/.test(textOf(type) ?? '')
      ? [resultOf(id, outputOf(item.output), hasFailed(item) || undefined)]
      : [];
  }
  const isOpen = item.output === undefined && item.error === undefined;
  const result = resultOf(item.id, blocksIn(textOf(item.error) ?? item.output), hasFailed(item));
  const call = callBlock(item.id, item.name, parsed(item.arguments));
  return [{ by: 'assistant', blocks: [call] }, ...(isOpen ? [] : [result])];
}

/** Which tool an item of each type calls, and with what. */
const CALLS = new Map<unknown, (item: JsonObject) => [name: unknown, input: unknown]>([
  ['function_call', ({ name, arguments: input }) => [name, parsed(input)]],
  ['custom_tool_call', ({ name, input }) => [name, input]],
  ['local_shell_call', ({ action }) => ['shell', shellInput(action)]],
  ['shell_call', ({ action }) => ['shell', shellInput(action)]],
  ['apply_patch_call', ({ operation }) => ['apply_patch', operation]],
]);

function chatCall({ id, function: called, custom }: JsonObject): JsonObject {
  if (isObject(custom)) return callBlock(id, custom.name, custom.input);
  const { name, arguments: input } = isObject(called) ? called : {};
  return callBlock(id, name, parsed(input));
}

function resultOf(id: unknown, content: JsonObject[], isError?: boolean): Utterance {
  return { by: 'user', blocks: [resultBlock(id, content, isError)] };
}

function hasFailed({ status, error }: JsonObject): boolean {
  return status === 'failed' || status === 'incomplete' || (error !== undefined && error !== null);
}

/** What a call returned: text, parts, or what commands printed. */
function outputOf(output: unknown): JsonObject[] {
  if (!Array.isArray(output) || output.every(isPart)) return blocksIn(output);
  return objectsOf(output).map((command) => {
    const { stdout, stderr } = command;
    const exitCode = objectAt(command, 'outcome').exit_code;
    const failure = typeof exitCode === 'number' && exitCode !== 0 ? `Exit code: ${exitCode}` : undefined;
    return { type: 'text', text: [failure, textOf(stdout), textOf(stderr)].filter(Boolean).join('\n') };
  });
}

/** A shell call's action, with its commands where a shell tool has its command. */
function shellInput(action: unknown): unknown {
  if (!isObject(action) || !Array.isArray(action.commands)) return action;
  return { ...action, command: action.commands.join('\n') };
}

function parsed(text: unknown): unknown {
  return typeof text === 'string' ? (parseObject(text) ?? text) : text;
}

function blocksIn(content: unknown): JsonObject[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return objectsOf(content).map(blockOf);
}

function blockOf(part: JsonObject): JsonObject {
  switch (part.type) {
    case 'image_url':
    case 'input_image': {
      const { image_url: image } = part;
      const url = textOf(isObject(image) ? image.url : image) ?? textOf(part.file_id) ?? '';
      return blockOfUrl(url);
    }
    case 'file':
    case 'input_file': {
      const file = isObject(part.file) ? part.file : part;
      const data = textOf(file.file_data)?.replace(/^(?!data:)/, 'data:;base64,');
      const url = data ?? textOf(file.file_url) ?? textOf(file.filename) ?? textOf(file.file_id) ?? '';
      return blockOfUrl(url, 'file');
    }
    case 'input_audio':
      return { type: 'document', source: { media_type: 'audio' } };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    default:
      return { type: 'text', text: part.text };
  }
}

interface ApiMessage {
  role: 'user' | 'assistant';
  content: string | JsonObject[];
}

/** An OpenAI array looks similar; its part types are others, and so are its roles and its `tool_calls`. */
const BLOCK_TYPE =
  /^(text|image|document|search_result|container_upload|(redacted_)?thinking|fallback|\w*tool_(use|result))$/;

export const messagesFormat: Format = {
  name: 'messages',

  open({ document }) {
    const messages = messagesIn(document());
    const [first] = messages;
    if (first === undefined) return null;
    return {
      id: chainId('', first.role, blocksOf(first.content) ?? []),
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
