// What a dream changes without a model. Lines that rested on withdrawn entries alone go, entries that
// the project's own files say, or memories that are no topics, are dropped. What is past or unused is archived: habits that
// were seen once and never again, past dates, then what nobody asked for or changed in a long time; user and feedback
// last. Archived means `archive/`: out of the index, found by a search and by the next dream, and back when that touches
// it. Never touches what is pinned, what no dream wrote, or what was used or shown in the last month; deletes no topic.

import { subDays } from 'date-fns/subDays';
import { dayOf } from '../../src/base/time.ts';
import { endWaiting, sayWaitedInVain, waitedInVain } from '../../src/memory/dream/habits.ts';
import type { IndexSize } from '../../src/memory/dream/index-change.ts';
import { linesDecided } from '../../src/memory/dream/proposals.ts';
import type { RestingLine } from '../../src/memory/dream/provenance.ts';
import { linesDueBefore, linesSaying, refreshTopics, topicCards } from '../../src/memory/dream/topic-table.ts';
import type { Guidance } from '../../src/memory/home/projects.ts';
import {
  addSupport,
  dropSupport,
  type EntryRow,
  entryRow,
  type Support,
  supportsByEntry,
  supportsOf,
} from '../../src/memory/ledger/entries.ts';
import type { Ledger, Transaction } from '../../src/memory/ledger/ledger.ts';
import { topicUses } from '../../src/memory/recall/recall-uses.ts';
import type { FileChange, Store } from '../../src/memory/store/store.ts';
import type { ReportedRow } from '../../src/memory/text/dream-report.ts';
import type { Archiving } from '../../src/memory/text/operations.ts';
import {
  archivePath,
  editLines,
  isArchivePath,
  lineId,
  newTopic,
  parseTopic,
  saidId,
} from '../../src/memory/text/topic.ts';
import { entryIds, isOthers, type Operation } from '../../src/rules/dream-context.ts';
import { type Checked, type CommitAt, type CommitDeps, commitTopics, type Told, type TopicsPlan } from './commit.ts';
import { type DraftTopic, readTopicAt, readTopics, saidElsewhere } from './draft.ts';
import { contextOf } from './select.ts';

/** What code alone changes, if anything, and the entries of which a model says what becomes. */
interface ByCode {
  checked: Checked | null;
  rest: EntryRow[];
}

/** Retires what rested on withdrawn entries alone. With `needsApproval` an entry waits once: with what goes for certain. */
export async function retireWithdrawn(
  withdrawn: EntryRow[],
  { store, needsApproval }: { store: Store; needsApproval: boolean },
): Promise<ByCode> {
  const supports = withdrawn.flatMap((entry) => supportsByEntry(store.ledger, entry.id));
  const topics = await readTopics(store, new Set(supports.map(({ path }) => path)));
  const operations = retirementOf(withdrawn, topics.values());
  const gone = new Set(withdrawn.map((entry) => entry.id));
  const lines = [...topics.values()].flatMap((topic) => [...topic.lines]);
  const waiting = new Set(needsApproval ? operations.flatMap(entryIds) : []);
  const rest = withdrawn.filter(({ id }) => isShared(id, lines, gone) && !waiting.has(id));
  const done = withdrawn.filter((entry) => !rest.includes(entry));
  if (done.length + operations.length === 0) return { checked: null, rest };
  const context = await contextOf([], withdrawn, topics);
  return { checked: { operations, context, fresh: [], withdrawn: done }, rest };
}

/** Drops the entries that the project's own files say, or a memory that is no topic; what a person said is kept. */
export async function dropSaid(fresh: EntryRow[], guidance: Guidance, { ledger }: Store): Promise<ByCode> {
  const elsewhere = fresh.length > 0 ? saidElsewhere(ledger) : new Map<string, RestingLine>();
  const operations = fresh.flatMap((entry): Operation[] => {
    if (entry.by === 'person') return [];
    const drop = { kind: 'drop' as const, entries: [entry.id] };
    const file = guidance.saying(entry.text, entry.session);
    if (file !== undefined) return [{ ...drop, because: 'in-repository', reason: `${file} says it.` }];
    const line = elsewhere.get(saidId(entry.text));
    return line ? [{ ...drop, because: 'duplicate', of: line.id, reason: `${line.path} says it.` }] : [];
  });
  if (operations.length === 0) return { checked: null, rest: fresh };
  const dropped = new Set(operations.flatMap(entryIds));
  const said = fresh.filter(({ id }) => dropped.has(id));
  const checked = { operations, context: await contextOf(said, []), fresh: said, withdrawn: [] };
  return { checked, rest: fresh.filter(({ id }) => !dropped.has(id)) };
}

