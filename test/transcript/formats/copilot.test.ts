import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSession } from '../../../src/transcript/session.ts';
import { brief } from '../../support/brief.ts';
import { collect, fixtures, hasReal, lines, real, realFiles, transcriptOf } from '../../support/transcripts.ts';

const fixture = join(fixtures, 'copilot.jsonl');

const event = (id: string, type: string, data: object): object => ({ type, data, id, parentId: null });
const read = async (...events: object[]): Promise<string[]> =>
  (await collect((await openSession(transcriptOf(lines(...events)))).messages())).map(brief);

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

  test('has what a person chose, behind the question, and gives no other message another id', async () => {
    const asks = { toolCallId: 't', toolName: 'ask_user', arguments: { question: 'Go on?', choices: ['Yes'] } };
    const told = async (content: string) =>
      collect(
        (
          await openSession(
            transcriptOf(
              lines(
                event('a', 'tool.execution_start', asks),
                event('b', 'tool.execution_complete', { toolCallId: 't', success: true, result: { content } }),
                event('', 'assistant.message', { content: 'Done.' }),
              ),
            ),
          )
        ).messages(),
      );
    const messages = await told('User selected: Yes');
    expect(messages[2]).toMatchObject({
      ...{ id: 'b/answer', speaker: 'human', beginsTurn: false },
      parts: [{ kind: 'text', text: 'Go on?\nchose: Yes', untyped: 'chosen' }],
    });
    expect(messages[3]?.id).toBe((await told('Nobody answered.'))[2]?.id);
  });

  test('keeps the time, and the directory and branch that it moved to', async () => {
    const messages = await collect((await openSession(fixture)).messages());
    expect(messages[0]).toMatchObject({ at: '2026-11-02T09:00:04.000Z', cwd: '/home/ada/acme', branch: 'main' });
    expect(messages.at(-1)).toMatchObject({ cwd: '/home/ada/acme/web', branch: 'fix' });
  });

  test('keeps all ids when it grows', async () => {
    const text = readFileSync(fixture, 'utf8');
    const idsOf = async (path: string): Promise<string[]> =>
      (await collect((await openSession(path)).messages())).map(({ id }) => id);
    const whole = await idsOf(fixture);
    expect(new Set(whole).size).toBe(whole.length);
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) {
      const part = await idsOf(transcriptOf(text.slice(0, end)));
      expect(part).toEqual(whole.slice(0, part.length));
    }
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

// Counted by hand: each file has one `user.message`, with an answer of no words.
describe.skipIf(!hasReal)('real sessions (../shared/transcripts; skipped where they are not there)', () => {
  test('have one human turn each', async () => {
    const files = await realFiles(/^copilot\//);
    expect(files).toHaveLength(4);
    for (const file of files) {
      const session = await openSession(join(real, file));
      const messages = await collect(session.messages());
      expect(session.format, file).toBe('copilot');
      expect(messages.map(({ speaker, beginsTurn }) => [speaker, beginsTurn])).toEqual([
        ['harness', false],
        ['human', true],
      ]);
      expect(JSON.stringify(messages.at(-1)?.parts), file).not.toContain('current_datetime');
      expect(session.unreadableLines, file).toBe(0);
    }
  });
});
