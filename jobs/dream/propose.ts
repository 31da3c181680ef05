// What a request says, what it would cost (a dry run, which asks no model and changes nothing), and the asking itself.
// Lets the model propose what becomes of a batch of entries. It may try as often as its turns allow: what code refuses
// comes back to it as the reasons, and alone. What stands at the end is kept; the entries of the rest are left for
// another night, with what was wrong.

import { z } from 'zod';
import type { Tool } from '../../src/agent/tools.ts';
import type { ToolDefinition, ToolReply } from '../../src/agent/types.ts';
import { batchPrice, costMicroUsd, type Price } from '../../src/base/config/prices.ts';
import { AppError, isAppError } from '../../src/base/errors.ts';
import { asData, renderPrompt } from '../../src/base/prompt.ts';
import { withoutTagLines } from '../../src/base/text/injection.ts';
import { redact } from '../../src/base/text/redact.ts';
import { type Clock, dayOf } from '../../src/base/time.ts';
import { sessionOf } from '../../src/memory/dream/operation-lines.ts';
import { type KnownEntry, type Operation, offeredSchema } from '../../src/memory/dream/operations.ts';
import { noteLeft, reasonsLeft } from '../../src/memory/dream/unplaced.ts';
import { lookAtHistory } from '../../src/memory/history/log-items.ts';
import type { SpentTotal } from '../../src/memory/home/spend.ts';
import { entriesSent, type Waits, waitsOf } from '../../src/memory/ledger/batches.ts';
import { sessionRow } from '../../src/memory/ledger/coverage.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { BatchSummary } from '../../src/memory/text/dream-report.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { type AgentDeps, runWithTools } from '../run-agent.ts';
import { describePlace } from '../session-place.ts';
import { Check, type Rehearse, type Verdict } from './check.ts';
import { renderTopics } from './draft.ts';
import { loadEntries } from './load.ts';
import { batches, type Context, contextOf, selectTopics } from './select.ts';

export interface ProposeDeps extends AgentDeps {
  store: Store;
  clock: Clock;
  zone: string;
  /** Tokens of topics that are shown. */
  batchTokens: number;
}

/** What one request is about. */
export interface Part {
  fresh: EntryRow[];
  withdrawn: EntryRow[];
  /** What code found wrong with an earlier proposal for the same entries. */
  refused?: string[];
  /** Steers it in place of the run's own. */
  instructions?: string;
}

export interface Proposal {
  operations: Operation[];
  /** What code found wrong with what was proposed. */
  refused: string[];
  /** Entries that wait for another night, with what stood in their way. */
  left: { entry: string; reason: string }[];
}

/** What a request to the model says: the same for a dream, a dry run and a batch. */
export async function requestFor(
  { instructions, refused = [], ...what }: Part & { context: Context },
  deps: Pick<ProposeDeps, 'store' | 'clock' | 'zone' | 'batchTokens'>,
): Promise<{ system: string; input: string }> {
  const entries = [...what.context.entries.values()];
  const withdrawn = entries.filter((entry) => entry.isWithdrawn);
  const sessions = [...new Set(entries.map(sessionOf))];
  const { shown, others, unnamed, changed } = await selectTopics(deps.store, what, deps.batchTokens);
  const names = await Promise.all(
    others.map(
      async ({ name, type, description }) => `${name} (${type ?? 'untyped'}) — ${(await redact(description)).text}`,
    ),
  );
  if (unnamed > 0) names.push(`(and ${unnamed} more that share no words with the entries)`);
  const problemsBefore = [...refused, ...reasonsLeft(deps.store.ledger, [...what.context.entries.keys()])];
  const system = await renderPrompt('dream', {});
  const input = await renderPrompt('dream-input', {
    today: dayOf(deps.clock.now(), deps.zone),
    instructions: asData(instructions),
    sessions: asData(await placesOf(sessions, deps.store)),
    entries: entryLines(
      entries.filter((entry) => !entry.isWithdrawn),
      { sessions, changed },
    ),
    withdrawn: entryLines(withdrawn, { sessions, changed }),
    topics: withoutTagLines(renderTopics(shown, new Set(withdrawn.map((entry) => entry.id)))) || 'none',
    others: withoutTagLines(names.join('\n')) || 'none',
  });
  if (problemsBefore.length === 0) return { system: system.text, input: input.text };
  const problems = withoutTagLines((await redact(problemsBefore.slice(0, MOST_PROBLEMS).join('\n'))).text);
  const again = await renderPrompt('dream-refused', { problems: asData(problems) });
  return { system: system.text, input: `${input.text}\n${again.text}` };
}

