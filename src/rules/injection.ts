// Texts that speak to an agent, and words of other people in a person's message. What code can tell of them, it tells
// by form: commands to an agent in several languages, also hidden in look-alike letters, unseen characters or base64;
// quotations, pasted mails, fences and tags. It errs on the side of refusing; it cannot know what a sentence means.

import { asSeen } from '../base/text/wording.ts';
import { ORDERS } from './lexicon.ts';
import { promptsIn, typedFrom } from './pasted.ts';

/** The tags that nocturne itself puts around data, and those that pass for a system's. */
const WRAPPER = String.raw`<\s*\/?\s*(?:entries|withdrawn|topics|others|sessions?|excerpt|known|index|pending|operator_instructions|nocturne-[a-z]+|system(?:-reminder)?|instructions|recalled)\b`;

/** Whether a text holds a tag that could pass for one of nocturne's or of a system. */
export function hasWrapperTag(text: string): boolean {
  return new RegExp(`${WRAPPER}[^<]*>`, 'i').test(plain(text));
}

/** Text with the `<` of each tag of nocturne's or a system's replaced by one that begins none; all else as it stands. */
export function withoutTagLines(text: string): string {
  return text.replace(new RegExp(WRAPPER, 'gi'), (tag) => `‹${tag.slice(1)}`);
}

/** The reverse: what a model copied of such a text, as it was said. */
export function withTags(text: string): string {
  return text.replace(new RegExp(WRAPPER.replace('<', '‹'), 'gi'), (tag) => `<${tag.slice(1)}`);
}

const PERSON = '(?:users?|humans?|operators?|owners?|customers?|clients?|developers?|maintainers?|person)';
const SAYS =
  '(?:wants?|wanted|prefers?|preferred|likes?|said|says|states|stated|asks?|asked|tells|told|requires?|required|requests?|requested|insists?|insisted|decides|decided|approves?|approved|confirms?|confirmed|needs|expects?|instructs?|instructed|demands?|wishes|agrees?|agreed|authori[sz]e[sd]?|permits?|allows?|has|would like|is (?:okay|ok|fine|happy)|always|never)';
