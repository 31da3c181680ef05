// npm run chaos: five minutes of chaos on each backend, or as told; ends with 1 where a promise was broken. --publish writes
// what was counted into docs/evidence.md.

import { parseArgs } from 'node:util';
import { measuredOn, publishPart } from '../compare/evidence.ts';
import { type ChaosPlan, type ChaosReport, runChaos } from './chaos.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    backend: { type: 'string', multiple: true },
    sessions: { type: 'string', default: '500' },
    directories: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '90' },
    publish: { type: 'boolean', default: false },
  },
});

const postgresUrl = process.env.DATABASE_URL ?? 'postgres://root:postgres@127.0.0.1:5432/test';
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const reports = new Map<string, ChaosReport>();
for (const backend of (values.backend ?? ['redis', 'postgres', 'embedded']) as ChaosPlan['backend'][]) {
  const report = await runChaos(
    {
      seed,
      backend,
      postgresUrl,
      workers: backend === 'embedded' ? 1 : 2,
      concurrency: 4,
      directories: Number(values.directories),
      sessions: Number(values.sessions),
      everyMs: 1_200,
      disturbForMs: Number(values.seconds) * 1_000,
      limitMs: 300_000,
    },
    (line) => process.stderr.write(`${line}\n`),
  );
  reports.set(backend, report);
  const { violations, ...counts } = report;
  process.stdout.write(`${backend}: ${JSON.stringify(counts)}\n`);
  for (const violation of violations) process.stdout.write(`  ${violation}\n`);
  if (violations.length > 0) process.exitCode = 1;
}
if (values.publish) publishPart('chaos', table());

/** What was counted, with what repeats it. */
function table(): string {
  const { date, commit, machine } = measuredOn();
  const rows = [...reports].map(([backend, { disturbances, turns, entries, lost, doubled, violations, seconds }]) => {
    const done = Object.entries(disturbances).map(([what, times]) => `${what} ${times} ×`);
    const counts = [seed, values.sessions, values.directories, turns, entries, lost, doubled, violations.length];
    return `| ${[backend, ...counts, seconds, done.join(', ')].join(' | ')} |`;
  });
  return [
    `Measured on ${date} at ${commit} (${machine}).\n`,
    '| | seed | sessions | directories | things said | entries | lost | doubled | broken promises | s | disturbances |',
    '|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|',
    ...rows,
  ].join('\n');
}
