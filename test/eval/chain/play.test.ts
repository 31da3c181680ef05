// A chain of sessions through the hooks and jobs: what each was told, and the same play from its answers alone.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runAgent } from '../../../src/agent/loop.ts';
import { asking, scriptedModel } from '../../support/scripted-model.ts';
import { aSession, RULE } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { playChain, toldIn } from './play.ts';

const [FIRST, SECOND] = ['11111111-2222-4333-8444-555555555555', '22222222-2222-4333-8444-555555555555'];

test('a later session is told what an earlier one said; played again from its answers it is told the same, unless something else is asked', async () => {
  const dir = tempDir();
  aSession(['And which package manager is it?'], { dir, id: SECOND, startsAt: '2026-11-22T09:00:00Z' });
  aSession([RULE], { dir, id: FIRST, startsAt: '2026-11-20T09:00:00Z' });
  const environment = { ...process.env, ...asking(await scriptedModel()) };
  const play = (out: string, more: object = {}) =>
    playChain(dir, { out, model: 'test-model', environment: { ...environment, ...more }, parts: { runAgent } });
  const out = tempDir();
  const played = await play(out);
  expect(played).toMatchObject({ sessions: 2, others: 0 });
  expect(played.told).toMatchObject([
    { session: FIRST, on: 'start', text: '' },
    { session: SECOND, on: 'start', text: expect.stringContaining(RULE) },
  ]);
  expect(readdirSync(join(out, 'after/1'))).toContain('working-agreements.md');
  // What was done is not done again.
  expect(await play(out, { ANTHROPIC_BASE_URL: undefined })).toMatchObject({ told: played.told, asked: 0 });

  const again = tempDir();
  const answers = readFileSync(join(out, 'answers.jsonl'), 'utf8');
  const replayed = await replay(again, answers);
  expect(replayed).toMatchObject({ others: 0, asked: played.asked });
  const plain = (of: object, at: string) =>
    JSON.stringify(of)
      .replaceAll(at, '')
      .replaceAll(/job_\w+/g, 'job');
  expect(plain(toldIn(again), again)).toBe(plain(played.told, out));
  expect(await replay(tempDir(), answers.replaceAll(/"asked":"\w{8}/g, '"asked":"00000000'))).toMatchObject({
    others: played.asked,
  });

  async function replay(to: string, from: string) {
    writeFileSync(join(to, 'answers.jsonl'), from);
    return play(to, { ANTHROPIC_BASE_URL: undefined });
  }
});
