// Whose words a memory tells: two people in one repository, one person on two machines, and sessions without a sign.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerPrompt } from '../../src/hook/prompt-recall.ts';
import { recallFor } from '../../src/hook/start-recall.ts';
import { testApp } from '../support/app.ts';
import { sessionFile } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const KIM = '/home/kim/orchard';
const SAM = '/Users/sam/work/orchard';
const SAID = [
  ['Always use pnpm instead of npm.', 'Always squash the commits of a branch.'],
  ['I am a data engineer.', 'I am a designer of icons.'],
  ['Never push on a Friday.', 'Never answer in German.'],
] as const;

/** Six sessions, in turn of one and the other, each with a night after it; the other's begin as `other` says. */
async function sixSessions(
  cwds: [string, string],
  { settings, steps }: { settings?: object; steps?: Parameters<ReturnType<typeof sessionFile>['add']>[1] } = {},
) {
  const testing = await testApp({ settings });
  for (const [n, says] of SAID.flat().entries()) {
    const id = `${n + 1}1111111-2222-4333-8444-555555555555`;
    const startsAt = `2026-11-${10 + n}T09:00:00Z`;
    const session = sessionFile(tempDir(), { id, cwd: cwds[n % 2], startsAt });
    session.add(says, steps);
    expect(await testing.nocturne('learn', session.path)).toMatchObject({ code: 0 });
    expect(await testing.nocturne('dream')).toMatchObject({ code: 0 });
  }
  const config = await loadConfig({}, testing.environment);
  const told = async (cwd: string) => (await recallFor(config, { cwd })).text;
  const prompted = (cwd: string, prompt: string) => {
    const input = { hook_event_name: 'UserPromptSubmit', session_id: `p${cwd}`, cwd, prompt };
    return answerPrompt(config, { input, isOver: () => false });
  };
  return { ...testing, told, prompted };
}

/** The topics that tell what the user is or wants. */
function rulesIn({ dir }: { dir: string }): string {
  const texts = readdirSync(dir)
    .filter((name) => name.endsWith('.md'))
    .map((name) => readFileSync(join(dir, name), 'utf8'));
  return texts.filter((text) => /^ *type: (?:user|feedback)$/m.test(text)).join('\n');
}

test('of two people in one repository each line says whose it is, and only the first’s are told as the user’s', async () => {
  const { dir, told, prompted } = await sixSessions([KIM, SAM]);
  const rules = rulesIn({ dir });
  expect(rules).toMatch(/a data engineer[\s\S]*Always use pnpm[\s\S]*Never push on a Friday/);
  for (const other of ['squash', 'icons', 'German']) expect(rules).not.toContain(other);
  const text = await told(KIM);
  expect(text).toMatch(/^- sam wants: Always squash the commits of a branch\./m);
  expect(text).toMatch(/^- sam wants: Never answer in German\./m);
  expect(text).toMatch(/^- sam is a designer of icons\./m);
  const asked = await prompted(SAM, 'Squash the commits, then push on Friday with pnpm');
  expect(asked).toContain('(feedback of kim, not of this user)');
  const others = await told(SAM);
  expect(others).toContain('(feedback of kim, not of this user)');
  expect(others).not.toMatch(/^### \S+ \(feedback[,)]/m);
});

test('one person on two machines stays one: by the same home, by the author of their commits, by their settings', async () => {
  const isKims = async (of: Awaited<ReturnType<typeof sixSessions>>, cwd = SAM) => {
    for (const said of SAID.flat().map((each) => each.replace('I am ', ''))) expect(rulesIn(of)).toContain(said);
    expect(await of.told(cwd)).not.toContain('not of this user');
  };
  await isKims(await sixSessions([KIM, '/Users/kim/work/orchard']), '/Users/kim/work/orchard');
  const asked = { calls: 'Bash', input: { command: 'git config user.email' }, result: 'kim@orchard.example\n' };
  const joined = await sixSessions([KIM, SAM], { steps: [asked] });
  await isKims(joined);
  expect(JSON.stringify(await joined.app.db.all('select value from setting'))).not.toContain('orchard.example');
  await isKims(await sixSessions([KIM, SAM], { settings: { userName: ['kim', 'sam'] } }));
});

test('a session without a sign is the user’s', async () => {
  const of = await sixSessions([KIM, '/workspaces/orchard']);
  for (const said of SAID.flat().map((each) => each.replace('I am ', ''))) expect(rulesIn(of)).toContain(said);
});
