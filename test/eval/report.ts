// The result of an evaluation, as a file that a later one is compared with and as a table for people.

import Table from 'cli-table3';
import { z } from 'zod';
import { costMicroUsd, type Price } from '../../src/base/config/prices.ts';
import { AppError } from '../../src/base/errors.ts';
import { METHOD } from './recognise.ts';
import { type Details, type Figures, type Keeping, ratio, type Share } from './score.ts';
import { TIERS } from './set.ts';

export interface Result {
  /** Of this form; a result of another one is not compared. */
  version: 1;
  set: string;
  /** Names of the samples. */
  samples: string[];
  model: string;
  /** Who extracted: the model, or the set's own facts in its place. */
  extraction: 'model' | 'perfect';
  figures: Figures;
  /** Row of the table → figure of the memory. */
  values: Record<string, number>;
  details: Details;
}

interface Cell {
  value: number;
  text: string;
}

interface Row {
  name: string;
  memory: Cell | null;
  append?: Cell;
  transcript?: Cell;
}

/** The rows of the table, in the order in which one reads them. */
export function rowsOf(figures: Figures): Row[] {
  const { extraction, retention, unsupported, memory, append, transcript } = figures;
  const columns = (name: string, cell: (keeping: Keeping) => Cell): Row => ({
    name,
    memory: cell(memory),
    append: cell(append),
    transcript: cell(transcript),
  });
  const perThousand = (count: number) => (1_000 * count) / Math.max(1, transcript.size.tokens);
  return [
    { name: 'extraction: facts found (recall)', memory: shareCell(extraction.recall) },
    ...TIERS.map((tier) => ({
      name: `extraction: of what ${tier} be kept`,
      memory: shareCell(extraction.tiers[tier]),
    })),
    { name: 'extraction: resting on the message that says it', memory: shareCell(extraction.evidence) },
    { name: 'extraction: turns that say a fact, an entry rests on them', memory: shareCell(extraction.turns) },
    { name: 'extraction: entries that are right (precision)', memory: shareCell(extraction.precision) },
    {
      name: 'extraction: invented entries',
      memory: countCell(extraction.invented.count, `of ${extraction.invented.of}`),
    },
    { name: 'dream: facts retained', memory: shareCell(retention) },
    { name: 'dream: unsupported lines', memory: countCell(unsupported.count, `of ${unsupported.of}`) },
    columns('facts that hold and are found', ({ facts }) => shareCell(facts)),
    columns('changes: the newest said, the old one not', ({ updates }) => shareCell(updates)),
    columns('look-alikes kept side by side', ({ beside }) => shareCell(beside)),
    columns('lines that should not be there', ({ traps }) => countCell(traps.count, `of ${traps.of}`)),
    columns('duplicates per 100 lines', ({ duplicates }) =>
      numberCell((100 * duplicates.count) / Math.max(1, duplicates.of), 1),
    ),
    columns('bytes ÷ transcript bytes', ({ size }) => numberCell(size.bytes / Math.max(1, transcript.size.bytes), 3)),
    columns('tokens to read all of it', ({ size }) => countCell(Math.round(size.tokens))),
    ...(transcript.readForQuestions > 0
      ? [columns('tokens for all questions, reading all of it for each', (of) => countCell(of.readForQuestions))]
      : []),
    columns('tokens spent per 1,000 of transcript', ({ tokens }) => numberCell(perThousand(tokens), 0)),
    columns('tokens spent per session', ({ tokens }) => countCell(Math.round(tokens / Math.max(1, figures.sessions)))),
    columns('model calls per 1,000 tokens of transcript', ({ calls }) => numberCell(perThousand(calls), 2)),
  ];
}

/** The table, what it was measured on and how, and what is worth knowing beside it. */
export function describe(result: Result, { notes, against }: { notes: string[]; against?: Result }): string {
  const { figures, model, set, samples, extraction } = result;
  const table = new Table({
    head: ['', 'memory', 'plain append', 'whole transcript', ...(against ? ['memory before'] : [])],
    style: { head: [], border: [], compact: true },
  });
  for (const { name, memory, append, transcript } of rowsOf(figures)) {
    const before = against ? [compare(memory?.value, against.values[name])] : [];
    table.push([name, memory?.text ?? '–', append?.text ?? '–', transcript?.text ?? '–', ...before]);
  }
  const { waiting, changes } = figures;
  const said = [
    `Set ${set} (${samples.join(', ')}): ${figures.sessions} sessions, ${figures.facts} facts, ${changes} changes. Model ${model}` +
      `${extraction === 'perfect' ? ' for the dream; the extraction is the set’s own facts' : ''}.`,
    METHOD,
    'A change counts where both sides were extracted. Tokens of the transcript are those of what was said and of what tools ' +
      'got and gave; memory and logs count as files. Plain append: the entries as they were recorded, without a dream.',
    ...(waiting > 0 ? [`${waiting} facts are habits seen once, whose lines are marked.`] : []),
    ...notes,
    ...result.details.failures.map((failure) => `FAILED ${failure}`),
  ];
  return `${table}\n\n${said.join('\n')}`;
}

