// A second set, held out: other people, trades and words than in the set of our own. It was written before the offline
// model's rules for six languages; nothing may be fitted to its sentences, so that it says whether rules and prompts hold.

import { type EvalSet, sampleOf } from '../set.ts';
import { BASALT, HARBOUR } from './english-1.ts';
import { FERRITE, MARGINS } from './english-2.ts';
import { MAREE } from './maree.ts';
import { TALLER } from './taller.ts';
import { WERK } from './werk.ts';
import { YAMA } from './yama.ts';

export const HELD_OUT: EvalSet = {
  name: 'held-out',
  samples: [
    sampleOf('harbour', HARBOUR),
    sampleOf('basalt', BASALT),
    sampleOf('ferrite', FERRITE),
    sampleOf('margins', MARGINS),
    sampleOf('werk', WERK),
    sampleOf('maree', MAREE),
    sampleOf('taller', TALLER),
    sampleOf('yama', YAMA),
  ],
  notes: [],
};
