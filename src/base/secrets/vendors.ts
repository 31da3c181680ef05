// The tokens of vendors: gitleaks' rules (gitleaks.json, made by `npm run rules`), and what those do not know, of own-rules.json: HEADS,
// the beginnings by which a token is told though it is cut, and tokens whose beginning says too little. What is glued to a token, and lines
// that go on with it, are of it.

import rules from './gitleaks.json' with { type: 'json' };
import own from './own-rules.json' with { type: 'json' };
import {
  bitsOf,
  type Found,
  isMachineMade,
  isMixedInOrder,
  isShuffled,
  type Needles,
  needlesOf,
  PLACEHOLDER,
  scan,
} from './rule.ts';

/** By vendor: how its tokens begin. What follows must be as only machines write. */
export const HEADS: Record<string, string> = own.heads;

interface Rule {
  id: string;
  pattern: RegExp;
  group: number;
  entropy: number;
  allowed: Allowed[];
}

type Allowed = ReturnType<typeof allowedOf>;
const allowedOf = (list: { of: string; patterns: string[]; stopwords: string[] }) => ({
  ...list,
  patterns: list.patterns.map((pattern) => new RegExp(pattern)),
});
const ALLOWED = allowedOf(rules.allowed);

type Visit = (text: string, at: number, found: Found[], reached: Map<unknown, number>) => void;

