// A process to be killed: listens on the embedded queue in argv[2] with a handler that never ends, and rings without
// end. Says `running` once a wake-up is being handled and a hundred more have been rung.

import { openWakeQueue } from '../../src/queue/queue.ts';

const queue = await openWakeQueue({ dataDir: process.argv[2] as string, namespace: 'killed' });
const { promise: isRunning, resolve } = Promise.withResolvers<void>();
queue.listen(
  () => {
    resolve();
    return new Promise<never>(() => {});
  },
  { concurrency: 1, onError: (error) => process.stderr.write(`${error}\n`) },
);
await queue.notify({ kind: 'extract', store: '/memory', key: 'active' });
await isRunning;
for (let n = 0; ; n += 1) {
  await queue.notify({ kind: 'extract', store: '/memory', key: `waiting ${n}` });
  if (n === 99) process.stdout.write('running\n');
}
