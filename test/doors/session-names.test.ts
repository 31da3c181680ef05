// Sessions by their names: whose words they are, what they never hold, and when they are gone.

import { appendFileSync, mkdirSync, rmSync, utimesSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { testApp } from '../support/app.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const PNPM = 'Always use pnpm instead of npm.';
const SECRET = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;

async function world() {
  const testing = await testApp();
  const names = async () => {
    const { sessions } = await testing.json<{ sessions: { session: string; name: string | null }[] }>(
      'list',
      '--sessions',
    );
    return sessions.map(({ name }) => name);
  };
  return { ...testing, names };
}

test('a session is called by what was said first, on one line of 80 characters, without secrets and what turns text around', async () => {
  const { nocturne, names } = await world();
  const said = `Use the token ${SECRET}\n\u202eand \u001b[31mthen ${'water the trees '.repeat(20)}`;
  await nocturne('learn', aSession([said, PNPM, 'Thanks.']).path);
  const [name = ''] = await names();
  expect(name).toMatch(/^Use the token .*and \[31mthen water the trees.*…$/);
  expect([...(name ?? '')].length).toBeLessThanOrEqual(80);
  expect(name).not.toContain(SECRET.slice(0, 12));
  const { stdout } = await nocturne('list', '--sessions');
  expect(stdout).toMatch(
    /^Use the token [^\n]*…\n {2}\w{3} \d+ \w{3} \d{4}, Claude Code, \d+ kB; read [^\n]*: 1 entry \([0-9a-f]{8}\)\n/,
  );
  expect((await nocturne('why', 'pnpm')).stdout).toContain(', in session “Use the token');
});

test('the title that the agent gave it comes before that, and a person’s own before both; two of one name have their times', async () => {
  const { nocturne, names } = await world();
  const session = aSession([PNPM, 'Thanks.']);
  const title = (type: string, key: string, said: string) =>
    appendFileSync(session.path, `${JSON.stringify({ type, [key]: said, sessionId: session.id })}\n`);
  title('ai-title', 'aiTitle', 'Which package manager');
  await nocturne('learn', session.path);
  expect(await names()).toEqual(['Which package manager']);
  title('custom-title', 'customTitle', 'pnpm');
  expect(await names()).toEqual(['pnpm']);
  const other = aSession(['pnpm', 'Thanks.'], { id: '22222222-2222-4333-8444-555555555555' });
  await nocturne('learn', other.path);
  for (const name of await names()) expect(name).toMatch(/^pnpm \(\d\d:\d\d\)$/);
});

test('a session goes by the name of its file, whether it was read, and whether the file is still there', async () => {
  const { nocturne, home } = await world();
  const dir = join(home, '.claude', 'projects', 'garden');
  mkdirSync(dir, { recursive: true });
  const session = aSession([PNPM], { dir });
  const told = { code: 0, stdout: expect.stringContaining(`transcript  ${session.path}`) };
  const why = () => nocturne('why', basename(session.path));
  expect(await why()).toMatchObject(told);
  await nocturne('learn', session.path);
  expect(await why()).toMatchObject(told);
  rmSync(session.path);
  expect(await why()).toMatchObject(told);
  const stderr = expect.stringContaining('no session has that name');
  expect(await nocturne('why', 'a1b2c3d4.jsonl')).toMatchObject({ code: 1, stderr });
});

test('the number of a bank card is kept of no session and no word, and one that is published for tests is', async () => {
  const { nocturne } = await world();
  await nocturne('learn', aSession(['Remember that their bank card 4111 1111 1111 1111 expires in May.']).path);
  const said = await nocturne('remember', 'The card of the office is 5555-5555-5555-4444.');
  expect(said.stderr).toContain('Taken out of the words: 1 secret');
  await nocturne('remember', 'The tests pay with the card 4242 4242 4242 4242.');
  const kept = (await nocturne('search', 'card')).stdout + (await nocturne('list', '--sessions')).stdout;
  expect(kept).toContain('Remember that their bank card [redacted:card] expires in May.');
  expect(kept).not.toContain('4111');
  expect(kept).toContain('of the office is [redacted:card]');
  expect(kept).toContain('4242 4242 4242 4242');
});

test('without its transcript a session goes by the words that were kept of it, and by none once they are forgotten', async () => {
  const { nocturne, names } = await world();
  const session = aSession(['Hello there.', PNPM, 'Thanks.']);
  await nocturne('learn', session.path);
  expect(await names()).toEqual(['Hello there.']);
  await nocturne('forget', 'pnpm', '--yes');
  expect(await names()).toEqual([null]);
  await nocturne('undo', '--last');
  rmSync(session.path);
  expect(await names()).toEqual([PNPM]);
  await nocturne('redact', '--match', 'pnpm instead', '--yes');
  expect(JSON.stringify(await names())).not.toContain('pnpm');
});

test('sessions are listed newest first, whichever was read last, and where nothing was learned of any', async () => {
  const { nocturne, json } = await world();
  const [old, young] = ['1', '2'].map((n) => {
    const session = aSession(['What time is it?'], {
      dir: tempDir(),
      id: `${n.repeat(8)}-2222-4333-8444-555555555555`,
    });
    utimesSync(session.path, new Date(), new Date(`2026-11-0${n}T09:00:00Z`));
    return session;
  });
  for (const session of [young, old]) await nocturne('learn', session?.path ?? '');
  for (const more of [[], ['--all']]) {
    const { sessions } = await json<{ sessions: { session: string }[] }>('list', '--sessions', ...more);
    expect(sessions.map(({ session }) => session)).toEqual([young?.id, old?.id]);
  }
});
