// `npm run rules -- FILE`: gitleaks' rules, its TOML as released, as the data that src/base/secrets/vendors.ts reads. Patterns of RE2
// become JavaScript's: what ignores case names both cases, since Node 22 knows no flags inside a pattern.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argv } from 'node:process';

const LEFT_OUT: Record<string, string> = {
  'generic-api-key': 'alarms on harmless texts',
  'sourcegraph-access-token': 'takes any commit for one',
  'discord-client-id': 'an id, no secret: any long number beside the name',
  ...Object.fromEntries(
    ['private-key', 'jwt', 'curl-auth-header', 'curl-auth-user'].map((id) => [id, 'ours finds more']),
  ),
};
/** Names and what stands before them: a keyword is looked for first. */
const ANY_BEFORE = '[\\w.-]{0,50}?';
/** What ends a token: with a dot after it, a sentence does, too. */
const END = '(?:[\\x60\'"\\s;]|\\\\[nr]|$)';
const ANY_END = '(?![\\w+/=~-]|\\.\\w)';
const SETS: Record<string, string> = { '[:alnum:]': 'A-Za-z0-9' };

/** The rules of a release, and those left out, each with its reason. */
export function translate(toml: string) {
  const rules: ReturnType<typeof ruleOf>[] = [];
  const leftOut: Record<string, string> = {};
  const [head = '', ...parts] = toml.split('[[rules]]\n');
  for (const part of parts) {
    const [own = '', ...allowed] = part.split('[[rules.allowlists]]\n');
    const id = stringOf(own, 'id') as string;
    const reason = LEFT_OUT[id] ?? (/^path = /m.test(own) ? 'needs a path' : undefined);
    if (reason) leftOut[id] = reason;
    else rules.push(ruleOf(id, own, allowed));
  }
  return { from: (head.split('\n')[0] as string).replace(/^# /, ''), allowed: allowlistOf(head), leftOut, rules };
}

function ruleOf(id: string, own: string, allowed: string[]) {
  const pattern = patternOf((stringOf(own, 'regex') as string).replace(ANY_BEFORE, '').replace(END, ANY_END));
  const group = numberOf(own, 'secretGroup');
  const lists = allowed.map(allowlistOf).filter((list) => list.patterns.length + list.stopwords.length > 0);
  return {
    id,
    keywords: listOf(own, 'keywords').toSorted(),
    pattern,
    ...(group && { group }),
    ...(numberOf(own, 'entropy') && { entropy: numberOf(own, 'entropy') }),
    ...(lists.length > 0 && { allowed: lists }),
  };
}

/** What it says of paths is left out with them: a text has none. */
function allowlistOf(text: string) {
  return {
    of: stringOf(text, 'regexTarget') ?? 'secret',
    patterns: /^condition = "AND"/m.test(text) ? [] : listOf(text, 'regexes').map(patternOf),
    stopwords: listOf(text, 'stopwords'),
  };
}

const stringOf = (text: string, name: string) =>
  new RegExp(`^${name} = (?:'''([\\s\\S]*?)'''|"(.*)")$`, 'm').exec(text)?.slice(1).find(Boolean);
const numberOf = (text: string, name: string) => Number(new RegExp(`^${name} = ([\\d.]+)$`, 'm').exec(text)?.[1] ?? 0);

function listOf(text: string, name: string): string[] {
  const list = new RegExp(`^${name} = \\[([\\s\\S]*?)\\n?\\]$`, 'm').exec(text)?.[1] ?? '';
  return [...list.matchAll(/'''([\s\S]*?)'''|"([^"]*)"/g)].map(([, raw, quoted]) => (raw ?? quoted) as string);
}

/** A pattern of RE2 as one of JavaScript without flags. */
function patternOf(source: string): string {
  let out = '';
  let ignoresCase = false;
  let matchesLines = false;
  const outer: [boolean, boolean][] = [];
  for (let at = 0; at < source.length; ) {
    const [token = ''] =
      (/^(?:\(\?[a-zA-Z-]*[:)]|\(\?P<|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|\{\d*,?\d*\}|\\x\w\w|\\.|[\s\S])/.exec(
        source.slice(at),
      ) ?? []) as string[];
    at += token.length;
    const flags = /^\(\?([a-zA-Z-]*)([:)])$/.exec(token);
    if (flags) {
      if (flags[2] === ':') outer.push([ignoresCase, matchesLines]);
      if (/i/.test(flags[1] as string)) ignoresCase = !flags[1]?.includes('-');
      if (/s/.test(flags[1] as string)) matchesLines = !flags[1]?.includes('-');
      out += flags[2] === ':' ? '(?:' : '';
    } else if (token === '\\z') out += '(?![\\s\\S])';
    else if (token === '(?P<') {
      outer.push([ignoresCase, matchesLines]);
      out += '(?<';
    } else if (token === '.') out += matchesLines ? '[\\s\\S]' : '.';
    else {
      if (token === '(') outer.push([ignoresCase, matchesLines]);
      if (token === ')') [ignoresCase, matchesLines] = outer.pop() as [boolean, boolean];
      out +=
        token[0] === '['
          ? classOf(token, ignoresCase)
          : ignoresCase && /^[a-z]$/i.test(token)
            ? `[${bothOf(token)}]`
            : token;
    }
  }
  return out;
}

const bothOf = (letters: string) => letters.toUpperCase() + letters.toLowerCase();

function classOf(token: string, ignoresCase: boolean): string {
  const own = token
    .replace(/\[:\w+:\]/g, (name) => SETS[name] as string)
    .replace(/^(\[\^?)\]/, '$1\\]')
    .replace(/(?<=.)\[/g, '\\[');
  if (!ignoresCase) return own;
  const more = (own.match(/\\.|[a-zA-Z]-[a-zA-Z]|[a-zA-Z]/g) ?? []).filter((each) => each[0] !== '\\');
  const other = more.flatMap((each) => [each.toLowerCase(), each.toUpperCase()]).filter((each) => !own.includes(each));
  return `${own.slice(0, -1).replace(/(?<=[^\\])-$/, '\\-')}${[...new Set(other)].join('')}]`;
}

if (argv[1] === import.meta.filename) {
  const data = translate(readFileSync(argv[2] as string, 'utf8'));
  const path = join(import.meta.dirname, '../../../src/base/secrets/gitleaks.json');
  writeFileSync(path, `${JSON.stringify(data, null, 1)}\n`);
}
