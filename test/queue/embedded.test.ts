// What becomes of the embedded queue's directory: lost, broken, or of another version.

import { rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isAppError } from '../../src/base/errors.ts';
import { openPglitePool } from '../../src/queue/backend.ts';
import { openWakeQueue } from '../../src/queue/queue.ts';
import { sized, waysTaken } from '../support/depth.ts';
import { copyEmbeddedQueue } from '../support/embedded-queue.ts';
import { eventually, recorder, temporaryDirectory } from './backends.ts';

const dir = temporaryDirectory();
const dataDir = join(dir.path, 'home', 'queue');
const wakeUp = { kind: 'extract', store: '/memory', key: 's1' } as const;

beforeAll(() => copyEmbeddedQueue(dataDir));
afterAll(() => dir.remove());

async function migrateToTheFuture(): Promise<void> {
  const pool = await openPglitePool(dataDir);
  await pool.query('UPDATE migration SET min_client_version = 99');
  await pool.end();
}

// Each making of a database is seconds of the processor. In the small size `npm start` makes one where none was
// (doors/start.test.ts), and a worker one that was deleted (doors/queues.test.ts or queue-lost.test.ts).
test.skipIf(!sized({ quick: false, deep: true }))(
  'is made anew where its directory was deleted, and rings',
  async () => {
    rmSync(dataDir, { recursive: true });
    const queue = await openWakeQueue({ dataDir });
    expect(queue.rebuilt).toBe(false);
    await queue.notify(wakeUp);
    expect(await queue.counts()).toEqual({ waiting: 1, active: 0, delayed: 0 });
    await queue.close({ deadlineMs: 0 });
  },
);

const DAMAGES = [
  ['of another Postgres', () => writeFileSync(join(dataDir, 'PG_VERSION'), '14\n')],
  ['with a broken control file', () => truncateSync(join(dataDir, 'global', 'pg_control'), 100)],
  ['migrated by a newer BullMQ', migrateToTheFuture],
] as const;

test.for(DAMAGES)('a directory %s is replaced, and the queue says so', async (each, { skip }) => {
  const [, damage] = each;
  skip(!waysTaken(DAMAGES).includes(each));
  await damage();
  const queue = await openWakeQueue({ dataDir });
  expect(queue.rebuilt).toBe(true);
  const { heard, handler, onError } = recorder();
  queue.listen(handler, { concurrency: 1, onError });
  await queue.notify(wakeUp);
  await eventually(() => expect(heard).toEqual([wakeUp]));
  await queue.close({ deadlineMs: 0 });

  const again = await openWakeQueue({ dataDir });
  expect(again.rebuilt).toBe(false);
  await again.close({ deadlineMs: 0 });
});

test('a place where no directory can be made is an error that names it', async () => {
  const file = join(dir.path, 'file');
  writeFileSync(file, '');
  const error = await openWakeQueue({ dataDir: join(file, 'queue') }).catch((thrown) => thrown);
  expect(isAppError(error, 'storage')).toBe(true);
  expect(error.message).toContain(file);
});
