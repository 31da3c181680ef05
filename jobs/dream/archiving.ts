// What a dream puts away by code: what a project's own files say by now, habits that were seen once and never again, dates that are
// past, then what was not asked for or changed in a long time; user and feedback last. Put away means `archive/`: out of the index,
// found by a search and by the next dream, and back when that touches it. It never touches what is pinned, what no dream wrote, or
// what was used or shown in the last month, and deletes no topic.

import { subDays } from 'date-fns/subDays';
import { type Clock, DAY_MS, type Day, dayOf } from '../../src/base/time.ts';
import type { Sql } from '../../src/db/sql.ts';
import type { Committed, FileChange } from '../../src/memory/commit.ts';
import { entriesAmong } from '../../src/memory/entries.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import type { Guidance } from '../../src/memory/projects.ts';
import { foundLines, restsOf } from '../../src/memory/rests.ts';
import type { Archiving } from '../../src/memory/text/operations.ts';
import {
  archivePath,
  dueDay,
  editLines,
  lineId,
  markMayBeOver,
  mayBeOver,
  newTopic,
  parseTopic,
  saidId,
  seenOnceOn,
  tellsState,
  withoutMark,
} from '../../src/memory/text/topic.ts';
import type { Change } from '../../src/memory/undo-rows.ts';
import { isOthers } from '../../src/rules/dream-context.ts';
import type { CodePlace } from './code-operations.ts';
import { type DreamOutput, type LandAt, landTopics, settleEntries, type ToldOperation } from './dream-landing.ts';
import { contextOf, type DraftTopic, openTopic, topicsAmong } from './topic-draft.ts';

/** Days after which something is put away; null: never. */
export interface ArchiveAfterDays {
  /** After the last date that a fact of the project speaks of, where that was to be met. */
  pastDates: number | null;
  /** By type, after a topic was used, shown or changed last. */
  reference: number | null;
  project: number | null;
  feedback: number | null;
  user: number | null;
  /** What an agent found out, after it was found last. */
  found: number | null;
  /** A state, after it was told last: then it is marked; after as many days more it is put away. */
  state: number | null;
}

/** When topics were used and shown last, by the id of their file. */
export interface TopicUses {
  used: Map<string, string>;
  touched: Map<string, string>;
}

export async function topicUses(sql: Sql, memory: string): Promise<TopicUses> {
  const rows = await sql.all<{ file: string; usedAt: string | null; shownAt: string | null }>(
    'select file, used_at as "usedAt", shown_at as "shownAt" from topic_use where memory = ?',
    memory,
  );
  const used = rows.flatMap(({ file, usedAt }) => (usedAt === null ? [] : [[file, usedAt] as const]));
  const touched = rows.map(
    ({ file, usedAt, shownAt }) => [file, [usedAt ?? '', shownAt ?? ''].sort().at(-1) ?? ''] as const,
  );
  return { used: new Map(used), touched: new Map(touched) };
}

const RECENT_DAYS = 30;

interface When {
  clock: Clock;
  zone: string;
  /** A habit that one session showed is put away after so many days without another. */
  holdDays: number;
  archiveAfterDays: ArchiveAfterDays;
}

