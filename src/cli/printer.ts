// What jobs report, as a command prints it: objects of a documented shape for `--json`, and text for a person. Memories are named
// by their directories, or, without one, by their ids.

import type { ToldOperation } from '../../jobs/dream/dream-landing.ts';
import type { DreamEstimate } from '../../jobs/dream/dream-proposal.ts';
import type { DreamReport } from '../../jobs/dream.ts';
import type { ExtractReport } from '../../jobs/extract.ts';
import { programOf } from '../agent/programs/programs.ts';
import type { Failure } from '../base/errors.ts';
import { sayCount } from '../base/text/wording.ts';
import { type EntryRow, entriesAmong } from '../memory/entries.ts';
import { type JobKind, type JobUsage, usageOf } from '../memory/job-rows.ts';
import { type MemoryRow, memoryRow } from '../memory/memories.ts';
import { sayOp, sayOperations } from '../memory/memory-types.ts';
import { sessionRow } from '../memory/session-rows.ts';
import { shortId } from '../memory/short-ids.ts';
import { note, type Printing, print } from '../terminal/output.ts';
import { sayOutcome, sayTokens } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { placeOf } from '../worker/whose-memory.ts';

async function placeNamed(app: App, id: string): Promise<string> {
  const row = await memoryRow(app.db, id);
  return row ? placeOf(row) : id;
}

/** What a piece of work is called: in JSON, to a person (`session 0d8c1a52`, `dream`), and where it is. */
export async function workNames(
  { db }: App,
  { kind, key, memory }: { kind: JobKind; key: string; memory: MemoryRow | null | undefined },
) {
  const session = kind === 'extract' ? await sessionRow(db, key) : undefined;
  const short = session ? await shortId(db, 'session', session.name) : key;
  return {
    key: session?.name ?? (kind === 'dream' ? kind : key),
    name: kind === 'extract' ? `session ${short}` : kind,
    place: memory ? placeOf(memory) : null,
  };
}

/** What became of an entry, as JSON says it. */
export function stateOf({ state, reason }: Pick<EntryRow, 'state' | 'reason'>): string {
  if (state === 'new') return 'new';
  if (state !== 'gone') return 'sorted';
  return reason === 'forgotten' ? 'forgotten' : 'withdrawn';
}

/** `here`: the memory where one stands; another one is named, because nobody would look there. */
export async function printExtract(
  app: App,
  report: ExtractReport,
  { json, here }: Printing & { here?: string },
): Promise<void> {
  const memory = report.memory && (await placeNamed(app, report.memory));
  const entries = await Promise.all(
    report.entries.map(async (entry) =>
      entry.memory === undefined ? entry : { ...entry, memory: await placeNamed(app, entry.memory) },
    ),
  );
  const { readTurns: _, gaveUpTurns: __, ...told } = report;
  if (json) return print({ ...told, memory, entries });
  const name = report.session === '' ? report.transcript : await shortId(app.db, 'session', report.session);
  const lines = [`${name}: ${sayExtract(report)}`];
  const { length } = report.refused;
  if (length > 0) lines.push(`  ${sayCount(length, 'proposal')} of the model refused: nocturne why ${name}`);
  for (const { type, text, memory } of entries) {
    lines.push(`  ${type.padEnd(9)} ${text}${memory ? ` [user scope, ${memory}]` : ''}`);
  }
  if (entries.length > 0 && here !== undefined && memory !== here) {
    lines.push(`  kept in ${memory}, the memory of the project that it ran in`);
  }
  print([...lines, ...sayOnPlan(report.spend)].join('\n'));
  sayWhy(report);
}

function sayExtract(report: ExtractReport): string {
  const unread = report.unreadableLines > 0 ? `, ${sayCount(report.unreadableLines, 'unreadable line')} skipped` : '';
  const waiting = report.openTurns > 0 ? `, ${sayCount(report.openTurns, 'turn')} still open` : '';
  const { entries, refused } = report;
  const outcome = report.outcome === 'nothing-worth-keeping' && refused.length > 0 ? 'nothing-kept' : report.outcome;
  const did = outcome === 'recorded' ? `${sayCount(entries.length, 'thing')} learned` : sayOutcome(outcome);
  return `${did}${unread}${waiting}`;
}

