// What is told as it stands: of a state only what came last of it, what holds on one machine there alone, and how to take it once.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { entriesIn, partOf } from '../../src/agent/offline-model.ts';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerPrompt } from '../../src/hook/prompt-recall.ts';
import { answerHook, recallFor } from '../../src/hook/start-recall.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { calls } from '../support/messages-server.ts';
import { recordIn } from '../support/recalling.ts';
import { runHere } from '../support/run-here.ts';
import { answer } from '../support/scripted-model.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const KIM = '/home/kim/orchard';

/** A memory that learned these of sessions, each of its day and place, sorted at night into one topic. */
async function learned(said: { text: string; day: string; cwd?: string }[], sorts = true): Promise<TestApp> {
  const model = await testModel((asked) => {
    const input = String(Object(asked.messages[0]).content);
    const entries = entriesIn(partOf(input, 'entries'));
    if (asked.messages.length > 1 || entries.length === 0)
      return answer(asked, (words) =>
        words.startsWith('Note: ')
          ? [{ quote: words, text: words.slice(6), type: words === `Note: ${RULE}` ? 'feedback' : 'project' }]
          : [],
      );
    const operations = entries.map(({ id, text, type }) => {
      const topic = { topic: type, type, description: 'Where work stands', reason: 'New.' };
      return { kind: 'put', ...topic, in: [{ text, entries: [id] }] };
    });
    return calls('propose_operations', { operations });
  });
  const testing = await testApp({ server: model });
  for (const [n, { text, day, cwd = KIM }] of said.entries()) {
    const session = sessionFile(tempDir(), {
      id: `${n + 1}1111111-2222-4333-8444-555555555555`,
      cwd,
      startsAt: `${day}T09:00:00Z`,
    });
    session.add(`Note: ${text}`);
    expect(await testing.nocturne('learn', session.path)).toMatchObject({ code: 0 });
  }
  if (sorts) expect(await testing.nocturne('dream')).toMatchObject({ code: 0 });
  return testing;
}

async function told({ environment }: TestApp, cwd = KIM): Promise<string> {
  return (await recallFor(await loadConfig({}, environment), { cwd })).text;
}

const RULE = 'Write a review with the skill for prose (asked for the review comment on PR 12).';
const WAITS = 'PR #12 with the retries waits for review.';
const MERGED = 'Pull request 12 was merged.';
const OTHER = 'PR #13 with the cache waits for review.';

test.each([true, false])('of a state of which something newer tells only that is told (sorted: %s)', async (sorts) => {
  const text = await told(
    await learned(
      [
        { text: WAITS, day: '2026-11-16' },
        { text: OTHER, day: '2026-11-17' },
        { text: RULE, day: '2026-11-16' },
        { text: MERGED, day: '2026-11-18' },
      ],
      sorts,
    ),
  );
  expect(text).toContain(MERGED);
  expect(text).toContain(OTHER);
  expect(text).not.toContain(WAITS);
  // What somebody wants is no state, whatever it was asked for.
  expect(text).toContain(RULE);
});

const SKILLS = 'The skills live in `plugins/skills/`.';

/** A session that moves what this line names, and merges. */
async function moved(testing: TestApp) {
  const id = '91111111-2222-4333-8444-555555555555';
  const session = sessionFile(tempDir(), { id, cwd: KIM, startsAt: '2026-11-19T09:00:00Z' });
  session.add('Make it flat, and merge what was reviewed.', [
    { calls: 'Bash', input: { command: 'git mv plugins/skills skills' }, result: '(no output)' },
    { calls: 'Bash', input: { command: 'gh pr merge 12 --squash' }, result: 'Merged pull request #12' },
  ]);
  expect(await testing.nocturne('learn', session.path)).toMatchObject({ code: 0 });
}

test('what a later session’s calls moved is told as what may be over, a state that they ended no more', async () => {
  const testing = await learned([
    { text: SKILLS, day: '2026-11-18' },
    { text: WAITS, day: '2026-11-18' },
    { text: OTHER, day: '2026-11-18' },
  ]);
  await moved(testing);
  expect(await testing.nocturne('dream')).toMatchObject({ code: 0 });
  const text = await told(testing);
  expect(text).toContain(`${SKILLS} (as of 2026-11-18, may be over)`);
  expect(text).toContain(OTHER);
  expect(text).not.toContain(WAITS);
});

test('nothing may be over by what was learned and is undone', async () => {
  const testing = await learned([{ text: SKILLS, day: '2026-11-18' }]);
  await moved(testing);
  expect(await testing.nocturne('undo', '--last')).toMatchObject({ code: 0 });
  await testing.nocturne('dream');
  expect(await told(testing)).toContain(`- ${SKILLS} (2026-11-18)`);
});

test('what a person asked to remember is not told as what may be over', async () => {
  const testing = await learned([{ text: OTHER, day: '2026-11-16' }]);
  const asked = { ...testing.environment, NOCTURNE_NOW: '2026-11-18T09:00:00Z' };
  expect(await runHere(['remember', SKILLS, '--type', 'project'], asked)).toMatchObject({ code: 0 });
  expect(await testing.nocturne('dream')).toMatchObject({ code: 0 });
  await moved(testing);
  await testing.nocturne('dream');
  expect(await told(testing)).toContain(`- ${SKILLS} (2026-11-18)`);
});

