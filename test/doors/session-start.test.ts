// What is done in the team's memory of the working tree where a session begins; and the one line that a person is shown there: what it
// says, when, and to whom.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerHook } from '../../src/hook/start-recall.ts';
import { writeSpoolItem } from '../../src/queue/spool.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { ingestSpool } from '../support/doors.ts';
import { gitIn } from '../support/git.ts';
import { filesIn } from '../support/hook.ts';
import { runHere } from '../support/run-here.ts';
import { aSession } from '../support/session-file.ts';
import { dirWith, tempDir } from '../support/temp.ts';

/** A session begins in `cwd`, and what its hook said is taken in. */
async function begin({ app, home }: TestApp, cwd: string) {
  const told = {
    v: 1 as const,
    agent: 'claude-code' as const,
    session: 's1',
    transcript: null,
    size: null,
    mtime: null,
  };
  writeSpoolItem(home, { ...told, cwd, event: 'SessionStart', at: '2026-11-21T02:00:00.000Z' });
  const problems: string[] = [];
  const ingested = await ingestSpool(app, { onProblem: (message) => problems.push(message) });
  return { ...ingested, problems };
}

const TOPIC = '---\nname: hosts\ndescription: Hosts\ntype: project\n---\n\n';
const CONFLICT = `${TOPIC}<<<<<<< HEAD\n- Live is beta.\n=======\n- Mail is gamma.\n>>>>>>> origin/main\n`;

/** A working tree with a conflict in its team's memory. */
function treeWithConflict(): { tree: string; team: string; says(): string } {
  const tree = tempDir();
  const team = join(tree, '.claude/memory');
  gitIn(tree).run('init', '-q');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'hosts.md'), CONFLICT);
  return { tree, team, says: () => readFileSync(join(team, 'hosts.md'), 'utf8') };
}

test.each<[string, (at: { tree: string; team: string }) => object]>([
  ['the team is turned off', () => ({ team: 'off' })],
  ['the project is turned off', ({ tree }) => ({ excludedPaths: [tree] })],
])('where %s, a session that begins changes nothing in its working tree', async (_, settingsFor) => {
  const at = treeWithConflict();
  const testing = await testApp({ settings: settingsFor(at) });
  await begin(testing, at.tree);
  expect(at.says()).toBe(CONFLICT);
  expect(filesIn(at.team)).toEqual(['hosts.md']);
});

test('a team memory without a conflict that nobody worked in stays as it is when a session begins', async () => {
  const testing = await testApp();
  const { tree, team } = treeWithConflict();
  writeFileSync(join(team, 'hosts.md'), `${TOPIC}- An example: \`<<<<<<<\`.\n`);
  await begin(testing, tree);
  expect(filesIn(team)).toEqual(['hosts.md']);
});

test('a conflict that git left is named by check, and neither recalled nor changed', async () => {
  const { dir, nocturne } = await testApp();
  dirWith({ 'hosts.md': CONFLICT, 'MEMORY.md': '# Memory\n\n- Hosts [hosts.md]\n' }, dir);
  expect(await nocturne('check')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/hosts\.md.*conflict markers of a merge/s),
  });
  expect((await nocturne('next')).stdout).not.toMatch(/<<<<<<<|Mail is gamma/);
  expect(readFileSync(join(dir, 'hosts.md'), 'utf8')).toBe(CONFLICT);
});

interface Taught {
  home: string;
  dir: string;
}

/** A memory that learned three things at 02:00 on the 21st; with review, a dream's changes wait. */
async function taught(review = true): Promise<Taught> {
  const { home, dir, nocturne } = await testApp({ settings: { review } });
  const session = aSession([
    'Always use pnpm instead of npm.',
    'I prefer short answers.',
    'The deadline is 2026-12-04.',
  ]);
  await nocturne('learn', session.path);
  await nocturne('dream');
  return { home, dir };
}

