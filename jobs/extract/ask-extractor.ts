// Asks the forked extractor what of an excerpt is to be kept: its prompt, its tools, what is known already beside it. What it
// records was checked by code; nothing is committed here. Of the memory that it works for it is shown so much that it need not look it
// up: a small one whole, of a larger one the index and the topics nearest to what is offered, both together within the same bound, with
// what was left out by name. A topic is its name, type, description and lines, numbered through; no log or archive is shown.
// Promises: every text is redacted and holds no tag of ours, also what the model looks up; of a topic nothing begins a line but what is
// written here.

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
import { asData, NONE, renderPrompt } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/secrets/redact-text.ts';
import { mostThat } from '../../src/base/text/wording.ts';
import { dayOf } from '../../src/base/time.ts';
import type { Sql } from '../../src/db/sql.ts';
import type { By } from '../../src/memory/commit.ts';
import { type EntryRow, entriesAmong, isInLog } from '../../src/memory/entries.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import type { Memories, MemoryRow } from '../../src/memory/memories.ts';
import { MemoryFiles } from '../../src/memory/memory-files.ts';
import { INDEX } from '../../src/memory/memory-index.ts';
import { viewMemory } from '../../src/memory/memory-views.ts';
import { describePlace, Guidance, originOf } from '../../src/memory/projects.ts';
import { recalledTexts } from '../../src/memory/recall/recall.ts';
import { entryId } from '../../src/memory/text/daily-log.ts';
import { linksIn } from '../../src/memory/text/index-file.ts';
import { parseTopic, type TopicLine } from '../../src/memory/text/topic.ts';
import { withoutTagLines } from '../../src/rules/as-read.ts';
import { overtakenIn } from '../../src/rules/overtaken.ts';
import { findSource } from '../../src/transcript/excerpt/excerpt.ts';
import type { SourceMessage } from '../../src/transcript/excerpt/segments.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import type { Session } from '../../src/transcript/session.ts';
import { NearLines } from '../dream/dream-slices.ts';
import { type StandingFile, standingFiles } from '../dream/topic-draft.ts';
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
    { system: system.text, input: input.text },
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

// What is shown of memory.

const MEMORY_TOKENS = 4_000;
/** Of these, what a part of a larger memory may take before its topics. */
const MOST_TOKENS = { index: MEMORY_TOKENS / 2, names: MEMORY_TOKENS / 20 };
/** No text is less. */
const CHARACTERS_PER_TOKEN = 3;
/** More than is ever shown of an index, so that no secret is cut where it is shown. */
const INDEX_CHARACTERS = 2 * MOST_TOKENS.index * CHARACTERS_PER_TOKEN;
/** After so many topics that found no room, there is none. */
const MOST_MISSES = 5;
/** Of lines that share words with a text, so many; and of a text so much is compared. */
const LINES_PER_TEXT = 6;
const TEXT_CHARACTERS = 4_000;

/** As data for a prompt. */
interface KnownMemory {
  /** `none` where the memory is shown whole. */
  index: string;
  /** `none` where there are none. */
  topics: string;
  /** The ids of the topics' lines, that of number 1 first. */
  lines: string[];
  /** Nothing was left out. */
  isWhole: boolean;
}

type Message = Pick<SourceMessage, 'speaker' | 'text' | 'offered'>;

async function knownMemory(
  { sql, memory }: { sql: Sql; memory: string },
  messages: Iterable<Message>,
): Promise<KnownMemory> {
  const standing = [...(await standingFiles(sql, memory)).values()];
  // Files that are no topics are memories, too.
  const others = standing.filter(({ path, isLiving }) => !isLiving && !path.startsWith('archive/'));
  const files = [...standing.filter(({ isLiving }) => isLiving), ...others];
  const index = (await headAt(sql, memory, INDEX))?.content?.toString() ?? '';
  const paths = new Set(files.map(({ path }) => path));
  const own = parseTopic(INDEX, index).lines.filter(({ text }) => !linksIn(text).some((path) => paths.has(path)));
  const all = [
    ...(own.length > 0 ? [{ heading: INDEX, lines: own, left: 0 }] : []),
    ...files.map((file) => partOf(file)),
  ];
  if (all.reduce((sum, part) => sum + layOut(part, 0).length, 0) <= 2 * MEMORY_TOKENS * CHARACTERS_PER_TOKEN) {
    const whole = await numbered(all, 0);
    // The numbers are ours, not the memory's.
    if (estimateTokens(whole.text.replace(/^\d+ /gm, '- ')) <= MEMORY_TOKENS)
      return { index: NONE, topics: whole.text || NONE, lines: whole.ids, isWhole: true };
  }
  const lines = (await redact(index.slice(0, INDEX_CHARACTERS))).text.split('\n');
  const firstLines = (count: number) => asData(lines.slice(0, count).join('\n'));
  const count = mostThat((most) => estimateTokens(firstLines(most)) <= MOST_TOKENS.index, lines.length + 1);
  const said = [...messages].filter(({ offered, speaker }) => offered && speaker !== 'tool').map(({ text }) => text);
  const shown = await nearest(files, {
    said,
    named: new Set(linksIn(firstLines(count))),
    tokens: MEMORY_TOKENS - estimateTokens(firstLines(count)) - MOST_TOKENS.names,
  });
  return { index: firstLines(count), topics: shown.text, lines: shown.ids, isWhole: false };
}

