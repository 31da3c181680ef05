// What the readers make of real sessions, against what a person counts in the files.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { collect, hasReal, real, realFiles } from '../../support/transcripts.ts';

interface Counted {
  turns: number;
  /** Those that begin with one; default: all. */
  prompts?: number;
  /** What a person said besides. */
  within?: number;
  unreadable?: number;
  results?: number;
  /** Of them with an error or an exit code other than 0. */
  failed?: number;
}

const GOLDEN: Record<string, Counted> = {
  'claude-code/FSM1+cipher-box/1cd4e81e-c965-4804-bcb3-528cd9728724.jsonl': { turns: 9 },
  'claude-code/JanDeDobbeleer+oh-my-posh/030df228-1b4b-482d-b343-0fc9c13a3d1a.jsonl': {
    turns: 14,
    prompts: 13,
    within: 5,
  },
  'claude-code/JanDeDobbeleer+oh-my-posh/bf77db8f-a917-4fc4-be70-ca1927a57d56.jsonl': { turns: 2 },
  'claude-code/M-Thisness+M-Claude/f726527a-2135-406b-adf3-fc3bbe16dd91.jsonl': { turns: 14, unreadable: 21 },
  'claude-code/daaain+claude-code-log/test/test_data/edge_cases.jsonl': { turns: 3, within: 1, unreadable: 7 },
  // The measured 30 prompts, six texts typed while a tool ran, three reasons for which a call of the
  // agent's own tools was rejected (why one of a server was, its record does not tell apart from an error).
  'claude-code/entireio+cli/03a1382e-ecd5-42c4-b3d4-5c659e165904.jsonl': { turns: 30, within: 9 },
  // Its last line is a text that was queued and never sent.
  'claude-code/JanDeDobbeleer+oh-my-posh/5834c1ee-18ef-4761-a251-478863eb2f10.jsonl': { turns: 7, within: 1 },
  // 22 questions were answered, two texts were typed while a tool ran, a command has an argument, and two
  // commands went to the shell.
  'claude-code/FSM1+cipher-box/12f1f541-2a05-4a60-a551-14b836a1ad82.jsonl': { turns: 7, prompts: 6, within: 27 },
  'claude-code/entireio+cli/130d7b7e-5801-4345-9bd6-f32fd9b8429b.jsonl': { turns: 5 },
  // Names the origin of notices only: what was typed after the first notice is a person's all the same.
  'claude-code/entireio+git-sync/76731dd6-65de-4d92-be87-716b3e380099.jsonl': { turns: 14, within: 2 },
  'claude-code/entireio+git-sync/5b613073-e70b-48a1-b6ae-c6aaa99ec2b1.jsonl': { turns: 23, within: 1 },
  // Resumed by an editor into the same file: both prompts and answers stand in it twice.
  'claude-code/moredip+session-share/session-viewer/test/INTEGRATION/fixtures/images-in-user-messages.jsonl': {
    turns: 2,
    unreadable: 2,
  },
  'copilot/EntityProcess+agentv/2426852d-6cf5-4e90-be9f-e45fc6c7d5e4.jsonl': { turns: 1 },
  'copilot/EntityProcess+agentv/832dd140-8fac-433c-a45a-d29e7b1a4a39.jsonl': { turns: 1 },
  'copilot/EntityProcess+agentv/a7982b94-0f1b-4046-93bf-9fff06ac0784.jsonl': { turns: 1 },
  'copilot/EntityProcess+agentv/b166df6d-0d9f-4fb6-bd2c-51809919e5bf.jsonl': { turns: 1 },
  // Messages of type `user`, without "System: Please continue." in the second.
  'gemini/entireio+cli/f7633853-6663-4dbb-bbf4-6159afa29df8.json': { turns: 1 },
  'gemini/entireio+cli/fa4593e0-f7e1-4dd1-b656-da95fb4d60fa.json': { turns: 1 },
  'gemini/entireio+cli/faff42ab-6ea5-4f78-b8c4-f7dd6272af08.json': { turns: 2 },
  'gemini/savekirk+session-bridge/914f3c63-152a-4f25-9f4e-367c43140554.json': { turns: 1 },
  'gemini/savekirk+session-bridge/970c70a7-5c8e-4fd8-a146-707379eae099.json': { turns: 3 },
  'gemini/savekirk+session-bridge/d0ed8c54-d24e-4ca5-b7ff-2f2b943c0d2d.json': { turns: 3 },
  'opencode/eitatech+gatomia-vscode/ses_20b57e9a4ffezfCGMGhuR8Hci7.json': { turns: 1, results: 34, failed: 7 },
  'opencode/eitatech+gatomia-vscode/ses_20be19bd6ffeHn5B6DdBVxU8TR.json': { turns: 1, results: 13, failed: 1 },
  // The same words were sent twice: the first time no answer came.
  'opencode/savekirk+session-bridge/ses_277ed760bffeXZM4Joly2lQJzU.json': { turns: 2, results: 16, failed: 0 },
  'opencode/savekirk+session-bridge/ses_2784561ccffehyW7WxpzfbGspd.json': { turns: 1, results: 16, failed: 0 },
  // A child session.
  'opencode/savekirk+session-bridge/ses_2bef25635ffe8EzID0I1Oeymal.json': {
    turns: 1,
    prompts: 0,
    results: 14,
    failed: 0,
  },
};

