// The text of logs/YYYY/MM/YYYY-MM-DD.md: entries as bullets with their quotes and, in a comment, their source.
// Promises: what is appended parses back without loss; every byte that is there stays; nothing that was said can pass
// for a source or hide in a comment. What a person wrote or changed is theirs: it has no quote.

import { hash } from 'node:crypto';
import { type Day, isDay, timeOf } from '../../base/time.ts';
import { type Entry, type Evidence, isMemoryType, type MemoryType } from '../memory-types.ts';
import { type Block, bulletMarker, fold, lineEndOf, readBlocks } from './blocks.ts';

/**
 * What a log holds. `own`: nocturne wrote it; where a person changed its text or quotes since, it is `edited` and has
 * no evidence. `adopted`: a person or the main agent wrote it.
 */
export type LogItem =
  | ({ kind: 'own'; edited: boolean } & Entry)
  | { kind: 'adopted'; id: string; type: MemoryType; text: string; day: Day };

/** The path of a day's log in the memory directory. */
export const logPath = (day: Day) => `logs/${day.slice(0, 4)}/${day.slice(5, 7)}/${day}.md`;

/** The day whose log `path` is, or null for another file. */
export function logDay(path: string): Day | null {
  const day = path.slice(-'YYYY-MM-DD.md'.length, -'.md'.length);
  return isDay(day) && path === logPath(day) ? day : null;
}

/** The id of what is said with these words in this message: the same for the same, however often it is extracted. */
export function entryId(of: { message: string; quote: string; text: string }): string {
  return `e_${shortHash([of.message, fold(of.quote), fold(of.text)])}`;
}

/** Adds entries at the end of a day's log, which is begun where `current` is null. Times are shown in `zone`. */
export function appendEntries(current: string | null, entries: Entry[], at: { day: Day; zone: string }): string {
  const text = current ?? `# ${at.day}\n\n`;
  if (entries.length === 0) return text;
  const lineEnd = lineEndOf(text);
  const start = text === '' || text.endsWith('\n') ? text : text + lineEnd;
  return start + entries.map((entry) => writeEntry(entry, { zone: at.zone, lineEnd })).join('');
}

/**
 * Takes out exactly the blocks of these entries. What a person copied from them and changed stays. Lines of a person's
 * are known by the log's `day`: without it they stay.
 */
export function removeEntries(current: string, ids: Set<string>, day: Day = ''): string {
  let out = '';
  let end = 0;
  const removed = new Map<string, string>();
  for (const { item, from, to } of locateItems(current, day)) {
    if (!ids.has(item.id)) continue;
    if ((removed.get(item.id) ?? item.text) !== item.text) continue;
    removed.set(item.id, item.text);
    out += current.slice(end, from);
    end = to;
  }
  return out + current.slice(end);
}

/**
 * What becomes of the logs of these entries' days, as changes of files: some are taken out, as far as they stand there as
 * nocturne wrote them (what a person edited is the person's), which `onRemoved` is told, and those are added that do not stand there.
 */
export function changeLogs<Item extends Entry>(
  { remove, add, zone }: { remove: Item[]; add: Entry[]; zone: string },
  onRemoved: (removed: Item[]) => void,
): { path: string; make(current: string | null): string | null }[] {
  const days = new Set([...remove, ...add].map(({ day }) => day));
  return [...days].sort().map((day) => ({
    path: logPath(day),
    make(current) {
      const items = parseLog(current ?? '', day);
      const own = new Set(items.flatMap((item) => (item.kind === 'own' && !item.edited ? [item.id] : [])));
      const removed = remove.filter((entry) => entry.day === day && own.has(entry.id));
      const added = add.filter((entry) => entry.day === day && !own.has(entry.id));
      const rest = removed.length > 0 ? removeEntries(current ?? '', new Set(removed.map(({ id }) => id))) : current;
      onRemoved(removed);
      return added.length > 0 ? appendEntries(rest, added, { day, zone }) : rest;
    },
  }));
}

