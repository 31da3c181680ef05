// Which calls wrote into a memory: told by what stands in its files, whatever the tool, not by understanding the tool.

import { appendFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { finishedCalls } from '../../../src/transcript/own-writes.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { testApp } from '../../support/app.ts';
import { waysTaken } from '../../support/depth.ts';
import { takeIn } from '../../support/recalling.ts';
import { type Step, sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { collect, hasReal, real, realFiles } from '../../support/transcripts.ts';
import {
  bash,
  CALLED,
  type Called,
  called,
  DANA,
  FORMATS,
  MORE,
  OLD,
  PROMPT,
  type Transcript,
  WRITES,
} from '../../support/writing-calls.ts';

/** A memory with a file that nocturne knew the day before. */
async function memoryBefore() {
  const { dir, home, app } = await testApp({ now: '2026-11-19T02:00:00Z' });
  const file = join(dir, 'rules.md');
  writeFileSync(file, `# Rules\n\n${OLD}\n${MORE}`);
  utimesSync(file, new Date('2026-11-18T09:00:00Z'), new Date('2026-11-18T09:00:00Z'));
  await takeIn({ app });
  await app.close();
  return { dir, home, file };
}

interface Changed {
  change?(file: string): void;
  at?: Date;
}

/** What became of the one turn of a session, after a change of the memory as told. DIR stands for its directory. */
async function turnOf(step: Step, { change, at = CALLED, transcript }: Changed & { transcript?: Transcript } = {}) {
  const { dir, home, file } = await memoryBefore();
  change?.(file);
  if (change) utimesSync(file, at, at);
  const here: Step = JSON.parse(JSON.stringify(step).replaceAll('DIR', dir));
  const session = sessionFile(tempDir());
  if (!transcript) session.add(PROMPT, [here, { says: 'Done.' }]);
  const { app, rows } = await testApp({ dir, home });
  const path = transcript ? transcript(here as Called) : session.path;
  await app.extract({ transcript: path, ended: true });
  return (await rows('fates')).join();
}

const adds = (file: string) => appendFileSync(file, `${DANA}\n`);
/** Long after, so that only what was added tells. */
const LATER = new Date('2026-11-20T15:00:00Z');

describe('a turn is left to the main agent where a call names a file and holds what was added there', () => {
  // In the small size every sixth.
  test.each(waysTaken(WRITES, 0, 6))('by $calls $input', async (step) => {
    expect(await turnOf(step, { change: adds, at: LATER })).toBe('main-agent');
  });

  test.each([
    ['sed -i "s/Mondays/Tuesdays/" DIR/rules.md', 'Mondays', 'Tuesdays'],
    ['cp draft.md DIR/rules.md', OLD, DANA],
    ['echo tabs>>DIR/rules.md', OLD, `${OLD}\n- tabs`],
  ])('or while which the file was written: %s', async (command, from, to) => {
    const change = (file: string) => writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
    expect(await turnOf(bash(command), { change })).toBe('main-agent');
    expect(await turnOf(bash(command), { change, at: LATER })).not.toContain('main-agent');
  });
});

// What kinds of calls there are is asked above, in one format.
test.each(waysTaken(Object.entries(FORMATS), 1, 3))(
  'in %s the agent’s own write is not extracted again',
  async (_, transcript) => {
    const step = bash(`cat >> DIR/rules.md <<'EOF'\n${DANA}\nEOF`);
    expect(await turnOf(step, { change: adds, at: LATER, transcript })).toBe('main-agent');
    expect(await turnOf(step, { transcript })).not.toContain('main-agent');
  },
);

describe('a turn is extracted', () => {
  test.each([
    ['that reads a file that a person changes later', called('Read', { file_path: 'DIR/rules.md' })],
    ['that reads it by a command', bash('cat DIR/rules.md')],
    ['that looks for what stood there before', bash(`grep -n "${OLD}" DIR/rules.md`)],
    ['whose write failed', called('Write', { file_path: 'DIR/rules.md', content: DANA }, { fails: true })],
    ['that wrote something else into a file of that name', bash("echo 'Use tabs here.' >> /tmp/rules.md")],
    ['whose call holds the line and names no file', bash(`echo "${DANA}"`)],
    ['that writes by a script which does not tell what', bash('./remember.sh')],
    ['that wrote the same into a file of that name elsewhere', bash(`echo "${DANA}" >> /home/ada/other/rules.md`)],
  ])('%s', async (_, step) => {
    expect(await turnOf(step, { change: adds, at: LATER })).toMatch(/^(recorded|nothing)$/);
  });

  test('in part: what a person says after a write stays open, also where a later call looks for what was written', async () => {
    const { dir, home, file } = await memoryBefore();
    const change = (line: string, at: string) => {
      appendFileSync(file, `${line}\n`);
      utimesSync(file, new Date(at), new Date(at));
    };
    const steps = [
      called('Bash', { command: `echo "${DANA}" >> ${file}` }),
      { types: 'Never deploy on a Friday.' },
      called('Bash', { command: `grep -c "${DANA}" ${file}` }),
      called('Read', { file_path: file }),
    ];
    const session = sessionFile(tempDir());
    session.add(PROMPT, steps);
    change(DANA, '2026-11-20T09:00:20Z');
    const { app, rows } = await testApp({ dir, home });
    for (const line of ['- Sam orders the ink.', '- Press days are Mondays.']) {
      change(line, '2026-11-20T15:00:00Z');
      await takeIn({ app });
    }
    await app.extract({ transcript: session.path, ended: true });
    expect(await rows('fates')).toEqual(['main-agent', 'recorded']);
  });

  test('where nothing was written, though the call says so', async () => {
    expect(await turnOf(bash(`echo "${DANA}" >> DIR/rules.md`))).toMatch(/^(recorded|nothing)$/);
  });
});

describe.skipIf(!hasReal)('real sessions (../shared/transcripts; skipped where they are not there)', () => {
  test('wrote to the memory of their own machines in exactly these turns', async () => {
    const found = new Set<string>();
    for (const path of await realFiles(/^claude-code\/.*\.jsonl$/)) {
      const session = await openSession(join(real, path));
      const turns = await collect(readTurns(session.messages()));
      turns.forEach((turn, at) => {
        if (finishedCalls(turn).some(({ memory }) => memory)) found.add(`${session.id.slice(0, 8)} ${at + 1}`);
      });
    }
    // All that INDEX.md marks as auto-memory-write or memory-write.
    expect([...found].sort()).toEqual(['1cd4e81e 6', '415c4d06 4', '4f8f5e9b 4', '5834c1ee 5', '76731dd6 2']);
  });
});
