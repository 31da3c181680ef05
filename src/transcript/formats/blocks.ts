// Anthropic content blocks → parts. Formats of another shape put what they hold into such blocks first.
// Thinking is dropped; binary data is never carried along, a label stands in for it; an unknown block says nothing.

import { isObject, type JsonObject, objectAt, parseObject, textOf } from '../../base/text/json.ts';
import type { Part } from '../types.ts';

/** The blocks of a message's content: a string is one text block. `null` where it is no content at all. */
export function blocksOf(content: unknown): JsonObject[] | null {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isObject) : null;
}

/** A call, as a block. */
export function callBlock(id: unknown, name: unknown, input: unknown): JsonObject {
  return { type: 'tool_use', id, name, input };
}

/** What a tool said, as a block. It failed where the format says so, or where its words do. */
export function resultBlock(id: unknown, content: JsonObject[], isError: boolean): JsonObject {
  const text = content.map((block) => textOf(block.text) ?? '').join('\n');
  return { type: 'tool_result', tool_use_id: id, is_error: isError || soundsFailed(text), content };
}

/** Also for the results of server tools, e.g. `web_search_tool_result`. */
export function isResultBlock(block: JsonObject): boolean {
  return typeof block.type === 'string' && block.type.endsWith('tool_result');
}

/** The parts of `blocks`, in order. Empty text yields none; images inside a tool result follow it. */
export function partsOf(blocks: readonly JsonObject[]): Part[] {
  return blocks.flatMap((block): Part[] => {
    const { type } = block;
    if (type === 'text') return textParts(readableIn(block));
    if (type === 'image' || type === 'document') return [{ kind: 'attachment', label: labelOf(block) }];
    if (isResultBlock(block)) return resultOf(block);
    if (typeof type === 'string' && type.endsWith('tool_use')) {
      return [{ kind: 'call', id: textOf(block.id) ?? '', tool: textOf(block.name) ?? '', input: block.input }];
    }
    return [];
  });
}

/** The text as a part; none where it is none. */
export function textParts(text: unknown): Extract<Part, { kind: 'text' }>[] {
  return typeof text === 'string' && text !== '' ? [{ kind: 'text', text }] : [];
}

/** An attachment, from its media type and its base64 data. */
export function attachmentPart(mediaType: string, base64?: string): Part {
  return {
    kind: 'attachment',
    label: base64 === undefined ? mediaType : `${mediaType}, ${kilobytes(base64.length * 0.75)}`,
  };
}

function kilobytes(bytes: number): string {
  return `${Math.ceil(bytes / 1024)} kB`;
}

/** The block for what is at `url`, which may hold the data itself; `mediaType` is used where the URL names none. */
export function blockOfUrl(url: string, mediaType?: string): JsonObject {
  const [, named, base64, data] = /^data:([^;,]*)[^,]*?(;base64)?,(.*)$/s.exec(url) ?? [];
  const media = named || mediaType;
  const type = media === undefined || media.startsWith('image') ? 'image' : 'document';
  if (data === undefined) return { type, source: { type: 'url', media_type: media, url } };
  return { type, source: { type: base64 ? 'base64' : 'text', media_type: media, data } };
}

function resultOf(block: JsonObject): Part[] {
  const blocks = blocksOf(block.content) ?? (isObject(block.content) ? [block.content] : []);
  const attachments = partsOf(blocks).filter((part) => part.kind === 'attachment');
  const text = blocks.map(readableIn).filter((line) => line !== '');
  const isError = block.is_error === true || blocks.some((inner) => typeof inner.error_code === 'string');
  return [{ kind: 'result', callId: textOf(block.tool_use_id) ?? '', text: text.join('\n'), isError }, ...attachments];
}

/** What can be read in a block; for a search hit its title and address. */
function readableIn(block: JsonObject): string {
  if (typeof block.text === 'string') return block.text;
  return [block.title, block.url].filter((item) => typeof item === 'string').join(' ');
}

function labelOf(block: JsonObject): string {
  const source = objectAt(block, 'source');
  const media = [source.media_type, block.type].find((name) => typeof name === 'string') ?? 'attachment';
  if (typeof source.url === 'string') return `${media}, ${source.url}`;
  if (typeof source.data !== 'string') return media;
  return `${media}, ${kilobytes(source.type === 'base64' ? source.data.length * 0.75 : Buffer.byteLength(source.data))}`;
}

const FAILED =
  /^\s*((\w*Error|ERROR|error|fatal): |Traceback \(most recent call last\)|(Process exited with|Exit) code:? *[1-9])/;

/**
 * Whether a tool failed, where the format has no word for it: what it said begins like an error, or is JSON that names
 * an error or an exit code other than 0.
 */
function soundsFailed(text: string): boolean {
  if (FAILED.test(text)) return true;
  const reply = parseObject(text);
  if (reply === undefined) return false;
  const { exit_code: exitCode = 0 } = isObject(reply.metadata) ? reply.metadata : reply;
  const hasError = reply.error !== undefined && reply.error !== null && reply.error !== false && reply.error !== '';
  return hasError || reply.is_error === true || reply.success === false || (exitCode !== 0 && exitCode !== null);
}