/** `current` with what another log of the same day holds beyond it, as it stands there, at the end. */
export function joinLogs(current: string, other: string, { day, leftOut }: { day: Day; leftOut: Set<string> }): string {
  const known = new Set([...leftOut, ...parseLog(current, day).map(({ id }) => id)]);
  let joined = current;
  for (const { item, from, to } of locateItems(other, day)) {
    if (known.has(item.id)) continue;
    known.add(item.id);
    if (joined !== '' && !joined.endsWith('\n')) joined += lineEndOf(current);
    joined += other.slice(from, to);
  }
  return joined;
}

/**
 * The log `after` a redaction, with the sums of the entries that were as nocturne wrote them `before` made again, so that
 * they pass for no person's.
 */
export function sealAgain(before: string, after: string): string {
  const held = locateItems(before, '').filter(({ item }) => item.kind === 'own' && !item.edited);
  const sealed = new Set(held.map(({ item }) => item.id));
  let out = '';
  let end = 0;
  for (const { item, sum, from, to } of locateItems(after, '')) {
    if (item.kind !== 'own' || !sealed.has(item.id)) continue;
    out +=
      after.slice(end, from) + after.slice(from, to).replace(/(?<= h=)[0-9a-f]{12}(?=(?: q=\S*)?(?: c=\S*)? -->)/, sum);
    end = to;
  }
  return out + after.slice(end);
}

/** What the log of `day` holds, in its order. Of two items with one id the first counts. */
export function parseLog(text: string, day: Day): LogItem[] {
  const items = new Map<string, LogItem>();
  for (const { item } of locateItems(text, day)) {
    const first = items.get(item.id);
    if (first === undefined) items.set(item.id, item);
    else if (first.text !== item.text) {
      const copy = adopt(item, day);
      if (!items.has(copy.id)) items.set(copy.id, copy);
    }
  }
  return [...items.values()];
}

function writeEntry(entry: Entry, { zone, lineEnd }: { zone: string; lineEnd: string }): string {
  const text = fold(entry.text);
  const [carrying, ...supporting] = entry.evidence;
  const shown = carrying ? [...supporting, carrying] : [];
  const quotes = shown.map(({ quote }) => fold(quote));
  const source = {
    s: entry.session,
    t: entry.turn,
    at: entry.at,
    by: entry.by,
    k: entry.strength,
    p: entry.prompt,
    m: entry.evidence.map(({ message }) => encodeValue(message)).join(','),
    h: sumOf({ text, quotes }),
    // Who said each quote, where more is known than `by`, and what the entry changes.
    ...(entry.evidence.some(({ by }) => by) && { q: entry.evidence.map(({ by = '' }) => encodeValue(by)).join(',') }),
    ...(entry.changes && { c: fold(entry.changes) }),
  };
  const fields = Object.entries(source).map(
    ([key, value]) => ` ${key}=${key === 'm' || key === 'q' ? value : encodeValue(value)}`,
  );
  return [
    `- ${timeOf(entry.at, zone)} **${entry.type}** ${escapeComments(text)}`,
    ...quotes.map((quote) => `  > ${escapeComments(quote)}`),
    `  <!-- ${entry.id}${fields.join('')} -->`,
    '',
  ].join(lineEnd);
}

interface LocatedItem {
  item: LogItem;
  /** Of an own one's text and quotes: what it carries as `h`. */
  sum: string;
  from: number;
  to: number;
}

function locateItems(text: string, day: Day): LocatedItem[] {
  const items: LocatedItem[] = [];
  let open: Block | null = null;
  const adoptOpen = () => {
    const words = open && readWords(open);
    const item = words && adopt({ type: words.type, text: words.text || words.quotes.join(' ') }, day);
    if (open && words && item?.text) items.push({ item, sum: '', from: open.from, to: open.to });
    open = null;
  };
  for (const block of readBlocks(text)) {
    if (block.kind !== 'comment') {
      adoptOpen();
      open = block;
      continue;
    }
    const source = open && readSource(block.lines.join('\n'));
    if (!open || !source) continue;
    const words = readWords(open);
    const sum = sumOf(words);
    const item = readOwn(words, sum, { ...source, day });
    // A person who took the words and left the comment took the entry.
    if (item.text) items.push({ item, sum, from: open.from, to: block.to });
    open = null;
  }
  adoptOpen();
  return items;
}

type Source = { id: string; fields: Map<string, string> };

