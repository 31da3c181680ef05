// Recall: what a session is told of a memory, and of those beside it: the user's own, the repository's; and what nocturne says there in
// its own words. What was shown, and to which session, is kept as rows.
// Promises: the text is never longer than it may be; a memory beside takes no more than its share; each part says whose it is and
// says nothing that one before it says; the text begins and ends with the tag that src/transcript/session.ts takes out, so that no
// recall is ever taken for something that was said. No file is changed.

import type { TreeSearch } from '../../base/files/working-tree.ts';
import { sayCount } from '../../base/text/wording.ts';
import { allOf, type Db, replace } from '../../db/sql.ts';
import { isWithinTokens } from '../../transcript/excerpt/tokens.ts';
import {
  foundIn,
  type LaidPart,
  NOTHING_TOLD,
  type RecalledPart,
  recallPart,
  statementsIn,
  bodyOf as textOf,
  withoutSaid,
} from './recall-section.ts';
import type { RecallSource } from './recall-source.ts';
import type { About } from './recall-topics.ts';
import { asContent, frameOf } from './recall-words.ts';

/** Whose memory is recalled with a project's: the user's in all projects, or what comes with the working tree. */
export type ExtraScope = 'user' | 'local';

/** A memory that is recalled. */
export interface RecallPlace {
  source: RecallSource;
  /** How an agent is told where it is. */
  called: string;
  /** Whoever may write to a repository wrote it. */
  isForeign: boolean;
  /** Where named things are looked for; without it nothing is marked as gone. */
  tree?: TreeSearch;
}

export interface BesidePlace extends RecallPlace {
  scope: ExtraScope;
}

export interface RecallRequest extends RecallPlace {
  /** The agent reads MEMORY.md by itself, so it is left out here. */
  hasIndex: boolean;
  /** Shown after the memory's own, in this order. */
  beside?: BesidePlace[];
  /** Paragraphs in nocturne's own words, before what is remembered. */
  notes?: string[];
  about: About;
  limits: { characters: number; tokens: number };
  now: Date;
}

export interface Recall extends RecalledPart {
  /** Empty where nothing is remembered. */
  text: string;
  /** What of the text comes from beside. */
  beside: (RecalledPart & { scope: ExtraScope; memory: string })[];
}

/** How much of the section an extra scope may take, with its heading. */
const SHARES: Record<ExtraScope, number> = { user: 0.25, local: 0.2 };
/** And what nocturne itself says, else it says nothing. */
const NOTES_SHARE = 0.25;

export async function recall(request: RecallRequest): Promise<Recall> {
  const { source, called, isForeign, hasIndex, tree, about, limits, notes: paragraphs = [], now } = request;
  const isWithin = (text: string, share: number) =>
    text.length <= limits.characters * share && isWithinTokens(text, Math.floor(limits.tokens * share));
  const ownWords = paragraphs.map((paragraph) => `${paragraph}\n\n`).join('');
  const notes = isWithin(ownWords, NOTES_SHARE) ? ownWords : '';
  const section = await frameOf('recall', called, notes);
  const laid: { scope: ExtraScope; memory: string; part: LaidPart; framed(body: string): string }[] = [];
  let besideText = '';
  // First, so that the directory's own part knows what room is left.
  for (const { scope, ...place } of request.beside ?? []) {
    const framed = await frameOf(`recall-${scope}`, place.called);
    const besides = (body: string) => `${besideText}\n${framed(asContent(body, scope === 'local'))}\n`;
    const part = await recallPart({
      ...{ source: place.source, tree: place.tree, hasIndex: false, about, now },
      isWithin: (text, share) => isWithin(text, share * SHARES[scope]),
      fits: (text) =>
        isWithin(framed(asContent(text, scope === 'local')), SHARES[scope]) && isWithin(section(besides(text)), 1),
    });
    if (textOf(part) === '') continue;
    laid.push({ scope, memory: place.called, part, framed });
    besideText = besides(textOf(part));
  }
  const bodyOf = (own: string) => {
    if (besideText === '') return asContent(own, isForeign);
    return own === '' ? besideText : `# Of this project\n\n${asContent(own, isForeign)}\n${besideText}`;
  };
  const fits = (own: string) => isWithin(section(bodyOf(own)), 1);
  const own = await recallPart({ source, hasIndex, tree, about, now, isWithin, fits });
  const body = textOf(own);
  // What a part says need not be said again in one behind it.
  const said = new Set(statementsIn(own));
  const beside: Recall['beside'] = [];
  besideText = '';
  for (const { scope, memory, part, framed } of laid) {
    const rest = withoutSaid(part, said);
    const restBody = textOf(rest);
    if (restBody === '') continue;
    for (const id of statementsIn(rest)) said.add(id);
    beside.push({ scope, memory, ...foundIn(rest) });
    besideText += `\n${framed(asContent(restBody, scope === 'local'))}\n`;
  }
  const text = section(bodyOf(body));
  // Nothing but the frame, or not even room for that.
  if (body + besideText + notes === '' || !isWithin(text, 1)) return { text: '', ...NOTHING_TOLD, beside: [] };
  return { ...foundIn(own), beside, text };
}

