// What of a message its person typed, told by form: not fences, quoted lines, tables, indented code, diffs, elements, mails,
// chats, what stands at a shell's prompt, names of pictures, long quotations, and what a line announces as someone else's.
// What stands behind the mark that ends a paste is the person's again. A brief with headings and lists is its author's.
// It errs on the side of refusing; a paste without any mark reads as typed.

import { withPlainTags } from './as-read.ts';
import { findRelativeDate, MAIL_FROM, PER, SAID, SAYS, SHOWS, TEXTS } from './languages.ts';

/** Quoted, or copied from a chat or a log: `> x`, `- > x`, `kim> x`, `[11:28 AM]`, `10:28:03 Kim:`, `[18/06/2026, 11:28:03]`. */
const QUOTED =
  /^\s*(?:(?:[-*+]|\d+[.)])\s+)?(?:[>＞]|&gt;|[\w-]{2,20}>\s|\[(?:[^\]\s]{1,12}\s)?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AP]M)?\]|(?:[\d./-]{6,10}[ ,T]+)?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AP]M)?\s+[-–<]?\s*\S{1,30}(?: \S{1,30})?[:>]\s)/i;
/** A sentence behind a bar; of a table what is short people write themselves. */
const BARRED = /^\s*[|｜│┃║▌¦].{20}/u;
/** What stands under the head of a table, whose rows follow. */
const TABLE_BEGINS = /^\s*\|[\s:|-]*-{3}[\s:|-]*$/;
/** Code without a fence, where it follows an empty line; a list may go on so. */
const INDENTED = /^(?: {4}|\t)\s*(?![-*+]\s|\d+[.)]\s)\S/;
const LIST_ITEM = /^\s*(?:[-*+]|\d+[.)])\s/;
/** Backticks on both sides are code within a line. */
const FENCE = /^\s*(`{3,}(?!`)(?![^`]*`)|~{3,})/;
/** A sentence between such marks is quoted; a command is named. */
const FENCED_SENTENCE = /^\s*`{3,}[^`]{40,}`{3,}/;
const TAG_BEGINS = /^\s*<([a-z][\w.-]*)(?:\s[^<>]*)?>/i;
const TAG_CLOSES = /<\/([a-z][\w.-]*)\s*>/gi;
const DIFF_BEGINS = /^\s*(?:diff --git |@@ -\d)/;
const DIFF_GOES_ON =
  /^(?:[-+ @\\]|diff |index |new file|deleted file|old mode|new mode|similarity|rename |copy |Binary )|^$/;
/** A command as a terminal shows it; a bare `$` people write themselves. What it printed has no form. */
const AT_PROMPT =
  /^\s*(?:[❯➜]\s+\S|[\w.-]+@[\w.-]+ \S+ %\s+\S|[\w.-]+@[\w.-]+:[~/][^\s$#%]*\s?[$#%]\s+\S|PS [A-Z]:\\[^>]*>\s*\S)/;
const FENCE_CLOSES = /^\s*(`{3,}|~{3,})/;
/** The words before the first mark of a line that closes a quotation. */
const QUOTATION_CLOSES = /^[^"]*[^\s"](?="(?:[\s.,;:!?)]|$))/;
const HEADING = /^\s{0,3}#{1,6}\s+\S/;
const FRONT_MATTER = /^---\s*$/;
const FILE_NAME = String.raw`[\w@./\\~-]*(?:\w\.[a-z]\w{0,9}|README|LICENSE|CHANGELOG|Makefile|Dockerfile)`;
const BARE_NAME = new RegExp(String.raw`^[\x60"'*=\s-]*${FILE_NAME}[\x60"'*=\s-]*:?$`);
/** The rest of such a line; a file's name may hold a full stop. */
const TAIL = String.raw`(?:[^:.!?\n]|\.(?=\S)){0,80}`;
/** Made where it is first asked, not at each start. */
function oneOf(...forms: string[]): Pick<RegExp, 'test'> {
  let made: RegExp | undefined;
  return {
    test(text) {
      made ??= new RegExp(forms.join('|'), 'iu');
      return made.test(text);
    },
  };
}

/** Where a mail begins that goes on to the end: its head, the line above an answered one, what parts it off; a model's marks. */
const MAIL = oneOf(
  String.raw`^\s*(?:${MAIL_FROM})\s*[:：]\s*\S`,
  String.raw`^(?=.*\d{4})(?=.*\d[:.]\d\d).{8,120}:\s*$|^(?=.*\d{4})(?=.*(?:@|${SAID})).{4,120}:\s*$`,
  String.raw`^\s*-{5,}\s*\p{L}.*\p{L}\s*-{5,}\s*$|^\s*(?:-{2,}\s*content from referenced files|begin forwarded message|\[pasted text|<\|)`,
);
const FILE = String.raw`[\x60"']?(?:${FILE_NAME}|${TEXTS})[\x60"']?`;
/** A line that names what follows as something that was there before: `Here is the file README.md:`, `CI says:` */
const ANNOUNCED = oneOf(
  String.raw`(?:${SHOWS})(?:['’]s|['’]re)?(?:\s+[^\s:]+){0,4}?\s+${FILE}${TAIL}:\s*$`,
  String.raw`^(?:the\s+)?(?:${TEXTS})\s+(?:of|from|von|de)\b${TAIL}:\s*$`,
  String.raw`^(?:\S+\s+){0,3}?${FILE}(?:\s+\w+)?\s+(?:${SAYS})\s*:\s*$`,
);
/** Not what the person says of themselves: `As I said:`. */
const SOMEONE = String.raw`^(?:(?:\S+\s+){1,5}?|\p{Lo}{1,12}?)(?<!\b(?:I|we|you|as|ich|wir|je|nous|yo)\s+)`;
/** A line that says whose words the next paragraph is, or the rest of it: `A coworker said this is related:`, `Mira wrote:` */
const TOLD = oneOf(String.raw`${SOMEONE}(?:(?:${SAID})${TAIL}|(?:${SAYS})\s*):\s*$`);
const TOLD_INLINE = oneOf(String.raw`${SOMEONE}(?:${SAID}|${SAYS})\s*[:：]\s*\S|^(?:${PER})\s[^:\n]{2,40}[:：]\s+\S`);
/** What a document says, to the end of its sentence. */
const DOCUMENT_SAYS = new RegExp(
  String.raw`(?:${FILE}(?:\s+[\w-]+)?\s+(?:(?:${SAYS})\b|steht\b|is:|line \d+:)|(?:^|(?<=[.!?]\s))(?:in der |in the )?(?:${PER})\s[^,:.!?\n]{2,40}[,:])[^\n]*?(?:[.!?](?=\s|$)|$)`,
  'gimu',
);
/** Points at the document that follows, where one does. */
const POINTS = oneOf(String.raw`(?:${TEXTS}|\bthis|\bthese)[\s\p{P}]*$`);
/** Above what someone said in a chat or a tracker, no sentence: a name with a time, a number or a subject. */
const SPEAKER_LINE = new RegExp(
  [
    String.raw`^[@\p{Lu}\p{Lo}].{0,40}\d{1,2}[:.]\d{2}(?:\s\p{L}+)?$`,
    String.raw`^(?:\p{Lu}\S* \p{Lu}\S*|@\S+|\p{Ll}+(?:[-_.]\w+)+) (?=.*\b\d{1,2}\b)\S+ ?(?:\S+ ){0,6}\S+ ?$`,
    String.raw`^\p{Lu}\S+ \p{Lu}\S+ \p{L}\S* ?(?:\p{L}\S* ){0,5}\p{L}\S* ?: \S+(?: \S+){0,2}$`,
    String.raw`^\p{Lo}[\p{Lo} ]{3,40}: \S{1,20}$`,
  ].join('|'),
  'u',
);
/** The head of a ticket, above a line of its fields. */
const TICKET = /^[A-Z][A-Z0-9]+-\d+ \S.{0,100}\n\p{L}[^:：\n]{1,20}\s?[:：]\s/u;
/** `Kim Lee: …`, `@kim: …`: someone's turn of a talk; one word may be a heading, unless it comes again. */
const TURN =
  /^(\*\*[^*]{1,30}\*\*|@[\w.-]+|me|user|human|assistant|\p{Lu}[\p{L}'’-]+(?: \p{Lu}[\p{L}.'’-]*){0,2}(?: \([^)]{1,30}\))?)\s?[:：](?:\*\*)?\s+\S/u;
