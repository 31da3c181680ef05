// Entire's compact transcript, version 1: JSON lines of any agent's session, `{ v: 1, agent, type, ts, content }`.
// A tool's result is inside the call it answers. It keeps no mark of what a program put in a person's place, but
// the id of the prompt: only the first text of a prompt can be human, what follows under the same id was put in.

import { isObject, type JsonObject, textOf } from '../../base/text/json.ts';
import { objectsIn, readObjects } from '../records.ts';
import type { Message } from '../types.ts';
import type { Format } from './format.ts';
import { CLAUDES_DIALOGS } from './human-text.ts';
import { blocksOf, MessageBuilder, type Utterance } from './message-builder.ts';

const RECORD_START = '{"v":1,';

export const entire: Format = {
  name: 'entire',

  async open({ path, head }) {
    const isOurs = objectsIn(head, RECORD_START).some((line) => isLine(line) && 'content' in line && isNamed(line));
    if (!isOurs) return null;
    return { id: await findId(path), messages: (onUnreadable) => readLines(path, onUnreadable) };
  },
};

function isLine({ v, type }: JsonObject): boolean {
  return v === 1 && textOf(type) !== undefined;
}

function isNamed({ agent, cli_version: version }: JsonObject): boolean {
  return typeof agent === 'string' || typeof version === 'string';
}

/** The file does not name its session: it is known by the first thing said in it. */
async function findId(path: string): Promise<string> {
  for await (const message of readLines(path, () => undefined)) return message.id;
  return '';
}

async function* readLines(path: string, onUnreadable: () => void): AsyncGenerator<Message> {
  let builder: MessageBuilder | undefined;
  const prompts = new Set<string>();
  for await (const line of readObjects(path, { recordStart: RECORD_START, onUnreadable })) {
    if (!isLine(line)) {
      onUnreadable();
      continue;
    }
    if (builder === undefined) {
      builder = new MessageBuilder(`${line.agent} ${line.ts}`);
      if (line.agent === 'Claude Code') builder.dialogs = CLAUDES_DIALOGS;
    }
    for (const utterance of utterancesOf(line, prompts)) yield* builder.add(utterance);
  }
}

function utterancesOf({ type, id: lineId, ts: at, content }: JsonObject, prompts: Set<string>): Utterance[] {
  const blocks = blocksOf(content) ?? [];
  const id = textOf(lineId);
  if (type === 'assistant') {
    const results = blocks.flatMap(resultOf);
    return [
      { by: 'assistant', id, at, blocks },
      { by: 'user', id: id && `${id}/results`, at, blocks: results },
    ];
  }
  if (type !== 'user') return [];
  const prompt = blocks.map((block) => textOf(block.id)).find((each) => each !== undefined);
  const isPutIn = prompt !== undefined && prompts.has(prompt);
  if (prompt !== undefined) prompts.add(prompt);
  return [{ by: isPutIn ? 'harness' : 'user', id: prompt, at, blocks: blocks.map(asText) }];
}

/** A person's text has no type in this version. */
function asText(block: JsonObject): JsonObject {
  return block.type === undefined && typeof block.text === 'string' ? { type: 'text', text: block.text } : block;
}

function resultOf({ type, id, result }: JsonObject): JsonObject[] {
  if (type !== 'tool_use' || !isObject(result)) return [];
  return [{ type: 'tool_result', tool_use_id: id, is_error: result.status === 'error', content: result.output }];
}
