// The modules of one run. In a checkout they are loaded once, so that a process is good for one run; in a build this
// file is one that has them compiled and evaluates them at each call (build.js), in a few milliseconds.

import { answerRun } from '../loop.ts';

/** Whether each call of `loadRun` answers modules that no run has used. */
export const isFreshEachTime: boolean = false;

export function loadRun(): typeof answerRun {
  return answerRun;
}
