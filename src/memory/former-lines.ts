// What a line was before somebody changed it outside of a dream, and what that rested on: its history goes on through their edit.

import type { Sql } from '../db/sql.ts';
import { similarity } from '../rules/words.ts';
import type { Actor } from './file-rows.ts';
import { parseTopic, type TopicLine } from './text/topic.ts';

export interface FormerLine {
  /** When it was changed, as far as nocturne saw that, and who did. */
  at: string;
  actor: Actor;
  /** What it said when it still rested on entries. */
  text: string;
  /** The ids of these entries. */
  entries: string[];
}

/** The line that rested on entries and that a standing line without any was made of; null where there is none. */
export async function formerLine(
  sql: Sql,
  { memory, path, line }: { memory: string; path: string; line: string },
): Promise<FormerLine | null> {
  const versions = await sql.all<{ content: Buffer; kind: Actor['kind']; actor: string | null; at: string }>(
    `select v.content, v.actor_kind as kind, v.actor, v.at from version v
     join file f on f.memory = v.memory and f.id = v.file where f.memory = ? and f.path = ? and v.content is not null
     order by v.seq desc`,
    ...[memory, path],
  );
  const rests = await sql.all<{ line: string; source: string }>(
    `select r.line, r.source from rests r join file f on f.memory = r.memory and f.id = r.file
     where f.memory = ? and f.path = ? and r.source like 'e_%'`,
    ...[memory, path],
  );
  const sources = Map.groupBy(rests, (rest) => rest.line);
  let wanted = line;
  let changed: Pick<FormerLine, 'at' | 'actor'> | undefined;
  for (const [n, { content, kind, actor, at }] of versions.entries()) {
    const before = versions[n + 1];
    if (!before) return null;
    const is = parseTopic(path, content.toString()).lines;
    const was = parseTopic(path, before.content.toString()).lines;
    if (was.some(({ id }) => id === wanted) || !is.some(({ id }) => id === wanted)) continue;
    const former = kind === 'job' ? undefined : counterpart(wanted, { is, was });
    if (!former) return null;
    changed ??= { at, actor: { kind, id: actor } };
    const entries = sources.get(former.id);
    if (entries) return { ...changed, text: former.text, entries: entries.map(({ source }) => source) };
    wanted = former.id;
  }
  return null;
}

/** The line that went where this one came: between the same lines that stayed, else the one most like it. */
function counterpart(id: string, { is, was }: { is: TopicLine[]; was: TopicLine[] }): TopicLine | undefined {
  const stayed = new Set(was.map((line) => line.id)).intersection(new Set(is.map((line) => line.id)));
  const gapOf = (lines: TopicLine[], at: number) => lines.slice(0, at).filter((line) => stayed.has(line.id)).length;
  const at = is.findIndex((line) => line.id === id);
  const came = is.filter((line, n) => !stayed.has(line.id) && gapOf(is, n) === gapOf(is, at));
  const went = was.filter((line, n) => !stayed.has(line.id) && gapOf(was, n) === gapOf(is, at));
  const same = came.length === went.length ? went[came.findIndex((line) => line.id === id)] : undefined;
  if (same) return same;
  const text = is[at]?.text ?? '';
  const others = was
    .filter((line) => !stayed.has(line.id))
    .map((line) => ({ line, near: similarity(text, line.text) }));
  const best = others.sort((a, b) => b.near - a.near)[0];
  return best && best.near > 0.5 ? best.line : undefined;
}
