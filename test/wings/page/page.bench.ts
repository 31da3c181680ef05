// How fast the page is over 5,000 topics and 20,000 entries, warm: the size of each view, how long the server takes to answer
// (p95 of 20), and when Chromium paints first (median of 5). `node test/wings/page/page.bench.ts [topics]`.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { loadConfig } from '../../../src/base/config/config.ts';
import { compose } from '../../../src/doors/compose.ts';
import { useWings } from '../../../src/doors/wing.ts';
import { writeEntry } from '../../../src/memory/ledger/entries.ts';
import { enterPersonsJob } from '../../../src/memory/ledger/job-rows.ts';
import { WINGS } from '../../../src/wings/index.ts';
import { makeTicket } from '../../../src/wings/page/rows.ts';
import { startServer } from '../../../src/wings/server/serve.ts';

const topics = Number(process.argv[2] ?? 5_000);
const entries = topics * 4;
const root = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
const TYPES = ['user', 'feedback', 'project', 'reference'] as const;
const MOST = { kB: 200, ms: 300, paintMs: 1_000 };

useWings(WINGS);
const environment = {
  PATH: process.env.PATH,
  HOME: root,
  NOCTURNE_HOME: join(root, 'home'),
  NOCTURNE_MODEL: 'offline',
};
const app = compose(await loadConfig({}, { ...environment, NOCTURNE_MEMORY_DIR: join(root, 'memory') }));
const store = await app.storeFor({});
for (let n = 0; n < topics; n += 1) {
  const lines = Array.from(
    { length: 4 },
    (_, line) => `- Line ${line} of topic ${n}: call ${n} in file-${n % 300}.ts does what is wanted.\n`,
  );
  const head = `---\nname: topic-${n}\ndescription: What was decided about subject ${n}\ntype: ${TYPES[n % 4]}\n---\n\n`;
  writeFileSync(join(store.dir, `topic-${n}.md`), head + lines.join(''));
}
await store.commit({ actor: 'person' }, () => ({
  files: [],
  rows(transaction) {
    const job = enterPersonsJob(transaction, { kind: 'remember', outcome: 'remembered', now: app.config.clock.now() });
    for (let n = 0; n < entries; n += 1) {
      const day = `2026-${String(1 + (n % 12)).padStart(2, '0')}-${String(1 + (n % 28)).padStart(2, '0')}`;
      writeEntry(transaction, {
        ...{
          id: `e_${n.toString(16).padStart(12, '0')}`,
          session: `session-${n % 500}`,
          turn: `turn-${n}`,
          at: `${day}T10:00:00.000Z`,
          day,
        },
        ...{
          type: TYPES[n % 4] ?? 'project',
          text: `Line ${n % 4} of topic ${Math.floor(n / 4)}`,
          evidence: [],
          by: 'human',
          strength: 'stated',
        },
        ...{ prompt: '', state: 'distilled', job },
      });
    }
  },
}));

const server = await startServer(app, { port: 0 });
const path = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((each) =>
  existsSync(each),
);
const browser = await chromium.launch({ executablePath: path, args: ['--no-sandbox'] });
const context = await browser.newContext();
const page = await context.newPage();
await page.goto(`${server.url}/#${makeTicket(app.home, app.config.clock)}`);
await page.locator('header.top').waitFor();
const [cookie] = await context.cookies();
const memory = await page.locator('.cards a.row').first().getAttribute('href');
const headers = { cookie: `${cookie?.name}=${cookie?.value}`, 'sec-fetch-site': 'same-origin' };
const paths = [
  '/',
  `${memory}`,
  `${memory}/topic/topic-7.md`,
  '/nights',
  '/review',
  '/sessions',
  '/search?q=topic+line',
  '/cost',
];
console.log(`${topics} topics, ${entries} entries`);
for (const each of paths) {
  const times: number[] = [];
  let bytes = 0;
  for (let n = 0; n < 21; n += 1) {
    const began = performance.now();
    bytes = (await (await fetch(`${server.url}${each}`, { headers })).arrayBuffer()).byteLength;
    if (n > 0) times.push(performance.now() - began);
  }
  const paints: number[] = [];
  for (let n = 0; n < 5; n += 1) {
    await page.goto(`${server.url}${each}`);
    paints.push(
      await page.evaluate<number>(
        "new Promise((done) => new PerformanceObserver((list) => done(list.getEntries()[0].startTime)).observe({ type: 'paint', buffered: true }))",
      ),
    );
  }
  const p95 = times.sort((a, b) => a - b)[18] ?? 0;
  const paint = paints.sort((a, b) => a - b)[2] ?? 0;
  const isHeld = bytes <= MOST.kB * 1_000 && p95 <= MOST.ms && paint <= MOST.paintMs;
  console.log(
    `${each.replace(`${memory}`, '/memory').padEnd(28)} ${(bytes / 1_000).toFixed(0).padStart(4)} kB  p95 ${p95.toFixed(0).padStart(4)} ms  first paint ${paint.toFixed(0).padStart(4)} ms${isHeld ? '' : '  over'}`,
  );
}
await browser.close();
await server.close(0);
app.close();
rmSync(root, { recursive: true });
