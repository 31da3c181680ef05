// What a store in PostgreSQL costs, each figure beside the same bytes without nocturne in the same run: a store of 1,000 topics
// and a day's log of 60 kB: `node test/wings/fleet/fleet.bench.ts [topics] [rounds]`.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { openStore } from '../../../src/memory/open.ts';
import { CheckedOut } from '../../../src/wings/fleet/stores/checked-out.ts';
import { moveToDatabase } from '../../../src/wings/fleet/stores/move.ts';
import { median } from '../../support/median.ts';
import { tempDir } from '../../support/temp.ts';
import { noPostgres, openStores, ownDatabase } from './own-database.ts';

const topics = Number(process.argv[2] ?? 1_000);
const rounds = Number(process.argv[3] ?? 15);
const LOG = 'logs/2026/11/2026-11-20.md';
const by = { actor: 'job:bench' };

function topic(n: number): string {
  const lines = Array.from({ length: 8 }, (_, line) => `- Line ${line} of topic ${n}, about as long as a line is.\n`);
  return `---\nname: topic-${n}\ndescription: Topic ${n}\ntype: project\n---\n${lines.join('')}`;
}

/** The database's port by way of one that counts what is sent to it and read from it. */
async function counted(url: string) {
  const to = new URL(url);
  const counts = { sent: 0, read: 0 };
  const server = createServer((client) => {
    const upstream = connect(Number(to.port || 5432), to.hostname);
    client.on('data', (bytes) => {
      counts.sent += bytes.length;
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      counts.read += bytes.length;
      client.write(bytes);
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('close', () => other.destroy()).on('error', () => other.destroy());
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const via = new URL(url);
  via.hostname = '127.0.0.1';
  via.port = String((server.address() as { port: number }).port);
  return { url: via.href, counts, close: () => server.close() };
}

if (noPostgres) {
  process.stdout.write(`fleet ${noPostgres}\n`);
  process.exit();
}
const database = await ownDatabase();
const line = await counted(database.url);
const dir = join(tempDir(), 'memory');
for (let n = 0; n < topics; n += 1) {
  const path = join(dir, `topic-${n}.md`);
  if (n === 0) mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, topic(n));
}
mkdirSync(dirname(join(dir, LOG)), { recursive: true });
let log = '# 2026-11-20\n\n';
while (log.length < 60_000) log += `- An entry of this day, about as long as most of them are, number ${log.length}.\n`;
writeFileSync(join(dir, LOG), log);

const direct = await openStores(database.url);
const viaLine = await openStores(line.url);
let sent = 0;
const stores = await openStores(database.url, {
  onSent: (bytes) => {
    sent = bytes;
  },
});
const { store: id } = await moveToDatabase({ dir, name: 'bench' }, { stores: direct, now: new Date(), removes: false });

// Cold check-out, beside writing the same files and opening the store.
const first = await CheckedOut.open(id, direct.deps);
const files = [...first.paths].map((path) => [path, readFileSync(join(first.dir, path))] as const);
await first.close();
const ledger = readFileSync(join(dir, '.nocturne', 'ledger.db'));
const cold: number[] = [];
const plain: number[] = [];
const took = async (into: number[], work: () => Promise<unknown>) => {
  const from = performance.now();
  const done = await work();
  into.push(performance.now() - from);
  return done;
};
for (let round = 0; round < rounds; round += 1) {
  const checkedOut = (await took(cold, () => CheckedOut.open(id, direct.deps))) as CheckedOut;
  await checkedOut.close();
  const to = join(tempDir(), 'memory');
  await took(plain, async () => {
    mkdirSync(join(to, '.nocturne'), { recursive: true });
    writeFileSync(join(to, '.nocturne', 'ledger.db'), ledger);
    for (const [path, bytes] of files) {
      mkdirSync(dirname(join(to, path)), { recursive: true });
      writeFileSync(join(to, path), bytes);
    }
    (await openStore(to)).close();
  });
  rmSync(to, { recursive: true });
}

// A commit of one entry and its check-in, beside a transaction that updates the same bytes.
const checkedOut = await stores.open(id);
const entry = (n: number) => ({
  files: [{ path: LOG, change: (text: string | null) => `${text}- One more entry, number ${n}.\n` }],
});
await checkedOut.commit(by, () => entry(-1));
const warm: number[] = [];
const bare: number[] = [];
const client = new pg.Client({ connectionString: database.url, options: '-c search_path=nocturne' });
await client.connect();
await client.query('create table bare_page (like page including all)');
await client.query('create table bare_file (like file including all)');
await client.query('insert into bare_page select * from page');
await client.query('insert into bare_file select * from file');
for (let round = 0; round < rounds * 2; round += 1) {
  await took(warm, () => checkedOut.commit(by, () => entry(round)));
  const { rows: pages } = await client.query(
    'select number, bytes from page where revision = (select revision from store)',
  );
  const { rows: texts } = await client.query(
    'select path, bytes from file where revision = (select revision from store)',
  );
  await took(bare, async () => {
    await client.query('begin');
    await client.query(
      `insert into bare_page select $1, n, 1, substring($3::bytea from ((nth - 1) * 4096 + 1)::int for 4096)
       from unnest($2::int[]) with ordinality as given (n, nth) on conflict (store, number) do update set bytes = excluded.bytes`,
      [id, pages.map(({ number }) => number), Buffer.concat(pages.map(({ bytes }) => bytes))],
    );
    for (const { path, bytes } of texts)
      await client.query('update bare_file set bytes = $3 where store = $1 and path = $2', [id, path, bytes]);
    await client.query('commit');
  });
  if (round === 0)
    process.stdout.write(`one new entry: ${pages.length} pages, ${texts.length} files, ${sent} bytes of them\n`);
}
checkedOut.close();

// What goes over the line: of a commit of a new entry, and of a second one, which reads nothing but the revision.
const onLine = await viaLine.open(id);
await onLine.commit(by, () => entry(-2));
const before = { ...line.counts };
await onLine.commit(by, () => entry(-3));
const [sentBytes, readBytes] = [line.counts.sent - before.sent, line.counts.read - before.read];
onLine.close();

const say = (what: string, figure: string, holds: boolean) =>
  process.stdout.write(`${what.padEnd(48)}${figure.padStart(28)}  ${holds ? 'holds' : 'MISSED'}\n`);
const ratio = (one: number[], other: number[]) => median(one) / median(other);
const told = (one: number[], other: number[]) =>
  `${median(one).toFixed(1)} / ${median(other).toFixed(1)} ms  ${ratio(one, other).toFixed(2)} ×`;
say('warm commit and check-in (≤ 5 ×)', told(warm, bare), ratio(warm, bare) <= 5);
say('cold check-out (≤ 3 ×)', told(cold, plain), ratio(cold, plain) <= 3);
say('bytes sent for one new entry (≤ 320 kB)', `${sentBytes}`, sentBytes <= 320_000);
say('bytes read for a second commit (≤ 2 kB)', `${readBytes}`, readBytes <= 2_000);

for (const each of [direct, viaLine, stores]) await each.close();
await client.end();
line.close();
await database.drop();
