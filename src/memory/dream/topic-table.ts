// The topics as tables of the ledger: a card of each for the index, and the words of every line for full-text search
// (FTS5), so that a dream need not read ten thousand files to find the three that its entries touch.
// Derived, never the truth: every look brings it to the heads of the files, whoever changed them and however. It holds
// words but no text, and a redaction empties it (`clearTopicTable`); the next look fills it again.

import type { Day } from '../../base/time.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { dueDay, isArchivePath, isTopicFile, parseTopic, saidId } from '../text/topic.ts';
import { isMemoryType, type MemoryType } from '../types.ts';

/** What the tables know of a topic file. */
export interface TopicCard {
  path: string;
  /** The version that it was made from. */
  head: string;
  name: string;
  description: string;
  type: MemoryType | undefined;
  isPinned: boolean;
  isArchived: boolean;
  lines: number;
  /** When its head was made; ISO-8601. */
  changedAt: string;
}

/** A line that a search found; `line` is empty where the topic's name and description were. */
interface FoundLine {
  path: string;
  line: string;
}

/** Of the words of a query, so many of the rarest are searched for. */
const MOST_WORDS = 12;
/** Words that more lines than these hold tell little, and cost most. */
const MOST_LINES = 2_000;

/** Brings the tables to the files as the ledger knows them; `most`: no more of them than so many, the rest another time. */
export function refreshTopics(ledger: Ledger, { most = Number.POSITIVE_INFINITY }: { most?: number } = {}): void {
  const stale = ledger.lists(
    `select memory.path, memory.head from memory left join topic on topic.path = memory.path
     where memory.path is not null and memory.head is not null and memory.head is not topic.head
       and (memory.path not like '%/%' or memory.path like 'archive/%')`,
  ) as [string, string][];
  const lost = ledger.lists(
    'select path from topic where not exists (select 1 from memory where memory.path = topic.path)',
  ) as [string][];
  const changed = stale.filter(([path]) => isTopicFile(path)).slice(0, most);
  if (changed.length + lost.length === 0) return;
  ledger.deriving(() => {
    for (const [path] of lost) dropTopic(ledger, path);
    for (const [path, head] of changed) takeTopic(ledger, path, head);
  });
}

const CARDS = 'select path, head, name, description, type, pinned, lines, changed_at from topic where lines >= 0';

/** All topics with a file, archived ones too, by path. Call `refreshTopics` first. */
export function topicCards(ledger: Ledger): TopicCard[] {
  return ledger.lists(`${CARDS} order by path`).map((row) => cardOf(row as CardRow));
}

/** The topic at a path. Call `refreshTopics` first. */
export function topicCard(ledger: Ledger, path: string): TopicCard | null {
  const [row] = ledger.lists(`${CARDS} and path = ?`, path);
  return row ? cardOf(row as CardRow) : null;
}

/** Looks for lines in topics and in the archive; for many texts what is known of a word is asked once. */
export class TopicSearch {
  readonly #ledger: Ledger;
  readonly #linesWith = new Map<string, number>();

  /** Brings the tables up to date with what the ledger knows, or so many topics of them. */
  constructor(ledger: Ledger, bound: { most?: number } = {}) {
    refreshTopics(ledger, bound);
    this.#ledger = ledger;
  }

