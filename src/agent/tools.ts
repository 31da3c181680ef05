// The extractor's tools: `record_entries`, which keeps what code has checked, and the read-only `memory`; what each is sent; and
// one run of an agent whose tools are answered here, its spend counted by who asks.
// Promises: an entry that is kept rests on words that stand in the redacted transcript, said by whom it says; each
// entry stands or falls by itself; a refusal says what to mend. A tool never throws through `routeTools` and never writes.
// Nothing of what was sent is trusted to be small, flat or plain: near misses that models make are read as meant, all else
// is refused with the path and what was expected.

import { z } from 'zod';
import { describeError, isAppError } from '../base/errors.ts';
import { renderPrompt } from '../base/prompt.ts';
import { parsedOr } from '../base/text/json.ts';
import type { CheckOptions, FoundEntry, ProposedEntry } from '../rules/candidate.ts';
import { checkEntry } from '../rules/entry-rules.ts';
import { FOUND } from '../rules/lessons.ts';
import { distinctValues } from '../rules/literals.ts';
import { findQuote } from '../rules/quotes.ts';
import { contentWords, countSharedWords, isOpposite, similarity } from '../rules/words.ts';
import type { AgentEnding, AgentPorts, AgentRequest, RunAgent, ToolDefinition, ToolReply } from './agent-types.ts';
import { programOf } from './programs/programs.ts';

export interface Tool {
  definition: ToolDefinition;
  call(input: unknown): Promise<ToolReply>;
}

export interface RecordOptions extends CheckOptions {
  /** Whether an earlier run recorded it. */
  isKnown(entry: { text: string; message: string; quote: string }): boolean;
  /** The file of the project that says the same, which every session reads anyway. */
  saying?(text: string): string | undefined;
  /** The id of the line of memory that was shown under this number. */
  lineOf?(number: number): string | undefined;
}

/** `again`: the id of the line of memory that it says again, which was shown. */
export type RecordedEntry = FoundEntry & { again?: string };

/**
 * The tool that records entries, each fact once; `recorded()` answers those kept so far, in order; `refused()` why others were not,
 * and were not mended. `isMisused()`: it was called, and not one entry of any call had the shape of one.
 */
