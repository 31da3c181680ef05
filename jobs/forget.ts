// Forget: something leaves the memory because a person says so, and is not learned again from the same source.
//
// 1. Hold the dream's lease: a dream under way would write down what it has read before.
// 2. Find what is meant, and all that goes with it. What may mean several things changes nothing.
// 3. Let the person confirm.
// 4. In one commit take the entries out of their logs, the lines and empty topics out of the memory, what links these
//    out of the index; keep the entries as tombstones. The versions stay, so that undo brings everything back.
//
// Taking lines out because what they rest on goes (`removeLines`) is one way for whoever forgets and whoever redacts.

import { AppError } from '../src/base/errors.ts';
import { sayCount } from '../src/base/text/wording.ts';
import type { Clock } from '../src/base/time.ts';
import { indexChange } from '../src/memory/dream/index-change.ts';
import { dropProposalsAbout } from '../src/memory/dream/proposals.ts';
import { restingOn } from '../src/memory/dream/provenance.ts';
import { entryOfItem } from '../src/memory/history/log-items.ts';
import {
  allSupports,
  dropSupport,
  type EntryRow,
  entriesIn,
  entryRow,
  isInLog,
  supportsOf,
  writeEntry,
} from '../src/memory/ledger/entries.ts';
import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import { catalogEntries, markdownFiles } from '../src/memory/recall/catalog.ts';
import { holdsWords } from '../src/memory/recall/search.ts';
import type { CommitPlan, FileChange, Store, WithLease } from '../src/memory/store/store.ts';
import { logDay, logPath, removeEntries } from '../src/memory/text/daily-log.ts';
import { withoutLinksTo } from '../src/memory/text/index-file.ts';
import {
  archivePath,
  editLines,
  isArchivePath,
  isTopicPath,
  lineNumbers,
  parseTopic,
  type TopicLine,
} from '../src/memory/text/topic.ts';

export interface ForgetRequest {
  /** A topic's name, a line of it (`name:7`), an id of an entry, a line or a session, or words as they stand in what is meant. */
  target: string;
  /** Take everything that a text may mean. */
  all?: boolean;
  /** Contract: nothing is changed unless it answers true. */
  confirm(plan: ForgetPlan): Promise<boolean>;
}

interface ForgetDeps {
  store: Store;
  clock: Clock;
  withLease: WithLease;
}

/** `job`: with which it can be undone; all but `forgotten` changed nothing. */
type ForgetEnd =
  | { outcome: 'forgotten'; job: string }
  | { outcome: 'ambiguous' | 'unknown' | 'unconfirmed' | 'busy'; job: null };

export type ForgetReport = ForgetEnd & {
  /** Topic files that are gone. */
  topics: string[];
  lines: { path: string; id: string; text: string }[];
  /** `scope`: what was sent there is forgotten there, too. */
  entries: { id: string; day: string; text: string; scope?: 'user' }[];
  /** What it may mean, where that is not one thing. */
  candidates: Candidate[];
};

const NOTHING = { topics: [], lines: [], entries: [], candidates: [] };

/** Contract: every planned ending is the report's `outcome`. */
export async function forget(request: ForgetRequest, deps: ForgetDeps): Promise<ForgetReport> {
  // 1.
  const report = await deps.withLease(deps.store, 'dream', () => forgetWithLease(request, deps));
  return report ?? { outcome: 'busy', job: null, ...NOTHING };
}

async function forgetWithLease(request: ForgetRequest, deps: ForgetDeps): Promise<ForgetReport> {
  const target = request.target.trim();
  if (target === '') throw new AppError('bad-input', 'Say what to forget: a topic, an entry or a text.');
  // 2.
  const remembered = await readRemembered(deps.store);
  const candidates = findCandidates(target, remembered);
  if (candidates.length === 0) return { outcome: 'unknown', job: null, ...NOTHING };
  if (candidates.length > 1 && !request.all) return { outcome: 'ambiguous', job: null, ...NOTHING, candidates };
  const plan = await planOf(candidates, { remembered, store: deps.store });
  const meant = {
    topics: plan.topics,
    lines: plan.lines.map(({ path, id, text }) => ({ path, id, text })),
    entries: plan.entries.map((entry) => ({ id: entry.id, day: entry.day, text: entry.text, ...scopeOf(entry) })),
    candidates: [],
  };
  // 3.
  if (!(await request.confirm(plan))) return { outcome: 'unconfirmed', job: null, ...meant };
  // 4.
  return { outcome: 'forgotten', job: await commitPlan(plan, deps), ...meant };
}

async function commitPlan(plan: ForgetPlan, { store, clock }: ForgetDeps): Promise<string> {
  let job = '';
  await store.commit({ actor: 'person' }, () => {
    const removal = removalOf({ lines: plan.lines, whole: plan.whole }, store);
    return {
      files: [...logChanges(plan), ...removal.files],
      rows(transaction) {
        removal.rows?.(transaction);
        job = enterPersonsJob(transaction, { kind: 'forget', outcome: 'forgotten', now: clock.now() });
        for (const entry of plan.entries) writeEntry(transaction, { ...entry, job, state: 'forgotten' });
        dropProposalsAbout(
          transaction,
          plan.entries.map(({ id }) => id),
        );
        for (const entry of plan.again) writeEntry(transaction, { ...entry, state: 'new' });
      },
    };
  });
  return job;
}

/** A log of which only the heading is left is no file. */
function logChanges({ entries }: ForgetPlan): FileChange[] {
  return [...Map.groupBy(entries.filter(isInLog), (entry) => entry.day)].map(([day, rows]) => ({
    path: logPath(day),
    change(current) {
      const left = removeEntries(current ?? '', new Set(rows.map((entry) => entry.id)), day);
      return left.trim() === '' || left.trim() === `# ${day}` ? null : left;
    },
  }));
}

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