const ROLE = /^(?:human|user|assistant|system|developer|ai|agent|claude|me)$/i;
/** No line that announces something is longer. */
const MOST_CHARS = 200;

/** How far someone else's words go: to which line, and to which character of it where more follows. */
type Foreign = { to: number; chars?: number };
/** Part of a message: its lines, and whether someone else wrote them. */
type Passage = { text: string; isPasted: boolean };

/** The message in passages, which a line end apart make up the message again; a paste that ends in a line is cut there. */
export function passagesOf(message: string): Passage[] {
  const lines = message.split('\n');
  const known = knownOf(lines);
  const passages: Passage[] = [];
  const add = (text: string, isTheirs: boolean) => {
    const last = passages.at(-1);
    // An empty line belongs to what is above it.
    const isPasted = text.trim() === '' && last ? last.isPasted : isTheirs;
    if (last && (last.isPasted === isPasted || last.text.trim() === '')) {
      last.isPasted = isPasted;
      last.text += `\n${text}`;
    } else passages.push({ text, isPasted });
  };
  let [before, isList] = ['', false];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string;
    const theirs = !isText(line) ? null : foreignAt(at, { ...known, before, isList });
    const { to = at, chars = Number.POSITIVE_INFINITY } = theirs ?? {};
    const last = lines[to] as string;
    const isMixed = isText(last.slice(chars));
    before =
      lines
        .slice(at, to + 1)
        .findLast(isText)
        ?.trim() ?? before;
    for (; at < to; at++) add(lines[at] as string, true);
    add(isMixed ? last.slice(0, chars) : last, theirs !== null);
    if (isMixed) add(last.slice(chars), false);
    isList = LIST_ITEM.test(line) || (isList && !/^\S/.test(line));
  }
  return passages;
}

