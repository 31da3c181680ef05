// A kept copy of a session that is far too large to be held is redacted in pieces.

import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { listFiles } from '../../src/base/files/directories.ts';
import type { Redaction } from '../../src/memory/history/redact/redaction.ts';
import { testApp } from '../support/app.ts';
import { sized } from '../support/depth.ts';
import { run } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';

const SECRET = 'correct horse battery';
/** A snapshot, in pieces of 20 MB, and less memory than it has bytes. */
const PIECES = sized({ quick: 3, deep: 10 });
const LESS_MEMORY = { nodeArgs: [`--max-old-space-size=${PIECES * 16}`] };

/** The second command of a test: in the small size in this process, which is not short of memory. */
const runAgain = sized<typeof run>({
  quick: async (...[args, environment]) => ({ ...(await runHere(args, environment)), signal: null }),
  deep: run,
});

test(`a snapshot of ${PIECES * 20} MB is redacted`, async () => {
  const testing = await testApp();
  await testing.app.remember(testing.store, { text: `The box says ${SECRET}.`, type: 'project' });
  const snapshot = join(testing.dir, '.nocturne/snapshots/s.jsonl');
  const line = (text: string) => `${JSON.stringify({ message: { id: 'm1', parts: [{ kind: 'text', text }] } })}\n`;
  mkdirSync(dirname(snapshot), { recursive: true });
  writeFileSync(snapshot, line(`said "${SECRET}" first`));
  const filler = line('nothing of it '.repeat(70_000)).repeat(20);
  for (let at = 0; at < PIECES; at++) appendFileSync(snapshot, filler);
  appendFileSync(snapshot, line(`and "${SECRET}" last`));
  const bytes = statSync(snapshot).size;
  expect(bytes).toBeGreaterThan(PIECES * 19_000_000);
  const match = `"${SECRET}"`;
  const dry = await runAgain(['redact', '--match', match, '--dry-run', '--json'], testing.environment, LESS_MEMORY);
  expect((JSON.parse(dry.stdout) as Redaction).snapshots).toEqual(['s.jsonl']);
  expect(statSync(snapshot).size).toBe(bytes);
  const done = await run(['redact', '--match', SECRET], testing.environment, LESS_MEMORY);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(await holdersOf(testing.dir, [])).toEqual([]);
  expect(statSync(snapshot).size).toBe(bytes - 2 * (SECRET.length - '[redacted]'.length));
});

/** The files below a directory, but for those left out, that hold the secret in their bytes. */
async function holdersOf(dir: string, except: string[]): Promise<string[]> {
  const paths = (await listFiles(dir)).filter((path) => !except.includes(path));
  const found = paths.filter((path) => readFileSync(join(dir, path)).includes(SECRET));
  // The last process that closes a database moves its log into it.
  return [...new Set(found.map((path) => path.replace(/-wal$/, '')))];
}
