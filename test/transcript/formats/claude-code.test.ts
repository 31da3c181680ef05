import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Message } from '../../../src/transcript/messages.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { readTurns } from '../../../src/transcript/turns.ts';
import { collect, fixtures, lines, messagesAt, messagesOf, transcriptOf } from '../../support/transcripts.ts';

const fixture = join(fixtures, 'claude-code.jsonl');

const brief = ({ id, speaker, parts, beginsTurn }: Message): string =>
  [
    beginsTurn ? '>' : ' ',
    id,
    speaker,
    ...parts.map((part) => {
      if (part.kind === 'call') return `call ${part.id}`;
      if (part.kind === 'result') return `${part.isError ? 'error' : 'result'} ${part.callId} ${part.text}`;
      return part.kind === 'attachment' ? `[${part.label}]` : part.text.slice(0, 30);
    }),
  ].join(' | ');

const user = (uuid: string, content: unknown, more: object = {}): object => ({
  parentUuid: null,
  sessionId: 's',
  type: 'user',
  uuid,
  message: { role: 'user', content },
  ...more,
});
const assistant = (uuid: string, id: string, content: unknown, more: object = {}): object => ({
  parentUuid: null,
  sessionId: 's',
  type: 'assistant',
  uuid,
  message: { role: 'assistant', id, content },
  ...more,
});
const say = (text: string): object[] => [{ type: 'text', text }];

