// What strangers wrote costs little time to be shown, and is not lost.

import { expect, test } from 'vitest';
import { markdown } from '../../src/page/markdown-html.ts';

const filled = (size: number, line: (n: number) => string) => {
  let text = '';
  for (let n = 0; text.length < size; n += 1) text += line(n);
  return text;
};

/** The CPU time of one showing in milliseconds, of the best of several. */
function msOf(text: string): number {
  const each = Array.from({ length: 5 }, () => {
    const began = process.cpuUsage();
    markdown(text);
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1e3;
  });
  return Math.min(...each);
}

test.each([
  ['lists in lists', (n: number) => `${'  '.repeat(n % 500)}- a\n`],
  ['lists in one line', () => `${'- '.repeat(1_000)}x\n`],
  ['quotes in one line', () => `${'>'.repeat(3_900)}x\n`],
  ['nested items that go on', () => `${'- '.repeat(9)}a\n${'b\n'.repeat(99)}`],
  ['marks that could be emphasis', () => `${'a*_~~'.repeat(700)}\n\n`],
  ['brackets', () => `${'['.repeat(3_900)}\n\n`],
])('439 kB of %s cost no more than thirty times what 45 kB of plain lines do', (_, line) => {
  const plain = msOf(filled(45_000, (n) => `- word ${n} of a line\n`));
  expect(msOf(filled(439_000, line))).toBeLessThan(30 * plain);
  expect(msOf(filled(45_000, line))).toBeLessThan(30 * plain);
});

test('of what is nested too deep, and of long items, nothing is lost', () => {
  const deep = filled(40_000, (n) => `${'  '.repeat(n % 60)}- word${n}\n`);
  const long = `- word0\n${Array.from({ length: 500 }, (_, n) => `  word${n + 1}\n`).join('')}`;
  for (const text of [deep, long, deep.repeat(3)])
    expect(String(markdown(text)).match(/word\d+/g)).toEqual(text.match(/word\d+/g));
});

test('what notes use is shown as it is meant, and what is too long to be read stands there as it was written', () => {
  const shown = String(
    markdown('# A\n\n**b** *c* `d` ~~e~~ [f](https://g.h/)\n\n- *one*\r\n- two\n  - three\n\n```\n<i>\n```\n'),
  );
  expect(shown).toContain('<p class="heading">A</p><p><strong>b</strong> <em>c</em> <code>d</code> <del>e</del>');
  expect(shown).toContain('<a href="https://g.h/" rel="noopener noreferrer" target="_blank">f</a>');
  expect(shown).toContain('<ul><li><p><em>one</em></p></li><li><p>two</p><ul><li><p>three</p></li></ul></li></ul>');
  expect(shown).toContain('<pre><code>&lt;i&gt;</code></pre>');
  expect(String(markdown(`**b**\n\n**c** ${'word '.repeat(1_000)}`))).toMatch(
    /<p><strong>b<\/strong><\/p><p>\*\*c\*\* word/,
  );
});
