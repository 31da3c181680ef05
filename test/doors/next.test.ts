// nocturne next: word for word what the hooks say to a session, with why, and nothing counts as told.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testApp } from '../support/app.ts';
import { runHook } from '../support/hook.ts';
import { takeIn } from '../support/recalling.ts';
import { jsonHere, runHere } from '../support/run-here.ts';

const PROMPT = 'May I cut the release now, and which port has staging?';
const topic = (name: string, type: string, lines: string[]) =>
  `---\nname: ${name}\ndescription: What is known of ${name}\ntype: ${type}\n---\n${lines.map((line) => `- ${line}\n`).join('')}`;

interface Next {
  text: string;
  prompt: { text: string; lines: { said: string; shares: string[] }[]; known: string[] } | null;
}

/** With more about staging than a session is told at its start. */
async function world(settings: object = {}) {
  const testing = await testApp({ settings });
  const { dir, nocturne } = testing;
  const files = {
    'MEMORY.md': '# Memory\n\n- Releases [releases.md]\n- Staging [staging.md]\n',
    'releases.md': topic('releases', 'feedback', ['Cut the release on Fridays only.']),
    'staging.md': topic('staging', 'reference', [
      ...Array.from({ length: 300 }, (_, n) => `Machine ${n} has so many disks that nobody knows them by name.`),
      'Staging listens on port 5433.',
    ]),
  };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(dir, path), text);
  await takeIn(testing);
  await nocturne('remember', '--type', 'project', 'The audit begins in May.');
  const rows = async () => {
    const { db } = testing.app;
    const tables = await db.all<{ name: string }>("select name from sqlite_master where type = 'table' order by name");
    return Promise.all(tables.map(async ({ name }) => [name, await db.all(`select * from "${name}"`)]));
  };
  return { ...testing, all: rows };
}

const contextOf = (printed: string) =>
  printed.trim() === '' ? '' : JSON.parse(printed).hookSpecificOutput.additionalContext;

test.each([
  ['claude-code', 'UserPromptSubmit'],
  ['codex', 'UserPromptSubmit'],
  ['gemini', 'BeforeAgent'],
  ['opencode', undefined],
])(
  'next says byte for byte what the hooks tell a session of %s, and leaves every row as it was',
  async (agent, event) => {
    const { environment, home: cwd, all } = await world();
    const before = await all();
    const args = ['next', '--agent', agent, '--prompt', PROMPT];
    const next = await jsonHere<Next>(args, environment);
    const { stdout } = await runHere(args, environment);
    expect(await all()).toEqual(before);

    const of = { session_id: 's1', transcript_path: '/x.jsonl', cwd };
    const stdin = JSON.stringify({ ...of, hook_event_name: 'SessionStart', source: 'startup' });
    const start = contextOf((await runHere(['recall', '--hook', '--agent', agent], environment, { stdin })).stdout);
    expect(next.text).toBe(start);
    expect(start).toContain('Fridays only');
    expect(stdout).toContain(`\n\n${start}\n\n`);
    if (event === undefined) {
      expect(next.prompt).toBe(null);
      expect(stdout).toContain('With a prompt it is told nothing: opencode has no hook for prompts.');
      return;
    }
    const slow = { ...environment, NOCTURNE_PROMPT_MS: '20000' };
    const { printed } = await runHook({ ...of, hook_event_name: event, prompt: PROMPT }, slow, { args: [agent] });
    expect(next.prompt?.text).toBe(contextOf(printed));
    expect(next.prompt?.text).toContain('port 5433');
    expect(stdout).toContain(`\n\n${next.prompt?.text}\n\n`);
  },
);

test('next says why each line is told, and what is left out and why', async () => {
  const { environment } = await world();
  const { stdout } = await runHere(['next', '--agent', 'codex', '--prompt', PROMPT], environment);
  expect(stdout).toContain('list of topics, 4 of 4 lines\tMEMORY.md\n');
  expect(stdout).toContain('how you want things done\treleases.md\n');
  expect(stdout).toContain('new, in no topic yet\tThe audit begins in May.\n');
  expect(stdout).toContain('no room in 10,000 characters\tthe end of staging.md\n');
  expect(stdout).toMatch(/^shares .*port.*\tStaging listens on port 5433\.$/m);
  expect(stdout).toContain('told at the start\tCut the release on Fridays only.\n');
});

test('where nothing is told, next says why: paused, excluded, off, nothing there', async () => {
  const { environment, nocturne, home } = await world({ recallPrompts: false });
  expect((await nocturne('next', '--prompt', PROMPT)).stdout).toContain('told nothing: recallPrompts is off');
  await nocturne('pause');
  expect(await nocturne('next')).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('nothing: nocturne is paused'),
  });
  await nocturne('pause', '--off');
  const excluded = await world({ excludedPaths: [`${process.cwd()}/**`] });
  expect((await excluded.nocturne('next')).stderr).toMatch(/A session here is told nothing: .*excluded/);
  const empty = { ...environment, NOCTURNE_MEMORY_DIR: join(home, 'none') };
  expect((await runHere(['next'], empty)).stderr).toContain('nothing is remembered in');
});

test('what is called otherwise now says how', async () => {
  const { nocturne } = await world();
  const now = { recall: 'next', move: 'stores move', report: 'why', unpin: 'show TOPIC --unpin' };
  for (const [former, name] of Object.entries(now))
    expect(await nocturne(former)).toMatchObject({ code: 1, stderr: expect.stringContaining(`Use nocturne ${name}.`) });
});
