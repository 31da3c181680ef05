// opencode's export: one JSON object `{ info, messages: [{ info, parts }] }`.
// A child session is a subagent's: nobody in it is human. What opencode adds to a prompt (`synthetic` parts: files,
// reminders) and its compaction summaries are the harness's. What was reverted is marked as abandoned.

import { blockOfUrl } from './blocks.ts';
import { Conversation, type Utterance } from './conversation.ts';
import { mayBeObject } from './document.ts';
import { asAbandoned, type Format, isObject, type JsonObject } from './format.ts';
import { textOf } from './values.ts';

const KEYS: ReadonlySet<string> = new Set(['info', 'messages']);

interface Entry {
  info: JsonObject;
  parts: JsonObject[];
}

export const opencode: Format = {
  name: 'opencode',

  async recognises(source) {
    return mayBeObject(source.head, KEYS) && isExport(await source.document());
  },

  async open(source) {
    const document = await source.document();
    const { info, messages } = isExport(document) ? document : { info: {}, messages: [] };
    const own = textOf(info.id) ?? '';
    const parent = textOf(info.parentID);
    return {
      id: parent === undefined ? own : `${parent}/${own}`,
      cwd: textOf(info.directory),
      subagent: parent === undefined ? undefined : { session: parent, agent: own },
      async *messages(onUnreadable) {
        const conversation = new Conversation(own);
        let isReverted = false;
        for (const entry of messages) {
          if (!isEntry(entry)) {
            onUnreadable();
            continue;
          }
          const [kept, reverted]: [Entry | null, Entry | null] = isReverted
            ? [null, entry]
            : splitAtRevert(entry, info.revert);
          isReverted = reverted !== null;
          for (const utterance of kept ? utterancesOf(kept, info) : []) yield* conversation.add(utterance);
          for (const utterance of reverted ? utterancesOf(reverted, info) : []) {
            yield* conversation.add(utterance).map(asAbandoned);
          }
        }
      },
    };
  },
};

function isExport(document: unknown): document is { info: JsonObject; messages: unknown[] } {
  if (!isObject(document) || !isObject(document.info) || !Array.isArray(document.messages)) return false;
  return textOf(document.info.id) !== undefined && (document.messages.length === 0 || document.messages.some(isEntry));
}

function isEntry(value: unknown): value is Entry {
  if (!isObject(value) || !isObject(value.info) || !Array.isArray(value.parts)) return false;
  const { role, id } = value.info;
  return (role === 'user' || role === 'assistant') && textOf(id) !== undefined && value.parts.every(isObject);
}

/** What is left of the entry, and what was taken back of it, where the session went back to it, or to a part of it. */
function splitAtRevert(entry: Entry, revert: unknown): [Entry, Entry | null] {
  if (!isObject(revert) || revert.messageID !== entry.info.id) return [entry, null];
  const from = Math.max(
    entry.parts.findIndex((part) => part.id === revert.partID),
    0,
  );
  const [kept, reverted] = [entry.parts.slice(0, from), entry.parts.slice(from)];
  return [
    { ...entry, parts: kept },
    { ...entry, parts: reverted },
  ];
}

function* utterancesOf(entry: Entry, session: JsonObject): Generator<Utterance> {
  const place = { cwd: session.directory, isSidechain: textOf(session.parentID) !== undefined };
  yield* entry.info.role === 'user' ? prompt(entry, place) : reply(entry, place);
}

type Place = Pick<Utterance, 'cwd' | 'isSidechain'>;

function* prompt({ info, parts }: Entry, place: Place): Generator<Utterance> {
  const common = { ...place, at: createdAt(info) };
  const isAdded = (part: JsonObject): boolean => part.synthetic === true || part.ignored === true;
  const typed = parts.filter((part) => !isAdded(part)).flatMap(blocksOf);
  const added = parts.filter(isAdded).flatMap(blocksOf);
  // A file that came with nothing but its content was put there by opencode.
  const by = typed.some((block) => block.type === 'text') || added.length === 0 ? 'user' : 'harness';
  yield { ...common, by, id: textOf(info.id), blocks: typed };
  yield { ...common, by: 'harness', id: `${textOf(info.id)}/added`, blocks: added };
}

/** What the model said, cut where a tool answered: words and calls, their results, and so on. */
function* reply({ info, parts }: Entry, place: Place): Generator<Utterance> {
  const common = { ...place, cwd: isObject(info.path) ? info.path.cwd : place.cwd };
  const by = info.summary === true ? 'harness' : 'assistant';
  let said: JsonObject[] = [];
  let tools: JsonObject[] = [];
  let id = textOf(info.id);
  let at = createdAt(info);
  const flush = function* (): Generator<Utterance> {
    yield { ...common, by, id, at, blocks: [...said, ...tools].flatMap(blocksOf) };
    const [first] = tools;
    if (first)
      yield { ...common, by: 'user', id: textOf(first.id), at: endedAt(tools), blocks: tools.flatMap(resultOf) };
  };
  for (const part of parts) {
    if (part.type === 'tool') {
      tools.push(part);
    } else if (part.type === 'text' || part.type === 'file') {
      if (tools.length > 0) {
        yield* flush();
        [said, tools, id, at] = [[], [], textOf(part.id), isObject(part.time) ? part.time.start : createdAt(info)];
      }
      said.push(part);
    }
  }
  yield* flush();
}

function blocksOf(part: JsonObject): JsonObject[] {
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }];
    case 'file':
      return [fileOf(part)];
    case 'tool':
      return [{ type: 'tool_use', id: part.callID, name: part.tool, input: stateOf(part).input }];
    default:
      return [];
  }
}

/** None while the tool runs. */
function resultOf(part: JsonObject): JsonObject[] {
  const { status, output, error, metadata, attachments } = stateOf(part);
  if (status !== 'completed' && status !== 'error') return [];
  const exitCode = isObject(metadata) ? (metadata.exit ?? 0) : 0;
  const files = Array.isArray(attachments) ? attachments.filter(isObject).map(fileOf) : [];
  const isError = status === 'error' || exitCode !== 0;
  const text = { type: 'text', text: status === 'error' ? error : output };
  return [{ type: 'tool_result', tool_use_id: part.callID, is_error: isError, content: [text, ...files] }];
}

function fileOf({ url, mime, filename }: JsonObject): JsonObject {
  const address = textOf(url) ?? textOf(filename) ?? '';
  return blockOfUrl(address, textOf(mime));
}

function stateOf(part: JsonObject): JsonObject {
  return isObject(part.state) ? part.state : {};
}

function createdAt(info: JsonObject): unknown {
  return isObject(info.time) ? info.time.created : undefined;
}

function endedAt(tools: readonly JsonObject[]): unknown {
  const { time } = stateOf(tools.at(-1) ?? {});
  return isObject(time) ? time.end : undefined;
}