const isText = (line: string) => line.trim() !== '';

/** Of a message: by line that begins with a tag the later one that closes it, turns of a talk, and where marks stand last. */
function knownOf(lines: readonly string[]) {
  const last = new Map<string, number>();
  /** It closes a fence that no line of its own does. */
  const lastOf = (marks: string) => {
    if (!last.has(marks))
      last.set(
        marks,
        lines.findLastIndex((line) => line.includes(marks)),
      );
    return last.get(marks);
  };
  return { lines, tagEnds: endsOfTags(lines), turns: turnsIn(lines), lastOf };
}

/** `before`: the last line above that says anything. */
type Around = ReturnType<typeof knownOf> & { before: string; isList: boolean };

/** Someone else's words that begin with this line; null where it is the author's. */
function foreignAt(at: number, around: Around): Foreign | null {
  const { lines, before, isList, tagEnds, turns } = around;
  const line = lines[at] as string;
  const end = lines.length - 1;
  const run = (goesOn: (next: string, previous: string) => boolean): Foreign => {
    let to = at;
    while (to < end && goesOn(lines[to + 1] as string, lines[to] as string)) to += 1;
    return { to };
  };
  const fence = FENCE.exec(line)?.[1];
  if (fence !== undefined) return fenceFrom(at, fence, around);
  if (MAIL.test(line) || TICKET.test(`${line}\n${lines[at + 1] ?? ''}`)) return { to: end };
  // A fence or quoted lines show themselves where what is announced ends.
  if (!QUOTED.test(line) && isAnnounced(before, ANNOUNCED)) return { to: end };
  const isPointedTo = at === 0 ? FRONT_MATTER.test(line) : pointsOn(before, line, !isText(lines[at - 1] as string));
  if (isDocument(line, lines[at + 1]) && isPointedTo) return { to: end };
  if (DIFF_BEGINS.test(line)) return run((next) => DIFF_BEGINS.test(next) || DIFF_GOES_ON.test(next));
  if (TABLE_BEGINS.test(line)) return run((next) => /^\s*\|/.test(next));
  if (AT_PROMPT.test(line)) return run((_, previous) => /\s\\\s*$/.test(previous));
  if (isAnnounced(before, TOLD) || isSpeakerLine(line, lines[at + 1])) return run(isText);
  const tagEnd = tagEnds[at];
  if (tagEnd !== undefined) return { to: tagEnd, chars: endOfTag(lines[tagEnd] as string) };
  if ((lines[at - 1] ?? '').trim() === '' && !isList && INDENTED.test(line)) {
    const { to } = run((next) => INDENTED.test(next));
    const closes = opensQuotation(before) ? QUOTATION_CLOSES.exec(lines[to] as string) : null;
    return { to, chars: closes?.[0].length };
  }
  if (QUOTED.test(line) || BARRED.test(line) || turns.has(at) || isAnnounced(line, TOLD_INLINE)) return { to: at };
  const chars = FENCED_SENTENCE.exec(line)?.[0].length;
  return chars === undefined ? null : { to: at, chars };
}

