// What a memory knows that is near to a prompt: lines of topics, found by the words that few lines have, and entries that no night has
// sorted. Near is what shares two telling words with the prompt, or a value, or one name that few lines have, or of a rule, and where
// something is asked of anything, one word that its topic is about: one that many lines have is not enough to interrupt someone for.
// A line is looked for in its file as it stands. Bounded: of thousands of topics it reads a dozen files. It changes nothing.

import { COMMON_VERBS, LIGHT, MONTH, WEEKDAY } from '../../rules/languages.ts';
import { containsLiteral, literals } from '../../rules/literals.ts';
import { contentWords, isSameWord } from '../../rules/words.ts';
import { parseTopic, type Topic, withoutMark } from '../text/topic.ts';
import { currentOf } from './recall-current.ts';
import type { RecallSource } from './recall-source.ts';
import { OF_ANY_TASK } from './recall-topics.ts';
import { MARK, newerAmong, sayDay, sayNewer, sayType, sayUnsorted } from './recall-words.ts';

/** A statement as it is shown, and what stands above it. */
export interface NearLine {
  /** What stands above it and others of its topic. */
  heading: string;
  /** The statement alone: by it a session is known to have it. */
  said: string;
  /** The line, with what is newer before it. */
  text: string;
  /** The higher, the nearer. */
  score: number;
  /** What it shares with the prompt. */
  shares: string[];
}

/** Of so many topics the lines are compared. */
const MOST_TOPICS = 12;
/** What is less than so near as the nearest is left out. */
const LEAST_SHARE = 0.4;
/** What a word in a topic's name or description counts of one in the line. */
const OF_TOPIC = 0.5;
/** A value counts as two words. */
const OF_VALUE = 2;
/** What more topics than these name in their names or descriptions tells no subject. */
const MOST_OF_SUBJECT = 3;

/** What more lines than these name, or hold, tells none of them. */
const MOST_OF_NAME = 3;
/** What a prompt writes with a capital inside a sentence. */
const NAME = /(?<=[\p{L}\p{N},]\s)\p{Lu}\p{Ll}[\p{Ll}-]+/gu;
const CALENDAR = new RegExp(`^(?:${WEEKDAY}s?|${MONTH})$`, 'i');

const UNSORTED = '### Not sorted into topics yet\n';

/** The nearest first. */
export async function nearTo(
  source: RecallSource,
  { prompt, isShown }: { prompt: string; isShown(said: string): boolean },
): Promise<NearLine[]> {
  const asked = readAsked(prompt);
  if (asked.words.length + asked.values.length === 0) return [];
  const { topics: holding, rare } = await source.holding([...asked.words, ...asked.values]);
  const paths = [...holding.keys()].slice(0, MOST_TOPICS);
  const [files, known, whose] = await Promise.all([source.read(paths), source.lines(paths), source.whose()]);
  const { files: current, unsorted } = currentOf({
    files: paths.flatMap((path) => ({ path, text: files.get(path)?.text ?? '' })),
    ...{ known, unsorted: await source.unsorted({ isQuick: true }) },
  });
  const topics = current.map(({ path, text }) => ({ ...parseTopic(path, text), known: known.get(path) }));
  const isSubject = subjectsOf(topics.map(aboutOf));
  const isRare = rarityOf(rare, topics);
  const texts = [...topics.flatMap(({ lines }) => lines), ...unsorted].map(({ text }) => text);
  asked.names = asked.names.filter((name) => texts.filter((text) => text.includes(name)).length <= MOST_OF_NAME);
  const newerThan = newerAmong(
    topics.flatMap(({ lines }) => lines.map(({ text }) => text)),
    unsorted,
  );
  const ofTopics = topics.flatMap((topic) =>
    topic.lines.map(({ id, text }): NearLine => {
      const line = topic.known?.get(id);
      const mark = line?.isPrograms ? `${MARK} ` : '';
      // Of an order the rules for it are wanted.
      const subject = topic.type === 'feedback' ? aboutOf(topic) : topic.name;
      return {
        heading: `### ${topic.path}${topic.type ? ` (${sayType(topic.type, whose)})` : ''}\n`,
        said: withoutMark(text),
        text: `${sayNewer(newerThan(text))}- ${mark}${text}${sayDay(line)}\n`,
        ...nearness(asked, text, { about: aboutOf(topic), subject, isSubject, isRare }),
      };
    }),
  );
  const ofLogs = unsorted.map((entry): NearLine => {
    const said = withoutMark(entry.text);
    return { heading: UNSORTED, said, text: sayUnsorted(entry), ...nearness(asked, said, { ...NO_TOPIC, isRare }) };
  });
  const near = [...ofTopics, ...ofLogs];
  // Measured by what was shown, too: else a session that asks again is told what is less and less near.
  const least = LEAST_SHARE * Math.max(0, ...near.map(({ score }) => score));
  return near
    .filter(({ score, said }) => score > 0 && score >= least && !isShown(said))
    .sort((a, b) => b.score - a.score);
}

