// Which lines of a person's message someone else wrote: fences, quoted lines, tables, indented code, diffs, forwarded
// mails, lines of a chat, commands behind a shell's prompt, a paragraph that is said to be someone's, and a file or page
// that is announced and pasted bare. Told by form. What stands on a paste's last line behind the mark that closes it is the
// person's. A brief with headings and lists is its author's own; only where a person asks about what follows, or names it
// as a file, a heading begins a paste.

import { SENT } from './lexicon.ts';

/** Quoted, or copied from a chat or a log: `[11:28 AM]`, `[18/06/2026, 11:28:03]`. */
const QUOTED = /^\s*(?:>|&gt;|\[(?:[^\]\s]{1,12}\s)?\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AP]M)?\])/i;
/** What stands under the head of a table, whose rows follow. */
const TABLE_BEGINS = /^\s*\|[\s:|-]*-{3}[\s:|-]*$/;
/** Code without a fence, where it follows an empty line; a list may go on so. */
const INDENTED = /^(?: {4}|\t)\s*(?![-*+]\s|\d+[.)]\s)\S/;
const LIST_ITEM = /^\s*(?:[-*+]|\d+[.)])\s/;
/** Backticks on both sides are code within a line. */
const FENCE = /^\s*(`{3,}(?!`)(?![^`]*`)|~{3,})/;
/** A sentence between such marks is quoted; a command is named. */
const FENCED_SENTENCE = /^\s*`{3,}[^`]{40,}`{3,}/;
const FENCE_CLOSES = /^\s*(`{3,}|~{3,})/;
const TAG_BEGINS = /^\s*<([a-z][\w.-]*)(?:\s[^<>]*)?>/i;
const TAG_CLOSES = /<\/([a-z][\w.-]*)\s*>/gi;
const DIFF_BEGINS = /^\s*(?:diff --git |@@ -\d)/;
/** What a diff goes on with. */
const DIFF_GOES_ON =
  /^(?:[-+ @\\]|diff |index |new file|deleted file|old mode|new mode|similarity|rename |copy |Binary )|^$/;
