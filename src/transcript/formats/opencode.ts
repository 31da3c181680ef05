// opencode's export: one JSON object `{ info, messages: [{ info, parts }] }`.
// A child session is a subagent's: nobody in it is human. What opencode adds to a prompt (`synthetic` parts: files,
// reminders) and its compaction summaries are the harness's. What was reverted is marked as abandoned.

import { isObject, type JsonObject, objectAt, objectsOf, textOf } from '../../base/text/json.ts';
import type { Format } from '../messages.ts';
import { OPENCODES_DIALOGS } from './human-text.ts';
import { blockOfUrl, callBlock, MessageBuilder, namesOf, type Utterance } from './message-builder.ts';

interface Entry {
  info: JsonObject;
  parts: JsonObject[];
}

export const opencode: Format = {
  name: 'opencode',

  open({ document }) {
    const whole = document();
    if (!isExport(whole)) return null;
    const { info, messages } = whole;
    const own = textOf(info.id) ?? '';
    const parent = textOf(info.parentID);
    return {
      ...namesOf(own, parent),
      cwd: textOf(info.directory),
      *messages(onUnreadable) {
        const builder = new MessageBuilder(own);
        builder.dialogs = OPENCODES_DIALOGS;
        const place = { cwd: info.directory, isSidechain: parent !== undefined };
        let isReverted = false;
        for (const entry of messages) {
          if (!isEntry(entry)) {
            onUnreadable();
            continue;
          }
          const keptParts: number = isReverted ? 0 : partsKept(entry, objectAt(info, 'revert'));
          isReverted = keptParts < Infinity;
          const kept = { ...entry, parts: entry.parts.slice(0, keptParts) };
          const reverted = { ...entry, parts: entry.parts.slice(keptParts) };
          for (const utterance of utterancesOf(kept)) yield* builder.add({ ...place, ...utterance });
          for (const utterance of utterancesOf(reverted)) {
            yield* builder.add({ ...place, ...utterance, isAbandoned: true });
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

/** How many of the entry's parts are left, where the session went back to it, or to a part of it. */
function partsKept({ info, parts }: Entry, { messageID, partID }: JsonObject): number {
  if (messageID !== info.id) return Infinity;
  const from = parts.findIndex((part) => part.id === partID);
  return Math.max(from, 0);
}

/** What says nothing yields nothing. */
function utterancesOf(entry: Entry): Iterable<Utterance> {
  return entry.info.role === 'user' ? prompt(entry) : reply(entry);
}

function* prompt({ info, parts }: Entry): Generator<Utterance> {
  const at = objectAt(info, 'time').created;
  const isAdded = (part: JsonObject): boolean => part.synthetic === true || part.ignored === true;
  const typed = parts.filter((part) => !isAdded(part)).flatMap(blocksOf);
  const added = parts.filter(isAdded).flatMap(blocksOf);
  // A file that came with nothing but its content was put there by opencode.
  const by = typed.some((block) => block.type === 'text') || added.length === 0 ? 'user' : 'harness';
  yield { at, by, id: textOf(info.id), blocks: typed };
  yield { at, by: 'harness', id: `${textOf(info.id)}/added`, blocks: added };
}

/** What the model said, cut where a tool answered: words and calls, their results, and so on. */
function* reply({ info, parts }: Entry): Generator<Utterance> {
  const by = info.summary === true ? 'harness' : 'assistant';
  const createdAt = objectAt(info, 'time').created;
  const place = isObject(info.path) ? { cwd: info.path.cwd } : {};
  let [said, tools, id, at]: [JsonObject[], JsonObject[], string | undefined, unknown] = [
    [],
    [],
    textOf(info.id),
    createdAt,
  ];
  const flush = function* (): Generator<Utterance> {
    yield { ...place, by, id, at, blocks: [...said, ...tools].flatMap(blocksOf) };
    const [first] = tools;
    const endedAt = objectAt(objectAt(tools.at(-1) ?? {}, 'state'), 'time').end;
    if (first) yield { ...place, by: 'user', id: textOf(first.id), at: endedAt, blocks: tools.flatMap(resultOf) };
  };
  for (const part of parts) {
    if (part.type === 'tool') {
      tools.push(part);
    } else if (part.type === 'text' || part.type === 'file') {
      if (tools.length > 0) {
        yield* flush();
        [said, tools, id, at] = [[], [], textOf(part.id), isObject(part.time) ? part.time.start : createdAt];
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
      return [callBlock(part.callID, part.tool, objectAt(part, 'state').input)];
    default:
      return [];
  }
}

/** None while the tool runs. */
function resultOf(part: JsonObject): JsonObject[] {
  const state = objectAt(part, 'state');
  const { status, output, error } = state;
  if (status !== 'completed' && status !== 'error') return [];
  const exitCode = objectAt(state, 'metadata').exit ?? 0;
  const files = objectsOf(state.attachments).map(fileOf);
  const isError = status === 'error' || exitCode !== 0;
  const text = { type: 'text', text: status === 'error' ? error : output };
  return [{ type: 'tool_result', tool_use_id: part.callID, is_error: isError, content: [text, ...files] }];
}

function fileOf({ url, mime, filename }: JsonObject): JsonObject {
  return blockOfUrl(textOf(url) ?? textOf(filename) ?? '', textOf(mime));
}
