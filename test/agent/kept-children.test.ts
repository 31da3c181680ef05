// Children that are kept for another run: of the same memory directory alone, after runs that ended well, for so many
// runs and so long; and that nothing of one run is in the next.

import { spawnSync } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { type ForkedAgent, type ForkOptions, forkAgent } from '../../src/agent/forked.ts';
import { agentRequest, recordingPorts } from '../support/agent-ports.ts';
import { testModel } from '../support/app.ts';
import { isDeep, waysTaken } from '../support/depth.ts';
import { calls, says } from '../support/messages-server.ts';
import { isRunning } from '../support/processes.ts';
import { COMPILED, until } from '../support/run.ts';

const deep = test.runIf(isDeep);

const limits: ForkOptions = {
  wallMs: 25_000,
  memoryLimitMb: 128,
  environment: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED },
  maxIdle: 2,
};
const BUILT_CHILD = new URL('../../dist/lib/forked-child.js', import.meta.url);

/** Children that go wrong in the way they are told, or end well; answers the pid of the one that ran. */
function children(options: Partial<ForkOptions> = {}) {
  const entry = new URL('../fixtures/entry/misbehaving-child.ts', import.meta.url);
  const agent = forkAgent({ ...limits, entry, ...options });
  onTestFinished(() => agent.close());
  const pidOf = async (memory: string | undefined, way = 'more') => {
    const ports = recordingPorts();
    const ending = await agent({ ...agentRequest({ access: {}, input: way }), memory }, ports).catch(
      ({ code }) => code,
    );
    return { pid: ports.toolCalls[0]?.input as number, ending };
  };
  return { agent, pidOf };
}

test('a child runs again for its own memory directory, and never for another or for none', async () => {
  const { pidOf } = children();
  const [orchard, cellar] = [await pidOf('/orchard'), await pidOf('/cellar')];
  expect(orchard.ending).toBe('done');
  expect(cellar.pid).not.toBe(orchard.pid);
  expect(await pidOf('/orchard')).toEqual(orchard);
  expect(await pidOf('/cellar')).toEqual(cellar);
  const none = await pidOf(undefined);
  expect([orchard.pid, cellar.pid]).not.toContain(none.pid);
  await until(() => !isRunning(none.pid));
});

test('runs of one directory side by side are in a child each', async () => {
  const { pidOf } = children();
  const together = await Promise.all([pidOf('/orchard'), pidOf('/orchard')]);
  expect(new Set(together.map(({ pid }) => pid)).size).toBe(2);
  expect(together.map(({ pid }) => pid)).toContain((await pidOf('/orchard')).pid);
});

const WRONG = ['exit', 'kill', 'throw', 'block', 'late', 'babble', 'moreAndGo'];
/** In the small size about half of them, by seed. */
const taken = new Set([0, 1, 2].flatMap((at) => waysTaken(WRONG, at)));

test.for(WRONG)(
  'after a run whose child went wrong (%s) the next has a child of its own, and goes well',
  async (way, { skip }) => {
    skip(!taken.has(way));
    const { pidOf } = children({ wallMs: 4_000 });
    const first = await pidOf('/orchard');
    await pidOf('/orchard', way);
    const next = await pidOf('/orchard');
    expect(next.ending).toBe('done');
    expect(next.pid).not.toBe(first.pid);
    await until(() => !isRunning(first.pid));
  },
);

test('what a child says of a run that is over is not taken for the next one’s', async () => {
  const { agent, pidOf } = children();
  await pidOf('/orchard', 'moreAndBabble');
  const ports = recordingPorts();
  expect(await agent({ ...agentRequest({ access: {}, input: 'more' }), memory: '/orchard' }, ports)).toBe('done');
  expect(ports.toolCalls).toHaveLength(1);
});

/** Of the heap, and of buffers beside it. */
const TOO_MUCH = ['grow', 'buffers'];

test.for(TOO_MUCH)(
  'a child that runs out of memory in a later run (%s) is a crash of that run',
  async (way, { skip }) => {
    skip(!waysTaken(TOO_MUCH, 1).includes(way));
    const { pidOf } = children({ memoryLimitMb: 32 });
    const { pid } = await pidOf('/orchard');
    expect((await pidOf('/orchard', way)).ending).toBe('child-crash');
    expect(isRunning(pid)).toBe(false);
  },
);

