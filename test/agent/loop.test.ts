import { afterEach, expect, test } from 'vitest';
import type { AgentRequest } from '../../src/agent/agent-types.ts';
import { runAgent } from '../../src/agent/loop.ts';
import { agentRequest, failureOf, type RecordingPorts, recordingPorts } from '../support/agent-ports.ts';
import {
  type Answer,
  calls,
  type MessagesServer,
  type Script,
  says,
  startMessagesServer,
} from '../support/messages-server.ts';

let server: MessagesServer;
afterEach(() => server?.close());

async function run(script: Script, ports: RecordingPorts = recordingPorts(), given: Partial<AgentRequest> = {}) {
  server = await startMessagesServer(script);
  return runAgent(agentRequest({ access: server.access, ...given }), ports);
}

const record: Answer = calls('record_entries', { entries: [] });

test('a model that never stops is asked exactly five times, and the tools of its fifth reply still run', async () => {
  const ports = recordingPorts();
  expect(await run(() => record, ports)).toBe('turn-limit');
  expect(server.requests).toHaveLength(5);
  expect(ports.toolCalls).toHaveLength(5);
});

test('a model that ends in its fifth reply is done', async () => {
  expect(await run([record, record, record, record, says('Done.')])).toBe('done');
});

const taken = { text: 'recorded', isError: false, endsRun: true };

test('a reply whose calls were all taken whole is the last: nothing is asked only to hear "done"', async () => {
  const ports = recordingPorts({ callTool: () => taken });
  const twice = { tools: [1, 2].map((input) => ({ name: 'record_entries', input })) };
  expect(await run([twice], ports)).toBe('done');
  expect(ports.toolCalls).toHaveLength(2);
  expect(server.requests).toHaveLength(1);
});

test('a run goes on after a look into memory, a call of which something is left, and a tool that is not there', async () => {
  const look = { name: 'memory', input: { command: 'view', path: '/memories' } };
  for (const beside of [look, { name: 'record_entries', input: 'part' }, { name: 'nothing_of_ours', input: 1 }]) {
    const ports = recordingPorts({
      callTool: (_, input) => (input === 'whole' ? taken : { text: 'go on', isError: false }),
    });
    const reply = { tools: [{ name: 'record_entries', input: 'whole' }, beside] };
    expect(await run([reply, says('Done.')], ports)).toBe('done');
    expect(server.requests).toHaveLength(2);
    await server.close();
  }
});

test('no turns at all is refused, since the SDK takes it for no limit', async () => {
  expect(await failureOf(run([], undefined, { maxTurns: 0 }))).toMatchObject({ code: 'bad-input' });
  expect(server.requests).toHaveLength(0);
});

test('the tools of one reply run one after another in the order the model wrote them', async () => {
  const events: string[] = [];
  const ports = recordingPorts({
    callTool: async (name, input) => {
      const which = `${name} ${JSON.stringify(input)}`;
      events.push(`start ${which}`);
      await new Promise(setImmediate);
      events.push(`end ${which}`);
      return { text: 'no', isError: which.includes('1') };
    },
  });
  const view = { name: 'memory', input: { command: 'view', path: '/memories' } };
  const reply = { tools: [{ name: 'record_entries', input: 1 }, view, { name: 'record_entries', input: 2 }] };
  await run([reply, says('Done.')], ports);
  expect(events).toEqual([
    'start record_entries 1',
    'end record_entries 1',
    'start memory {"command":"view","path":"/memories"}',
    'end memory {"command":"view","path":"/memories"}',
    'start record_entries 2',
    'end record_entries 2',
  ]);
});

test('every request carries the whole conversation, with the stable parts marked for the cache', async () => {
  await run([record, record, says('Done.')]);
  for (const request of server.requests) {
    expect(request.thread).toBeUndefined();
    expect(request.system).toEqual([
      { type: 'text', text: 'You keep what matters.', cache_control: { type: 'ephemeral' } },
    ]);
    expect(request.messages[0]?.content).toEqual([
      { type: 'text', text: 'The session so far.', cache_control: { type: 'ephemeral' } },
    ]);
    expect(request.tools.map((tool) => tool.type ?? tool.name)).toEqual(['memory_20250818', 'record_entries']);
    expect(JSON.stringify(request).match(/cache_control/g)).toHaveLength(2);
  }
  expect(server.requests.map((request) => request.messages.length)).toEqual([1, 3, 5]);
});

test('a reply cut at the token limit fails the run, and its tool call does not run', async () => {
  const ports = recordingPorts();
  const failure = await failureOf(run([{ ...record, stop: 'max_tokens' } as Answer], ports));
  expect(failure).toMatchObject({ code: 'bad-reply', message: expect.stringContaining('cut at 1000 output tokens') });
  expect(ports.toolCalls).toEqual([]);
  expect(ports.settled).toHaveLength(1);
});

test.each([
  ['refusal', 'refusal', 'refused'],
  ['model_context_window_exceeded', 'oversize', 'longer than'],
  ['something_new', 'bad-reply', 'something_new'],
  ['tool_use', 'bad-reply', 'calls none'],
])('a reply that stops with %s and no tool call is %s', async (stop, code, words) => {
  const failure = await failureOf(run([record, { text: 'No.', stop }]));
  expect(failure).toMatchObject({ code, message: expect.stringContaining(words) });
});

test('a reply that calls a tool but says it has ended is a bad reply, not a silent loss', async () => {
  const ports = recordingPorts();
  expect(await failureOf(run([{ ...record, stop: 'end_turn' } as Answer], ports))).toMatchObject({ code: 'bad-reply' });
  expect(ports.toolCalls).toEqual([]);
});

test('a paused reply is sent back for the model to go on', async () => {
  expect(await run([{ text: 'One moment.', stop: 'pause_turn' }, says('Done.')])).toBe('done');
});

test('an abort ends the run with its reason', async () => {
  server = await startMessagesServer(['hang']);
  const stop = new AbortController();
  const running = runAgent(agentRequest({ access: server.access }), recordingPorts(), stop.signal);
  await server.received(1);
  stop.abort(new Error('the worker stops'));
  await expect(running).rejects.toThrow('the worker stops');
});
