// Whether one sentence of a person is an explicit statement worth keeping, by rules of grammar for six languages.
// What is asked, begins as a quotation or holds half of one states nothing.

import type { Day } from '../../base/time.ts';
import { readEnglish } from './english.ts';
import { readOther } from './languages.ts';
import type { Statement } from './statement.ts';

const LONGEST_CHARS = 400;
const ASKED_OR_QUOTED = /[?？]$|か。?$|^["“„«‘「『'(]/u;

/**
 * What the sentence states, or null. `said` is the day of its message; dates in the text are counted from it.
 * `isAsked`: the sentence beside it asks to remember it.
 */
export function readSentence(sentence: string, said: Day | undefined, isAsked = false): Statement | null {
  const isHalfQuoted = sentence.split('"').length % 2 === 0;
  if (sentence.length > LONGEST_CHARS || isHalfQuoted || ASKED_OR_QUOTED.test(sentence)) return null;
  return readEnglish(sentence, { said, isAsked }) ?? readOther(sentence, { said, isAsked });
}
