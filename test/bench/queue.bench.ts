// What the queue and the worker cost, on this machine, in one run:
//   1. jobs a second through the inbox with a job that does nothing, beside bare BullMQ on the same Redis;
//   2. what an extraction costs beside the model, split into child start, reading and commit;
//   3. how busy ten model slots are with a model that answers after two seconds.
// The forked child is the build's, as users have it: `node test/bench/queue.bench.ts --redis URL` after `npm run build`.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Queue, Worker } from 'bullmq';
import { loadConfig } from '../../src/base/config/config.ts';
import { thisProcess } from '../../src/base/process.ts';
import { enqueueExtract } from '../../src/cli/later.ts';
import { claim, put, settle } from '../../src/queue/inbox.ts';
import { openRedis } from '../../src/queue/redis.ts';
import { openWake } from '../../src/queue/wake.ts';
import { queueNamespace } from '../../src/queue/workers.ts';
import { type App, openApp } from '../../src/worker/compose.ts';
import { runWorker } from '../../src/worker/worker.ts';
import { median } from '../support/median.ts';
import { sessionFile } from '../support/session-file.ts';

const { values: given } = parseArgs({
  options: {
    redis: { type: 'string', default: 'redis://127.0.0.1:6379' },
    jobs: { type: 'string', default: '1000' },
    sessions: { type: 'string', default: '120' },
    only: { type: 'string', default: '1,2,3' },
  },
});
const root = join(import.meta.dirname, '../..');
const CHILD = join(root, 'dist/lib/forked-child.js');
if (!existsSync(CHILD)) throw new Error('There is no build: run npm run build first.');

const dir = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const parts = given.only.split(',');
const say = (line: string) => process.stdout.write(`${line}\n`);
say(`load ${loadavg()[0]?.toFixed(1)} before`);

/** An app on a home of its own. */
async function app(
  name: string,
  { concurrency, ...settings }: { model: string; baseURL?: string; concurrency: number },
) {
  const home = join(dir, name);
  mkdirSync(home);
  const config = await loadConfig(
    {},
    {
      ...process.env,
      NOCTURNE_HOME: home,
      NOCTURNE_MEMORY_DIR: join(home, 'memory'),
      NOCTURNE_MODEL: settings.model,
      NOCTURNE_QUEUE_URL: given.redis,
      ANTHROPIC_API_KEY: 'bench',
      ANTHROPIC_BASE_URL: settings.baseURL,
    },
  );
  return openApp({ ...config, concurrency, dayTokens: 1e12 });
}

/** A bare queue of BullMQ. */
async function bareQueue(name: string) {
  const redis = await openRedis(given.redis);
  const at = <Connection>(connection: Connection) => ({ connection, prefix: 'nocturne' });
  const queue = new Queue(name, at(redis.producer));
  return {
    queue,
    work: (job: () => Promise<void>, concurrency: number) =>
      new Worker(name, job, { ...at(redis.consumer()), concurrency }),
    /** Leaves nothing of it behind. */
    async remove() {
      await queue.obliterate({ force: true });
      await queue.close();
      redis.close();
    },
  };
}

/** Ends an app and leaves nothing of its queue behind. */
async function closeWhole(app: App): Promise<void> {
  const name = await queueNamespace(app.db, app.config.home);
  await app.close();
  await (await bareQueue(name)).remove();
}

/** Bare BullMQ: `count` jobs added one by one, then worked. Jobs a second of both together. */
async function bareBull(count: number, concurrency: number): Promise<number> {
  const bare = await bareQueue(`bench-bare-${process.pid}`);
  const began = performance.now();
  for (let n = 0; n < count; n += 1) await bare.queue.add('x', { n });
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let left = count;
  const worker = bare.work(async () => {
    left -= 1;
    if (left === 0) resolve();
  }, concurrency);
  await done;
  const tookMs = performance.now() - began;
  await worker.close();
  await bare.remove();
  return (count / tookMs) * 1_000;
}

