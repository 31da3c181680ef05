// Entire's compact transcript, version 1: JSON lines of any agent's session, `{ v: 1, agent, type, ts, content }`.
// A tool's result stands inside the call it answers. It keeps no mark of what a program put in a person's place, but
// the id of the prompt: only the first text of a prompt can be human, what follows under the same id was put in.

import { blocksOf } from './blocks.ts';
import { Conversation, type Utterance } from './conversation.ts';
import { type Format, isObject, type JsonObject } from './format.ts';
import { objectsIn, readObjects } from './jsonl.ts';
import { textOf } from './values.ts';

const RECORD_START = '{"v":1,';

export const entire: Format = {
  name: 'entire',

  recognises({ head }) {
    return objectsIn(head, RECORD_START).some((line) => isLine(line) && 'content' in line && isNamed(line));
  },

  async open({ path }) {
    return {
      id: await findId(path),
      async *messages(onUnreadable) {
        yield* readLines(path, onUnreadable);
      },
    };
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

async function* readLines(path: string, onUnreadable: () => void) {
  let conversation: Conversation | undefined;
  const prompts = new Set<string>();
  for await (const line of readObjects(path, { recordStart: RECORD_START, onUnreadable })) {
    if (!isLine(line)) {
      onUnreadable();
      continue;
    }
    conversation ??= new Conversation(`${line.agent} ${line.ts}`);
    for (const utterance of utterancesOf(line, prompts)) yield* conversation.add(utterance);
  }
}

function* utterancesOf(line: JsonObject, prompts: Set<string>): Generator<Utterance> {
  const { type, ts } = line;
  const blocks = blocksOf(line.content) ?? [];
  if (type === 'assistant') {
    const id = textOf(line.id);
    yield { by: 'assistant', id, at: ts, blocks };
    yield { by: 'user', id: id && `${id}/results`, at: ts, blocks: blocks.flatMap(resultOf) };
  } else if (type === 'user') {
    const prompt = blocks.map((block) => textOf(block.id)).find((id) => id !== undefined);
    const isPutIn = prompt !== undefined && prompts.has(prompt);
    if (prompt !== undefined) prompts.add(prompt);
    yield { by: isPutIn ? 'harness' : 'user', id: prompt, at: ts, blocks: blocks.map(asText) };
  }
}

/** A person's text has no type in this version. */
function asText(block: JsonObject): JsonObject {
  return block.type === undefined && typeof block.text === 'string' ? { type: 'text', text: block.text } : block;
}

function resultOf({ type, id, result }: JsonObject): JsonObject[] {
  if (type !== 'tool_use' || !isObject(result)) return [];
  return [{ type: 'tool_result', tool_use_id: id, is_error: result.status === 'error', content: result.output }];
}