export function recordEntriesTool(
  options: RecordOptions,
): Tool & { recorded(): RecordedEntry[]; refused(): string[]; isMisused(): boolean } {
  const kept: RecordedEntry[] = [];
  const read = { entries: 0, misfits: 0 };
  /** By the message that entries rest on first: what is sent again is about the same. */
  const open = new Map<string, string[]>();

  /** `earlier`: what was kept by earlier calls. In one call words may carry two entries; in a later one they are sent again. */
  async function record(proposed: unknown, earlier: FoundEntry[]): Promise<string | { problem: string }> {
    const entry = readEntry(proposed);
    if ('problem' in entry) {
      read.misfits += 1;
      return entry;
    }
    read.entries += 1;
    // A line that was not shown is no reason to lose what was said.
    const again = entry.again === undefined ? undefined : options.lineOf?.(Number(/\d+/.exec(entry.again)));
    const found = await checkEntry(again === undefined ? { ...entry, again } : entry, options);
    if ('problem' in found) return found;
    const [{ message, quote }] = found.evidence as [{ message: string; quote: string }];
    const keyOf = ({ type, evidence }: FoundEntry) => JSON.stringify([type, evidence[0]?.message, evidence[0]?.quote]);
    const isKept =
      earlier.some((other) => keyOf(other) === keyOf(found)) || kept.some((other) => isRewording(found, other));
    if (isKept || options.isKnown({ text: found.text, message, quote })) return 'already recorded';
    const file = options.saying?.(found.text);
    if (file !== undefined) return `not needed, ${file} says it`;
    kept.push({ ...found, ...(again && { again }) });
    return entry.again === undefined || again
      ? 'recorded'
      : 'recorded without `again`: no line of that number is shown';
  }

  return {
    definition: {
      kind: 'custom',
      name: 'record_entries',
      description: 'Records what is worth keeping. Each entry is checked by itself; the reply says what to fix.',
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
      for (const each of found.entries) open.set(messageOf(each), []);
      for (const [at, proposed] of found.entries.entries()) {
        const outcome = await record(proposed, earlier).catch((error: unknown) => {
          // What one entry does to the checks is no reason to lose the others; a disk that fails is.
          if (isAppError(error)) throw error;
          return { problem: `It could not be checked: ${describeError(error)}. Leave it out.` };
        });
        lines.push(`${at}: ${typeof outcome === 'string' ? outcome : `not recorded. ${outcome.problem}`}`);
        if (typeof outcome === 'string') continue;
        refused.push(at);
        open.get(messageOf(proposed))?.push(outcome.problem);
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
    refused: () => [...open.values()].flat(),
    isMisused: () => read.misfits > 0 && read.entries === 0,
  };
}

/** What two texts share who say the same of the same words. */
const SAME_SHARE = 0.6;

/**
 * Whether an entry says no more than another that was kept: all its words, in the same message; or most of them, of the
 * same quote, and what it says beyond the other was not said; "the api package" and "the web package" are two.
 */
function isRewording(a: FoundEntry, b: FoundEntry): boolean {
  if (a.text === b.text && a.type === b.type) return true;
  const [first, other] = [a.evidence[0], b.evidence[0]];
  if (!first || !other || first.message !== other.message) return false;
  if (distinctValues(a.text, b.text) || isOpposite(a.text, b.text)) return false;
  const [words, others] = [contentWords(a.text), contentWords(b.text)];
  const more = beyond(words, others);
  if (more.length === 0) return words.size > 0;
  if (findQuote(first.quote, other.quote) === null && findQuote(other.quote, first.quote) === null) return false;
  const said = contentWords([...a.evidence, ...b.evidence].map(({ quote }) => quote).join(' '));
  const isSaid = (word: string) => beyond(new Set([word]), said).length === 0;
  return similarity(a.text, b.text) >= SAME_SHARE && !more.some(isSaid);
}

function beyond(words: Set<string>, others: Set<string>): string[] {
  return [...words].filter((word) => countSharedWords(new Set([word]), others) === 0);
}

const memoryInput = z.object({
  command: z.literal('view'),
  path: z.string().min(1).max(1_000),
  view_range: z.tuple([z.int(), z.int()]).nullish(),
});

/** Anthropic's memory tool with its `view` alone. `view` answers what stands at a path; `range` is in lines, from 1. */
export function memoryViewTool(view: (path: string, range?: [number, number]) => Promise<string>): Tool {
  return {
    definition: { kind: 'memory', name: 'memory' },
    async call(input) {
      const read = memoryInput.safeParse(input);
      if (!read.success)
        return refuse('The memory is read-only here: { "command": "view", "path": "…", "view_range": [first, last] }.');
      return { text: await view(read.data.path, read.data.view_range ?? undefined), isError: false };
    },
  };
}

/** Contract as in `AgentPorts`. */
export type Spend = Pick<AgentPorts, 'reserve' | 'settle'>;

export interface AgentDeps {
  agent: Pick<AgentRequest, 'model' | 'access' | 'maxTurns' | 'maxOutputTokens' | 'requestMs'>;
  runAgent: RunAgent;
  spend: Spend;
  signal?: AbortSignal;
}

/** Resolves with how the run ended; what its tools were told is the tools' to answer. */
export async function runWithTools(
  ask: Pick<AgentRequest, 'system' | 'input'>,
  tools: Tool[],
  { agent, runAgent, spend, signal }: AgentDeps,
): Promise<AgentEnding> {
  const system = programOf(agent.model) ? `${ask.system}\n${await programWords(tools)}` : ask.system;
  return runAgent(
    { ...agent, ...ask, system, tools: tools.map((tool) => tool.definition) },
    { ...spend, callTool: routeTools(tools) },
    signal,
  );
}

/** A program is given no tools: what would be passed to one is its answer. */
async function programWords([tool]: Tool[]): Promise<string> {
  return (await renderPrompt('program', { tool: tool?.definition.name ?? '' })).text;
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

// What is sent to `record_entries`.

const MAX_TEXT_CHARACTERS = 1_000;
const MAX_QUOTE_CHARACTERS = 1_000;
const MAX_ENTRIES = 20;
/** A line may sum up what several messages say. More than are asked for are no reason to refuse it. */
const MAX_QUOTES = 10;
const ASKED_QUOTES = 6;
const MAX_JSON_CHARACTERS = 200_000;

const evidenceSchema = z.strictObject({
  message: z.string().min(1).max(200),
  quote: z.string().min(1).max(MAX_QUOTE_CHARACTERS),
});

const entrySchema = z.strictObject({
  type: z.enum(['user', 'feedback', 'project', 'reference']),
  strength: z.enum(['stated', 'implied']),
  text: z.string().min(1).max(MAX_TEXT_CHARACTERS),
  evidence: z.array(evidenceSchema).min(1).max(MAX_QUOTES).meta({ maxItems: ASKED_QUOTES }),
  changes: z.string().max(MAX_TEXT_CHARACTERS).optional(),
  found: z.enum(FOUND).optional(),
  again: z.preprocess((given) => (typeof given === 'number' ? String(given) : given), z.string().max(20)).optional(),
});

const inputSchema = z.strictObject({ entries: z.array(entrySchema).min(1).max(MAX_ENTRIES) });

/** The tool's input as JSON schema. The prompt says what its parts mean, a refusal how long they may be. */
function entriesJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(inputSchema, {
    io: 'input',
    override({ jsonSchema }) {
      delete jsonSchema.minLength;
      delete jsonSchema.maxLength;
    },
  });
  return schema;
}

const EXPECTED =
  'Expected { "entries": [{ "type": "user|feedback|project|reference", "strength": "stated|implied", "text": "…", ' +
  '"evidence": [{ "message": "…", "quote": "…" }] }] }.';

/** The proposed entries, not yet looked into; or why there are none. Reads also a bare array and JSON in a string. */
function readEntries(input: unknown): { entries: unknown[]; isFull: boolean } | { problem: string; isEmpty?: boolean } {
  let found = input;
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) {
    const unknown = Object.keys(found).find((key) => key !== 'entries');
    if (unknown !== undefined) return { problem: `${shorten(unknown)}: not known here. ${EXPECTED}` };
    found = Object.hasOwn(found, 'entries') ? (found as { entries: unknown }).entries : undefined;
    // What is no JSON stays the string it is, and is named as one.
    if (typeof found === 'string' && found.length <= MAX_JSON_CHARACTERS) found = parsedOr(found);
  }
  if (!Array.isArray(found)) return { problem: `entries: must be an array, ${kindOf(found)} was found. ${EXPECTED}` };
  if (found.length === 0)
    return { problem: 'entries: is empty. If nothing is worth keeping, record nothing.', isEmpty: true };
  if (found.length > MAX_ENTRIES)
    return { problem: `entries: at most ${MAX_ENTRIES} in one call, ${found.length} were found. Send them in parts.` };
  return { entries: found, isFull: found.length === MAX_ENTRIES };
}

/** One entry; or the paths of what is wrong with it. Reads also a single evidence that is not in an array. */
function readEntry(proposed: unknown): ProposedEntry | { problem: string } {
  const result = entrySchema.safeParse(withEvidenceArray(proposed));
  if (result.success) return result.data;
  const issues = result.error.issues.slice(0, 3).map((issue) => `${pathOf(issue.path)}: ${shorten(issue.message)}`);
  return { problem: `${issues.join('; ')}. ${EXPECTED}` };
}

function messageOf(proposed: unknown): string {
  const { evidence } = (withEvidenceArray(proposed) ?? {}) as Partial<ProposedEntry>;
  return String(evidence?.[0]?.message);
}

function withEvidenceArray(proposed: unknown): unknown {
  if (typeof proposed !== 'object' || proposed === null || !Object.hasOwn(proposed, 'evidence')) return proposed;
  const { evidence } = proposed as { evidence: unknown };
  const isSingle = typeof evidence === 'object' && evidence !== null && !Array.isArray(evidence);
  return isSingle ? { ...proposed, evidence: [evidence] } : proposed;
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'nothing';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function pathOf(path: PropertyKey[]): string {
  return (
    path
      .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
      .join('')
      .replace(/^\./, '') || 'entry'
  );
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