/** Finds what is to be put away tonight; changes nothing. `isDecided`: lines that wait for a person's word, or had it. */
export async function findArchivable(
  place: CodePlace,
  { clock, zone, holdDays, archiveAfterDays }: When,
  { guidance, uses, isDecided }: { guidance: Guidance; uses: TopicUses; isDecided(line: string): boolean },
): Promise<Archiving[]> {
  const { files } = place;
  const context = await contextOf({ fresh: [], withdrawn: [] }, files);
  const living = topicsAmong(files).filter(({ isLiving, topic }) => isLiving && !topic.pinned);
  const daysAgo = (days: number) => subDays(clock.now(), days);
  const isUsedSince = (file: string, since: Date) => (uses.touched.get(file) ?? '') >= since.toISOString();
  const found = new Map<string, Archiving>();
  const add = (topic: DraftTopic, line: string, why: Pick<Archiving, 'kind' | 'reason'>) => {
    const known = topic.lines.get(line);
    if (!known || isOthers(known) || topic.isPinned || isDecided(`${topic.file} ${line}`)) return;
    if ([...found.values()].some((each) => each.topic === topic.path && each.lines.includes(line))) return;
    const key = [topic.path, why.kind, why.reason].join('\n');
    const archiving = found.get(key) ?? { ...why, topic: topic.path, lines: [], entries: [] };
    archiving.lines.push(line);
    archiving.entries = [...new Set([...archiving.entries, ...known.entries])];
    found.set(key, archiving);
  };
  const open = async (path: string) => (await openTopic(path, { ...place, context })) as DraftTopic;
  const texts = new Set(guidance.texts().map(saidId));
  for (const file of texts.size > 0 ? living : []) {
    for (const { id, text } of file.topic.lines.filter((line) => texts.has(saidId(line.text)))) {
      const topic = await open(file.path);
      const sources = topic.lines.get(id)?.sources ?? [];
      const saying = sources.map(({ session }) => guidance.saying(text, session));
      if (saying[0] && saying.every(Boolean)) add(topic, id, { kind: 'retire', reason: `${saying[0]} says it now.` });
    }
  }
  for (const { path, line, reason } of await habitsInVain(place, { clock, holdDays, archiveAfterDays }))
    add(await open(path), line, { kind: 'archive', reason });
  for (const { path, line, day } of (await agedStates(place, { clock, archiveAfterDays })).over)
    add(await open(path), line, { kind: 'archive', reason: `A state of ${day} that nobody told again.` });
  const { pastDates } = archiveAfterDays;
  const before = pastDates === null ? '' : dayOf(daysAgo(pastDates), zone);
  for (const file of living.filter(
    ({ topic, id }) => topic.type === 'project' && !isUsedSince(id, daysAgo(RECENT_DAYS)),
  )) {
    for (const { id, text } of file.topic.lines) {
      const due = dueDay(text);
      if (due === null || due >= before) continue;
      add(await open(file.path), id, {
        kind: 'archive',
        reason: `Its date, ${due}, is more than ${pastDates} days past.`,
      });
    }
  }
  // Where no use was ever recorded, that a topic was not used says nothing.
  for (const {
    id,
    path,
    topic: { type },
    changedAt,
  } of uses.touched.size > 0 ? living : []) {
    const days = type ? archiveAfterDays[type] : null;
    if (days === null || changedAt >= daysAgo(days).toISOString()) continue;
    if (isUsedSince(id, daysAgo(Math.max(days, RECENT_DAYS)))) continue;
    const topic = await open(path);
    // A topic in which someone else wrote stays whole.
    if ([...topic.lines.values()].some(isOthers)) continue;
    const reason = `A ${type} topic that nobody used or changed for ${days} days.`;
    for (const line of topic.lines.keys()) add(topic, line, { kind: 'archive', reason });
  }
  return [...found.values()];
}

/** Lines of living topics that one session showed, and no other in time, and what was found and not found again. */
export async function habitsInVain(
  { sql, memory, files }: CodePlace,
  { clock, holdDays, archiveAfterDays }: Pick<When, 'clock' | 'holdDays' | 'archiveAfterDays'>,
): Promise<{ path: string; line: string; reason: string }[]> {
  const inVain: { path: string; line: string; reason: string }[] = [];
  const lessons = new Set((await foundLines(sql, memory)).map(({ file, line }) => `${file} ${line}`));
  for (const { id, path, topic } of topicsAmong(files).filter(({ isLiving }) => isLiving)) {
    const isLesson = (line: string) => lessons.has(`${id} ${line}`);
    const once = topic.lines.filter((line) => seenOnceOn(line.text) !== undefined || isLesson(line.id));
    const rests = once.length > 0 ? await restsOf(sql, memory, id) : [];
    for (const { id: line, text } of once) {
      const ids = rests.flatMap((each) => (each.line === line ? each.source : []));
      const entries = await entriesAmong(sql, memory, { column: 'id', of: ids });
      const isFound = entries.length === ids.length && entries.every(({ found }) => found);
      const days = isFound ? archiveAfterDays.found : seenOnceOn(text) === undefined ? null : holdDays;
      if (days === null || entries.length === 0) continue;
      const before = new Date(clock.now().getTime() - days * DAY_MS).toISOString();
      const reason = `No other session ${isFound ? 'found' : 'showed'} it within ${days} days.`;
      if (entries.every(({ learnedAt }) => learnedAt < before)) inVain.push({ path, line, reason });
    }
  }
  return inVain;
}

