// Recall for one prompt, as the hook asks for it: what is near, nothing twice, nothing late, nothing where it is off.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerPrompt } from '../../src/hook/prompt-recall.ts';
import { answerHook } from '../../src/hook/start-recall.ts';
import { estimateTokens } from '../../src/transcript/excerpt/tokens.ts';
import { withhold } from '../../src/transcript/session.ts';
import { testApp } from '../support/app.ts';
import { hookLog, runHook, SILENT } from '../support/hook.ts';
import { fill, recallWorld } from '../support/recall-world.ts';
import { recordIn, takeIn } from '../support/recalling.ts';

/** It is on by default. */
const ON = {};
const topic = (description: string, type: string, lines: string[]) =>
  `---\nname: ${description.split(' ')[0]?.toLowerCase()}\ndescription: ${description}\ntype: ${type}\n---\n${lines.map((line) => `- ${line}\n`).join('')}`;
const FILES = {
  'MEMORY.md': '# Memory\n\n- Releases and how they are cut [releases.md]\n',
  'releases.md': topic('Releases and how they are cut', 'feedback', [
    'Cut releases on Fridays only.',
    'The changelog is written by hand.',
  ]),
  'databases.md': topic('Databases', 'project', ['Staging listens on port 5433.', 'Backups are kept thirty days.']),
  'people.md': topic('People', 'user', ['Prefers short answers.']),
};

async function promptWorld({ files = FILES as Record<string, string>, settings = ON as object } = {}) {
  const testing = await testApp({ settings });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(testing.dir, path), text);
  await takeIn(testing);
  const config = await loadConfig({}, testing.environment);
  const ask = async (
    prompt: string,
    { isOver = () => false, ...more }: { isOver?(): boolean; [key: string]: unknown } = {},
  ) => {
    const input = { hook_event_name: 'UserPromptSubmit', session_id: 's1', cwd: testing.home, prompt, ...more };
    const said = await answerPrompt(config, { input, isOver });
    return said === '' ? '' : (JSON.parse(said).hookSpecificOutput.additionalContext as string);
  };
  const begin = (more: object = {}) =>
    answerHook(config, { input: { hook_event_name: 'SessionStart', session_id: 's1', cwd: testing.home, ...more } });
  return { ...testing, testing, config, ask, begin };
}

test('a prompt is given what is near to it, under its topic, and nothing else', async () => {
  const { ask } = await promptWorld();
  const said = await ask('When may I cut the next release?');
  expect(said).toMatch(/^<nocturne-memory>\n[\s\S]*\n<\/nocturne-memory>$/);
  expect(said).toContain('### releases.md (feedback)\n- Cut releases on Fridays only.');
  expect(said).not.toMatch(/Staging|Backups|short answers/);
  expect(await ask('what does staging listen on: is it port 5433?')).toContain('- Staging listens on port 5433.');
  expect(await ask('Write me a poem about the sea.')).toBe('');
});

test('a prompt is given what an agent found out, sorted or not, and is told who found it', async () => {
  const found = 'Found by the agent, 2026-11-12: The license check in mise-tasks/lint fails at the module root.';
  const { ask, testing } = await promptWorld({ files: { ...FILES, 'lint.md': topic('Lint', 'project', [found]) } });
  const text = 'Bugbot writes into review comments, not into the review.';
  await recordIn(testing, '2026-11-20T09:00:00Z', { type: 'project', strength: 'implied', found: 'place', text });
  expect(await ask('Look into what bugbot says')).toContain(`- ${text} (found by the agent, 2026-11-20)\n`);
  expect(await ask('why does the license check fail?')).toContain(`- ${found}`);
});

test('what an agent found out, and the beginning told under its heading, no prompt tells again', async () => {
  const found = 'Found by the agent, 2026-11-12: The license check in mise-tasks/lint fails at the module root.';
  const { ask, begin } = await promptWorld({ files: { ...FILES, 'lint.md': topic('Lint', 'project', [found]) } });
  expect(await begin()).toContain('The license check in mise-tasks/lint fails at the module root.');
  expect(await ask('why does the license check fail?')).toBe('');
});

test('a short order is given the rules of topics that are about it, not what is only worded like it', async () => {
  const files = {
    'pulls.md': topic('Before opening a PR', 'feedback', [
      'Main is merged before a PR: no conflicts.',
      'Maps and tags stay out.',
    ]),
    'commits.md': topic('Before committing', 'feedback', ['Fixes are folded into the commits they belong to.']),
    'texts.md': topic('Before changing texts', 'feedback', ['A change of words is shown first.']),
    'board.md': topic('The board', 'project', ['The board commits every night.']),
  };
  const { ask } = await promptWorld({ files });
  expect(await ask('open a PR')).toContain('Main is merged');
  expect(await ask('commit this')).toMatch(/^- Fixes are folded[^\n]*\n\n?<\/nocturne-memory>$/m);
  expect(await ask('draw a map with a tag', { session_id: 's2' })).toContain('Maps and tags');
  expect(await ask('change the picture')).toBe('');
});

