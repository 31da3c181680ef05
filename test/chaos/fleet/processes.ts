// The workers and servers of a fleet, each with a home of its own, and what befalls them. Loads no test runner.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import type { Environment } from '../../../src/base/config/config.ts';
import { refusedPort } from '../../queue/servers.ts';
import type { Random } from '../../support/random.ts';
import { isWorking, type Program, supervise } from '../supervised.ts';

const START_MS = 60_000;
/** Of one that cannot begin, or go on, while what all share is away: it says so and its supervisor starts it anew. */
const IS_AWAY = /cannot be reached|Cannot reach|ECONNREFUSED|shutting down|starting up|terminat|not answer/i;

interface FleetOptions {
  root: string;
  workers: number;
  servers: number;
  /** What each is given besides its home. */
  environment: Environment;
  settings: object;
}

export interface Member extends Program {
  kind: 'worker' | 'server';
  /** Of a server. */
  url?: string;
}

/** Every other machine's clock is right, the others' are minutes ahead or behind. */
const aheadOf = (nth: number) => (nth % 2 === 1 ? (nth % 4 === 1 ? 1 : -1) * 240_000 : 0);

export async function startFleet({ root, workers, servers, environment, settings }: FleetOptions) {
  const homeOf = (name: string) => {
    const home = join(root, name);
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, 'config.json'), JSON.stringify(settings));
    return home;
  };
  const members: Member[] = [];
  for (let nth = 0; nth < workers; nth += 1) {
    const name = `worker-${nth}`;
    members.push({ name, kind: 'worker', home: homeOf(name), args: ['worker'], aheadMs: aheadOf(nth) });
  }
  for (let nth = 0; nth < servers; nth += 1) {
    const [name, port] = [`server-${nth}`, String(await refusedPort())];
    const args = ['serve', '--no-worker', '--port', port];
    members.push({
      name,
      kind: 'server',
      home: homeOf(name),
      url: `http://127.0.0.1:${port}`,
      args,
      aheadMs: aheadOf(nth),
    });
  }
  const urls = members.flatMap(({ url }) => url ?? []);
  const answers = (url: string) =>
    fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => false,
    );
  const all = supervise(members, {
    environment,
    isUp: (slot) => (slot.program.url === undefined ? isWorking(slot) : answers(slot.program.url)),
    isAway: (said) => IS_AWAY.test(said),
  });
  return {
    ...all,
    urls,
    /** When all servers answer. */
    async ready() {
      for (const from = performance.now(); ; await after(50)) {
        if ((await Promise.all(urls.map(answers))).every(Boolean)) return;
        if (performance.now() - from > START_MS) throw new Error(`A server does not come up: ${all.deaths.join('\n')}`);
      }
    },
    /** One disturbance, chosen by chance; one that stops does so for up to so long. */
    disturb(random: Random, mostStopMs: number) {
      const kind = random.pick(['kill', 'kill', 'stop'] as const);
      const slot = random.pick(all.slots);
      all.note(`${kind} ${slot.program.kind}`);
      if (kind === 'kill') return all.kill(slot);
      slot.child.kill('SIGSTOP');
      setTimeout(() => slot.child.kill('SIGCONT'), 300 + random.below(mostStopMs));
    },
  };
}
