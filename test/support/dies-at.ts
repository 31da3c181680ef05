// Preloaded into a worker: kills it at the nth step (from 1) by which it changes the disk. NOCTURNE_TEST_DIES_AT: `n`,
// counted from its start, or `sent+n`, from the instant at which a batch that it sent is answered.

import { subscribe } from 'node:diagnostics_channel';
import { onEachStep } from './disk-steps.ts';

const [, sent, step] = /^(sent\+)?(\d+)$/.exec(process.env.NOCTURNE_TEST_DIES_AT ?? '') ?? [];
let isCounting = sent === undefined;
let stepsLeft = Number(step);

onEachStep(() => {
  if (isCounting) stepsLeft -= 1;
  if (stepsLeft === 0) process.kill(process.pid, 'SIGKILL');
});

subscribe('undici:request:headers', (message) => {
  const { method, path } = (message as { request: { method: string; path: string } }).request;
  isCounting ||= method === 'POST' && path === '/v1/messages/batches';
});