test('a slash command’s arguments are the prompt, and a command without any is none', async () => {
  const { ask } = await promptWorld();
  expect(await ask('/review staging')).toContain('Staging listens');
  const expanded = '<command-name>/staging</command-name> <command-args>the backups</command-args>';
  expect(await ask(expanded)).toMatch(/^(?![\s\S]*5433)[\s\S]*Backups are kept/);
  expect(await ask('/releases', { session_id: 's2' })).toBe('');
});

test('a name that few lines have is enough, a question about what a topic is named for too, and neither a day nor a name of many', async () => {
  const files = {
    'food.md': topic('Food', 'user', ['Tarek ist gegen Haselnüsse allergisch.', 'Works on Fridays, too.']),
    'trip.md': topic('A journey', 'project', ['Im Mai geht es nach Porto.', 'The flat is booked.']),
    'audit.md': topic('Audit', 'project', ['The audit begins on 2027-02-01.']),
    'team.md': topic(
      'The team',
      'project',
      ['a', 'b', 'c', 'd'].map((task) => `Kim does task ${task}${task}.`),
    ),
  };
  const { ask } = await promptWorld({ files });
  expect(await ask('Was kann ich heute für Tarek kochen?')).toMatch(/^- Tarek ist[^\n]*\n\n?<\/nocturne-memory>$/m);
  expect(await ask('Wie viel Geld haben wir für Porto?')).toContain('- Im Mai geht es nach Porto.');
  expect(await ask('when is the audit')).toContain('- The audit begins');
  expect(await ask('tell a story', { session_id: 's2' })).toBe('');
  expect(await ask('draw a picture for Friday')).toBe('');
  expect(await ask('draw a picture for Kim')).toBe('');
});

test('a session is shown nothing twice, also not what its beginning showed, until it is compacted', async () => {
  const { ask, begin } = await promptWorld();
  const prompt = 'When may I cut the next release?';
  expect(await ask(prompt)).toContain('Fridays');
  expect(await ask(prompt)).toBe('');
  expect(await ask(prompt, { session_id: 's2' })).toContain('Fridays');
  expect(await begin({ session_id: 's3' })).toContain('Fridays');
  expect(await ask(prompt, { session_id: 's3' })).toBe('');
  await begin({ source: 'compact', session_id: 's2' });
  expect(await ask(prompt, { session_id: 's2' })).toBe('');
  expect(await ask(prompt, { session_id: 's4' })).toContain('Fridays');
});

test('an entry that no dream has seen is told with its day, beside the line that it differs from', async () => {
  const { ask, nocturne } = await promptWorld();
  await nocturne('remember', '--type', 'project', 'Staging listens on port 6000 now.');
  const said = await ask('Is staging still on port 5433?');
  expect(said).toContain('- Staging listens on port 5433.');
  expect(said).toContain('- 2026-11-21 **project** Staging listens on port 6000 now.');
  expect(said).not.toContain('Newer');
});

test('an entry that says what it changes is told before the line that says that', async () => {
  const { ask, testing } = await promptWorld();
  const [text, changes] = ['Staging listens on port 6000.', 'Staging is on port 5433.'];
  await recordIn(testing, '2026-11-21T09:00:00Z', { type: 'project', text, changes });
  expect(await ask('Is staging still on port 5433?')).toContain(
    `- Newer, 2026-11-21: ${text}\n- Staging listens on port 5433.`,
  );
});

test('however much is near, it is at most 1,000 tokens; it cannot end its section, and is never taken for something said', async () => {
  const lines = Array.from(
    { length: 80 },
    (_, n) => `The press number ${n} prints </nocturne-memory> posters on paper ${n}.`,
  );
  const { ask } = await promptWorld({ files: { 'press.md': topic('Press', 'project', lines) } });
  const said = await ask('Which press prints the posters on paper?');
  expect(estimateTokens(said)).toBeLessThanOrEqual(1_000);
  expect(said.match(/The press number/g)?.length).toBeGreaterThan(5);
  expect(said.match(/<\/nocturne-memory>/g)).toHaveLength(1);
  const message = { id: 'm', speaker: 'human', beginsTurn: true, parts: [{ kind: 'text', text: `${said}\nGo on.` }] };
  expect(withhold(message as Parameters<typeof withhold>[0]).parts).toMatchObject([{ text: 'Go on.' }]);
});

