// One chat message or one Responses item → what was said in it. Which session it is of, nobody here asks.
// A call's arguments come as JSON in a string and are parsed; what is not JSON stays the string it is. Reasoning, and
// calls that OpenAI answers itself (web search, code interpreter), say nothing.

import { blockOfUrl } from './blocks.ts';
import type { Utterance } from './conversation.ts';
import { parseObject } from './document.ts';
import { soundsFailed } from './failure.ts';
import { isObject, type JsonObject } from './format.ts';
import { textOf } from './values.ts';

const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

const PART_TYPES: ReadonlySet<unknown> = new Set(
  'text image_url input_audio file refusal input_text output_text input_image input_file summary_text'.split(' '),
);

const ITEM_TYPE = /^(reasoning|item_reference|compaction\w*|mcp_\w+|\w+_call|\w+_call_output|\w+_output)$/;

/** Whether it is a chat message or an item of the Responses API, also of a kind that says nothing here. */
export function isItem(value: unknown): value is JsonObject {
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

export function utterancesOf(item: JsonObject): Utterance[] {
  switch (item.role) {
    case 'user':
      return [{ by: 'user', blocks: blocksIn(item.content) }];
    case 'assistant':
      return [{ by: 'assistant', blocks: [...blocksIn(item.content), ...chatCallsOf(item)] }];
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
  const calls = (name: unknown, input: unknown): Utterance[] => [
    { by: 'assistant', blocks: [{ type: 'tool_use', id, name, input }] },
  ];
  switch (type) {
    case 'function_call':
      return calls(item.name, parsed(item.arguments));
    case 'custom_tool_call':
      return calls(item.name, item.input);
    case 'local_shell_call':
    case 'shell_call':
      return calls('shell', shellInput(item.action));
    case 'apply_patch_call':
      return calls('apply_patch', item.operation);
    case 'mcp_call': {
      const call = { type: 'tool_use', id: item.id, name: item.name, input: parsed(item.arguments) };
      const isOpen = item.output === undefined && item.error === undefined;
      const result = resultOf(item.id, blocksIn(textOf(item.error) ?? item.output), hasFailed(item));
      return [{ by: 'assistant', blocks: [call] }, ...(isOpen ? [] : [result])];
    }
    default:
      return /_call_output$/.test(textOf(type) ?? '') ? [resultOf(id, outputOf(item.output), hasFailed(item))] : [];
  }
}

function chatCallsOf({ tool_calls: calls }: JsonObject): JsonObject[] {
  return (Array.isArray(calls) ? calls : []).filter(isObject).map(({ id, function: called, custom }) => {
    if (isObject(custom)) return { type: 'tool_use', id, name: custom.name, input: custom.input };
    const { name, arguments: input } = isObject(called) ? called : {};
    return { type: 'tool_use', id, name, input: parsed(input) };
  });
}

function resultOf(id: unknown, content: JsonObject[], isError = false): Utterance {
  const text = content.map((block) => textOf(block.text) ?? '').join('\n');
  const block = { type: 'tool_result', tool_use_id: id, is_error: isError || soundsFailed(text), content };
  return { by: 'user', blocks: [block] };
}

function hasFailed({ status, error }: JsonObject): boolean {
  return status === 'failed' || status === 'incomplete' || (error !== undefined && error !== null);
}

/** What a call returned: text, parts, or what commands printed. */
function outputOf(output: unknown): JsonObject[] {
  if (!Array.isArray(output) || output.every(isPart)) return blocksIn(output);
  return output.filter(isObject).map(({ stdout, stderr, outcome }) => {
    const exitCode = isObject(outcome) ? outcome.exit_code : 0;
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
  return Array.isArray(content) ? content.filter(isObject).flatMap(blockOf) : [];
}

function blockOf(part: JsonObject): JsonObject[] {
  switch (part.type) {
    case 'image_url':
    case 'input_image': {
      const { image_url: image } = part;
      const url = textOf(isObject(image) ? image.url : image) ?? textOf(part.file_id) ?? '';
      return [blockOfUrl(url)];
    }
    case 'file':
    case 'input_file': {
      const file = isObject(part.file) ? part.file : part;
      const data = textOf(file.file_data)?.replace(/^(?!data:)/, 'data:;base64,');
      const url = data ?? textOf(file.file_url) ?? textOf(file.filename) ?? textOf(file.file_id) ?? '';
      return [blockOfUrl(url, 'file')];
    }
    case 'input_audio':
      return [{ type: 'document', source: { media_type: 'audio' } }];
    case 'refusal':
      return [{ type: 'text', text: part.refusal }];
    default:
      return [{ type: 'text', text: part.text }];
  }
}
