// Sessions of all agents: made ones, and every one we have from real agents, through the command line.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ExtractReport } from '../../jobs/extract.ts';
import { redact } from '../../src/base/secrets/redact-text.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { waysTaken } from '../support/depth.ts';
import { says } from '../support/messages-server.ts';
import { shown } from '../support/obedient.ts';
import { runJsonHere } from '../support/run-here.ts';
import { hasReal, real, realFiles } from '../support/transcripts.ts';

const skipped = hasReal ? '' : ' (skipped: the real transcripts are not here)';
const CLAUDE_CODE = /^claude-code\/.*\.jsonl$/;
const FOREIGN = /^(?:codex|copilot|gemini|opencode)\/|\.summary\.json$/;

/** Of Claude Code's sessions and of others', in the small size. */
const parts = waysTaken([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
const thirds = waysTaken([0, 1, 2]);

async function extractAll(pattern: RegExp, testing: TestApp, isTaken: (at: number) => boolean = () => true) {
  const files = (await realFiles(pattern)).filter((_, at) => isTaken(at)).map((file) => join(real, file));
  expect(files.length).toBeGreaterThan(3);
  const ended = await runJsonHere<ExtractReport>(['learn', ...files], testing.environment);
  expect(ended.stderr).toBe('');
  expect(ended.values.map(({ transcript }) => transcript)).toEqual(files);
  return ended;
}

test.skipIf(!hasReal)(
  `${parts.length > 1 ? 'all' : 'a tenth of the'} Claude Code sessions extract in one call, and again at no cost${skipped}`,
  async () => {
    const testing = await testApp();
    const isTaken = (at: number) => parts.includes(at % 10);
    const first = await extractAll(CLAUDE_CODE, testing, isTaken);
    expect(first.code).toBe(0);
    const outcomes = new Set(first.values.map(({ outcome }) => outcome));
    for (const outcome of outcomes) expect(['recorded', 'nothing-worth-keeping', 'nothing-new']).toContain(outcome);
    for (const path of await testing.store.list()) {
      const text = readFileSync(join(testing.dir, path), 'utf8');
      expect(await redact(text)).toEqual({ text, found: [] });
    }
    const second = await extractAll(CLAUDE_CODE, testing, isTaken);
    expect(second.code).toBe(0);
    for (const report of second.values) expect(report).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
  },
);

test.skipIf(!hasReal)(
  `sessions of other agents extract, and what is no session is an unknown format${skipped}`,
  async () => {
    const testing = await testApp();
    const { code, values } = await extractAll(FOREIGN, testing, (at) => thirds.includes(at % 3));
    expect(code).toBe(1);
    for (const { transcript, outcome, spend } of values) {
      if (transcript.endsWith('.summary.json'))
        expect({ outcome, spend }).toMatchObject({ outcome: 'unknown-format', spend: { calls: 0 } });
      else expect(['recorded', 'nothing-worth-keeping', 'nothing-new'], transcript).toContain(outcome);
    }
    expect((await testing.rows('coverage')).length).toBeGreaterThan(0);
  },
);

test.skipIf(!hasReal)(`of a session that grows every message is offered once${skipped}`, async () => {
  const growth = (await realFiles(/^claude-code-growth\/.*\/\d+\.jsonl$/)).map((file) => join(real, file));
  const stepwise = await offeredBy(growth);
  const atOnce = await offeredBy(growth.slice(-1));
  expect(stepwise.length).toBeGreaterThan(growth.length);
  expect(new Set(stepwise).size).toBe(stepwise.length);
  const human = (rows: string[]) => rows.filter((row) => row.includes(' human'));
  expect(human(stepwise)).toEqual(human(atOnce));
});

/** The rows that the model could rest an entry on, of all requests that these extractions made. */
async function offeredBy(files: string[]): Promise<string[]> {
  const model = await testModel(() => says('Nothing worth keeping.'));
  const { environment } = await testApp({ server: model });
  for (const [index, file] of files.entries()) {
    expect((await runJsonHere<ExtractReport>(['learn', file], environment)).code).toBe(0);
    expect(model.requests.length).toBeGreaterThan(index);
  }
  return model.requests.flatMap((request) => {
    const rows = shown(request, 'excerpt').replaceAll(/^\(\d+ left out\)\n/gm, '');
    return rows.split(/^(?=\[\S+ (?:human|assistant|tool|subagent))/m).filter((row) => !/^.* context\]/.test(row));
  });
}