test('a line that was taken out of its file since is not shown, nor one that holds a secret', async () => {
  const key = `sk-ant-api03-${'aB3dE5gH7jK9'.repeat(8)}`;
  const { ask, dir } = await promptWorld({
    files: { ...FILES, 'keys.md': topic('Keys', 'reference', [`The key of the staging gateway is ${key}.`]) },
  });
  writeFileSync(join(dir, 'databases.md'), topic('Databases', 'project', ['Backups are kept thirty days.']));
  expect(await ask('staging port 5433 and the key of the staging gateway')).not.toMatch(/5433\.|sk-ant/);
});

test.each([
  ['the setting is off', { settings: { recallPrompts: false } }, {}],
  ['a subagent asks', {}, { agent_id: 'a1' }],
  ['the session has no id, by which to know what it was shown', {}, { session_id: '' }],
  ['the project is turned off', { settings: { ...ON, projects: { '~/': { enabled: false } } } }, {}],
])('nothing is said where %s', async (_, world, more) => {
  const { ask } = await promptWorld(world);
  expect(await ask('When may I cut the next release?', more)).toBe('');
});

test('nothing is said while nocturne is paused, nor when it is too late, which notes nothing as shown', async () => {
  const { ask, nocturne } = await promptWorld();
  const prompt = 'When may I cut the next release?';
  expect(await ask(prompt, { isOver: () => true })).toBe('');
  await nocturne('pause');
  expect(await ask(prompt)).toBe('');
  await nocturne('pause', '--off');
  expect(await ask(prompt)).toContain('Fridays');
});

test('it waits for no job that is writing: then nothing is shown, as what cannot be noted', async () => {
  const { ask, home } = await promptWorld();
  const other = new Database(join(home, 'nocturne.db'));
  other.exec('begin immediate');
  const looks = Array(50).values();
  const isOver = () => looks.next().done === true;
  const said = await ask('When may I cut the next release?', { isOver }).catch((error: Error) => error.message);
  expect(said).toMatch(/^$/);
  other.exec('rollback');
  other.close();
});

test("the user's memory answers beside the project's, and where the project has none", async () => {
  const world = await recallWorld({ userScope: true, ...ON });
  fill(world.user, 'plums', { 'taste.md': topic('Taste', 'user', ['Likes plums in autumn best.']) });
  await world.open(world.user);
  const config = await loadConfig({}, { HOME: world.home, NOCTURNE_NOW: '2026-11-21T02:00:00Z' });
  const input = { hook_event_name: 'BeforeAgent', session_id: 's1', cwd: world.root, prompt: 'plums in autumn?' };
  const said = await answerPrompt(config, { input, isOver: () => false });
  expect(JSON.parse(said).hookSpecificOutput).toMatchObject({ hookEventName: 'BeforeAgent' });
  expect(said).toMatch(/About the user, from all projects[\s\S]*- Likes plums in autumn best\./);
  expect(await answerPrompt(config, { input, isOver: () => false })).toBe('');
});

test('the hook answers a prompt on stdout, and is silent and successful where anything fails', async () => {
  const { app, home, environment } = await promptWorld();
  const input = {
    ...{ session_id: 's1', transcript_path: '/x.jsonl', cwd: home, hook_event_name: 'UserPromptSubmit' },
    prompt: 'When may I cut the next release?',
  };
  // Tests run on a machine that is busy with others; and to ask for its zone takes an eighth of the time that there is.
  const withoutZones = '--import=data:text/javascript,delete%20Intl.DateTimeFormat';
  const more = { NOCTURNE_PROMPT_MS: '60000', NOCTURNE_ZONE: undefined, NODE_OPTIONS: withoutZones };
  const inTime = { ...environment, ...more };
  const { printed, ...ended } = await runHook(input, inTime, { isOpen: true });
  expect(ended).toMatchObject({ code: 0, signal: null });
  expect(JSON.parse(printed).hookSpecificOutput.additionalContext).toContain('- Cut releases on Fridays only.');
  expect(await runHook({ ...input, session_id: 's2' }, { ...environment, NOCTURNE_PROMPT_MS: '1' })).toMatchObject(
    SILENT,
  );
  // A person's comments are read by a package that is only loaded then.
  const settings = join(home, 'config.json');
  writeFileSync(settings, `// mine\n${existsSync(settings) ? readFileSync(settings, 'utf8') : '{}'}`);
  expect((await runHook({ ...input, session_id: 's4' }, inTime, { isOpen: true })).printed).toContain('Fridays');
  expect(hookLog(home)).toEqual([]);
  await app.close();
  const database = join(home, 'nocturne.db');
  for (const end of ['-shm', '-wal']) rmSync(`${database}${end}`, { force: true });
  writeFileSync(database, 'no database');
  expect(await runHook({ ...input, session_id: 's3' }, inTime)).toMatchObject(SILENT);
  expect(hookLog(home)).toMatchObject([expect.stringContaining(database)]);
});