interface AgedLine {
  file: string;
  path: string;
  line: string;
  text: string;
  /** When it was told last. */
  day: Day;
}

/** Lines of living topics that tell a state, or what a session left: those that nobody told again in time, and in twice that. */
export async function agedStates(
  { sql, memory, files }: CodePlace,
  { clock, archiveAfterDays: { state } }: Pick<When, 'clock' | 'archiveAfterDays'>,
): Promise<{ due: AgedLine[]; over: AgedLine[] }> {
  const aged: { due: AgedLine[]; over: AgedLine[] } = { due: [], over: [] };
  if (state === null) return aged;
  const before = (days: number) => new Date(clock.now().getTime() - days * DAY_MS).toISOString();
  const outcomes = new Set(
    (await foundLines(sql, memory)).flatMap(({ file, line, found }) => (found === 'outcome' ? `${file} ${line}` : [])),
  );
  for (const { id: file, path, topic } of topicsAmong(files)) {
    const isFact = topic.type === 'project' || topic.type === 'reference';
    if (!isFact || topic.pinned || !files.get(path)?.isLiving) continue;
    const states = topic.lines.filter(({ id, text }) => tellsState(text) || outcomes.has(`${file} ${id}`));
    const rests = states.length > 0 ? await restsOf(sql, memory, file) : [];
    for (const { id: line, text } of states) {
      const ids = rests.flatMap((each) => (each.line === line ? each.source : []));
      const last = (await entriesAmong(sql, memory, { column: 'id', of: ids })).at(-1)?.at;
      // What rests on no entry is a person's, or a program's.
      if (last === undefined || last >= before(state)) continue;
      const kind = mayBeOver(text) && last < before(2 * state) ? 'over' : 'due';
      if (kind === 'over' || !mayBeOver(text)) aged[kind].push({ file, path, line, text, day: last.slice(0, 10) });
    }
  }
  return aged;
}

/** Marks states that may be over, in one commit with the index; answers what the job tells by then. */
export function landAged(due: readonly AgedLine[], at: LandAt): Promise<DreamOutput> {
  const byPath = Map.groupBy(due, ({ path }) => path);
  const marked = ({ text, day }: AgedLine) => markMayBeOver(text, day);
  return landTopics(at, [...byPath.keys()], async (sql) => {
    const files = [...byPath].map(([path, lines]): FileChange => {
      const mark = (now: string, each: AgedLine) =>
        editLines(now, { remove: new Set([each.line]), add: [marked(each)] });
      return { path, make: (current) => current && lines.reduce(mark, current) };
    });
    return {
      files,
      more: {},
      async rows(change) {
        for (const each of due) {
          for (const { line, source } of await restsOf(sql, at.memory.id, each.file)) {
            if (line !== each.line) continue;
            const row = { memory: at.memory.id, file: each.file, source };
            await change.drop('rests', { ...row, line });
            await change.put('rests', { ...row, line: lineId(marked(each)) });
          }
        }
      },
    };
  });
}

/** Topics in which a line that was seen once is a person's by now, each without the marks of such lines. */
export async function withoutLateMarks({ sql, memory, files }: CodePlace): Promise<FileChange[]> {
  const changes: FileChange[] = [];
  for (const { id, path, topic } of topicsAmong(files).filter((file) => file.isLiving && !file.topic.pinned)) {
    const marked = topic.lines.filter(({ text }) => seenOnceOn(text) !== undefined);
    const rests = new Set(marked.length > 0 ? (await restsOf(sql, memory, id)).map(({ line }) => line) : []);
    const late = marked.filter((line) => !rests.has(line.id));
    const unmark = (now: string, line: { id: string; text: string }) =>
      editLines(now, { remove: new Set([line.id]), add: [withoutMark(line.text)] });
    if (late.length > 0) changes.push({ path, make: (current) => current && late.reduce(unmark, current) });
  }
  return changes;
}

