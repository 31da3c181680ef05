// What judges found of plays, joined with the key of their package, and checked against it: a verdict that is missing or
// names what is not there is told.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../../src/base/errors.ts';
import { readTextNow } from '../../../src/base/files/files.ts';
import { readLines } from './needs.ts';
import type { Key } from './pack.ts';

const line = z.int().positive();
const [play, need] = [z.string(), z.string()];
const verdictSchema = z.union([
  z.strictObject({ need, play, told: z.enum(['full', 'part', 'held', 'none']), note: z.string().optional() }),
  /** Anybody reads it from the repository: it counts for nobody. */
  z.strictObject({ need, repository: z.literal(true), note: z.string().optional() }),
  z.strictObject({ play, line, true: z.enum(['yes', 'part', 'no']), worth: z.enum(['yes', 'trivial', 'trap']) }),
  z.strictObject({ play, session: line, line, stale: z.boolean().optional(), misled: z.boolean() }),
]);
export type Verdict = z.infer<typeof verdictSchema>;

/** What was judged of the plays of one chain; as it is published. */
export interface Judged {
  key: Key;
  judges: number;
  verdicts: Verdict[];
  /** Of needs, where two judged: how far they agree beyond chance, and who said what how often, `first/second`. */
  kappa?: number;
  raw?: Record<string, number>;
}

export type NeedVerdict = Extract<Verdict, { told: unknown }>;
const isOfNeed = (verdict: Verdict): verdict is NeedVerdict => 'told' in verdict;

/** Of a package that was judged; with `verdicts-2.jsonl` by two, with `verdicts-3.jsonl` the third's word stands where they differ. */
export function judgedIn(out: string, keyAt = `${out}.KEY.json`): Judged {
  const text = readTextNow(keyAt);
  if (text === null)
    throw new AppError('bad-input', `There is no key ${keyAt}.`, { remedy: 'Name it with --key FILE.' });
  const key = JSON.parse(text) as Key;
  const [verdicts, second, third] = ['verdicts.jsonl', 'verdicts-2.jsonl', 'verdicts-3.jsonl'].map((name) =>
    existsSync(join(out, name)) ? readVerdicts(join(out, name)) : undefined,
  );
  if (!verdicts) throw new AppError('bad-input', `There is no ${join(out, 'verdicts.jsonl')}.`);
  checkComplete(key, verdicts);
  const settled = (third ?? []).filter(isOfNeed);
  const settledBy = (one: Verdict) =>
    isOfNeed(one) ? (settled.find((each) => each.need === one.need && each.play === one.play) ?? one) : one;
  const agreed = second ? agreement(verdicts.filter(isOfNeed), second.filter(isOfNeed)) : {};
  return { key, judges: second ? 2 : 1, verdicts: verdicts.map(settledBy), ...agreed };
}

function readVerdicts(path: string): Verdict[] {
  return readLines<unknown>(path).map((value, at) => {
    const verdict = verdictSchema.safeParse(value);
    if (verdict.success) return verdict.data;
    throw new AppError(
      'bad-input',
      `${path}: verdict ${at + 1} is ${JSON.stringify(value)}: ${z.prettifyError(verdict.error)}`,
    );
  });
}

/** Every need of every play, and every line kept, is judged once. */
function checkComplete({ needs, plays }: Key, verdicts: Verdict[]): void {
  const free = new Set(verdicts.flatMap((each) => ('repository' in each ? each.need : [])));
  const expected = Object.entries(plays).flatMap(([play, { kept }]) => [
    ...needs.flatMap(({ id }) => (free.has(id) ? [] : `need ${id}, play ${play}`)),
    ...Array.from({ length: kept }, (_, at) => `play ${play}, line ${at + 1}`),
  ]);
  const found = verdicts.flatMap((each) => {
    if ('told' in each) return free.has(each.need) ? [] : `need ${each.need}, play ${each.play}`;
    return 'true' in each ? `play ${each.play}, line ${each.line}` : [];
  });
  const missing = expected.filter((each) => !found.includes(each));
  const other = found.filter((each, at) => !expected.includes(each) || found.indexOf(each) !== at);
  const problems = [
    missing.length ? `without a verdict: ${missing.join('; ')}` : '',
    other.length ? `not there, or twice: ${other.join('; ')}` : '',
  ];
  if (missing.length + other.length > 0)
    throw new AppError('bad-input', `The verdicts are not whole: ${problems.filter(Boolean).join('. ')}.`);
}

/** Cohen's kappa over the verdicts of needs that both gave. */
export function agreement(first: NeedVerdict[], second: NeedVerdict[]): { kappa: number; raw: Record<string, number> } {
  const pairs = first.flatMap(({ need, play, told }) => {
    const other = second.find((each) => each.need === need && each.play === play);
    return other ? [[told, other.told] as const] : [];
  });
  const share = (count: number) => count / pairs.length;
  const same = share(pairs.filter(([a, b]) => a === b).length);
  const byChance = ['full', 'part', 'held', 'none'].reduce((sum, kind) => {
    return sum + share(pairs.filter(([a]) => a === kind).length) * share(pairs.filter(([, b]) => b === kind).length);
  }, 0);
  const raw = Object.groupBy(pairs, ([a, b]) => `${a}/${b}`);
  const counts = Object.entries(raw).map(([name, of]): [string, number] => [name, of?.length ?? 0]);
  return { kappa: byChance === 1 ? 1 : (same - byChance) / (1 - byChance), raw: Object.fromEntries(counts.sort()) };
}
