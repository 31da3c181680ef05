// Which lines of topics are told as they stand: not a state or what a session left of which something newer tells, nor what the user
// denied since in the same words, nor what holds on another machine, or is of another person, than the session's. And what of them
// agents found out, in the order in which a session is told it. Promises: what a person wrote into a topic is always told; no secret.

import { redact } from '../../base/secrets/redact-text.ts';
import { subjectsIn, tellsState } from '../../rules/states.ts';
import { contentWords, isOpposite, sharedPart, withoutDenial } from '../../rules/words.ts';
import type { MemoryType } from '../memory-types.ts';
import { isOfOnePlace } from '../persons.ts';
import { editLines, foundOn, locateLines, mayBeOver, seenOnceOn, withoutMark } from '../text/topic.ts';
import type { KnownLine, UnsortedEntry } from './recall-source.ts';
import { ageDays, countMatches, type RankedTopic } from './recall-topics.ts';

const isOfPerson = (type: MemoryType) => type === 'user' || type === 'feedback';
const OF_RULES = /^type: (?:user|feedback)$/m;
/** What a session left is told so long, and after that on its branch alone. */
const FRESH_DAYS = 3;
/** Of two that sessions left without a name: so much of the shorter stands in the other, and they are of one thing. */
const OF_ONE_THING = 0.6;

interface Said {
  text: string;
  at: string;
  /** It tells how something stands, or what a session left. */
  isState: boolean;
  /** A session left it. */
  isLeft: boolean;
  /** It is told on its branch alone by now. */
  isOld: boolean;
  /** The user said it outright. */
  isStated: boolean;
}

/**
 * The files without such lines, those of which nothing is left apart; and of the entries those that are told. `begins`: where a session
 * begins, to which no old state of another branch is told; without it, whoever asks is told those too.
 */
export function currentOf<File extends { path: string; text: string }>(
  of: { files: readonly File[]; known: Map<string, Map<string, KnownLine>>; unsorted: UnsortedEntry[] },
  begins?: { branch?: string; now: Date },
): { files: File[]; unsorted: UnsortedEntry[] } {
  type From = Partial<Pick<KnownLine, 'found' | 'isPrograms'>> & { of?: string; isRule: boolean };
  const said = (text: string, at: string, { found, isPrograms, of: other, isRule }: From): Said => {
    const isLeft = at !== '' && found === 'outcome';
    const isPast = isLeft && begins && ageDays(new Date(at.slice(0, 10)), begins.now) > FRESH_DAYS;
    const isState = isLeft || (!isRule && at !== '' && tellsState(withoutMark(text)));
    const isOld = Boolean(
      begins && (isPast || (isState && mayBeOver(text))) && !(begins.branch && text.includes(begins.branch)),
    );
    const isStated = !found && !isPrograms && !other && seenOnceOn(text) === undefined;
    return { text: withoutMark(text), at, isLeft, isOld, isState, isStated };
  };
  const lines = of.files.map((file) => {
    // What somebody wants is no state, whatever it was first asked for.
    const isRule = OF_RULES.test(file.text);
    return locateLines(file.text).map(({ id, text }) => {
      const known = of.known.get(file.path)?.get(id);
      const isAway = known?.isElsewhere && (known.isOfMachine || isOfOnePlace(text));
      return { id, isAway, ...said(text, known?.at ?? seenOnceOn(text) ?? '', { ...known, isRule }) };
    });
  });
  // What no night has sorted is newer than what was, and stands newest first.
  const entries = of.unsorted.map((entry, n) => ({
    entry,
    ...said(entry.text, `${entry.day}U${9e6 - n}`, { ...entry, isRule: isOfPerson(entry.type) }),
  }));
  const all = [...lines.flat(), ...entries];
  const over = new Set([...statesOver(all), ...deniedSince(all)]);
  const files = of.files.flatMap((file, n) => {
    const all = lines[n] ?? [];
    const remove = new Set(all.flatMap((line) => (over.has(line) || line.isAway ? line.id : [])));
    if (remove.size === 0) return [file];
    return remove.size < all.length ? [{ ...file, text: editLines(file.text, { remove, add: [] }) }] : [];
  });
  return { files, unsorted: entries.flatMap((each) => (over.has(each) ? [] : each.entry)) };
}