/** The same through the inbox: put in, rung for, heard, claimed, settled. */
async function throughInbox(count: number, concurrency: number): Promise<number> {
  const made = await app(`inbox-${concurrency}`, { model: 'offline', concurrency });
  const { db, clock, machine, config } = made;
  const { id: memory } = await made.memoryFor();
  const now = () => clock.now();
  const namespace = await queueNamespace(db, config.home);
  const wake = openWake({ url: given.redis, namespace, now, onError: say });
  const began = performance.now();
  for (let n = 0; n < count; n += 1) {
    const item = { kind: 'extract', key: `s${n}`, memory, payload: { n } } as const;
    const { news } = await db.write((sql) => put(sql, { ...item, notBefore: now() }, now()));
    await wake.ring({ ...item, at: now(), news });
  }
  let left = count;
  const ending = new AbortController();
  const work = async () => {
    while (left > 0) {
      const item = await claim(db, { owner: thisProcess(), machine, kinds: ['extract'], now: now() });
      if (!item) break;
      await settle(db, item, { outcome: 'recorded' }, { now: now() });
      left -= 1;
    }
  };
  await wake.next(1_000, ending.signal);
  await Promise.all(Array.from({ length: concurrency }, work));
  const tookMs = performance.now() - began;
  if (left > 0) throw new Error(`${left} were not worked`);
  await wake.close();
  await closeWhole(made);
  return (count / tookMs) * 1_000;
}

async function noOpJobs(count: number): Promise<void> {
  for (const concurrency of [1, 10]) {
    const bare = await bareBull(count, concurrency);
    const inbox = await throughInbox(count, concurrency);
    say(
      `no-op jobs, concurrency ${concurrency}: ${inbox.toFixed(0)} a second through the inbox, ${bare.toFixed(0)} bare BullMQ: ${(inbox / bare).toFixed(2)} of it`,
    );
  }
}

/** Answers a record in the first reply and ends in the second, each after `waitMs`; knows how busy it was. */
async function slowModel(waitMs: number) {
  let busy = 0;
  let since = performance.now();
  let busyMs = 0;
  const arrived: number[] = [];
  const answered: number[] = [];
  const count = (change: number) => {
    const now = performance.now();
    busyMs += busy * (now - since);
    since = now;
    busy += change;
  };
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    count(1);
    arrived.push(performance.now());
    const { messages } = JSON.parse(Buffer.concat(chunks).toString());
    const id = /\[(\w+) human/.exec(JSON.stringify(messages[0]))?.[1];
    const evidence = [{ message: id, quote: 'Always use pnpm' }];
    const entry = { type: 'feedback', strength: 'stated', text: 'Use pnpm and not npm.', evidence };
    const tool = { type: 'tool_use', id: 'toolu_1', name: 'record_entries', input: { entries: [entry] } };
    const isFirst = messages.length === 1;
    setTimeout(() => {
      count(-1);
      answered.push(performance.now());
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.end(
        JSON.stringify({
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'bench',
          content: isFirst ? [tool] : [{ type: 'text', text: 'Done.' }],
          stop_reason: isFirst ? 'tool_use' : 'end_turn',
          stop_sequence: null,
          usage: { input_tokens: 100, output_tokens: 10 },
        }),
      );
    }, waitMs);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrived,
    answered,
    /** Milliseconds of model work since `from`, all slots together. */
    busyMsSince(from: number) {
      count(0);
      return busyMs - from;
    },
    close: () => server.closeAllConnections(),
  };
}

function sessions(count: number): string[] {
  const at = mkdtempSync(join(dir, 'sessions-'));
  return Array.from({ length: count }, (_, n) => {
    const id = `${n.toString(16).padStart(4, '0')}0000-2222-4333-8444-${n.toString(16).padStart(12, '0')}`;
    const session = sessionFile(at, { id });
    for (let turn = 0; turn < 5; turn += 1) session.add(`Always use pnpm instead of npm (${n}.${turn}).`);
    return session.path;
  });
}

