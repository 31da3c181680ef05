// The report of a dream: what became of every entry and why, for a person (Markdown) and for code (JSON). Reports of
// one day are appended to one file; with the logs they suffice to rebuild a lost ledger.

import { z } from 'zod';
import { parseJson } from '../../base/text/json.ts';
import { sayCount } from '../../base/text/wording.ts';
import { type Day, isDay } from '../../base/time.ts';
import { sayOp } from '../types.ts';

/** How much a memory holds. */
const sizeSchema = z.object({ topics: z.int(), archived: z.int(), lines: z.int(), indexLines: z.int() });

/** What a slice of a dream came to, apart from its rows. */
const summarySchema = z.object({
  before: sizeSchema,
  after: sizeSchema,
  /** Of this slice alone. */
  spend: z.object({
    calls: z.int(),
    inputTokens: z.int(),
    outputTokens: z.int(),
    /** Millionths of a dollar; null for a model without a price. */
    microUsd: z.number().nullable(),
    /** It was asked on a person's plan, which costs no money. */
    isOnPlan: z.boolean().optional(),
  }),
  /** What code refused of the model's proposals, and why. */
  refused: z.array(z.string()),
  /** Entries that wait for another night, with what stood in their way. */
  left: z.array(z.object({ entry: z.string(), reason: z.string() })).optional(),
  /** Memories that are no topics, and topics with lines that rest on no entry: known to the dream, and left as they are. */
  callers: z.array(z.object({ path: z.string(), lines: z.int().optional() })).optional(),
});

const rowSchema = z.object({
  job: z.string(),
  entry: z.string(),
  /**
   * `add`, `change` (earlier: `merge`, `supersede`), `retire`, `drop`, `archive`; `rename`, of a topic, and `failed`, of the dream, are about no
   * entry; `propose`: it waits for a person.
   */
  op: z.string(),
  /** File of the topic; null where none was touched. */
  topic: z.string().nullable(),
  /** Ids of the lines that rest on the entry now. */
  lines: z.array(z.string()),
  /** Hash of the entry's text as the dream read it (as of a line), so that a later edit of it is known as one. */
  said: z.string().optional(),
  reason: z.string(),
  /** Rows with the same number are of one operation; in one that code did there is none. */
  operation: z.int().optional(),
  /** Ids of the lines that went, each in one row of its operation. */
  gone: z.array(z.string()).optional(),
  /** What else of the lines that went the dream held to be no longer true. */
  over: z.array(z.string()).optional(),
  /** In the first row of a slice. */
  batch: summarySchema.optional(),
});

export type MemorySize = z.infer<typeof sizeSchema>;
export type SliceSummary = z.infer<typeof summarySchema>;
export type ReportRow = z.infer<typeof rowSchema>;

export interface ReportedRow extends ReportRow {
  /** What the entry says, for the reader of the Markdown form. */
  text: string;
  /** The lines that came and went, in words, for the same reader. */
  cameTexts?: string[];
  goneTexts?: string[];
}

export const reportPath = (day: Day, kind: 'md' | 'json') => `.nocturne/dreams/${day}.${kind}`;

/** The day whose JSON report a file name is, or null. */
export function reportDay(name: string): Day | null {
  const day = name.replace(/\.json$/, '');
  return day !== name && isDay(day) ? day : null;
}

/** Appends rows to the day's JSON report; a file that is no report is kept aside by the caller, never read here. */
export function appendJsonReport(current: string | null, rows: ReportedRow[], summary?: SliceSummary): string {
  const before = current === null ? [] : (readArray(current) ?? []);
  const added = rows.map(({ text: _, cameTexts: _came, goneTexts: _gone, ...row }, at) =>
    at === 0 && summary ? { ...row, batch: summary } : row,
  );
  return `[\n${[...before, ...added].map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n]\n`;
}

/** Whether `path` is the report of a day. */
export const isReportPath = (path: string) => /^\.nocturne\/dreams\/\d{4}-\d{2}-\d{2}\.(?:md|json)$/.test(path);

