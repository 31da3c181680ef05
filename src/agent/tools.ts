// The extractor's tools: `record_entries`, which keeps what code has checked, and the read-only `memory`.
// Promises: an entry that is kept rests on words that stand in the redacted transcript, said by whom it says; each
// entry stands or falls by itself; a refusal says what to mend. A tool never throws through `routeTools` and never writes.

import { z } from 'zod';
import { describeError } from '../errors.ts';
import { asRead, hasWrapperTag, ownWords, speaksToAgent } from '../injection.ts';
import { contentWords, countShared, greppable, stands } from '../wording.ts';
import { entriesJsonSchema, type ProposedEntry, readEntries, readEntry } from './entry-schema.ts';
import { countWords, findQuote, foldSpace } from './quotes.ts';
import { findRelativeDate } from './relative-dates.ts';
import type { ToolDefinition, ToolReply } from './types.ts';

export interface Tool {
  definition: ToolDefinition;
  call(input: unknown): Promise<ToolReply>;
}

/** A message of the excerpt that can be quoted. */
export interface EvidenceSource {
  id: string;
  turn: string;
  speaker: string;
  at?: string;
  /** Its whole redacted text. */
  text: string;
  /** False: context, which can support an entry but not carry it. */
  offered: boolean;
}

/** An entry that passed every check. */
export interface FoundEntry {
  type: ProposedEntry['type'];
  strength: ProposedEntry['strength'];
  /** One line, redacted. */
  text: string;
  /** Full message ids; quotes in the message's own words, white space folded. */
  evidence: { message: string; quote: string }[];
  /** Speaker of the first evidence, or `quoted` where a human only quotes or pastes it; its turn and time. */
  by: string;
  turn: string;
  at?: string;
}

export interface RecordOptions {
  /** By the full id, or by what the excerpt shows of it. */
  find(id: string): EvidenceSource | undefined;
  /** Whether an earlier run recorded it. */
  isKnown(entry: { text: string; message: string; quote: string }): boolean;
  /** All messages that are shown; where it is absent, an entry is not compared with what others say. */
  messages?(): Iterable<EvidenceSource>;
  redact: (text: string) => Promise<{ text: string }>;
}

/**
 * The tool that records entries; `recorded()` answers those kept so far, in order. `isMisused()`: it was called, and
 * not one entry of any call had the shape of one.
 */
export function recordEntriesTool(options: RecordOptions): Tool & { recorded(): FoundEntry[]; isMisused(): boolean } {
  const kept: FoundEntry[] = [];
  const read = { entries: 0, misfits: 0 };

  /** `earlier`: what was kept by earlier calls. In one call a sentence may carry two entries; in a later one it is sent again. */
  async function record(
    proposed: unknown,
    earlier: FoundEntry[],
  ): Promise<'recorded' | 'already recorded' | { problem: string }> {
    const entry = readEntry(proposed);
    if ('problem' in entry) {
      read.misfits += 1;
      return entry;
    }
    read.entries += 1;
    const found = await checkEntry(entry, options);
    if ('problem' in found) return found;
    const [{ message, quote }] = found.evidence as [{ message: string; quote: string }];
    const keyOf = ({ type, evidence }: FoundEntry) => JSON.stringify([type, evidence[0]?.message, evidence[0]?.quote]);
    const rests = (other: FoundEntry) => keyOf(other) === keyOf(found);
    const isKept = earlier.some(rests) || kept.some((other) => rests(other) && other.text === found.text);
    if (isKept || options.isKnown({ text: found.text, message, quote })) return 'already recorded';
    kept.push(found);
    return 'recorded';
  }

  return {
    definition: {
      kind: 'custom',
      name: 'record_entries',
      description:
        'Records what is worth keeping. Each entry is checked by itself; where one is refused, the reply says what to ' +
        'mend. Send again only those that were not recorded.',
      inputSchema: entriesJsonSchema(),
    },
    async call(input) {
      const found = readEntries(input);
      if ('problem' in found) {
        if (!found.isEmpty) read.misfits += 1;
        return refuse(`Nothing recorded. ${found.problem}`);
      }
      const lines: string[] = [];
      const earlier = [...kept];
      const refused: number[] = [];
      for (const [at, proposed] of found.entries.entries()) {
        const outcome = await record(proposed, earlier);
        if (typeof outcome !== 'string') refused.push(at);
        lines.push(`${at}: ${typeof outcome === 'string' ? outcome : `not recorded. ${outcome.problem}`}`);
      }
      if (refused.length > 0) lines.push(`Send only ${refused.join(', ')} again, mended; or let go and stop.`);
      if (found.isFull) lines.push('This call was full. Send what is left in another one, or stop.');
      return {
        text: lines.join('\n'),
        isError: refused.length === found.entries.length,
        endsRun: refused.length === 0 && !found.isFull,
      };
    },
    recorded: () => [...kept],
    isMisused: () => read.misfits > 0 && read.entries === 0,
  };
}

