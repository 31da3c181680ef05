// Lets the model propose what becomes of a batch of entries. It may try as often as its turns allow: what code refuses
// comes back to it as the reasons.

import { z } from 'zod';
import type { Tool } from '../../src/agent/tools.ts';
import type { ToolDefinition } from '../../src/agent/types.ts';
import { AppError, isAppError } from '../../src/errors.ts';
import { withoutTagLines } from '../../src/injection.ts';
import { checkOperations } from '../../src/memory/dream/operation-checks.ts';
import { sessionOf } from '../../src/memory/dream/operation-lines.ts';
import { type DreamWorld, type KnownEntry, type Operation, proposalSchema } from '../../src/memory/dream/operations.ts';
import type { SpentTotal } from '../../src/memory/home/spend.ts';
import { sessionRow } from '../../src/memory/ledger/coverage.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { BatchSummary } from '../../src/memory/text/dream-report.ts';
import { asData, renderPrompt } from '../../src/prompt.ts';
import { redact } from '../../src/redact.ts';
import { type Clock, dayOf } from '../../src/time.ts';
import { type AgentDeps, runWithTools } from '../run-agent.ts';
import { describePlace } from '../session-place.ts';
import { type OverlayTopic, readHolding, readNamed, renderTopics } from './overlay.ts';
import { batches, selectTopics, worldOf } from './selection.ts';

type World = DreamWorld<OverlayTopic>;

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
  /** What code found wrong with the proposals before. */
  refused: string[];
}

/** What a request to the model says: the same for a dream, a dry run and a batch. */
export async function requestFor(
  { instructions, refused = [], ...what }: Part & { world: World },
  deps: Pick<ProposeDeps, 'store' | 'clock' | 'zone' | 'batchTokens'>,
): Promise<{ system: string; input: string }> {
  const entries = [...what.world.entries.values()];
  const withdrawn = entries.filter((entry) => entry.isWithdrawn);
  const sessions = [...new Set(entries.map(sessionOf))];
  const { shown, others, unnamed } = await selectTopics(deps.store, what, deps.batchTokens);
  const names = await Promise.all(
    others.map(
      async ({ name, type, description }) => `${name} (${type ?? 'untyped'}) — ${(await redact(description)).text}`,
    ),
  );
  if (unnamed > 0) names.push(`(and ${unnamed} more that share no words with the entries)`);
  const system = await renderPrompt('dream', {});
  const input = await renderPrompt('dream-input', {
    today: dayOf(deps.clock.now(), deps.zone),
    instructions: asData(instructions),
    sessions: asData(await placesOf(sessions, deps.store)),
    entries: entryLines(
      entries.filter((entry) => !entry.isWithdrawn),
      sessions,
    ),
    withdrawn: entryLines(withdrawn, sessions),
    topics: withoutTagLines(renderTopics(shown, new Set(withdrawn.map((entry) => entry.id)))) || 'none',
    others: withoutTagLines(names.join('\n')) || 'none',
  });
  if (refused.length === 0) return { system: system.text, input: input.text };
  const problems = withoutTagLines((await redact(refused.slice(0, MOST_PROBLEMS).join('\n'))).text);
  const again = await renderPrompt('dream-refused', { problems: asData(problems) });
  return { system: system.text, input: `${input.text}\n${again.text}` };
}

/** Asks the model until code finds nothing wrong with its operations; throws `bad-reply` where it never comes so far. */
async function propose(request: Part & { world: World }, deps: ProposeDeps): Promise<Proposal> {
  let accepted: Operation[] | undefined;
  const refused = [...(request.refused ?? [])];
  const tool = proposalTool(request.world, deps.store, {
    accept: (operations) => {
      accepted = operations;
    },
    refuse: (problems) => refused.push(...problems),
  });
  await runWithTools(await requestFor(request, deps), [tool], deps);
  if (accepted) return { operations: accepted, refused };
  throw new AppError(
    'bad-reply',
    `The model proposed no operations that could be carried out for ${request.world.entries.size} entries.`,
    { remedy: 'Nothing was changed; the next dream tries again. A stronger model helps.' },
  );
}