/** One extraction after the other with a model that answers at once: where the time goes. */
async function overhead(): Promise<void> {
  const model = await slowModel(0);
  const made = await app('overhead', { model: 'bench', baseURL: model.baseURL, concurrency: 1 });
  const spans: Record<'start to first request' | 'between requests' | 'last reply to end' | 'whole', number[]> = {
    'start to first request': [],
    'between requests': [],
    'last reply to end': [],
    whole: [],
  };
  const reading: number[] = [];
  for (const transcript of sessions(20)) {
    await made.memoryFor();
    const [first, began] = [model.arrived.length, performance.now()];
    await made.extract({ transcript, ended: true });
    const ended = performance.now();
    spans['start to first request'].push((model.arrived[first] as number) - began);
    spans['between requests'].push((model.arrived[first + 1] as number) - (model.answered[first] as number));
    spans['last reply to end'].push(ended - (model.answered[first + 1] as number));
    spans.whole.push(ended - began);
    // The same session once more: it is read, and nothing is left to do.
    const readAt = performance.now();
    await made.extract({ transcript, ended: true });
    reading.push(performance.now() - readAt);
  }
  const readMs = median(reading);
  const startMs = median(spans['start to first request']);
  say(`one extraction without the model's time: ${median(spans.whole).toFixed(0)} ms (median of 20), of it`);
  say(`  reading ${readMs.toFixed(0)} ms (the whole job of a session with nothing new)`);
  say(`  child start ${(startMs - readMs).toFixed(0)} ms (from the excerpt to the first request on the wire)`);
  say(`  tool call ${median(spans['between requests']).toFixed(0)} ms (checks of the proposed entries)`);
  say(`  commit and end of the child ${median(spans['last reply to end']).toFixed(0)} ms`);
  await closeWhole(made);
  model.close();
}

/** How busy `slots` of a model that takes two seconds are, from the first request to the last full second. */
async function busySlots(slots: number, count: number): Promise<void> {
  const model = await slowModel(2_000);
  const made = await app('slots', { model: 'bench', baseURL: model.baseURL, concurrency: slots });
  for (const transcript of sessions(count)) await enqueueExtract(made, { transcript, ended: true });
  const waiting = async () => Number((await made.db.get<{ n: number }>('select count(*) as n from inbox'))?.n);
  const cpuBefore = process.cpuUsage();
  const ending = new AbortController();
  const working = runWorker(made, { signal: ending.signal, ends: 'idle', onResult() {}, onError: say });
  const until = async (holds: () => boolean | Promise<boolean>) => {
    while (!(await holds())) await pause(10);
  };
  // From full to the last that could be full: the beginning and the end of a batch are no steady state.
  await until(() => model.arrived.length >= slots);
  const from = { at: performance.now(), busyMs: model.busyMsSince(0) };
  await until(async () => (await waiting()) <= slots * 1.5);
  const spanMs = performance.now() - from.at;
  const busy = model.busyMsSince(from.busyMs) / (spanMs * slots);
  await working;
  const cpu = process.cpuUsage(cpuBefore);
  say(`${slots} model slots, 2 s a reply, ${count} sessions of two replies: ${(busy * 100).toFixed(1)} % busy`);
  say(
    `  over ${(spanMs / 1_000).toFixed(0)} s; the worker itself used ${((cpu.user + cpu.system) / 1e3 / count).toFixed(0)} ms CPU a session`,
  );
  await closeWhole(made);
  model.close();
}

try {
  if (parts.includes('1')) await noOpJobs(Number(given.jobs));
  if (parts.includes('2')) await overhead();
  if (parts.includes('3')) await busySlots(10, Number(given.sessions));
  say(`load ${loadavg()[0]?.toFixed(1)} after`);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit();
