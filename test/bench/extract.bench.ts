// What extracting a session costs: the estimated input tokens of all requests, with a loopback model that records one
// valid entry in each excerpt and then says that it is done. Run: node test/bench/extract.bench.ts [--each]
// Over the Claude Code sessions of ../shared/transcripts in which a person's words are offered; without them over the
// project's own. A session's first extraction, with the default settings.

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isAppError } from '../../src/base/errors.ts';
import { listFiles } from '../../src/base/files/directories.ts';
import { openSession } from '../../src/transcript/session.ts';
import { extractionCost } from './extraction-cost.ts';

const { values } = parseArgs({ options: { each: { type: 'boolean', default: false } } });

/** Measured at the commit before excerpts were made tighter and runs ended with a whole acceptance. */
const BEFORE = { commit: 'b173f24', sessions: 42, medianTokens: 29_305 };

const shared = join(import.meta.dirname, '../../../shared/transcripts');
const root = existsSync(shared) ? shared : join(import.meta.dirname, '../fixtures/transcripts');
const dir = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
try {
  const files = (await listFiles(root)).filter((file) => /^claude-code\/.*\.jsonl$/.test(file));
  const tokens: number[] = [];
  let [requests, refusals, excerpts] = [0, 0, 0];
  for (const [index, file] of files.entries()) {
    const path = join(root, file);
    if (!(await canBeRead(path))) continue;
    const cost = await extractionCost(path, join(dir, String(index)));
    rmSync(join(dir, String(index)), { recursive: true, force: true });
    if (!cost.hasHumanWords) continue;
    tokens.push(cost.tokens);
    requests += cost.requests;
    excerpts += cost.excerpts;
    refusals += cost.refusals;
    if (values.each) console.log(`${JSON.stringify(cost)}  ${file}`);
  }
  const median = medianOf(tokens);
  const saved = 1 - median / BEFORE.medianTokens;
  console.log(
    `${tokens.length} sessions, ${excerpts} excerpts, ${requests} requests (${refusals} refused entries): ` +
      `median ${median} estimated input tokens, ${tokens.reduce((sum, count) => sum + count, 0)} in all; ` +
      `${BEFORE.medianTokens} at ${BEFORE.commit} over ${BEFORE.sessions} sessions: ${(saved * 100).toFixed(1)} % less (wanted 35)`,
  );
} finally {
  rmSync(dir, { recursive: true });
}

async function canBeRead(path: string): Promise<boolean> {
  try {
    await openSession(path);
    return true;
  } catch (error) {
    if (isAppError(error, 'unknown-format')) return false;
    throw error;
  }
}

function medianOf(counts: number[]): number {
  const sorted = counts.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : Math.round(((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2);
}
