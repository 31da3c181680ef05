import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSession } from '../../../src/transcript/session.ts';
import { messageLine } from '../../support/message-line.ts';
import { collect, fixtures, lines, transcriptOf } from '../../support/transcripts.ts';

const fixture = join(fixtures, 'entire.jsonl');

describe("Entire's compact transcript", () => {
  test('is read with results behind their calls, and one human text for each prompt', async () => {
    const session = await openSession(fixture);
    expect(session).toMatchObject({ format: 'entire', id: '3feb97a7-39f8-4db5-9283-b79952f092c2' });
    const messages = await collect(session.messages());
    expect(messages.map(messageLine)).toMatchInlineSnapshot(`
      [
        "> | 3feb97a7-39f8-4db5-9283-b79952f092c2 | human | Always use tabs, please. | [image/png, 1 kB]",
        "  | msg_01 | assistant | I'll look first. | call toolu_01 Bash {"command":"ls /home/ada/acme"} | call toolu_02 Read {"file_path":"/home/ada/acme/x.go"}",
        "  | msg_01/results | tool | result toolu_01 a.go | error toolu_02 no such file",
        "  | 35a4e4665deac571 | harness | Base directory for this skill: /home/ada/.claude/skills/go",
        "  | msg_02 | assistant | Done.",
        "  | 9b1d2c3e-0000-4000-8000-000000000002 | harness | This session is being continued from a previous conversation that ran out of context.",
        "> | 6008f929b72c03a6 | human | Now the tests.",
        "  | msg_03 | assistant | call toolu_03 Bash {"command":"go test"}",
      ]
    `);
    expect(messages.map(({ at }) => at)).toContain('2026-11-02T09:00:13.939Z');
    expect(session.unreadableLines).toBe(0);
  });

  test('of two sessions that begin with the same words is of two sessions', async () => {
    const idOf = async (ts: string): Promise<string> => {
      const line = { v: 1, agent: 'codex', type: 'user', ts, content: [{ text: 'hi' }] };
      return (await openSession(transcriptOf(lines(line)))).id;
    };
    expect(await idOf('2026-11-02T09:00:00Z')).not.toBe(await idOf('2026-11-03T09:00:00Z'));
  });

  test('counts lines of another version, without a type, or torn', async () => {
    const good = { v: 1, agent: 'codex', type: 'user', ts: '', content: [{ text: 'hi' }] };
    const path = transcriptOf(lines(good, { ...good, v: 2 }, { v: 1, content: [] }, '{"v":1,"agent":"co', 42));
    const session = await openSession(path);
    expect(await collect(session.messages())).toHaveLength(1);
    expect(session.unreadableLines).toBe(4);
  });
});