/** A topic as a reader needs it, or of its lines some. */
interface Part {
  heading: string;
  lines: TopicLine[];
  /** How many of its lines are left out. */
  left: number;
}

function partOf({ path, topic }: StandingFile, only?: ReadonlySet<string>): Part {
  const { type, description } = topic;
  const lines = only ? topic.lines.filter(({ id }) => only.has(id)) : topic.lines;
  const says = lines.some((line) => line.text.includes(description)) ? '' : `: ${description}`;
  return { heading: `${path}${type ? ` (${type})` : ''}${says}`, lines, left: topic.lines.length - lines.length };
}

/** `after`: the number that goes before those of its lines. */
function layOut({ heading, lines, left }: Part, after: number): string {
  const more = left > 0 ? `(${left} more ${left === 1 ? 'line' : 'lines'} not shown)\n` : '';
  return `## ${heading}\n${lines.map(({ text }, at) => `${after + at + 1} ${text}\n`).join('')}${more}`;
}

/** Parts as they are shown, with the ids of their lines. */
async function numbered(parts: Part[], after: number): Promise<{ text: string; ids: string[] }> {
  const ids: string[] = [];
  let text = '';
  for (const part of parts) {
    text += layOut(part, after + ids.length);
    ids.push(...part.lines.map(({ id }) => id));
  }
  return { text: await safe(text), ids };
}

/** As a model may be shown it. */
async function safe(text: string): Promise<string> {
  return withoutTagLines((await redact(text)).text).trimEnd();
}

/** The nearest topics, whole or with the lines that are near, and the names of what neither they nor the index tell. */
async function nearest(
  files: StandingFile[],
  { said, named, tokens }: { said: string[]; named: Set<string>; tokens: number },
): Promise<{ text: string; ids: string[] }> {
  const near = new NearLines(files.filter(({ isLiving }) => isLiving));
  const ranked = new Map<StandingFile, { score: number; lines: Set<string> }>();
  for (const text of said) {
    for (const [rank, { file, line }] of near.find(text.slice(0, TEXT_CHARACTERS), LINES_PER_TEXT).entries()) {
      const { score, lines } = ranked.get(file) ?? { score: 0, lines: new Set<string>() };
      ranked.set(file, { score: score + 1 / (1 + rank), lines: lines.add(line) });
    }
  }
  const shown = new Map<StandingFile, string>();
  const ids: string[] = [];
  let [room, misses] = [tokens, 0];
  for (const [file, { lines }] of [...ranked].sort(([, a], [, b]) => b.score - a.score)) {
    if (misses === MOST_MISSES) break;
    const fitting = async (part: Part) => {
      if (estimateTokens(layOut(part, ids.length)) > room) return null;
      const found = await numbered([part], ids.length);
      return estimateTokens(found.text) <= room ? found : null;
    };
    const found = (await fitting(partOf(file))) ?? (await fitting(partOf(file, lines)));
    if (found) {
      room -= estimateTokens(found.text);
      shown.set(file, found.text);
      ids.push(...found.ids);
    } else misses += 1;
  }
  const left = [...new Set([...ranked.keys(), ...files])].filter((file) => !shown.has(file));
  const unnamed = left.map(({ path }) => path).filter((path) => !named.has(path));
  const sayLeft = (count: number) => {
    const others = left.length - count;
    return `(not shown: ${[...unnamed.slice(0, count), ...(others > 0 ? [`${others} others`] : [])].join(', ')})`;
  };
  const most = mostThat((count) => estimateTokens(sayLeft(count)) <= MOST_TOKENS.names, unnamed.length + 1);
  return { text: [...shown.values(), ...(left.length > 0 ? [await safe(sayLeft(most))] : [])].join('\n'), ids };
}
