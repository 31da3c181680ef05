// Memory was partly written by strangers: what they wrote costs the server little time, and is not lost.

import { expect, test } from 'vitest';
import { inlineMarkdown, markdown } from '../../../src/wings/page/markdown.ts';

const CHARS = 100_000;
const many = (piece: string) => piece.repeat(Math.ceil(CHARS / piece.length)).slice(0, CHARS);

test.each([
  ['stars around a word', `${many('a*')}${'*'.repeat(CHARS / 2)}b`],
  ['underscores', many('_a')],
  ['what could be an address', `${many('a.')}@`],
  ['the end of an address', `http://a${many('?!')}`],
  ['lists in lists', many('- ')],
  ['a paragraph of many lines', many('a*b**\n')],
  ['paragraphs of some lines', many(`${'a*b**\n'.repeat(600)}\n`)],
])('100 kB of %s is shown within a few seconds of CPU', (_, text) => {
  const began = process.cpuUsage();
  for (const shown of [markdown(text), inlineMarkdown(text)]) expect(String(shown)).toContain(text.trim().slice(0, 1));
  const { user, system } = process.cpuUsage(began);
  expect((user + system) / 1e6).toBeLessThan(8);
});

test('what is too long to be read as Markdown stands there as it was written, and the rest is read', () => {
  const long = `**bold** ${'word '.repeat(1_000)}`;
  expect(String(inlineMarkdown(long))).toContain('**bold** word');
  const shown = String(markdown(`**bold**\n\n${long.replaceAll(' word', '\nword')}\n\n- *one*\r\n- two`));
  expect(shown).toContain('<p><strong>bold</strong></p>');
  expect(shown).toContain('<p>**bold**\nword\nword');
  expect(shown).toContain('<ul><li><p><em>one</em></p></li><li><p>two</p></li></ul>');
});
