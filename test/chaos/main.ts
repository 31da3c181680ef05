// npm run chaos: minutes of chaos on one machine on each backend, and of a fleet (fleet/chaos.ts), or as told; ends with 1 where a
// promise was broken. --publish takes a plan and a seed that are always the same, and writes what was counted into
// docs/dev/evidence.md.

import { parseArgs } from 'node:util';
import { measuredOn, publishPart } from '../support/evidence.ts';
import type { ChaosPlan, ChaosReport } from './chaos.ts';

const { PUBLISHED, runChaos } = await import('./chaos.ts');
const { PLAN, runFleetChaos } = await import('./fleet/chaos.ts');

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    backend: { type: 'string', multiple: true },
    sessions: { type: 'string' },
    directories: { type: 'string' },
    seconds: { type: 'string' },
    publish: { type: 'boolean', default: false },
  },
});

const usual = { ...PUBLISHED, seed: Date.now() % 1_000_000, sessions: 500, directories: 20, disturbForMs: 90_000 };
const plan = values.publish ? { ...PUBLISHED } : usual;
for (const name of ['seed', 'sessions', 'directories'] as const) plan[name] = Number(values[name] ?? plan[name]);
if (values.seconds !== undefined) plan.disturbForMs = Number(values.seconds) * 1_000;
const reports = new Map<string, ChaosReport>();
const told = ({ violations, ...counts }: { violations: string[] }, backend: string) => {
  process.stdout.write(`${backend}: ${JSON.stringify(counts)}\n`);
  for (const violation of violations) process.stdout.write(`  ${violation}\n`);
  if (violations.length > 0) process.exitCode = 1;
};
const all = values.publish ? ['redis', 'polling'] : ['redis', 'polling', 'fleet'];
for (const backend of (values.backend ?? all) as (ChaosPlan['backend'] | 'fleet')[]) {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  if (backend === 'fleet') {
    told(await runFleetChaos({ ...PLAN, seed: plan.seed, queue: 'redis' }, say), backend);
    continue;
  }
  const report = await runChaos({ ...plan, backend }, say);
  reports.set(backend, report);
  told(report, backend);
}
if (values.publish) publishPart('chaos', table());

/** What was counted, with what repeats it. */
function table(): string {
  const { date, commit, machine } = measuredOn();
  const rows = [...reports].map(([backend, { disturbances, turns, entries, lost, doubled, violations, seconds }]) => {
    const done = Object.entries(disturbances).map(([what, times]) => `${what} ${times} ×`);
    const counts = [plan.seed, plan.sessions, plan.directories, turns, entries, lost, doubled, violations.length];
    return `| ${[backend, ...counts, seconds, done.join(', ')].join(' | ')} |`;
  });
  return [
    `Measured on ${date} at ${commit} (${machine}).\n`,
    '| | seed | sessions | directories | things said | entries | lost | doubled | broken promises | s | disturbances |',
    '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|',
    ...rows,
  ].join('\n');
}
