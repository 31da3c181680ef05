// An embedded queue that is made already, for tests of what workers do with one. Making it costs 3.5 s of processor,
// opening one 0.5 s. Who tests that it is made (anew) starts without: queue/embedded.test.ts, doors/queues.test.ts.

import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openWakeQueue } from '../../src/queue/queue.ts';

const ROOT = join(import.meta.dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/nocturne-test');

/** Copies one to `dataDir`, which does not exist yet. */
export async function copyEmbeddedQueue(dataDir: string): Promise<void> {
  const made = join(CACHE, `queue-${madeFrom()}`);
  if (!existsSync(made)) await make(made);
  cpSync(made, dataDir, { recursive: true });
}

/** What decides how the database looks: the libraries' versions, and our settings. */
function madeFrom(): string {
  const sources = ['package-lock.json', 'src/queue/backend.ts'];
  const hash = createHash('sha256');
  for (const path of sources) hash.update(readFileSync(join(ROOT, path)));
  return hash.digest('hex').slice(0, 16);
}

async function make(place: string): Promise<void> {
  mkdirSync(CACHE, { recursive: true });
  const dir = mkdtempSync(join(CACHE, 'making-'));
  await (await openWakeQueue({ dataDir: join(dir, 'queue') })).close({ deadlineMs: 0 });
  try {
    renameSync(join(dir, 'queue'), place);
  } catch (error) {
    // Another test file was faster.
    if (!existsSync(place)) throw error;
  }
  rmSync(dir, { recursive: true, force: true });
}
