// What is given to a name: a password, a token or a key, as code, settings, markup, SQL and people write it. A name is found
// first, then how a value follows it: by a row of GAPS in what programs read, by SAID in sentences; what the value must be like is
// judged last (values.ts).
// Every pattern is linear: what it repeats is bounded or can be split in one way only, so no text can make it slow.

import own from './own-rules.json' with { type: 'json' };
import { type Found, isShuffled, needlesOf, PLACEHOLDER, type Span, scan } from './rule.ts';
import { cellsBelow } from './tables.ts';
import { CURSOR, isGiven, type Kind, type Way } from './values.ts';
import { withNextLines } from './vendors.ts';

/** What secrets are called, by languages; each is looked for where the letters stand with which it begins. */
const NAMES = needlesOf(() =>
  own.names.flatMap(({ kind, names, isWord = false }) =>
    (names.match(/(?:\((?:[^()]|\([^()]*\))*\)|[^|])+/g) ?? []).map(
      (name) => [beginOf(name), { kind: kind as Kind, isWord, pattern: new RegExp(name, 'y') }] as const,
    ),
  ),
);

/** The letters with which a name begins, as long as they are sure. */
function beginOf(name: string): string {
  const letters = /^[^()[\]\\.?*+]+/.exec(name)?.[0] ?? '';
  return /^[?*]/.test(name.slice(letters.length)) ? letters.slice(0, -1) : letters;
}

/** What a name may go on with and still name a secret: `DB_PASSWORD_PROD`, `secret_key_base`, `пароль1`. */
const MORE = /(?:s|en|si|es)?(?:[ _-]?\d{1,2}(?![\w.]))?(?:[_-][A-Za-z\d]{1,24}){0,3}/iy;
const HARMLESS_MORE =
  /file|path|commit|checksum|hash|digest|len|min|max|policy|reset|ur[il]|name|id$|type|ttl|expir|hint|label|placeholder|field|input|regex|pattern|manager|service|provider|encoder|count|limit|error|required|enabled|confirm|ref|timeout|encryption|algo|size|version|prefix|format|stdin|public/i;