interface PlannedLine extends TopicLine {
  path: string;
  /** Where it stands in its file, from 1. */
  first: number;
  last: number;
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
  /** Entries that stay although their only line goes with another entry: the next dream reads them again. */
  again: EntryRow[];
}

interface Remembered {
  /** The lines of each topic, by path. */
  topics: Map<string, PlannedLine[]>;
  /** What is in the logs, and what was sent to the user scope, by id. */
  entries: Map<string, EntryRow>;
  /** The entries that each line rests on, by `keyOf` the line. */
  supporters: Map<string, Set<string>>;
}

async function readRemembered(store: Store): Promise<Remembered> {
  const topics = new Map<string, PlannedLine[]>();
  for (const path of await store.list()) {
    if (!isTopicPath(path) && !isArchivePath(path)) continue;
    const lines = lineNumbers((await store.read(path)) ?? '');
    topics.set(
      path,
      lines.map((line) => ({ ...line, path })),
    );
  }
  const logs = markdownFiles(store.dir).filter(logDay);
  const entries = new Map<string, EntryRow>();
  for (const item of catalogEntries(store.dir, logs, store.ledger)) {
    const row = entryOfItem(item, entryRow(store.ledger, item.id), store.ledger);
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

/** What the words of a person may mean: a name or an id one thing, other words everything that holds them. */
function findCandidates(target: string, remembered: Remembered): Candidate[] {
  const { topics, entries } = remembered;
  const entry = entries.get(target);
  if (entry) return [entryCandidate(entry)];
  const begun = /^e_[0-9a-f]{4,}$/.test(target) ? [...entries.values()].filter(({ id }) => id.startsWith(target)) : [];
  if (begun.length > 0) return begun.map(entryCandidate);
  const pathOf = (name: string) => [name, `${name}.md`, archivePath(`${name}.md`)].find((each) => topics.has(each));
  const path = pathOf(target);
  if (path)
    return [
      { kind: 'topic', id: path.replace(/\.md$/i, ''), path, text: sayCount(topics.get(path)?.length ?? 0, 'line') },
    ];
  const inSession = [...entries.values()].filter(({ session }) => isOfSession(session, target));
  if (inSession.length > 0) return inSession.map(entryCandidate);
  const lines = [...topics.values()].flat();
  const [, name = '', number] = /^(.+):(\d+)$/.exec(target) ?? [];
  const isAt = ({ path, first, last }: PlannedLine) =>
    path === pathOf(name) && first <= Number(number) && Number(number) <= last;
  const named = lines.filter((line) => line.id === target || isAt(line));
  if (named.length > 0) return named.map(lineCandidate);
  const found = lines.filter((line) => holdsWords(line.text, target));
  // An entry that a found line rests on, or that says the same, goes with the line.
  const told = new Set(found.map((line) => plain(line.text)));
  const resting = new Set(found.flatMap((line) => [...supportersOf(line, remembered)]));
  const loose = [...entries.values()].filter(
    ({ id, text }) => holdsWords(text, target) && !told.has(plain(text)) && !resting.has(id),
  );
  return [...found.map(lineCandidate), ...loose.map(entryCandidate)];
}

/** Everything that goes where these go. */
async function planOf(
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
  // A line that rests on others too holds words of what goes: it goes as well, and the others are read again.
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

function scopeOf({ state }: EntryRow): { scope?: 'user' } {
  return state === 'sent' ? { scope: 'user' } : {};
}

/** Of a session, its subagents too; the beginning of its id will do. */
function isOfSession(session: string, target: string): boolean {
  return session.split('/')[0] === target || (target.length >= 8 && session.startsWith(target));
}

/** White space, case and the full stop at the end make no difference to a person. */
function plain(text: string): string {
  return text.normalize('NFC').toLowerCase().replace(/\s+/g, ' ').trim().replace(/\.$/, '');
}

interface Removal {
  lines: { path: string; id: string }[];
  /** Topics that go with everything in them. */
  whole?: string[];
}

/** The part of a commit that takes them out, for the ledger as it stands in that commit. */
function removalOf({ lines, whole = [] }: Removal, store: Pick<Store, 'ledger' | 'isCheckedIn'>): CommitPlan {
  const topics = [...new Set([...whole, ...lines.map((line) => line.path)])];
  if (topics.length === 0) return { files: [] };
  const index = indexChange(store);
  const gone = new Set<string>();
  const changes = topics.map(
    (path): FileChange => ({
      path,
      change(current) {
        const remove = new Set(lines.filter((line) => line.path === path).map((line) => line.id));
        const text = whole.includes(path) || current === null ? null : editLines(current, { remove, add: [] });
        if (text !== null && parseTopic(path, text).lines.length > 0) return text;
        gone.add(path);
        return null;
      },
    }),
  );
  const { path, change } = index.memory;
  const memory: FileChange = { path, change: (now) => change(now && withoutLinksTo(now, gone)) };
  return {
    files: [...changes, memory, ...index.overflow()],
    rows(transaction) {
      index.finish(transaction);
      for (const line of lines) {
        const supports = supportsOf(transaction.ledger, line.path).filter((support) => support.line === line.id);
        for (const support of supports) dropSupport(transaction, support);
      }
    },
  };
}

/** Takes them out, as a person would. */
export async function removeLines(store: Store, lines: Removal['lines']): Promise<void> {
  if (lines.length > 0) await store.commit({ actor: 'person' }, () => removalOf({ lines }, store));
}