async function checkEntry(
  entry: ProposedEntry,
  { find, redact, messages }: RecordOptions,
): Promise<FoundEntry | { problem: string }> {
  const problem = textProblem(entry.text);
  if (problem) return { problem: `text: ${problem}` };
  const evidence: FoundEntry['evidence'] = [];
  for (const [at, { message, quote }] of entry.evidence.entries()) {
    const path = `evidence[${at}]`;
    const source = find(message);
    if (!source) return { problem: `${path}.message: no message ${message} here. Use an id as shown in [brackets].` };
    const words = findQuote(source.text, quote);
    if (words === null) {
      return { problem: `${path}.quote: these words do not stand in ${message}. Copy them exactly, without gaps.` };
    }
    if (countWords(words) < 2 && words !== foldSpace(source.text)) {
      return { problem: `${path}.quote: too short. Quote at least two words, or the whole message.` };
    }
    evidence.push({ message: source.id, quote: words });
  }
  const first = find(entry.evidence[0]?.message ?? '') as EvidenceSource;
  if (!first.offered) {
    return { problem: 'evidence[0].message: is context, on which nothing can rest. Put a message first that is not.' };
  }
  if ((entry.type === 'user' || entry.type === 'feedback') && first.speaker !== 'human') {
    return {
      problem: `evidence[0].message: a ${entry.type} entry rests on a human message, this one is by ${first.speaker}.`,
    };
  }
  const text = foldSpace((await redact(foldSpace(entry.text))).text);
  const sources = evidence.map(({ message }) => find(message) as EvidenceSource);
  const foreign = foreignProblem({ ...entry, text, evidence }, { sources, messages: messages?.() ?? [] });
  if (foreign) return { problem: foreign };
  const { turn, at } = first;
  const by = whoSays(first, evidence[0]?.quote ?? '');
  return { type: entry.type, strength: entry.strength, text, evidence, by, turn, ...(at ? { at } : {}) };
}

/**
 * Why somebody else's words would become an entry: what a person only quoted or pasted is not the person's, what a
 * program or agent said tells nobody what to do, and a text says what its evidence says.
 */
function foreignProblem(
  entry: ProposedEntry,
  { sources, messages }: { sources: EvidenceSource[]; messages: Iterable<EvidenceSource> },
): string | null {
  const { type, text, evidence } = entry;
  const [first] = sources;
  const by = first ? whoSays(first, evidence[0]?.quote ?? '') : '';
  if ((type === 'user' || type === 'feedback') && by !== 'human') {
    return 'evidence[0].quote: the human only quotes or pastes these words. What somebody else said is no rule of the human.';
  }
  if (hasWrapperTag(text)) return 'text: holds a tag of this conversation.';
  if (by !== 'human' && [text, evidence[0]?.quote ?? ''].some(speaksToAgent)) {
    return `text: tells an agent what to do, and no human said it (it is ${by}). Leave it out.`;
  }
  // What rests on a human rests on a human's own words, and on the question that they answer.
  const said = sources
    .filter(({ speaker }) => by !== 'human' || speaker === 'human' || speaker === 'assistant')
    .map((source) => (by === 'human' && source.speaker === 'human' ? ownWords(source.text) : source.text))
    .join('\n');
  const unsaid = greppable(text).find((value) => isAddress(value) && !stands(value, said));
  if (unsaid)
    return `text: ${JSON.stringify(unsaid)} stands in none of the messages it rests on. Name the one that says it.`;
  const other = by === 'human' ? whoElseSays(text, { said, messages }) : null;
  return other && `text: says what ${other} says, not what the human does. Name the message that says it first.`;
}

