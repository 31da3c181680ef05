// What a search compares, file by file, and what it takes long to make of a text: its lines as terms are looked for in
// them, without what they name only as given up, the statement that stands on each, its words. Kept in this process while
// the file stays what it was, if the caller keeps it.
// Promises: a file whose size, times or inode differ is read again, and so is one that changed a moment ago; what is kept
// is bounded. It changes nothing.

import { type Clock, systemClock } from '../../base/time.ts';
import { withoutGivenUp } from '../../rules/words.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { liveFiles, textOf } from '../store/live-files.ts';
import { logDay } from '../text/daily-log.ts';
import { bodyStart } from '../text/frontmatter.ts';
import { isArchivePath, isTopicPath, locateLines } from '../text/topic.ts';

/** Two writes of one size within this can leave a file with the times of the first. */
const SETTLED_MS = 1_000;
/** About what the lines of a text take, for each of its characters. */
const BYTES_OF_CHARACTER = 8;

export type FileKind = 'topic' | 'entry' | 'index' | 'archive' | 'file';

export interface SearchedLine {
  /** In one case. */
  text: string;
  /** The same in the case that it has. */
  cased: string;
  /** From 1: the line that a hit here names; of a log, the one on which its entry begins. */
  named: number;
  /** The id of an entry that ends here. */
  entry: string | undefined;
  /** It says nothing: a source, frontmatter but for the description, a link of the index. */
  isAside: boolean;
  /** What it does not name only as given up. */
  standing?: string;
}

export class SearchedText {
  readonly path: string;
  readonly kind: FileKind;
  readonly text: string;
  /** The text as it is composed, and in one case. */
  readonly composed: string;
  readonly folded: string;
  #lines: SearchedLine[] | undefined;
  #spaced: SearchedLine[] | undefined;
  #statements: Map<number, string> | undefined;
  #words: string[] | undefined;

  constructor(path: string, text: string) {
    this.path = path;
    this.kind = kindOf(path);
    this.text = text;
    this.composed = text.normalize('NFC');
    this.folded = inOneCase(this.composed);
  }

  /** `isSpaced`: with single spaces, as phrases are looked for. */
  lines(isSpaced: boolean): SearchedLine[] {
    if (!isSpaced) {
      this.#lines ??= readLines(this, { compared: this.folded, cased: this.composed });
      return this.#lines;
    }
    if (!this.#spaced) {
      const spaced = withSingleSpaces(this.folded);
      const cased = withSingleSpaces(this.composed);
      this.#spaced = spaced === this.folded ? this.lines(false) : readLines(this, { compared: spaced, cased });
    }
    return this.#spaced;
  }

  /** The id of the statement that stands on a line of a topic; of what no topic says, none. */
  statementAt(line: number): string | undefined {
    this.#statements ??= readStatements(this);
    return this.#statements.get(line);
  }

  /** Those of three letters and more, each once. */
  words(): string[] {
    this.#words ??= [...new Set(this.folded.match(/[\p{L}\p{N}_]{3,}/gu))];
    return this.#words;
  }
}

/** Texts by directory and path, as long as they fit; those that were longest not asked for go first. */
export class KeptTexts {
  readonly #kept = new Map<string, { sign: string; text: SearchedText; bytes: number }>();
  readonly #mostBytes: number;
  readonly #clock: Clock;
  #bytes = 0;

  /** `mostBytes`: default 96 MiB, which is about twelve million characters of memory. `clock`: that of the disk. */
  constructor({ mostBytes = 96 * 1024 * 1024, clock = systemClock }: { mostBytes?: number; clock?: Clock } = {}) {
    this.#mostBytes = mostBytes;
    this.#clock = clock;
  }

  /** What changed before this instant, in milliseconds, will not change again without another time. */
  settledMs(): number {
    return this.#clock.now().getTime() - SETTLED_MS;
  }

