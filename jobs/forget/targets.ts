// What a person means who wants something forgotten, and what has to go with it: an entry with the lines that rest on
// it, a line with the entries it rests on, a topic with all of that. It reads and decides; forget.ts changes.

import { sayCount } from '../../src/base/text/wording.ts';
import { restingOn } from '../../src/memory/dream/provenance.ts';
import { entryOfItem } from '../../src/memory/history/log-items.ts';
import { allSupports, type EntryRow, entriesIn, entryRow } from '../../src/memory/ledger/entries.ts';
import { catalogEntries, markdownFiles } from '../../src/memory/recall/catalog.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { logDay, logPath } from '../../src/memory/text/daily-log.ts';
import { archivePath, isArchivePath, isTopicPath, parseTopic, type TopicLine } from '../../src/memory/text/topic.ts';

/** Something that can be forgotten by itself. */
export interface Candidate {
  kind: 'topic' | 'line' | 'entry';
  /** What names it on the command line: the topic's name, the line's eight digits, the entry's id. */
  id: string;
  /** The file that holds it. */
  path: string;
  text: string;
  /** It was sent to the user scope, and is forgotten there, too. */
  scope?: 'user';
}

export interface PlannedLine extends TopicLine {
  path: string;
}

/** What goes, all together. */
export interface ForgetPlan {
  /** Topic files that were named: they go with everything in them. */
  whole: string[];
  /** Topic files of which nothing is left, these included. */
  topics: string[];
  /** Lines of topics, also of those. */
  lines: PlannedLine[];
  /** Entries that leave their log and are not learned again. */
  entries: EntryRow[];
  /** Entries that stay although their only line goes with another entry: the next dream reads them anew. */
  again: EntryRow[];
}

export interface Remembered {
  /** The lines of each topic, by path. */
  topics: Map<string, PlannedLine[]>;
  /** What is in the logs, and what was sent to the user scope, by id. */
  entries: Map<string, EntryRow>;
  /** The entries that each line rests on, by `keyOf` the line. */
  supporters: Map<string, Set<string>>;
}

export async function readRemembered(store: Store): Promise<Remembered> {
  const topics = new Map<string, PlannedLine[]>();
  for (const path of await store.list()) {
    if (!isTopicPath(path) && !isArchivePath(path)) continue;
    const { lines } = parseTopic(path, (await store.read(path)) ?? '');
    topics.set(
      path,
      lines.map((line) => ({ ...line, path })),
    );
  }
  const logs = markdownFiles(store.dir).filter(logDay);
  const entries = new Map<string, EntryRow>();
  for (const item of catalogEntries(store.dir, logs, store.ledger)) {
    const row = entryOfItem(item, entryRow(store.ledger, item.id));
    if (row.state !== 'forgotten') entries.set(row.id, { ...row, day: item.day });
  }
  for (const row of entriesIn(store.ledger, 'sent')) entries.set(row.id, row);
  const supporters: Remembered['supporters'] = new Map();
  for (const { path, line, entry } of allSupports(store.ledger)) {
    const key = keyOf({ path, id: line });
    supporters.set(key, (supporters.get(key) ?? new Set()).add(entry));
  }
  return { topics, entries, supporters };
}

/** What the words of a person may mean: a name or an id one thing, a text everything that holds it. */
export function findCandidates(target: string, remembered: Remembered): Candidate[] {
  const { topics, entries } = remembered;
  const entry = entries.get(target);
  if (entry) return [entryCandidate(entry)];
  const path = [target, `${target}.md`, archivePath(`${target}.md`)].find((each) => topics.has(each));
  if (path) return [{ kind: 'topic', id: nameOf(path), path, text: sayCount(topics.get(path)?.length ?? 0, 'line') }];
  const inSession = [...entries.values()].filter(({ session }) => isOfSession(session, target));
  if (inSession.length > 0) return inSession.map(entryCandidate);
  const lines = [...topics.values()].flat();
  const named = lines.filter((line) => line.id === target);
  if (named.length > 0) return named.map(lineCandidate);
  const wanted = plain(target);
  if (wanted === '') return [];
  const found = lines.filter((line) => plain(line.text).includes(wanted));
  // An entry that a found line rests on, or that says the same, goes with the line.
  const told = new Set(found.map((line) => plain(line.text)));
  const resting = new Set(found.flatMap((line) => [...supportersOf(line, remembered)]));
  const loose = [...entries.values()].filter(
    ({ id, text }) => plain(text).includes(wanted) && !told.has(plain(text)) && !resting.has(id),
  );
  return [...found.map(lineCandidate), ...loose.map(entryCandidate)];
}

