// What the readers of all formats found → messages with an id, a speaker and a place. They hand on Anthropic content
// blocks, or put what they hold into such first. Thinking is dropped; binary data is never carried along, a label stands
// in for it; an unknown block says nothing. Promises: every id is unique and depends on nothing that comes later, so it
// survives growth; what carries no id of its own gets a hash chained to what came before it. Inside a subagent no
// message is the person's or the main agent's. A tool's results come before what is said in the same breath: a person
// who speaks there knew them, and begins the next turn.

import { hash } from 'node:crypto';
import { isObject, type JsonObject, objectAt, parseObject, textOf } from '../../base/text/json.ts';
import { isInstant, toInstant } from '../../base/time.ts';
import type { Call, Message, Part, Reading, Said, Speaker } from '../messages.ts';
import { commandLine, humanParts, saidToCalls } from './human-text.ts';

/** The blocks of a message's content: a string is one text block. `null` where it is no content at all. */
export function blocksOf(content: unknown): JsonObject[] | null {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isObject) : null;
}

/** A call, as a block. */
export function callBlock(id: unknown, name: unknown, input: unknown): JsonObject {
  return { type: 'tool_use', id, name, input };
}

/** What a tool said, as a block. It failed where the format says so, or where its words do; `isError`: undefined where it says nothing. */
export function resultBlock(id: unknown, content: JsonObject[], isError: boolean | undefined): JsonObject {
  const text = content.map((block) => textOf(block.text) ?? '').join('\n');
  const isUnmarked = isError === undefined || (!isError && soundsFailed(text));
  const block = { type: 'tool_result', tool_use_id: id, is_error: isError || soundsFailed(text), content };
  return isUnmarked ? { ...block, isUnmarked } : block;
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
  return { kind: 'attachment', label: labelOf({ source: { type: 'base64', media_type: mediaType, data: base64 } }) };
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
  const result = { kind: 'result', callId: textOf(block.tool_use_id) ?? '', text: text.join('\n'), isError } as const;
  return [block.isUnmarked === true ? { ...result, isUnmarked: true } : result, ...attachments];
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
  const bytes = source.type === 'base64' ? source.data.length * 0.75 : Buffer.byteLength(source.data);
  return `${media}, ${Math.ceil(bytes / 1024)} kB`;
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

/** The id of a session; where it is a subagent's, with that of the session it works for. */
export function namesOf(own: string, parent: string | undefined): Pick<Reading, 'id' | 'subagent'> {
  return parent === undefined ? { id: own } : { id: `${parent}/${own}`, subagent: { session: parent, agent: own } };
}

/** Where and when something is said. */
export interface Place {
  /** ISO-8601 UTC. */
  at?: string;
  cwd?: string;
  branch?: string;
  isSidechain?: boolean;
  /** On a branch that was taken back. */
  isAbandoned?: boolean;
}

export function toMessage(said: Said, { at, cwd, branch, isSidechain = false, isAbandoned }: Place): Message {
  const message: Message = { beginsTurn: false, isSidechain, ...said };
  if (isSidechain && (said.speaker === 'human' || said.speaker === 'assistant')) message.speaker = 'subagent';
  if (at !== undefined) message.at = at;
  if (cwd !== undefined) message.cwd = cwd;
  if (branch !== undefined) message.branch = branch;
  return isAbandoned ? { ...message, speaker: 'harness', beginsTurn: false, isAbandoned } : message;
}

/** The time of a record, unchanged; undefined where it is none. */
export function instantOf(value: unknown): string | undefined {
  return isInstant(value) ? value : undefined;
}

/** Something said, in Anthropic's blocks. */
export interface Utterance extends Omit<Place, 'at' | 'cwd' | 'branch'> {
  /** `user`: tools' results, and what a person typed, except what reads like a program's. `harness`: neither. */
  by: 'user' | 'assistant' | 'harness';
  blocks: readonly JsonObject[];
  /** The format's own id, where it is stable over growth and copies and differs from session to session. */
  id?: string;
  /** ISO-8601, or milliseconds since 1970; anything else is no time. */
  at?: unknown;
  cwd?: unknown;
}

export class MessageBuilder {
  readonly #given: SeenKeys;
  #lastId: string;
  /** Calls that ask a person something and have no result so far. */
  readonly #asked = new Map<string, Call>();
  #ready: Message[] = [];
  /** Of what `say` is given. */
  place: Place = {};
  /** The tools whose calls a person answers. */
  dialogs: ReadonlySet<string> = new Set();

  /** `seed` keeps the chained ids of two sessions apart that begin with the same words. */
  constructor(seed = '', given = new SeenKeys()) {
    this.#lastId = seed;
    this.#given = given;
  }

  /** For a branch that was taken back: what is said there has no id that is given here, and changes none. */
  branch(): MessageBuilder {
    return new MessageBuilder(`${this.#lastId} abandoned`, this.#given);
  }

  /** The messages since the last call. */
  drain(): Message[] {
    return this.#ready.splice(0);
  }

  /** What follows is chained to `key` instead of to the message before. */
  chainTo(key: string): void {
    this.#lastId = key;
  }

  /**
   * A message of these parts; none of no parts. `key` tells it apart from all others, in this file and in copies of it.
   * On the id of one that `isAside` no other id depends.
   */
  say(
    speaker: Speaker,
    parts: Part[],
    { key, beginsTurn = false, isAside = false }: { key?: string; beginsTurn?: boolean; isAside?: boolean } = {},
  ): void {
    if (parts.length === 0) return;
    const id = isAside && key !== undefined ? this.#idAside(key) : this.nextId(key, speaker, parts);
    this.#ready.push(toMessage({ id, speaker, parts, beginsTurn }, this.place));
  }

  /** `own` itself where no message had it, else a chained id. */
  nextId(own: string | undefined, role: string, said: readonly (Part | JsonObject)[]): string {
    let id = own ?? chainId(this.#lastId, role, said);
    while (!this.#given.add(id)) id = chainId(`${this.#lastId} ${id}`, role, said);
    this.#lastId = id;
    return id;
  }

  #idAside(own: string): string {
    let id = own;
    while (!this.#given.add(id)) id = chainId(id, 'human', []);
    return id;
  }

  /** The messages of an utterance: results, what a person answered in them, and what else was said. */
  add(utterance: Utterance): Message[] {
    const { by, blocks, id, isSidechain = false, isAbandoned, at, cwd } = utterance;
    const place: Place = { at: toInstant(at), cwd: textOf(cwd), isSidechain, isAbandoned };
    const messages: Message[] = [];
    const isResult = (block: JsonObject): boolean => by === 'user' && isResultBlock(block);
    const results = blocks.filter(isResult);
    const resultParts = partsOf(results);
    if (resultParts.length > 0) {
      const resultId = this.#idOfBlocks(id, by, results);
      messages.push(toMessage({ id: resultId, speaker: 'tool', parts: resultParts }, place));
      const answers = isSidechain ? [] : saidToCalls(resultParts, { calls: this.#asked, id: resultId });
      messages.push(...answers.map((answer) => toMessage(answer, place)));
    }
    const said = blocks.filter((block) => !isResult(block));
    const parts = partsOf(said);
    if (parts.length === 0) return messages;
    for (const part of parts) {
      if (part.kind === 'call' && !isSidechain && this.dialogs.has(part.tool)) this.#asked.set(part.id, part);
    }
    const isPersons = by === 'user' && !isSidechain;
    const command = isPersons ? commandLine(parts) : null;
    const isCommand = command?.hasArguments === true;
    const own = isCommand ? command.parts : isPersons ? humanParts(parts) : null;
    const speaker = own ? 'human' : by === 'assistant' ? 'assistant' : 'harness';
    const saidId = id !== undefined && resultParts.length > 0 && !isCommand ? `${id}/text` : id;
    const beginsTurn = own !== null && !isCommand;
    const whole = { id: this.#idOfBlocks(saidId, by, said), speaker, parts: own ?? parts, beginsTurn } as const;
    messages.push(toMessage(whole, place));
    return messages;
  }

  #idOfBlocks(own: string | undefined, by: Utterance['by'], blocks: readonly JsonObject[]): string {
    if (!own || !this.#given.add(own)) return this.nextId(undefined, by, blocks);
    this.#lastId = own;
    return own;
  }
}

/**
 * A hash over the id before and what is said now, sixteen hex digits: an array that grew keeps its ids, and two arrays
 * share one only if they share everything up to it. Cache marks and thinking do not count: clients move and strip them.
 */
export function chainId(previousId: string, role: string, said: readonly (Part | JsonObject)[]): string {
  const kept = (said as readonly JsonObject[]).filter(
    ({ type }) => type !== 'thinking' && type !== 'redacted_thinking',
  );
  return hash('sha256', JSON.stringify([previousId, role, kept.map((item) => canonical(item))])).slice(0, 16);
}

/** No tool is called with more; deeper nesting would overflow the stack. */
const MAX_DEPTH = 64;

function canonical(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return '…';
  if (Array.isArray(value)) return value.map((item) => canonical(item, depth + 1));
  if (!isObject(value)) return value;
  const keys = Object.keys(value).filter((key) => key !== 'cache_control' && key !== 'isUnmarked');
  return keys.sort().map((key) => [key, canonical(value[key], depth + 1)]);
}

/** The keys that were seen, as numbers: of a file of a million records the keys themselves would fill the memory. */
export class SeenKeys {
  readonly #hashes = new Set<number>();

  /** Adds a key; whether it was not there before. */
  add(key: string): boolean {
    const before = this.#hashes.size;
    return this.#hashes.add(hash('sha1', key, 'buffer').readUIntBE(0, 6)).size > before;
  }
}
