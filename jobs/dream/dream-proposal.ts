// What a request of a dream says, and the asking: a model proposes what becomes of a slice's entries. It may try as often as its
// turns allow: what code refuses comes back to it with the reasons, and alone. What stands at the end is kept; the entries of the rest
// are left for another night, with what was wrong.

import { z } from 'zod';
import type { ToolDefinition } from '../../src/agent/agent-types.ts';
import { type AgentDeps, runWithTools } from '../../src/agent/run-with-tools.ts';
import type { Tool } from '../../src/agent/tools.ts';
import { AppError, isAppError } from '../../src/base/errors.ts';
import { asData, NONE, renderPrompt } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/secrets/redact-text.ts';
import { type Clock, dayOf } from '../../src/base/time.ts';
import type { Memories, MemoryRow } from '../../src/memory/memories.ts';
import { placeOf } from '../../src/memory/memory-paths.ts';
import { describePlace } from '../../src/memory/projects.ts';
import { proposalSchema } from '../../src/memory/text/operations.ts';
import { MOST_PROBLEMS, ProposedOperations, replyTo } from '../../src/memory/text/proposed-operations.ts';
import { editsOf, entryLines, nameOfSession, renderTopics } from '../../src/memory/text/topic-edits.ts';
import { withoutTagLines } from '../../src/rules/as-read.ts';
import { linesOut, type Operation, sessionOf } from '../../src/rules/dream-context.ts';
import type { Shown, Slice } from './dream-slices.ts';
import { relinked } from './relinking.ts';
import { type DraftPlace, openHolding, openNamed } from './topic-draft.ts';

export interface ProposeDeps extends AgentDeps {
  memories: Memories;
  memory: MemoryRow;
  clock: Clock;
  zone: string;
}

export interface Asked {
  slice: Slice;
  place: DraftPlace;
  shown: Shown;
  /** What stood in the way in earlier nights, a sentence each. */
  before: string[];
  instructions?: string;
}

/** What a request to the model says: the same for a dream and a dry run. */
export async function requestFor(
  { slice, place, shown, before, instructions }: Asked,
  { clock, zone }: Pick<ProposeDeps, 'clock' | 'zone'>,
): Promise<{ system: string; input: string }> {
  const entries = [...place.context.entries.values()];
  const withdrawn = entries.filter((entry) => entry.isWithdrawn);
  const sessions = [...new Set(entries.map(sessionOf))];
  const told = { sessions, changed: shown.changed };
  const names = shown.others.map(
    ({ topic: { name, type, description } }) => `${name} (${type ?? 'untyped'}) — ${description}`,
  );
  if (shown.unnamed > 0) names.push(`(and ${shown.unnamed} more that share no words with the entries)`);
  if (shown.pinned.length > 0) names.push(`(pinned, nothing goes into them: ${shown.pinned.join(', ')})`);
  const cwds = new Map([...slice.fresh, ...slice.withdrawn].map((entry) => [sessionOf(entry), entry.cwd]));
  const asShown = async (text: string) => withoutTagLines((await redact(text)).text);
  const { text: system } = await renderPrompt('dream', {});
  const { text: input } = await renderPrompt('dream-input', {
    today: dayOf(clock.now(), zone),
    instructions: asData(instructions),
    sessions: asData(await placesOf(sessions, cwds)),
    entries: entryLines(
      entries.filter((entry) => !entry.isWithdrawn),
      told,
    ),
    withdrawn: entryLines(withdrawn, told),
    topics: withoutTagLines(renderTopics(shown.topics, new Set(withdrawn.map(({ id }) => id)))) || NONE,
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
  const proposed = proposedFor(asked.place, deps);
  const tool: Tool = { definition: PROPOSAL_TOOL, call: async (input) => replyTo(await proposed.take(input)) };
  await runWithTools({ memory: deps.memory.id, ...(await requestFor(asked, deps)) }, [tool], deps);
  return proposed;
}

/** The error of a request of which nothing stands. */
export function nothingStands({ place }: Asked): AppError {
  return new AppError(
    'bad-reply',
    `The model proposed no operations that could be carried out for ${place.context.entries.size} entries.`,
    { remedy: 'Nothing was changed; the next dream tries again. A stronger model helps.' },
  );
}

function proposedFor(place: DraftPlace, { memories, memory }: ProposeDeps): ProposedOperations {
  const { context } = place;
  return new ProposedOperations({
    context,
    limits: memories.limits,
    read: (operation) => answered(() => readNamed(operation, place, memory.dir)),
    keepsName: async (rename) => {
      const [linked = null] = await answered(() => relinked(place.sql, place.memory, editsOf([rename], context)));
      return linked;
    },
  });
}

/** Reads what an operation names and was not shown. */
async function readNamed(operation: Operation, place: DraftPlace, dir: string | null): Promise<void> {
  const names =
    operation.kind === 'drop' ? [] : [operation.topic, operation.kind === 'rename' ? operation.to : undefined];
  for (const name of names) {
    // What stands there may be no file of the memory: a link that leads out of it.
    if (name !== undefined && dir !== null) placeOf(dir, `${name}.md`);
    if (name !== undefined) await openNamed([name], place);
  }
  await openHolding(linesOut(operation), place);
}

/** What code says against something, if anything. */
async function answered(work: () => Promise<unknown>): Promise<string[]> {
  try {
    await work();
    return [];
  } catch (error) {
    if (isAppError(error, 'bad-input') || isAppError(error, 'refused')) return [error.message];
    throw error;
  }
}
