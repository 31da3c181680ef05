// pi's session file (versions 1 to 3): JSON lines, a header and then entries that form a tree by `id` and `parentId`.
// Only the branch that the last entry ends counts: what was abandoned by going back is marked so. The file is gone
// through twice for that, with a few bytes held per entry. Skills and files that pi put into a prompt are not the
// person's; nor is what commands run with `!` print, what extensions say, and summaries.

import { isObject, type JsonObject, objectAt, textOf } from '../../base/text/json.ts';
import { toInstant } from '../../base/time.ts';
import type { Format } from '../messages.ts';
import { readObjects } from '../records.ts';
import { blocksOf, callBlock, MessageBuilder, type Utterance } from './message-builder.ts';

/** Only these are worth saving from a damaged line. */
const RECORD_START = '{"type":"message",';

/** A skill or files at the head of a prompt, to the last closing tag: a file may hold one too. */
const PUT_IN_FRONT = /^\s*<(skill|file) name=".*<\/\1>\s*/s;

export const pi: Format = {
  name: 'pi',

  open({ path, records }) {
    const header = records.find(
      ({ type, id, cwd }) => type === 'session' && textOf(id) !== undefined && typeof cwd === 'string',
    );
    if (!header) return null;
    const cwd = textOf(header.cwd);
    return {
      id: textOf(header.id) ?? '',
      cwd,
      *messages(onUnreadable) {
        const isActive = findActiveBranch(path);
        const builder = new MessageBuilder();
        const abandoned = builder.branch();
        let index = 0;
        for (const entry of readObjects(path, RECORD_START, onUnreadable)) {
          if (typeof entry.type !== 'string' || (entry.type === 'message' && !isObject(entry.message))) onUnreadable();
          else {
            const [to, isAbandoned] = isActive[index] ? [builder, false] : [abandoned, true];
            for (const utterance of utterancesOf(entry)) yield* to.add({ ...utterance, cwd, isAbandoned });
          }
          index++;
        }
      },
    };
  },
};

/** For each record of the file whether it is on the way from the first to the last. */
function findActiveBranch(path: string): boolean[] {
  const parents: number[] = [];
  const places = new Map<string, number>();
  for (const { id, parentId } of readObjects(path, RECORD_START)) {
    const place = parents.length;
    // Version 1 has no parents, and a parent's line may be damaged: then it follows the record before it.
    const parent = typeof parentId === 'string' ? places.get(parentId) : undefined;
    parents.push(parentId === null ? -1 : (parent ?? place - 1));
    if (typeof id === 'string') places.set(id, place);
  }
  const isActive = parents.map(() => false);
  for (let place = parents.length - 1; place >= 0; place = parents[place] ?? -1) isActive[place] = true;
  return isActive;
}

function utterancesOf(entry: JsonObject): Utterance[] {
  const message = objectAt(entry, 'message');
  const common = { id: idOf(entry), at: toInstant(entry.timestamp) ?? message.timestamp };
  if (entry.type !== 'message') {
    return [{ ...common, by: 'harness', blocks: blocksOf(entry.summary ?? entry.content)?.flatMap(blockOf) ?? [] }];
  }
  const blocks = blocksOf(message.content)?.flatMap(blockOf) ?? [];
  switch (message.role) {
    case 'user':
      return [{ ...common, ...splitPrompt(blocks) }];
    case 'assistant':
      return [{ ...common, by: 'assistant', blocks }];
    case 'toolResult': {
      const result = { type: 'tool_result', tool_use_id: message.toolCallId, is_error: message.isError === true };
      return [{ ...common, by: 'user', blocks: [{ ...result, content: blocks }] }];
    }
    default:
      return [
        { ...common, id: common.id && `${common.id}/typed`, by: 'user', blocks: typedCommand(message) },
        { ...common, by: 'harness', blocks: blocks.length > 0 ? blocks : commandBlocks(message) },
      ];
  }
}

/** An entry's own id has eight digits, which is enough within a session only; copies keep the time too. */
function idOf({ id, timestamp }: JsonObject): string | undefined {
  return typeof id === 'string' && typeof timestamp === 'string' ? `${id}@${timestamp}` : undefined;
}

function splitPrompt(blocks: JsonObject[]): Pick<Utterance, 'by' | 'blocks'> {
  const own = blocks.map((block) =>
    typeof block.text === 'string' ? { ...block, text: block.text.replace(PUT_IN_FRONT, '') } : block,
  );
  const isOnlyPutIn = own.every((block) => block.text === '') && blocks.some((block) => block.text !== '');
  return isOnlyPutIn ? { by: 'harness', blocks } : { by: 'user', blocks: own };
}

function blockOf(block: JsonObject): JsonObject[] {
  switch (block.type) {
    case 'text':
      return [block];
    case 'image':
      return [{ type: 'image', source: { type: 'base64', media_type: block.mimeType, data: block.data } }];
    case 'toolCall':
      return [callBlock(block.id, block.name, block.arguments)];
    default:
      return [];
  }
}

/** A command that the person typed behind `!`, as the builder knows one. */
function typedCommand({ role, command }: JsonObject): JsonObject[] {
  return role === 'bashExecution' ? [{ type: 'text', text: `<bash-input>${textOf(command) ?? ''}</bash-input>` }] : [];
}

/** The same, and what it printed. */
function commandBlocks({ command, output }: JsonObject): JsonObject[] {
  return typeof command === 'string' ? [{ type: 'text', text: `$ ${command}\n${textOf(output) ?? ''}` }] : [];
}
