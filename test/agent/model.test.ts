import { createServer as createHttp } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { type AgentRequest, NO_USAGE } from '../../src/agent/agent-types.ts';
import { runAgent } from '../../src/agent/loop.ts';
import { agentRequest, failureOf, type RecordingPorts, recordingPorts } from '../support/agent-ports.ts';
import {
  type Answer,
  calls,
  error,
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

test('each request is reserved by the bytes of its body and its output tokens, and settled by its usage', async () => {
  const ports = recordingPorts();
  const usage = {
    input_tokens: 7,
    cache_creation_input_tokens: 1000,
    cache_read_input_tokens: 2000,
    output_tokens: 30,
  };
  await run([{ ...record, usage } as Answer, says('Fertig, schön.')], ports, { input: 'Größe ✓' });
  expect(ports.reserved).toEqual(server.requestBytes.map((bytes) => bytes + 1000));
  expect(ports.settled).toEqual([
    {
      reservation: 0,
      usage: { calls: 1, inputTokens: 1007, cachedInputTokens: 2000, cacheWriteTokens: 1000, outputTokens: 30 },
    },
    {
      reservation: 1,
      usage: { calls: 1, inputTokens: 100, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 10 },
    },
  ]);
});

test.each([
  [401, 'invalid x-api-key', 'auth', 1],
  [403, 'not allowed', 'auth', 1],
  [402, 'payment required', 'quota', 1],
  [400, 'This organization has been disabled.', 'auth', 1],
  [400, 'Your credit balance is too low to access the Anthropic API.', 'quota', 1],
  [404, 'model: test-model', 'no-model', 1],
  [400, 'prompt is too long: 210000 tokens > 200000 maximum', 'oversize', 1],
  [413, 'Request exceeds the maximum size', 'oversize', 1],
  [429, 'rate limited', 'overloaded', 3],
  [500, 'internal', 'server-error', 3],
  [529, 'Overloaded', 'overloaded', 3],
])('status %i "%s" is %s after %i requests, each settled for nothing', async (status, words, code, requests) => {
  const ports = recordingPorts();
  const failure = await failureOf(run(() => error(status, words), ports));
  expect(failure).toMatchObject({ name: 'AppError', code, message: expect.stringContaining(words) });
  expect(server.requests).toHaveLength(requests);
  expect(ports.settled.map(({ usage }) => usage)).toEqual(Array(requests).fill({ ...NO_USAGE, calls: 1 }));
});

test.each([
  ['authentication_error', 'auth', 1],
  ['billing_error', 'quota', 1],
  ['not_found_error', 'no-model', 1],
  ['request_too_large', 'oversize', 1],
  ['rate_limit_error', 'overloaded', 3],
  ['timeout_error', 'server-error', 3],
  ['overloaded_error', 'overloaded', 3],
])('%s told with status 200 is %s after %i requests, as with its own status', async (type, code, requests) => {
  const ports = recordingPorts();
  const headers = { 'retry-after-ms': '1' };
  const body = { type: 'error', error: { type, message: 'so it is' } };
  const failure = await failureOf(run(() => ({ status: 200, headers, body }), ports));
  expect(failure).toMatchObject({ code, message: expect.stringContaining('so it is') });
  expect(server.requests).toHaveLength(requests);
  expect(ports.settled.map(({ usage }) => usage)).toEqual(Array(requests).fill({ ...NO_USAGE, calls: 1 }));
});

test('a billing error is one whatever its status', async () => {
  const body = { type: 'error', error: { type: 'billing_error', message: 'See your plan.' } };
  expect(await failureOf(run([{ status: 403, body }]))).toMatchObject({ code: 'quota' });
});

test.each([
  ['retry-after', '45', 45_000],
  ['retry-after-ms', '90500', 90_500],
  ['retry-after', '900000', 86_400_000],
])('the pause that %s: %s asks for is not waited for, and told up to a day', async (header, value, retryAfterMs) => {
  const answer = { ...error(529, 'Overloaded'), headers: { [header]: value } };
  expect(await failureOf(run([answer]))).toMatchObject({ code: 'overloaded', retryAfterMs });
  expect(server.requests).toHaveLength(1);
});

test('a pause that cannot be read is none that anybody waits for: not in the run, and not for a day', async () => {
  const answer = { ...error(429, 'rate limited'), headers: { 'retry-after': 'soon' } };
  expect(await failureOf(run([answer]))).toMatchObject({ code: 'overloaded', retryAfterMs: undefined });
  expect(server.requests).toHaveLength(1);
});

test.each(['hang', 'stall'] as const)(
  'a server that goes silent (%s) is a timeout, asked once and counted whole',
  async (how) => {
    const ports = recordingPorts();
    expect(await failureOf(run(() => how, ports, { requestMs: 300 }))).toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('within 0.3 s'),
    });
    expect(server.requests).toHaveLength(1);
    expect(ports.settled).toEqual([]);
  },
);

const DISPATCHER = Symbol.for('undici.globalDispatcher.1') as unknown as 'dispatcher';

/** Brings the limits of Node's `fetch` down from 300 s, so that no test waits for them, until the test is done. */
function withNodesLimits(limits: { headersTimeout: number; bodyTimeout: number }): void {
  // Loads what keeps the dispatcher.
  new Headers();
  const nodes = globalThis as unknown as { dispatcher: { constructor: new (given: object) => object } };
  const usual = nodes[DISPATCHER];
  nodes[DISPATCHER] = new usual.constructor(limits) as typeof usual;
  onTestFinished(() => {
    nodes[DISPATCHER] = usual;
  });
}