describe('a Claude Code transcript', () => {
  test('is read in file order, each thing once, each by the one who said it', async () => {
    const session = await openSession(fixture);
    expect((await collect(session.messages())).map(brief)).toMatchInlineSnapshot(`
      [
        "  | u01 | harness | <local-command-caveat>Caveat: ",
        "  | u02 | human | /review the API",
        "> | u03 | human | Always use tabs, please. | [image/png, 3 kB]",
        "  | msg_a | assistant | Tabs it is. | call t1",
        "  | u08 | tool | result t1 package a | [image/png, 2 kB]",
        "  | u09 | assistant | call t2",
        "  | u10 | human | and run the linter",
        "  | u11 | harness | <task-notification>done</task-",
        "  | u12 | harness | {"task_id":"a1"}",
        "  | u13 | tool | error t2 exit 1",
        "  | u13/text | human | stop at the first error",
        "  | u14 | harness | Look into the parser",
        "  | msg_s | subagent | The parser is fine.",
        "  | u16 | tool | result ts grep: no match",
        "  | msg_err | harness | You're out of extra usage",
        "  | u18 | harness | This session is being continue",
        "  | msg_b | assistant | Shall I go on?",
        "> | u20 | human | Yes, go on.",
        "  | u21 | harness | [Request interrupted by user]",
        "> | u22 | human | Thanks, that is all.",
      ]
    `);
    expect(session).toMatchObject({
      id: '0d8c1a52-6c1f-4a3e-9a57-1f2b3c4d5e6f',
      format: 'claude-code',
      cwd: '/home/ada/acme',
      subagent: undefined,
      // The comment, the torn record before u22, the bare number and the torn last line.
      unreadableLines: 4,
    });
  });

  test('keeps the time, directory and branch of each record', async () => {
    const [first] = await messagesAt(fixture);
    expect(first).toMatchObject({ at: '2026-11-02T09:01:10.101Z', cwd: '/home/ada/acme', branch: 'main' });
  });

  test('can be read again after it has grown, and counts afresh', async () => {
    const path = transcriptOf(lines(user('u1', 'hello'), '{"torn'));
    const session = await openSession(path);
    expect(await collect(session.messages())).toHaveLength(1);
    appendFileSync(path, lines(user('u2', 'again')));
    expect(await collect(session.messages())).toHaveLength(2);
    expect(session.unreadableLines).toBe(1);
  });

  test('replayed into the same file under new uuids says nothing twice', async () => {
    const at = { timestamp: '2026-02-03T06:17:55.835Z' };
    const later = { timestamp: '2026-02-03T06:18:02.173Z' };
    const messages = await messagesOf(
      user('u1', say('what is this?'), at),
      assistant('u2', 'msg_1', say('A robot.'), later),
      assistant('u3', 'msg_2', say('Anything else?'), later),
      user('u4', say('what is this?'), at),
      assistant('u5', 'msg_1', say('A robot.'), later),
      user('u6', say('no')),
    );
    expect(messages.map((message) => message.id)).toEqual(['u1', 'msg_1', 'msg_2', 'u6']);
  });

  test('lets a person say the same thing again', async () => {
    const messages = await messagesOf(
      user('u1', 'yes', { timestamp: '2026-02-03T06:17:55.835Z' }),
      user('u2', 'yes', { timestamp: '2026-02-03T06:19:55.111Z' }),
    );
    expect(messages).toHaveLength(2);
  });

  test('calls a prompt of no origin human until the file names humans', async () => {
    const notice = user('n', '<b>done</b>', { origin: { kind: 'task-notification' } });
    const named = user('h', 'hello', { origin: { kind: 'human' } });
    const speakers = async (...records: unknown[]): Promise<string[]> =>
      (await messagesOf(...records)).map((message) => message.speaker);
    expect(await speakers(user('a', 'hi'), notice, user('b', 'go'))).toEqual(['human', 'harness', 'human']);
    expect(await speakers(user('a', 'hi'), named, user('b', 'go'))).toEqual(['human', 'human', 'harness']);
    expect(await speakers(named, user('b', 'go', { promptSource: 'typed' }))).toEqual(['human', 'human']);
    expect(await speakers(user('a', 'hi', { origin: { kind: 'channel' } }))).toEqual(['harness']);
  });

  test.each([
    ['what a schedule sends', '<scheduled-task name="beat">Check it.</scheduled-task>', { origin: { kind: 'human' } }],
    ['what a loop sends itself', '<<autonomous-loop-dynamic>>', {}],
    [
      'what another session sends',
      'Another Claude session sent a message:\n<agent-message from="x">Fix it.</agent-message>',
      {},
    ],
    ['a skill’s place', 'Base directory for this skill: /home/ada/.claude/skills/format', {}],
    ['what a hook says', 'Stop hook feedback:\n[check.sh]: Run the tests.', {}],
    ['what a hook says of a tool', 'PreToolUse:Bash hook blocking error from command: "x": no', {}],
    ['a message of a chat', '<channel source="telegram">Fix it.</channel>', {}],
    ['the app that goes on', 'I hit my usage limit while you were working, but it has reset now. Go on.', {}],
  ])('does not take for a person’s words: %s', async (_, content, more) => {
    expect(await messagesOf(user('u1', content, more))).toMatchObject([{ speaker: 'harness', beginsTurn: false }]);
  });

  test('has what a person pasted without the marks around it', async () => {
    const content = 'Why?\n\n<pasted_content id="9ef7">\nError: no\n</pasted_content id="9ef7">\n';
    const [message] = await messagesOf(user('u1', content, { origin: { kind: 'human' }, turnOrigin: 'human' }));
    expect(message).toMatchObject({
      speaker: 'human',
      parts: [{ text: 'Why?' }, { text: 'Error: no', untyped: 'pasted' }],
    });
  });

  test('says once what was queued and stands as a prompt as well', async () => {
    const attachment = { type: 'queued_command', prompt: 'and lint', source_uuid: 'u2', origin: { kind: 'human' } };
    const queued = { type: 'attachment', uuid: 'a1', sessionId: 's', attachment };
    const messages = await messagesOf(user('u1', 'go'), queued, user('u2', 'and lint'));
    expect(messages.map(({ speaker, beginsTurn }) => [speaker, beginsTurn])).toEqual([
      ['human', true],
      ['human', false],
    ]);
  });

  test('is read where zeros stand between its lines', async () => {
    const [one, two] = [user('u1', 'one'), user('u2', 'two')].map((record) => JSON.stringify(record));
    const session = await openSession(transcriptOf(`${one}\n\0\0\0${two}\n${'\0'.repeat(4096)}`));
    expect((await collect(session.messages())).map(({ id }) => id)).toEqual(['u1', 'u2']);
    expect(session.unreadableLines).toBe(0);
  });

  describe('a plan that a person approves', () => {
    const approved = { kind: 'text', text: 'approved the plan', untyped: 'chosen' };

    test('is the assistant’s words, the approval the person’s', async () => {
      const call = { type: 'tool_use', id: 'p1', name: 'ExitPlanMode', input: { plan: '# Plan A' } };
      const result = { type: 'tool_result', tool_use_id: 'p1', content: 'User has approved your plan. You can now …' };
      const exit = (outcome: unknown, more: object = {}) =>
        messagesOf(
          user('u0', 'go'),
          assistant('a1', 'msg_1', [call]),
          user('u1', [{ ...result, ...more }], { toolUseResult: outcome }),
        );
      expect((await exit({ plan: '# Plan B' })).slice(3)).toMatchObject([
        { id: 'u1/plan', speaker: 'assistant', parts: [{ kind: 'text', text: '# Plan B' }] },
        { id: 'u1/answer', speaker: 'human', beginsTurn: false, parts: [approved] },
      ]);
      expect((await exit(undefined))[3]).toMatchObject({ parts: [{ text: '# Plan A' }] });
      const edited = { content: 'User has approved your plan. …\n\n## Approved Plan (edited by user):\n# Plan C' };
      expect((await exit(undefined, edited))[3]).toMatchObject({ parts: [{ text: '# Plan C' }] });
      expect(await exit('Error: no', { is_error: true })).toHaveLength(3);
      expect(await exit(undefined, { content: 'User has approved exiting plan mode.' })).toMatchObject([
        {},
        {},
        {},
        {},
        {},
      ]);
    });

    test('and begins anew with is not what they typed, save for what they said about it', async () => {
      const plan = { planContent: '# Plan A' };
      expect(await messagesOf(user('u1', 'Implement the following plan:\n\n# Plan A', plan))).toMatchObject([
        { id: 'u1', speaker: 'assistant', beginsTurn: false, parts: [{ text: '# Plan A' }] },
        { id: 'u1/answer', speaker: 'human', beginsTurn: false, parts: [approved] },
      ]);
      const said = 'Implement the following plan:\n\n# Plan A\n\nUser feedback on this plan: but with tabs';
      expect((await messagesOf(user('u1', said, plan)))[1]).toMatchObject({
        parts: [approved, { text: 'but with tabs' }],
      });
    });
  });

  describe('a command to the program', () => {
    const command = (args: string) =>
      `<command-message>ship is running…</command-message>\n<command-name>/ship</command-name>\n<command-args>${args}</command-args>`;

    test('with arguments is the person’s, on one line, and begins no turn', async () => {
      const messages = await messagesOf(user('u1', 'go'), user('u2', command('to staging only')));
      expect(messages[1]).toMatchObject({
        ...{ id: 'u2', speaker: 'human', beginsTurn: false },
        parts: [{ kind: 'text', text: '/ship to staging only' }],
      });
    });

    test('to remember something is the person’s', async () => {
      const note = '<user-memory-input>always use tabs</user-memory-input>';
      expect(await messagesOf(user('u1', 'go'), user('u2', note))).toMatchObject([
        {},
        { speaker: 'human', beginsTurn: false, parts: [{ text: '# always use tabs' }] },
      ]);
    });

    test('is so also where the file names who typed its prompts', async () => {
      const named = user('u1', 'go', { origin: { kind: 'human' }, promptSource: 'typed' });
      expect((await messagesOf(named, user('u2', command('now'))))[1]).toMatchObject({ speaker: 'human' });
    });

    test('that the program carries out itself is a record of its own kind, and changes no other', async () => {
      const local = (content: string) => ({
        type: 'system',
        subtype: 'local_command',
        uuid: 'c1',
        sessionId: 's',
        content,
      });
      const around = (...between: object[]) =>
        messagesOf(
          user('u1', 'go'),
          assistant('u2', 'msg_1', say('Do')),
          ...between,
          assistant('u3', 'msg_1', say('ne.')),
        );
      const [prompt, ...rest] = await around(local(command('blue')));
      expect(rest).toMatchObject([
        { id: 'msg_1', parts: [{ text: 'Do' }, { text: 'ne.' }] },
        { id: 'c1', speaker: 'human', beginsTurn: false, parts: [{ text: '/ship blue' }] },
      ]);
      expect([prompt, rest[0]]).toEqual(await around());
      expect(await around(local(command('')), local('<local-command-stdout>x</local-command-stdout>'))).toHaveLength(2);
    });

    test.each([
      ['without arguments', command(''), {}],
      ['that the model gave', command('now'), { sourceToolUseID: 'toolu_1' }],
      ['that a schedule gave', command('now'), { turnOrigin: 'scheduled' }],
      ['that a program’s document holds', command('now'), { isMeta: true }],
    ])('%s is nobody’s', async (_, content, more) => {
      expect(await messagesOf(user('u1', content, more))).toMatchObject([{ speaker: 'harness' }]);
    });

    test.each([
      ['a command', command('opus'), {}],
      ['an approved plan', 'Implement the following plan:\n\n# A', { planContent: '# A' }],
    ])('at the beginning of a session makes no turn of its own: %s', async (_, content, more) => {
      const records = [user('u1', content, more), user('u2', 'go'), assistant('a1', 'msg_1', say('Done.'))];
      const turnsOf = async (count: number) =>
        collect(readTurns((await openSession(transcriptOf(lines(...records.slice(0, count))))).messages()));
      expect((await turnsOf(3)).map(({ id, messages }) => [id, messages.at(-1)?.id])).toEqual([['u2', 'msg_1']]);
      expect((await turnsOf(1)).map(({ id }) => id)).toEqual(['u1']);
    });
  });

  describe('what a person typed or chose in a result', () => {
    const QUESTION = { question: 'Which store?', options: [{ label: 'SQLite' }, { label: 'Postgres' }] };
    const ask = assistant('a1', 'msg_1', [{ type: 'tool_use', id: 'q1', name: 'AskUserQuestion', input: {} }]);
    const answered = (outcome: object, question: object = QUESTION): object =>
      user('u1', [{ type: 'tool_result', tool_use_id: 'q1', content: 'User has answered …' }], {
        toolUseResult: { questions: [question], ...outcome },
      });
    const typed = async (...records: object[]): Promise<unknown> =>
      (await messagesOf(user('u0', 'go'), ...records)).filter((message) => message.id.endsWith('/answer'));

    test('as an answer that was no option, or as a note, is theirs, behind the question', async () => {
      const answer = 'neither, use files';
      expect(await typed(ask, answered({ answers: { 'Which store?': answer } }))).toMatchObject([
        {
          id: 'u1/answer',
          speaker: 'human',
          beginsTurn: false,
          parts: [
            { kind: 'call', tool: 'AskUserQuestion', input: { question: 'Which store?' } },
            { kind: 'text', text: answer },
          ],
        },
      ]);
      const noted = { answers: { 'Which store?': 'SQLite' }, annotations: { 'Which store?': { notes: 'for now' } } };
      expect(await typed(ask, answered(noted))).toMatchObject([{ parts: [{}, { text: 'for now' }] }]);
    });

    const chose = (text: string): object => ({ kind: 'text', text: `Which store?\nchose: ${text}`, untyped: 'chosen' });

    test('as an option is a choice, behind the question', async () => {
      expect(await typed(ask, answered({ answers: { 'Which store?': 'SQLite' } }))).toMatchObject([
        { id: 'u1/answer', speaker: 'human', beginsTurn: false, parts: [chose('SQLite')] },
      ]);
      const several = { ...QUESTION, multiSelect: true };
      expect(await typed(ask, answered({ answers: { 'Which store?': 'SQLite, Postgres' } }, several))).toMatchObject([
        { parts: [chose('SQLite, Postgres')] },
      ]);
      expect(await typed(ask, answered({ answers: { 'Which store?': 'SQLite, and files' } }, several))).toMatchObject([
        { parts: [chose('SQLite'), { text: 'and files' }] },
      ]);
    });

    test('as an option comes with what the question said of it', async () => {
      const options = [{ label: 'SQLite', description: 'One file, no server.' }, { label: 'Postgres' }];
      const outcome = answered({ answers: { 'Which store?': 'SQLite' } }, { ...QUESTION, options });
      expect(await typed(ask, outcome)).toMatchObject([{ parts: [chose('SQLite\n(One file, no server.)')] }]);
    });

    test.each([
      ['User has answered your questions: ', ". You can now continue with the user's answers in mind."],
      ['Your questions have been answered: ', '. You can now continue with these answers in mind.'],
    ])('is told by %j where nothing else does', async (before, after) => {
      const questions = [QUESTION, { question: 'Which "kind"?', options: [{ label: 'A, b' }] }];
      const asked = assistant('a1', 'msg_1', [
        { type: 'tool_use', id: 'q1', name: 'AskUserQuestion', input: { questions } },
      ]);
      const told = (text: string): object =>
        user('u1', [{ type: 'tool_result', tool_use_id: 'q1', content: before + text + after }]);
      expect(await typed(asked, told('"Which store?"="SQLite", "Which "kind"?"="A, b"'))).toMatchObject([
        { parts: [chose('SQLite'), { text: 'Which "kind"?\nchose: A, b' }] },
      ]);
      const noted = '"Which store?"="SQLite" selected preview:\nx "y", "Which "kind"?"="neither" user notes: for now';
      expect(await typed(asked, told(noted))).toMatchObject([
        {
          parts: [
            chose('SQLite'),
            { kind: 'call', input: { question: 'Which "kind"?' } },
            { text: 'neither' },
            { text: 'for now' },
          ],
        },
      ]);
    });

    test('as the reason for rejecting a call is theirs, without what the program adds', async () => {
      const call = assistant('a1', 'msg_1', [{ type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'rm x' } }]);
      const reject = (said: string): object => {
        const content = `The user doesn't want to proceed with this tool use. The tool use was rejected. ${said}`;
        return user('u1', [{ type: 'tool_result', tool_use_id: 't1', is_error: true, content }]);
      };
      const said = 'To tell you how to proceed, the user said:\n';
      const note = "\n\nNote: The user's next message may contain a correction.";
      expect(await typed(call, reject(`${said}never delete files${note}`))).toMatchObject([
        {
          parts: [
            { kind: 'call', input: { command: 'rm x' } },
            { kind: 'text', text: 'never delete files' },
          ],
        },
      ]);
      expect(await typed(call, reject('STOP what you are doing and wait.'))).toEqual([]);
      expect(await typed(call, reject(`${said}The user wants to clarify these questions.\n …`))).toEqual([]);
    });
  });

  describe('a text queued while the agent works', () => {
    const queue = (operation: string, content?: string): object => ({
      type: 'queue-operation',
      operation,
      timestamp: '2026-02-02T11:32:28.125Z',
      sessionId: 's',
      content,
    });
    const humans = async (...records: object[]): Promise<unknown> =>
      (await messagesOf(...records))
        .filter((message) => message.speaker === 'human')
        .map(({ beginsTurn, parts: [part] }) => `${beginsTurn ? '> ' : ''}${part?.kind === 'text' ? part.text : ''}`);
    const go = user('u1', 'go');
    const done = assistant('u2', 'msg_1', say('Done.'));

    test('and never sent is a message of the running turn', async () => {
      expect(await humans(go, queue('enqueue', 'and commit'), done)).toEqual(['> go', 'and commit']);
      const restarted = [go, queue('enqueue', 'and commit'), done, user('u3', 'hello again')];
      expect(await humans(...restarted)).toEqual(['> go', 'and commit', '> hello again']);
    });

    test('and sent or taken back stands only where it was sent', async () => {
      const sent = [go, queue('enqueue', 'one'), queue('enqueue', 'two'), done, queue('dequeue'), user('u3', 'one')];
      expect(await humans(...sent, queue('dequeue'), user('u4', 'two'))).toEqual(['> go', '> one', '> two']);
      expect(await humans(go, queue('enqueue', 'a'), queue('enqueue', 'b'), queue('popAll', 'b'))).toEqual([
        '> go',
        'a',
      ]);
      expect(await humans(go, queue('enqueue', 'a'), queue('enqueue', 'b'), queue('popAll'), done)).toEqual(['> go']);
    });

    test('and given to the agent without a record stands where it was given', async () => {
      const given = [go, queue('enqueue', 'one'), queue('remove'), done];
      expect(await humans(...given)).toEqual(['> go', 'one']);
      expect(await humans(...given, user('u3', 'more'))).toEqual(['> go', 'one', '> more']);
      expect(await humans(go, queue('enqueue', 'one'), queue('remove', 'one'), done)).toEqual(['> go', 'one']);
      expect(await humans(go, queue('enqueue', 'one'), queue('dequeue'), done)).toEqual(['> go', 'one']);
      const order = (await messagesOf(...given, user('u3', 'more'))).map(({ id }) => id.replace(/-.*/, ''));
      expect(order).toEqual(['u1', 'queued', 'msg_1', 'u3']);
    });

    test('and given stands once, at its own place, where a record or an attachment follows', async () => {
      const attachment = {
        type: 'attachment',
        uuid: 'x1',
        sessionId: 's',
        attachment: { type: 'queued_command', prompt: 'one' },
      };
      const given = [go, queue('enqueue', 'one'), queue('remove'), done];
      const ids = async (...records: object[]) => (await messagesOf(...given, ...records)).map(({ id }) => id);
      expect(await ids(attachment)).toEqual(['u1', 'msg_1', 'x1']);
      expect(await ids(user('u3', 'one'))).toEqual(['u1', 'msg_1', 'u3']);
      expect(await ids(user('u3', [{ type: 'tool_result', tool_use_id: 't', content: '' }, ...say('one')]))).toEqual([
        'u1',
        'msg_1',
        'u3',
        'u3/text',
      ]);
    });

    test('may hold a picture', async () => {
      const content = [
        { type: 'text', text: 'like this' },
        { type: 'image', source: { type: 'base64', data: 'AAAA' } },
      ];
      const records = [go, { ...queue('enqueue'), content }, queue('remove'), done];
      expect((await messagesOf(...records))[1]).toMatchObject({
        speaker: 'human',
        parts: [{ text: 'like this' }, { kind: 'attachment' }],
      });
    });

    test('changes no other id, and has one of its own at every reading', async () => {
      const records = [
        go,
        queue('enqueue', 'one'),
        assistant('u2', 'msg_1', say('Do')),
        queue('remove'),
        assistant('u3', 'msg_1', say('ne.')),
        { parentUuid: null, type: 'user', message: { role: 'user', content: 'without an id' } },
        queue('enqueue', 'two'),
        queue('remove'),
        user('u4', 'more'),
      ];
      const isQueued = ({ id }: Message) => id.startsWith('queued-');
      const whole = await messagesOf(...records);
      const plain = await messagesOf(...records.filter((record) => !('operation' in record)));
      expect(whole.filter((message) => !isQueued(message))).toEqual(plain);
      expect(whole.filter(isQueued)).toHaveLength(2);
      for (let count = 1; count <= records.length; count++) {
        const part = await messagesOf(...records.slice(0, count));
        const ids = new Set(whole.map(({ id }) => id));
        expect(part.every(({ id }) => ids.has(id))).toBe(true);
      }
    });

    test('is known by a record of another text that an operation was not about it', async () => {
      const notice = '<task-notification>done</task-notification>';
      const guessed = [queue('enqueue', 'one'), queue('enqueue', notice), queue('dequeue'), user('n1', notice)];
      const later = [done, queue('dequeue'), user('u3', 'one')];
      expect(await humans(go, ...guessed, ...later)).toEqual(['> go', '> one']);
    });

    test('that a program queued is nobody’s', async () => {
      const notice = queue('enqueue', '<task-notification>done</task-notification>');
      expect(await humans(go, queue('enqueue', '{"task_id":"a1"}'), notice)).toEqual(['> go']);
    });
  });

  test('gives records without ids stable ones of their own', async () => {
    const bare = (text: string): object => ({
      parentUuid: null,
      type: 'user',
      message: { role: 'user', content: text },
    });
    const records = [user('u1', 'hello'), bare('one'), bare('one'), bare('two')];
    const ids = (await messagesOf(...records)).map((message) => message.id);
    expect(new Set(ids).size).toBe(4);
    expect((await messagesOf(...records.slice(0, 3))).map((message) => message.id)).toEqual(ids.slice(0, 3));
  });

  test('of a subagent belongs to its session and has no prompt', async () => {
    const more = { isSidechain: true, agentId: 'a5c3259' };
    const path = transcriptOf(
      lines(user('u1', 'Warmup', more), assistant('u2', 'msg_1', say('Ready.'), more)),
      'agent.jsonl',
    );
    const session = await openSession(path);
    expect(session).toMatchObject({ id: 's/a5c3259', subagent: { session: 's', agent: 'a5c3259' } });
    const messages = await collect(session.messages());
    expect(messages.map(({ speaker, isSidechain }) => [speaker, isSidechain])).toEqual([
      ['harness', true],
      ['subagent', true],
    ]);
  });

  test('takes its id from the file name where no record has one', async () => {
    const text = lines({ type: 'summary', summary: 'Tabs', leafUuid: 'x' });
    expect((await openSession(transcriptOf(text, '1af7fc5e.jsonl'))).id).toBe('1af7fc5e');
  });

  test('may begin with a picture of several megabytes, and have lines that cross every chunk', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'A'.repeat(10 * 2 ** 20) };
    const messages = await messagesOf(
      user('u1', [{ type: 'image', source }, ...say('what is it?')]),
      assistant('u2', 'msg_1', say('Ä'.repeat(300_000))),
    );
    expect(messages[0]?.parts).toEqual([
      { kind: 'attachment', label: 'image/png, 7680 kB' },
      { kind: 'text', text: 'what is it?' },
    ]);
    expect(messages[1]?.parts).toEqual([{ kind: 'text', text: 'Ä'.repeat(300_000) }]);
  });
});