describe.skipIf(!hasReal)('real sessions (../shared/transcripts; skipped where they are not there)', () => {
  test.each(Object.entries(GOLDEN))('%s has the turns that a reader counts', async (file, counted) => {
    const session = await openSession(join(real, file));
    const turns = await collect(readTurns(session.messages()));
    const messages = turns.flatMap((turn) => turn.messages);
    const human = messages.filter(({ speaker }) => speaker === 'human');
    const results = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === 'result'));
    const prompts = human.filter(({ beginsTurn }) => beginsTurn).length;
    expect({
      ...{ turns: turns.length, prompts, within: human.length - prompts, unreadable: session.unreadableLines },
      ...{ results: results.length, failed: results.filter(({ isError }) => isError).length },
    }).toMatchObject({ prompts: counted.turns, within: 0, unreadable: 0, ...counted });
    expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
    expect(session.format).toBe(file.split('/')[0]);
    // What a program adds to a prompt.
    expect(JSON.stringify(human)).not.toMatch(/Content from referenced files|current_datetime/);
    if (session.format === 'gemini') expect(session.cwd).toMatch(/^\/Users\/\w+\/.*\/(?:cli|session-bridge)$/);
    if (session.format !== 'opencode') return;
    expect(messages.every(({ at, cwd }) => at !== undefined && cwd === session.cwd)).toBe(true);
  });

  test('of three agents are all counted here', async () => {
    const files = await realFiles(/^(?:copilot|gemini|opencode)\//);
    expect(Object.keys(GOLDEN)).toEqual(expect.arrayContaining(files));
  });

  test('of Claude Code are all read, every message once, every turn with its own id', async () => {
    for (const file of await realFiles(/^claude-code.*\.jsonl$/)) {
      const session = await openSession(join(real, file));
      const turns = await collect(readTurns(session.messages()));
      const messages = turns.flatMap((turn) => turn.messages);
      expect(session.format, file).toBe('claude-code');
      expect(turns.length, file).toBeGreaterThan(0);
      expect(new Set(messages.map(({ id }) => id)).size, file).toBe(messages.length);
      const calls = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === 'call'));
      expect(
        calls.map(({ tool }) => tool),
        file,
      ).not.toContain('');
    }
  });

  test('keep the ids of what was there before as they grow', async () => {
    const files = await realFiles(/^claude-code-growth.*\.jsonl$/);
    expect(files).toHaveLength(4);
    const read = async (file: string) => collect(readTurns((await openSession(join(real, file))).messages()));
    const last = await read(files.at(-1) as string);
    for (const file of files) {
      const turns = await read(file);
      expect(turns.map((turn) => turn.id)).toEqual(last.slice(0, turns.length).map((turn) => turn.id));
    }
  });

  test('of other agents, and summaries, are refused', async () => {
    const files = await realFiles(/\.summary\.json$/);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files)
      await expect(openSession(join(real, file)), file).rejects.toMatchObject({ code: 'unknown-format' });
  });
});