test.each([
  ['no headers', 'UND_ERR_HEADERS_TIMEOUT'],
  ['half of a reply', 'UND_ERR_BODY_TIMEOUT'],
])('a model that has sent %s when Node’s own limit is over is waited for, and asked once', async (sent, limit) => {
  withNodesLimits({ headersTimeout: 100, bodyTimeout: 100 });
  const asked: string[] = [];
  const reply = {
    content: [{ type: 'text', text: 'Done.' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 0, output_tokens: 0 },
  };
  const [begin, end] = [JSON.stringify(reply).slice(0, 40), JSON.stringify(reply).slice(40)];
  const http = createHttp(async ({ url = '' }, outgoing) => {
    asked.push(url);
    if (sent !== 'no headers') outgoing.writeHead(200).write(begin);
    if (url === '/plain') return;
    // The same limits, counted from later on: when they end this one, they have ended the model's, if they count there.
    const plain = fetch(`${baseURL}/plain`, { method: 'POST' }).then((answer) => answer.text());
    expect(await plain.catch(rootOf)).toMatchObject({ code: limit });
    outgoing.end(sent === 'no headers' ? begin + end : end);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void http.close().closeAllConnections());
  const baseURL = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const ports = recordingPorts();
  expect(await runAgent(agentRequest({ access: { apiKey: 'key', baseURL } }), ports)).toBe('done');
  expect(asked).toEqual(['/v1/messages', '/plain']);
  expect([ports.reserved.length, ports.settled.length]).toEqual([1, 1]);
});

function rootOf(error: Error): unknown {
  return error.cause instanceof Error ? rootOf(error.cause) : error;
}

test('a connection that is reset is tried again, then network, and what was sent stays counted whole', async () => {
  const ports = recordingPorts();
  expect(await failureOf(run(() => 'reset', ports))).toMatchObject({ code: 'network' });
  expect(ports.reserved).toHaveLength(3);
  expect(ports.settled).toEqual([]);
});

test('a reply that breaks off with the connection is network and stays counted whole', async () => {
  const ports = recordingPorts();
  expect(await failureOf(run(['cut'], ports))).toMatchObject({ code: 'network' });
  expect(ports.reserved).toHaveLength(1);
  expect(ports.settled).toEqual([]);
});

test('a server that is not there is network, and nothing is counted', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => closed.once('listening', resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  const ports = recordingPorts();
  const access = { apiKey: 'k', baseURL: `http://127.0.0.1:${port}` };
  const failure = await failureOf(run([], ports, { access }));
  expect(failure).toMatchObject({ code: 'network', message: expect.stringContaining('ECONNREFUSED') });
  expect(ports.settled).toEqual([0, 1, 2].map((reservation) => ({ reservation, usage: NO_USAGE })));
});

test.each([
  ['JSON that is cut', '{"id":"msg_1","content":[{"type":"te'],
  ['a page of HTML', '<html>Sign in to the hotel wifi</html>'],
  ['JSON of something else', '{"error":{"message":"no"}}'],
  ['nothing', ''],
])('%s instead of a message is a bad reply that stays counted whole', async (_, body) => {
  const ports = recordingPorts();
  expect(await failureOf(run([{ status: 200, body }], ports))).toMatchObject({ code: 'bad-reply' });
  expect(server.requests).toHaveLength(1);
  expect(ports.settled).toEqual([]);
});

test.each([
  ['is negative', { input_tokens: -1_000_000, output_tokens: 5 }],
  ['is a text', { input_tokens: '12', output_tokens: 5 }],
  ['is missing', { input_tokens: 12 }],
  ['is missing, and all of it', undefined],
  ['of the cache is negative', { input_tokens: 12, output_tokens: 5, cache_read_input_tokens: -9 }],
])('what was reserved stays counted where a number of the usage %s', async (_, usage) => {
  const ports = recordingPorts();
  const reply = { content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn', usage };
  expect(await run([{ status: 200, body: reply }], ports)).toBe('done');
  expect([ports.reserved.length, ports.settled]).toEqual([1, []]);
});

test.each([301, 302, 303, 307, 308])('an address that sends on by %s is not left', async (status) => {
  const other = await startMessagesServer([says('Done.')]);
  onTestFinished(() => other.close());
  const location = `${other.access.baseURL}/v1/messages`;
  const failure = await failureOf(run([{ status, headers: { location }, body: {} }]));
  expect(failure).toMatchObject({ code: 'no-model', message: expect.stringContaining(location) });
  expect(other.requests).toEqual([]);
});

test('a reply that calls itself text is read all the same', async () => {
  const body = { id: 'm', content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn', usage: {} };
  expect(await run([{ status: 200, headers: { 'content-type': 'text/plain' }, body }])).toBe('done');
});

test('the key, the token and the headers given are the ones sent', async () => {
  const sent: (string | undefined)[] = [];
  const http = createHttp((incoming, outgoing) => {
    sent.push(incoming.headers.authorization, incoming.headers['x-team']?.toString());
    outgoing.writeHead(401).end();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const baseURL = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const headers = { 'x-team': 'night' };
  await failureOf(run([], undefined, { access: { apiKey: 'key', authToken: 'token', baseURL, headers } }));
  await failureOf(run([], undefined, { access: { authToken: 'token', baseURL } }));
  expect(sent).toEqual(['Bearer key', 'night', 'Bearer token', undefined]);
  http.close();
});
