// nocturne, and what one would take instead of it, over the same chain: each tells a later session what it kept, and is played
// again from its answers.

import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runAgent } from '../../../src/agent/loop.ts';
import { testModel } from '../../support/app.ts';
import { isDeep } from '../../support/depth.ts';
import { calls, type MessagesRequest, type MessagesServer, says } from '../../support/messages-server.ts';
import { scriptedModel } from '../../support/scripted-model.ts';
import { aSession, RULE, sessionFile } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { CHAINS, linksOf } from './links.ts';
import { playChain, type SystemName } from './play.ts';
import { sessionText } from './session-text.ts';

const IDS = [1, 2, 3].map((at) => `${String(at).repeat(8)}-2222-4333-8444-555555555555`);
const starts = (at: number) => ({ id: IDS[at - 1], startsAt: `2026-11-2${at}T09:00:00Z` });

function chainOfThree(): string {
  const dir = tempDir();
  aSession([RULE], { dir, ...starts(1) });
  aSession(['Is port 4000 free?'], { dir, ...starts(2) });
  aSession(['And now?'], { dir, ...starts(3) });
  return dir;
}

async function played(system: SystemName, model: Pick<MessagesServer, 'access'>, dir = chainOfThree()) {
  const environment = { PATH: process.env.PATH, ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: model.access.baseURL };
  const play = (out: string, more = {}) =>
    playChain(dir, { out, system, model: 'test-model', environment: { ...environment, ...more }, parts: { runAgent } });
  const [out, again] = [tempDir(), tempDir()];
  const { told } = await play(out);
  cpSync(join(out, 'answers.jsonl'), join(again, 'answers.jsonl'));
  const replayed = await play(again, { ANTHROPIC_BASE_URL: undefined });
  const plain = (of: object, at: string) =>
    JSON.stringify(of)
      .replaceAll(at, '')
      .replaceAll(/job_\w+/g, 'job');
  expect(replayed.others).toBe(0);
  expect(plain(replayed.told, again)).toBe(plain(told, out));
  // What was done is not done again.
  expect(await play(out, { ANTHROPIC_BASE_URL: undefined })).toMatchObject({ told, asked: 0 });
  return { out, told: told.map(({ text }) => text) };
}

const inputOf = ({ messages: [first] }: MessagesRequest) => String(first?.content);
const read = (...path: string[]) => readFileSync(join(...path), 'utf8');

test('by nocturne a later session is told what an earlier one said, from what a night made of it', async () => {
  const { told, out } = await played('nocturne', await scriptedModel());
  expect(told[0]).toBe('');
  expect(told[1]).toContain(RULE);
  expect(read(out, 'after/1/working-agreements.md')).toContain(RULE);
});

test('a summary is written anew after each session from the old one and the session, and told whole to the next', async () => {
  const shown: string[] = [];
  const model = await testModel((request, call) => {
    shown.push(inputOf(request));
    return says(call === 1 ? '```markdown\n# After 1\n```' : `# ${'x'.repeat(20_000)}`);
  });
  const { told, out } = await played('summary', model);
  expect(told.slice(0, 2)).toEqual(['', '# After 1']);
  expect(told[2]).toHaveLength(10_000);
  expect(shown[0]).toContain(RULE);
  expect(shown[1]).toMatch(
    /^<file>\n# After 1\n<\/file>\n\n<session date="2026-11-22">\n\[human\] Is port 4000 free\?/,
  );
  expect(read(out, 'after/1/MEMORY.md')).toBe('# After 1');
});

test('notes are appended after each session, and the newest are told; nothing is appended where nothing is worth it', async () => {
  const model = await testModel((_, call) => says(call === 2 ? 'Nothing.' : '- pnpm, not npm'));
  const { told, out } = await played('append', model);
  expect(told).toEqual(['', '- pnpm, not npm\n', '- pnpm, not npm\n']);
  expect(read(out, 'after/3/NOTES.md')).toBe('- pnpm, not npm\n- pnpm, not npm\n');
});

test('of what the agent keeps itself a later session is told its instructions and memory, as its calls left them', async () => {
  const dir = tempDir();
  const memory = '/home/kim/.claude/projects/-home-kim-orchard/memory/MEMORY.md';
  const session = sessionFile(dir, { ...starts(1), isTold: true });
  session.add('Remember it.', [
    { calls: 'Write', input: { file_path: memory, content: '- npm\n' }, result: 'ok' },
    { calls: 'Edit', input: { file_path: memory, old_string: 'npm', new_string: 'pnpm' }, result: 'ok' },
    {
      calls: 'Read',
      input: { file_path: '/home/kim/orchard/CLAUDE.md' },
      result: '     1→Be brief.\n     2→Test first.',
    },
    { calls: 'Read', input: { file_path: '/home/kim/orchard/README.md' }, result: '     1→An orchard.' },
    { calls: 'Write', input: { file_path: memory, content: 'not written' }, result: 'no', fails: true },
  ]);
  aSession(['And now?'], { dir, ...starts(2) });
  const { told } = await played('own', await testModel([]), dir);
  expect(told[0]).toBe('');
  expect(told[1]).toBe('## CLAUDE.md\n\nBe brief.\nTest first.\n\n## memory-of-the-agent/MEMORY.md\n\n- pnpm');
});

test.runIf(isDeep)(
  'the reference memory server keeps what the model calls it with, and tells what its search finds',
  async () => {
    const entity = {
      name: 'port 4000',
      entityType: 'port',
      observations: ['Is port 4000 free? It is taken by the proxy.'],
    };
    const model = await testModel((_, call) =>
      call === 1 ? calls('create_entities', { entities: [entity] }) : says('done'),
    );
    const { told } = await played('server', model);
    expect(told[0]).toBe('');
    expect(told[1]).toContain('taken by the proxy');
  },
);

test('a session is shown from both ends within its budget, calls and results cut short', async () => {
  const dir = tempDir();
  const session = sessionFile(dir, starts(1));
  for (let at = 0; at < 40; at += 1)
    session.add(`Prompt ${at}`, [{ calls: 'Bash', input: { command: 'ls' }, result: `${at} ${'word '.repeat(400)}` }]);
  const [link] = await linksOf(dir);
  const text = sessionText(link?.messages ?? [], 2_000);
  expect(text).toMatch(/^\[human\] Prompt 0\n\n\[call Bash\] .*ls/);
  expect(text).toContain('messages and calls are left out here');
  expect(text).toContain('[human] Prompt 39');
  expect(text.length).toBeLessThan(3 * 2_000);
});

test('a chain by name needs its transcripts, each with the SHA-256 that it was played with', async () => {
  const [chain] = CHAINS;
  const { name = '', sessions = [] } = chain ?? {};
  await expect(linksOf(name, tempDir())).rejects.toThrow(`${name}: there is no `);
  const dir = tempDir();
  mkdirSync(join(dir, 'claude-code', name), { recursive: true });
  for (const { path } of sessions) writeFileSync(join(dir, path), '{}\n');
  await expect(linksOf(name, dir)).rejects.toThrow('has the SHA-256 ');
  await expect(linksOf('no-such-chain')).rejects.toThrow('There is no directory no-such-chain');
});
