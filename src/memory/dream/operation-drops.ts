// What a dream may leave out.
// Promises: what is dropped as a duplicate, or because it gave way, is said by what is named in its place, as far as
// values and words tell; what is dropped at the model's word alone is few; only implied habits wait.

import { denialIn, withoutWhen } from '../../base/text/change-words.ts';
import { contentWords, countShared, greppable, isAbout, stands } from '../../base/text/wording.ts';
import { quoted } from './operation-lines.ts';
import { type DreamContext, type KnownEntry, newestAt, type Operation, topicOfLine } from './operations.ts';

type Drop = Extract<Operation, { kind: 'drop' }>;

interface Check {
  operations: Operation[];
  context: DreamContext;
  /** The lines that any operation takes out, with the topics that lose them. */
  gone: Map<string, Set<string>>;
  say(problem: string): void;
}

/** So many entries of a night may be dropped at the model's word; of more, at most half. */
const FREE_DROPS = 4;
const AT_ITS_WORD = new Set<string>(['ephemeral', 'in-repository', 'unsupported']);

export const UNCHECKED =
  'with it too many entries are dropped for reasons that nobody can check: keep what may be of use.';

/** Of a night of which much is dropped for reasons that nobody can check, the operations that do it. */
export function unfitDrops(operations: Operation[], { entries }: DreamContext): number[] {
  const standing = [...entries.values()].filter((entry) => !entry.isWithdrawn).length;
  let dropped = 0;
  return operations.flatMap((operation, at) => {
    if (operation.kind !== 'drop' || !AT_ITS_WORD.has(operation.because)) return [];
    const own = operation.entries.filter((id) => entries.get(id)?.isWithdrawn === false).length;
    if (dropped + own <= FREE_DROPS || (dropped + own) * 2 <= standing) {
      dropped += own;
      return [];
    }
    return [at];
  });
}

export function checkHeld(
  { entries }: Extract<Operation, { kind: 'hold' }>,
  { context, say }: Pick<Check, 'context' | 'say'>,
): void {
  const known = entries.flatMap((id) => context.entries.get(id) ?? []);
  const stated = known.filter((entry) => entry.strength === 'stated').map(({ id }) => id);
  if (stated.length > 0) say(`${stated.join(', ')} was stated outright; only implied entries are held.`);
  const withdrawn = known.filter((entry) => entry.isWithdrawn).map(({ id }) => id);
  if (withdrawn.length > 0) say(`${withdrawn.join(', ')} is withdrawn and waits for nothing.`);
}

export function checkDropped(drop: Drop, check: Check): void {
  const { context, say } = check;
  const entries = drop.entries.flatMap((id) => context.entries.get(id) ?? []);
  const misplaced = entries.filter((entry) => entry.isWithdrawn !== (drop.because === 'withdrawn'));
  if (misplaced.length > 0) {
    const ids = misplaced.map(({ id }) => id).join(', ');
    say(drop.because === 'withdrawn' ? `${ids} is not withdrawn.` : `${ids} is withdrawn: say so as the reason.`);
  }
  if (drop.because === 'duplicate' || drop.because === 'gave-way') {
    for (const entry of entries) {
      const problem = drop.of === undefined ? 'say of what' : refusalOf(entry, { drop, of: drop.of, check });
      if (problem) say(`${entry.id} as ${drop.because}: ${problem}.`);
    }
  } else if (drop.of !== undefined) say(`"of" belongs to a duplicate, or to what gave way.`);
}

function refusalOf(entry: KnownEntry, { drop, of, check }: { drop: Drop; of: string; check: Check }): string | null {
  const { operations, context, gone } = check;
  const other = context.entries.get(of);
  const line = topicOfLine(of, context)?.lines.get(of);
  if (other) {
    const citing = operations.flatMap((operation) => ('lines' in operation ? operation.lines : []));
    const said = citing.filter((each) => each.entries.includes(of)).map(({ text }) => text);
    // What stands for it may itself be said by a line that is there.
    const isKept = operations.some(
      (operation) =>
        operation.entries.includes(of) &&
        (operation.kind === 'retire' || (operation.kind === 'drop' && operation.because === 'duplicate')),
    );
    const isUsed = said.length > 0 || (drop.because === 'gave-way' && isKept);
    if (of === entry.id || other.isWithdrawn || !isUsed) return `${of} is in no line`;
    if (drop.because === 'gave-way')
      return refusalOfGivingWay(entry, { at: other.at, text: [other.text, ...other.quotes].join('\n') });
    return refusalOfDuplicate(entry, said.join('\n'));
  }
  if (!line) return `${of} is neither a line nor an entry of tonight`;
  if (gone.has(of)) return `line ${of} is taken out: name what comes in its place`;
  if (drop.because === 'duplicate') return refusalOfDuplicate(entry, line.text);
  if (line.isPersons) return 'a person’s line has no time: if it says the same, it is a duplicate';
  return refusalOfGivingWay(entry, { at: newestAt(line.sources ?? []), text: line.text });
}

function refusalOfDuplicate(entry: KnownEntry, text: string): string | null {
  const lost = greppable(withoutWhen(entry.text, [entry.at.slice(0, 10)])).filter((value) => !stands(value, text));
  if (lost.length > 0)
    return `${lost.map(quoted).join(', ')} is not said there: ${quoted(text)}. Merge it into the line`;
  const [mine, theirs] = [denialIn(entry.text), denialIn(text)];
  if ((mine === null) !== (theirs === null)) {
    return `by ${quoted(mine ?? theirs ?? '')} the one denies what the other says: ${quoted(text)}. Supersede the line`;
  }
  // In other words, too: then the words of what stands are in the entry.
  const isSaid =
    countShared(entry.text, text) * 2 >= contentWords(entry.text).size ||
    countShared(text, entry.text) * 3 >= contentWords(text).size * 2;
  return isSaid ? null : `its words are not there: ${quoted(text)}. Merge it into the line, which then rests on it too`;
}

function refusalOfGivingWay(entry: KnownEntry, newer: { at: string; text: string }): string | null {
  if (newer.at < entry.at) return 'what it would give way to is older';
  return isAbout(entry.text, newer.text) ? null : 'what it would give way to is about something else';
}