  /** The lines that share the most and the rarest words with `text`, best first. */
  find(text: string, most: number): FoundLine[] {
    const words = this.#rarest(wordsOf(text));
    if (words.length === 0) return [];
    return this.#ledger.all(
      `select topic_line.path, topic_line.line from
         (select rowid as id, bm25(topic_words) as score from topic_words where topic_words match ?
          order by rank limit ?) as found
       join topic_line on topic_line.id = found.id order by found.score`,
      words.map((word) => `"${word}"`).join(' OR '),
      most,
    );
  }

  /** The words that the fewest lines hold, as many as a search can look through in no time, without unknown ones. */
  #rarest(words: string[]): string[] {
    const known = [...new Set(words)].map((word) => ({ word, lines: this.#countLines(word) }));
    let lines = 0;
    return known
      .filter((word) => word.lines > 0)
      .sort((a, b) => a.lines - b.lines || (a.word < b.word ? -1 : 1))
      .slice(0, MOST_WORDS)
      .filter((word, at) => {
        lines += word.lines;
        return at === 0 || lines <= MOST_LINES;
      })
      .map(({ word }) => word);
  }

  #countLines(word: string): number {
    let count = this.#linesWith.get(word);
    if (count === undefined) {
      count = (this.#ledger.get('select doc from topic_vocabulary where term = ?', word)?.doc as number) ?? 0;
      this.#linesWith.set(word, count);
    }
    return count;
  }
}

/** Lines of living topics of the project whose last date, one that was to be met, is before `day`. */
export function linesDueBefore(ledger: Ledger, day: Day): { path: string; line: string; due: Day }[] {
  return ledger.all(
    `select topic_line.path, line, due from topic_line join topic on topic.path = topic_line.path
     where due < ? and type = 'project' and pinned = 0 and topic.path not like 'archive/%' order by 1, 2`,
    day,
  );
}

/** Lines of living topics that say the same as `text`, letter case, punctuation and marks aside. */
export function linesSaying(ledger: Ledger, text: string): { path: string; line: string }[] {
  return ledger.all(
    `select topic_line.path, line from topic_line join topic on topic.path = topic_line.path
     where said = ? and pinned = 0 and topic.path not like 'archive/%' order by 1, 2`,
    saidId(text),
  );
}

/** Where the lines with this id stand in living topics. */
export function linesWithId(ledger: Ledger, line: string): { path: string; line: string }[] {
  return ledger.all("select path, line from topic_line where line = ? and path not like 'archive/%' order by 1", line);
}

/** The topics, living and archived, in which a line may link the topic at `path`. */
export function linesLinking(ledger: Ledger, path: string): string[] {
  refreshTopics(ledger);
  const words = wordsOf(path).join(' ');
  const rows = ledger.lists(
    `select distinct topic_line.path from (select rowid as id from topic_words where topic_words match ?) as found
     join topic_line on topic_line.id = found.id where topic_line.path <> ?`,
    `"${words}"`,
    path,
  ) as [string][];
  return rows.map(([found]) => found);
}

/** Empties the tables, words and all: what is deleted one by one would stay in the index until it is merged. */
export function clearTopicTable(ledger: Ledger): void {
  ledger.transaction(() => {
    ledger.run('delete from topic');
    ledger.run('delete from topic_line');
    ledger.run("insert into topic_words (topic_words) values ('delete-all')");
  });
}

type CardRow = [string, string, string, string, string | null, number, number, string];

function cardOf([path, head, name, description, type, pinned, lines, changedAt]: CardRow): TopicCard {
  return {
    path,
    head,
    name,
    description,
    type: isMemoryType(type) ? type : undefined,
    isPinned: pinned === 1,
    isArchived: isArchivePath(path),
    lines,
    changedAt,
  };
}

function dropTopic(ledger: Ledger, path: string): void {
  for (const [id] of ledger.lists('select id from topic_line where path = ?', path) as [number][]) {
    ledger.run('delete from topic_words where rowid = ?', id);
    ledger.run('delete from topic_line where id = ?', id);
  }
  ledger.run('delete from topic where path = ?', path);
}

function takeTopic(ledger: Ledger, path: string, head: string): void {
  const version = ledger.get('select content, at from version where id = ?', head);
  const content = version?.content as Buffer | null | undefined;
  // A file that is gone keeps a row that says so, with no lines in it, so that it is not looked at every time.
  const text = content?.toString() ?? null;
  const topic = text === null ? null : parseTopic(path, text);
  const wanted = new Map<string, string>(topic?.lines.map((line) => [line.id, line.text]));
  if (topic) wanted.set('', `${topic.name} ${topic.description}`);
  const before = ledger.get('select description from topic where path = ?', path);
  for (const [id, line] of ledger.lists('select id, line from topic_line where path = ?', path) as [number, string][]) {
    const isSame = wanted.has(line) && (line !== '' || before?.description === topic?.description);
    if (isSame) wanted.delete(line);
    else {
      ledger.run('delete from topic_words where rowid = ?', id);
      ledger.run('delete from topic_line where id = ?', id);
    }
  }
  for (const [line, words] of wanted) {
    const due = line === '' ? null : dueDay(words);
    const sql = 'insert into topic_line (path, line, due, said) values (?, ?, ?, ?)';
    ledger.run(sql, path, line, due, line === '' ? '' : saidId(words));
    ledger.run('insert into topic_words (rowid, text) values (last_insert_rowid(), ?)', wordsOf(words).join(' '));
  }
  ledger.run(
    `insert or replace into topic (path, head, name, description, type, pinned, bytes, lines, changed_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    path,
    head,
    topic?.name ?? '',
    topic?.description ?? '',
    topic?.type ?? null,
    topic?.pinned ? 1 : 0,
    content?.length ?? 0,
    topic?.lines.length ?? -1,
    (version?.at as string | undefined) ?? '',
  );
}

/** Words as they are indexed and searched for: of scripts without spaces every pair of characters is one. */
function wordsOf(text: string): string[] {
  const plain = text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return (plain.match(/[\p{L}\p{N}]+/gu) ?? []).flatMap((run) => {
    if (!/[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u.test(run)) return run.length > 1 ? [run] : [];
    const characters = [...run];
    return characters.length < 3 ? [run] : characters.slice(1).map((character, at) => characters[at] + character);
  });
}