/** What all questions cost with a memory, and with the whole conversation as context; null where none is asked. */
export function describeReading({ memory, transcript }: Figures, model: string, price?: Price): string | null {
  if (transcript.readForQuestions === 0) return null;
  const [whole, kept] = [transcript, memory].map(({ readForQuestions: inputTokens }) => {
    const tokens = `${inputTokens.toLocaleString('en')} tokens`;
    if (!price) return tokens;
    const spent = { inputTokens, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
    return `${tokens} ($${(costMicroUsd(spent, price) / 1e6).toFixed(2)} at ${model}'s list price)`;
  });
  return (
    'The whole transcript is the long-context baseline: all that words find in it could be answered from it. Reading it for every ' +
    `question, without a cache, takes ${whole}, reading the memory ${kept}.`
  );
}

/** What the figures rest on, by heading. */
export function describeDetails(details: Details): string {
  const headings: Record<keyof Details, string> = {
    missed: 'Facts that no entry says',
    invented: 'Entries that say nothing of the set, and rest on nothing that says a fact',
    lost: 'Facts that entries say and the memory does not',
    stale: 'Facts that were replaced and are still said, or whose successor is missing',
    traps: 'Lines that should not be there',
    unrecognised: 'Entries that say no fact of the set',
    duplicates: 'Lines that say what another one says',
    unsupported: 'Lines that no entry supports',
    failures: 'What failed',
  };
  const parts = (Object.keys(headings) as (keyof Details)[]).filter((key) => details[key].length > 0);
  return parts.map((key) => [`${headings[key]}:`, ...details[key].map((line) => `  ${line}`)].join('\n')).join('\n\n');
}

const resultSchema = z.looseObject({
  version: z.literal(1),
  set: z.string(),
  samples: z.array(z.string()),
  values: z.record(z.string(), z.number()),
});

/** Reads an earlier result. Throws `bad-input` for what is none, or is of another set. */
export function readResult(
  text: string,
  { path, like }: { path: string; like: Pick<Result, 'set' | 'samples'> },
): Result {
  const remedy = 'Give a file that npm run eval -- --json wrote for the same set.';
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (error) {
    throw new AppError('bad-input', `${path} is not JSON: ${(error as Error).message}.`, { remedy, cause: error });
  }
  const result = resultSchema.safeParse(found);
  if (!result.success)
    throw new AppError('bad-input', `${path} is no result: ${z.prettifyError(result.error)}`, { remedy });
  const [then, now] = [result.data, like].map(({ set, samples }) => `${set} (${samples.join(', ')})`);
  if (then !== now) throw new AppError('bad-input', `${path} is of the set ${then}, not of ${now}.`, { remedy });
  return found as Result;
}

export function valuesOf(figures: Figures): Record<string, number> {
  return Object.fromEntries(rowsOf(figures).flatMap(({ name, memory }) => (memory ? [[name, memory.value]] : [])));
}

function compare(now: number | undefined, before: number | undefined): string {
  if (before === undefined || now === undefined) return '–';
  const written = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(value < 1 ? 3 : 2));
  const change = now - before;
  return Math.abs(change) < 1e-9
    ? 'the same'
    : `${written(before)} (${change > 0 ? '+' : '−'}${written(Math.abs(change))})`;
}

function shareCell(share: Share): Cell {
  const text = share.of === 0 ? '–     none to tell by' : `${ratio(share).toFixed(2)}  ${share.count} of ${share.of}`;
  return { value: ratio(share), text };
}

function countCell(value: number, of = ''): Cell {
  return { value, text: `${value} ${of}`.trim() };
}

function numberCell(value: number, digits: number): Cell {
  return { value, text: value.toFixed(digits) };
}
