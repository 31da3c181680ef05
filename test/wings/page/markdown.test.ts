// Memory was partly written by strangers: what they wrote costs the server little time, and is not lost.

import { Lexer } from 'marked';
import { expect, onTestFinished, test, vi } from 'vitest';
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

const SIZE = 400_000;
const filled = (line: (n: number) => string) => {
  let text = '';
  for (let n = 0; text.length < SIZE; n += 1) text += line(n);
  return text;
};

test.each([
  ['lists in lists', filled((n) => `${'  '.repeat(n)}- a\n`)],
  ['lists in one line', filled(() => `${'- '.repeat(1_000)}x\n`)],
  ['quotes in one line', filled(() => `${'>'.repeat(3_900)}x\n`)],
  ['one item of many lines', `- a\n${filled(() => '  b\n')}`],
  ['lines that go on in many lists', `${'- '.repeat(12)}a\n${filled(() => 'b\n')}`],
  ['items in a quote that go on', `> - a\n${filled(() => '> b\n')}`],
  ['what only looks like another item', `-    a\n${filled(() => '    - b\n')}`],
  ['nested items that go on', filled(() => `${'- '.repeat(12)}a\n${'b\n'.repeat(99)}`)],
])('the library reads %s a bounded number of times, and takes no longer than for a plain list', (_, text) => {
  const cpuOf = (shown: string) => {
    const began = process.cpuUsage();
    markdown(shown);
    const { user, system } = process.cpuUsage(began);
    return user + system;
  };
  const plain = cpuOf(filled(() => '- a\n'));
  const reading = vi.spyOn(Lexer.prototype, 'blockTokens');
  onTestFinished(() => reading.mockRestore());
  expect(cpuOf(text) / plain).toBeLessThan(8);
  expect(reading.mock.calls.reduce((sum, [src]) => sum + src.length, 0)).toBeLessThanOrEqual(text.length * 13);
});

test('of what is nested too deep, and of long items, nothing is lost', () => {
  const deep = filled((n) => `${'  '.repeat(n % 60)}- word${n}\n`);
  const long = `- word0\n${Array.from({ length: 500 }, (_, n) => `  word${n + 1}\n`).join('')}`;
  for (const text of [deep, long]) {
    expect(String(markdown(text)).match(/word\d+/g)).toEqual(text.match(/word\d+/g));
  }
});

test('what is too long to be read as Markdown stands there as it was written, and the rest is read', () => {
  const long = `**bold** ${'word '.repeat(1_000)}`;
  expect(String(inlineMarkdown(long))).toContain('**bold** word');
  const shown = String(markdown(`**bold**\n\n${long.replaceAll(' word', '\nword')}\n\n- *one*\r\n- two`));
  expect(shown).toContain('<p><strong>bold</strong></p>');
  expect(shown).toContain('<p>**bold**\nword\nword');
  expect(shown).toContain('<ul><li><p><em>one</em></p></li><li><p>two</p></li></ul>');
});
