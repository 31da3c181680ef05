// A model for dreams that a test plays in process: it reads the input as the offline model does and keeps one line for
// each subject, as good as what it is shown lets it. A subject is all before ` is `, ` listens ` and the like.

import type { RunAgent } from '../../src/agent/agent-types.ts';
import { entriesIn, linesIn, partOf } from '../../src/agent/offline-model.ts';
import { entryIds, linesOut, type Operation } from '../../src/rules/dream-context.ts';

/** As rough as it is fast: nights are compared with nights. */
const CHARACTERS_PER_TOKEN = 3;

/** `topicOf` names the topic for a subject; `beforeCall` may fail before the nth call from 1. */
export function tidyDreamer(
  topicOf: (subject: string, type: string) => string,
  beforeCall: (call: number) => void = () => {},
) {
  /** Of each request: its tokens, system included, its input, and what code said of proposals that it refused. */
  const seen = { tokens: [] as number[], inputs: [] as string[], refused: [] as string[] };
  const runAgent: RunAgent = async ({ system, input }, ports) => {
    beforeCall(seen.inputs.length + 1);
    seen.inputs.push(input);
    seen.tokens.push(Math.ceil((system.length + input.length) / CHARACTERS_PER_TOKEN));
    const operations = propose(input, topicOf);
    const { text, isError } = await ports.callTool('propose_operations', { operations });
    if (isError) {
      seen.refused.push(text);
      await ports.callTool('propose_operations', { operations: giveWay(operations, text) });
    }
    return 'done';
  };
  return { runAgent, ...seen };
}

/** The part of a text by which its subject is known. */
export function subjectOf(text: string): string {
  return text.split(/ (?:is|listens|owns|wants) /)[0] as string;
}

function propose(input: string, topicOf: (subject: string, type: string) => string): Operation[] {
  const lines = linesIn(partOf(input, 'topics'));
  const entries = entriesIn(partOf(input, 'entries')).sort((a, b) => (a.at < b.at ? -1 : 1));
  const newest = new Map(entries.map((entry) => [subjectOf(entry.text), entry]));
  return entries.map((entry): Operation => {
    const subject = subjectOf(entry.text);
    const topic = topicOf(subject, entry.type);
    const own = lines.find((line) => subjectOf(line.text) === subject && !line.writer);
    const old = lines.find((line) => line.text === entry.text) ?? own;
    const newer = newest.get(subject);
    const drop = { kind: 'drop' as const, entries: [entry.id] };
    if (newer && newer !== entry) return { ...drop, because: 'gave-way', of: newer.id, reason: 'It gave way tonight.' };
    if (old?.text === entry.text) return { ...drop, because: 'duplicate', of: old.id, reason: 'Said before.' };
    const put = { kind: 'put' as const, in: [{ text: entry.text, entries: [entry.id] }] };
    if (old) return { ...put, topic: old.topic, out: [old.id], over: [old.text], reason: 'Newer.' };
    const description = `About ${topic.replaceAll('-', ' ')}`;
    return { ...put, topic, type: entry.type as 'project', description, reason: 'New.' };
  });
}

/**
 * The operations, where those that code refused as older than the line they would replace give way to it, and with them
 * what gave way to them.
 */
function giveWay(operations: Operation[], problems: string): Operation[] {
  const older = new Map<string, string>();
  for (const [at, operation] of operations.entries()) {
    const isOlder = problems.split('\n').some((line) => line.startsWith(`operations[${at}] `) && /newer/.test(line));
    const [old] = linesOut(operation);
    if (old !== undefined && isOlder) for (const entry of entryIds(operation)) older.set(entry, old);
  }
  return operations.map((operation): Operation => {
    const entries = entryIds(operation);
    const old = older.get((operation.kind === 'drop' ? operation.of : entries[0]) ?? '');
    if (old === undefined) return operation;
    return { kind: 'drop', entries, because: 'gave-way', of: old, reason: 'It gave way before.' };
  });
}
