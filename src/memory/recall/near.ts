// What a memory directory knows that is near to a prompt: lines of topics, found by the full-text table of the ledger, and
// entries that no dream has seen. Near is what shares two telling words with the prompt, or a value, or one name that few
// lines have, or of a rule, and where something is asked of anything, one word that its topic is about: one that many lines
// have is not enough to interrupt someone for. A line is looked for in its file, so what was taken out of it since is
// not shown. Bounded: of thousands of topics it reads a dozen files. It changes nothing but the table.

import { COMMON_VERBS, LIGHT, MONTH, WEEKDAY } from '../../rules/languages.ts';
import { containsLiteral, literals } from '../../rules/literals.ts';
import { contentWords, isSameWord } from '../../rules/words.ts';
import { type TopicCard, TopicSearch, topicCard } from '../dream/topic-table.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { MARK, programLines } from '../ledger/program-lines.ts';
import { readShown } from '../store/live-files.ts';
import { locateLines } from '../text/topic.ts';
import { ageDays, sayAge } from './recall-topics.ts';
import { newerAmong, sayNewer, sayUnsorted, unsortedEntries } from './unsorted.ts';

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
}

const MOST_FOUND = 60;
const MOST_TOPICS = 12;
/** Of topics that changed since anybody searched, so many are read for one prompt. */
const MOST_REFRESHED = 40;
/** What is less than so near as the nearest is left out. */
const LEAST_SHARE = 0.4;
/** What a word in a topic's name or description counts of one in the line. */
const OF_TOPIC = 0.5;
/** A value counts as two words. */
const OF_VALUE = 2;
/** What more topics than these name in their names or descriptions tells no subject. */
const MOST_OF_SUBJECT = 3;

/** What every second task is worded with is no subject of one. */
const OF_ANY_TASK =
  /^(?:add|adds|chang|creat|edit|fix|implement|improv|updat|remov|renam|mov|writ|read|show|find|check|new|file|code|line)(?:e|es|s|ed|en|d|ing)?$/;

/** What more lines than these name tells none of them. */
const MOST_OF_NAME = 3;
/** What a prompt writes with a capital inside a sentence. */
const NAME = /(?<=[\p{L}\p{N},]\s)\p{Lu}\p{Ll}[\p{Ll}-]+/gu;
const QUESTION = /\?\s*$|^\s*(?:who|what|when|where|which|how|why|wer|was|wann|wo|welche[rsn]?|wie|warum)(?!\p{L})/iu;
const CALENDAR = new RegExp(`^(?:${WEEKDAY}s?|${MONTH})$`, 'i');

const UNSORTED = '### Not sorted into topics yet\n';

/** The nearest first. */
export function nearTo(
  { dir, ledger }: { dir: string; ledger: Ledger },
  { prompt, now, isShown }: { prompt: string; now: Date; isShown(said: string): boolean },
): NearLine[] {
  const asked = readAsked(prompt);
  if (asked.words.length + asked.values.length === 0) return [];
  const search = new TopicSearch(ledger, { most: MOST_REFRESHED });
  const paths = search
    .find(withEndings(prompt), MOST_FOUND)
    .flatMap(({ path }) => (path.startsWith('archive/') ? [] : [path]));
  const topics = [...new Set(paths)].slice(0, MOST_TOPICS).flatMap((path) => {
    const card = topicCard(ledger, path);
    const text = card && readShown(dir, path, ledger);
    return text ? [{ card, lines: locateLines(text), programs: programLines(ledger, path) }] : [];
  });
  const unsorted = [...unsortedEntries({ dir, ledger }, { isQuick: true })];
  const isSubject = subjectsOf(topics.map(({ card }) => aboutOf(card)));
  const texts = [...topics.flatMap(({ lines }) => lines), ...unsorted].map(({ text }) => text);
  const isNamed = (name: string) => texts.filter((text) => text.includes(name)).length <= MOST_OF_NAME;
  asked.names = asked.names.filter(isNamed);
  const newerThan = newerAmong(
    topics.flatMap(({ lines }) => lines.map(({ text }) => text)),
    unsorted,
  );
  const ofTopics = topics.flatMap(({ card, lines, programs }) =>
    lines.map(({ id, text }): NearLine => {
      const mark = programs.has(id) ? `${MARK} ` : '';
      return {
        heading: headingOf(card, now),
        said: text,
        text: `${sayNewer(newerThan(text))}- ${mark}${text}\n`,
        score: nearness(asked, text, {
          about: aboutOf(card),
          // Of a question what is known is wanted, of an order the rules for it.
          subject: card.type === 'feedback' ? aboutOf(card) : asked.isQuestion ? card.name : '',
          isSubject,
        }),
      };
    }),
  );
  const ofLogs = unsorted.map((entry): NearLine => {
    const { text: said } = entry;
    return { heading: UNSORTED, said, text: sayUnsorted(entry), score: nearness(asked, said) };
  });
  const near = [...ofTopics, ...ofLogs];
  // Measured by what was shown, too: else a session that asks again is told what is less and less near.
  const least = LEAST_SHARE * Math.max(0, ...near.map(({ score }) => score));
  return near
    .filter(({ score, said }) => score > 0 && score >= least && !isShown(said))
    .sort((a, b) => b.score - a.score);
}

