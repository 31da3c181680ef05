// Requests a second and the 99th percentile of the server, each beside a bare Hono handler on the same disk in the same
// run, which reads one file, or writes one and syncs file and directory: `node test/wings/server/server.bench.ts [memories…]`.

import { closeSync, fsyncSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { loadConfig } from '../../../src/base/config/config.ts';
import { compose } from '../../../src/doors/compose.ts';
import { startServer } from '../../../src/wings/server/serve.ts';

const sizes = process.argv.length > 2 ? process.argv.slice(2).map(Number) : [10, 1_000, 10_000];
const LANES = 8;
const SLICES = 8;
const ROUNDS = { retrieve: 2_000, 'list of 20': 200, create: 240 };
const agent = new Agent({ keepAlive: true, maxSockets: LANES });
const root = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));

interface Figure {
  perSecond: number;
  p99Ms: number;
}

function ask(url: string, { method = 'GET', body, key = '' }: { method?: string; body?: object; key?: string } = {}) {
  return new Promise<string>((resolve, reject) => {
    const headers = { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) };
    const sent = request(url, { method, agent, headers }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece) => {
        text += piece;
      });
      answer.on('end', () => (answer.statusCode === 200 ? resolve(text) : reject(new Error(text))));
    });
    sent.on('error', reject).end(body && JSON.stringify(body));
  });
}

type Work = (round: number) => Promise<unknown>;

/** Each work in slices that take turns, so that what else the machine does meets all alike; the first round warms up. */
async function measure(rounds: number, works: Work[]): Promise<Figure[]> {
  const took = works.map((): number[] => []);
  const spentMs = works.map(() => 0);
  const slice = async (at: number, { from, to }: { from: number; to: number }) => {
    let next = from;
    const lane = async () => {
      while (next < to) {
        const round = next;
        next += 1;
        const began = performance.now();
        await works[at]?.(round);
        took[at]?.push(performance.now() - began);
      }
    };
    const began = performance.now();
    await Promise.all(Array.from({ length: LANES }, lane));
    spentMs[at] = (spentMs[at] as number) + performance.now() - began;
  };
  const size = Math.ceil(rounds / SLICES);
  for (let from = 0; from < rounds + size; from += size) {
    for (const at of works.keys()) await slice(at, { from, to: from + size });
    if (from > 0) continue;
    for (const each of took) each.length = 0;
    spentMs.fill(0);
  }
  return took.map((each, at) => ({
    perSecond: (each.length / (spentMs[at] as number)) * 1_000,
    p99Ms: each.sort((a, b) => a - b)[Math.floor(each.length * 0.99)] as number,
  }));
}

function bare(dir: string): Hono {
  const app = new Hono();
  app.get('/file/:name', (context) =>
    context.json({ content: readFileSync(join(dir, context.req.param('name')), 'utf8') }),
  );
  app.post('/file/:name', async (context) => {
    const { content } = (await context.req.json()) as { content: string };
    const file = openSync(join(dir, context.req.param('name')), 'w');
    writeFileSync(file, content);
    fsyncSync(file);
    closeSync(file);
    const parent = openSync(dir, 'r');
    fsyncSync(parent);
    closeSync(parent);
    return context.json({ ok: true });
  });
  return app;
}

function text(n: number): string {
  return `Memory ${n}.\n${'A line, about as long as a line of a memory is.\n'.repeat(8)}`;
}

const environment = { HOME: root, NOCTURNE_HOME: join(root, 'home'), NOCTURNE_MODEL: 'offline' };
const app = compose(await loadConfig({}, environment));
const server = await startServer(app, { port: 0, createsPerMinute: 0, readsPerMinute: 0 });
const key = server.deps.keys.createPassing();
const plain = join(root, 'plain');
mkdirSync(plain);
const bareServer = createAdaptorServer(bare(plain));
await new Promise<void>((resolve) => bareServer.listen(0, '127.0.0.1', resolve));
// A connection that waited through the longer rounds is not to be closed under the next request.
Object.assign(bareServer, { keepAliveTimeout: 600_000 });
const bareUrl = `http://127.0.0.1:${(bareServer.address() as AddressInfo).port}/file`;

const say = ({ perSecond, p99Ms }: Figure) =>
  `${perSecond.toFixed(0).padStart(6)}/s  p99 ${p99Ms.toFixed(1).padStart(6)} ms`;
const createTimes = new Map<number, number>();
for (const size of sizes) {
  const { id, dir } = await server.deps.stores.create({ name: `of ${size}` });
  for (let n = 0; n < size; n += 1) {
    const folder = join(dir, `folder-${n % 100}`);
    if (n < 100) mkdirSync(folder);
    writeFileSync(join(folder, `${n}.md`), text(n));
  }
  const memories = `${server.url}/v1/memory_stores/${id}/memories`;
  await ask(`${memories}?limit=1`, { key });
  // What was written less than two seconds ago is read again at every look.
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const ids: string[] = JSON.parse(await ask(`${memories}?limit=100`, { key })).data.map(
    (item: { id: string }) => item.id,
  );
  for (const [at] of ids.entries()) writeFileSync(join(plain, `${at}.md`), text(at));
  const nth = (round: number) => round % ids.length;
  const works: [keyof typeof ROUNDS, Work, Work?][] = [
    [
      'retrieve',
      (round) => ask(`${memories}/${ids[nth(round)]}`, { key }),
      (round) => ask(`${bareUrl}/${nth(round)}.md`),
    ],
    ['list of 20', () => ask(`${memories}?limit=20`, { key })],
    [
      'create',
      (round) => ask(memories, { method: 'POST', key, body: { path: `/new/${round}.md`, content: text(round) } }),
      (round) => ask(`${bareUrl}/new-${round}.md`, { method: 'POST', body: { content: text(round) } }),
    ],
  ];
  for (const [what, our, bare] of works) {
    const [ours, other] = (await measure(ROUNDS[what], bare ? [our, bare] : [our])) as [Figure, Figure?];
    const beside = other ? `   bare ${say(other)}   ${(ours.perSecond / other.perSecond).toFixed(2)} ×` : '';
    console.log(`${String(size).padStart(6)} memories  ${what.padEnd(10)} ${say(ours)}${beside}`);
    if (what === 'create') createTimes.set(size, 1_000 / ours.perSecond);
  }
}
const [few, many] = [createTimes.get(Math.min(...sizes)) ?? 0, createTimes.get(Math.max(...sizes)) ?? 0];
console.log(`create at ${Math.max(...sizes)}: ${(many / few).toFixed(1)} × its time at ${Math.min(...sizes)}`);
bareServer.close();
await server.close(0);
await app.close();
agent.destroy();
rmSync(root, { recursive: true, force: true });
