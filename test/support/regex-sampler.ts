// Makes strings that a pattern matches, for tests of rules that others wrote as patterns (RE2's syntax).
// What may be missing is left out and what repeats is as short as it may be, save in the group that is the secret.

import type { Random } from './random.ts';

const CLASSES: Record<string, string> = {
  d: '0123456789',
  w: 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_',
  S: 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789',
  s: ' ',
};

export interface Sample {
  text: string;
  /** What the first group that took part holds, else all. */
  secret: string;
}

export function sampleOf(pattern: string, random: Random): Sample {
  const source = pattern.replaceAll('[[:alnum:]]', '[a-zA-Z0-9]').replaceAll('\\x60', '`');
  let at = 0;
  let secret: string | undefined;

  const alternatives = (): (() => string)[] => {
    const all = [sequence()];
    while (source[at] === '|') {
      at++;
      all.push(sequence());
    }
    return all;
  };
  // Each piece is read whole before any is made, so that only what was chosen is made.
  const sequence = (): (() => string) => {
    const pieces: (() => string)[] = [];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') pieces.push(repeated(atom()));
    return () => pieces.map((make) => make()).join('');
  };
  const repeated = (make: () => string): (() => string) => {
    const found = /^(?:\{(\d+)(,)?(\d+)?\}|[*+?])\??/.exec(source.slice(at));
    if (found === null) return make;
    at += found[0].length;
    const sign = found[0][0];
    const least = found[1] !== undefined ? Number(found[1]) : sign === '+' ? 1 : 0;
    // Between name and value, and around, nothing; inside a secret a few more where it may.
    const more = sign === '+' ? 9 : 0;
    return () => Array.from({ length: least + more }, make).join('');
  };
  const atom = (): (() => string) => {
    const char = source[at++] as string;
    if (char === '(') return group();
    if (char === '[') return oneOf(characterClass());
    if (char === '\\') return escaped();
    if (char === '^' || char === '$') return () => '';
    return char === '.' ? oneOf(CLASSES.w as string) : () => char;
  };
  const escaped = (): (() => string) => {
    const char = source[at++] as string;
    if (char === 'b' || char === 'z') return () => '';
    const set = CLASSES[char];
    return set === undefined ? () => (char === 'n' ? '\n' : char) : oneOf(set);
  };
  const group = (): (() => string) => {
    const opening = /^\?(?:P<\w+>|[a-z-]*(:|\)))/.exec(source.slice(at));
    at += opening?.[0].length ?? 0;
    if (opening?.[1] === ')') return () => '';
    const all = alternatives();
    at++;
    const isNamed = opening?.[0].startsWith('?P') === true;
    return () => {
      const before = secret;
      const text = random.pick(all)();
      if ((opening === null || isNamed) && text.length >= 6) secret = before ?? text;
      return text;
    };
  };
  const characterClass = (): string => {
    const end = source.indexOf(']', at + 1);
    const body = source.slice(at, end);
    at = end + 1;
    let set = '';
    for (const [part, from, to] of body.matchAll(/\\(?:x[\da-f]{2}|.)|(.)-(.)|./gs)) {
      if (part.startsWith('\\')) set += CLASSES[part[1] as string] ?? part.slice(1);
      else if (from !== undefined && to !== undefined) {
        for (let code = from.charCodeAt(0); code <= to.charCodeAt(0); code++) set += String.fromCharCode(code);
      } else set += part;
    }
    return set;
  };
  const oneOf = (set: string) => () => random.pick([...set]);

  const text = random.pick(alternatives())();
  return { text, secret: secret ?? text };
}
