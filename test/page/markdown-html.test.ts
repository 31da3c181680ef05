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
  ['marks that could be emphasis', () => 'a*_~~'],
  ['brackets', () => '['],
  ['ticks', (n: number) => `${'`'.repeat(n % 60)} `],
])('%s cost little, and nothing of them is lost', (_, line) => {
  const text = filled(3_900, line);
  expect(msOf(text)).toBeLessThan(30);
  const bare = (shown: string) => shown.replace(/<[^>]*>|[*_~`]/g, '').length;
  expect(bare(String(markdown(text)))).toBe(bare(text));
});

test('what notes use is shown as it is meant, and what is too long to be read stands there as it was written', () => {
  const shown = String(markdown('**b** *c* `d` ~~e~~ [f](https://g.h/)\n- two\n\n```\n<i>\n```'));
  expect(shown).toContain('<strong>b</strong> <em>c</em> <code>d</code> <del>e</del>');
  expect(shown).toContain('<a href="https://g.h/" rel="noopener noreferrer" target="_blank">f</a>\n- two\n');
  expect(shown).toContain('<code>\n&lt;i&gt;\n</code>');
  expect(String(markdown(`**c** ${'word '.repeat(1_000)}`))).toContain('>**c** word');
});
