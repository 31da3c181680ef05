// Runs the forked extractor over what is offered: its prompt, its tools, its budget. What it records was checked by code;
// nothing is committed here.

import { programOf } from '../../src/agent/programs/programs.ts';
import { type AgentDeps, runWithTools } from '../../src/agent/run-with-tools.ts';
import { memoryViewTool, type RecordedEntry, recordEntriesTool } from '../../src/agent/tools.ts';
import type { AgentEnding } from '../../src/agent/types.ts';
import { AppError } from '../../src/base/errors.ts';
import { asData, renderPrompt } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/text/redact.ts';
import { type Clock, dayOf } from '../../src/base/time.ts';
import { describePlace, Guidance, originOf } from '../../src/memory/home/projects.ts';
import type { JobSpend } from '../../src/memory/home/spend.ts';
import { type EntryRow, entriesOfSession, entryRow } from '../../src/memory/ledger/entries.ts';
import { viewMemory } from '../../src/memory/store/memory-view.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { entryId } from '../../src/memory/text/daily-log.ts';
import { findSource, type SourceMessage } from '../../src/transcript/excerpt/excerpt.ts';
import type { Session } from '../../src/transcript/session.ts';
import { type Offered, showMemory } from './show.ts';
import type { SortedTurns } from './sort-turns.ts';

/** How much of what the main agent itself wrote down the extractor is shown. */
const WRITTEN_CHARS = 6_000;

export interface ProposeDeps extends AgentDeps {
  spend: JobSpend;
  clock: Clock;
  zone: string;
}

/** What the extractor is told in addition to the excerpt. */
interface Known {
  session: Pick<Session, 'id' | 'cwd'>;
  store: Store;
  instructions?: string;
  /** Turns that are extracted again: what they gave before is not known. */
  reopened: ReadonlySet<string>;
  /** What the main agent wrote down in this session, by turn, in lines. */
  written: SortedTurns['written'];
  /** Entries of a turn that goes on in the excerpt. */
  waiting: readonly RecordedEntry[];
}

/** What is known of the messages that entries rest on, by id. */
export type CitedMessages = Map<string, Pick<SourceMessage, 'speaker' | 'at'>>;

/** What the extractor recorded, each entry checked by code. */
export interface Proposed extends Offered {
  /** Entries of turns that end in the excerpt. */
  found: RecordedEntry[];
  /** Entries of a turn that goes on in the next excerpt, which lists it where it ends: until then they wait. */
  waiting: RecordedEntry[];
  cited: CitedMessages;
  ending: AgentEnding;
  /** Which prompt it was. */
  prompt: string;
}

/** Lets the forked extractor record entries from what it is shown. */
export async function propose(offered: Offered, known: Known, deps: ProposeDeps): Promise<Proposed> {
  const { excerpt } = offered;
  const { ending, found: recorded, prompt } = await runExtractor(offered, known, deps);
  const cited: CitedMessages = new Map();
  for (const { message } of recorded.flatMap(({ evidence }) => evidence)) {
    const source = excerpt.sources.get(message);
    if (source) cited.set(message, { speaker: source.speaker, at: source.at });
  }
  const ended = new Set(excerpt.turns);
  const { found = [], waiting = [] } = Object.groupBy([...known.waiting, ...recorded], ({ turn }) =>
    ended.has(turn) ? 'found' : 'waiting',
  );
  return { ...offered, found, waiting, cited, ending, prompt };
}

async function runExtractor(
  { excerpt, continues }: Offered,
  known: Known,
  deps: ProposeDeps,
): Promise<Pick<Proposed, 'ending' | 'found' | 'prompt'>> {
  const { session, store, reopened, waiting } = known;
  const system = await renderPrompt('extract', {});
  // Messages without words (a cleared screen, an empty result) are covered without being asked about.
  if (excerpt.text === '') return { ending: 'done', found: [], prompt: system.fingerprint };
  const isReopened = (row: EntryRow) => row.session === session.id && reopened.has(row.turn);
  const guidance = await Guidance.of(session.cwd === undefined ? [] : [[session.id, session.cwd]]);
  const memory = await showMemory(store, excerpt.sources.values());
  const record = recordEntriesTool({
    find: (id) => findSource(excerpt, id),
    isKnown(candidate) {
      const row = entryRow(store.ledger, entryId(candidate));
      return row !== undefined && !isReopened(row);
    },
    redact,
    messages: () => excerpt.sources.values(),
    names: session.cwd ? [session.cwd, originOf(session.cwd)] : [],
    saying: (text) => guidance.saying(text, session.id),
    lineOf: (number) => memory.lines[number - 1],
  });
  const rows = entriesOfSession(store.ledger, session.id).filter((row) => !isReopened(row));
  // What is shown whole need not be looked up; a request that is continued runs no tool, and a program has none.
  const canLookUp = !memory.isWhole && !continues && programOf(deps.agent.model) === null;
  const values = {
    today: dayOf(deps.clock.now(), deps.zone),
    zone: deps.zone,
    instructions: asData(known.instructions),
    index: memory.index,
    topics: memory.topics,
    lookUp: canLookUp ? 'memory' : '',
    known: asData([...rows, ...waiting].map(({ text }) => text).join('\n') + (await formatWritten(known.written))),
  };
  const input = continues
    ? await renderPrompt('extract-fork', { ...values, pending: excerpt.text })
    : await renderPrompt('extract-input', {
        ...values,
        session: asData(await describePlace(session.cwd)),
        excerpt: excerpt.text,
      });
  const view = memoryViewTool((path, range) => viewMemory(store, { path, range }));
  const ending = await runWithTools(
    { memory: store.id, system: continues ? '' : system.text, input: input.text, continues },
    canLookUp ? [record, view] : [record],
    deps,
  );
  // Calls that were no entries, and were never mended, are no "nothing worth keeping".
  if (record.isMisused()) {
    throw new AppError(
      'bad-reply',
      `Model ${deps.agent.model} called record_entries with arguments that are no entries, and never mended them.`,
      { remedy: 'A stronger model helps.' },
    );
  }
  return { ending, found: record.recorded(), prompt: (continues ? input : system).fingerprint };
}

/** What the main agent wrote down itself in this session, the newest of it where it is much. */
async function formatWritten(written: SortedTurns['written']): Promise<string> {
  const text = [...new Set([...written.values()].flat())].join('\n');
  const { text: safe } = await redact(text);
  return safe === '' ? '' : `\nWritten down by the agent itself:\n${safe.slice(-WRITTEN_CHARS)}`;
}
