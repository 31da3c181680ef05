// What a reader judged of a play: which reference facts each entry and each line of a topic covers, and whether an entry
// is true, of no use, invented or a trap.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { withoutMark } from '../../../src/memory/text/topic.ts';
import { foldSpace } from '../../../src/rules/quotes.ts';
import { showWords } from './hidden-words.ts';

const judgedSchema = z.strictObject({ session: z.string(), text: z.string(), covers: z.array(z.string()) });

/** A judgement with the transcripts' own words put back. */
export function wholeJudgement({ play, entries, topics }: Judgement): Judgement {
  const whole = <T extends { session: string; text: string }>(judged: T): T => ({
    ...judged,
    text: showWords(judged.text, judged.session),
  });
  return { play, entries: entries.map(whole), topics: topics.map(whole) };
}

/** A file `judgement-<play>.json`. */
export const judgementSchema = z.strictObject({
  /** The name of its cassette. */
  play: z.string(),
  entries: z.array(judgedSchema.extend({ verdict: z.enum(['true', 'useless', 'invented', 'trap']) })),
  /** The lines of topics after one dream. */
  topics: z.array(judgedSchema),
});
export type Judgement = z.infer<typeof judgementSchema>;

/** The judgements that are part of the project. */
export function judgements(): Judgement[] {
  const dir = import.meta.dirname;
  const names = existsSync(dir) ? readdirSync(dir).filter((name) => /^judgement-.*\.json$/.test(name)) : [];
  return names.sort().map((name) => judgementSchema.parse(JSON.parse(readFileSync(join(dir, name), 'utf8'))));
}

/** What a play covered and what came of it today does not: ids of facts; and the traps of the play that are still taken. */
export function comparedWith(
  { entries, topics }: Judgement,
  today: { entries: string[]; lines: string[] },
): { entries: string[]; topics: string[]; traps: string[] } {
  const [said, kept] = [today.entries, today.lines].map((texts) => new Set(texts.map(asCompared)));
  const lost = (judged: Judgement['topics'], texts: Set<string> = new Set()) => {
    const still = coveredBy(judged.filter(({ text }) => texts.has(asCompared(text))));
    return [...coveredBy(judged)].filter((id) => !still.has(id));
  };
  const traps = entries.filter(({ verdict, text }) => verdict === 'trap' && said?.has(asCompared(text)));
  return { entries: lost(entries, said), topics: lost(topics, kept), traps: traps.map(({ text }) => text) };
}

/** A line is the same with and without the mark of a habit that was seen once. */
function asCompared(text: string): string {
  return foldSpace(withoutMark(text));
}

function coveredBy(judged: { covers: string[] }[]): Set<string> {
  return new Set(judged.flatMap(({ covers }) => covers));
}
