// Asks the forked extractor what of an excerpt is to be kept: its prompt, its tools, what is known already beside it. What it
// records was checked by code; nothing is committed here.

import type { AgentEnding } from '../../src/agent/agent-types.ts';
import { programOf } from '../../src/agent/programs/programs.ts';
import {
  type AgentDeps,
  memoryViewTool,
  type RecordedEntry,
  recordEntriesTool,
  runWithTools,
  type Spend,
} from '../../src/agent/tools.ts';
import { AppError } from '../../src/base/errors.ts';
import { asData, renderPrompt } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/secrets/redact-text.ts';
import { dayOf } from '../../src/base/time.ts';
import type { By } from '../../src/memory/commit.ts';
import { type EntryRow, entriesAmong, isInLog } from '../../src/memory/entries.ts';
import type { Memories, MemoryRow } from '../../src/memory/memories.ts';
import { MemoryFiles } from '../../src/memory/memory-files.ts';
import { viewMemory } from '../../src/memory/memory-views.ts';
import { describePlace, Guidance, originOf } from '../../src/memory/projects.ts';
import { recalledTexts } from '../../src/memory/recall/recall.ts';
import { entryId } from '../../src/memory/text/daily-log.ts';
import { withoutTagLines } from '../../src/rules/as-read.ts';
import { overtakenIn } from '../../src/rules/overtaken.ts';
import { findSource } from '../../src/transcript/excerpt/excerpt.ts';
import type { SourceMessage } from '../../src/transcript/excerpt/segments.ts';
import type { Session } from '../../src/transcript/session.ts';
import { knownMemory, safe } from './known-memory.ts';
import type { Offered, SortedTurns } from './pending-turns.ts';

/** How much of what the agent itself wrote down the extractor is shown. */
const WRITTEN_CHARS = 6_000;

export type ExtractedDeps = Omit<AgentDeps, 'spend'> & { memories: Memories; zone: string; userName?: string[] };

/** What all of a run's excerpts are extracted with. */
export interface Extraction {
  session: Session;
  /** Of its row. */
  sessionId: string;
  memory: MemoryRow;
  /** The user's, where what is about the user goes there. */
  userMemory: MemoryRow | null;
  by: By;
  spend: Spend;
  /** Turns that are extracted again: what they gave before is not known, and is replaced. */
  reopened: Set<string>;
  instructions?: string;
}

/** What is known of the messages that entries rest on, by id. */
export type CitedMessages = Map<string, Pick<SourceMessage, 'speaker' | 'at'>>;

/** What the extractor recorded, each entry checked by code. */
export interface Asked {
  /** Entries of turns that end in the excerpt. */
  found: RecordedEntry[];
  /** Entries of a turn that goes on in the next excerpt, which lists it where it ends: until then they wait. */
  waiting: RecordedEntry[];
  cited: CitedMessages;
  /** Why others were not recorded. */
  refused: string[];
  ending: AgentEnding;
  /** Ids of lines of memory that calls of the excerpt may have overtaken. */
  overtaken: string[];
  /** Fingerprint of the prompt. */
  prompt: string;
}

/** Lets the forked extractor record entries from what it is shown. `before`: what the excerpts before it left. */
export async function askExtractor(
  offered: Offered,
  extraction: Extraction,
  { written, before }: Pick<SortedTurns, 'written'> & { before: Pick<Asked, 'waiting' | 'cited'> },
  deps: ExtractedDeps,
): Promise<Asked> {
  const { excerpt } = offered;
  const { recorded, ...ended } = await runExtractor(offered, extraction, { written, ...before }, deps);
  const cited: CitedMessages = new Map(before.cited);
  for (const { message } of recorded.flatMap(({ evidence }) => evidence)) {
    const source = excerpt.sources.get(message);
    if (source) cited.set(message, { speaker: source.speaker, at: source.at });
  }
  const turns = new Set(excerpt.turns);
  const { found = [], waiting = [] } = Object.groupBy([...before.waiting, ...recorded], ({ turn }) =>
    turns.has(turn) ? 'found' : 'waiting',
  );
  return { found, waiting, cited, ...ended };
}

