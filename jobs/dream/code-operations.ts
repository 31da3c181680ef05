// What a dream does without a model: lines that rest on nothing but entries which are gone go; entries that the project's own files
// say, or memories that are no topics, are dropped. What a person said is kept.

import type { Sql } from '../../src/db/sql.ts';
import type { Guidance } from '../../src/memory/projects.ts';
import type { DraftLine } from '../../src/memory/text/operations.ts';
import { saidId } from '../../src/memory/text/topic.ts';
import { entryIds, type Operation } from '../../src/rules/dream-context.ts';
import type { Checked } from './dream-landing.ts';
import { contextOf, type NightEntry, openTopic, type StandingFiles, saidElsewhere } from './topic-draft.ts';

/** What code alone changes, if anything, and the entries of which a model says what becomes. */
interface ByCode {
  checked: Checked | null;
  rest: NightEntry[];
}

export interface CodePlace {
  sql: Sql;
  memory: string;
  files: StandingFiles;
}

/** Takes out what rests on entries alone that are gone. Those whose lines rest on others too are left to a model; what waits, waits once. */
export async function retire(
  gone: NightEntry[],
  place: CodePlace,
  { needsApproval }: { needsApproval: boolean },
): Promise<ByCode> {
  if (gone.length === 0) return { checked: null, rest: [] };
  const context = await contextOf({ fresh: [], withdrawn: gone }, place.files);
  const held = new Set(gone.flatMap(({ holds = [] }) => holds.map(({ file }) => file)));
  for (const { id, path } of place.files.values()) if (held.has(id)) await openTopic(path, { ...place, context });
  const ids = new Set(gone.map(({ id }) => id));
  const isGone = ({ entries }: DraftLine) => entries.length > 0 && entries.every((entry) => ids.has(entry));
  const lines = [...context.topics.values()].flatMap((topic) =>
    [...topic.lines].map(([id, line]) => ({ id, line, isFree: !topic.isPinned })),
  );
  const shared = new Set(
    lines.flatMap(({ line }) => (isGone(line) ? [] : line.entries.filter((entry) => ids.has(entry)))),
  );
  const lost = lines.filter(({ line, isFree }) => isFree && isGone(line));
  const all = [...new Set(lost.flatMap(({ line }) => line.entries))];
  const alone = all.filter((entry) => !shared.has(entry));
  const out = [...new Set(lost.map(({ id }) => id))];
  const entries = alone.length > 0 ? alone : all;
  const reason = 'What it rested on is no longer in the logs.';
  const operations: Operation[] = out.length > 0 ? [{ kind: 'put', out, entries, reason }] : [];
  const waiting = new Set(needsApproval ? operations.flatMap(entryIds) : []);
  const rest = gone.filter(({ id }) => shared.has(id) && !waiting.has(id));
  const done = gone.filter((entry) => !rest.includes(entry));
  if (done.length + operations.length === 0) return { checked: null, rest };
  return { checked: { operations, context, slice: { fresh: [], withdrawn: done } }, rest };
}

/** Drops the entries that the project's own files say, or a memory that is no topic. */
export async function dropSaid(fresh: NightEntry[], guidance: Guidance, { files }: CodePlace): Promise<ByCode> {
  const elsewhere = fresh.length > 0 ? saidElsewhere(files) : new Map<string, { path: string; id: string }>();
  const operations = fresh.flatMap(({ id, by, text, name }): Operation[] => {
    if (by === 'person') return [];
    const drop = { kind: 'drop' as const, entries: [id] };
    const file = guidance.saying(text, name ?? '');
    if (file !== undefined) return [{ ...drop, because: 'in-repository', reason: `${file} says it.` }];
    const line = elsewhere.get(saidId(text));
    return line ? [{ ...drop, because: 'duplicate', of: line.id, reason: `${line.path} says it.` }] : [];
  });
  if (operations.length === 0) return { checked: null, rest: fresh };
  const dropped = new Set(operations.flatMap(entryIds));
  const slice = { fresh: fresh.filter(({ id }) => dropped.has(id)), withdrawn: [] };
  const checked = { operations, slice, context: await contextOf(slice, files) };
  return { checked, rest: fresh.filter(({ id }) => !dropped.has(id)) };
}
