// A process that adds a line to a file of a store in the database. It kills or stops itself at a step, by its number from 1,
// and says each step, and how it ended, on a line of its own: `writer.ts URL STORE LINE [die|stop] [STEP] [LEASE_MS]`.

import { writeSync } from 'node:fs';
import { FleetStores } from '../../../../src/wings/fleet/stores/fleet-stores.ts';
import { tempDir } from '../../../support/temp.ts';

const [, , url = '', id = '', line = '', how = '', at = '0', lease = '250'] = process.argv;
let steps = 0;

function onStep(step: string): void {
  steps += 1;
  writeSync(1, `${step}\n`);
  if (steps === Number(at)) process.kill(process.pid, how === 'die' ? 'SIGKILL' : 'SIGSTOP');
}

const stores = await FleetStores.open({ database: url, home: tempDir(), leaseMs: Number(lease), onStep });
const store = await stores.open(id);
const add = () =>
  store.commit({ actor: 'job:test' }, () => ({ files: [{ path: 'a.md', change: (text) => `${text}${line}\n` }] }));
const ended = await add().then(
  () => 'kept',
  (error) => error.code ?? String(error),
);
writeSync(1, `ended ${ended}\n`);
await stores.close();