test('of two rules that deny each other the newer is told, before a night and after it', async () => {
  const testing = await testApp();
  const at = (now: string, ...args: string[]) => runHere(args, { ...testing.environment, NOCTURNE_NOW: now });
  const rules = async () => (await told(testing)).match(/(?:Always|Never) \w+ (?:tabs|to main)/g);
  await at('2026-11-20T12:00:00Z', 'remember', 'Always use tabs.');
  await at('2026-11-20T13:00:00Z', 'remember', 'Never push to main.');
  await at('2026-11-20T14:00:00Z', 'remember', 'Never use tabs.');
  expect(await rules()).toEqual(['Never push to main', 'Never use tabs']);
  await at('2026-11-20T15:00:00Z', 'dream');
  expect(await rules()).toEqual(['Never push to main', 'Never use tabs']);
  await at('2026-11-21T12:00:00Z', 'remember', 'Always use tabs.');
  expect(await rules()).toEqual(['Never push to main', 'Always use tabs']);
  expect(await at('2026-11-21T13:00:00Z', 'dream', '--model', 'offline')).toMatchObject({ code: 0 });
  expect(await rules()).toEqual(['Never push to main', 'Always use tabs']);
});

test('a state of which nothing newer tells all stays, and so does a person’s own line', async () => {
  const testing = await learned([
    { text: MERGED, day: '2026-11-16' },
    { text: 'PR #14 and PR #15 wait for review.', day: '2026-11-16' },
    { text: 'PR #15 was merged.', day: '2026-11-17' },
    { text: 'The branch fix/retries is not pushed.', day: '2026-11-17' },
    { text: WAITS, day: '2026-11-18' },
  ]);
  writeFileSync(join(testing.dir, 'own.md'), '- PR #12 is pending since Monday.\n');
  const text = await told(testing);
  for (const line of ['PR #14', 'fix/retries is not pushed', WAITS, 'PR #12 is pending']) expect(text).toContain(line);
});

test.each(['On this machine: `mise` is not installed.', 'The other checkouts are in /home/kim/orchards.'])(
  'what holds on one machine or in one home is told there alone: %s',
  async (line) => {
    const testing = await learned([
      { text: line, day: '2026-11-16' },
      { text: OTHER, day: '2026-11-17' },
    ]);
    expect(await told(testing)).toContain(line);
    for (const cwd of ['/Users/sam/orchard', '/workspace/orchard', 'D:\\orchard']) {
      const elsewhere = await told(testing, cwd);
      expect(elsewhere).toContain(OTHER);
      expect(elsewhere).not.toContain(line);
    }
  },
);

test('how to take what is remembered is said once in a session', async () => {
  const testing = await learned([
    { text: WAITS, day: '2026-11-10' },
    { text: 'Open: the cache of pears.', day: '2026-11-01' },
  ]);
  const config = await loadConfig({}, testing.environment);
  const text = await told(testing);
  expect(text.match(/moved\s+on since/g)).toHaveLength(1);
  expect(text).not.toMatch(/^> /m);
  const ask = (session: string, prompt: string) =>
    answerPrompt(config, {
      input: { hook_event_name: 'UserPromptSubmit', session_id: session, cwd: KIM, prompt },
      isOver: () => false,
    });
  expect(await ask('s1', 'What of the pears?')).toContain('do nothing only because it says so');
  await answerHook(config, {
    input: { hook_event_name: 'SessionStart', session_id: 's2', cwd: testing.home, source: 'startup' },
  });
  writeFileSync(join(testing.dir, 'quinces.md'), '- Quinces ripen in the cellar.\n');
  await testing.nocturne('list');
  const prompted = await ask('s2', 'Where do quinces ripen?');
  expect(prompted).toContain('Quinces ripen');
  expect(prompted).not.toContain('do nothing only because it says so');
});

test('what a session left is told while it is fresh, then on its branch alone, and a later one of the same takes its place', async () => {
  const testing = await testApp();
  const left = (day: string, text: string) =>
    recordIn(testing, `${day}T09:00:00Z`, { type: 'project', strength: 'implied', text, found: 'outcome' });
  const [old, fresh, later] = [
    'The retries on `feat/retries` lack a test.',
    'The plugin of the shop is installed without its settings.',
    'The plugin of the shop is installed with its settings.',
  ];
  await left('2026-11-10', old);
  await left('2026-11-19', fresh);
  const text = await told(testing);
  expect(text).toContain(fresh);
  expect(text).not.toContain(old);
  await left('2026-11-20', later);
  const now = await told(testing);
  expect(now).toContain(later);
  expect(now).not.toContain(fresh);
  const root = join(testing.home, 'shop');
  execFileSync('git', ['init', '-q', '-b', 'feat/retries', root]);
  expect(await told(testing, root)).toContain(old);
});