/** A part with what was known when it was asked about, and what that cost. */
export interface ProposedPart extends Part {
  world: World;
  spend: BatchSummary['spend'];
}

/** Asks about part after part, in smaller ones where a model finds one too long; `keep` takes each proposal. */
export async function proposeParts(
  ask: {
    instructions?: string;
    parts: Part[];
    keep(proposal: Proposal, part: ProposedPart): Promise<void>;
  },
  deps: ProposeDeps,
): Promise<void> {
  const { spend } = deps;
  let { batchTokens } = deps;
  const split = ({ fresh, withdrawn, ...part }: Part) =>
    batches(fresh, { tokens: batchTokens, hasWithdrawn: withdrawn.length > 0 }).map(
      (entries, at): Part => ({ ...part, fresh: entries, withdrawn: at === 0 ? withdrawn : [] }),
    );
  for (let waiting = ask.parts.flatMap(split); waiting.length > 0; ) {
    const [part, ...later] = waiting as [Part, ...Part[]];
    const world = await worldOf(part.fresh, part.withdrawn);
    const before = spend.total();
    let proposal: Proposal;
    try {
      proposal = await propose({ instructions: ask.instructions, ...part, world }, { ...deps, batchTokens });
    } catch (error) {
      if (!isAppError(error, 'oversize') || batchTokens < 2 * SMALLEST_BATCH_TOKENS) throw error;
      // Fewer entries, beside fewer topics.
      batchTokens = Math.floor(batchTokens / 2);
      waiting = waiting.flatMap(split);
      continue;
    }
    await ask.keep(proposal, { ...part, world, spend: spentSince(before, spend.total()) });
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
function entryLines(entries: KnownEntry[], sessions: string[]): string {
  const lines = entries.map(({ isWithdrawn: _, ...entry }) => {
    const session = nameOf(sessions.indexOf(sessionOf(entry)));
    return withoutTagLines(JSON.stringify({ ...entry, session }));
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
    'Proposes what becomes of every entry. Code checks the whole list and carries it out, or says what to mend.',
  inputSchema: z.toJSONSchema(proposalSchema),
};

/** What a model proposes, redacted and checked against the world as it stands; or what is wrong with it. */
export async function checkProposal(
  input: unknown,
  { world, store }: { world: World; store: Store },
): Promise<{ operations: Operation[] } | { problems: string[] }> {
  const proposal = proposalSchema.safeParse(await redacted(input));
  if (!proposal.success) return { problems: [z.prettifyError(proposal.error)] };
  const { operations } = proposal.data;
  const names = operations.flatMap((each) => ('topic' in each ? each.topic : []));
  try {
    // A topic that was not shown may be there all the same.
    await readNamed(store, names, world.topics);
  } catch (error) {
    // What stands there is no file of the memory: a link that leads out of it.
    if (isAppError(error, 'bad-input')) return { problems: [error.message] };
    throw error;
  }
  const replaced = operations.flatMap((each) => ('replaces' in each ? each.replaces : []));
  await readHolding(store, replaced, world.topics);
  const problems = checkOperations(operations, world, store.limits);
  return problems.length > 0 ? { problems } : { operations };
}

/** The tool by which a model proposes; what code lets through goes to `accept`, what is wrong to `refuse`. */
function proposalTool(
  world: World,
  store: Store,
  answer: { accept(operations: Operation[]): void; refuse(problems: string[]): void },
): Tool {
  return {
    definition: PROPOSAL_TOOL,
    async call(input) {
      const checked = await checkProposal(input, { world, store });
      if ('operations' in checked) {
        answer.accept(checked.operations);
        return { text: 'Accepted. Nothing more is to be done.', isError: false, endsRun: true };
      }
      answer.refuse(checked.problems);
      return { text: checked.problems.slice(0, MOST_PROBLEMS).join('\n'), isError: true };
    },
  };
}

/** The same JSON value with every text in it redacted: nothing a model writes reaches the disk otherwise. */
async function redacted(value: unknown): Promise<unknown> {
  if (typeof value === 'string') return (await redact(value)).text;
  if (Array.isArray(value)) return Promise.all(value.map(redacted));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    await Promise.all(Object.entries(value).map(async ([key, item]) => [key, await redacted(item)] as const)),
  );
}
