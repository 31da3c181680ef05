// Tombstones: entries that a person had forgotten keep their row, as `forgotten`, so that the same statement is not
// learned again from the same source, however it is worded the next time. Another session may say it anew.

import { fold } from '../text/blocks.ts';
import { jsonOf, type Ledger } from './ledger.ts';

export interface Statement {
  session: string;
  text: string;
  /** When it was said. */
  at: string;
  /** What carries it. */
  message: string;
  quote: string;
}

/** Words in a row that two quotes of one message share where they are of one statement. */
const SHARED_RUN = 4;
/** The part of the shorter text's words that the other has too, where both say the same. */
const ALIKE = 0.75;

/**
 * Whether a person had this forgotten: it rests on the same words of the same message as a forgotten entry, or says the
 * same in the same session, in something said before the forgetting.
 */
export function isForgotten(ledger: Ledger, statement: Statement): boolean {
  const rows = ledger.all(
    `select entry.session, entry.text, evidence, created_at from entry left join job on job.id = entry.job
     where state = 'forgotten'`,
  );
  return rows.some((row) => {
    const [first] = jsonOf(row.evidence) as { message: string; quote: string }[];
    const isSameText = areAlike(row.text as string, statement.text);
    if (first?.message === statement.message) return isSameText || overlap(first.quote, statement.quote);
    const isSaidBefore = row.created_at === null || statement.at <= (row.created_at as string);
    return row.session === statement.session && statement.session !== '' && isSameText && isSaidBefore;
  });
}

/** Whether two quotes of one message are about the same words of it. */
function overlap(a: string, b: string): boolean {
  const [shorter, longer] = [wordsOf(a), wordsOf(b)].sort((x, y) => x.length - y.length) as [string[], string[]];
  const run = Math.min(SHARED_RUN, shorter.length);
  const known = new Set(longer.map((_, at) => longer.slice(at, at + run).join(' ')));
  return shorter.some((_, at) => at + run <= shorter.length && known.has(shorter.slice(at, at + run).join(' ')));
}

function areAlike(a: string, b: string): boolean {
  const [shorter, longer] = [new Set(wordsOf(a)), new Set(wordsOf(b))].sort((x, y) => x.size - y.size) as [
    Set<string>,
    Set<string>,
  ];
  const shared = [...shorter].filter((word) => longer.has(word)).length;
  return shorter.size > 0 && shared >= shorter.size * ALIKE;
}

function wordsOf(text: string): string[] {
  return (
    fold(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}
