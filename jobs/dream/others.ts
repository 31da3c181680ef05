// What a memory says that no dream writes: memories that are no topics, whoever made them (files in folders, of any name).
// A dream reads them, so that it says nothing twice, and never changes one: to it they are pinned, and each of their lines
// is a person's or a program's.

import { contentWords, countSharedWords } from '../../src/base/text/wording.ts';
import { isOverflow } from '../../src/memory/dream/index-file.ts';
import { saidId } from '../../src/memory/dream/topic-table.ts';
import type { EntryRow } from '../../src/memory/ledger/entries.ts';
import type { Ledger } from '../../src/memory/ledger/ledger.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { logDay } from '../../src/memory/text/daily-log.ts';
import { isArchivePath, isTopicPath, parseTopic } from '../../src/memory/text/topic.ts';
import { type DraftTopic, readOther } from './draft.ts';

/** What is longer is no note, and not looked through. */
const MOST_BYTES = 1024 * 1024;
/** Of lines that share words with an entry, so many are shown. */
const LINES_PER_ENTRY = 3;
const LEAST_SHARED = 2;

/** A line of such a memory. */
interface OtherLine {
  path: string;
  id: string;
  text: string;
}

/** The paths of memories that are no topics. */
export function otherPaths(ledger: Ledger): string[] {
  return headsOf(ledger).map(({ path }) => path);
}

function headsOf(ledger: Ledger): { path: string; head: string }[] {
  const sql = `select memory.path, memory.head from memory join version on version.id = memory.head
    where memory.path is not null and version.content is not null and memory.path not like '.%' order by memory.path`;
  const isOther = (path: string) =>
    !isTopicPath(path) && !isArchivePath(path) && logDay(path) === null && path.toLowerCase() !== 'memory.md';
  return ledger.all<{ path: string; head: string }>(sql).filter(({ path }) => isOther(path));
}

function linesOf(ledger: Ledger): OtherLine[] {
  return headsOf(ledger).flatMap(({ path, head }) => {
    const sql = 'select content from version where id = ? and size <= ?';
    const text = ledger.get<{ content: Buffer }>(sql, head, MOST_BYTES)?.content.toString();
    if (text === undefined || (path.startsWith('index/') && isOverflow(text))) return [];
    return parseTopic(path, text).lines.map((line) => ({ path, ...line }));
  });
}

/** What such memories say, by line and by sentence; each with the file that says it. */
export function saidElsewhere(ledger: Ledger): Map<string, OtherLine> {
  const said = new Map<string, OtherLine>();
  for (const line of linesOf(ledger)) {
    for (const text of [line.text, ...line.text.split(/(?<=[.!?])\s+/)]) said.set(saidId(text), line);
  }
  return said;
}

/** Such memories that are near to entries, with the lines that are. */
export async function nearOthers(entries: EntryRow[], store: Store): Promise<Map<DraftTopic, Set<string>>> {
  const near = new Map<string, Set<string>>();
  const lines = linesOf(store.ledger).map((line) => ({ ...line, words: contentWords(line.text) }));
  for (const { text } of lines.length > 0 ? entries : []) {
    const words = contentWords(text);
    const scored = lines
      .map((line) => ({ line, shared: countSharedWords(words, line.words) }))
      .filter(({ shared }) => shared >= LEAST_SHARED)
      .sort((a, b) => b.shared - a.shared || a.line.words.size - b.line.words.size);
    for (const { line } of scored.slice(0, LINES_PER_ENTRY)) {
      near.set(line.path, (near.get(line.path) ?? new Set()).add(line.id));
    }
  }
  const topics = new Map<DraftTopic, Set<string>>();
  for (const [path, ids] of near) {
    const topic = await readOther(store, path);
    if (topic) topics.set(topic, ids);
  }
  return topics;
}
