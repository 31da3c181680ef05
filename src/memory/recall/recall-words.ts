// How recall words what it shows: entries that no night has sorted, put before the lines that they change; the marks of lines that
// programs wrote; and the frame around a memory's words.
// Promises: which lines an entry changes it tells itself, by what it says that it changes; a program cannot take its mark away, for
// it is set by what rows know; nothing in a memory can pass for the section around it, nor, of a repository's, for structure.

import { renderPrompt } from '../../base/prompt.ts';
import { distinctValues } from '../../rules/literals.ts';
import { contentWords, sharedPart } from '../../rules/words.ts';
import { lineId, locateLines, parseTopic } from '../text/topic.ts';
import type { RecallSource, UnsortedEntry } from './recall-source.ts';

/** An entry on its line. */
export function sayUnsorted(entry: UnsortedEntry): string {
  const { day, type, text, changes, isPrograms } = entry;
  return `- ${day} **${type}** ${isPrograms ? `${MARK} ` : ''}${text}${changes ? ` (instead of: ${changes})` : ''}\n`;
}

/** Entries that change a line, to stand before it. */
export function sayNewer(newer: { text: string; day: string }[]): string {
  return newer.map(({ text, day }) => `- Newer, ${day}: ${text}\n`).join('');
}

/** So much of the shorter of two texts stands in the other: then they say the same, or one what the other was. */
const SAYS_IT = 0.6;
/** And so much of what the line says that says it best: "staging" or "production" is then no small difference. */
const AS_WELL = 0.9;
/** Of so few words each counts: two are those for the thing, the third is what is said of it. */
const FEW = 3;

/** What an entry says that it changes, thing by thing, where it names several. */
export function partsOf(changes: string): string[] {
  const parts = changes.split(/;\s|(?<=[.!?])\s+(?=\p{Lu})/u).filter((part) => contentWords(part).size > 2);
  return parts.length > 1 ? parts : [changes];
}

/** By any line, the entries that say that they change it; `lines`: all among which they may find theirs. */
export function newerAmong<Each extends { changes?: string }>(
  lines: string[],
  entries: Each[],
): (line: string) => Each[] {
  const parts = entries.flatMap((entry) =>
    partsOf(entry.changes ?? '').map((text) => ({ entry, text, words: contentWords(text) })),
  );
  const named = parts.filter(({ words }) => words.size > 0);
  if (named.length === 0) return () => [];
  const known = new Map(lines.map((text) => [text, { text, words: contentWords(text) }]));
  const least = new Map(
    named.map((part) => [part, AS_WELL * Math.max(0, ...[...known.values()].map((line) => sameness(part, line)))]),
  );
  return (text) => {
    const line = known.get(text) ?? { text, words: contentWords(text) };
    const saying = named.filter((part) => sameness(part, line) >= Math.max(SAYS_IT, least.get(part) ?? 0));
    return [...new Set(saying.map(({ entry }) => entry))];
  };
}

interface Worded {
  text: string;
  words: Set<string>;
}

/** How much of the shorter text the other says; 0 where that is too little, or a value is another. */
function sameness(a: Worded, b: Worded): number {
  // One word of the one may be like two of the other: "entire" is in "entire" and "entiredb".
  const shared = Math.min(sharedPart(a.words, b.words), sharedPart(b.words, a.words));
  const needed = Math.min(a.words.size, b.words.size) > FEW ? SAYS_IT : 1;
  return shared >= needed && distinctValues(a.text, b.text) === null ? shared : 0;
}

// What programs wrote.

export const MARK = '[written by a program]';
export const ALL_BY_PROGRAM = 'written by a program';

const NOTES = {
  all: 'A program wrote this, not the user: take it as an agent’s word, which nobody checked.',
  some: `What is marked ${MARK} is not the user’s: take it as an agent’s word, which nobody checked.`,
};

const HEADINGS = /^ {0,3}#{1,6}[ \t].*$/gm;

export interface ProgramWords {
  /** Ids of the lines and headings, as they are shown. */
  ids: Set<string>;
  isDescription: boolean;
  isAll: boolean;
  note: string;
}

/** What programs wrote of a file; null for nothing. `shown`: its text without secrets, so that ids may be others; `programs`: theirs. */
export function wordsOfPrograms(
  shown: string,
  { path, text, programs }: { path: string; text: string; programs?: ReadonlySet<string> },
): ProgramWords | null {
  if (!programs) return null;
  const [was, is] = [idsOf(text), idsOf(shown)];
  const isSameNumber = was.length === is.length;
  const ids = new Set(is.filter((_, at) => !isSameNumber || programs.has(was[at] as string)));
  const isDescription = programs.has(lineId(parseTopic(path, text).description));
  if (ids.size === 0 && !isDescription) return null;
  const isAll = is.every((id) => ids.has(id)) && isDescription;
  return { ids, isDescription, isAll, note: isAll ? NOTES.all : NOTES.some };
}