/** Everything that goes where these go. */
export async function planOf(
  candidates: Candidate[],
  { remembered, store }: { remembered: Remembered; store: Store },
): Promise<ForgetPlan> {
  const { topics, entries } = remembered;
  const allLines = [...topics.values()].flat();
  const lines = new Map<string, PlannedLine>();
  const gone = new Set<string>();
  for (const { kind, id, path } of candidates) {
    if (kind === 'entry') gone.add(id);
    const meant = kind === 'topic' ? topics.get(path) : topics.get(path)?.filter((line) => line.id === id);
    for (const line of meant ?? []) {
      lines.set(keyOf(line), line);
      for (const row of entries.values()) if (plain(row.text) === plain(line.text)) gone.add(row.id);
    }
  }
  const restsElsewhere = (entry: string) =>
    allLines.some((line) => !lines.has(keyOf(line)) && supportersOf(line, remembered).has(entry));
  const meantEntries = [...lines.values()].flatMap((line) => [...supportersOf(line, remembered)]);
  for (const entry of meantEntries) if (!restsElsewhere(entry)) gone.add(entry);
  // A line that rests on others too holds words of what goes: it goes as well, and the others are read anew.
  const resting = await restingOn(store, gone);
  const restingKeys = new Set([...resting.alone, ...resting.shared].map(keyOf));
  for (const line of allLines) if (restingKeys.has(keyOf(line))) lines.set(keyOf(line), line);
  const left = [...lines.values()].flatMap((line) => [...supportersOf(line, remembered)]);
  const again = new Set(left.filter((entry) => !gone.has(entry) && !restsElsewhere(entry)));
  const rowsOf = (ids: Set<string>) => [...ids].flatMap((id) => entries.get(id) ?? []);
  const isWhole = (path: string) => topics.get(path)?.every((line) => lines.has(keyOf(line)));
  const asked = candidates.flatMap(({ kind, path }) => (kind === 'topic' ? path : []));
  const emptied = [...lines.values()].map((line) => line.path).filter(isWhole);
  return {
    whole: asked,
    topics: [...new Set([...asked, ...emptied])].sort(),
    lines: [...lines.values()],
    entries: rowsOf(gone),
    again: rowsOf(again),
  };
}

function supportersOf(line: { path: string; id: string }, { supporters }: Remembered): Set<string> {
  return supporters.get(keyOf(line)) ?? new Set();
}

function keyOf({ path, id }: { path: string; id: string }): string {
  return `${path} ${id}`;
}

function lineCandidate({ id, path, text }: PlannedLine): Candidate {
  return { kind: 'line', id, path, text };
}

function entryCandidate(entry: EntryRow): Candidate {
  return { kind: 'entry', id: entry.id, path: logPath(entry.day), text: entry.text, ...scopeOf(entry) };
}

export function scopeOf({ state }: EntryRow): { scope?: 'user' } {
  return state === 'sent' ? { scope: 'user' } : {};
}

/** Of a session, its subagents too; the beginning of its id will do. */
function isOfSession(session: string, target: string): boolean {
  return session.split('/')[0] === target || (target.length >= 8 && session.startsWith(target));
}

function nameOf(path: string): string {
  return path.replace(/\.md$/i, '');
}

/** White space, case and the full stop at the end make no difference to a person. */
function plain(text: string): string {
  return text.normalize('NFC').toLowerCase().replace(/\s+/g, ' ').trim().replace(/\.$/, '');
}
