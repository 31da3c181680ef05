// A view of the queue for a person's browser: bull-board, read-only.
// Promises: it answers only to a browser that asks for this machine by name (no rebinding of foreign names), its pages
// ask nobody else for anything, and nothing in the queue can be changed through it.

import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Queue } from 'bullmq';
import { Hono } from 'hono';
import { AppError } from '../base/errors.ts';
import { loadBoard, PREFIX } from '../db/drivers.ts';
import { openRedis } from './redis.ts';

const UI = '/ui';
const LOCAL_HOST = /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/;
// `unsafe-inline`: bull-board styles its loading screen within the page.
const POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; frame-ancestors 'none'";

/** The usual port; where another program has it, a free one. */
const PORTS = [3210, 0];

/** Serves the board of a namespace on this machine. Errors: `bad-input` where there is no queue; those of `openRedis`. */
export async function startBoard({ url, namespace }: { url?: string; namespace?: string }) {
  if (url === undefined) {
    throw new AppError(
      'bad-input',
      'There is no queue to show: without a queue URL the worker looks into the inboxes itself.',
      {
        remedy: 'nocturne shows what waits. For a board let the queue be on a Redis: NOCTURNE_QUEUE_URL=redis://….',
      },
    );
  }
  const { createBullBoard, BullMQAdapter, HonoAdapter } = await loadBoard();
  const redis = await openRedis(url);
  const queue = new Queue(namespace ?? PREFIX, { connection: redis.producer, prefix: PREFIX });
  queue.on('error', () => {});
  const adapter = new HonoAdapter(serveStatic).setBasePath(UI);
  createBullBoard({
    queues: [new BullMQAdapter(queue, { readOnlyMode: true })],
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'nocturne' } },
  });
  const app = new Hono();
  app.use(async (context, next) => {
    if (!LOCAL_HOST.test(context.req.header('host') ?? '')) return context.text('Not for this host.', 403);
    await next();
    context.header('content-security-policy', POLICY);
    context.header('referrer-policy', 'no-referrer');
    // The page names a stylesheet of fonts elsewhere; a browser that obeys the policy would complain of it.
    if (!context.res.headers.get('content-type')?.startsWith('text/html')) return;
    const page = (await context.res.text()).replaceAll(/<link\b[^>]*href="https?:[^>]*>/g, '');
    context.res = new Response(page, context.res);
    return;
  });
  app.get('/', (context) => context.redirect(UI));
  app.get(`${UI}/`, (context) => context.redirect(UI));
  app.route(UI, adapter.registerPlugin());
  const server = createAdaptorServer(app);
  for (const port of PORTS) {
    server.listen(port, '127.0.0.1');
    const isListening = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (isListening) break;
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${UI}`,
    async close(): Promise<void> {
      server.close();
      await queue.close();
      redis.close();
    },
  };
}
