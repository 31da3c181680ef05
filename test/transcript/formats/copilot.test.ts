import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSession } from '../../../src/transcript/session.ts';
import { brief } from '../../support/brief.ts';
import { collect, fixtures, messagesAt, messagesOf } from '../../support/transcripts.ts';

const fixture = join(fixtures, 'copilot.jsonl');

const event = (id: string, type: string, data: object): object => ({ type, data, id, parentId: null });
const read = async (...events: object[]): Promise<string[]> => (await messagesOf(...events)).map(brief);

describe('a session of Copilot CLI', () => {
  test('is read in file order, each thing once, each by the one who said it', async () => {
    const session = await openSession(fixture);
    expect((await collect(session.messages())).map(brief)).toMatchInlineSnapshot(`
      [
        "  | harness | "You are the GitHub Copilot CLI."",
        "> | human | "Run the tests." | [file, /home/ada/acme/go.mod]",
        "  | assistant | "I run them." | call bash {"command":"go test ./..."}",
        "  | human | "only ./web"",
        "  | tool | error "FAIL\\n<exited with exit code 1>"",
        "  | assistant | call task {"prompt":"Fix it"}",
        "~ | harness | "Fix it"",
        "~ | subagent | "Fixed."",
        "  | tool | error "timed out"",
        "  | assistant | call ask_user {"question":"Go on?","choices":["Yes","No"]}",
        "  | tool | result "User responded: only tomorrow"",
        "  | human | "only tomorrow"",
        "  | harness | "<skill-context>…</skill-context>"",
        "  | harness | "Continue."",
        "> | human | "Thanks."",
      ]
    `);
    expect(session).toMatchObject({
      id: '2a000000-0000-4000-8000-000000000001',
      format: 'copilot',
      cwd: '/home/ada/acme',
      unreadableLines: 1,
    });
  });

  test('keeps the time, and the directory and branch that it moved to', async () => {
    const messages = await messagesAt(fixture);
    expect(messages[0]).toMatchObject({ at: '2026-11-02T09:00:04.000Z', cwd: '/home/ada/acme', branch: 'main' });
    expect(messages.at(-1)).toMatchObject({ cwd: '/home/ada/acme/web', branch: 'fix' });
  });

  test('tells a call of which only the execution was recorded', async () => {
    const start = { toolCallId: 'c1', toolName: 'create', arguments: { path: 'a.md' } };
    expect(
      await read(
        event('1', 'user.message', { content: 'hi' }),
        event('2', 'tool.execution_start', start),
        event('3', 'tool.execution_complete', { toolCallId: 'c1', success: true, result: { content: 'ok' } }),
      ),
    ).toEqual(['> | human | "hi"', '  | assistant | call create {"path":"a.md"}', '  | tool | result "ok"']);
  });

  test.each([
    [{ success: true, result: { content: 'x\n<exited with exit code 0>' } }, 'result'],
    [{ success: true, result: { content: 'x\n<shellId: 0 completed with exit code 2>' } }, 'error'],
    [{ success: true, result: { content: 'x' }, shellExecution: { exitCode: 1 } }, 'error'],
    [{ success: false, error: { message: 'no' } }, 'error'],
  ])('knows of %j whether the call failed', async (data, kind) => {
    const [line] = await read(event('1', 'tool.execution_complete', { toolCallId: 'c1', ...data }));
    expect(line).toContain(`| tool | ${kind}`);
  });
});