/** To the marks that end a fence on a line of their own, or to the last ones; other words may follow, or nothing. */
function fenceFrom(from: number, fence: string, { lines, lastOf }: Around): Foreign {
  for (let to = from + 1; to < lines.length; to++) {
    const line = lines[to] as string;
    const isOwnLine = FENCE_CLOSES.exec(line)?.[1]?.startsWith(fence);
    const at = isOwnLine || to === lastOf(fence) ? line.lastIndexOf(fence) : -1;
    const marks = at < 0 ? undefined : /^(?:`+|~+)(?=$|[\s.,;:!?)])/.exec(line.slice(at))?.[0];
    if (isOwnLine || marks) return { to, chars: marks === undefined ? undefined : at + marks.length };
  }
  return { to: lines.length - 1 };
}

/** The lines in which someone has a turn of a talk: two names in one, a role, or who speaks again. */
function turnsIn(lines: readonly string[]): Set<number> {
  const who = lines.map((line) => TURN.exec(line)?.[1]);
  const counts = new Map<string, number>();
  for (const name of who) if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
  const isTalk = who.some((name = '') => ROLE.test(name));
  const isTurn = (name = '') => isTalk || (counts.get(name) ?? 0) > 1 || /[ @*]/.test(name);
  return new Set(who.flatMap((name, at) => (name && isTurn(name) ? [at] : [])));
}

function isSpeakerLine(line: string, next = ''): boolean {
  if (line.length > MOST_CHARS / 2 || next.trim() === '' || /[.!?:。]$/.test(line.trim())) return false;
  const isNamed = /^\p{Lo}|^[\p{Lu}@].* [—–-] /u.test(line);
  return SPEAKER_LINE.test(line) || (isNamed && findRelativeDate(line) !== null);
}

/** Where the last closing tag of a line ends that begins with one. */
function endOfTag(line: string): number | undefined {
  const closing = /^\s*</.test(line) ? [...line.matchAll(TAG_CLOSES)].at(-1) : undefined;
  return closing && closing.index + closing[0].length;
}

function endsOfTags(lines: readonly string[]): (number | undefined)[] {
  const next = new Map<string, number>();
  const ends: (number | undefined)[] = [];
  for (let at = lines.length - 1; at >= 0; at--) {
    const line = lines[at] as string;
    const opened = TAG_BEGINS.exec(line)?.[1]?.toLowerCase();
    ends[at] = opened === undefined ? undefined : next.get(opened);
    for (const [, name = ''] of line.matchAll(TAG_CLOSES)) next.set(name.toLowerCase(), at);
  }
  return ends;
}

/** Whether a quotation goes on after its line. */
function opensQuotation(line: string): boolean {
  const marks = line.split('"');
  return marks.length % 2 === 0 && /^$|[\s(]$/.test(marks.at(-2)?.slice(-1) ?? '') && /^\S/.test(marks.at(-1) ?? '');
}

function isDocument(line: string, next = ''): boolean {
  return HEADING.test(line) || (FRONT_MATTER.test(line) && /^[\w-]+:/.test(next));
}

/** Whether a line points to the document that begins behind it; a brief of its author's begins with no title. */
function pointsOn(line: string, heading: string, isApart: boolean): boolean {
  const isThis = POINTS.test(line) || (/^\s*# /.test(heading) && /\b(?:this|these)\b/i.test(line));
  return line.length <= MOST_CHARS && (BARE_NAME.test(line) || (isApart && isThis));
}

function isAnnounced(line: string, form: Pick<RegExp, 'test'>): boolean {
  if (line.length > MOST_CHARS || !/[:：]/.test(line)) return false;
  // "What does this mean? Here is the output:"
  return form.test(line) || form.test(line.split(/[.!?]\s+/).at(-1) ?? line);
}

const ON_MACHINE = /^[\w.-]+@[\w-]+(?:\.(?:\d+|local|lan|internal))*(?![\w.-])/;

/** Who works on which machine, as the prompts of a terminal say it: `kim@mill`; what may be a mail address is none. */
export function promptsIn(text: string): string[] {
  const lines = text.split('\n').filter((line) => AT_PROMPT.test(line));
  return lines.flatMap((line) => ON_MACHINE.exec(line.trim())?.[0] ?? []);
}

/** The name of a picture, which whoever made it wrote. */
const PICTURE =
  /!\[[^\]\n]*\](?:\([^)\n]*\))?|\[(?:image|[^\]\n]*\.(?:png|jpe?g|gif|webp|svg|heic|bmp))\b[^\]\n]*\]|\([^()\n]*\.(?:png|jpe?g|gif|webp|svg|heic|bmp)\)/gi;
/** What stands behind escapes is not read as it stands. */
const ESCAPED = /(?<!\S)(?!\w+:\/\/)(?:[^\s%]*%[0-9a-f]{2}){3}\S*/gi;
/**
 * A person's message without what is someone else's in it. What is left stands as it stood, with a line end in each gap.
 */
export function ownWords(message: string): string {
  const passages = passagesOf(withoutTagged(withPlainTags(message)).replaceAll('\r\n', '\n'));
  const own = passages.map(({ text, isPasted }) => (isPasted ? '' : text)).join('\n');
  return withoutQuotations(own.replace(PICTURE, '\n').replace(ESCAPED, '\n')).replace(DOCUMENT_SAYS, '\n');
}

/** A quotation this long is someone's sentence, not a name or a word in quotation marks. */
const QUOTATION_CHARS = 20;
/** Over lines it is no longer than this. */
const MOST_OVER_LINES = 4_000;
const COMMENT = /<!--[\s\S]*?(?:-->|$)/g;
/** The first group is there where a line begins with it. */
const TAG = /(?<=(^)[ \t]*|)<(\/?)(\p{L}[\p{L}\p{N}_.-]*)(?:\s[^<>]*)?>/gmu;
/** In marks of one kind, which what is quoted does not hold; in those of code a whole sentence. */
const QUOTATIONS = [
  /(?<![\p{L}\p{N}])'([^'\n]{20,})'(?![\p{L}\p{N}])/gu,
  /`(\p{Lu}[^`\n]*[.!?])`/gu,
  /“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»|»([^«»]*)«|「([^「」]*)」|『([^『』]*)』|‘([^‘’]*)’/g,
];

/** Without its quotations, in the marks of several languages; a word or a name in marks stays. */
function withoutQuotations(text: string): string {
  const unless = (whole: string) => (isQuotation(whole.slice(1, -1)) ? '\n' : whole);
  return QUOTATIONS.reduce((left, marks) => left.replace(marks, unless), withoutStraightQuotations(text));
}

/**
 * Without comments, and without the parts between tags; one that is never closed is a tag where a line begins with it, else
 * a word in pointed brackets.
 */
function withoutTagged(whole: string): string {
  const text = whole.replace(COMMENT, '\n');
  /** By name, where the next closing tag ends; and by opening tag, where its own does. */
  const next = new Map<string, number>();
  const parts: { from: number; to: number }[] = [];
  for (const tag of [...text.matchAll(TAG)].reverse()) {
    const [opened, begin, slash, name = ''] = tag;
    const end = next.get(name.toLowerCase());
    if (slash) next.set(name.toLowerCase(), tag.index + opened.length);
    else if (end !== undefined || begin !== undefined) parts.push({ from: tag.index, to: end ?? text.length });
  }
  let [kept, from] = ['', 0];
  for (const part of parts.reverse()) {
    if (part.from < from) continue;
    kept += `${text.slice(from, part.from)}\n`;
    from = part.to;
  }
  return kept + text.slice(from);
}

/**
 * Without what stands between straight marks: on one line any two, over lines where the first can open and the second can
 * close. What stands between a mark that closes an earlier line's quotation and one that opens the next was not quoted.
 */
function withoutStraightQuotations(text: string): string {
  let [kept, from, isOpen] = ['', 0, false];
  for (let at = text.indexOf('"'), end = 0; at >= 0; ) {
    end = text.indexOf('"', at + 1);
    if (end < 0) break;
    const said = text.slice(at + 1, end);
    const isPair: boolean = said.includes('\n')
      ? said.length <= MOST_OVER_LINES && canOpen(text, at) && !/^[\p{L}\p{N}]/u.test(text.slice(end + 1, end + 3))
      : said !== '' && !(isOpen && closes(text, at) && canOpen(text, end) && /\S/.test(text[end + 1] ?? ''));
    if (isPair && isQuotation(said)) {
      kept += `${text.slice(from, at)}\n`;
      from = end + 1;
    }
    isOpen = !isPair && said !== '' && !isOpen;
    at = isPair ? text.indexOf('"', end + 1) : end;
  }
  return kept + text.slice(from);
}

const canOpen = (text: string, at: number) => at === 0 || /[\s(]/.test(text[at - 1] as string);
const closes = (text: string, at: number) => !canOpen(text, at) && /\s/.test(text[at + 1] ?? ' ');

function isQuotation(said: string): boolean {
  const isJoined = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u.test(said);
  const isLong = said.length * (isJoined ? 3 : 1) >= QUOTATION_CHARS;
  return isLong && (isJoined || /\s/.test(said.trim()));
}