function headingOf({ path, type, changedAt }: TopicCard, now: Date): string {
  const age = changedAt === '' ? undefined : `last changed ${sayAge(ageDays(new Date(changedAt), now))}`;
  const about = [type, age].filter(Boolean).join(', ');
  return `### ${path}${about && ` (${about})`}\n`;
}

/** The table knows words as they stand; one that is in no line costs nothing. */
function withEndings(prompt: string): string {
  const stems = (prompt.toLowerCase().match(/[a-z]{4,}/g) ?? []).map((word) => word.replace(/(?:e?s|e?d|ing)$/, ''));
  const forms = stems.flatMap((stem) => ['', 's', 'e', 'es', 'ed', 'ing'].map((ending) => stem + ending));
  const plurals = (prompt.toLowerCase().match(/\b[a-z]{3}\b/g) ?? []).map((word) => `${word}s`);
  return [prompt, ...forms, ...plurals].join(' ');
}

interface Asked {
  words: string[];
  values: string[];
  names: string[];
  isQuestion: boolean;
}

function readAsked(prompt: string): Asked {
  const values = literals(prompt).filter((value) => value.length > 2);
  const words = [
    ...contentWords(prompt),
    ...(prompt.toLowerCase().match(/(?<![\p{L}\p{N}])[a-z]{2}(?![\p{L}\p{N}])/gu) ?? []),
  ];
  const names = (prompt.match(NAME) ?? []).filter((name) => !CALENDAR.test(name));
  const telling = words.filter((word) => !LIGHT.has(word) && !COMMON_VERBS.has(word));
  return { words: telling, values, names, isQuestion: QUESTION.test(prompt) };
}

/** The words of a line that a prompt may share: also names of two letters, which are written as such (PR, CI). */
function wordsIn(text: string): Set<string> {
  const names = text.match(/(?<![\p{L}\p{N}])\p{Lu}{2}(?=s?(?![\p{L}\p{N}]))/gu) ?? [];
  return new Set([...contentWords(text), ...names.map((name) => name.toLowerCase())]);
}

const aboutOf = ({ name, description }: TopicCard) => `${name} ${description}`;

/** Whether a word tells the subject of few topics. */
function subjectsOf(topics: string[]): (word: string) => boolean {
  const words = topics.map(wordsIn);
  return (word) => !OF_ANY_TASK.test(word) && words.filter((each) => has(each, word)).length <= MOST_OF_SUBJECT;
}

function has(words: Set<string>, word: string): boolean {
  return [...words].some((other) => isSameWord(word, other) || (word.length > 2 && other === `${word}s`));
}

const NO_TOPIC = { about: '', subject: '', isSubject: () => false };

/** 0 for what is not near. */
function nearness(
  { words, values, names }: Asked,
  line: string,
  { about, subject, isSubject }: { about: string; subject: string; isSubject(word: string): boolean } = NO_TOPIC,
): number {
  const [ofLine, ofTopic] = [wordsIn(line), wordsIn(about)];
  const [shared, others] = [words.filter((word) => has(ofLine, word)), words.filter((word) => !has(ofLine, word))];
  const inTopic = others.filter((word) => has(ofTopic, word)).length;
  const named = values.filter((value) => containsLiteral(value, line)).length;
  const isOfSubject = shared.some((word) => has(wordsIn(subject), word) && isSubject(word));
  const isOfName = names.some((name) => line.includes(name) && has(ofLine, name.toLowerCase()));
  if (shared.length + inTopic < 2 && named === 0 && !isOfSubject && !isOfName) return 0;
  return shared.length + OF_TOPIC * inTopic + OF_VALUE * named;
}
