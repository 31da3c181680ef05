// What a reader judged of a play: which reference facts each entry and each line of a topic covers, and whether an entry
// is true, of no use, invented or a trap. And what that comes to. Facts that the main agent wrote down itself are left out of recall.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { withoutMark } from '../../../src/memory/text/topic.ts';
import { foldSpace } from '../../../src/rules/quotes.ts';
import type { ReferenceFact } from './facts.ts';
import { showWords } from './hidden-words.ts';

/** How much a memory is missed that does not hold a fact. */
const TIERS = ['must', 'should', 'may'] as const;
type Tier = (typeof TIERS)[number];
/** `count` of `of`. */
interface Share {
  count: number;
  of: number;
}
const ratio = ({ count, of }: Share) => (of === 0 ? 1 : count / of);

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

export type Score = ReturnType<typeof scoreJudgements>;

/** Several plays are pooled: a fact counts once for each. Throws where a judgement names a fact that is not there. */
export function scoreJudgements(judged: Judgement[], facts: ReferenceFact[]) {
  const ids = new Set(facts.map(({ id }) => id));
  const unknown = judged.flatMap(({ entries, topics }) =>
    [...entries, ...topics].flatMap(({ covers }) => covers.filter((id) => !ids.has(id))),
  );
  if (unknown.length > 0) throw new Error(`There are no facts ${[...new Set(unknown)].join(', ')}.`);
  const asked = facts.filter(({ agentWrote }) => !agentWrote);
  const share = (of: 'entries' | 'topics', tiers: readonly Tier[]): Share => {
    const wanted = asked.filter(({ tier }) => tiers.includes(tier));
    const counts = judged.map((judgement) => {
      const covered = coveredBy(judgement[of]);
      return wanted.filter(({ id }) => covered.has(id)).length;
    });
    return { count: counts.reduce((sum, count) => sum + count, 0), of: wanted.length * judged.length };
  };
  const byTier = (of: 'entries' | 'topics') =>
    Object.fromEntries(TIERS.map((tier) => [tier, share(of, [tier])])) as Record<Tier, Share>;
  const entries = judged.flatMap((judgement) => judgement.entries);
  const verdicts = (verdict: string) => entries.filter((entry) => entry.verdict === verdict).length;
  const missed = judged.map((judgement) => {
    const covered = coveredBy(judgement.entries);
    return [judgement.play, asked.flatMap(({ id, tier }) => (tier !== 'may' && !covered.has(id) ? [id] : []))] as const;
  });
  return {
    plays: judged.map(({ play }) => play),
    /** Facts that an entry covers. */
    recall: byTier('entries'),
    mustAndShould: share('entries', ['must', 'should']),
    /** Facts that a line of a topic covers. */
    topics: byTier('topics'),
    mustAndShouldInTopics: share('topics', ['must', 'should']),
    /** Entries that are true and of use. */
    precision: { count: verdicts('true'), of: entries.length },
    invented: verdicts('invented'),
    traps: verdicts('trap'),
    /** Ids of what must or should be there and is not, by play. */
    missed: Object.fromEntries(missed),
  };
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

export function describeScore(score: Score): string {
  const say = (share: Share) => `${ratio(share).toFixed(2)}  ${share.count} of ${share.of}`;
  const rows: [string, string][] = [
    ...TIERS.map((tier): [string, string] => [`entries: ${tier}`, say(score.recall[tier])]),
    ['entries: must and should', say(score.mustAndShould)],
    ...TIERS.map((tier): [string, string] => [`topics: ${tier}`, say(score.topics[tier])]),
    ['topics: must and should', say(score.mustAndShouldInTopics)],
    ['precision', say(score.precision)],
    ['invented', String(score.invented)],
    ['traps', String(score.traps)],
  ];
  const missed = Object.entries(score.missed).map(([play, ids]) => `missed in ${play}: ${ids.join(', ') || 'nothing'}`);
  return [score.plays.join(', '), ...rows.map(([name, value]) => `${name.padEnd(26)}${value}`), ...missed].join('\n');
}
