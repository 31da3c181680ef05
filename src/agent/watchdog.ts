// Ties a child process to its parent: it ends when the parent ends, however that came, and by nothing else.
// Promises: gone within half a second of the parent's death, even in a blocked loop, where no handler of the main
// thread ever runs: a second thread looks at the parent's pid and kills its own process. The same thread ends a
// process that takes more memory than it may: V8's own limit does not see buffers.

import { Worker } from 'node:worker_threads';

const LOOK_EVERY_MS = 200;

/**
 * To be called first thing in a forked child. The process may still end itself. Its memory is limited to the number of
 * MiB that is its first argument, where one is given.
 */
export function endWithParent(): void {
  process.once('disconnect', () => process.exit(1));
  // Ctrl-C and service managers signal the whole group. What that means for a run is the parent's decision, which
  // otherwise would look like a crash of the child.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  // Code as text, so that it survives bundling into one file.
  const look = `
    const parent = ${process.ppid};
    const limitMb = ${Number(process.argv[2]) || Infinity};
    setInterval(() => {
      const isTooBig = process.memoryUsage.rss() > limitMb * 1024 * 1024;
      if (isTooBig) require('node:fs').writeSync(2, 'It took more than ' + limitMb + ' MiB of memory.');
      if (isTooBig || process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
    }, ${LOOK_EVERY_MS});
  `;
  new Worker(look, { eval: true }).unref();
}