/**
 * Takes the change of a report from `before` to `after` back out of `current`: by rows of the JSON form and by dreams
 * of the Markdown form, since other dreams of the day wrote into the same file. Null: nothing is left of it.
 */
export function takeBackReport(
  path: string,
  { before, after, current }: { before: string | null; after: string | null; current: string | null },
): string | null {
  const [split, join] = path.endsWith('.json') ? [splitJson, joinJson] : [splitMarkdown, joinMarkdown];
  const [old, written] = [new Set(split(before ?? '')), new Set(split(after ?? ''))];
  const left = split(current ?? '').filter((part) => old.has(part) || !written.has(part));
  const back = [...old].filter((part) => !written.has(part) && !left.includes(part));
  return join([...left, ...back]);
}

const splitJson = (text: string): string[] => (parseJsonReport(text) ?? []).map((row) => JSON.stringify(row));

function joinJson(rows: string[]): string | null {
  return rows.length === 0 ? null : `[\n${rows.map((row) => `  ${row}`).join(',\n')}\n]\n`;
}

/** The head of the file, and each dream from its heading on; blank lines between them are layout. */
export const splitMarkdown = (text: string): string[] => text.split(/^(?=## )/m).map((part) => part.trimEnd());

function joinMarkdown(parts: string[]): string | null {
  return parts.some((part) => part.startsWith('## ')) ? `${parts.filter(Boolean).join('\n\n')}\n` : null;
}

/** The rows of a JSON report, without those that are none; null where the file is no report. */
export function parseJsonReport(text: string): ReportRow[] | null {
  return readArray(text)?.flatMap((row) => rowSchema.safeParse(row).data ?? []) ?? null;
}

function readArray(text: string): unknown[] | null {
  const found = parseJson(text);
  return Array.isArray(found) ? found : null;
}

/**
 * One line for the next session of what the dreams of a day did, from their JSON report; null where they did nothing:
 * `Memory was last sorted on 2026-11-21 (4 entries: 3 added, 1 merged). It holds 214 lines in 31 topics; report:
 * .nocturne/dreams/2026-11-21.md.` Entries are counted, not operations, of which one may add several lines.
 */
export function reportLine(day: Day, json: string): string | null {
  const rows = numbered(parseJsonReport(json) ?? []);
  const last = rows.findLast((row) => row.batch && row.op !== 'failed')?.batch;
  // Whoever may write the file is not to speak to a session through it.
  const done = rows.filter(({ op }) => sayOp(op) !== op);
  const did = sayOps(done.map((row) => (row.entry === '' ? row : { op: row.op, entry: row.entry })));
  if (!last || did === '') return null;
  const entries = new Set(done.map(({ entry }) => entry).filter((entry) => entry !== '')).size;
  const { lines, topics } = last.after;
  const held = `${sayCount(lines, 'line')} in ${sayCount(topics, 'topic')}`;
  return `Memory was last sorted on ${day} (${entries > 0 ? `${sayCount(entries, 'entry')}: ` : ''}${did}). It holds ${held}; report: ${reportPath(day, 'md')}.`;
}

/** The rows with their operations numbered through: each commit of a dream begins with 0 again. */
export function numbered(rows: ReportRow[]): ReportRow[] {
  let [offset, last, next] = [0, 0, 0];
  return rows.map((row) => {
    if (row.operation === undefined) return row;
    if (row.batch || row.operation < last) offset = next;
    last = row.operation;
    next = offset + last + 1;
    return { ...row, operation: offset + last };
  });
}

/** How many operations of each kind there were, as the dream itself counts them: what code did, by its entries. */
export function countOps(rows: Pick<ReportRow, 'op' | 'entry' | 'operation'>[]): [string, number][] {
  const named = (row: (typeof rows)[number]) => row.operation ?? row.entry;
  return [...Map.groupBy(rows, (row) => row.op)].map(([op, list]) => [op, new Set(list.map(named)).size]);
}

/** `3 added, 1 failed`. */
export function sayOps(rows: Parameters<typeof countOps>[0]): string {
  return countOps(rows)
    .map(([op, count]) => `${count} ${sayOp(op)}`)
    .join(', ');
}

/** Appends a dream to the day's report for people. */
export function appendMarkdownReport(
  current: string | null,
  dream: { day: Day; at: string; job: string; rows: ReportedRow[]; summary?: SliceSummary },
): string {
  const title = sayOps(dream.rows);
  const lines = [...Map.groupBy(dream.rows, (row) => row.operation ?? row).values()].flatMap(describeItem);
  const head = current ?? `# Dreams of ${dream.day}\n`;
  const parts = [`${head}\n## ${dream.at}, ${dream.job}: ${title || 'nothing to tell'}`];
  if (dream.summary) parts.push(describeSummary(dream.summary));
  if (lines.length > 0) parts.push(lines.join('\n'));
  return `${parts.join('\n\n')}\n`;
}

/** One operation: what it wrote and took out, or what it is about where it wrote nothing. */
function describeItem(rows: ReportedRow[]): string[] {
  const [{ op, topic, reason }] = rows as [ReportedRow];
  const where = topic ? ` → [${topic}](${linkTo(`../../${topic}`)})` : '';
  const came = rows.flatMap((row) => row.cameTexts ?? []);
  const gone = rows.flatMap((row) => row.goneTexts ?? []);
  const over = [...new Set(rows.flatMap((row) => row.over ?? []))];
  const said = [...new Set(rows.map(({ text }) => text).filter((text) => text !== ''))];
  const entries = [...new Set(rows.map(({ entry }) => entry).filter((entry) => entry !== ''))];
  return [
    `- **${sayOp(op)}**${where}: ${reason}${entries.map((entry) => ` <!-- ${entry} -->`).join('')}`,
    ...(came.length > 0 ? came : said).map((text) => `  - ${came.length > 0 && gone.length > 0 ? 'now: ' : ''}${text}`),
    ...gone.map((text) => `  - was: ${text}`),
    ...over.map((text) => `  - no longer true: ${text}`),
  ];
}

/** The target of a link; a name that people chose may hold what ends one. */
const linkTo = (path: string) => (/[\s()]/.test(path) ? `<${path}>` : path);

/** Of what others wrote, a person is named so much. */
const MOST_NAMED = 20;

function describeSummary({ before, after, spend, refused, left = [], callers = [] }: SliceSummary): string {
  const change = (name: string, from: number, to: number) => `${name} ${from === to ? to : `${from} → ${to}`}`;
  const money = spend.microUsd === null ? '' : `, $${(spend.microUsd / 1_000_000).toFixed(4)}`;
  const cost = spend.isOnPlan ? ' on your plan' : money;
  const counts = [
    change('topics', before.topics, after.topics),
    ...(before.archived + after.archived > 0 ? [change('archived', before.archived, after.archived)] : []),
    change('lines', before.lines, after.lines),
    change('index lines', before.indexLines, after.indexLines),
  ].join(', ');
  const used = `${spend.inputTokens} tokens in, ${spend.outputTokens} out${cost}`;
  const asked = `${sayCount(spend.calls, 'model call')}, ${used}`;
  const text = `${counts}; ${spend.calls === 0 ? 'no model was asked' : asked}.`;
  const part = (title: string, items: string[]) =>
    items.length > 0 ? ['', title, ...items.map((item) => `- ${item}`)] : [];
  const waiting = left.map(({ entry, reason }) => `${entry}: ${reason}`);
  const own = callers.map(({ path, lines }) => (lines === undefined ? path : `${path} (${sayCount(lines, 'line')})`));
  const more = own.length > MOST_NAMED ? [`and ${own.length - MOST_NAMED} more`] : [];
  return [
    text,
    ...part(left.length > 0 ? 'Refused by code:' : 'Refused by code at first, and mended then:', refused),
    ...part('Left for another night:', waiting),
    ...(own.length > 0
      ? ['', `Written by others and left as it is: ${[...own.slice(0, MOST_NAMED), ...more].join(', ')}.`]
      : []),
  ].join('\n');
}
