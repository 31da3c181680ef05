// The command line in a shell that an agent started: what it is told there is no word of the person.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { RememberReport } from '../../jobs/edit.ts';
import { testApp } from '../support/app.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { messagesAt } from '../support/transcripts.ts';

const PNPM = 'Always use pnpm instead of npm.';

test.each([
  [{ CLAUDECODE: '1' }, 'Claude Code'],
  [{ CODEX_THREAD_ID: 't' }, 'Codex'],
  [{ GEMINI_CLI: '1' }, 'Gemini CLI'],
  [{ OPENCODE: '1' }, 'opencode'],
  [{ COPILOT_CLI: '1' }, 'Copilot CLI'],
  [{ PI_CODING_AGENT: 'true' }, 'pi'],
])('with %o what is remembered is what %s found', async (shell, agent) => {
  const { environment, rows } = await testApp();
  const inShell = { ...environment, ...shell };
  for (const type of ['feedback', 'user', 'project', 'reference']) {
    const words = `${type}: ${PNPM}`;
    const { entry } = await jsonHere<RememberReport>(['remember', '--type', type, words], inShell);
    expect((await rows('entries')).find(({ id }) => id === entry.id)).toMatchObject({
      ...{ text: words, by: 'assistant', evidence: [], state: 'new' },
      type: type === 'reference' ? 'reference' : 'project',
    });
  }
  const { stdout } = await runHere(['remember', PNPM], inShell);
  expect(stdout).toContain(`something that ${agent} found`);
  const { stdout: told } = await runHere(['next'], environment);
  expect(told).toContain(`**project** [written by a program] ${PNPM}`);
  const { stdout: why } = await runHere(['why', PNPM], environment);
  expect(why).toMatch(/written by a program/);
});

test('what an agent remembered is the person’s once they say it, and no undo of theirs', async () => {
  const { environment, rows } = await testApp();
  const inShell = { ...environment, CLAUDECODE: '1' };
  const found = await jsonHere<RememberReport>(['remember', PNPM], inShell);
  expect(await jsonHere(['undo'], environment).catch(String)).toMatch(/nothing left here that you did/);
  const said = await jsonHere<RememberReport>(['remember', PNPM], environment);
  expect(said).toMatchObject({ outcome: 'remembered', entry: { type: 'feedback' } });
  expect((await rows('entries')).find(({ id }) => id === said.entry.id)).toMatchObject({ by: 'human' });
  expect(said.entry.id).not.toBe(found.entry.id);
  expect(await jsonHere(['remember', PNPM], inShell)).toMatchObject({ outcome: 'known' });
});

test.each([
  ['forget', ['forget', '--yes', 'pnpm']],
  ['undo', ['undo', '--last']],
  ['show --pin', ['show', 'hosts', '--pin']],
  ['review', ['review', '--accept-all']],
  ['review', ['review', '--reject', 'prop_1']],
  ['undo', ['undo', '--file', 'hosts.md', '--version', 'memver_1']],
  ['import', ['import', '.']],
  ['adopt', ['adopt', '--yes']],
  ['share', ['share', 'hosts']],
  ['redact', ['redact', '--match', 'pnpm']],
])('%s is refused there, says who may, and changes nothing', async (command, args) => {
  const { environment, dir, rows, nocturne } = await testApp();
  writeFileSync(
    join(dir, 'hosts.md'),
    '---\nname: hosts\ndescription: x\ntype: reference\n---\n\n- Staging is alpha.\n',
  );
  await nocturne('remember', PNPM);
  const before = await rows('entries');
  const { code, stdout, stderr } = await runHere(args, { ...environment, CLAUDECODE: '1' });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/shell of Claude Code \(CLAUDECODE is set\): nothing was changed\./);
  expect(stderr).toContain(`Run nocturne ${command} in a terminal of your own.`);
  expect(await rows('entries')).toEqual(before);
  expect((await rows('jobs')).map(({ kind }) => kind)).toEqual(['remember']);
});

test('looking is open to it', async () => {
  const { environment } = await testApp();
  for (const args of [['list'], ['review'], []])
    expect(await runHere(args, { ...environment, CLAUDECODE: '1' }, { isTerminal: true })).toMatchObject({ code: 0 });
});

test('what the person typed behind ! is theirs when the session is read', async () => {
  const { path } = aSession(['Look.', `<bash-input>nocturne remember "${PNPM}"</bash-input>`]);
  const messages = await messagesAt(path);
  expect(messages.filter(({ speaker }) => speaker === 'human').at(-1)).toMatchObject({
    beginsTurn: false,
    parts: [{ kind: 'text', text: `! nocturne remember "${PNPM}"` }],
  });
});