/**
 * The operation that needs no model: lines that rest on withdrawn entries alone go. An entry that supports another line
 * too stays to be accounted for, so the operation names one that does not, or any.
 */
function retirementOf(withdrawn: { id: string }[], topics: Iterable<DraftTopic>): Operation[] {
  const gone = new Set(withdrawn.map((entry) => entry.id));
  const lines = [...topics].filter((topic) => !topic.isPinned).flatMap((topic) => [...topic.lines]);
  const lost = lines.filter(([, { entries }]) => entries.length > 0 && entries.every((entry) => gone.has(entry)));
  const all = [...new Set(lost.flatMap(([, line]) => line.entries))];
  const alone = all.filter((entry) => !isShared(entry, lines, gone));
  const entries = alone.length > 0 ? alone : all;
  const reason = 'What it rested on is no longer in the logs.';
  const out = [...new Set(lost.map(([line]) => line))];
  return entries.length > 0 ? [{ kind: 'put', out, entries, reason }] : [];
}

/** Whether a line rests on the entry that rests on others, which still hold, too. */
function isShared(entry: string, lines: [string, { entries: string[] }][], gone: Set<string>): boolean {
  return lines.some(([, line]) => line.entries.includes(entry) && line.entries.some((other) => !gone.has(other)));
}

/** Days after which something is put away; null: never. */
export interface ArchiveAfterDays {
  /** After the last date that a fact of the project speaks of, where that was to be met. */
  pastDates: number | null;
  /** By type, after a topic was used, shown or changed last. */
  reference: number | null;
  project: number | null;
  feedback: number | null;
  user: number | null;
}

const RECENT_DAYS = 30;

/** Finds what is to be put away tonight; changes nothing. Lines whose archiving waits or was turned down are not asked about. */
export async function findArchivable(
  {
    store,
    clock,
    zone,
    archiveAfterDays,
    holdDays,
  }: CommitDeps & { archiveAfterDays: ArchiveAfterDays; holdDays: number },
  guidance: Guidance,
): Promise<Archiving[]> {
  const { ledger } = store;
  refreshTopics(ledger);
  const cards = new Map(topicCards(ledger).map((card) => [card.path, card]));
  const use = new Uses(ledger);
  const decided = linesDecided(ledger);
  const daysAgo = (days: number) => subDays(clock.now(), days);
  const found = new Map<string, Archiving>();
  const topics = new Map<string, DraftTopic>();
  const add = async (path: string, line: string, why: Pick<Archiving, 'kind' | 'reason'>) => {
    const topic = await readTopicAt(store, path, topics);
    const known = topic?.lines.get(line);
    if (!known || isOthers(known) || topic?.isPinned) return;
    // A person has it before them, or said that it stays.
    if (decided.has(`${path} ${line}`)) return;
    const isTold = [...found.values()].some((each) => each.topic === path && each.lines.includes(line));
    if (isTold) return;
    const key = [path, why.kind, why.reason].join('\n');
    const archiving = found.get(key) ?? { ...why, topic: path, lines: [], entries: [] };
    archiving.lines.push(line);
    archiving.entries = [...new Set([...archiving.entries, ...known.entries])];
    found.set(key, archiving);
  };
  for (const text of guidance.texts()) {
    for (const { path, line } of linesSaying(ledger, text)) {
      const files = supportsOf(ledger, path)
        .filter((support) => support.line === line)
        .map(({ entry }) => guidance.saying(text, entryRow(ledger, entry)?.session ?? ''));
      const [file] = files;
      if (file && files.every(Boolean)) await add(path, line, { kind: 'retire', reason: `${file} says it now.` });
    }
  }
  for (const { path, line } of waitedInVain(ledger, { now: clock.now(), holdDays })) {
    if (!isArchivePath(path)) await add(path, line, { kind: 'archive', reason: sayWaitedInVain(holdDays) });
  }
  if (archiveAfterDays.pastDates !== null) {
    const { pastDates } = archiveAfterDays;
    for (const { path, line, due } of linesDueBefore(ledger, dayOf(daysAgo(pastDates), zone))) {
      if (use.isSince(path, daysAgo(RECENT_DAYS))) continue;
      await add(path, line, { kind: 'archive', reason: `Its date, ${due}, is more than ${pastDates} days past.` });
    }
  }
  for (const card of use.isKnown ? cards.values() : []) {
    const days = card.type ? archiveAfterDays[card.type] : null;
    if (days === null || card.isPinned || card.isArchived || card.changedAt >= daysAgo(days).toISOString()) continue;
    if (use.isSince(card.path, daysAgo(Math.max(days, RECENT_DAYS)))) continue;
    const topic = await readTopicAt(store, card.path, topics);
    // A topic in which someone else wrote stays whole.
    if (!topic || [...topic.lines.values()].some(isOthers)) continue;
    const reason = `A ${card.type} topic that nobody used or changed for ${days} days.`;
    for (const line of topic.lines.keys()) await add(card.path, line, { kind: 'archive', reason });
  }
  return [...found.values()];
}

