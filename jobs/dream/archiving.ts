// What a dream does without a model. At its beginning: lines that rest on entries which are gone go. At its end it puts away: what a
// project's own files say by now, habits that were seen once and never again, states that nobody told again, dates that are past, then
// what was not asked for or changed in a long time; user and feedback last. Put away means `archive/`: out of the index, found by a
// search and by the next dream, and back when that touches it. It never touches what is pinned, what no dream wrote, or what was used or
// shown in the last month, and deletes no topic.

import { subDays } from 'date-fns/subDays';
import { type Clock, type Day, dayOf } from '../../src/base/time.ts';
import type { Sql } from '../../src/db/sql.ts';
import type { FileChange } from '../../src/memory/commit.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import type { Guidance } from '../../src/memory/projects.ts';
import { overtakenLines, restsOf } from '../../src/memory/rests.ts';
import type { Archiving } from '../../src/memory/text/operations.ts';
import {
  archivePath,
  dueDay,
  editLines,
  isTopicFile,
  lineId,
  markMayBeOver,
  mayBeOver,
  newTopic,
  parseTopic,
  seenOnceOn,
  type Topic,
  type TopicLine,
  withoutMark,
} from '../../src/memory/text/topic.ts';
import { isAskedFor } from '../../src/rules/dream-context.ts';
import type { Found } from '../../src/rules/lessons.ts';
import { tellsState } from '../../src/rules/states.ts';
import { type Checked, type DreamOutput, type LandAt, landTopics, settleEntries } from './dream-landing.ts';
import { contextOf, type NightEntry, openTopic, type StandingFile, type StandingFiles } from './topic-draft.ts';

type CodePlace = { sql: Sql; memory: string; files: StandingFiles };

/** Takes out the lines that rest on entries which are gone, and hold words of these. What else they rested on is read again. */
export async function retire(gone: NightEntry[], place: CodePlace): Promise<Checked> {
  const context = await contextOf([], place.files);
  const held = new Set(gone.flatMap(({ holds = [] }) => holds.map(({ file }) => file)));
  for (const { id, path } of place.files.values()) if (held.has(id)) await openTopic(path, { ...place, context });
  const ids = new Set(gone.map(({ id }) => id));
  const free = [...context.topics.values()].filter(({ isPinned }) => !isPinned);
  const lost = free.flatMap(({ lines }) => [...lines].filter(([, line]) => line.entries.some((id) => ids.has(id))));
  const out = [...new Set(lost.map(([id]) => id))];
  const entries = [...new Set(lost.flatMap(([, line]) => line.entries.filter((id) => ids.has(id))))];
  const reason = 'An entry that it came from is no longer in the logs.';
  return { operations: out.length > 0 ? [{ kind: 'put', out, entries, reason }] : [], context, fresh: [], gone };
}

// Putting away.

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

interface When {
  clock: Clock;
  /** A habit that one session showed is put away after so many days without another. */
  holdDays: number;
  archiveAfterDays: ArchiveAfterDays;
}

const RECENT_DAYS = 30;

/** An entry that a line rests on. */
interface Source {
  id: string;
  at: string;
  learnedAt: string;
  found: Found | null;
  state: string;
  by: string;
  /** As its agent calls it. */
  session: string;
}

/** A line that dreams wrote, of a topic that may be changed. */
type OwnLine = TopicLine & { file: StandingFile; sources: Source[] };

/** The lines of living topics that dreams wrote. What rests on no entry is a person's, or a program's. */
async function ownLines({ sql, memory, files }: CodePlace): Promise<OwnLine[]> {
  const rows = await sql.all<Source & { file: string; line: string }>(
    `select r.file, r.line, e.id, e.at, e.found, e.state, e.said_by as "by", coalesce(j.created_at, e.at) as "learnedAt",
       coalesce(s.name, e.session, '') as session
     from rests r join entry e on e.memory = r.memory and e.id = r.source left join session s on s.id = e.session
       left join job j on j.id = e.job where r.memory = ? order by e.at`,
    memory,
  );
  const sources = Map.groupBy(rows, ({ file, line }) => `${file} ${line}`);
  return [...files.values()].filter(isFree).flatMap((file) =>
    file.topic.lines.flatMap((line) => {
      const own = sources.get(`${file.id} ${line.id}`);
      return own ? { ...line, file, sources: own } : [];
    }),
  );
}

