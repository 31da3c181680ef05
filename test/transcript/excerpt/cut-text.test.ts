// A paste in a person's message is shown by its head and tail where it is long; what the person typed stays whole.

import { expect, test } from 'vitest';
import type { Part } from '../../../src/transcript/messages.ts';
import { buildOne, long, message, turn, words } from '../../support/turns.ts';

const pasted = (text: string): Part => ({ kind: 'text', text, untyped: 'pasted' });
const shown = async (parts: Part[], redact?: (text: string) => Promise<{ text: string }>) =>
  await buildOne([turn([message('p1234567', 'human', parts)])], 12_000, redact);

test('a long paste is shown by head and tail, marked, between all that the person typed', async () => {
  const typed = long('mine', 1_000);
  const log = `HEAD ${long('log', 900)} TAIL`;
  const excerpt = await shown([words(typed), pasted(log), words('So fix that, please.')]);
  expect(excerpt.text).toContain(`| ${typed}\n| HEAD log0 `);
  expect(excerpt.text).toMatch(/\n\| … \d+ characters of a paste left out …\n\| .* TAIL\n\| So fix that, please\.$/);
  expect(excerpt.text).not.toContain('log500 ');
  expect(excerpt.sources.get('p1234567')?.text).toBe(`${typed}\n${log}\nSo fix that, please.`);
});

test('a shorter paste, and any length of what was typed, stays whole', async () => {
  const short = long('log', 400);
  expect(short.length).toBeLessThan(3_000);
  const typed = long('mine', 2_000);
  expect((await shown([words('See:'), pasted(short), words(typed)])).text).toBe(
    `[p1234567 human]\n| See:\n| ${short}\n| ${typed}`,
  );
});

test('two long pastes are cut each by itself, also where secrets before them and in them were redacted', async () => {
  const redact = async (text: string) => ({ text: text.replaceAll(/SECRET\d+/g, '[secret]') });
  const first = `FIRST SECRET1 ${long('a', 1_200)} SECRET2 END`;
  const second = `SECOND SECRET3 ${long('b', 1_200)} SECRET4 LAST`;
  const { text } = await shown(
    [words('Mine SECRET0.'), pasted(first), words('And:'), pasted(second), words('Done.')],
    redact,
  );
  expect(text).not.toContain('SECRET');
  expect(text).toMatch(
    /\| Mine \[secret\]\.\n\| FIRST \[secret\] a0 [\s\S]*characters of a paste left out[\s\S]* \[secret\] END\n\| And:\n\| SECOND \[secret\] b0 [\s\S]*characters of a paste left out[\s\S]* \[secret\] LAST\n\| Done\.$/,
  );
});

test('a paste whose place redaction moves is shown whole rather than cut in the wrong place', async () => {
  // A secret that goes over the edge of the paste is known only with both sides.
  const redact = async (text: string) => ({ text: text.replace('KEY=\nabc', '[secret]') });
  const { text } = await shown([words('KEY='), pasted(`abc ${long('log', 900)}`), words('Done.')], redact);
  expect(text).not.toContain('of a paste left out');
  expect(text).toContain('log500 ');
  expect(text).toContain('| [secret] log0 ');
});