/** Puts it away, in one commit with the index; answers what the job tells by then. */
export function landArchiving(archiving: readonly Archiving[], at: LandAt): Promise<DreamOutput> {
  const memory = at.memory.id;
  const byTopic = Map.groupBy(archiving, ({ topic }) => topic);
  const paths = [...byTopic.keys()].flatMap((path) => [path, archivePath(path)]);
  return landTopics(at, paths, async (sql) => {
    const files: FileChange[] = [];
    const moves: Move[] = [];
    for (const [path, parts] of byTopic) {
      const { changes, move } = await changesOf(sql, memory, { path, parts });
      files.push(...changes);
      if (move) moves.push(move);
    }
    return {
      files,
      more: { operations: archiving.map(toldOf) },
      async rows(change, heads) {
        for (const move of moves) await moveRests(change, memory, { ...move, to: awayIn(move, files, heads) });
        const why = new Map(archiving.flatMap(({ entries, reason }) => entries.map((id) => [id, reason] as const)));
        await settleEntries(change, memory, { ids: why.keys(), why: (id) => `in-repository: ${why.get(id)}` });
      },
    };
  });
}

function toldOf({ kind, topic, entries, reason }: Archiving): ToldOperation {
  return { kind, topic: kind === 'archive' ? archivePath(topic) : topic, entries, reason };
}

/** Lines that leave a file, and where those that are kept go. */
interface Move {
  file: string;
  away: string;
  lines: string[];
  kept: Set<string>;
}

function awayIn({ away }: Move, files: FileChange[], heads: Committed['files']): string | undefined {
  return heads[files.findIndex(({ path }) => path === away)]?.id;
}

/** A topic of which all goes moves with its history; of another one the lines do. */
export async function changesOf(
  sql: Sql,
  memory: string,
  { path, parts }: { path: string; parts: readonly Archiving[] },
): Promise<{ changes: FileChange[]; move?: Move }> {
  const head = await headAt(sql, memory, path);
  if (!head?.content) return { changes: [] };
  const away = archivePath(path);
  const topic = parseTopic(path, head.content.toString());
  const remove = new Set(parts.flatMap(({ lines }) => lines));
  const kept = new Set(parts.flatMap(({ kind, lines }) => (kind === 'archive' ? lines : [])));
  const isEmptied = topic.lines.every(({ id }) => remove.has(id));
  const isWhole = isEmptied && topic.lines.every(({ id }) => kept.has(id));
  if (isWhole && (await headAt(sql, memory, away)) === null) {
    return { changes: [{ path: away, from: path, make: (current) => current }] };
  }
  const texts = topic.lines.filter(({ id }) => kept.has(id)).map(({ text }) => text);
  const take = (current: string | null) =>
    current === null || isEmptied ? null : editLines(current, { remove, add: [] });
  const { name, description, type = 'project' } = topic;
  const put = (current: string | null) =>
    current === null
      ? newTopic({ name, description, type, lines: texts })
      : editLines(current, { remove: new Set(), add: texts });
  const changes = [{ path, make: take }, ...(texts.length > 0 ? [{ path: away, make: put }] : [])];
  return { changes, move: { file: head.id, away, lines: [...remove], kept } };
}

async function moveRests(
  change: Change,
  memory: string,
  { file, lines, kept, to }: Move & { to: string | undefined },
): Promise<void> {
  for (const { line, source } of await restsOf(change.sql, memory, file)) {
    if (!lines.includes(line)) continue;
    await change.drop('rests', { memory, file, line, source });
    if (to !== undefined && kept.has(line)) await change.put('rests', { memory, file: to, line, source });
  }
}
