// Preloaded into a worker: kills it at the nth step (from 1) by which it changes the disk. NOCTURNE_TEST_DIES_AT: `n`,
// counted from its start.

import { onEachStep } from './disk-steps.ts';

let stepsLeft = Number(process.env.NOCTURNE_TEST_DIES_AT);

onEachStep(() => {
  stepsLeft -= 1;
  if (stepsLeft === 0) process.kill(process.pid, 'SIGKILL');
});
