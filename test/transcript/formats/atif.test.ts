import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { messageLine } from '../../support/message-line.ts';
import { collect, fixtures, messagesAt, transcriptOf } from '../../support/transcripts.ts';

const fixture = join(fixtures, 'atif.json');
const trajectory = JSON.parse(readFileSync(fixture, 'utf8'));

const read = async (document: object): Promise<string[]> =>
  (await messagesAt(transcriptOf(JSON.stringify(document)))).map(messageLine);

describe('an ATIF trajectory', () => {
  test('is read step by step, with the subagent inside, and nothing copied or of the system is human', async () => {
    const session = await openSession(fixture);
    expect(session).toMatchObject({ format: 'atif', id: 'run-7', cwd: '/home/ada/acme' });
    const messages = await collect(session.messages());
    expect(messages.map(messageLine)).toMatchInlineSnapshot(`
      [
        "  | 7e1c6469a8ecd3c4 | harness | You are a coding agent.",
        "  | 607550648630bd6a | harness | Old question.",
        "  | 1bb0b678edbf5398 | harness | Old answer.",
        "> | 4199385660a2c01c | human | Always use tabs. | [image/png, images/shot.png]",
        "  | f6e9a5279b9f3c77 | assistant | I look and delegate. | call call_1 Bash {"command":"cat x"} | call call_2 delegate {"task":"count tabs"}",
        "  | 2a932436581123ef | (harness) | count tabs",
        "  | 79d3b8f6764ebd02 | (subagent) | I counted 3.",
        "  | 834a9e9cac03cab2 | tool | error call_1 cat: x: No such file | result call_2 There are 3.",
        "  | bf782a15dfbc388d | harness | Context was compacted: the user wants tabs.",
        "  | c34b0fcefc0bb39d | assistant | Three tabs.",
        "> | 2863fef64a0a3ee5 | human | Thanks.",
      ]
    `);
    expect(messages.map(({ at }) => at)).toEqual(
      expect.arrayContaining(['2026-11-02T09:00:10.000Z', '2026-11-02T09:00:20.123Z']),
    );
    expect(await collect(readTurns(session.messages()))).toHaveLength(2);
  });

  test('shares no id with another run that says the same', async () => {
    const other = new Set((await read({ ...trajectory, session_id: 'run-8' })).map((line) => line.split(' | ')[1]));
    expect((await read(trajectory)).filter((line) => other.has(line.split(' | ')[1]))).toEqual([]);
  });

  test('reads a subagent once, however often it is referred to', async () => {
    const twice = structuredClone(trajectory);
    twice.steps[6] = { ...twice.steps[4], step_id: 7 };
    expect((await read(twice)).filter((line) => line.includes('I counted 3.'))).toHaveLength(1);
  });

  test('needs no session id since 1.7, and knows the versions before', async () => {
    const { session_id: _, trajectory_id: __, ...nameless } = trajectory;
    const session = await openSession(transcriptOf(JSON.stringify({ ...nameless, schema_version: 'ATIF-v1.4' })));
    const [first] = await collect(session.messages());
    expect(session).toMatchObject({ format: 'atif', id: first?.id });
  });
});
