// What a request says, and the asking: lets the model propose what becomes of a slice's entries. It may try as often as its turns allow: what code refuses
// comes back to it as the reasons, and alone. What stands at the end is kept; the entries of the rest are left for
// another night, with what was wrong.

import { z } from 'zod';
import { type AgentDeps, runWithTools } from '../../src/agent/run-with-tools.ts';
import type { Tool } from '../../src/agent/tools.ts';
import type { ToolDefinition } from '../../src/agent/types.ts';
import { AppError, isAppError } from '../../src/base/errors.ts';
import { asData, renderPrompt } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/text/redact.ts';
import { type Clock, dayOf } from '../../src/base/time.ts';
import { noteLeft, reasonsLeft } from '../../src/memory/dream/habits.ts';
import { describePlace } from '../../src/memory/home/projects.ts';
import type { JobSpend, SpentTotal } from '../../src/memory/home/spend.ts';
import { sessionRow } from '../../src/memory/ledger/coverage.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Store } from '../../src/memory/store/store.ts';
import type { SliceSummary } from '../../src/memory/text/dream-report.ts';
import { proposalSchema } from '../../src/memory/text/operations.ts';
import {
  type CheckedAgainst,
  MOST_PROBLEMS,
  ProposedOperations,
  replyTo,
} from '../../src/memory/text/proposed-operations.ts';
import { editsOf, entryLines, nameOfSession, renderTopics } from '../../src/memory/text/topic-edits.ts';
import { withoutTagLines } from '../../src/rules/as-read.ts';
import { linesOut, type Operation, sessionOf } from '../../src/rules/dream-context.ts';
import { type Checked, type CommitDeps, sizeOf } from './commit.ts';
import { readHolding, readNamed, relinked } from './draft.ts';
import type { Context, Selected } from './select.ts';

export interface ProposeDeps extends AgentDeps {
  spend: JobSpend;
  store: Store;
  clock: Clock;
  zone: string;
  /** Tokens of entries, and of topics, that one request is shown. */
  requestTokens: number;
}

/** What a request to the model says: the same for a dream and a dry run. */
export async function requestFor(
  { slice, context, shown, others, unnamed, pinned, changed }: Selected,
  deps: Pick<ProposeDeps, 'store' | 'clock' | 'zone'>,
): Promise<{ system: string; input: string }> {
  const { instructions } = slice;
  const entries = [...context.entries.values()];
  const withdrawn = entries.filter((entry) => entry.isWithdrawn);
  const sessions = [...new Set(entries.map(sessionOf))];
  const names = await Promise.all(
    others.map(
      async ({ name, type, description }) => `${name} (${type ?? 'untyped'}) — ${(await redact(description)).text}`,
    ),
  );
  if (unnamed > 0) names.push(`(and ${unnamed} more that share no words with the entries)`);
  if (pinned.length > 0) names.push(`(pinned, nothing goes into them: ${pinned.join(', ')})`);
  const problemsBefore = reasonsLeft(deps.store.ledger, [...context.entries.keys()]);
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

/** `oversize`: the model finds the request too long. */
type Proposed = { outcome: 'proposed'; spend: SliceSummary['spend'] } | { outcome: 'oversize'; error: AppError };

/** Asks the model until `check` finds nothing wrong; throws `bad-reply` where nothing stands at the end. */
export async function propose(selected: Selected, check: ProposedOperations, deps: ProposeDeps): Promise<Proposed> {
  const { store, spend, clock } = deps;
  const before = spend.total();
  const tool: Tool = { definition: PROPOSAL_TOOL, call: async (input) => replyTo(await check.take(input)) };
  try {
    await runWithTools({ memory: store.id, ...(await requestFor(selected, deps)) }, [tool], deps);
  } catch (error) {
    if (isAppError(error, 'oversize')) return { outcome: 'oversize', error };
    throw error;
  }
  const { standing, left } = check;
  if (standing.length > 0) return { outcome: 'proposed', spend: spentSince(before, spend.total()) };
  const now = clock.now();
  await store.enterRows((ledger) => noteLeft(ledger, { left, placed: [], now }));
  throw new AppError(
    'bad-reply',
    `The model proposed no operations that could be carried out for ${selected.context.entries.size} entries.`,
    { remedy: 'Nothing was changed; the next dream tries again. A stronger model helps.' },
  );
}

function spentSince(before: SpentTotal, after: SpentTotal): SliceSummary['spend'] {
  return {
    calls: after.calls - before.calls,
    inputTokens: after.rawInputTokens - before.rawInputTokens,
    outputTokens: after.outputTokens - before.outputTokens,
    microUsd: after.microUsd === null ? null : after.microUsd - (before.microUsd ?? 0),
    ...((after.onPlan ?? 0) > (before.onPlan ?? 0) && { isOnPlan: true }),
  };
}

/** Where the sessions ran, those of one place in one line: a rule of one project need not hold in another. */
async function placesOf(sessions: string[], store: Store): Promise<string> {
  const names = Map.groupBy(sessions.keys(), (at) => sessionRow(store.ledger, sessions[at] as string)?.cwd);
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

export function proposedFor({ context }: Pick<Selected, 'context'>, { store }: CommitDeps): ProposedOperations {
  context.lines ??= sizeOf(store.ledger).lines;
  return new ProposedOperations({
    context,
    limits: store.limits,
    read: (operation) => readOperation(operation, context, store),
    keepsName: (rename) => linkedBy(rename, context, store),
  });
}

/** What stands of it, as it is committed; all else is left. */
export function checkedOf(
  proposed: ProposedOperations,
  { slice: { fresh, withdrawn }, context }: Pick<Selected, 'slice' | 'context'>,
): Checked & { left: NonNullable<Checked['left']> } {
  const { standing: operations, refused, left } = proposed;
  const open = new Set(left.map(({ entry }) => entry));
  const isPlaced = ({ id }: EntryRow) => !open.has(id);
  return {
    ...{ operations, context, refused, left },
    fresh: fresh.filter(isPlaced),
    withdrawn: withdrawn.filter(isPlaced),
  };
}

/** Reads what an operation names and was not shown; answers what cannot be changed of it. */
async function readOperation(
  operation: Operation,
  { topics }: Context,
  store: CommitDeps['store'],
): ReturnType<CheckedAgainst['read']> {
  const names = operation.kind === 'drop' ? [] : [operation.topic, operation.kind === 'rename' ? operation.to : null];
  try {
    await readNamed(
      store,
      names.filter((name) => typeof name === 'string'),
      topics,
    );
    await readHolding(store, linesOut(operation), topics);
    return [];
  } catch (error) {
    // What stands there is no file of the memory: a link that leads out of it.
    if (isAppError(error, 'bad-input')) return [error.message];
    throw error;
  }
}

/** Why a topic keeps its name: a person's line links it. */
async function linkedBy(
  rename: Operation,
  context: Context,
  store: CommitDeps['store'],
): ReturnType<CheckedAgainst['keepsName']> {
  try {
    await relinked(editsOf([rename], context), store);
    return null;
  } catch (error) {
    if (isAppError(error, 'refused')) return error.message;
    throw error;
  }
}
