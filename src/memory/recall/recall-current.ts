// Which lines of topics are told as they stand: not a state or what a session left of which something newer tells, nor what holds on
// another machine, or is of another person, than the session's. Promises: what a person wrote into a topic is always told.

import type { Found } from '../../rules/lessons.ts';
import { isOpposite } from '../../rules/words.ts';
import { isOfOnePlace } from '../persons.ts';
import { editLines, locateLines, seenOnceOn, tellsState, withoutMark } from '../text/topic.ts';
import type { KnownLine, RecallSource, UnsortedEntry } from './recall-source.ts';

interface Said {
  text: string;
  at: string;
  /** It tells how something stands, or what a session left. */
  isState: boolean;
}

/** The files without such lines, those of which nothing is left apart; and of the entries those that are told. */
export async function currentOf<File extends { path: string; text: string }>(
  source: RecallSource,
  of: { files: readonly File[]; known: Map<string, Map<string, KnownLine>>; unsorted: UnsortedEntry[] },
): Promise<{ files: File[]; unsorted: UnsortedEntry[] }> {
  const said = (text: string, at: string, found?: Found | null) => {
    return { text, at, isState: at !== '' && (found === 'outcome' || tellsState(text)) };
  };
  const lines = of.files.map((file) =>
    locateLines(file.text).map(({ id, text }) => {
      const known = of.known.get(file.path)?.get(id);
      const isOfOne = known?.isOfMachine || isOfOnePlace(text);
      return { id, isOfOne, ...said(withoutMark(text), known?.at ?? seenOnceOn(text) ?? '', known?.found) };
    }),
  );
  // What no night has sorted is newer than what was, and stands newest first.
  const entries = of.unsorted.map((entry, n) => ({
    entry,
    ...said(entry.text, `${entry.day}U${9e6 - n}`, entry.found),
  }));
  const over = statesOver([...lines.flat(), ...entries]);
  const placed = of.files.filter((_, n) => lines[n]?.some(({ isOfOne }) => isOfOne)).map(({ path }) => path);
  const elsewhere = placed.length > 0 ? await source.elsewhere(placed) : new Set();
  const files = of.files.flatMap((file, n) => {
    const all = lines[n] ?? [];
    const isAway = ({ id, isOfOne }: (typeof all)[0]) => isOfOne && elsewhere.has(`${file.path} ${id}`);
    const remove = new Set(all.flatMap((line) => (over.has(line) || isAway(line) ? line.id : [])));
    if (remove.size === 0) return [file];
    return remove.size < all.length ? [{ ...file, text: editLines(file.text, { remove, add: [] }) }] : [];
  });
  return { files, unsorted: entries.flatMap((each) => (over.has(each) ? [] : each.entry)) };
}

/** The states of which something newer tells: of all pull requests or all branches that they name, or in the same words turned round. */
function statesOver(all: Said[]): Set<Said> {
  const news = all.flatMap((each) =>
    each.isState || (each.at !== '' && END.test(each.text)) ? { ...subjectsIn(each.text), each } : [],
  );
  const isOver = (old: (typeof news)[0]) => {
    const newer = news.filter(({ each }) => each.at > old.each.at);
    const areTold = (kind: 'numbers' | 'branches') =>
      old[kind].length > 0 && old[kind].every((name) => newer.some((other) => other[kind].includes(name)));
    if (old.numbers.length + old.branches.length > 0) return areTold('numbers') || areTold('branches');
    return newer.some(({ each }) => isOpposite(old.each.text, each.text));
  };
  return new Set(news.flatMap((old) => (old.each.isState && isOver(old) ? old.each : [])));
}

/** By which a text tells that something came to its end. */
const END =
  /(?<!\p{L})(?:(?:was|is|are|were|been|got|now) (?:\p{L}+ )?(?:merged|pushed|released|closed|deployed|published|reviewed|approved|done|finished|fixed|green)|merged|landed|zusammengeführt|erledigt|abgeschlossen|fusionné|terminado)(?!\p{L})/iu;

const NUMBER = /(?<![\w&])(?:#|!|\b(?:PR|MR|pull request|issue|ticket)\s+#?)(\d{1,6})\b/gi;
const BRANCH =
  /\bbranch\s+(?:[`"“]([\w./-]*\w)|(\w[\w.]*[/-][\w./-]*\w))|[`"“]([\w./-]*\w)[`"”]\s+branch\b|\b(?:on|pushed)\s+[`"“](\w[\w.-]*\/[\w./-]*\w)[`"”]/gi;
const MAIN = /^(?:main|master|develop|trunk)$/;

function subjectsIn(text: string): { numbers: string[]; branches: string[] } {
  const branches = [...text.matchAll(BRANCH)].flatMap(([, ...names]) => names.find((name) => name !== undefined) ?? []);
  const numbers = [...text.matchAll(NUMBER)].flatMap(([, number]) => number ?? []);
  return { numbers, branches: branches.filter((name) => !MAIN.test(name)) };
}
