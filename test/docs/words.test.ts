// What people read is in words that they know: none of the second table of docs/dev/words.md.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const [product = '', machine = ''] = read('docs/dev/words.md').split('\n## ').slice(1);
const firsts = (table: string) =>
  [...table.matchAll(/^\| (?!Never|Word|-)([^|]+) \|/gm)].map(([, first = '']) => first);
const WORDS = firsts(machine).flatMap((row) => row.split(', '));

/** String literals, without what is filled in, comments and SQL. */
function textsOf(source: string): string[] {
  let code = source.replace(/^\s*(?:\/\/|\/?\*).*$/gm, '');
  for (let before = ''; before !== code; ) [before, code] = [code, code.replace(/\$\{[^{}]*\}/g, '…')];
  const texts = [...code.matchAll(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g)].map(([text]) => text);
  return texts.filter(
    (text) => text.includes(' ') && !/(?:\bselect\b|\bwhere\b.*=|\bfrom\b.*(?:=|\bby\b)|\bset\b.*=)/s.test(text),
  );
}

test('the product has at most 40 words of its own, and no word of the machine is put before a person', () => {
  expect(firsts(product).length).toBeLessThanOrEqual(40);
  const code = globSync('src/{cli,page,setup,terminal}/**/*.{ts,js}', { cwd: root });
  const pages = ['README.md', 'CHANGELOG.md', ...globSync('docs/*.md', { cwd: root })];
  const texts = [
    ...code.map((path) => ({ path, said: textsOf(read(path)) })),
    ...pages.map((path) => ({ path, said: [read(path)] })),
  ];
  const found = texts.flatMap(({ path, said }) =>
    WORDS.filter((word) => said.some((text) => new RegExp(`\\b${word}\\b`, 'i').test(text))).map(
      (word) => `${path}: ${word}`,
    ),
  );
  expect(found).toEqual([]);
  expect(WORDS.length).toBeGreaterThan(15);
});