async function hookAt(
  now: string,
  {
    at = { home: tempDir(), dir: tempDir() },
    settings = {},
    source = 'startup',
    event = 'SessionStart',
    agent = 'claude-code',
  } = {},
) {
  const { environment } = await testApp({ ...at, settings, now });
  const input = {
    hook_event_name: event,
    source,
    session_id: '11111111-2222-4333-8444-555555555555',
    cwd: '/work/app',
  };
  const said = await answerHook(await loadConfig({}, environment), { input, options: { agent } });
  return (said === '' ? {} : JSON.parse(said)) as { systemMessage?: string; hookSpecificOutput?: object };
}

test('a session that begins or is resumed shows one line: recalled, learned since yesterday, waiting for review', async () => {
  const at = await taught();
  const begun = await hookAt('2026-11-21T09:00:00Z', { at });
  expect(begun.systemMessage).toBe('nocturne: 3 lines recalled; 3 learned since yesterday; 3 wait for review');
  expect(begun.hookSpecificOutput).toMatchObject({ hookEventName: 'SessionStart' });
  const resumed = await hookAt('2026-11-22T23:00:00Z', { at, source: 'resume' });
  expect(resumed.systemMessage).toMatch(/; 3 learned since yesterday; /);
  const later = await hookAt('2026-11-23T00:00:00Z', { at });
  expect(later.systemMessage).toBe('nocturne: 3 lines recalled; 3 wait for review');
});

test('lines of the index, which other agents are given too, are not counted', async () => {
  const at = await taught(false);
  for (const agent of ['codex', 'gemini']) {
    const { systemMessage, hookSpecificOutput } = await hookAt('2026-11-23T00:00:00Z', { at, agent });
    expect(JSON.stringify(hookSpecificOutput)).toContain('## MEMORY.md');
    expect(systemMessage).toBe('nocturne: 3 lines recalled');
    const resumed = await hookAt('2026-11-23T00:00:00Z', { at, agent, source: 'resume' });
    expect(resumed.systemMessage).toBe(systemMessage);
  }
});

test('no line after clear and compact, for a subagent, where it is turned off, or where nothing is to tell', async () => {
  const at = await taught();
  const now = '2026-11-21T09:00:00Z';
  for (const source of ['clear', 'compact', 'fork']) {
    const said = await hookAt(now, { at, source });
    expect(said.hookSpecificOutput).toMatchObject({ hookEventName: 'SessionStart' });
    expect(said).not.toHaveProperty('systemMessage');
  }
  expect(await hookAt(now, { at, event: 'SubagentStart' })).toEqual({});
  expect(await hookAt(now, { at, settings: { sessionSign: false } })).not.toHaveProperty('systemMessage');
  expect(await hookAt(now, { at, settings: { projects: { '/work/app': { enabled: false } } } })).toEqual({});
  expect(await hookAt(now, {}));
});

test('settings that cannot be read, or are none, are said to the person in the line of the session that begins', async () => {
  const { environment, home, nocturne } = await testApp();
  await nocturne('remember', 'Always close the gate.');
  const begins = async (settings: string, source = 'startup') => {
    writeFileSync(join(home, 'config.json'), settings);
    const stdin = JSON.stringify({ hook_event_name: 'SessionStart', source, session_id: 's1', cwd: home });
    const { code, stdout } = await runHere(['recall', '--hook'], environment, { stdin });
    expect(code).toBe(0);
    return stdout === '' ? {} : JSON.parse(stdout);
  };
  const broken = '{\n  "team": "off"\n}}\n';
  expect(await begins(broken)).toEqual({
    systemMessage: `nocturne: ${join(home, 'config.json')} is not JSON: End of file expected in line 3. Correct or remove it. Until then sessions go on without memory.`,
  });
  expect(await begins(broken, 'compact')).toEqual({});
  const { systemMessage, hookSpecificOutput } = await begins('{ "teem": "off" }');
  expect(systemMessage).toMatch(/^nocturne: config.json: teem is not a setting. Did you mean team\? .*line recalled/);
  expect(JSON.stringify(hookSpecificOutput)).toContain('close the gate');
});
