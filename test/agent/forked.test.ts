import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { type ForkOptions, forkAgent } from '../../src/agent/forked.ts';
import { agentRequest, recordingPorts } from '../support/agent-ports.ts';
import {
  calls,
  error,
  type MessagesServer,
  type Script,
  says,
  startMessagesServer,
  toolResults,
} from '../support/messages-server.ts';
import { isRunning } from '../support/processes.ts';
import { COMPILED, until } from '../support/run.ts';

const limits: ForkOptions = {
  wallMs: 25_000,
  memoryLimitMb: 128,
  environment: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED },
};
const fixture = (name: string) => new URL(`../fixtures/entry/${name}`, import.meta.url);

let server: MessagesServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** As users have it: it starts in a fifth of the time that its source takes. */
const CHILD = new URL('../../dist/lib/forked-child.js', import.meta.url);

/** Runs the real child against a scripted model. */
async function run(script: Script, ports = recordingPorts(), options: Partial<ForkOptions> = {}) {
  server = await startMessagesServer(script);
  return forkAgent({ ...limits, entry: CHILD, ...options })(agentRequest({ access: server.access }), ports);
}

/** Runs a child that goes wrong in the named way. */
function misbehave(way: string, ports = recordingPorts(), options: Partial<ForkOptions> = {}) {
  const entry = fixture('misbehaving-child.ts');
  return forkAgent({ ...limits, entry, ...options })(agentRequest({ access: {}, input: way }), ports);
}

test('a run in a child goes as it does here: tools, mended errors, reservations, ending', async () => {
  const ports = recordingPorts({
    callTool: (_, input) => ({ text: 'say more', isError: JSON.stringify(input) === '{"entries":[]}' }),
  });
  const script = [
    calls('record_entries', { entries: [] }),
    calls('record_entries', { entries: ['ü'] }),
    error(429, 'rate limited'),
    says('Done.'),
  ];
  expect(await run(script, ports)).toBe('done');
  expect(ports.toolCalls.map(({ input }) => input)).toEqual([{ entries: [] }, { entries: ['ü'] }]);
  expect(toolResults(server?.requests[1])).toMatchObject([{ content: 'say more', is_error: true }]);
  expect(ports.reserved).toEqual(server?.requestBytes.map((bytes) => bytes + 1000));
  expect(ports.settled.map(({ usage }) => usage.outputTokens)).toEqual([10, 10, 0, 10]);
});

test('an AppError of the loop keeps its code, words and remedy on the way out of the child', async () => {
  await expect(run([error(401, 'invalid x-api-key')])).rejects.toMatchObject({
    name: 'AppError',
    code: 'auth',
    message: expect.stringContaining('invalid x-api-key'),
    remedy: expect.stringContaining('nocturne doctor'),
  });
});

test('a ceiling in the third reservation ends the run with that very error, and nothing more is sent', async () => {
  const ports = recordingPorts({ room: 2 });
  await expect(run(() => calls('record_entries', { entries: [] }), ports)).rejects.toMatchObject({
    code: 'ceiling',
    message: 'No tokens are left for today.',
    remedy: 'Wait for tomorrow.',
  });
  expect(server?.requests).toHaveLength(2);
});

test('an abort ends the run with its reason, and the child is gone by then', async () => {
  const stop = new AbortController();
  let pid = 0;
  const ports = recordingPorts({
    callTool: (_, childPid) => {
      pid = childPid as number;
      stop.abort(new Error('the worker stops'));
      return { text: 'ok', isError: false };
    },
  });
  const request = agentRequest({ access: {}, input: 'spin' });
  const spinning = forkAgent({ ...limits, entry: fixture('misbehaving-child.ts') })(request, ports, stop.signal);
  await expect(spinning).rejects.toThrow('the worker stops');
  expect(isRunning(pid)).toBe(false);
});

test('a run that is aborted before it starts starts no child', async () => {
  const ports = recordingPorts();
  const request = agentRequest({ access: {}, input: 'look' });
  const aborted = forkAgent({ ...limits, entry: fixture('misbehaving-child.ts') })(request, ports, AbortSignal.abort());
  await expect(aborted).rejects.toMatchObject({ name: 'AbortError' });
  expect(ports.toolCalls).toEqual([]);
});

test.each([
  ['exits', 'exit', /exit code 3 .*the reason is here/s],
  ['is killed', 'kill', /by SIGKILL/],
  ['throws', 'throw', /exit code 1 .*thrown outside of every promise/s],
])('a child that %s is a crash that says how', async (_, way, words) => {
  await expect(misbehave(way)).rejects.toMatchObject({ code: 'child-crash', message: expect.stringMatching(words) });
});

