// Which calls of an agent wrote into a memory: told by the versions of its files, whatever the tool, not by understanding the tool.

import { appendFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lookInto } from '../../src/memory/commit.ts';
import { inJobs } from '../support/job-world.ts';
import { ENGINES, type Engine, skipped } from '../support/memory-world.ts';
import { type Step, sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';
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
} from '../support/writing-calls.ts';

interface Changed {
  change?(file: string): void;
  at?: Date;
  transcript?: Transcript;
  engine?: Engine;
}

/** What became of the one turn of a session, after a change of the memory as told. DIR stands for its directory. */
async function turnOf(
  step: Step,
  { change, at = CALLED, transcript, engine = 'sqlite' }: Changed = {},
): Promise<string> {
  let became = '';
  await inJobs(engine, async (here) => {
    const file = join(here.dir, 'rules.md');
    writeFileSync(file, `# Rules\n\n${OLD}\n${MORE}`);
    utimesSync(file, new Date('2026-11-18T09:00:00Z'), new Date('2026-11-18T09:00:00Z'));
    here.setNow('2026-11-19T02:00:00.000Z');
    await lookInto(here.memories, { memory: here.row.id, paths: 'all' });
    here.setNow('2026-11-21T02:00:00.000Z');
    change?.(file);
    if (change) utimesSync(file, at, at);
    const called: Step = JSON.parse(JSON.stringify(step).replaceAll('DIR', here.dir));
    const session = sessionFile(tempDir());
    if (!transcript) session.add(PROMPT, [called, { says: 'Done.' }]);
    const { coverage } = await here.extract(transcript ? transcript(called as Called) : session);
    became = coverage.map((turns) => turns.became).join();
  });
  return became;
}

const adds = (file: string) => appendFileSync(file, `${DANA}\n`);
/** Long after, so that only what was added tells. */
const LATER = new Date('2026-11-20T15:00:00Z');

test.each(WRITES)(
  'a turn is left to the agent where a call names a file and holds what was added there: $calls $input',
  async (step) => {
    expect(await turnOf(step, { change: adds, at: LATER })).toBe('own-write');
  },
);

test.each([
  ['sed -i "s/Mondays/Tuesdays/" DIR/rules.md', 'Mondays', 'Tuesdays'],
  ['cp draft.md DIR/rules.md', OLD, DANA],
  ['echo tabs>>DIR/rules.md', OLD, `${OLD}\n- tabs`],
])('or while which the file was written: %s', async (command, from, to) => {
  const change = (file: string) => writeFileSync(file, readFileSync(file, 'utf8').replace(from, to));
  expect(await turnOf(bash(command), { change })).toBe('own-write');
  expect(await turnOf(bash(command), { change, at: LATER })).not.toContain('own-write');
});

test.each(Object.entries(FORMATS))('in %s the agent’s own write is not extracted again', async (_, transcript) => {
  for (const step of [
    called('Write', { file_path: 'DIR/rules.md', content: `# Rules\n\n${DANA}\n` }),
    bash(`cat >> DIR/rules.md <<'EOF'\n${DANA}\nEOF`),
  ]) {
    expect(await turnOf(step, { change: adds, at: LATER, transcript })).toBe('own-write');
    expect(await turnOf(step, { transcript })).not.toContain('own-write');
  }
});

test.each([
  ['that reads a file that a person changes later', called('Read', { file_path: 'DIR/rules.md' })],
  ['that reads it by a command', bash('cat DIR/rules.md')],
  ['that looks for what stood there before', bash(`grep -n "${OLD}" DIR/rules.md`)],
  ['whose write failed', called('Write', { file_path: 'DIR/rules.md', content: DANA }, { fails: true })],
  ['that wrote something else into a file of that name', bash("echo 'Use tabs here.' >> /tmp/rules.md")],
  ['whose call holds the line and names no file', bash(`echo "${DANA}"`)],
  ['that writes by a script which does not tell what', bash('./remember.sh')],
  ['that wrote the same into a file of that name elsewhere', bash(`echo "${DANA}" >> /home/ada/other/rules.md`)],
])('a turn is extracted %s', async (_, step) => {
  expect(await turnOf(step, { change: adds, at: LATER })).toMatch(/^(recorded|nothing)$/);
});

test('where nothing was written, though the call says so, the turn is extracted', async () => {
  expect(await turnOf(bash(`echo "${DANA}" >> DIR/rules.md`))).toMatch(/^(recorded|nothing)$/);
});

test.each(ENGINES)(
  'what a person says after a write stays open, also where a later call looks for it (%s)',
  async (engine) => {
    if (skipped(engine)) return;
    await inJobs(engine, async (here) => {
      const file = join(here.dir, 'rules.md');
      const change = (line: string, at: string) => {
        appendFileSync(file, `${line}\n`);
        utimesSync(file, new Date(at), new Date(at));
      };
      const session = sessionFile(tempDir());
      session.add(PROMPT, [
        called('Bash', { command: `echo "${DANA}" >> ${file}` }),
        { types: 'Never deploy on a Friday.' },
        called('Bash', { command: `grep -c "${DANA}" ${file}` }),
        called('Read', { file_path: file }),
      ]);
      change(DANA, '2026-11-20T09:00:20Z');
      await lookInto(here.memories, { memory: here.row.id, paths: 'all' });
      change('- Sam orders the ink.', '2026-11-20T15:00:00Z');
      const { coverage } = await here.extract(session);
      expect(coverage.map(({ became }) => became)).toEqual(['own-write', 'recorded']);
    });
  },
);
