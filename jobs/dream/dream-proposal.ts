// What a request of a dream says, and the asking: a model proposes what becomes of a slice's entries. It may try as often as its
// turns allow: what code refuses comes back to it with the reasons, and alone. What stands at the end is kept; the entries of the rest
// are left for another night, with what was wrong. And what a dream would send now, and about what it would cost, with nothing asked:
// later requests are shown the memory as it is now, before the earlier ones changed it.

import { z } from 'zod';
import type { ToolDefinition } from '../../src/agent/agent-types.ts';
import type { Tool } from '../../src/agent/tools.ts';
import { type AgentDeps, runWithTools } from '../../src/agent/tools.ts';
import { costMicroUsd, type Price } from '../../src/base/config/prices.ts';
import { AppError } from '../../src/base/errors.ts';
import { asData, NONE, renderPrompt } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/secrets/redact-text.ts';
import { type Clock, dayOf } from '../../src/base/time.ts';
import { entriesWhere } from '../../src/memory/entries.ts';
import type { Memories, MemoryRow } from '../../src/memory/memories.ts';
import { describePlace } from '../../src/memory/projects.ts';
import { entryLines, nameOfSession, proposalSchema, renderTopics } from '../../src/memory/text/operations.ts';
import { MOST_PROBLEMS, ProposedOperations, replyTo } from '../../src/memory/text/proposed-operations.ts';
import { withoutTagLines } from '../../src/rules/as-read.ts';
import { linesOut, type Operation, sessionOf } from '../../src/rules/dream-context.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { type Shown, select, slicesOf } from './dream-slices.ts';
import { contextOf, type DraftPlace, type NightEntry, openHolding, openNamed, standingFiles } from './topic-draft.ts';

export type ProposeDeps = AgentDeps & { memories: Memories; memory: MemoryRow; clock: Clock; zone: string };

export interface Asked {
  fresh: NightEntry[];
  place: DraftPlace;
  shown: Shown;
  /** What stood in the way in earlier nights, a sentence each. */
  before: string[];
  instructions?: string;
}

/** What a request to the model says: the same for a dream and a dry run. */
async function requestFor(
  { fresh, place, shown, before, instructions }: Asked,
  { clock, zone }: Pick<ProposeDeps, 'clock' | 'zone'>,
): Promise<{ system: string; input: string }> {
  const entries = [...place.context.entries.values()];
  const sessions = [...new Set(entries.map(sessionOf))];
  const told = { sessions, changed: shown.changed };
  const names = shown.others.map(
    ({ topic: { name, type, description } }) => `${name} (${type ?? 'untyped'}) — ${description}`,
  );
  if (shown.unnamed > 0) names.push(`(and ${shown.unnamed} more that share no words with the entries)`);
  if (shown.pinned.length > 0) names.push(`(pinned, nothing goes into them: ${shown.pinned.join(', ')})`);
  const cwds = new Map(fresh.map(({ name, cwd }) => [sessionOf({ session: name ?? '' }), cwd]));
  const asShown = async (text: string) => withoutTagLines((await redact(text)).text);
  const { text: system } = await renderPrompt('dream', {});
  const { text: input } = await renderPrompt('dream-input', {
    today: dayOf(clock.now(), zone),
    instructions: asData(instructions),
    sessions: asData(await placesOf(sessions, cwds)),
    entries: entryLines(entries, told),
    topics: withoutTagLines(renderTopics(shown.topics)) || NONE,
    others: (await asShown(names.join('\n'))) || NONE,
  });
  if (before.length === 0) return { system, input };
  const problems = asData(await asShown(before.slice(0, MOST_PROBLEMS).join('\n')));
  return { system, input: `${input}\n${(await renderPrompt('dream-refused', { problems })).text}` };
}

/** Where the sessions ran, those of one place in one line: a rule of one project need not hold in another. */
async function placesOf(sessions: string[], cwds: Map<string, string | null>): Promise<string> {
  const names = Map.groupBy(sessions.keys(), (at) => cwds.get(sessions[at] as string) ?? undefined);
  const lines = [...names].map(async ([cwd, at]) => `${at.map(nameOfSession).join(', ')}: ${await describePlace(cwd)}`);
  return (await Promise.all(lines)).join('\n');
}