/** Asks the model until code finds nothing wrong; throws `bad-reply` where nothing stands at the end. */
async function propose(
  request: Part & { context: Context },
  { rehearse, ...deps }: ProposeDeps & { rehearse: Rehearse },
): Promise<Proposal> {
  const refused = [...(request.refused ?? [])];
  const check = new Check({ context: request.context, store: deps.store, rehearse });
  let last: Verdict | undefined;
  const tool: Tool = {
    definition: PROPOSAL_TOOL,
    async call(input) {
      last = await check.take(input);
      refused.push(...last.problems);
      return replyTo(last);
    },
  };
  await runWithTools({ memory: deps.store.dir, ...(await requestFor(request, deps)) }, [tool], deps);
  const operations = check.standing();
  const left = leftBy(last, request.context);
  if (operations.length > 0) return { operations, refused, left };
  noteLeft(deps.store.ledger, { left, settled: [], now: deps.clock.now() });
  throw new AppError(
    'bad-reply',
    `The model proposed no operations that could be carried out for ${request.context.entries.size} entries.`,
    { remedy: 'Nothing was changed; the next dream tries again. A stronger model helps.' },
  );
}

/** What the model is told: nothing more where all stands, else what is to be sent again. */
function replyTo({ problems, notes, standing, left }: Verdict): ToolReply {
  if (problems.length === 0) {
    return { text: ['Accepted. Nothing more is to be done.', ...notes].join('\n'), isError: false, endsRun: true };
  }
  const said = problems.slice(0, MOST_PROBLEMS);
  const stands = `These stand, and are not to be sent again: operations ${standing.join(', ')}.`;
  const again =
    left.length > 0 ? `Send only operations for what is left: ${left.join(', ')}.` : 'Send what is wrong again.';
  return {
    text: [...(standing.length > 0 ? [stands] : []), ...notes, ...said, again].join('\n'),
    isError: standing.length === 0,
  };
}

/** The entries that nothing standing is about, each with what was said against it. */
function leftBy(last: Verdict | undefined, context: Context): Proposal['left'] {
  const left = last?.left ?? [...context.entries.keys()];
  const reason = (last?.problems ?? []).slice(0, 3).join(' ') || 'The model proposed nothing for it.';
  return left.map((entry) => {
    const own = last?.problems.filter((problem) => problem.includes(entry)) ?? [];
    return { entry, reason: (own.join(' ') || reason).slice(0, 1_000) };
  });
}

/** A part with what was known when it was asked about, and what that cost. */
export interface ProposedPart extends Part {
  context: Context;
  spend: BatchSummary['spend'];
}

export interface AskedParts {
  instructions?: string;
  parts: Part[];
  keep(proposal: Proposal, part: ProposedPart): Promise<void>;
  /** Why operations could not be kept; null: they could. */
  rehearse(operations: Operation[], part: Part & { context: Context }): Promise<string | null>;
}

/** Asks about part after part, in smaller ones where a model finds one too long; `keep` takes each proposal. */
export async function proposeParts(ask: AskedParts, deps: ProposeDeps): Promise<void> {
  const { spend } = deps;
  let { batchTokens } = deps;
  const split = ({ fresh, withdrawn, ...part }: Part) =>
    batches(fresh, { tokens: batchTokens, hasWithdrawn: withdrawn.length > 0 }).map(
      (entries, at): Part => ({ ...part, fresh: entries, withdrawn: at === 0 ? withdrawn : [] }),
    );
  for (let waiting = ask.parts.flatMap(split); waiting.length > 0; ) {
    const [part, ...later] = waiting as [Part, ...Part[]];
    const context = await contextOf(part.fresh, part.withdrawn);
    const before = spend.total();
    let proposal: Proposal;
    try {
      const rehearse: Rehearse = (operations) => ask.rehearse(operations, { ...part, context });
      proposal = await propose(
        { instructions: ask.instructions, ...part, context },
        { ...deps, batchTokens, rehearse },
      );
    } catch (error) {
      if (!isAppError(error, 'oversize') || batchTokens < 2 * SMALLEST_BATCH_TOKENS) throw error;
      // Fewer entries, beside fewer topics.
      batchTokens = Math.floor(batchTokens / 2);
      waiting = waiting.flatMap(split);
      continue;
    }
    await ask.keep(proposal, { ...part, context, spend: spentSince(before, spend.total()) });
    waiting = later;
  }
}

function spentSince(before: SpentTotal, after: SpentTotal): BatchSummary['spend'] {
  return {
    calls: after.calls - before.calls,
    inputTokens: after.rawInputTokens - before.rawInputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
    microUsd: after.microUsd === null ? null : after.microUsd - (before.microUsd ?? 0),
  };
}

