// Which calls wrote into a memory: told by what stands in its files, whatever the tool, not by understanding the tool.

import { appendFileSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { finishedCalls } from '../../../src/transcript/own-writes.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { testApp } from '../../support/app.ts';
import { type Step, sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { collect, hasReal, real, realFiles } from '../../support/transcripts.ts';

const DANA = '- Dana reviews every schema change.';
const OLD = '- We ship with Helm on Mondays.';
/** Lines that stood there before, too. */
const MORE = '- Kim leads the press room.\n- Ink is ordered on Fridays.\n';
/** Session files make their first call then. */
const CALLED = new Date('2026-11-20T09:00:20Z');

/** A memory with a file that nocturne knew the day before, changed as told, and what became of the one turn. */
async function turnOf(step: Step, { change, at = CALLED }: { change?(file: string): void; at?: Date } = {}) {
  const before = await testApp({ now: '2026-11-19T02:00:00Z' });
  const { dir, home } = before;
  const file = join(dir, 'rules.md');
  writeFileSync(file, `# Rules\n\n${OLD}\n${MORE}`);
  utimesSync(file, new Date('2026-11-18T09:00:00Z'), new Date('2026-11-18T09:00:00Z'));
  await before.store.commit({ actor: 'person' }, () => ({ files: [] }));
  await before.app.close();
  change?.(file);
  if (change) utimesSync(file, at, at);
  const session = sessionFile(tempDir());
  session.add('Remember who reviews.', [JSON.parse(JSON.stringify(step).replaceAll('DIR', dir)), { says: 'Done.' }]);
  const { app } = await testApp({ dir, home });
  const { coverage } = await app.extract({ transcript: session.path, ended: true });
  return coverage.map(({ became }) => became).join();
}

const called = (calls: string, input: unknown, more = {}): Step => ({
  calls,
  input: input as object,
  result: 'ok',
  ...more,
});
const bash = (command: string): Step => called('Bash', { command });
const adds = (file: string) => appendFileSync(file, `${DANA}\n`);
/** Long after, so that only what was added tells. */
const LATER = new Date('2026-11-20T15:00:00Z');

describe('a turn is left to the main agent where a call names a file and holds what was added there', () => {
  test.each([
    called('Edit', { file_path: 'DIR/rules.md', old_string: OLD, new_string: `${OLD}\n${DANA}` }),
    called('MultiEdit', { file_path: 'DIR/rules.md', edits: [{ old_string: OLD, new_string: `${OLD}\n${DANA}` }] }),
    called('write', { filePath: '../memory/rules.md', content: `# Rules\n\n${OLD}\n${MORE}${DANA}\n` }),
    called('edit', { path: '~/memory/rules.md', oldText: OLD, newText: `${OLD}\n${DANA}` }),
    called('create', { path: 'C:\\Users\\Ada\\memory\\rules.md', file_text: DANA }),
    called('mcp__files__write_file', { path: 'DIR/rules.md', contents: DANA }),
    called('patch', { patchText: `*** Begin Patch\n*** Update File: rules.md\n@@\n ${OLD}\n+${DANA}\n*** End Patch` }),
    called('apply_patch', `*** Begin Patch\n*** Update File: DIR/rules.md\n@@\n+${DANA}\n*** End Patch`),
    called('apply_patch', { type: 'update_file', path: 'DIR/rules.md', diff: `+${DANA}` }),
    bash(`echo "${DANA}" >> DIR/rules.md`),
    bash(`cat >> DIR/rules.md <<'EOF'\n${DANA}\nEOF`),
    bash(`D='DIR'; cd "$D" && printf '%s\\n' '${DANA}' | tee -a rules.md`),
    bash(`python3 -c "open('DIR/rules.md', 'a').write('${DANA}\\n')"`),
    called('PowerShell', { command: `Add-Content $HOME/memory/rules.md '${DANA}'` }),
    called('shell', { command: ['bash', '-lc', `echo '${DANA}' >> DIR/rules.md`] }),
    called('exec_command', { cmd: `echo '${DANA}' >> rules.md`, workdir: 'DIR' }),
    called('exec', `await tools.exec_command({cmd:"cat >> rules.md <<E\\n${DANA}\\nE","workdir":"DIR"})`),
  ])('by $calls $input', async (step) => {
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

describe('a turn is extracted', () => {
  test.each([
    ['that reads a file that a person changes later', called('Read', { file_path: 'DIR/rules.md' })],
    ['that reads it by a command', bash('cat DIR/rules.md')],
    ['that looks for what stood there before', bash(`grep -n "${OLD}" DIR/rules.md`)],
    ['whose write failed', called('Write', { file_path: 'DIR/rules.md', content: DANA }, { fails: true })],
    ['that wrote something else into a file of that name', bash("echo 'Use tabs here.' >> /tmp/rules.md")],
    ['whose call holds the line and names no file', bash(`echo "${DANA}"`)],
    ['that writes by a script which does not tell what', bash('./remember.sh')],
  ])('%s', async (_, step) => {
    expect(await turnOf(step, { change: adds, at: LATER })).toMatch(/^(recorded|nothing)$/);
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