interface Asked {
  words: string[];
  values: string[];
  names: string[];
}

function readAsked(prompt: string): Asked {
  const values = literals(prompt).filter((value) => value.length > 2);
  const words = [
    ...contentWords(prompt),
    ...(prompt.toLowerCase().match(/(?<![\p{L}\p{N}])[a-z]{2}(?![\p{L}\p{N}])/gu) ?? []),
  ];
  const names = (prompt.match(NAME) ?? []).filter((name) => !CALENDAR.test(name));
  const telling = words.filter((word) => !LIGHT.has(word) && !COMMON_VERBS.has(word));
  return { words: telling, values, names };
}

/** The words of a line that a prompt may share: also names of two letters, which are written as such (PR, CI). */
function wordsIn(text: string): Set<string> {
  const names = text.match(/(?<![\p{L}\p{N}])\p{Lu}{2}(?=s?(?![\p{L}\p{N}]))/gu) ?? [];
  return new Set([...contentWords(text), ...names.map((name) => name.toLowerCase())]);
}

function aboutOf({ name, description }: Topic): string {
  return `${name} ${description}`;
}

/** Whether a word tells the subject of few topics. */
function subjectsOf(topics: string[]): (word: string) => boolean {
  const words = topics.map(wordsIn);
  return (word) => !OF_ANY_TASK.test(word) && words.filter((each) => has(each, word)).length <= MOST_OF_SUBJECT;
}

function has(words: Set<string>, word: string): boolean {
  return [...words].some((other) => isSameWord(word, other) || (word.length > 2 && other === `${word}s`));
}

/** What is done every day is rare only where little is remembered. */
const OF_EVERY_DAY =
  /^(?:branch|build|commit|debug|deploy|merg|open|pull|push|refactor|releas|review|test|try|tri)(?:e|es|s|ed|d|ing)?$/;

/** Whether few lines hold a word, of the memory and of these topics. */
function rarityOf(rare: ReadonlySet<string>, topics: Topic[]): (word: string) => boolean {
  const lines = topics.flatMap((topic) => topic.lines.map(({ text }) => wordsIn(text)));
  return (word) =>
    rare.has(word) &&
    word.length > 2 &&
    !OF_ANY_TASK.test(word) &&
    !OF_EVERY_DAY.test(word) &&
    !CALENDAR.test(word) &&
    lines.filter((each) => has(each, word)).length <= MOST_OF_NAME;
}

const NO_TOPIC = { about: '', subject: '', isSubject: () => false };

/** A score of 0 for what is not near: by a rare word, a path or another value, a name, or what its topic is named for. */
function nearness(
  { words, values, names }: Asked,
  line: string,
  of: { about: string; subject: string; isSubject(word: string): boolean; isRare(word: string): boolean },
): Pick<NearLine, 'score' | 'shares'> {
  const [ofLine, ofTopic, ofSubject] = [wordsIn(line), wordsIn(of.about), wordsIn(of.subject)];
  const [shared, others] = [words.filter((word) => has(ofLine, word)), words.filter((word) => !has(ofLine, word))];
  const inTopic = others.filter((word) => has(ofTopic, word)).length;
  const named = values.filter((value) => containsLiteral(value, line));
  const isOfSubject = shared.some((word) => has(ofSubject, word) && of.isSubject(word));
  const isOfName = names.some((name) => line.includes(name) && has(ofLine, name.toLowerCase()));
  if (!shared.some(of.isRare) && named.length === 0 && !isOfSubject && !isOfName) return { score: 0, shares: [] };
  const score = shared.length + OF_TOPIC * inTopic + OF_VALUE * named.length;
  return { score, shares: [...new Set([...named, ...shared])] };
}
