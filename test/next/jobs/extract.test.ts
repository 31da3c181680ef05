// A session in, entries with their quotes, log lines and coverage out, on both engines.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { aSession } from '../../support/session-file.ts';
import { extractInto } from '../next-jobs.ts';
import { ENGINES, inWorld, skipped } from '../next-memory.ts';

const LOG = 'logs/2026/11/2026-11-20.md';

describe.each(ENGINES)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('a session becomes entries with checked quotes in the log of its day, and coverage', () =>
    inWorld(engine, async (world) => {
      const { dir, row } = await world.withDirectory();
      const session = aSession([
        'Always use pnpm instead of npm.',
        'The release deadline is 2026-12-04.',
        'I prefer short answers.',
      ]);
      const report = await extractInto(row, world, { transcript: session.path });
      expect(report).toMatchObject({
        session: session.id,
        outcome: 'recorded',
        coverage: [{ from: session.turn(1), to: session.turn(3), became: 'recorded' }],
        unreadableLines: 0,
      });
      expect(readFileSync(join(dir, LOG), 'utf8')).toContain('- 09:00 **feedback** Always use pnpm instead of npm.');
      expect(await extractInto(row, world, { transcript: session.path })).toMatchObject({
        outcome: 'nothing-new',
        spend: { calls: 0 },
      });
    }));
});
