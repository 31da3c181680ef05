// The board as a browser sees it.

import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { wakeQueueOptions } from '../../src/doors/worker/worker.ts';
import { openWakeQueue } from '../../src/queue/queue.ts';
import { forget, REDIS } from '../queue/backends.ts';
import { type TestApp, testApp } from '../support/app.ts';
import { start, stop, until } from '../support/run.ts';
import { runHere } from '../support/run-here.ts';

function get(url: string, { host, method }: { host?: string; method?: string } = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>((resolve, reject) => {
    request(url, { method, headers: host ? { host } : {} }, async (reply) => {
      resolve({ status: reply.statusCode ?? 0, headers: reply.headers, body: await text(reply) });
    })
      .once('error', reject)
      .end();
  });
}

async function openBoard({ environment }: TestApp, queueUrl: string) {
  const board = start(['open', '--board', '--no-browser'], { ...environment, NOCTURNE_QUEUE_URL: queueUrl });
  await until(() => /^http/.test(board.stdout()));
  return { board, url: board.stdout().trim() };
}

test('it shows the queue, on this machine alone, asks nobody else, and changes nothing', async () => {
  const testing = await testApp();
  const options = { ...(await wakeQueueOptions(testing.app)), url: REDIS };
  const queue = await openWakeQueue(options);
  onTestFinished(async () => {
    await queue.close();
    await forget(REDIS, options.namespace);
  });
  await queue.notify({ kind: 'extract', store: '/memory', key: 'session' }, { delayMs: 3_600_000 });
  const { board, url } = await openBoard(testing, REDIS);
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ui$/);
  const page = await get(url);
  expect(page.status).toBe(200);
  expect(page.body).not.toMatch(/(href|src)="(https?:)?\/\//);
  expect(page.headers['content-security-policy']).toContain("default-src 'self'");
  const script = /src="(static\/js\/[^"]+)"/.exec(page.body)?.[1];
  expect((await get(`${url}/${script}`)).status).toBe(200);
  expect((await get(`${url}/`)).status).toBe(302);
  const queues = JSON.parse((await get(`${url}/api/queues?activeQueue=${options.namespace}&page=1`)).body).queues;
  expect(queues).toMatchObject([{ name: options.namespace, readOnlyMode: true, counts: { delayed: 1 } }]);
  const cleaned = await get(`${url}/api/queues/${options.namespace}/empty`, { method: 'PUT' });
  expect(cleaned.status).toBeGreaterThanOrEqual(400);
  expect(await queue.counts()).toMatchObject({ delayed: 1 });
  expect((await get(url, { host: 'attacker.example' })).status).toBe(403);
  expect(await stop(board)).toMatchObject({ code: 0 });
});

test('without a queue it says why not, and what to do', async () => {
  const { environment } = await testApp();
  expect(await runHere(['open', '--board'], environment)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/no queue to show.*\n.*nocturne status.*NOCTURNE_QUEUE_URL/),
  });
});