/** Who says a quote: the speaker of the message, or `quoted` where a human only quotes or pastes it. */
function whoSays({ speaker, text }: EvidenceSource, quote: string): string {
  return speaker === 'human' && findQuote(ownWords(text), quote) === null ? 'quoted' : speaker;
}

/** Who says a text, where it is hardly in the words it rests on and in those of another message, or of a paste. */
function whoElseSays(
  text: string,
  { said, messages }: { said: string; messages: Iterable<EvidenceSource> },
): string | null {
  const read = asRead(text);
  const words = contentWords(read).size;
  if (words === 0 || countShared(read, asRead(said)) * 4 >= words) return null;
  for (const { speaker, text: whole } of messages) {
    const isOwn = speaker === 'human' && ownWords(whole) === whole;
    if (!isOwn && countShared(read, asRead(whole)) * 2 >= words)
      return speaker === 'human' ? 'somebody who is quoted' : speaker;
  }
  return null;
}

/** Whether a value is one that leads somewhere or does something, and is never a way of writing a number or a date. */
function isAddress(value: string): boolean {
  return /[@/\\]|^--?[a-z]|[\w-]{2,}\.[a-z]{2,}$/i.test(value);
}

// Line ends, control characters, direction overrides and halves of characters have no place in a line of a log.
const UNFIT = /[\p{Cc}\p{Cs}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

function textProblem(text: string): string | null {
  const trimmed = text.trim();
  if (trimmed === '') return 'is empty.';
  if (UNFIT.test(trimmed.replaceAll('\t', ' '))) return 'must be one line, without control characters.';
  const relative = findRelativeDate(trimmed);
  return relative === null ? null : `"${relative}" means nothing on another day. Write the date as YYYY-MM-DD.`;
}

const memoryInput = z.object({
  command: z.string(),
  path: z.string().min(1).max(1_000),
  view_range: z.tuple([z.int(), z.int()]).nullish(),
});

/** Anthropic's memory tool with its `view` alone. `view` answers what stands at a path; `range` is in lines, from 1. */
export function memoryViewTool(view: (path: string, range?: [number, number]) => Promise<string>): Tool {
  return {
    definition: { kind: 'memory', name: 'memory' },
    async call(input) {
      const read = memoryInput.safeParse(input);
      const isView = typeof input === 'object' && input !== null && 'command' in input && input.command === 'view';
      if (!isView) return refuse('The memory is read-only here: only the command "view" works.');
      if (!read.success) return refuse('Expected { "command": "view", "path": "…", "view_range": [first, last] }.');
      return { text: await view(read.data.path, read.data.view_range ?? undefined), isError: false };
    },
  };
}

/** Calls the tool of that name. Contract: never throws; what fails is a reply that the model can read. */
export function routeTools(tools: Tool[]): (name: string, input: unknown) => Promise<ToolReply> {
  const byName = new Map(tools.map((tool) => [tool.definition.name, tool]));
  return async (name, input) => {
    const tool = byName.get(name);
    if (!tool) return refuse(`There is no tool of that name. Tools: ${[...byName.keys()].join(', ')}.`);
    try {
      return await tool.call(input);
    } catch (error) {
      return refuse(describeError(error));
    }
  };
}

function refuse(text: string): ToolReply {
  return { text, isError: true };
}
