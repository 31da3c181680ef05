// Runs the forked extractor over one excerpt: its prompt, its tools, its budget. What it records was checked by code;
// nothing is committed here.

import type { FoundEntry } from '../../src/agent/entry-checks.ts';
import { memoryViewTool, recordEntriesTool } from '../../src/agent/tools.ts';
import type { AgentEnding } from '../../src/agent/types.ts';
import { AppError } from '../../src/base/errors.ts';
import { asData, NONE, renderPrompt } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/text/redact.ts';
import { type Clock, dayOf } from '../../src/base/time.ts';
import { entriesOfSession, entryRow } from '../../src/memory/ledger/entries.ts';
import { viewMemory } from '../../src/memory/store/memory-view.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { entryId } from '../../src/memory/text/daily-log.ts';
import { type Excerpt, findSource } from '../../src/transcript/excerpt/excerpt.ts';
import { Guidance } from '../dream/guidance.ts';
import { type AgentDeps, runWithTools } from '../run-agent.ts';
import { describePlace } from '../session-place.ts';
import type { SortedTurns } from './pending-turns.ts';

/** How much of the index the extractor is shown. */
const INDEX_CHARS = 6_000;

/** How much of what the main agent itself wrote down the extractor is shown. */
const WRITTEN_CHARS = 6_000;

export interface ExtractorDeps extends AgentDeps {
  store: Store;
  clock: Clock;
  zone: string;
}

export interface Shown {
  /** Where a request is continued, what points to its messages. */
  excerpt: Excerpt;
  /** Entries of a turn that goes on in the excerpt. */
  waiting: FoundEntry[];
  /** The request to be continued, which holds the messages themselves. */
  continues?: Readonly<Record<string, unknown>>;
}

/** What the extractor found in what it was shown. */
export async function runExtractor(
  run: {
    session: { id: string; cwd?: string };
    request: { instructions?: string };
    reopened: Set<string>;
    sorted: Pick<SortedTurns, 'written'>;
  },
  { excerpt, waiting, continues }: Shown,
  deps: ExtractorDeps,
): Promise<{ ending: AgentEnding; found: FoundEntry[]; prompt: string }> {
  const { store } = deps;
  const find = (id: string) => findSource(excerpt, id);
  const known = entriesOfSession(store.ledger, run.session.id).filter((entry) => !run.reopened.has(entry.turn));
  const isKnown = (candidate: { text: string; message: string; quote: string }) => {
    const row = entryRow(store.ledger, entryId(candidate));
    return row !== undefined && !(row.session === run.session.id && run.reopened.has(row.turn));
  };
  const guidance = await Guidance.ofSession(run.session);
  const record = recordEntriesTool({
    ...{ find, isKnown, redact },
    messages: () => excerpt.sources.values(),
    names: run.session.cwd ? [run.session.cwd] : [],
    saying: (text) => guidance.saying(text, run.session.id),
  });
  const values = {
    today: dayOf(deps.clock.now(), deps.zone),
    zone: deps.zone,
    instructions: asData(run.request.instructions),
    index: asData((await store.read('MEMORY.md'))?.slice(0, INDEX_CHARS)),
    known: asData(
      [...known, ...waiting].map((entry) => entry.text).join('\n') + (await sayWritten(run.sorted.written)),
    ),
  };
  if (continues && excerpt.text !== '') {
    const input = await renderPrompt('extract-fork', { ...values, pending: excerpt.text });
    const ending = await runWithTools({ memory: store.dir, system: '', input: input.text, continues }, [record], deps);
    refuseMisuse(record, deps);
    return { ending, found: record.recorded(), prompt: input.fingerprint };
  }
  const system = await renderPrompt('extract', {});
  // Messages without words (a cleared screen, an empty result) are covered without being asked about.
  if (excerpt.text === '') return { ending: 'done', found: [], prompt: system.fingerprint };
  const session = asData(await describePlace(run.session.cwd));
  const input = await renderPrompt('extract-input', { ...values, session, excerpt: excerpt.text });
  const view = memoryViewTool((path, range) => viewMemory(store, { path, range }));
  const tools = values.index === NONE ? [record] : [record, view];
  const ending = await runWithTools({ memory: store.dir, system: system.text, input: input.text }, tools, deps);
  refuseMisuse(record, deps);
  return { ending, found: record.recorded(), prompt: system.fingerprint };
}

/** What the main agent wrote down itself in this session, the newest of it where it is much. */
async function sayWritten(written: SortedTurns['written']): Promise<string> {
  const text = [...new Set([...written.values()].flat())].join('\n');
  const { text: safe } = await redact(text);
  return safe === '' ? '' : `\nWritten down by the agent itself:\n${safe.slice(-WRITTEN_CHARS)}`;
}

/** Calls of `record_entries` that were no entries, and were never mended, are no "nothing worth keeping". */
function refuseMisuse(record: ReturnType<typeof recordEntriesTool>, { agent }: ExtractorDeps): void {
  if (!record.isMisused()) return;
  throw new AppError(
    'bad-reply',
    `Model ${agent.model} called record_entries with arguments that are no entries, and never mended them.`,
    { remedy: 'A stronger model helps.' },
  );
}
