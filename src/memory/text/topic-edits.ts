// What operations make of topics: the draft of a topic as a model is shown it, what a list of checked operations does to each, and
// the text that comes of that. Pure: topics and texts in, texts out. Where a topic is renamed, links to it follow in lines that
// nocturne wrote; a person's line is not changed, so a topic that one links keeps its name.

import { AppError } from '../../base/errors.ts';
import type { Day } from '../../base/time.ts';
import { withoutTagLines } from '../../rules/as-read.ts';
import {
  carrierOf,
  certaintyOf,
  type DreamContext,
  type KnownEntry,
  type KnownLine,
  type KnownTopic,
  knownEntries,
  linesIn,
  linesOut,
  type NewLine,
  type Operation,
  type Put,
  sessionOf,
  topicsLosing,
  withAgain,
} from '../../rules/dream-context.ts';
import type { MemoryType } from '../memory-types.ts';
import { bodyStart, readFrontmatter, setKeys } from './frontmatter.ts';
import { linksIn } from './index-file.ts';
import { editLines, markSeenOnce, newTopic } from './topic.ts';

export type DraftLine = KnownLine & { /** Ids of what it rests on. */ entries: string[] };

/** A topic as a model is shown it: its text is redacted. */
export interface Draft extends KnownTopic {
  description: string;
  lines: Map<string, DraftLine>;
  /** Where the file is while nothing touches the topic: in the archive. What changes it brings it back to `path`. */
  from?: string;
  /** The model named it without having seen it, so it knows no better description. */
  isUnseen?: boolean;
}

export interface TopicEdit {
  path: string;
  /** The file in the archive that comes back. */
  from?: string;
  name: string;
  /** For a topic that is not there yet, or whose description changes. */
  description?: string;
  type?: MemoryType;
  remove: Set<string>;
  add: { text: string; entries: string[] /** It is marked so: one session showed it. */; seenOnce?: Day }[];
  /** The path that the topic, whose file moves with its history, had before. */
  renamedFrom?: string;
}

/** What a list of checked operations does to each topic, by path. */
export function editsOf(operations: Operation[], context: DreamContext<Draft>): TopicEdit[] {
  const edits = new Map<string, TopicEdit>();
  const editOf = ({ path, name, from }: { path: string; name: string; from?: string }) => {
    const edit = edits.get(path) ?? { path, name, ...(from && { from }), remove: new Set<string>(), add: [] };
    edits.set(path, edit);
    return edit;
  };
  for (const operation of operations) {
    if (operation.kind !== 'put') continue;
    const gone = new Map<string, DraftLine>();
    for (const line of linesOut(operation)) {
      for (const topic of topicsLosing(line, operation, context)) {
        editOf(topic).remove.add(line);
        const known = topic.lines.get(line);
        if (known) gone.set(line, known);
      }
    }
    const { topic: name, description, type } = operation;
    if (name === undefined || linesIn(operation).length === 0) continue;
    const known = context.topics.get(name);
    const edit = editOf(known ?? { path: `${name}.md`, name });
    if (description && !known?.isUnseen) edit.description = description;
    if (!known) edit.type = type;
    edit.add.push(...linesIn(operation).map((line) => lineOf(line, { put: operation, gone, context })));
  }
  for (const operation of operations) {
    const topic = operation.kind === 'rename' ? context.topics.get(operation.topic) : undefined;
    if (operation.kind !== 'rename' || !topic) continue;
    const edit = editOf(topic);
    edit.renamedFrom = topic.path;
    edit.path = `${operation.to}.md`;
    edit.name = operation.to;
    if (operation.description && !topic.isUnseen) edit.description = operation.description;
  }
  return [...edits.values()];
}

/** A new line with what it rests on: also on what the lines rest on that it goes on saying. */
function lineOf(
  line: NewLine,
  { put, gone, context }: { put: Put; gone: Map<string, DraftLine>; context: DreamContext<Draft> },
): TopicEdit['add'][number] {
  // A person's own words, which no entry supports.
  if (line.entries.length === 0) return line;
  const carried = [...gone.values()].filter((known) => carrierOf(known, put, context) === line);
  const inherited = carried.flatMap(({ sources = [] }) => sources);
  const standing = inherited.filter(({ id }) => !context.entries.get(id)?.isWithdrawn);
  const cited = knownEntries(context, line.entries).map((entry) => withAgain(entry, gone));
  const { seenOnce, isFound } = certaintyOf(line.text, { cited, carried });
  const entries = [...new Set([...line.entries, ...standing.map(({ id }) => id)])];
  return {
    text: seenOnce ? markSeenOnce(line.text, seenOnce, isFound) : line.text,
    entries,
    ...(seenOnce && { seenOnce }),
  };
}