/** How a value follows a name in what programs read: a row each; `«NAME»` is a part of several. */
const GAPS = own.gaps.map(({ way, pattern, far = false }) => ({
  way: way as Way,
  far,
  gap: new RegExp(
    pattern.replace(/«([A-Z]+)»/g, (_, part) => own.parts[part as keyof typeof own.parts]),
    'y',
  ),
}));
/** What stands behind a name where a row that looks further may find something. */
const FAR = /[<>(]|\|\||\?\?|\bor\b|alue|efault|string|plain|text|content|;s:|[ \t]--?b/;
/** After a flag, or where a line is only a name and its value. */
const SPACE = /["']?[ \t]{1,20}(?:[057][ \t]|<\((?:echo|printf)[ \t])?/y;
const IS_FLAG = /(?:^|[\s"'])--?[\w-]*$/;
const IS_SETTING =
  /^[ \t>|+\d:]*(?:(?:set\w*|env|arg|export|aws configure set|-\w+|static|#?define)[ \t]+)*(?:.*[ \t](?:config|set)[ \t]+\S*|.*[ \t](?:login|user|username|account|privilege)[ \t]+\S+[ \t]+)?[\w.-]*$/i;

/** What leads to a value in a sentence: a word, an arrow, a colon. In lower case. */
const WORDS = `is|was|are|be|remains|to|as|ist|war|sei|sind|lautet|heißt|wird|nun|jetzt|c'est|it's|that's|from|von|est|sera|maintenant|es|será|son|com[eo]|é|è|sarà|sono|wordt|nu|är|er|je|jest|это|как|теперь|такой|olarak|on|este|είναι|là|है|هي|now|still|again|stands?|set|changed|value|but`;
const SAID = new RegExp(
  String.raw`[ \t](?:${WORDS}|a|in|auf|na|на|para|with)(?::?[ \t](?:${WORDS})){0,2}:?[ \t]|[ \t]{0,3}(?:[:=]|[-~]>|=>|>>?|➜|👉|→|—|–|,|\(|-{1,2}(?= ))[ \t\u00a0]{0,9}(?:\n\s{0,20}(?:\x60\x60\x60\w{0,10}\n[ \t]{0,9})?)?|(?:[はをが是为為]|成了?|[은는을를이가])[ \t]?`,
  'g',
);
const QUOTED =
  /(?:"(?<double>[^"\n]{1,4000})(?="|$)|'(?<single>[^'\n]{1,4000})(?='|$)|`(?<tick>[^`\n]{1,4000})(?=`|$)|“(?<curly>[^”\n]{1,400})|„(?<low>[^“”\n]{1,400})|«[ \u00a0\u202f]?(?<angle>[^»\n]{1,400}?)(?=[ \u00a0\u202f]?»)|「(?<corner>[^」\n]{1,400}))/y;
const BARE = /[^\s"'`“”„«»「」]{1,120}/y;
const REST = /[^\s"'`“”„«»「」,;]{1,4000}/y;

interface Name {
  kind: Kind;
  name: string;
  start: number;
  end: number;
  before: string;
  /** Where the next one stands: what is said of this one ends there. */
  next: number;
}

export function findNamed(text: string, lower: string): Found[] {
  const names: Name[] = [];
  scan(NAMES, lower, (asked, at) => {
    const name = at < (names.at(-1)?.end ?? 0) ? undefined : nameAt(text, lower, at, asked);
    if (name !== undefined) names.push(name);
  });
  for (let at = names.length - 1, next = text.length; at >= 0; at--) {
    const name = names[at] as Name;
    name.next = next;
    if (name.kind !== 'key') next = name.start;
  }
  const found: Found[] = [];
  let done = 0;
  let tabled = 0;
  let taken = text.indexOf(PLACEHOLDER);
  for (const name of names) {
    if (name.start < done) continue;
    while (taken >= 0 && taken < name.end) taken = text.indexOf(PLACEHOLDER, taken + 1);
    // What it was given was taken out before.
    if (taken >= 0 && taken - name.end < TAKEN_BEHIND && !text.slice(name.end, taken).includes('\n')) continue;
    const value = structured(text, name) ?? said(text, lower, name) ?? saidBefore(name);
    if (value !== undefined) {
      found.push({ rule: 'assignment', ...value });
      done = value.end;
    } else if (name.start >= tabled && name.kind !== 'key') {
      const { cells, end } = cellsBelow(text, name.start);
      tabled = end;
      const own = {
        ...name,
        kind: name.kind === 'secret' ? 'password' : name.kind,
        way: 'beside',
        joint: '',
      } as const;
      for (const cell of cells) {
        const below = cell.end - cell.start > 200 ? undefined : valueAt(text, cell.start, own, cell.end);
        if (below) found.push({ rule: 'assignment', ...below });
      }
    }
  }
  return found;
}

const TAKEN_BEHIND = 12;

function nameAt(
  text: string,
  lower: string,
  at: number,
  { kind, isWord, pattern }: { kind: Kind; isWord: boolean; pattern: RegExp },
): Name | undefined {
  pattern.lastIndex = at;
  if (!pattern.test(lower)) return undefined;
  const end = pattern.lastIndex;
  if (isWord && !standsAlone(text, at, end, kind)) return undefined;
  // What a test of Go's says.
  if (text.startsWith('PASS:', at) && text.startsWith('--- ', at - 4)) return undefined;
  const line = text.slice(Math.max(0, at - 160), at);
  return { kind, name: text.slice(at, end), start: at, end, before: line.slice(line.lastIndexOf('\n') + 1), next: 0 };
}

const PIN_OF =
  /^ (?:for|of|to) (?:[a-z']{1,6} )?(?:[\w-]{1,14} )?(?:card|sim|phone|door|safe|bank|alarm|account|app|tablet|laptop)\b/i;

function standsAlone(text: string, at: number, end: number, kind: Kind): boolean {
  const before = text[at - 1] ?? ' ';
  const isBegun = !/[\p{L}\d]/u.test(before) || (/[a-z\d]/.test(before) && /[A-Z]/.test(text[at] as string));
  // Of chips and boards there are pins in lower case, too.
  const isOurs = () =>
    /\b(?:my|your|his|her|our|card|sim|phone|door|bank|alarm|device|voicemail|(?:un)?lock|ledger|nano|trezor|wallet|atm|visa|el|il|o|code|user|[a-z]'s)[ -]$|["']$/i.test(
      text.slice(Math.max(0, at - 14), at),
    ) || PIN_OF.test(text.slice(end, end + 40));
  if (kind === 'pin' && !/[_-]/.test(before) && text[at] !== text[at]?.toUpperCase() && !isOurs()) return false;
  return (isBegun || kind === 'key') && !/\p{L}/u.test(text[end] ?? ' ');
}

function structured(text: string, name: Name): Span | undefined {
  MORE.lastIndex = name.end;
  const more = MORE.exec(text)?.[0] ?? '';
  if (HARMLESS_MORE.test(more)) return undefined;
  const end = name.end + more.length;
  if (/[\p{L}\d]/u.test(text[end] ?? ' ')) return undefined;
  const isFar = FAR.test(text.slice(end, end + 160));
  for (const { way, far, gap } of GAPS) {
    if (far && !isFar) continue;
    gap.lastIndex = end;
    const match = gap.exec(text);
    if (match === null || (/(?<!\|)\|(?!\|)/.test(match[0]) && !/^[\s|\\*]*[\w.-]*$/.test(name.before))) continue;
    const value = valueAt(text, gap.lastIndex, { ...name, way, joint: (match.groups?.joint ?? '').trim() });
    if (value !== undefined) return value;
  }
  SPACE.lastIndex = end;
  if (!SPACE.test(text)) return undefined;
  const from = SPACE.lastIndex;
  const isFlag = IS_FLAG.test(name.before);
  const isAlone = () => /^\S+[ \t]*(?:[-/]{1,2}\w.*)?(?:\n|$)/.test(text.slice(from, from + 300));
  if (!isFlag && !(isAlone() && IS_SETTING.test(name.before))) return undefined;
  return valueAt(text, from, { ...name, way: isFlag ? 'joint' : 'beside', joint: ' ' });
}

type Asked = Name & { way: Way; joint: string };

/** The value at a place, where it is one. */
function valueAt(text: string, from: number, { kind, name, before, way, joint }: Asked, to?: number): Span | undefined {
  QUOTED.lastIndex = from;
  const quoted = to === undefined ? QUOTED.exec(text) : null;
  let start = from;
  let value: string | undefined;
  if (quoted !== null) {
    value = Object.values(quoted.groups ?? {}).find(Boolean) ?? '';
    start += quoted[0].indexOf(value);
  }
  if (to !== undefined) value = text.slice(from, to);
  else if (value === undefined) {
    start = from + (/^["'`*_“„«「…]+|^\.{3}/.exec(text.slice(from, from + 4))?.[0].length ?? 0);
    BARE.lastIndex = start;
    value = trimmed(BARE.exec(text)?.[0] ?? '', way);
  }
  if (quoted !== null) value = value.replace(/(?<=[^.]{6})(?:\.{3}|…)$/, '');
  if (value.includes(PLACEHOLDER) || value === '') return undefined;
  const end = start + value.length;
  const given = { value, kind, name, way, joint, isQuoted: quoted !== null, before, behind: text.slice(end, end + 20) };
  if (!isGiven(given)) return undefined;
  if (quoted === null && kind !== 'password' && way === 'joint' && isShuffled(value))
    return { start, end: withNextLines(text, end) };
  REST.lastIndex = end;
  return { start, end: quoted === null && value.length === 120 && REST.test(text) ? REST.lastIndex : end };
}

/** A bare value without what is no longer of it. */
function trimmed(value: string, way: Way): string {
  const cut = value.search(
    /&(?=[\w.-]+=)|;(?=[\w .-]+=)|<\/?[\w]|,(?=[\w"-]+[=:])|…|\.{3}|\\n|[，。、；]|(?<=[!-~])[\u3000-\u9fff\uac00-\ud7af]/,
  );
  const own = cut > 0 ? value.slice(0, cut) : value;
  return own.replace(way === 'prose' ? /[,;:.)\]}*_，。]+$/ : /[,;:.)\]}]+$/, '');
}

const WINDOW = 110;
/** What follows a name with nothing between, or words alone before a number. */
const BESIDE = {
  pin: /^(?:[ \t(:"]{1,3}[\p{L}'\d]{1,14}){0,4}?(?<!\b(?:in|of|since|until|by|port|line|error|room|bis|seit|от|[vв]))[ \t(:"）：)?？]{1,4}(?!(?:19|20)\d\d(?!\d))(?=\d)/u,
  other: /^(?:[ \t][\u0430-\u044f]{1,14}){0,3}[ \t]{1,3}\(?(?=\S)/,
};
/** Digits and letters of both cases, as no word is spelled. */
const MADE =
  /^[^"{}\\<>[\]|]{0,90}?(?<![\w+/=.:-])(?<made>(?=[\w-]*\d)(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[A-Za-z\d][\w-]{17,99})(?![\w+/=(:-]|\.\w)/;

function said(text: string, lower: string, name: Name): Span | undefined {
  const window = lower.slice(name.end, Math.min(name.end + WINDOW, name.next));
  if (!/^(?:e?s|n|si|et|en)?["'\x60*_)\]]{0,3}(?:[\s:,.?(（はをがは是为為改设設成은는—→]|$)/.test(window))
    return undefined;
  if (name.kind === 'key' && !/\p{L} $/u.test(name.before)) return undefined;
  const stop = /(?<!\d)[.!?](?=\s)|\n|[。！？]/.exec(window)?.index ?? window.length;
  const given = (at: number, joint: string) => valueAt(text, name.end + at, { ...name, way: 'prose', joint });
  SAID.lastIndex = 0;
  for (let match = SAID.exec(window); match !== null && match.index <= stop; match = SAID.exec(window)) {
    const isApart = name.kind !== 'password' && match.index > 0 && /[(,]/.test(match[0]);
    const value =
      isApart || /[\\<>{}|]|sha-?\d{1,3}$/.test(window.slice(0, match.index))
        ? undefined
        : given(SAID.lastIndex, match[0]);
    if (value !== undefined) return value;
    SAID.lastIndex = Math.max(match.index + 1, SAID.lastIndex - 1);
  }
  const beside = BESIDE[name.kind === 'pin' ? 'pin' : 'other'].exec(window);
  const [said = '', made = ''] =
    (name.kind === 'secret' && !CURSOR.test(name.before) && MADE.exec(text.slice(name.end, name.end + stop))) || [];
  if (isShuffled(made)) return { start: name.end + said.length - made.length, end: name.end + said.length };
  const below = name.kind === 'key' ? undefined : lineBelow(text, name.end);
  return (beside ? given(beside[0].length, '') : undefined) ?? (below ? given(below - name.end, ':') : undefined);
}

const MOST_BELOW = 240;
const MADE_ALONE = /^\n(?=[\w-]*\d)(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{20,100}(?:\n|$)/;
const ALONE = /\s{0,20}(?:```\w{0,10}\n)?[ \t]{0,20}(?=\S{1,200}[ \t]{0,9}(?:\n|$))/y;
const ANSWER =
  /\[?[\d:. -]{0,20}\]?(?:[^\n:]{0,30}:[ \t]{1,4}(?=\S{1,200}[ \t]{0,9}(?:\n|$))|(?:it|that)(?:'s| is| was)[ \t])/iy;

/** Where a line of its own begins on which nothing but a value stands, or the answer in a chat. */
function lineBelow(text: string, from: number): number | undefined {
  const line = text.slice(from, from + MOST_BELOW);
  const end = line.indexOf('\n');
  const sign =
    end < 0
      ? undefined
      : (/[:?]\s*$/.exec(line.slice(Math.max(0, end - 9), end))?.[0][0] ??
        (line.slice(0, end).trim() === '' || MADE_ALONE.test(line.slice(end)) ? ':' : undefined));
  if (sign === undefined) return undefined;
  const pattern = sign === ':' ? ALONE : ANSWER;
  pattern.lastIndex = from + end + 1;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

/** `hunter2 is the password`, `use “hunter2” as password`, `enter hunter2 at the password prompt`. */
const PAIR =
  /"value"\s?:\s?"(?<value>[^"\s]{5,200})"\s?,\s?(?:"[\w-]{1,20}"\s?:\s?(?:"[^"\n]{0,40}"|\w{1,8})\s?,\s?){0,3}"(?:name|key)"\s?:\s?"[\w-]*$/;
const BEFORE = [
  /(?<value>[^\s"'\x60“”„«»…]{4,100})["'\x60”»“*]?[ \t](?:is|as|als|ist|com[eo]|comme|jako|jest|to|это|как|es|est|è|é|[-–—](?=[ \t])|<-|(?=\())[ \t]?\(?(?:[\p{L}'’]{1,12}[ \t]){0,4}[\p{L}-]*$/u,
  /(?:^|[ \t])(?:enter|type|use|try|give|with|nimm|gib|usa|pon|mets|utilise|gebruik|użyj|wpisz|введи|используй)[ \t]["'\x60“„«]?(?<value>[^\s"'\x60“”„«»]{4,100})["'\x60”»“]?[ \t][^.\n]{0,50}$/u,
];

function saidBefore(name: Name): Span | undefined {
  if (name.kind === 'key') return undefined;
  const isPair = name.before.includes('"value"');
  const before = isPair ? name.before : name.before.slice(-90);
  if (!/\d|[A-Za-z][!#$%&*+?]/.test(before)) return undefined;
  for (const pattern of isPair ? [PAIR] : BEFORE) {
    const match = pattern.exec(before);
    const value = match?.groups?.value;
    if (match === null || value === undefined) continue;
    const start = name.start - before.length + match.index + match[0].indexOf(value);
    const way = { way: 'prose', joint: '', isQuoted: false, before: '', behind: '' } as const;
    if (isGiven({ ...way, value, kind: name.kind, name: name.name })) return { start, end: start + value.length };
  }
  return undefined;
}