/** A text in whose form someone is said to say something. */
const CLAIMS = [
  new RegExp(String.raw`\b(?:the|this|our|my|your)\s+${PERSON}\s+(?:\w+\s+){0,2}?${SAYS}\b`, 'i'),
  new RegExp(
    String.raw`\b(?:the|this|our|my|your)\s+${PERSON}['’]s?\s+(?:\w+\s+){0,2}?(?:wish|preference|rule|request|instruction|order|decision|demand|approval|permission|will|want|word)\w*`,
    'i',
  ),
  new RegExp(
    String.raw`\b(?:as (?:requested|asked|wanted|decided|approved|said) by|according to|at the request of|on behalf of|by order of|per|(?:wishes|preferences?|rules?|requests?|instructions?|orders?|decisions?|words?) (?:of|from))\s+(?:the|this|our|my)\s+${PERSON}\b`,
    'i',
  ),
  /(?:^|[\s|>*#"'([])(?:Human|User|HUMAN|USER|Assistant|ASSISTANT|System|SYSTEM|Developer|DEVELOPER)\s*(?:\([^)]*\)|\[[^\]]*\])?\s*[\]*_]*\s*[:：]/,
  /^[^\S\n]*(?:human|user|assistant|system|developer)\s*[:：]/imu,
  /<\s*\/?\s*(?:human|user|assistant|system|developer|person)(?:[-_ ]?(?:message|turn|prompt|input|says))?\b[^<>]*>|\[(?:human|user|system|assistant)\]|<\|(?:im_start|user|human|start_header_id)/i,
];

/** The words by which a text claims that a person says or wants something; null where it claims nothing. */
export function claimsSpeaker(text: string): string | null {
  const seen = [text, ...decoded(text)].map((each) => each.split(/\r?\n/).map(plain).join('\n'));
  for (const each of seen) {
    for (const claim of CLAIMS) {
      const [found] = claim.exec(each) ?? [];
      if (found !== undefined) return found.trim();
    }
  }
  return null;
}

const MEMORY = '(?:memor(?:y|ies|y\\.md)|notes?)';

/** In other languages than English. */
const elsewhere = Object.values(ORDERS);

/** What only someone says who wants an agent to do or to believe something. */
const COMMANDS = [
  // Take no notice of what you were told.
  /\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:previous|prior|above|earlier|all|any|your|these|other|existing)\b.{0,40}\b(?:instruction|rule|prompt|guideline|constraint|polic|message|memor|thing|polici)/i,
  /\bignore\b.{0,60}\binstructions?\b/i,
  // Keep this.
  /^(?:\W|please|agent|assistant|claude|ai|hey|note|important|important:|system)*\b(?:remember|memori[sz]e|record|store|save|note down|keep in mind)\b\s*(?:this|that|the following|to\b|:|in\b|as\b|for\b|permanently|forever)/i,
  new RegExp(
    `\\b(?:add|write|save|store|record|put|append|commit|update)\\b.{0,60}\\b(?:to|in|into|as|your)\\b.{0,20}\\b${MEMORY}`,
    'iu',
  ),
  // Take away what is kept.
  new RegExp(
    `\\b(?:delete|erase|wipe|clear|remove|purge|overwrite|reset|drop|retire|supersede)\\b.{0,60}\\b(?:${MEMORY}|entries|entry|topics?|rules)(?![\\p{L}])`,
    'iu',
  ),
  // Who you are, what you have to do.
  /\byou (?:are now|must|should always|shall|have to|will now|need to always)\b|\byour (?:new|real|only|true) (?:task|goal|instructions?|role|rules?|purpose)\b/i,
  /\bfrom now on\b/i,
  /\b(?:new|updated|system|hidden|secret|developer) (?:instructions?|prompt|directive|override|message)\b|\bsystem\s*:|\[(?:system|inst)\]|<\|(?:im_start|system)/i,
  /\b(?:do not|don't|never) (?:tell|inform|mention\w*|reveal|show|ask|alert|warn)\b.{0,40}\b(?:user|human|anyone|person|developer|them|operator)\b/i,
  /\b(?:without|no need for) (?:asking|confirmation|approval|telling)\b/i,
  /\b(?:the )?(?:ai|agents?|assistants?|llms?|claude|copilot|bots?|language models?|coding agents?|models? reading)\b.{0,30}\b(?:must|should|shall|have to|need to|are required to|always|never|please)\b/i,
  /^\W*(?:always|never|must)(?![\p{L}])/iu,
  new RegExp(`(?<!\\p{Ll})(?:${elsewhere.map(({ said }) => said).join('|')})`, 'iu'),
  new RegExp(`^\\W*(?:${elsewhere.flatMap(({ begins = [] }) => begins).join('|')})`, 'iu'),
];

/** Whether a text, as it is or decoded, tells an agent what to do, to keep or to forget. */
export function speaksToAgent(text: string): boolean {
  return [text, ...decoded(text)].some((each) => {
    const seen = plain(each);
    return COMMANDS.some((command) => command.test(seen) || command.test(seen.replace(/["'“”‘’«»*_`]/g, '')));
  });
}

/** A text as a reader takes it, with what it holds in base64 behind it. */
export function asRead(text: string): string {
  return [text, ...decoded(text)].map(plain).join('\n');
}

/** What a text holds that is not seen as words: in base64, in tag characters, behind escapes. */
function decoded(text: string): string[] {
  const blobs = asSeen(text).match(/[A-Za-z0-9+/_-]{16,}={0,2}/g) ?? [];
  const said = blobs
    .map((blob) => Buffer.from(blob, 'base64').toString('utf8'))
    .filter((words) => !words.includes('\uFFFD') && !/[\p{Cc}]/u.test(words.replace(/\s/g, ' ')));
  const unescaped = text.replace(ESCAPE, (whole, ...codes: unknown[]) => {
    const [decimal, ...hex] = codes.slice(0, 3) as (string | undefined)[];
    const code = decimal ? Number(decimal) : Number.parseInt(hex.find(Boolean) ?? '', 16);
    return code > 0 && code < 0x11_0000 ? String.fromCodePoint(code) : whole;
  });
  if (unescaped !== text) said.push(unescaped);
  // Not spread into one call: a text may hold more of them than a call takes arguments.
  const tags = text.match(/[\u{e0020}-\u{e007e}]/gu) ?? [];
  const hidden = tags.map((tag) => String.fromCodePoint((tag.codePointAt(0) ?? 0) - 0xe0000)).join('');
  return hidden === '' ? said : [...said, hidden];
}

/** Of HTML, of URLs, of JSON and of programs. */
const ESCAPE = /&#(\d{1,7});|&#x([0-9a-f]{1,6});|(?:%|\\x|\\u00|\\u\{)([0-9a-f]{2})\}?/gi;

/** Letters of other scripts that look like Latin ones, in words that mix them: each with the one it looks like. */
const LOOKALIKES = new Map(
  `аa еe оo рp сc уy хx іi јj ѕs ԁd ɡg һh кk мm тt вb нh АA ВB ЕE КK МM НH ОO РP СC
  ТT ХX ІI αa οo εe ιi νv ρp τt υu κk ΑA ΒB ΕE ΙI ΟO ΡP ոn սu ցg օo ıi ɩi`
    .split(/\s+/)
    .map(([letter = '', latin = '']) => [letter, latin]),
);

/** The text as a reader sees it: full-width and styled letters as plain ones, look-alikes of a mixed word as Latin. */
function plain(text: string): string {
  // Strokes through letters, and rings around them.
  const seen = asSeen(text.normalize('NFD').replace(/[\u0334-\u0338\u20d0-\u20f0]/g, '')).normalize('NFKC');
  return seen.replace(/[\p{L}\p{M}]+/gu, (word) => {
    if (!/\p{sc=Latin}/u.test(word) || !/[^\p{sc=Latin}\p{sc=Zinh}]/u.test(word)) return word;
    return [...word].map((letter) => LOOKALIKES.get(letter) ?? letter).join('');
  });
}

const TAG = /<(\/?)([a-z][\w.-]*)(?:\s[^<>]*)?>/gi;
/** A quotation this long is someone's sentence, not a name or a word in quotation marks. */
const QUOTATION_CHARS = 20;
/** Over lines it is no longer than this. */
const MOST_OVER_LINES = 4_000;
const SINGLE_QUOTATION = /(?<![\p{L}\p{N}])'([^'\n]{20,})'(?![\p{L}\p{N}])/gu;
/** In code, a whole sentence. */
const CODE_QUOTATION = /`(\p{Lu}[^`\n]*[.!?])`/gu;
/** What opens a quotation, and what may close it. */
const QUOTATION_MARKS = ['“”', '„“”', '«»', '»«', '「」', '『』', '‘’'];

/**
 * A person's message without what is someone else's in it: quotations, tagged parts, and the lines that they pasted
 * (pasted.ts). What is left stands as it stood, with a line end in each gap.
 */
export function ownWords(message: string): string {
  const lines = withoutTagged(withoutComments(message)).split(/\r?\n/);
  const from = typedFrom(lines);
  const own = lines.map((line, at) => line.slice(from[at]));
  const unmarked = [SINGLE_QUOTATION, CODE_QUOTATION].reduce(
    (text, quotation) => text.replace(quotation, (whole, said: string) => (isQuotation(said) ? '\n' : whole)),
    withoutStraightQuotations(own.join('\n')),
  );
  return QUOTATION_MARKS.reduce(withoutQuotations, unmarked);
}

/** The same, and the names in the prompts of a terminal that they pasted: nobody made them up. */
export function ownValues(message: string): string {
  return [ownWords(message), ...promptsIn(message)].join('\n');
}

/** Without comments of HTML; one that is never closed goes on to the end. */
function withoutComments(text: string): string {
  const [first = '', ...rest] = text.split('<!--');
  return rest.reduce((kept, part) => {
    const end = part.indexOf('-->');
    return end < 0 ? kept : `${kept}\n${part.slice(end + 3)}`;
  }, first);
}

/**
 * Without the parts between tags; one that is never closed is a tag where a line begins with it, else a word in pointed
 * brackets.
 */
function withoutTagged(text: string): string {
  const tags = [...text.matchAll(TAG)];
  /** By name, where the next closing tag ends; by opening tag, where its own does. */
  const next = new Map<string, number>();
  const endOf = new Map<RegExpExecArray, number | undefined>();
  for (const tag of tags.toReversed()) {
    const [whole, slash, name = ''] = tag;
    if (slash) next.set(name.toLowerCase(), tag.index + whole.length);
    else endOf.set(tag, next.get(name.toLowerCase()));
  }
  let kept = '';
  let from = 0;
  for (const [tag, end] of endOf.entries().toArray().reverse()) {
    if (tag.index < from || (end === undefined && !beginsLine(text, tag.index))) continue;
    kept += `${text.slice(from, tag.index)}\n`;
    from = end ?? text.length;
  }
  return kept + text.slice(from);
}

function beginsLine(text: string, at: number): boolean {
  let begin = at;
  while (text[begin - 1] === ' ' || text[begin - 1] === '\t') begin -= 1;
  return begin === 0 || text[begin - 1] === '\n';
}

/**
 * Without what stands between straight marks: on one line any two, over lines where the first can open and the second can
 * close. What stands between a mark that closes an earlier line's quotation and one that opens the next was not quoted.
 */
function withoutStraightQuotations(text: string): string {
  let kept = '';
  let from = 0;
  let isOpen = false;
  for (let at = text.indexOf('"'); at >= 0; ) {
    const end = text.indexOf('"', at + 1);
    if (end < 0) break;
    const said = text.slice(at + 1, end);
    const isPair: boolean = said.includes('\n')
      ? said.length <= MOST_OVER_LINES && canOpen(text, at) && canClose(text, end)
      : said !== '' && !(isOpen && closes(text, at) && opens(text, end));
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
const canClose = (text: string, at: number) => !/^[\p{L}\p{N}]/u.test(text.slice(at + 1, at + 3));
const opens = (text: string, at: number) => canOpen(text, at) && /\S/.test(text[at + 1] ?? '');
const closes = (text: string, at: number) => !canOpen(text, at) && /\s/.test(text[at + 1] ?? ' ');

/** Not by a pattern, which looks through the rest of the text for each mark that nothing closes. */
function withoutQuotations(text: string, marks: string): string {
  const [opening = '', ...closing] = marks;
  const endings = closing.map((mark) => ({ mark, at: -1 }));
  let kept = '';
  let from = 0;
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at)) {
    for (const ending of endings) {
      // Too far back: it is looked for anew; nowhere: it stays so.
      if (ending.at <= at) ending.at = text.indexOf(ending.mark, at + 1);
      if (ending.at < 0) ending.at = text.length;
    }
    const end = Math.min(...endings.map((ending) => ending.at));
    if (end === text.length) break;
    const said = text.slice(at + 1, end);
    if (isQuotation(said)) {
      kept += `${text.slice(from, at)}\n`;
      from = end + 1;
    }
    at = said === '' ? at + 1 : end + 1;
  }
  return kept + text.slice(from);
}

function isQuotation(said: string): boolean {
  const length = /\p{sc=Han}|\p{sc=Hiragana}|\p{sc=Katakana}|\p{sc=Hangul}/u.test(said) ? said.length * 3 : said.length;
  return length >= QUOTATION_CHARS && (/\s/.test(said.trim()) || length !== said.length);
}