/** What the user denied since, in the same words. */
function deniedSince(all: Said[]): Said[] {
  const dated = all.filter(({ at }) => at !== '');
  const alike = Map.groupBy(dated, ({ text }) => withoutDenial(text));
  const isAfter = (old: Said) => (each: Said) => each.isStated && each.at > old.at && isOpposite(old.text, each.text);
  return [...alike.values()].flatMap((same) => same.filter((old) => same.some(isAfter(old))));
}

/** The states of which something newer tells: of all pull requests or all branches that they name, or in the same words turned round. */
function statesOver(all: Said[]): Set<Said> {
  const news = all.flatMap((each) =>
    each.isState || each.isOld || (each.at !== '' && END.test(each.text)) ? { ...subjectsIn(each.text), each } : [],
  );
  const isOver = (old: (typeof news)[0]) => {
    const newer = news.filter(({ each }) => each.at > old.each.at);
    const areTold = (kind: 'numbers' | 'branches') =>
      old[kind].length > 0 && old[kind].every((name) => newer.some((other) => other[kind].includes(name)));
    if (old.numbers.length + old.branches.length > 0) return areTold('numbers') || areTold('branches');
    const words = contentWords(old.each.text);
    const isOfIt = ({ each, numbers, branches }: (typeof news)[0]) =>
      old.each.isLeft &&
      each.isLeft &&
      numbers.length + branches.length === 0 &&
      sharedPart(words, contentWords(each.text)) >= OF_ONE_THING;
    return newer.some((other) => isOpposite(old.each.text, other.each.text) || isOfIt(other));
  };
  return new Set(news.flatMap((old) => (old.each.isOld || (old.each.isState && isOver(old)) ? old.each : [])));
}

/** By which a text tells that something came to its end. */
const END =
  /(?<!\p{L})(?:(?:was|is|are|were|been|got|now) (?:\p{L}+ )?(?:merged|pushed|released|closed|deployed|published|reviewed|approved|done|finished|fixed|green)|merged|landed|zusammengeführt|erledigt|abgeschlossen|fusionné|terminado)(?!\p{L})/iu;

// What agents found out.

/** What an agent found out, as it is told; `path`: empty for what no night has sorted. */
interface Lesson {
  path: string;
  line: string;
}

/** What agents found out, each with its topic: what is near first, by turns with the newest. */
export async function lessonsIn({
  ranked,
  unsorted,
  about,
}: {
  ranked: readonly RankedTopic[];
  unsorted: readonly UnsortedEntry[];
  /** Words that tell what the session is about. */
  about: string[];
}): Promise<Lesson[]> {
  const sorted = ranked.flatMap(({ path, text }) =>
    (text.includes('Found by the agent, ') ? locateLines(text) : []).flatMap((line) => {
      const day = foundOn(line.text);
      const over = mayBeOver(line.text) ? ', may be over' : '';
      return day === undefined ? [] : { path, day, over, text: withoutMark(line.text) };
    }),
  );
  const fresh = unsorted.flatMap(({ found, day, text }) => (found ? { path: '', day, over: '', text } : []));
  const newest = [...fresh, ...sorted].sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
  const scores = new Map(newest.map((each) => [each, countMatches(`${each.path} ${each.text}`, about)]));
  const scoreOf = (each: (typeof newest)[number]) => scores.get(each) ?? 0;
  const near = newest.filter((each) => scoreOf(each) > 0).sort((a, b) => scoreOf(b) - scoreOf(a));
  const inTurn = new Set(newest.flatMap((each, at) => [...near.slice(at, at + 1), each]));
  const said = [...inTurn].map(async ({ path, day, over, text }) => {
    const { text: clean } = await redact(text);
    return { path, line: `- ${clean} (${path === '' ? '' : `${path}; `}found by the agent, ${day}${over})\n` };
  });
  return Promise.all(said);
}
