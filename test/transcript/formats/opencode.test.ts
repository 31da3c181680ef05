import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { finishedCalls } from '../../../src/transcript/own-writes.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { messageLine } from '../../support/message-line.ts';
import { collect, fixtures, transcriptOf } from '../../support/transcripts.ts';

const fixture = join(fixtures, 'opencode.json');

interface Export {
  info: Record<string, unknown>;
  messages: unknown[];
}

/** The messages of the fixture after a change to it. */
async function readChanged(change: (document: Export) => void): Promise<string[]> {
  const document = JSON.parse(readFileSync(fixture, 'utf8')) as Export;
  change(document);
  const session = await openSession(transcriptOf(JSON.stringify(document)));
  return (await collect(session.messages())).map(messageLine);
}

const isKept = (line: string) => !line.startsWith('x');

describe('an opencode export', () => {
  test('is read with every call before its result, and what opencode added as nobody human', async () => {
    const session = await openSession(fixture);
    expect(session).toMatchObject({ format: 'opencode', id: 'ses_1', cwd: '/home/ada/acme', subagent: undefined });
    const messages = await collect(session.messages());
    expect(messages.map(messageLine)).toMatchInlineSnapshot(`
      [
        "> | msg_1 | human | Always use tabs. See @style.md | [text/plain, file:///home/ada/acme/style.md] | [image/png, 1 kB]",
        "  | msg_1/added | harness | Called the Read tool with the following input: {"filePath":"/home/ada/acme/style.md"} | <file>Always use spaces.</file>",
        "  | msg_2 | assistant | I write it down. | call call_1 write {"filePath":"/home/ada/notes/memory/tabs.md","content":"tabs"} | call call_2 bash {"command":"go vet","description":"Vet"}",
        "  | prt_9 | tool | result call_1 Wrote file successfully. | error call_2 vet: failed",
        "  | prt_11 | assistant | Now the edit. | call call_3 edit {"filePath":"/home/ada/acme/a.go","oldString":"a","newString":"b"} | call call_4 bash {"command":"sleep 9"}",
        "  | prt_12 | tool | error call_3 oldString not found",
        "  | msg_4 | harness | The user wants tabs.",
        "  | msg_5/added | harness | Continue if you have next steps",
        "> | msg_6 | human | And run the linter.",
      ]
    `);
    expect(messages[2]).toMatchObject({ at: '2026-11-02T09:00:10.000Z', cwd: '/home/ada/acme/api' });
    expect(session.unreadableLines).toBe(0);
  });

  test('of a child session is a subagent of the session that called it, and nobody in it is human', async () => {
    const document = JSON.parse(readFileSync(fixture, 'utf8')) as Export;
    document.info.parentID = 'ses_0';
    const session = await openSession(transcriptOf(JSON.stringify(document)));
    expect(session).toMatchObject({ id: 'ses_0/ses_1', subagent: { session: 'ses_0', agent: 'ses_1' } });
    const speakers = (await collect(session.messages())).map(({ speaker, isSidechain }) => [speaker, isSidechain]);
    expect(new Set(speakers.map(String))).toEqual(new Set(['harness,true', 'subagent,true', 'tool,true']));
  });

  test('marks what was said after the point to which the session was taken back', async () => {
    const whole = await readChanged(() => undefined);
    const back = await readChanged(({ info }) => {
      info.revert = { messageID: 'msg_3' };
    });
    expect(back.filter(isKept)).toEqual(whole.slice(0, 6));
    expect(back.slice(6)).toHaveLength(whole.length - 6);
    const backInMessage = await readChanged(({ info }) => {
      info.revert = { messageID: 'msg_2', partID: 'prt_11' };
    });
    expect(backInMessage.filter(isKept)).toEqual(whole.slice(0, 4));
    expect(backInMessage.slice(4).every((line) => line.includes('| harness |'))).toBe(true);
    expect(new Set(backInMessage).size).toBe(backInMessage.length);
  });

  test('shows which calls succeeded', async () => {
    const turns = await collect(readTurns((await openSession(fixture)).messages()));
    expect(turns.map((turn) => finishedCalls(turn).map(({ call, added }) => [call, added]))).toEqual([
      [['call_1', ['tabs']]],
      [],
    ]);
  });
});
