// What a merge may put together: what is said of one thing, into one line.
// Promises: a line joins nothing that says the opposite, or that shares too little with it. Two texts that share little
// may still say the same, which only a model can tell: then what was seen once gives way to any line that speaks of it,
// and a rule that somebody only shows again is joined where the line that comes says both. It never says that two texts
// mean the same.

import { LIGHT } from '../../base/text/lexicon.ts';
import { contentWords, countShared, countSharedWords, isOpposite, sharesTopic } from '../../base/text/wording.ts';
import { quoted, replacedLines, sessionOf } from './operation-lines.ts';
import type { DreamContext, KnownEntry, KnownLine, Operation } from './operations.ts';

type Merge = Extract<Operation, { kind: 'merge' }>;

interface Check {
  context: DreamContext;
  say(problem: string): void;
}

export function checkMerge(operation: Merge, { context, say }: Check): void {
  const old = replacedLines(operation, context);
  for (const line of operation.lines) {
    const entries = line.entries.flatMap((id) => context.entries.get(id) ?? []);
    for (const known of old) {
      const problem = refusalOfJoining(known, entries, line.text);
      if (problem) say(problem);
    }
  }
  if (operation.lines.length > 1) say('a merge puts lines into one line: use one operation for each.');
}

function refusalOfJoining(known: KnownLine, entries: KnownEntry[], line: string): string | null {
  const { text, seenOnce, sources = [] } = known;
  const said = entries.map((entry) => entry.text);
  const turned = said.find((each) => isOpposite(each, text));
  if (turned) return `${quoted(turned)} says the opposite of ${quoted(text)}: supersede the line.`;
  const isShownAgain = entries.some((entry) => !sources.some((source) => sessionOf(source) === sessionOf(entry)));
  if (seenOnce !== undefined && isShownAgain) {
    if (sharesTopic(text, line)) return null;
    return `the line ${quoted(line)} says nothing of ${quoted(text)}, whose place it takes.`;
  }
  const shared = countShared(text, said.join('\n'));
  const size = contentWords(text).size;
  if (shared * 2 >= size || (shared > 1 && shared * 3 > size)) return null;
  // A rule that is shown again is seldom shown in its words.
  const isNear = isNearBy(known, entries);
  if (isNear && shareSaid(text, line) >= STAYS && said.every((each) => shareSaid(each, line) >= SAID)) return null;
  const together = [text, ...said].map((each) => each.replace(/[.;]$/, '')).join('; ');
  const how = isNear
    ? `where it is the same, say both as they are worded, as in ${JSON.stringify(`${together}.`)}; else `
    : '';
  return `${quoted(text)} says something else than ${said.map(quoted).join(', ')}, as far as words tell: ${how}let it stay, and add a line.`;
}

/** So many words that carry meaning are in a line and in what shows it again. */
const NEAR = 2;
/** So much of the line, and of what shows it again, is in the line that comes. */
const STAYS = 3 / 4;
const SAID = 1 / 2;

function shareSaid(text: string, line: string): number {
  return countShared(text, line) / Math.max(1, contentWords(text).size);
}

/** Whether entries that only show something speak of what a line says, by their quotes and what it rests on, too. */
function isNearBy({ text, sources = [] }: KnownLine, entries: KnownEntry[]): boolean {
  if (entries.some(({ strength }) => strength !== 'implied')) return false;
  const ofLine = contentWords([text, ...sources.flatMap((source) => source.text ?? [])].join('\n'));
  const shown = contentWords(entries.flatMap((entry) => [entry.text, ...entry.quotes]).join('\n'));
  const words = [...ofLine].filter((word) => !LIGHT.has(word) && !/^\p{N}+$/u.test(word));
  return countSharedWords(new Set(words), shown) >= NEAR;
}
