// The evaluation set of our own: seven people, each with a memory directory of their own, over eleven weeks.

import { type EvalSet, sampleOf } from '../set.ts';
import { ATELIER } from './atelier.ts';
import { HAFEN } from './hafen.ts';
import { HOUSEHOLD } from './household.ts';
import { KAZE } from './kaze.ts';
import { MOLINO } from './molino.ts';
import { ORCHARD_1 } from './orchard-1.ts';
import { ORCHARD_2 } from './orchard-2.ts';
import { TESI } from './tesi.ts';

export const OWN: EvalSet = {
  name: 'own',
  samples: [
    sampleOf('orchard', [...ORCHARD_1, ...ORCHARD_2]),
    sampleOf('hafen', HAFEN),
    sampleOf('kaze', KAZE),
    sampleOf('molino', MOLINO),
    sampleOf('atelier', ATELIER),
    sampleOf('household', HOUSEHOLD),
    sampleOf('tesi', TESI),
  ],
  notes: [],
};