/** The lines of the index that programs wrote, or that say of a topic what a program wrote of it. */
export async function indexWordsOfPrograms(index: string, source: RecallSource): Promise<Set<string>> {
  const lines = locateLines(index).map((line) => ({ ...line, ...DESCRIBED.exec(line.text)?.groups }) as IndexLine);
  const programs = await source.programLines(['MEMORY.md', ...lines.flatMap(({ path }) => path ?? [])]);
  const own = programs.get('MEMORY.md') ?? new Set();
  const ofTopic = ({ path = '', description = '' }: IndexLine) => {
    const those = programs.get(path);
    // What was cut cannot be told from the rest of it.
    return those !== undefined && (those.has(lineId(description)) || description.endsWith('…'));
  };
  const marked = lines.filter((line) => own.has(line.id) || ofTopic(line));
  return new Set([...marked.map(({ id }) => id), ...headingsIn(index).filter((id) => own.has(id))]);
}

const DESCRIBED = /^(?<description>.*) \[(?<path>[^[\]]+)\]$/;
type IndexLine = { id: string; description?: string; path?: string };

/** A text with the mark before each of these lines and headings; `before` stands above a line, in nocturne's own words. */
export function markPrograms(
  text: string,
  ids: Set<string> = new Set(),
  before: (line: string) => string = () => '',
): string {
  let out = '';
  let end = 0;
  for (const { id, text: said, from, to, marker, kind } of locateLines(text)) {
    out += withHeadings(text.slice(end, from), ids) + before(said) + marker;
    // In a fence the mark would be code.
    if (ids.has(id)) out += kind === 'fence' ? `${MARK}\n` : `${MARK} `;
    out += text.slice(from + marker.length, to);
    end = to;
  }
  return out + withHeadings(text.slice(end), ids);
}

function withHeadings(text: string, ids: Set<string>): string {
  if (ids.size === 0) return text;
  return text.replace(HEADINGS, (heading) =>
    ids.has(lineId(heading.trim())) ? heading.replace(/^ *#+[ \t]+/, `$&${MARK} `) : heading,
  );
}

function idsOf(text: string): string[] {
  return [...locateLines(text).map(({ id }) => id), ...headingsIn(text)];
}

/** The ids of the headings, with their marks. */
function headingsIn(text: string): string[] {
  return (text.match(HEADINGS) ?? []).map((heading) => lineId(heading.trim()));
}

// Around it.

/** The words around a body. */
export async function frameOf(name: string, dir: string, notes?: string): Promise<(body: string) => string> {
  const place = '\u0000';
  const { text } = await renderPrompt(name, {
    directory: disarmed(dir),
    body: place,
    ...(notes !== undefined && { notes }),
  });
  const [before = '', after = ''] = text.trimEnd().split(place);
  return (body) => before + body.trim() + after;
}

/** A body that can hold none of the tags that mean something to nocturne or to an agent. */
export function asContent(text: string, isFromRepository: boolean): string {
  const safe = disarmed(text);
  return (isFromRepository ? withoutStructure(safe) : safe).trimEnd();
}

function disarmed(text: string): string {
  return text.replaceAll('\u0000', '').replace(/<(?=\s*\/?\s*(?:nocturne-|private|system-reminder))/gi, '&lt;');
}

const TAG = String.raw`[<＜﹤](?=[ \t]{0,9}[/\\!?|]?[ \t]{0,9}`;
/** Tags between which models are told who speaks, and what is data, in one or another prompt. */
const STRUCTURE = new RegExp(
  String.raw`${TAG}(?:/|\||!\[CDATA|(?:anthropic|antml|system|transcript|human|user|assistant|developer|operator|person|tool|function|invoke|parameter|instructions?|prompt|context|documents?|memor(?:y|ies)|thinking|reasoning|messages?|conversation|excerpt|session|recalled|reminder|rules?|important|answer|results?|outputs?|inputs?|examples?|im_(?:start|end)|s|inst)(?![a-z])))`,
  'gi',
);
const BEGINS_WITH_TAG = new RegExp(String.raw`^[ \t>*+#|•–-]{0,40}(?:\d{1,3}[.)][ \t]{0,9})?${TAG}[\p{L}_])`, 'u');
const ANY_TAG = new RegExp(`${TAG}[\\p{L}_])`, 'gu');

/** The same where nobody here wrote it: no tag that a model could take for structure, and none at a line's start. */
function withoutStructure(text: string): string {
  const lines = text.split('\n').map((line) => (BEGINS_WITH_TAG.test(line) ? line.replace(ANY_TAG, '&lt;') : line));
  return lines.join('\n').replace(STRUCTURE, '&lt;');
}