/** Puts it away, in one commit with the index and the report. */
export function commitArchiving(
  archiving: Archiving[],
  at: CommitAt,
  told: Told = { fresh: [], withdrawn: [] },
): Promise<IndexSize> {
  return commitTopics(told, at, (ledger) => {
    const texts = new Map<string, string>();
    const byTopic = Map.groupBy(archiving, ({ topic }) => topic);
    return {
      topics: [...byTopic].flatMap(([path, parts]) => changesOf(path, parts, texts)),
      told: archiving.flatMap((part) => tell(part, { job: at.job, ledger })),
      rows(transaction) {
        moveLines(transaction, archiving);
        endWaiting(transaction, archivedHabits(archiving, ledger), at.clock.now());
      },
    } satisfies TopicsPlan;
  });
}

/** The entries that wait for a corroboration of a line that is put away. */
function archivedHabits(archiving: Archiving[], ledger: Ledger): string[] {
  return archiving.flatMap(({ entries }) => entries).filter((entry) => entryRow(ledger, entry)?.state === 'held');
}

/** When topics were used or shown. */
class Uses {
  readonly #last: Map<string, string>;

  constructor(ledger: Ledger) {
    const lastOf = ({ usedAt, shownAt }: { usedAt: string | null; shownAt: string | null }) =>
      [usedAt ?? '', shownAt ?? ''].sort().at(-1) ?? '';
    this.#last = new Map([...topicUses(ledger)].map(([path, use]) => [path, lastOf(use)]));
  }

  /** Where no use was ever recorded, that a topic was not used says nothing. */
  get isKnown(): boolean {
    return this.#last.size > 0;
  }

  isSince(path: string, since: Date): boolean {
    return (this.#last.get(path) ?? '') >= since.toISOString();
  }
}

export function changesOf(path: string, parts: Archiving[], texts: Map<string, string>): FileChange[] {
  const remove = new Set(parts.flatMap((part) => part.lines));
  const kept = new Set(parts.filter((part) => part.kind === 'archive').flatMap((part) => part.lines));
  const take = (current: string | null) => {
    if (current === null) return null;
    texts.set(path, current);
    const isEmptied = parseTopic(path, current).lines.every((line) => remove.has(line.id));
    return isEmptied ? null : editLines(current, { remove, add: [] });
  };
  const put = (current: string | null) => {
    const topic = parseTopic(path, texts.get(path) ?? '');
    const lines = topic.lines.filter((line) => kept.has(line.id));
    if (lines.length === 0) return current;
    const add = lines.map((line) => line.text);
    if (current !== null) return editLines(current, { remove: new Set(), add });
    if (lines.length === topic.lines.length) return texts.get(path) ?? null;
    const { name, description, type = 'project' } = topic;
    return newTopic({ name, description, type, lines: add });
  };
  const away = kept.size > 0 ? [{ path: archivePath(path), change: put }] : [];
  return [{ path, change: take }, ...away];
}

function moveLines(transaction: Transaction, archiving: Archiving[]): void {
  for (const { topic, lines, kind } of archiving) {
    const gone = supportsOf(transaction.ledger, topic).filter((support) => lines.includes(support.line));
    for (const support of gone) {
      dropSupport(transaction, support);
      const kept: Support = { ...support, path: archivePath(topic) };
      if (kind === 'archive') addSupport(transaction, kept);
    }
  }
}

function tell({ kind, topic, lines, reason }: Archiving, { job, ledger }: { job: string; ledger: Ledger }) {
  return supportsOf(ledger, topic)
    .filter((support) => lines.includes(support.line))
    .map(({ entry, line }): ReportedRow => {
      const text = entryRow(ledger, entry)?.text ?? '';
      const path = kind === 'archive' ? archivePath(topic) : null;
      const left = kind === 'archive' ? [line] : [];
      return { job, entry, op: kind, topic: path, lines: left, said: lineId(text), reason, text, gone: [line] };
    });
}