deep(
  'a child is let go after its last run, after its time, when there are too many, and when all is closed',
  async () => {
    const few = children({ runs: 2 });
    const pids = [await few.pidOf('/a'), await few.pidOf('/a'), await few.pidOf('/a')].map(({ pid }) => pid);
    expect(pids[1]).toBe(pids[0]);
    expect(pids[2]).not.toBe(pids[0]);
    const idle = children({ idleMs: 50 });
    const { pid: late } = await idle.pidOf('/a');
    await until(() => !isRunning(late));
    const [a, b, c] = [await few.pidOf('/b'), await few.pidOf('/c'), await few.pidOf('/d')];
    await until(() => !isRunning(a.pid));
    expect([b, c].map(({ pid }) => isRunning(pid))).toEqual([true, true]);
    few.agent.close();
    await until(() => !isRunning(b.pid) && !isRunning(c.pid));
  },
);

test('by default none is kept', async () => {
  const { pidOf } = children({ maxIdle: undefined });
  expect((await pidOf('/orchard')).pid).not.toBe((await pidOf('/orchard')).pid);
});

/** The agent loop, as it is built. */
function builtAgent(options: Partial<ForkOptions> = {}): ForkedAgent {
  const agent = forkAgent({ ...limits, ...options, entry: BUILT_CHILD });
  onTestFinished(() => agent.close());
  return agent;
}

deep('what one run was told and asked is in no later request of the child, which serves twenty runs', async () => {
  const word = 'pomegranate';
  const model = await testModel((_, call) =>
    call === 1 ? calls('record_entries', { entries: [word] }) : says('Done.'),
  );
  const agent = builtAgent();
  const ports = recordingPorts({ callTool: () => ({ text: `no ${word}`, isError: true }) });
  const planted = {
    ...agentRequest({ access: { ...model.access, headers: { 'x-planted': word } }, system: word, input: word }),
    memory: '/orchard',
  };
  const [memory, custom] = planted.tools;
  if (!memory || custom?.kind !== 'custom') throw new Error('The request has other tools.');
  const tools = [memory, { ...custom, description: word }];
  expect(await agent({ ...planted, tools }, ports)).toBe('done');
  const first = model.bodies.length;
  expect(model.bodies.every((body) => body.includes(word))).toBe(true);
  for (let run = 2; run <= 20; run += 1) {
    const request = { ...agentRequest({ access: model.access, input: `run ${run}` }), memory: '/orchard' };
    expect(await agent(request, recordingPorts())).toBe('done');
  }
  expect(model.bodies).toHaveLength(first + 19);
  // A connection is a process's own.
  expect(new Set(model.ports).size).toBe(1);
  for (const said of [
    ...model.bodies.slice(first),
    ...model.headers.slice(first).map((each) => JSON.stringify(each)),
  ]) {
    expect(said).not.toContain(word);
  }
  expect(await agent({ ...agentRequest({ access: model.access }), memory: '/orchard' }, recordingPorts())).toBe('done');
  expect(new Set(model.ports).size).toBe(2);
});

test('a process that has nothing else to do ends although a child of it waits for another run', () => {
  const program = `
    import { forkAgent } from ${JSON.stringify(new URL('../../src/agent/forked.ts', import.meta.url).href)};
    const entry = new URL(${JSON.stringify(BUILT_CHILD.href)});
    const agent = forkAgent({ entry, wallMs: 25_000, memoryLimitMb: 128, environment: {}, maxIdle: 1 });
    const request = ${JSON.stringify({ ...agentRequest({ access: {}, model: 'offline' }), memory: '/orchard' })};
    const usage = async () => 1;
    await agent(request, { reserve: usage, settle: usage, callTool: async () => ({ text: 'ok', isError: false }) });
    console.log('done');
  `;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    timeout: 50_000,
  });
  expect({ status, stdout }).toEqual({ status: 0, stdout: 'done\n' });
});
