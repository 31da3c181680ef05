// The sets of our own: the one to work with, and the one held out.

import type { EvalSet } from './set.ts';
import { readSet } from './set-file.ts';

/** Eight people, each with a memory directory of their own, over eleven weeks. */
export const OWN = readSet('own', [
  ...['orchard', 'hafen', 'kaze', 'molino', 'atelier', 'household', 'tesi', 'museum'],
]);

/**
 * Other people, trades and words. It was written before the code that it tests; nothing may be fitted to its
 * sentences, so that it says whether rules and prompts hold.
 */
export const HELD_OUT = readSet('held-out', [
  ...['harbour', 'basalt', 'ferrite', 'margins', 'werk', 'maree', 'taller', 'yama'],
]);

const ENGLISH = ['orchard', 'household', 'museum', 'harbour', 'basalt', 'ferrite', 'margins'];

/** The samples of a set whose people speak English alone. */
export function inEnglish(set: EvalSet): EvalSet {
  return { ...set, samples: set.samples.filter(({ name }) => ENGLISH.includes(name)) };
}
