// How fast the page is over 5,000 topics, 20,000 entries, 500 sessions, 100 nights and 200 proposals, warm: the size of each
// view, how long the server takes to answer (p95 of 20, and the processor time of one, which other work on the machine does
// not change), and when Chromium paints first (median of 5). `node test/wings/page/page.bench.ts [topics]`.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { loadConfig } from '../../../src/base/config/config.ts';
import { compose } from '../../../src/doors/compose.ts';
import { useKeeping } from '../../../src/doors/keeping.ts';
import { keepInDatabase } from '../../../src/wings/fleet/keeping.ts';
import { openPages } from '../../../src/wings/page/page.ts';
import { makeTicket } from '../../../src/wings/page/visits.ts';
import { startServer } from '../../../src/wings/server/serve.ts';
import { fill } from './filled.ts';

const topics = Number(process.argv[2] ?? 5_000);
const root = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const MOST = { kB: 200, ms: 300, paintMs: 1_000 };

useKeeping(keepInDatabase);
const environment = {
  PATH: process.env.PATH,
  HOME: root,
  NOCTURNE_HOME: join(root, 'home'),
  NOCTURNE_MODEL: 'offline',
};
const app = compose(await loadConfig({}, { ...environment, NOCTURNE_MEMORY_DIR: join(root, 'memory') }));
const store = await app.storeFor({});
const transcripts = join(root, 'transcripts');
mkdirSync(transcripts);
const shared = Math.min(300, topics);
await fill(store, {
  ...{ topics, lines: 4, sessions: 500, nights: 100, proposals: 200, transcripts, now: app.config.clock.now() },
  topic: (n) => `topic-${n}`,
  says: (kind, n) =>
    ({
      line: `Call ${n} in file-${n % shared}.ts does what is wanted, and topic ${Math.floor(n / 4)} says so.`,
      entry: `Line ${n % 4} of topic ${Math.floor(n / 4)}: call ${n} in file-${n % shared}.ts does what is wanted.`,
      quote: `make sure that call ${n} in file-${n % shared}.ts does what is wanted`,
      description: `What was decided about subject ${n}`,
      reason: `Call ${n} was not spoken of before.`,
      answer: `I looked at file-${n % shared}.ts and at what the tests of it say before I changed anything. `.repeat(3),
    })[kind],
});
await app.home.addStore(store.dir);
const now = app.config.clock.now();
for (let day = 1; day <= now.getUTCDate(); day += 1)
  await app.home.days.reserve({
    ...{ tokens: 40_000 * (1 + (day % 5)), microUsd: 160_000, limits: { dayTokens: 10_000_000, zone: 'UTC' } },
    at: new Date(`${now.toISOString().slice(0, 8)}${String(day).padStart(2, '0')}T12:00:00Z`),
  });

const server = await startServer(app, { port: 0, openPages });
const path = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((each) =>
  existsSync(each),
);
const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
const context = await browser.newContext();
const page = await context.newPage();
await page.goto(`${server.url}/#${await makeTicket(app.home, app.config.clock)}`);
await page.locator('header.top').waitFor();
const [cookie] = await context.cookies();
const memory = await page.locator('.cards a.row').first().getAttribute('href');
const headers = { cookie: `${cookie?.name}=${cookie?.value}`, 'sec-fetch-site': 'same-origin' };
const first = async (path: string, selector: string) => {
  await page.goto(`${server.url}${path}`);
  return (await page.locator(selector).first().getAttribute('href')) as string;
};
const topic = `${memory}/topic/topic-7.md`;
const why = await first(topic, '.line a.swap');
const around = await first(why, '.entry a.swap');
const [, line = ''] = /line=(\w+)/.exec(why) ?? [];
const paths = {
  home: '/',
  memory: `${memory}`,
  topic,
  why,
  'in the conversation': around,
  'a line being edited': `${topic}?edit=${line}`,
  'a topic being edited': `${topic}?edit=topic`,
  logs: `${memory}/logs`,
  entry: await first(`${memory}/logs`, 'main .list a.row'),
  nights: '/nights',
  'a night': await first('/nights', '.timeline a.card'),
  review: '/review',
  sessions: '/sessions',
  'a session': await first('/sessions', 'main .list a.row'),
  'search, all': '/search?q=topic+line',
  'search, few': '/search?q=file-77.ts',
  'search, none': '/search?q=wnated',
  cost: '/cost',
};
console.log(`${topics} topics, ${topics * 4} entries`);
const of = (list: number[], share: number) => list.sort((a, b) => a - b)[Math.ceil(list.length * share) - 1] ?? 0;
for (const [name, path] of Object.entries(paths)) {
  const times: number[] = [];
  const costs: number[] = [];
  let bytes = 0;
  for (let n = 0; n < 21; n += 1) {
    const [began, used] = [performance.now(), process.cpuUsage()];
    bytes = (await (await fetch(`${server.url}${path}`, { headers })).arrayBuffer()).byteLength;
    const { user, system } = process.cpuUsage(used);
    if (n === 0) continue;
    times.push(performance.now() - began);
    costs.push((user + system) / 1_000);
  }
  const paints: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    await page.goto(`${server.url}${path}`);
    paints.push(
      await page.evaluate<number>(
        "new Promise((done) => new PerformanceObserver((list) => done(list.getEntriesByName('first-contentful-paint')[0].startTime)).observe({ type: 'paint', buffered: true }))",
      ),
    );
  }
  const [p95, cpu, paint] = [of(times, 0.95), of(costs, 0.5), of(paints, 0.5)];
  const isHeld = bytes <= MOST.kB * 1_000 && p95 <= MOST.ms && paint <= MOST.paintMs;
  const say = (value: number) => value.toFixed(0).padStart(4);
  console.log(
    `${name.padEnd(20)} ${say(bytes / 1_000)} kB  p95 ${say(p95)} ms  processor ${say(cpu)} ms  first paint ${say(paint)} ms${isHeld ? '' : '  over'}`,
  );
}
await browser.close();
await server.close(0);
await app.close();
rmSync(root, { recursive: true });