const SOURCE = /^[ \t]*<!-- (e_[0-9a-f]{12})((?: [a-z]+=[^ ]*)+) -->[ \t]*$/;

function readSource(comment: string): Source | null {
  const match = SOURCE.exec(comment);
  if (!match?.[1] || !match[2]) return null;
  const pairs = match[2].trim().split(' ');
  const fields = new Map(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
  return ['s', 't', 'at', 'by', 'k', 'p', 'm', 'h'].every((key) => fields.has(key)) ? { id: match[1], fields } : null;
}

function readOwn(
  words: Words,
  sum: string,
  { id, fields, day }: Source & { day: Day },
): Extract<LogItem, { kind: 'own' }> {
  const messages = (fields.get('m') || undefined)?.split(',').map(decodeValue) ?? [];
  const edited = sum !== fields.get('h') || messages.length !== words.quotes.length;
  const quotes = [...words.quotes.slice(-1), ...words.quotes.slice(0, -1)];
  const speakers = fields.get('q')?.split(',').map(decodeValue) ?? [];
  const evidence = messages.map((message, at): Evidence => {
    const by = speakers[at];
    return { message, quote: quotes[at] ?? '', ...(by && { by }) };
  });
  const value = (key: string) => decodeValue(fields.get(key) ?? '');
  const changes = edited ? '' : value('c');
  return {
    kind: 'own',
    edited,
    id,
    type: words.type,
    strength: value('k') === 'implied' ? 'implied' : 'stated',
    text: words.text,
    evidence: edited ? [] : evidence,
    by: value('by'),
    session: value('s'),
    turn: value('t'),
    at: value('at'),
    ...(changes && { changes }),
    day,
    prompt: value('p'),
  };
}

function adopt({ type, text }: { type: MemoryType; text: string }, day: Day): Extract<LogItem, { kind: 'adopted' }> {
  return { kind: 'adopted', id: `e_${shortHash([day, text])}`, type, text, day };
}

type Words = { type: MemoryType; text: string; quotes: string[] };

/** The words of a block: its text with type and without time, and its quotes apart, as they are shown. */
function readWords(block: Block): Words {
  const [first = '', ...rest] = block.lines;
  const isQuote = (line: string) => /^\s*>/.test(line);
  const quotes = block.lines.filter(isQuote).map((line) => unescapeComments(fold(line.replace(/^\s*> ?/, ''))));
  const own = [first.slice(bulletMarker(first)?.length ?? 0), ...rest].filter(
    (line, at) => !isQuote(block.lines[at] ?? line),
  );
  const words = /^(?:\d{1,2}:\d{2} )?(?:\*\*(\w+)\*\*:?(?: |$)|(\w+): )?(.*)$/s.exec(fold(own.join(' ')));
  const named = (words?.[1] ?? words?.[2] ?? '').toLowerCase();
  if (isMemoryType(named)) return { type: named, text: unescapeComments(words?.[3] ?? ''), quotes };
  const untimed = fold(own.join(' ')).replace(/^\d{1,2}:\d{2} /, '');
  return { type: 'project', text: unescapeComments(untimed), quotes };
}

const sumOf = ({ text, quotes }: Pick<Words, 'text' | 'quotes'>) => shortHash([text, ...quotes]);

/** Twelve hex digits. White space is folded in the parts, so that a line end can part them. */
const shortHash = (parts: string[]) => hash('sha256', parts.join('\n')).slice(0, 12);

// A backslash goes in, and one comes out: Markdown shows `\<!--` as it was said, and hides nothing behind it.
const escapeComments = (text: string) => text.replace(/(?<!\\)\\*<!--/g, '\\$&').replace(/--(\\*>)/g, '--\\$1');

const unescapeComments = (text: string) => text.replace(/--\\(\\*>)/g, '--$1').replace(/(?<!\\)\\(\\*<!--)/g, '$1');

/** Percent-encodes what would end a value, a list or a comment; all else stays readable. */
function encodeValue(value: string): string {
  return value.replace(/[\s%,<>\p{Cc}]|(?<=-)-/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join(''),
  );
}

function decodeValue(value: string): string {
  return value.replace(/(?:%[0-9A-F]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString());
}