async function runExtractor(
  { excerpt }: Offered,
  { session, sessionId, memory, userMemory, spend, reopened, instructions }: Extraction,
  { written, waiting }: Pick<SortedTurns, 'written'> & Pick<Asked, 'waiting'>,
  deps: ExtractedDeps,
): Promise<Pick<Asked, 'ending' | 'refused' | 'overtaken' | 'prompt'> & { recorded: RecordedEntry[] }> {
  const system = await renderPrompt('extract', {});
  // Messages without words (a cleared screen, an empty result) are covered without being asked about.
  if (excerpt.text === '')
    return { ending: 'done', recorded: [], refused: [], overtaken: [], prompt: system.fingerprint };
  const { db, clock } = deps.memories;
  const isReopened = (row: EntryRow) => row.session === sessionId && reopened.has(row.turn ?? '');
  const sources = [...excerpt.sources.values()];
  const memories = [memory.id, ...(userMemory ? [userMemory.id] : [])];
  const known = new Map<string, EntryRow>();
  for (const each of memories) {
    const ofTurns = { column: 'turn', of: [...new Set(sources.map(({ turn }) => turn))] } as const;
    for (const row of await entriesAmong(db, each, ofTurns)) if (!isReopened(row)) known.set(row.id, row);
    const ofSession = await entriesAmong(db, each, { column: 'session', of: [sessionId] });
    for (const row of ofSession) if (!isReopened(row)) known.set(row.id, row);
  }
  const given = await recalledTexts(db, { session: session.id, memory: memory.id });
  const told = given.flatMap(({ text }) => text.split('\n'));
  const guidance = await Guidance.of(session.cwd === undefined ? [] : [[session.id, session.cwd]]);
  const shown = await knownMemory({ sql: db, memory: memory.id }, sources);
  const numbered = [...shown.topics.matchAll(/^(\d+) (.*)$/gm)].map(([, at, text = '']) => [Number(at), text] as const);
  // The calls of what is only context were counted when it was read.
  const tried = excerpt.tried.filter(({ call }) => call.offered && excerpt.turns.includes(call.turn));
  const overtaken = overtakenIn(new Map(numbered), tried);
  const record = recordEntriesTool({
    find: (id) => findSource(excerpt, id),
    isKnown: (candidate) => known.has(entryId(candidate)),
    redact,
    messages: () => excerpt.sources.values(),
    excerpt: excerpt.text,
    tried: () => excerpt.tried,
    told,
    isRemembered: (text) => shown.topics.split('\n').some((line) => line.endsWith(` ${text}`)),
    names: session.cwd ? [session.cwd, originOf(session.cwd)] : [],
    saying: (text) => guidance.saying(text, session.id),
    lineOf: (number) => shown.lines[number - 1],
  });
  // What is shown whole need not be looked up; a program has no tools.
  const canLookUp = !shown.isWhole && programOf(deps.agent.model) === null;
  const own = [...known.values()].filter((row) => row.session === sessionId && isInLog(row)).sort(byTime);
  const input = await renderPrompt('extract-input', {
    today: dayOf(clock.now(), deps.zone),
    zone: deps.zone,
    instructions: asData(instructions),
    index: shown.index,
    topics: shown.topics + (await sayOvertaken(overtaken)),
    lookUp: canLookUp ? 'memory' : '',
    known: asData([...own, ...waiting].map(({ text }) => text).join('\n') + (await formatWritten(written))),
    session: asData(await describePlace(session.cwd)),
    excerpt: excerpt.text,
  });
  const files = new MemoryFiles(deps.memories, memory);
  const ending = await runWithTools(
    { memory: memory.id, system: system.text, input: input.text },
    canLookUp ? [record, memoryViewTool((path, range) => viewMemory(files, { path, range }, safe))] : [record],
    { ...deps, spend },
  );
  // Calls that were no entries, and were never mended, are no "nothing worth keeping".
  if (record.isMisused()) {
    throw new AppError(
      'bad-reply',
      `Model ${deps.agent.model} called record_entries with wrong arguments, again and again.`,
      { remedy: 'A stronger model helps.' },
    );
  }
  const refused = await Promise.all(record.refused().map(async (why) => (await redact(why)).text));
  return {
    ...{ ending, recorded: record.recorded(), refused, prompt: system.fingerprint },
    overtaken: [...overtaken.keys()].flatMap((number) => shown.lines[number - 1] ?? []),
  };
}

/** What may have overtaken which of the numbered lines that are shown. */
async function sayOvertaken(overtaken: ReadonlyMap<number, string>): Promise<string> {
  if (overtaken.size === 0) return '';
  const said = [...overtaken].map(([number, by]) => `${number}: ${by}\n`).join('');
  return `\n\nPerhaps overtaken by calls of this session:\n${asData(withoutTagLines((await redact(said)).text))}`;
}

/** What the agent wrote down itself in this session, the newest of it where it is much. */
async function formatWritten(written: SortedTurns['written']): Promise<string> {
  const { text } = await redact([...new Set([...written.values()].flat())].join('\n'));
  return text === '' ? '' : `\nWritten down by the agent itself:\n${text.slice(-WRITTEN_CHARS)}`;
}

function byTime(a: EntryRow, b: EntryRow): number {
  return a.at < b.at || (a.at === b.at && a.id < b.id) ? -1 : 1;
}