/** In place of what it cost in money. */
function sayOnPlan({ onPlan = 0, inputTokens, cachedInputTokens, outputTokens }: JobUsage): string[] {
  if (onPlan === 0) return [];
  return [
    `  ${sayCount(onPlan, 'request')}, ${sayTokens(inputTokens + cachedInputTokens + outputTokens)} on your plan`,
  ];
}

function sayWhy({ error }: { error?: Failure }): void {
  if (error) note(`  ${error.message}`);
}

/** What a night did with each thing, in its words: what came, what went, and why. */
export async function sayNight({ db }: App, memory: string, operations: readonly ToldOperation[]): Promise<string[]> {
  const ids = operations.flatMap(({ entries }) => entries);
  const texts = new Map((await entriesAmong(db, memory, { column: 'id', of: ids })).map(({ id, text }) => [id, text]));
  const name = (path: string) => path.replace(/\.md$/i, '');
  const told = operations.map(async ({ kind, topic, from, reason, came, gone = [], over = [], entries }) => {
    const where = from ? ` (${name(from)} → ${name(topic ?? '')})` : topic ? ` (${name(topic)})` : '';
    const short = await Promise.all(entries.map(async (id) => ` (${await shortId(db, 'entry', id)})`));
    return [
      `  ${sayOp(kind)}${where}: ${reason}${short.join('')}`,
      ...(came ?? (gone.length > 0 ? [] : entries.flatMap((id) => texts.get(id) ?? []))).map(
        (text) => `    ${came && gone.length > 0 ? 'now: ' : ''}${text}`,
      ),
      ...gone.map((text) => `    was: ${text}`),
      ...over.map((text) => `    no longer true: ${text}`),
    ];
  });
  return (await Promise.all(told)).flat();
}

/** `more`: what is said of its sharing, `shared` the same as an object. */
export async function printDream(
  app: App,
  { memory, report }: { memory: MemoryRow; report: DreamReport },
  { json, shared, more = [] }: Printing & { shared?: object; more?: string[] },
): Promise<void> {
  const { index, ...rest } = report;
  const operations = report.operations.map(({ kind, entries, topic, reason }) => {
    return { kind, entries, topic: topic?.replace(/\.md$/i, '') ?? null, reason };
  });
  const told = { ...rest, operations };
  const spend = await usageOf(app.db, report.job ?? '');
  if (json) return print({ ...told, spend, ...(shared && { shared }) });
  const summary = sayOperations(report.operations);
  // A dream that did not come so far has not counted them.
  const size = index && index.topics > 0 ? `; ${sayCount(index.topics, 'topic')}` : '';
  const said = report.outcome === 'dreamed' && summary ? summary : sayOutcome(report.outcome);
  const lines = [`dream: ${said}${size}`, ...(await sayNight(app, memory.id, report.operations))];
  const { length } = report.proposals;
  if (length > 0) lines.push(`  ${length} ${length === 1 ? 'waits' : 'wait'} for your answer: nocturne review`);
  print([...lines, ...sayOnPlan(spend), ...more].join('\n'));
  sayWhy(report);
}

export function printEstimate(estimate: DreamEstimate, { json }: Printing): void {
  if (json) {
    print(estimate);
    return;
  }
  const { model, entries, requests, inputTokens, outputTokens, microUsd } = estimate;
  for (const [at, { input }] of requests.entries()) print(`--- request ${at + 1} of ${requests.length} ---\n${input}`);
  const unpriced = programOf(model) ? "paid as the program's login pays" : 'no price known';
  const cost = microUsd === null ? unpriced : `about $${(microUsd / 1_000_000).toFixed(4)}`;
  const news = `${sayCount(entries, 'entry')}`;
  const size = `about ${inputTokens} tokens in, ${outputTokens} out`;
  print(
    `dry run: ${news}; ${sayCount(requests.length, 'request')} to ${model}, ${size}, ${cost}. Nothing was changed.`,
  );
}