/** Where the sessions ran, those of one place in one line: a rule of one project need not hold in another. */
async function placesOf(sessions: string[], store: Store): Promise<string> {
  const names = Map.groupBy(sessions.keys(), (at) => sessionRow(store.ledger, sessions[at] as string)?.cwd);
  const lines = [...names].map(async ([cwd, at]) => `${at.map(nameOf).join(', ')}: ${await describePlace(cwd)}`);
  return (await Promise.all(lines)).join('\n');
}

function nameOf(at: number): string {
  return `s${at + 1}`;
}

/** A session is shown as a short name, since only whether it is another one matters. */
function entryLines(
  entries: KnownEntry[],
  { sessions, changed }: { sessions: string[]; changed: Map<string, string[]> },
): string {
  const lines = entries.map(({ isWithdrawn: _, speakers = [], quotes, ...entry }) => {
    const session = nameOf(sessions.indexOf(sessionOf(entry)));
    const old = changed.get(entry.id);
    const said = quotes.map((quote, at) => (speakers[at] ? { by: speakers[at], quote } : quote));
    return withoutTagLines(JSON.stringify({ ...entry, ...(old && { lines: old }), quotes: said, session }));
  });
  return lines.join('\n') || 'none';
}

/** What a model finds too long is split down to this. */
const SMALLEST_BATCH_TOKENS = 500;
/** Of what is wrong with a proposal, a model is told so much at once. */
const MOST_PROBLEMS = 40;

/** What the model calls. */
export const PROPOSAL_TOOL: Extract<ToolDefinition, { kind: 'custom' }> = {
  kind: 'custom',
  name: 'propose_operations',
  description:
    'Proposes what becomes of every entry. Code checks each operation; where one is refused, the reply says what to mend. ' +
    'Send again only what was refused.',
  inputSchema: z.toJSONSchema(offeredSchema, { io: 'input' }),
};

export interface DreamEstimate {
  model: string;
  /** New, changed and held entries, and those that are no longer in the logs. */
  entries: number;
  withdrawn: number;
  requests: { system: string; input: string; inputTokens: number; outputTokens: number }[];
  /** Estimated on the high side, without what code refuses and the model mends. */
  inputTokens: number;
  outputTokens: number;
  /** Millionths of a dollar; null for a model without a price. */
  microUsd: number | null;
  /** The same where the night sends it as a Message Batch. */
  batchMicroUsd?: number | null;
  /** What waits in a batch already; it is not among the entries. */
  waits?: Waits;
}

/** Tokens of an operation around the words of its line. */
const OPERATION_TOKENS = 120;

/** Later batches are shown the memory as it is now, before the earlier ones changed it. */
export async function estimateDream(
  request: { instructions?: string },
  deps: Pick<ProposeDeps, 'store' | 'clock' | 'zone' | 'batchTokens'> & {
    model: string;
    price?: Price;
    isBatch?: boolean;
  },
): Promise<DreamEstimate> {
  const { store, model, price } = deps;
  const open = entriesSent(store.ledger, 'open');
  const all = await loadEntries(store, await lookAtHistory(store));
  const fresh = all.fresh.filter(({ id }) => !open.has(id));
  const gone = all.withdrawn.filter(({ id }) => !open.has(id));
  const requests: DreamEstimate['requests'] = [];
  const limit = { tokens: deps.batchTokens, hasWithdrawn: gone.length > 0 };
  for (const [at, part] of batches(fresh, limit).entries()) {
    const withdrawn = at === 0 ? gone : [];
    const context = await contextOf(part, withdrawn);
    const asked = await requestFor({ ...request, fresh: part, withdrawn, context }, deps);
    const said = part.reduce((sum, entry) => sum + estimateTokens(entry.text) + OPERATION_TOKENS, 0);
    const inputTokens = estimateTokens(asked.system) + estimateTokens(asked.input);
    requests.push({ ...asked, inputTokens, outputTokens: said + withdrawn.length * OPERATION_TOKENS });
  }
  const sum = (what: 'inputTokens' | 'outputTokens') => requests.reduce((total, each) => total + each[what], 0);
  const [inputTokens, outputTokens] = [sum('inputTokens'), sum('outputTokens')];
  // One request for each part: the prompt is written to the cache, and read from it only where something is refused.
  const used = { inputTokens, cacheWriteTokens: inputTokens, cachedInputTokens: 0, outputTokens };
  return {
    model,
    entries: fresh.length,
    withdrawn: gone.length,
    requests,
    inputTokens,
    outputTokens,
    microUsd: price ? costMicroUsd(used, price) : null,
    ...(deps.isBatch && { batchMicroUsd: price ? costMicroUsd(used, batchPrice(price)) : null }),
    waits: waitsOf(store.ledger) ?? undefined,
  };
}
