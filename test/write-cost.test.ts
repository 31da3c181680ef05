// What remembering costs: the tokens that the example sessions and the night after them take, beside what they took when it
// was last recorded. `WRITE_COST=record` records anew: a prompt that grows on purpose says so in its commit.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startModel } from './compare/model.ts';
import { jobsInProcess } from './support/jobs-in-process.ts';
import { tempDir } from './support/temp.ts';

const RECORDED = join(import.meta.dirname, 'data/write-cost.json');
const EXAMPLES = join(import.meta.dirname, 'fixtures/example');
const GROWTH = 1.1;

test('the example sessions and their night cost no more than a tenth above what was recorded', async () => {
  const model = await startModel({ latencyMs: 0 });
  onTestFinished(() => model.close());
  const access = { apiKey: 'loopback', baseURL: model.url };
  const jobs = await jobsInProcess(tempDir(), '2026-11-21T02:00:00Z', { all: { model: 'loopback', access } });
  const sessions = readdirSync(EXAMPLES).filter((name) => name.endsWith('.jsonl'));
  for (const name of sessions) await jobs.extract(join(EXAMPLES, name));
  const extract = model.take();
  await jobs.dream();
  const dream = model.take();
  const cost = {
    extract: Math.round((extract.inputTokens + extract.outputTokens) / sessions.length),
    dream: dream.inputTokens + dream.outputTokens,
  };
  if (process.env.WRITE_COST === 'record') writeFileSync(RECORDED, `${JSON.stringify(cost)}\n`);
  const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as typeof cost;
  const said = (kind: keyof typeof cost) => `${kind} ${cost[kind]} tokens (recorded ${recorded[kind]})`;
  console.log(`Write cost: ${said('extract')} a session, ${said('dream')} a night.`);
  expect(extract.requests).toBe(sessions.length);
  expect(dream.requests).toBe(1);
  expect(cost.extract).toBeLessThanOrEqual(recorded.extract * GROWTH);
  expect(cost.dream).toBeLessThanOrEqual(recorded.dream * GROWTH);
});