/** What is told, and why, for a person. */
export function whyTold(recalled: Recall): [why: string, what: string][] {
  return partsOf(recalled).flatMap(({ index, topics, entries, lessons, of }) => {
    const list = index && `list of topics, ${index.shownLines} of ${sayCount(index.lines, 'line')}`;
    const rows: [string, string][] = [
      ...(list ? [[list, 'MEMORY.md'] as [string, string]] : []),
      ...topics.map(({ path, why }): [string, string] => [why, path]),
      ...entries.map(({ text }): [string, string] => ['new, in no topic yet', text]),
      ...(lessons > 0 ? [['an agent found it out', sayCount(lessons, 'line')] as [string, string]] : []),
    ];
    return rows.map(([why, what]): [string, string] => [why, what + of]);
  });
}

/** What found no room. */
export function leftOut(recalled: Recall): string[] {
  return partsOf(recalled).flatMap(({ topics, left, of }) =>
    [
      ...topics.flatMap(({ path, isCut }) => (isCut ? [`the end of ${path}`] : [])),
      ...left.topics,
      ...(left.more > 0 ? [sayCount(left.more, 'more topic')] : []),
      ...(left.entries > 0 ? [`${left.entries} that are in no topic yet`] : []),
    ].map((what) => what + of),
  );
}

const OF_SCOPE: Record<ExtraScope, string> = { user: 'yours in all projects', local: 'of the working tree' };

function partsOf({ beside, ...own }: Recall): (RecalledPart & { of: string })[] {
  return [{ ...own, of: '' }, ...beside.map((part) => ({ ...part, of: ` (${OF_SCOPE[part.scope]})` }))];
}

// What is kept of it.

/** What a session was given by the same request, where it still has it; else null. */
export async function recalledBefore(db: Db, of: { session: string; memory: string; request: string }) {
  const sql = 'select text from recalled where session = ? and memory = ? and request = ?';
  return (await db.get<{ text: string }>(sql, of.session, of.memory, of.request))?.text ?? null;
}

/** All that a session was given of a memory and, as far as is known, still has. */
export function recalledTexts(
  db: Db,
  of: { session: string; memory: string },
): Promise<{ request: string; text: string }[]> {
  return db.all('select request, text from recalled where session = ? and memory = ?', of.session, of.memory);
}

export async function keepRecalled(
  db: Db,
  given: { session: string; memory: string; request: string; text: string; at: string },
): Promise<void> {
  await db.write((sql) => replace(sql, 'recalled', ['session', 'memory', 'request'], given));
}

/** A session starts over: it no longer has what it was given. */
export async function dropRecalled(db: Db, of: { session: string; memory: string }): Promise<void> {
  await db.write((sql) => sql.run('delete from recalled where session = ? and memory = ?', of.session, of.memory));
}

/** Counts topics of a memory as shown, and as used where someone asked for them: by a query that they matched, or by opening them. */
export async function noteUses(
  db: Db,
  memory: string,
  { shown = [], used = [], at }: { shown?: readonly string[]; used?: readonly string[]; at: string },
): Promise<void> {
  if (shown.length + used.length === 0) return;
  await db.write(async (sql) => {
    for (const [column, paths] of [
      ['shown', shown],
      ['used', used],
    ] as const) {
      const select = 'select id from file where memory = ? and path in (#)';
      const files = await allOf<{ id: string }>(sql, select, paths, memory);
      for (const { id } of files)
        await sql.run(
          `insert into topic_use (memory, file, shown, used, ${column}_at) values (?, ?, ?, ?, ?)
           on conflict (memory, file) do update set ${column} = topic_use.${column} + 1, ${column}_at = excluded.${column}_at`,
          ...[memory, id, column === 'shown' ? 1 : 0, column === 'used' ? 1 : 0, at],
        );
    }
  });
}