/** What is no UTF-8 reads as U+FFFD, and a commit would refuse to change it. */
function isFree({ path, isLiving, topic, text }: StandingFile): boolean {
  return isTopicFile(path) && isLiving && !topic.pinned && !text.includes('\uFFFD');
}

/** A line whose time is over: it is put away, or (`isMarked`) marked first. */
interface AgedLine extends OwnLine {
  reason: string;
  isMarked: boolean;
  /** When it was told last. */
  day: Day;
}

/**
 * What one session showed, and no other in time; what was found and not found again; states, and what a session left, that nobody
 * told again in time: they are marked, and in twice that put away. Marked is a fact, too, that a later session's calls may have overtaken.
 */
export async function agedLines(
  place: CodePlace,
  { clock, holdDays, archiveAfterDays: after }: When,
): Promise<AgedLine[]> {
  const before = (days: number) => subDays(clock.now(), days).toISOString();
  const overtaken = await overtakenLines(place.sql, place.memory);
  return (await ownLines(place)).flatMap((line): AgedLine | [] => {
    const { text, sources, file } = line;
    const isFound = sources.every(({ found }) => found);
    const days = isFound ? after.found : seenOnceOn(text) === undefined ? null : holdDays;
    const last = sources.at(-1)?.at ?? '';
    const aged = { ...line, day: last.slice(0, 10), isMarked: false };
    if (days !== null && sources.every(({ learnedAt }) => learnedAt < before(days)))
      return { ...aged, reason: `No other session ${isFound ? 'found' : 'showed'} it within ${days} days.` };
    const isFact = file.topic.type === 'project' || file.topic.type === 'reference';
    const isKnown = isFact && !mayBeOver(text) && !sources.some(isAskedFor);
    if (isKnown && last < (overtaken.get(line.id) ?? ''))
      return { ...aged, reason: 'A later session changed what it names.', isMarked: true };
    const isState =
      tellsState(withoutMark(text)) || sources.some(({ found, state }) => found === 'outcome' && state !== 'gone');
    if (after.state === null || !isFact || !isState || last >= before(after.state)) return [];
    const reason = `A state of ${aged.day} that nobody mentioned again.`;
    if (!mayBeOver(text)) return { ...aged, reason, isMarked: true };
    return last < before(2 * after.state) ? { ...aged, reason } : [];
  });
}

/** Finds what is to be put away tonight; changes nothing. */
export async function findArchivable(
  place: CodePlace,
  when: When & { zone: string },
  guidance: Guidance,
): Promise<Archiving[]> {
  const { clock, zone, archiveAfterDays: after } = when;
  const rows = await place.sql.all<{ file: string; at: string }>(
    `select file, case when coalesce(shown_at, '') > coalesce(used_at, '') then shown_at else coalesce(used_at, '') end as at
     from topic_use where memory = ?`,
    place.memory,
  );
  const touched = new Map(rows.map(({ file, at }) => [file, at]));
  const daysAgo = (days: number) => subDays(clock.now(), days);
  const isUsedSince = ({ id }: StandingFile, days: number) => (touched.get(id) ?? '') >= daysAgo(days).toISOString();
  const lines = await ownLines(place);
  const found = new Map<string, Archiving>();
  const seen = new Set<string>();
  const add = ({ file, id, sources }: OwnLine, reason: string) => {
    const name = `${file.id} ${id}`;
    if (seen.has(name)) return;
    seen.add(name);
    const key = [file.path, reason].join('\n');
    const archiving = found.get(key) ?? { reason, topic: file.path, lines: [], entries: [] };
    archiving.lines.push(id);
    archiving.entries = [...new Set([...archiving.entries, ...sources.map((source) => source.id)])];
    found.set(key, archiving);
  };
  for (const line of lines) {
    const standing = line.sources.filter(({ state }) => state !== 'gone');
    const saying = standing.map(({ session }) => guidance.saying(line.text, session));
    if (saying[0] && saying.every(Boolean)) add(line, `${saying[0]} says it now.`);
  }
  for (const line of await agedLines(place, when)) if (!line.isMarked) add(line, line.reason);
  const before = after.pastDates === null ? '' : dayOf(daysAgo(after.pastDates), zone);
  for (const line of lines) {
    const due = line.file.topic.type === 'project' ? dueDay(line.text, line.sources.at(-1)?.at) : null;
    if (due === null || due >= before || isUsedSince(line.file, RECENT_DAYS)) continue;
    add(line, `Its date, ${due}, is more than ${after.pastDates} days past.`);
  }
  for (const [file, own] of Map.groupBy(lines, (line) => line.file)) {
    const { type } = file.topic;
    const days = type ? after[type] : null;
    // A topic in which someone else wrote stays whole; where no use was ever recorded, that one was not used says nothing.
    if (days === null || touched.size === 0 || own.length < file.topic.lines.length) continue;
    if (file.changedAt >= daysAgo(days).toISOString() || isUsedSince(file, Math.max(days, RECENT_DAYS))) continue;
    for (const line of own) add(line, `A ${type} topic that nobody used or changed for ${days} days.`);
  }
  return [...found.values()];
}