  get(key: string, sign: string): SearchedText | undefined {
    const known = this.#kept.get(key);
    if (!known) return undefined;
    this.#drop(key);
    if (known.sign !== sign) return undefined;
    this.#kept.set(key, known);
    this.#bytes += known.bytes;
    return known.text;
  }

  put(key: string, sign: string, text: SearchedText): void {
    this.#drop(key);
    const bytes = 500 + text.text.length * BYTES_OF_CHARACTER;
    this.#kept.set(key, { sign, text, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

/** The texts of a directory, one after the other; `kept` is null where they are not asked for again. */
export function* searchedTexts(
  { dir, ledger }: { dir: string; ledger: Ledger | null },
  { under = '', kept }: { under?: string; kept: KeptTexts | null },
): Generator<{ modifiedMs: number; text: SearchedText }> {
  const settledMs = kept?.settledMs() ?? 0;
  for (const file of liveFiles(dir, ledger)) {
    const { path, absolute, inode, bytes, modifiedMs, changedMs } = file;
    if (!path.startsWith(under)) continue;
    const sign = `${inode} ${bytes} ${modifiedMs} ${changedMs}`;
    const known = kept?.get(absolute, sign);
    if (known) {
      yield { modifiedMs, text: known };
      continue;
    }
    const { raw, shown } = textOf(file, ledger);
    const text = new SearchedText(path, shown);
    // What is made of a conflict depends on more than the file.
    if (raw === shown && file.changedMs < settledMs) kept?.put(absolute, sign, text);
    yield { modifiedMs, text };
  }
}

function kindOf(path: string): FileKind {
  if (isTopicPath(path)) return 'topic';
  if (logDay(path)) return 'entry';
  return path === 'MEMORY.md' ? 'index' : isArchivePath(path) ? 'archive' : 'file';
}

function readLines(
  { kind, text }: SearchedText,
  { compared, cased }: { compared: string; cased: string },
): SearchedLine[] {
  const isTopic = kind === 'topic' || kind === 'archive';
  const headLines = isTopic ? text.slice(0, bodyStart(text)).split('\n').length - 1 : 0;
  const casedLines = cased.split('\n');
  let begins = 0;
  return compared.split('\n').map((line, at) => {
    if (kind === 'entry' && !/^\s*(>|<!--)/.test(line)) begins = at + 1;
    return {
      text: line,
      cased: casedLines[at] ?? '',
      named: kind === 'entry' ? begins : at + 1,
      entry: kind === 'entry' ? /^\s*<!-- (e_\w+)/.exec(line)?.[1] : undefined,
      isAside: isAside(line, { kind, isHead: at < headLines }),
    };
  });
}

function isAside(line: string, { kind, isHead }: { kind: FileKind; isHead: boolean }): boolean {
  if (/^\s*<!--/.test(line)) return true;
  if (isHead && !/^\s*description:/.test(line)) return true;
  return kind === 'index' && /\[[^[\]]+\.md\]\s*$/.test(line);
}

export function standingIn(line: SearchedLine): string {
  line.standing ??= withoutGivenUp(line.text);
  return line.standing;
}

function readStatements({ kind, text }: SearchedText): Map<number, string> {
  const idAt = new Map<number, string>();
  if (kind !== 'topic' && kind !== 'archive') return idAt;
  let [line, at] = [1, 0];
  // Statements stand one behind the other, so that line ends are counted once.
  const lineOf = (offset: number) => {
    for (let end = text.indexOf('\n', at); end >= 0 && end < offset; end = text.indexOf('\n', at)) {
      line += 1;
      at = end + 1;
    }
    return line;
  };
  for (const { id, from, to } of locateLines(text)) {
    for (let each = lineOf(from), last = lineOf(to - 1); each <= last; each += 1) idAt.set(each, id);
  }
  return idAt;
}

/** Text as it is compared. */
export const inOneCase = (text: string) => text.normalize('NFC').toLowerCase();

/** Text as phrases are looked for in it; its lines stay lines. */
export const withSingleSpaces = (text: string) => text.replace(/[^\S\n]+/gu, ' ');
