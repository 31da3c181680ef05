// What code lets through of a dream's operations.
// Promises: every entry is in exactly one operation; nothing is replaced that is not there, is a person's, is pinned, is
// newer, or speaks of something else. What a line may say is checked in operation-lines.ts, what may be left out in
// operation-drops.ts. What is wrong is said in sentences for the model to mend; nothing is mended here.

import { isAbout } from '../../wording.ts';
import { DEFAULT_LIMITS } from '../store/staging.ts';
import { isTopicName } from '../text/topic.ts';
import type { MemoryType } from '../types.ts';
import { checkDropped, checkHeld, refusalOfDropping } from './operation-drops.ts';
import { checkLines } from './operation-lines.ts';
import { type DreamWorld, newestAt, type Operation, topicOfLine, topicsLosing } from './operations.ts';

/** Bytes around the text of a line, and of all that a new topic has before its lines: more than there will be. */
const LINE_BYTES = 4;
const HEADER_BYTES = 512;

/**
 * What is wrong with the operations, a sentence each, for the model to mend; empty when they may be carried out.
 * `memoryBytes` is what one topic's file may hold (default 102,400).
 */
export function checkOperations(
  operations: Operation[],
  world: DreamWorld,
  { memoryBytes }: { memoryBytes: number } = DEFAULT_LIMITS,
): string[] {
  const problems = [
    ...checkAccounting(operations, world),
    ...checkSizes(operations, world, memoryBytes),
    ...checkNewTopics(operations, world),
    ...refusalOfDropping(operations, world),
  ];
  const replaced = new Set<string>();
  const added = new Map<string, { type: MemoryType | undefined; text: string }>();
  const gone = new Map<string, Set<string>>();
  for (const operation of operations) {
    for (const line of 'replaces' in operation ? operation.replaces : []) {
      const names = topicsLosing(line, operation, world).map(({ name }) => name);
      gone.set(line, new Set([...(gone.get(line) ?? []), ...names]));
    }
  }
  operations.forEach((operation, index) => {
    const say = (problem: string) => problems.push(`operations[${index}] (${operation.kind}): ${problem}`);
    if ('replaces' in operation) {
      for (const line of operation.replaces) {
        const copies = topicsLosing(line, operation, world).map(({ name }) => `${name}\n${line}`);
        const problem = copies.some((copy) => replaced.has(copy))
          ? 'is replaced by another operation already'
          : refusalOfReplacing(line, operation, world);
        if (problem) say(`line ${line} ${problem}.`);
        for (const copy of copies) replaced.add(copy);
      }
    }
    if (operation.kind === 'hold') checkHeld(operation, { world, say });
    if (operation.kind === 'drop') checkDropped(operation, { operations, world, gone, say });
    if ('lines' in operation) checkLines(operation, { world, added, gone, say });
  });
  return problems;
}

function checkAccounting(operations: Operation[], { entries }: DreamWorld): string[] {
  const count = new Map<string, number>();
  for (const id of operations.flatMap((operation) => [...new Set(operation.entries)])) {
    count.set(id, (count.get(id) ?? 0) + 1);
  }
  const unknown = [...count.keys()].filter((id) => !entries.has(id));
  const missing = [...entries.keys()].filter((id) => !count.has(id));
  const several = [...count].filter(([, times]) => times > 1).map(([id]) => id);
  return [
    ...(unknown.length > 0 ? [`There are no such entries: ${unknown.join(', ')}.`] : []),
    ...(missing.length > 0 ? [`These entries are in no operation: ${missing.join(', ')}.`] : []),
    ...(several.length > 0 ? [`These entries are in more than one operation: ${several.join(', ')}.`] : []),
  ];
}

/** A topic that would outgrow its file is told of here: the commit would refuse it every night anew. */
function checkSizes(operations: Operation[], world: DreamWorld, memoryBytes: number): string[] {
  const grown = new Map<string, number>();
  const grow = (topic: string, bytes: number) => grown.set(topic, (grown.get(topic) ?? 0) + bytes);
  for (const operation of operations) {
    if ('lines' in operation) {
      for (const { text } of operation.lines) grow(operation.topic, Buffer.byteLength(text) + LINE_BYTES);
    }
    for (const line of 'replaces' in operation ? operation.replaces : []) {
      for (const { name, lines } of topicsLosing(line, operation, world)) {
        grow(name, -Buffer.byteLength(lines.get(line)?.text ?? ''));
      }
    }
  }
  return [...grown].flatMap(([name, more]) => {
    const bytes = (world.topics.get(name)?.bytes ?? HEADER_BYTES) + more;
    if (more <= 0 || bytes <= memoryBytes) return [];
    return `The topic ${name} would have ${bytes} bytes, and a topic may have ${memoryBytes}: put lines into another topic.`;
  });
}

/** Operations that begin a topic agree on its type, name it as we do, and no file has that name but for the case. */
function checkNewTopics(operations: Operation[], { topics }: DreamWorld): string[] {
  const types = new Map<string, Set<string>>();
  for (const operation of operations) {
    if (!('lines' in operation) || topics.has(operation.topic) || !operation.type) continue;
    types.set(operation.topic, (types.get(operation.topic) ?? new Set()).add(operation.type));
  }
  return [...types].flatMap(([name, given]) => {
    const there = [...topics.keys()].find((known) => known.toLowerCase() === name.toLowerCase());
    return [
      ...(isTopicName(name) || there ? [] : [`There is no topic ${name}, and a new one has a short kebab-case name.`]),
      ...(given.size > 1 ? [`The new topic ${name} is given several types: ${[...given].join(', ')}.`] : []),
      ...(there
        ? [`There is a file ${there}.md already, so that ${name}.md cannot be: use that name or another.`]
        : []),
    ];
  });
}

function refusalOfReplacing(
  line: string,
  operation: Extract<Operation, { replaces: string[] }>,
  world: DreamWorld,
): string | null {
  const topic = topicOfLine(line, world, 'topic' in operation ? operation.topic : undefined);
  const known = topic?.lines.get(line);
  if (!topic || !known) return 'is in no topic';
  if (topic.isPinned) return `is in ${topic.name}, which is pinned`;
  if (known.isPersons) return 'was written by a person and stays';
  if (operation.kind === 'merge') return null;
  const entries = operation.entries.flatMap((id) => world.entries.get(id) ?? []);
  const sources = topicsLosing(line, operation, world).flatMap(({ lines }) => lines.get(line)?.sources ?? []);
  if (entries.some((entry) => entry.isWithdrawn && sources.some(({ id }) => id === entry.id))) {
    if (operation.kind === 'retire') return null;
  }
  const cited = 'lines' in operation ? new Set(operation.lines.flatMap((each) => each.entries)) : null;
  const standing = entries.filter((entry) => !entry.isWithdrawn && (cited === null || cited.has(entry.id)));
  const withdrawn = new Set([...world.entries.values()].filter((entry) => entry.isWithdrawn).map(({ id }) => id));
  const newest = newestAt(sources.filter(({ id }) => !withdrawn.has(id)));
  if (newestAt(standing) < newest) return `rests on what was said at ${newest}, which is newer than these entries`;
  if (!standing.some(({ text, quotes }) => isAbout(known.text, [text, ...quotes].join('\n'))))
    return 'is about something else than these entries';
  return null;
}