/** Marks states that may be over, in one commit with the index; answers what the job tells by then. */
export function landAged(due: readonly AgedLine[], at: LandAt): Promise<DreamOutput> {
  const memory = at.memory.id;
  const byPath = Map.groupBy(due, ({ file }) => file.path);
  const marked = ({ text, day }: AgedLine) => markMayBeOver(text, day);
  return landTopics(at, [...byPath.keys()], async () => ({
    files: [...byPath].map(([path, lines]): FileChange => {
      const mark = (now: string, line: AgedLine) => editLines(now, { remove: new Set([line.id]), add: [marked(line)] });
      return { path, make: (current) => current && lines.reduce(mark, current) };
    }),
    more: {},
    async rows(change) {
      for (const line of due) {
        for (const { id: source } of line.sources) {
          const row = { memory, file: line.file.id, source };
          await change.drop('rests', { ...row, line: line.id });
          await change.put('rests', { ...row, line: lineId(marked(line)) });
        }
      }
    },
  }));
}

/** Puts it away, in one commit with the index; answers what the job tells by then. */
export function landArchiving(archiving: readonly Archiving[], at: LandAt): Promise<DreamOutput> {
  const memory = at.memory.id;
  const byTopic = Map.groupBy(archiving, ({ topic }) => topic);
  const paths = [...byTopic.keys()].flatMap((path) => [path, archivePath(path)]);
  return landTopics(at, paths, async (sql) => {
    const files: FileChange[] = [];
    /** Of topics that stay, by the place of the file that their lines go to. */
    const moves = new Map<number, { file: string; lines: Set<string> }>();
    for (const [path, parts] of byTopic) {
      const head = await headAt(sql, memory, path);
      if (!head?.content) continue;
      const lines = new Set(parts.flatMap((part) => part.lines));
      const away = archivePath(path);
      const topic = parseTopic(path, head.content.toString());
      const isWhole = topic.lines.every(({ id }) => lines.has(id));
      if (isWhole && (await headAt(sql, memory, away)) === null) {
        // It moves with its history.
        files.push({ path: away, from: path, make: (current) => current });
        continue;
      }
      const put = { ...topic, lines: topic.lines.flatMap(({ id, text }) => (lines.has(id) ? text : [])) };
      const take = (now: string | null) =>
        now === null || isWhole ? null : editLines(now, { remove: lines, add: [] });
      moves.set(files.push({ path, make: take }, { path: away, make: (now) => broughtInto(now, put) }) - 1, {
        file: head.id,
        lines,
      });
    }
    const operations = archiving.map(({ topic, entries, reason }) => {
      return { kind: 'archive' as const, topic: archivePath(topic), entries, reason };
    });
    return {
      files,
      more: { operations },
      async rows(change, heads) {
        for (const [n, { file, lines }] of moves) {
          for (const { line, source } of await restsOf(sql, memory, file)) {
            if (!lines.has(line)) continue;
            await change.drop('rests', { memory, file, line, source });
            await change.put('rests', { memory, file: heads[n]?.id ?? '', line, source });
          }
        }
        await settleEntries(change, memory, { ids: archiving.flatMap(({ entries }) => entries), why: () => null });
      },
    };
  });
}

function broughtInto(
  current: string | null,
  { name, description, type = 'project', lines }: Omit<Topic, 'lines'> & { lines: string[] },
): string {
  if (current === null) return newTopic({ name, description, type, lines });
  return editLines(current, { remove: new Set(), add: lines });
}
