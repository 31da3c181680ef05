// npm run chaos: five minutes of chaos on each backend, or as told; ends with 1 where a promise was broken.

import { parseArgs } from 'node:util';
import { type ChaosPlan, runChaos } from './chaos.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    backend: { type: 'string', multiple: true },
    sessions: { type: 'string', default: '500' },
    directories: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '90' },
  },
});

const postgresUrl = process.env.DATABASE_URL ?? 'postgres://root:postgres@127.0.0.1:5432/test';
const seed = Number(values.seed ?? Date.now() % 1_000_000);
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
  const { violations, ...counts } = report;
  process.stdout.write(`${backend}: ${JSON.stringify(counts)}\n`);
  for (const violation of violations) process.stdout.write(`  ${violation}\n`);
  if (violations.length > 0) process.exitCode = 1;
}
