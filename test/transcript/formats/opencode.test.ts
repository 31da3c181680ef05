import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { finishedCalls } from '../../../src/transcript/own-writes.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { messageLine } from '../../support/message-line.ts';
import { collect, fixtures, hasReal, real, realFiles, transcriptOf } from '../../support/transcripts.ts';

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

  test('has what a person answered to a question', async () => {
    const input = {
      questions: [{ question: 'Which?', options: [{ label: 'Tabs' }, { label: 'No' }], multiple: true }],
    };
    const output =
      'User has answered your questions: "Which?"="Tabs, never in YAML". You can now continue with the user\'s answers in mind.';
    const tool = {
      id: 'prt_q',
      type: 'tool',
      callID: 'q',
      tool: 'question',
      state: { status: 'completed', input, output },
    };
    const asked = await readChanged(({ messages }) => {
      messages.push({ info: { id: 'msg_q', role: 'assistant' }, parts: [tool] });
    });
    expect(asked.at(-1)).toBe('  | prt_q/answer | human | Which?\nchose: Tabs | never in YAML');
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

  test('keeps its ids as it grows', async () => {
    const whole = await readChanged(() => undefined);
    const shorter = await readChanged(({ messages }) => {
      messages.length = 2;
    });
    expect(shorter).toEqual(whole.slice(0, shorter.length));
  });

  test('shows which calls succeeded', async () => {
    const turns = await collect(readTurns((await openSession(fixture)).messages()));
    expect(turns.map((turn) => finishedCalls(turn).map(({ call, added }) => [call, added]))).toEqual([
      [['call_1', ['tabs']]],
      [],
    ]);
  });
});

// Counted by hand in the files; `failed` are the calls with an error or an exit code other than 0.
const GOLDEN: Record<string, { human: number; results: number; failed: number }> = {
  'eitatech+gatomia-vscode/ses_20b57e9a4ffezfCGMGhuR8Hci7': { human: 1, results: 34, failed: 7 },
  'eitatech+gatomia-vscode/ses_20be19bd6ffeHn5B6DdBVxU8TR': { human: 1, results: 13, failed: 1 },
  // The same words were sent twice: the first time no answer came.
  'savekirk+session-bridge/ses_277ed760bffeXZM4Joly2lQJzU': { human: 2, results: 16, failed: 0 },
  'savekirk+session-bridge/ses_2784561ccffehyW7WxpzfbGspd': { human: 1, results: 16, failed: 0 },
  // A child session.
  'savekirk+session-bridge/ses_2bef25635ffe8EzID0I1Oeymal': { human: 0, results: 14, failed: 0 },
};

describe.skipIf(!hasReal)('real exports of opencode (../shared/transcripts; skipped where they are not there)', () => {
  test('are all in the list', async () => {
    expect((await realFiles(/^opencode\//)).sort()).toEqual(Object.keys(GOLDEN).map((file) => `opencode/${file}.json`));
  });

  test.each(Object.entries(GOLDEN))('%s has the human turns that a reader counts', async (file, golden) => {
    const session = await openSession(join(real, 'opencode', `${file}.json`));
    const turns = await collect(readTurns(session.messages()));
    const messages = turns.flatMap((turn) => turn.messages);
    const results = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === 'result'));
    expect({
      human: messages.filter(({ speaker, beginsTurn }) => speaker === 'human' && beginsTurn).length,
      results: results.length,
      failed: results.filter((result) => result.isError).length,
    }).toEqual(golden);
    expect(turns).toHaveLength(Math.max(golden.human, 1));
    expect(new Set(messages.map((message) => message.id)).size).toBe(messages.length);
    expect(messages.every((message) => message.at !== undefined && message.cwd === session.cwd)).toBe(true);
    expect(session.unreadableLines).toBe(0);
  });
});
