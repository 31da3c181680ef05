// Whatever is killed while an agent's program answers (the worker, the process between, the program), soon nothing runs of all
// that was started for it. The deep size kills a hundred times.

import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { PROGRAMS as NAMES } from '../../src/agent/programs/programs.ts';
import { SEED, sized } from '../support/depth.ts';
import { processesWith } from '../support/processes.ts';
import { seeded } from '../support/random.ts';
import { until } from '../support/run.ts';
import { PROGRAMS } from './install.ts';
import { modelWorld } from './model-world.ts';

const WITHIN_MS = 5_000;
const AT_ONCE = 4;
const kills = sized({ quick: 8, deep: 100 });
const ROLES = {
  worker: /dist\/nocturne\.js learn/,
  between: /group-leader\.js/,
  program: /^(?!.*group-leader)\S*(?:\/claude|\/codex| \S*\/codex) /,
};
type Role = keyof typeof ROLES;

/** Kills one of them at some moment after the request came, or before; answers what is left after five seconds. */
async function killOne({ name, role, afterMs, isAsked }: Kill) {
  const at = await modelWorld(name, () => 'hang');
  const ours = () => [...processesWith(`HOME=${at.home}`)];
  const running = at.begin('learn', at.session.path);
  if (isAsked) await until(() => at.server.asked.length > 0);
  await pause(afterMs);
  const before = ours();
  const victims = before.filter(([, command]) => ROLES[role].test(command));
  // What is not there yet cannot be killed.
  for (const [pid] of victims.length > 0 ? victims : [[running.pid] as const]) kill(pid);
  const left: [number, string][] = [];
  if (!isAsked && role !== 'worker' && victims.length > 0) {
    // The program may only have been asked whether it is logged in: the worker asks it anew and goes on, and is killed then.
    const asked = new Set(before.filter(([, command]) => !ROLES.worker.test(command)).map(([pid]) => pid));
    left.push(...(await leftOf(() => ours().filter(([pid]) => asked.has(pid)))));
    running.kill('SIGKILL');
  }
  left.push(...(await leftOf(ours)));
  for (const [pid] of left) kill(pid);
  await running.ended;
  return { isFound: victims.length > 0, commands: left.map(([, command]) => command) };
}

function kill(pid: number) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** Those that are still there after five seconds. */
async function leftOf(those: () => [number, string][]) {
  await until(() => those().length === 0, WITHIN_MS).catch(() => {});
  return those();
}

interface Kill {
  name: (typeof NAMES)[number];
  role: Role;
  afterMs: number;
  isAsked: boolean;
}

describe.skipIf(PROGRAMS === null)('kills', () => {
  test(`${kills} kills at random: five seconds later no process of the run is left`, async () => {
    const random = seeded(SEED);
    const all = Array.from({ length: kills }, (_, at): Kill => {
      const name = NAMES[at % NAMES.length] as Kill['name'];
      const role = Object.keys(ROLES)[Math.floor(at / NAMES.length) % 3] as Role;
      // The first of each find their victim for certain.
      const isAsked = at < 6 || random.below(3) > 0;
      return { name, role, afterMs: random.below(isAsked ? 200 : 2_500), isAsked };
    });
    const left: object[] = [];
    const found = new Set<string>();
    const rest = all.values();
    const killSome = async () => {
      for (const kill of rest) {
        const { isFound, commands } = await killOne(kill);
        if (isFound) found.add(`${kill.name} ${kill.role}`);
        if (commands.length > 0) left.push({ ...kill, commands });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, killSome));
    expect(left).toEqual([]);
    expect(found.size).toBe(NAMES.length * 3);
  });
});