// What waits for a limit waits together.
describe('a limit', { concurrent: true }, () => {
  test('of wall time: a model that hangs is left at it, the error names it, and its request stays counted', async () => {
    const ports = recordingPorts();
    const hanging = await startMessagesServer(['hang']);
    const running = forkAgent({ ...limits, entry: CHILD, wallMs: 15_000 });
    await expect(running(agentRequest({ access: hanging.access }), ports)).rejects.toMatchObject({
      code: 'child-crash',
      message: expect.stringContaining('limit of 15 s'),
    });
    await hanging.close();
    expect(ports.reserved).toHaveLength(1);
    expect(ports.settled).toEqual([]);
  });

  test('of wall time: a child that is blocked past it is killed before the run is over', async () => {
    const ports = recordingPorts();
    await expect(misbehave('block', ports, { wallMs: 2500 })).rejects.toMatchObject({ code: 'child-crash' });
    expect(isRunning(ports.toolCalls[0]?.input as number)).toBe(false);
  });

  test('of the heap: a child that grows past it is a crash, and its last words are kept to four kilobytes', async () => {
    const failure = await misbehave('grow', recordingPorts(), { memoryLimitMb: 32 }).catch((thrown) => thrown);
    expect(failure).toMatchObject({ code: 'child-crash', message: expect.stringContaining('SIGABRT') });
    expect(failure.message).toMatch(/heap|memory/i);
    expect(failure.message.length).toBeLessThan(4300);
  });

  test('of memory: a child that hoards buffers, which the heap’s does not see, is ended and says so', async () => {
    await expect(misbehave('buffers', recordingPorts(), { memoryLimitMb: 64 })).rejects.toMatchObject({
      code: 'child-crash',
      message: expect.stringMatching(/by SIGKILL .*more than 320 MiB/s),
    });
  });
});

test('whatever a child does, its worker lives and the next run goes well', async () => {
  const unhandled: unknown[] = [];
  const hear = (error: unknown) => unhandled.push(error);
  process.on('uncaughtException', hear).on('unhandledRejection', hear);
  onTestFinished(() => {
    process.off('uncaughtException', hear).off('unhandledRejection', hear);
  });
  const ways = ['late', 'exit', 'throw', 'kill', 'babble', 'late'];
  const endings = await Promise.all(ways.map((way) => misbehave(way).catch((error) => error.code)));
  expect(endings).toEqual(['done', 'child-crash', 'child-crash', 'child-crash', 'done', 'done']);
  expect(await run([says('Done.')])).toBe('done');
  expect(unhandled).toEqual([]);
});

test('a child program that is not there is a crash, not an exception', async () => {
  await expect(misbehave('look', recordingPorts(), { entry: fixture('no-such-child.ts') })).rejects.toMatchObject({
    code: 'child-crash',
  });
});

test('a signal to the whole process group does not end the child: that is for its parent to decide', async () => {
  expect(await misbehave('signalled')).toBe('done');
});

test('of the environment the child sees the way to the network, and no key', async () => {
  const ports = recordingPorts();
  const environment = {
    ...limits.environment,
    HTTPS_PROXY: 'http://proxy:8080',
    no_proxy: 'localhost',
    ANTHROPIC_API_KEY: 'secret',
    NODE_OPTIONS: '--no-such-option',
    NOCTURNE_HOME: '/somewhere',
  };
  await misbehave('look', ports, { environment });
  const seen = ports.toolCalls[0]?.input as { env: Record<string, string> } | undefined;
  const given = Object.keys(seen?.env ?? {}).filter((name) => !name.startsWith('NODE_CHANNEL_'));
  expect(given.sort()).toEqual(['HTTPS_PROXY', 'NODE_COMPILE_CACHE', 'PATH', 'no_proxy']);
});

test('a port that throws ends the run with what it threw', async () => {
  const thrown = new Error('the home is gone');
  const ports = recordingPorts({
    callTool: () => {
      throw thrown;
    },
  });
  await expect(misbehave('look', ports)).rejects.toBe(thrown);
});

test('a child that spins does not outlive its parent, which is killed', async () => {
  const parent = spawn(process.execPath, [fileURLToPath(fixture('spinning-parent.ts'))], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(parent.stdout, 'data');
  const pid = Number(line);
  onTestFinished(() => {
    if (isRunning(pid)) process.kill(pid, 'SIGKILL');
  });
  expect(isRunning(pid)).toBe(true);
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  await until(() => !isRunning(pid));
});
