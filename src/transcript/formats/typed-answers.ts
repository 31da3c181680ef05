// A tool that asks a person something brings back what they chose and what they typed. Only what they typed is in their
// words: an option was worded by the model, and what they chose is marked so.

import type { Part } from '../types.ts';
import { isObject } from './format.ts';
import { parsedOr, textOf } from './values.ts';

/** What a person chose of what was offered, behind the question; `means`: what the question says of the choice. */
export function choiceOf(question: string, chosen: string, means = ''): Part {
  const text = [question.trim(), `chose: ${chosen}`, means && `(${means})`].filter((line) => line !== '').join('\n');
  return { kind: 'text', text, untyped: 'chosen' };
}

export interface Asked {
  /** Every string under a `label`, `options` or `choices` in what was offered. */
  offered: ReadonlySet<string>;
  /** The questions' words, by their id or, for want of one, by what they ask. */
  questions: ReadonlyMap<string, string>;
}

/** What the call of such a tool asked. */
export function askedIn(input: unknown): Asked {
  const offered = new Set<string>();
  const questions = new Map<string, string>();
  const visit = (value: unknown, isOption: boolean, depth: number): void => {
    if (depth > 8) return;
    if (typeof value === 'string' && isOption) offered.add(value);
    if (Array.isArray(value)) for (const item of value) visit(item, isOption, depth + 1);
    if (!isObject(value)) return;
    const question = textOf(value.question);
    if (question !== undefined) questions.set(textOf(value.id) ?? question, question);
    for (const [key, item] of Object.entries(value))
      visit(item, /^(options|choices|label|value)$/.test(key), depth + 1);
  };
  visit(input, false, 0);
  return { offered, questions };
}

/** What was answered in `output` (`{"answers":{…}}` as JSON): what was chosen behind its question, what was typed alone. */
export function answersOf(output: string, { offered, questions }: Asked): Part[] {
  const read = parsedOr(output);
  if (!isObject(read) || !isObject(read.answers)) return [];
  return Object.entries(read.answers).flatMap(([key, answer], at): Part[] => {
    const given = [isObject(answer) ? answer.answers : answer].flat().filter((text) => typeof text === 'string');
    const chosen = given.filter((text) => offered.has(text));
    const typed = given
      .filter((text) => !offered.has(text))
      .map((text) => text.replace(/^user_note: /, '').trim())
      .filter((text) => text !== '');
    const question = questions.get(key) ?? [...questions.values()][at] ?? '';
    const choice = chosen.length === 0 ? [] : [choiceOf(question, chosen.join(', '))];
    return [...choice, ...typed.map((text): Part => ({ kind: 'text', text }))];
  });
}