const RUN = /[\w~+/=.@-]{12,300}/y;
const REST = /[\w~+/=-]+/y;
/** A line that nothing but the rest of a token stands on. */
const NEXT_LINE =
  /\n(?:[>|+][ \t]?|[ \t]{0,6}\d{1,5}[:|\t])?[ \t]{0,40}(?<rest>[\w+/=.-]{8,4000}?)(?:(?<alone>["'`,;]{0,3}(?=\n|$))|(?=[\s,;]|\.(?!\w)|$))/y;

function headVisit(id: string, head: string): Visit {
  return (text, at, found, reached) => {
    if (at < (reached.get(RUN) ?? 0) || !text.startsWith(head, at)) return;
    RUN.lastIndex = at + head.length;
    const run = RUN.exec(text)?.[0].replace(/[.=~/-]+$/, (signs) => /^={1,2}/.exec(signs)?.[0] ?? '') ?? '';
    const isGlued = /[A-Za-z0-9]/.test(text[at - 1] ?? ' ');
    // Four letters stand in any long base64.
    if (!/[_.-]/.test(head) && /[+/]/.test(text[at - 1] ?? '')) return;
    let end = at + head.length + run.length;
    const isOne = isMadeBy(head, run) && (!isGlued || (/[_-]$/.test(head) && run.length >= 30));
    REST.lastIndex = end;
    if (isOne && run.length === 300 && REST.test(text)) end = REST.lastIndex;
    // Heads in a row, each read to the end of the row, would take the square of its length.
    reached.set(RUN, isOne ? end : at + (run.length >> 1));
    const glued = isGlued ? (/[A-Za-z\d]*$/.exec(text.slice(Math.max(0, at - 40), at))?.[0].length ?? 0) : 0;
    if (isOne) found.push({ rule: id, start: at - glued, end: withNextLines(text, end) });
  };
}

function isMadeBy(head: string, run: string): boolean {
  if (/^A[A-Z]{2}A$|^ASIA$|^ACCA$/.test(head)) return /^[A-Z\d]{12,}/.test(run) && bitsOf(run) > 2.5;
  const isOnePiece = head.length > 3 && /\d/.test(run) && /^[A-Za-z\d]{30,}/.test(run);
  return (
    bitsOf(run) >= 2 &&
    ((run.length >= 16 && isMachineMade(run)) ||
      isOnePiece ||
      (run.length >= 30 && isMixedInOrder(run, head.length > 3 ? 4 : 3)))
  );
}

export function withNextLines(text: string, from: number): number {
  for (let end = from; ; ) {
    NEXT_LINE.lastIndex = end;
    const { rest, alone } = NEXT_LINE.exec(text)?.groups ?? {};
    if (rest === undefined || !(alone === undefined ? isShuffled(rest) : isMachineMade(rest))) return end;
    end = NEXT_LINE.lastIndex - (alone?.length ?? 0);
  }
}

const BEFORE = 60;
const BEHIND = 600;

/** A pattern is tried around its words only; where those stand close, in one piece. */
function ruleVisit(rule: Rule): Visit {
  return (text, at, found, reached) => {
    const from = Math.max(at - BEFORE, reached.get(rule) ?? 0);
    const to = at + BEHIND;
    reached.set(rule, to);
    const piece = text.slice(from, to);
    rule.pattern.lastIndex = 0;
    for (let match = rule.pattern.exec(piece); match !== null; match = rule.pattern.exec(piece)) {
      rule.pattern.lastIndex = Math.max(rule.pattern.lastIndex, match.index + 1);
      const value = (rule.group ? match[rule.group] : match.slice(1).find(Boolean)) ?? match[0];
      const start = from + match.index + match[0].indexOf(value);
      if (match.index === 0 && from > 0 && /\w/.test(text[from - 1] ?? '')) continue;
      if (isSecret(rule, value, match[0], text, start)) found.push({ rule: rule.id, start, end: start + value.length });
    }
  };
}

/** Between a vendor's name and what anybody may see. */
const HARMLESS =
  /(?<![a-z])(?:commit|sha|hash|digest|checksum|rev(?:ision)?|version|integrity|etag|uuid|guid|build|image|blob|tree|md5|fingerprint|cursor|trace|span|request|message|nonce|page|file|path|url|channel|user|team|project|task|app|org|account|site|event|session)(?![a-z])/i;

function isSecret(rule: Rule, value: string, match: string, text: string, start: number): boolean {
  if (value.includes(PLACEHOLDER) || bitsOf(value) < Math.max(rule.entropy, 2)) return false;
  const between = match.slice(0, match.indexOf(value)).replace(/(?<=[a-z])(?=[A-Z])/g, '_');
  if (/[=:>,|]/.test(between) && !between.includes('://') && (HARMLESS.test(between) || !isMachineMade(value)))
    return false;
  const lower = value.toLowerCase();
  return [ALLOWED, ...rule.allowed].every(({ of, patterns, stopwords }) => {
    const seen = of === 'match' ? match : of === 'line' ? lineAt(text, start) : value;
    return !patterns.some((pattern) => pattern.test(seen)) && !stopwords.some((word) => lower.includes(word));
  });
}

function lineAt(text: string, at: number): string {
  const from = Math.max(text.lastIndexOf('\n', at) + 1, at - 300);
  return text.slice(from, at + 300).split('\n', 1)[0] as string;
}

/** Whether a name speaks of a vendor whose keys are secrets. */
export const namesVendor = (name: string) => ANY_VENDOR.test(name);

const vendorOf = (id: string) => (/^(?:new-relic|private-ai|[^-]+)/.exec(id) as RegExpExecArray)[0];
const ANY_VENDOR = new RegExp(
  [...Object.keys(HEADS), ...rules.rules.map(({ id }) => vendorOf(id).replace('-', '[_-]?'))].join('|'),
  'i',
);

const VENDORS: Needles<Visit> = needlesOf(() => [
  ...Object.entries(HEADS).flatMap(([id, heads]) =>
    heads.split(' ').map((head) => [head.toLowerCase(), headVisit(id, head)] as const),
  ),
  ...own.tokens.flatMap(({ id, words, pattern }) => {
    const alone = new RegExp(`(?<![\\w+/.-])${pattern}(?![\\w]|[+/=~-]\\w)`, 'g');
    const visit = ruleVisit({ id, pattern: alone, group: 0, entropy: 3, allowed: [] });
    return words.split(' ').map((word) => [word, visit] as const);
  }),
  ...rules.rules.flatMap(({ id, keywords, pattern, group = 0, entropy = 0, allowed = [] }) => {
    const visit = ruleVisit({
      id: vendorOf(id),
      pattern: new RegExp(pattern, 'g'),
      group,
      entropy,
      allowed: allowed.map(allowedOf),
    });
    return keywords.map((keyword) => [keyword, visit] as const);
  }),
]);

export function findTokens(text: string, lower: string): Found[] {
  const found: Found[] = [];
  const reached = new Map<unknown, number>();
  scan(VENDORS, lower, (visit, at) => visit(text, at, found, reached));
  return found;
}