/** Null where the topic says nothing any more, and holds nothing else either. */
export function applyEdit(current: string | null, edit: TopicEdit): string | null {
  const add = edit.add.map((line) => line.text);
  if (current === null) {
    const { name, description = name, type = 'project' } = edit;
    // A topic that went meanwhile is begun anew for what comes, and not for what goes.
    return add.length === 0 ? null : newTopic({ name, description, type, lines: add });
  }
  const text = editLines(current, { remove: edit.remove, add });
  if (add.length === 0 && edit.remove.size > 0 && isBlank(text)) return null;
  return edit.description ? setKeys(text, { description: edit.description }) : text;
}

/** Whether a topic file has headings at most. */
const isBlank = (text: string) => /^(?:\s*(?:#{1,6}(?:[ \t][^\n]*)?)?(?:\n|$))*$/.test(text.slice(bodyStart(text)));

export function renamed(text: string | null, name: string): string | null {
  return text && (readFrontmatter(text).data.name === undefined ? text : setKeys(text, { name }));
}

/** Topics with the ids of the lines that are shown of each, as the model is shown them. */
export function renderTopics(shown: Map<Draft, Set<string>>, withdrawn: Set<string>): string {
  return [...shown]
    .map(([topic, ids]) => {
      const lines = [...topic.lines]
        .filter(([id]) => ids.has(id))
        .map(([id, line]) => {
          const lost = line.entries.filter((entry) => withdrawn.has(entry));
          const left = line.entries.filter((entry) => !withdrawn.has(entry));
          const also = left.length > 0 ? `, also ${left.join(' ')}` : '';
          const once = line.seenOnce ? ` seen once ${line.seenOnce}` : '';
          const writer = line.isPrograms ? ' program' : line.isPersons ? ' person' : '';
          const mark = writer || (lost.length > 0 ? ` withdrawn ${lost.join(' ')}${also}` : '');
          return `[${id}${once}${mark}] ${line.text}`;
        });
      const more = topic.lines.size - lines.length;
      if (more > 0) lines.push(`(${more} more ${more === 1 ? 'line' : 'lines'} not shown)`);
      return [`### ${topic.path} (${topic.type ?? 'untyped'}) — ${topic.description}`, ...lines].join('\n');
    })
    .join('\n\n');
}

/** A session is shown as a short name, since only whether it is another one matters. */
export function entryLines(
  entries: KnownEntry[],
  { sessions, changed }: { sessions: string[]; changed: Map<string, string[]> },
): string {
  const lines = entries.map(({ isWithdrawn: _, speakers = [], quotes, ...entry }) => {
    const session = nameOfSession(sessions.indexOf(sessionOf(entry)));
    const old = changed.get(entry.id);
    const said = quotes.map((quote, at) => (speakers[at] ? { by: speakers[at], quote } : quote));
    return withoutTagLines(JSON.stringify({ ...entry, ...(old && { lines: old }), quotes: said, session }));
  });
  return lines.join('\n') || 'none';
}

/** A session as entries name it, of which only matters whether it is another one. */
export const nameOfSession = (at: number) => `s${at + 1}`;

/** Throws `refused` where one of these lines, which are a person's, links a topic that is renamed; `renames`: from path to path. */
export function refuseLinks(lines: string[], path: string, renames: Map<string, string>): void {
  const to = lines.flatMap(linksIn).find((each) => renames.has(each));
  if (to === undefined) return;
  throw new AppError('refused', `A person's line of ${path} links ${to}, so it keeps its name.`, {
    remedy: 'Leave the name.',
  });
}

/** A line with its links as they are once topics have other names. */
export function followLinks(text: string, renames: Map<string, string>): string {
  return text.replace(
    /([[(](?:\.\/)?)([^[\]()\n]+\.md)(?=(?:#[^[\]()\n]*)?[\])])/gi,
    (whole, open: string, to: string) => {
      const now = renames.get(to);
      return now === undefined ? whole : open + now;
    },
  );
}
