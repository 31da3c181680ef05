// What a line was before somebody changed it outside of a dream: its history goes on through their edit. Reads versions.

import { likeness } from '../../base/text/wording.ts';
import { supportsOf } from '../ledger/entries.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { memoryAt } from '../store/heads.ts';
import { parseTopic, type TopicLine } from '../text/topic.ts';

export interface FormerLine {
  /** When it was changed, as far as nocturne saw that. */
  at: string;
  /** Who changed it: `external`, `person` or a tool. */
  actor: string;
  /** What it said when it still rested on entries. */
  text: string;
  /** The ids of these entries. */
  entries: string[];
}

interface VersionRow {
  content: Buffer;
  actor: string;
  at: string;
}

/** The line that rested on entries and that a standing line without any was made of; null where there is none. */
export function formerLine(ledger: Ledger, { path, id }: { path: string; id: string }): FormerLine | null {
  const versions = ledger.all<VersionRow>(
    'select content, actor, at from version where memory = ? and content is not null order by rowid desc',
    memoryAt(ledger, path),
  );
  const supports = Map.groupBy(supportsOf(ledger, path), ({ line }) => line);
  let wanted = id;
  let changed: Pick<FormerLine, 'at' | 'actor'> | undefined;
  for (const [n, version] of versions.entries()) {
    const before = versions[n + 1];
    if (!before) return null;
    const is = parseTopic(path, version.content.toString()).lines;
    const was = parseTopic(path, before.content.toString()).lines;
    if (was.some((line) => line.id === wanted) || !is.some((line) => line.id === wanted)) continue;
    if (version.actor.startsWith('job:')) return null;
    const former = counterpart(wanted, { is, was });
    if (!former) return null;
    changed ??= { at: version.at, actor: version.actor };
    const entries = supports.get(former.id)?.map(({ entry }) => entry);
    if (entries) return { ...changed, text: former.text, entries };
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
  const others = was.filter((line) => !stayed.has(line.id)).map((line) => ({ line, near: likeness(text, line.text) }));
  const best = others.sort((a, b) => b.near - a.near)[0];
  return best && best.near > 0.5 ? best.line : undefined;
}
