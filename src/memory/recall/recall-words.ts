// How recall words what it shows: entries that no night has sorted, put before the lines that they change; the marks of lines that
// programs wrote; and the frame around a memory's words.
// Promises: which lines an entry changes it tells itself, by what it says that it changes; a program cannot take its mark away, for
// it is set by what rows know; nothing in a memory can pass for the section around it, nor, of a repository's, for structure.

import { renderPrompt } from '../../base/prompt.ts';
import { distinctValues } from '../../rules/literals.ts';
import { contentWords, sharedPart } from '../../rules/words.ts';
import { lineId, locateLines, parseTopic } from '../text/topic.ts';
import type { KnownLine, RecallSource, UnsortedEntry } from './recall-source.ts';

/** An entry on its line. */
export function sayUnsorted(entry: UnsortedEntry): string {
  const { day, text, changes, isPrograms, found } = entry;
  if (found) return `- ${text} (found by the agent, ${day})\n`;
  const type = sayType(entry.type, entry.of);
  return `- ${day} **${type}** ${isPrograms ? `${MARK} ` : ''}${text}${changes ? ` (instead of: ${changes})` : ''}\n`;
}

/** A type as it is told; `whose`: whose rules these are, where it is told to somebody else. */
export function sayType(type: string, whose: string | null = null): string {
  return whose !== null && (type === 'feedback' || type === 'user') ? `${type} of ${whose}, not of this user` : type;
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

/** What is known of a text as it is shown. */
export interface ShownWords {
  /** By the id of a line or heading as it is shown. */
  lines: Map<string, KnownLine>;
  isDescriptionPrograms: boolean;
  /** A program wrote all of it. */
  isPrograms: boolean;
  /** Set where a program wrote some of it. */
  note: string;
}

/** `shown`: a text without secrets, so that the ids of its lines may be others; `known`: of those that it has. */
export function shownWords(
  shown: string,
  { path, text, known = new Map() }: { path: string; text: string; known?: ReadonlyMap<string, KnownLine> },
): ShownWords {
  const [was, is] = [idsOf(text), idsOf(shown)];
  const somePrograms = [...known.values()].find(({ isPrograms }) => isPrograms);
  const lines = new Map(
    is.flatMap((id, at) => {
      const line = was.length === is.length ? known.get(was[at] as string) : somePrograms;
      return line ? [[id, line] as const] : [];
    }),
  );
  const isOfProgram = (id: string) => lines.get(id)?.isPrograms ?? false;
  const isDescriptionPrograms = somePrograms !== undefined && isPrograms(known, parseTopic(path, text).description);
  const isAll = isDescriptionPrograms && is.every(isOfProgram);
  const note = isAll ? NOTES.all : isDescriptionPrograms || is.some(isOfProgram) ? NOTES.some : '';
  return { lines, isDescriptionPrograms, isPrograms: isAll, note };
}

function isPrograms(known: ReadonlyMap<string, KnownLine> | undefined, text: string): boolean {
  return known?.get(lineId(text))?.isPrograms ?? false;
}

/** The index with the mark before the lines that programs wrote, or that say of a topic what a program wrote of it. */
export async function withMarks(index: string, source: RecallSource): Promise<(part: string) => string> {
  const lines = locateLines(index).map((line) => ({ ...line, ...DESCRIBED.exec(line.text)?.groups }) as IndexLine);
  const known = await source.lines(['MEMORY.md', ...lines.flatMap(({ path }) => path ?? [])]);
  const isOwn = (id: string) => known.get('MEMORY.md')?.get(id)?.isPrograms ?? false;
  const ofTopic = ({ path = '', description = '' }: IndexLine) => {
    const those = known.get(path);
    // What was cut cannot be told from the rest of it.
    const isCut = description.endsWith('…') && [...(those?.values() ?? [])].some((line) => line.isPrograms);
    return isCut || isPrograms(those, description);
  };
  const ids = [
    ...lines.flatMap((line) => (isOwn(line.id) || ofTopic(line) ? line.id : [])),
    ...headingsIn(index).filter(isOwn),
  ];
  const marked = new Map(ids.map((id) => [id, { isPrograms: true, day: null }]));
  return (part) => (ids.length > 0 ? wordLines(part, marked) : part);
}

const DESCRIBED = /^(?<description>.*) \[(?<path>[^[\]]+)\]$/;
type IndexLine = { id: string; description?: string; path?: string };

/** A text with the mark before each line and heading of a program, and behind each other line its day; `before` stands above one. */
export function wordLines(
  text: string,
  known: Map<string, KnownLine>,
  before: (line: string) => string = () => '',
): string {
  let out = '';
  let end = 0;
  for (const { id, text: said, from, to, marker, kind } of locateLines(text)) {
    out += withHeadings(text.slice(end, from), known) + before(said) + marker;
    const line = known.get(id);
    // In a fence the mark would be code.
    if (line?.isPrograms) out += kind === 'fence' ? `${MARK}\n` : `${MARK} `;
    const raw = text.slice(from + marker.length, to);
    out += kind === 'fence' || /^[>|]/.test(raw) ? raw : raw.trimEnd() + sayDay(line) + raw.slice(raw.trimEnd().length);
    end = to;
  }
  return out + withHeadings(text.slice(end), known);
}

/** When a line was last said, to stand behind it. */
export function sayDay(line: KnownLine | undefined): string {
  return line?.day ? ` (${line.day})` : '';
}

/** The id of a line as it was before its day stood behind it. */
export function idWithoutDay(text: string): string {
  return lineId(text.replace(/ \(\d{4}-\d\d-\d\d\)$/, ''));
}

function withHeadings(text: string, known: Map<string, KnownLine>): string {
  return text.replace(HEADINGS, (heading) =>
    known.get(lineId(heading.trim()))?.isPrograms ? heading.replace(/^ *#+[ \t]+/, `$&${MARK} `) : heading,
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

// And what is told in it.

/** Where lines are told: those of an index only name them. */
const TOLD =
  /^## (?:Changed since the topics were written|Topics|Not sorted into topics yet|Found out by agents, said by nobody)\n\n([\s\S]*?)(?=^## |^<\/?nocturne-|(?![\s\S]))/gm;
/** What nocturne says itself among them; `Newer` says one twice. */
const OWN_WORDS = /^(?:> .*|\(cut here: read .*\)|### .*|- Newer, \d.*|<\/?nocturne-.*|# .*)$/gm;

/** How many lines of what is remembered a text tells. */
export function countLines(text: string): number {
  const told = [...text.matchAll(TOLD)].map(([, lines = '']) => lines.replace(OWN_WORDS, ''));
  return told.reduce((sum, lines) => sum + locateLines(`\n${lines}`).length, 0);
}
