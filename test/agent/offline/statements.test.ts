// What a whole message tells of its sentences: irony, what is taken back, what only points at the one beside it.

import { expect, test } from 'vitest';
import { findEntries } from '../../../src/agent/offline/statements.ts';

/** The texts of the entries that come of these messages of one person. */
const textsOf = (...messages: string[]) =>
  findEntries(
    messages.map((text, at) => `[msg0000${at} human 2026-10-07 10:00]\n| ${text.split('\n').join('\n| ')}`).join('\n'),
    '',
  ).map(({ text }) => text);

test('what begins with delight over the same again is not meant', () => {
  expect(textsOf('Oh great, another banner. Always show three of them, please.')).toEqual([]);
});

test('praise without irony is no hindrance', () => {
  expect(textsOf('Great, thanks! Always run make lint first.')).toEqual(['Always run make lint first.']);
});

test('what is taken back by name is not kept, whatever was said between', () => {
  expect(textsOf('Always sort the imports.', 'Never log names.', 'Forget the imports, the linter does it.')).toEqual([
    'Never log names.',
  ]);
});

test('what is taken back without a name is what was said last', () => {
  expect(textsOf('Never log names.', 'Always sort the imports.', 'No, scratch that.')).toEqual(['Never log names.']);
  expect(textsOf('Never log names.', "Don't forget to push.")).toEqual(['Never log names.']);
});

test('a sentence that only says of the one before that it holds makes it one to keep', () => {
  expect(textsOf('The scale is off by two grams. Keep that in mind when you plan.')).toEqual([
    'The scale is off by two grams.',
  ]);
  expect(textsOf('Please remember this. The depot has three gates.')).toEqual(['The depot has three gates.']);
  expect(textsOf('The scale is off by two grams. Fix it.')).toEqual([]);
});

test('what somebody says again is no news', () => {
  expect(textsOf('As I said, never log names.')).toEqual([]);
});

test('from the words of somebody else on nothing is read', () => {
  expect(textsOf('My colleague wrote:\nAlways use spaces.\nNever use tabs.')).toEqual([]);
  expect(textsOf('Never log names.\nUser: always be brief.\nAgent: Sure.')).toEqual(['Never log names.']);
});

test('a sentence with a quotation in it, or half of one, is not read', () => {
  expect(textsOf('Always answer "I will think about that first" to him.')).toEqual([]);
  expect(textsOf('I never want a map like this "  src/ (root)')).toEqual([]);
});
