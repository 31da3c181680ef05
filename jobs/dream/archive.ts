// Archiving: what a dream puts away without a model, by type and use. Habits that were seen once and never again, past
// dates, then what nobody asked for or changed in a long time; user and feedback last. Put away means `archive/`: out of the index, found by a search and by
// the next dream, and back when that touches it. What the project's own files say goes, with that reason.
// Never touches what is pinned, what a person wrote, or what was used or shown in the last month; deletes no topic.

import { subDays } from 'date-fns/subDays';
import { dayOf } from '../../src/base/time.ts';
import { endWaiting, sayWaitedInVain, waitedInVain } from '../../src/memory/dream/habits.ts';
import type { IndexSize } from '../../src/memory/dream/index-change.ts';
import type { Archiving } from '../../src/memory/dream/operations.ts';
import {
  linesDueBefore,
  linesSaying,
  refreshTopics,
  type TopicCard,
  topicCards,
} from '../../src/memory/dream/topic-table.ts';
import { addSupport, dropSupport, entryRow, type Support, supportsOf } from '../../src/memory/ledger/entries.ts';
import type { Ledger, Transaction } from '../../src/memory/ledger/ledger.ts';
import { topicUses } from '../../src/memory/recall/recall-uses.ts';
import type { FileChange } from '../../src/memory/store/store.ts';
import type { ReportedRow } from '../../src/memory/text/dream-report.ts';
import { archivePath, editLines, isArchivePath, lineId, newTopic, parseTopic } from '../../src/memory/text/topic.ts';
import type { Guidance } from '../agent-request.ts';
import { type CommitAt, commitTopics, type Place, type Told, type TopicsPlan } from './commit.ts';
import { type DraftTopic, readTopics } from './draft.ts';

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

/** Finds what is to be put away tonight; changes nothing. `decided`: lines (`path`, a space, the id) that are not asked about. */
export async function findArchivable(
  { store, clock, zone, archiveAfterDays, holdDays }: Place & { archiveAfterDays: ArchiveAfterDays; holdDays: number },
  { guidance, decided }: { guidance: Guidance; decided: Set<string> },
): Promise<Archiving[]> {
  const { ledger } = store;
  refreshTopics(ledger);
  const cards = new Map(topicCards(ledger).map((card) => [card.path, card]));
  const use = new Uses(ledger);
  const daysAgo = (days: number) => subDays(clock.now(), days);
  const found = new Map<string, Archiving>();
  const topics = new Map<string, DraftTopic>();
  const add = async (path: string, line: string, why: Pick<Archiving, 'kind' | 'reason'>) => {
    await readTopics(store, [path], topics);
    const topic = [...topics.values()].find((each) => each.path === path);
    const known = topic?.lines.get(line);
    if (!known || known.isPersons || topic?.isPinned) return;
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
    if (days === null || card.isPinned || card.isArchived || !isOlder(card, daysAgo(days))) continue;
    if (use.isSince(card.path, daysAgo(Math.max(days, RECENT_DAYS)))) continue;
    await readTopics(store, [card.path], topics);
    const topic = [...topics.values()].find((each) => each.path === card.path);
    // A topic in which a person wrote stays whole.
    if (!topic || [...topic.lines.values()].some((line) => line.isPersons)) continue;
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

function isOlder({ changedAt }: TopicCard, than: Date): boolean {
  return changedAt < than.toISOString();
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
