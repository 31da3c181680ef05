// The one line that a person is shown where a session begins: what it says, when it is shown, and to whom.

import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerHook } from '../../src/hook/start-recall.ts';
import { testApp } from '../support/app.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

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