/** What the model calls. */
export const PROPOSAL_TOOL: Extract<ToolDefinition, { kind: 'custom' }> = {
  kind: 'custom',
  name: 'propose_operations',
  description:
    'Proposes what becomes of every entry. Code checks each operation; where one is refused, the reply says what to mend. ' +
    'Send again only what was refused.',
  inputSchema: z.toJSONSchema(proposalSchema, {
    io: 'input',
    // Bounds that hardly any answer meets cost tokens in every request; code tells of them where one does.
    override({ jsonSchema }) {
      for (const bound of ['minLength', 'maxLength', 'minItems', 'maxItems'] as const) delete jsonSchema[bound];
    },
  }),
};

/** Asks the model until code finds nothing wrong, or its turns end. Errors: `oversize` where the model finds the request too long. */
export async function propose(asked: Asked, deps: ProposeDeps): Promise<ProposedOperations> {
  const { place } = asked;
  const { limits } = deps.memories;
  const read = (operation: Operation) => readNamed(operation, place);
  const proposed = new ProposedOperations({ context: place.context, limits, read });
  const tool: Tool = { definition: PROPOSAL_TOOL, call: async (input) => replyTo(await proposed.take(input)) };
  await runWithTools(await requestFor(asked, deps), [tool], deps);
  return proposed;
}

/** The error of a request of which nothing stands. */
export function nothingStands({ place }: Asked): AppError {
  return new AppError('bad-reply', `The model proposed nothing usable for ${place.context.entries.size} entries.`, {
    remedy: 'Nothing was changed; the next dream tries again. A stronger model helps.',
  });
}

/** Reads what an operation names and was not shown. */
async function readNamed(operation: Operation, place: DraftPlace): Promise<void> {
  if (operation.kind === 'put' && operation.topic !== undefined) await openNamed([operation.topic], place);
  if (operation.kind === 'rename') await openNamed([operation.topic, operation.to], place);
  await openHolding(linesOut(operation), place);
}

export interface DreamEstimate {
  model: string;
  /** New ones. */
  entries: number;
  requests: { system: string; input: string; inputTokens: number; outputTokens: number }[];
  inputTokens: number;
  outputTokens: number;
  /** Null for a model without a price. */
  microUsd: number | null;
}

type EstimateDeps = Pick<ProposeDeps, 'memories' | 'memory' | 'clock' | 'zone'> & {
  requestTokens: number;
  model: string;
  price?: Price;
};

/** Tokens of an operation around the words of its line. */
const OPERATION_TOKENS = 120;

export async function estimateDream(
  { instructions }: { instructions?: string },
  deps: EstimateDeps,
): Promise<DreamEstimate> {
  const { memories, memory, model, price, requestTokens: mostTokens } = deps;
  const { db: sql } = memories;
  const files = await standingFiles(sql, memory.id);
  const fresh: NightEntry[] = await entriesWhere(sql, memory.id, "and state = 'new'");
  const requests: DreamEstimate['requests'] = [];
  for (const slice of slicesOf(fresh, mostTokens)) {
    const place = { sql, memory: memory.id, files, context: await contextOf(slice, files) };
    const shown = await select(slice, place, mostTokens);
    const asked = await requestFor({ fresh: slice, place, shown, before: [], instructions }, deps);
    const said = slice.reduce((sum, entry) => sum + estimateTokens(entry.text) + OPERATION_TOKENS, 0);
    const inputTokens = estimateTokens(asked.system) + estimateTokens(asked.input);
    requests.push({ ...asked, inputTokens, outputTokens: said });
  }
  const sum = (what: 'inputTokens' | 'outputTokens') => requests.reduce((total, each) => total + each[what], 0);
  const [inputTokens, outputTokens] = [sum('inputTokens'), sum('outputTokens')];
  // One request for each slice: the prompt is written to the cache, and read from it only where something is refused.
  const used = {
    calls: requests.length,
    inputTokens,
    cacheWriteTokens: inputTokens,
    cachedInputTokens: 0,
    outputTokens,
  };
  return {
    ...{ model, entries: fresh.length, requests },
    ...{ inputTokens, outputTokens, microUsd: price ? costMicroUsd(used, price) : null },
  };
}
