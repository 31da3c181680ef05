// The sets of our own: the one to work with, and the one held out.

import { readSet } from './set-file.ts';

/** Eight people, each with a memory directory of their own, over eleven weeks. */
export const OWN = readSet('own', [
  ...['orchard', 'hafen', 'kaze', 'molino', 'atelier', 'household', 'tesi', 'museum'],
]);

/**
 * Other people, trades and words. It was written before the offline model's rules for six languages; nothing may be
 * fitted to its sentences, so that it says whether rules and prompts hold.
 */
export const HELD_OUT = readSet('held-out', [
  ...['harbour', 'basalt', 'ferrite', 'margins', 'werk', 'maree', 'taller', 'yama'],
]);