/** A command as a terminal shows it; a bare `$` people write themselves. What it printed has no form. */
const AT_PROMPT =
  /^\s*(?:[❯➜]\s+\S|[\w.-]+@[\w.-]+ \S+ %\s+\S|[\w.-]+@[\w.-]+:[~/][^\s$#%]*\s?[$#%]\s+\S|PS [A-Z]:\\[^>]*>\s*\S)/;
/** The command goes on in the next line. */
const GOES_ON = /\s\\\s*$/;
/** Where someone else's words begin and go on to the end of the message. */
const FORWARDED =
  /^\s*(?:-{2,}\s*(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht|message d'origine|message transféré|mensaje original|mensagem original|messaggio originale|oorspronkelijk bericht|исходное сообщение|转发|轉寄|転送)|begin forwarded message|(?:from|von|de|da|van|od|от|发件人|寄件者|差出人|보낸 사람)\s*[:：]\s*\S.*|(?:on|am|le|el|il|op|em) .{4,80}\b(?:wrote|schrieb|a écrit|escribió|ha scritto|schreef|escreveu)\s*:|\[pasted text|-{2,}\s*content from referenced files)/i;

/** The words before the first mark of a line that closes a quotation. */
const QUOTATION_CLOSES = /^[^"]*[^\s"](?="(?:[\s.,;:!?)]|$))/;

const HEADING = /^\s{0,3}#{1,6}\s+\S/;
const FRONT_MATTER = /^---\s*$/;
const FILE_NAME = String.raw`[\w@./\\~-]*(?:\w\.[a-z]\w{0,9}|README|LICENSE|CHANGELOG|Makefile|Dockerfile)`;
/** The rest of such a line; a file's name may hold a full stop. */
const TAIL = String.raw`(?:[^:.!?\n]|\.(?=\S))`;
/** No line that announces something is longer. */
const MOST_CHARS = 200;
/** What a person says of their own words. */
const OWN = /\bmy (?:\w+ )?(?:comments?|reviews?|messages?|texts?|repl(?:y|ies)|responses?|posts?)\b/i;
/** A line that names what follows as something that was there before: `Here is the file README.md:`, `CI says:` */
const ANNOUNCED = [
  new RegExp(
    String.raw`^(?:ok(?:ay)?[,.]?\s+|so[,.]?\s+)?(?:(?:here|below|this|that|these|it)(?:['’]s|['’]re| is| are| comes| was)?|(?:i(?:['’]m| am)? )?(?:pasting|pasted|got|found|received)|see|attached(?: is)?|hier (?:ist|sind|kommt)|voici|aquí (?:está|tienes|va))\s+(?:(?:is|the|my|our|your|his|her|their|a|an|of|full|whole|entire|current|complete|raw|relevant|der|die|das|den|ein|eine|le|la|les|un|une|du|de|el|los|las|del)\s+)*(?:[\w-]+\s+){0,2}?(?:${SENT})\b${TAIL}{0,80}:\s*$`,
    'i',
  ),
  new RegExp(
    String.raw`^(?:ok(?:ay)?[,.]?\s+|so[,.]?\s+)?(?:here|below|this|see|attached|hier|voici|aquí)\b(?:\s+(?:is|are|ist|está|the|my|our|a|die|das|le|la|el)|['’]s)*\s+[\x60"']?${FILE_NAME}[\x60"']?${TAIL}{0,40}:\s*$`,
    'i',
  ),
  /^(?:the\s+|our\s+|my\s+|their\s+)?(?:contents?|text|output|inhalt|contenu|contenido)\s+(?:of|from|von|de)\b(?:[^:.!?\n]|\.(?=\S)){1,80}:\s*$/i,
  new RegExp(
    String.raw`^(?:(?:the|our|my|their|his|her)\s+)?(?:[\w-]+\s+){0,2}?(?:[\x60"']?${FILE_NAME}[\x60"']?|${SENT})\s+(?:now\s+|currently\s+)?(?:says?|reads?|contains?|shows?|printed|prints)\s*:\s*$`,
    'i',
  ),
  new RegExp(
    String.raw`\b(?:check|read|review|look at|explain|summari[sz]e|translate|proofread|answer)\s+(?:this|that|these|the following)\s+(?:[\w-]+\s+){0,2}?(?:${SENT})\s*:\s*$`,
    'i',
  ),
];
/** A line that says whose words the next paragraph is: `A coworker said this is related:`, `Mira wrote:` */
const TOLD = [
  new RegExp(
    String.raw`\b(?:(?:an?|my|our|the|another|one)\s+(?:[\w-]+\s+){0,2}?(?:co-?workers?|colleagues?|team-?mates?|customers?|clients?|users?|reviewers?|managers?|boss|friends?|maintainers?|contributors?|reporters?)|some(?:one|body))\s+(?:(?:just|also|already)\s+)?(?:said|says|wrote|writes|asked|asks|replied|replies|answered|commented|comments|posted|mentioned|suggested|sent)\b${TAIL}{0,60}:\s*$`,
    'i',
  ),
  new RegExp(
    String.raw`^(?!We\b)\p{Lu}\p{Ll}+(?:\s\p{Lu}\p{Ll}+)?\s(?:said|says|wrote|writes|asked|asks|replied|answered|commented)\b${TAIL}{0,60}:\s*$`,
    'u',
  ),
];
/** A line that asks about what follows it, where a document does. */
const ASKS_ABOUT =
  /\b(?:look at|look over|read|review|summari[sz]e|explain|translate|proofread|check|skim|what (?:do|does|is|are)|what it is about|tell me (?:what|about)|think of|make of|opinion|thoughts|lies|schau|fass|erklär|übersetze|résume|explique|lis |resume|explica|lee )\b/i;

/** A line that asks to read what the person wrote, to work by it. */
const BRIEFS =
  /\b(?:before (?:you|we|start|begin|cod|writ)\w*|carefully|all of (?:this|it)|everything|to the end|then (?:start|begin|build|implement|write)|follow|implement|my (?:notes|brief|plan|list|requirements)|the (?:brief|spec|requirements|task|rules))\b/i;

/** For each line where the words of its author begin: 0 for one they wrote, its length for one someone else did. */
export function typedFrom(lines: readonly string[]): number[] {
  const pasted = pastedLines(lines);
  return pasted.map((to, at) => (to === true ? (lines[at] as string).length : Number(to)));
}

/** Who works on which machine, as the prompts of a terminal say it: `kim@mill`; what may be a mail address is none. */
export function promptsIn(text: string): string[] {
  const lines = text.split('\n').filter((line) => AT_PROMPT.test(line));
  return lines.flatMap(
    (line) => /^[\w.-]+@[\w-]+(?:\.(?:\d+|local|lan|internal))*(?![\w.-])/.exec(line.trim())?.[0] ?? [],
  );
}

/** True for a whole line, a number for one that is the author's own from there on. */
function pastedLines(lines: readonly string[]): (boolean | number)[] {
  const pasted: (boolean | number)[] = [];
  const tagEnds = endsOfTags(lines);
  /** The last line that holds these marks anywhere: it closes a fence that no line of its own does. */
  const lastOf = (marks: string) => (lastMarks[marks] ??= lines.findLastIndex((line) => line.includes(marks)));
  const lastMarks: Record<string, number> = {};
  let taggedTo = -1;
  let fence: string | null = null;
  let isDiff = false;
  let isTable = false;
  let isCommand = false;
  let isTold = false;
  let isAfterCode = true;
  let isList = false;
  /** The last line of the author's own holds a quotation mark that opens and is not closed. */
  let isQuoting = false;
  let before = '';
  for (const [at, line] of lines.entries()) {
    const mark: string | undefined = (fence === null ? FENCE : FENCE_CLOSES).exec(line)?.[1];
    if (fence === null) taggedTo = Math.max(taggedTo, tagEnds[at] ?? -1);
    if (fence !== null) {
      const end = mark?.startsWith(fence) || at === lastOf(fence) ? endOfFence(line, fence) : null;
      if (mark?.startsWith(fence) || end !== null) fence = null;
      pasted.push(end ?? true);
    } else if (mark !== undefined) {
      fence = mark;
      pasted.push(true);
    } else if (begins(line, before, lines, at)) {
      while (pasted.length < lines.length) pasted.push(true);
      return pasted;
    } else {
      isDiff = DIFF_BEGINS.test(line) || (isDiff && DIFF_GOES_ON.test(line));
      isTable = TABLE_BEGINS.test(line) || (isTable && /^\s*\|/.test(line));
      isCommand = AT_PROMPT.test(line) || (isCommand && GOES_ON.test(lines[at - 1] ?? ''));
      isTold = line.trim() !== '' && (isTold || isAnnounced(before, TOLD));
      const isCode: boolean = isAfterCode && !isList && INDENTED.test(line);
      isAfterCode = isCode || line.trim() === '';
      if (LIST_ITEM.test(line)) isList = true;
      else if (/^\S/.test(line)) isList = false;
      const isPasted = isDiff || isTable || isCommand || isTold || isCode || at <= taggedTo || QUOTED.test(line);
      const closes: RegExpExecArray | null = isCode && isQuoting ? QUOTATION_CLOSES.exec(line) : null;
      if (line.trim() !== '' && (!isPasted || closes)) isQuoting = !closes && opensQuotation(line);
      if (closes) pasted.push(closes[0].length);
      else if (!isPasted && FENCED_SENTENCE.test(line)) pasted.push(FENCED_SENTENCE.exec(line)?.[0].length ?? 0);
      else pasted.push(at === taggedTo && !isCode && /^\s*</.test(line) ? endOfTag(line) : isPasted);
    }
    if (line.trim() !== '') before = line.trim();
  }
  return pasted;
}

/** Whether a quotation goes on after its line. */
function opensQuotation(line: string): boolean {
  const marks = line.split('"');
  return marks.length % 2 === 0 && /^$|[\s(]$/.test(marks.at(-2)?.slice(-1) ?? '') && /^\S/.test(marks.at(-1) ?? '');
}

/** Where the marks of a fence end that are followed by other words, or by nothing; null where they close nothing. */
function endOfFence(line: string, fence: string): number | null {
  const at = line.lastIndexOf(fence);
  const marks = at < 0 ? undefined : /^(?:`+|~+)(?=$|[\s.,;:!?)])/.exec(line.slice(at))?.[0];
  return marks === undefined ? null : at + marks.length;
}

/** Where the last closing tag of a line ends. */
function endOfTag(line: string): number {
  const closing = [...line.matchAll(TAG_CLOSES)].at(-1);
  return closing ? closing.index + closing[0].length : line.length;
}

/** For each line that begins with a tag the later line that closes it. */
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

/** Whether a line begins what goes on to the end; `before` is the last line above it that says anything. */
function begins(line: string, before: string, lines: readonly string[], at: number): boolean {
  if (line.trim() === '') return false;
  if (FORWARDED.test(line)) return true;
  // A fence or quoted lines show themselves where what is announced ends.
  if (before !== '' && !QUOTED.test(line) && isAnnounced(before)) return true;
  const isDocument = HEADING.test(line) || (FRONT_MATTER.test(line) && /^[\w-]+:/.test(lines[at + 1] ?? ''));
  return (
    isDocument &&
    ((ASKS_ABOUT.test(before) && !BRIEFS.test(before)) || isFileName(before) || (at === 0 && FRONT_MATTER.test(line)))
  );
}

function isAnnounced(line: string, forms = ANNOUNCED): boolean {
  if (!line.endsWith(':') || line.length > MOST_CHARS || OWN.test(line)) return false;
  // "What does this mean? Here is the output:"
  const sentence = line.split(/[.!?]\s+/).at(-1) ?? line;
  return forms.some((announced) => announced.test(line) || announced.test(sentence));
}

function isFileName(line: string): boolean {
  return line.length <= MOST_CHARS && new RegExp(String.raw`^[\x60"'*=\s-]*${FILE_NAME}[\x60"'*=\s-]*:?$`).test(line);
}

/** Part of a message: its lines, and whether someone else wrote them. */
interface Passage {
  text: string;
  isPasted: boolean;
}

/** The message in passages, which a line end apart make up the message again; a paste that ends in a line is cut there. */
export function passagesOf(message: string): Passage[] {
  const lines = message.split('\n');
  const from = typedFrom(lines);
  const cut = lines.flatMap((line, at) => {
    const to = from[at] ?? 0;
    const isMixed = to > 0 && line.slice(to).trim() !== '';
    return isMixed
      ? [
          { text: line.slice(0, to), isPasted: true },
          { text: line.slice(to), isPasted: false },
        ]
      : [{ text: line, isPasted: to > 0 }];
  });
  const passages: Passage[] = [];
  for (const { text: line, isPasted: isTheirs } of cut) {
    const last = passages.at(-1);
    // An empty line belongs to what is above it.
    const isPasted = line.trim() === '' && last ? last.isPasted : isTheirs;
    if (last && (last.isPasted === isPasted || last.text.trim() === '')) {
      last.isPasted = isPasted;
      last.text += `\n${line}`;
    } else passages.push({ text: line, isPasted });
  }
  return passages;
}
