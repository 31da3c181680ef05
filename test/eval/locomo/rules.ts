// By which rules LoCoMo is measured; they stood before any run. Who answers and judges is the model that is measured.

/** The paper's categories. Of the last, what is asked was never said: it is counted apart. */
export const CATEGORIES: Record<number, string> = {
  ...{ 1: 'several lines (multi-hop)', 2: 'when (temporal)', 3: 'concluded (open domain)', 4: 'one line (single-hop)' },
  5: 'never said (adversarial)',
};
export const ADVERSARIAL = 5;

const NOT_SAID = 'not mentioned';
export const ANSWER = `Two people have talked over months. Answer a question about them from what you are given, in as few words as it takes:
a name, a thing, yes or no, a date as "7 May 2023". Where what you are given does not say, conclude what is likely; where nothing there is of
what is asked, answer "${NOT_SAID}". Answer with the answer alone.`;
export const JUDGE = `You are given a question, the right answer, and the answer of somebody. Say "yes" if theirs says what the right one says,
in other words or with more besides, and a date that is the same in another form; "no" if it lacks or contradicts a part that matters. Answer
with one word.`;

/** Of category 5: whether the answer says that nobody said it. */
export const saysNotSaid = (answer: string) => answer.toLowerCase().includes(NOT_SAID);

/** Of words in common; of several lines each part of the right answer with the part of the given one that is nearest to it. */
export function f1(answer: string, right: string, category: number): number {
  if (category !== 1) return f1Of(answer, category === 3 ? (right.split(';')[0] ?? '') : right);
  const best = right.split(',').map((part) => Math.max(...answer.split(',').map((given) => f1Of(given, part))));
  return best.reduce((sum, each) => sum + each, 0) / best.length;
}

function f1Of(answer: string, right: string): number {
  const [given, wanted] = [wordsOf(answer), wordsOf(right)];
  const left = [...wanted];
  const common = given.filter((word) => {
    const at = left.indexOf(word);
    if (at >= 0) left.splice(at, 1);
    return at >= 0;
  }).length;
  return common === 0 ? 0 : (2 * common) / (given.length + wanted.length);
}

/** Small, without marks and articles. */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.filter((word) => !['a', 'an', 'the', 'and'].includes(word));
}
