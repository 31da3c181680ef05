// What the extractor is shown of the memory that it works for, so that it need not look it up: a small memory whole, of a larger
// one the index and the topics nearest to what is offered, both together within the same bound, with what was left out by name. A
// topic is its name, type, description and lines, numbered through; no log or archive is shown.
// Promises: every text is redacted and holds no tag of ours, also what the model looks up (ask-extractor.ts); of a topic nothing begins
// a line but what is written here.

import { asData, NONE } from '../../src/base/prompt.ts';
import { redact } from '../../src/base/secrets/redact-text.ts';
import { mostThat } from '../../src/base/text/wording.ts';
import type { Sql } from '../../src/db/sql.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import { INDEX } from '../../src/memory/memory-index.ts';
import { linksIn } from '../../src/memory/text/index-file.ts';
import { parseTopic, type TopicLine } from '../../src/memory/text/topic.ts';
import { withoutTagLines } from '../../src/rules/as-read.ts';
import type { SourceMessage } from '../../src/transcript/excerpt/segments.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { NearLines } from '../dream/dream-slices.ts';
import { type StandingFile, standingFiles } from '../dream/topic-draft.ts';

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
export interface KnownMemory {
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

export async function knownMemory(
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
export async function safe(text: string): Promise<string> {
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
