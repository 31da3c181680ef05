// What it costs to find the next work over many stores, beside reading one row by its key in the same run: 10,000 items that
// are due in 1,000 stores of 100 tenants, then all of them in one tenant's stores, and then as many that nobody may work yet:
// `node test/wings/fleet/work.bench.ts [stores] [rounds]`.

import { openDatabase } from '../../../src/wings/fleet/postgres.ts';
import { dueWork, nextDue, releaseClaim, renewClaim, takeNext, waiting } from '../../../src/wings/fleet/work/due.ts';
import { median } from '../../support/median.ts';
import { noPostgres, ownDatabase } from './own-database.ts';

const stores = Number(process.argv[2] ?? 1_000);
const rounds = Number(process.argv[3] ?? 500);
const EACH = 10;
const now = new Date('2026-11-20T10:00:00.000Z');
const LATER = '2026-11-20T11:00:00.000Z';

if (noPostgres) {
  process.stdout.write(`work ${noPostgres}\n`);
  process.exit();
}
const own = await ownDatabase();
const database = await openDatabase(own.url);
const { ask } = database;

async function measured(times: number, work: () => Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const from = performance.now();
    await work();
    took.push(performance.now() - from);
  }
  return took;
}

function say(what: string, took: number[]): void {
  const most = took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.95)] as number;
  process.stdout.write(
    `${what.padEnd(56)}${median(took).toFixed(2).padStart(8)} ms${most.toFixed(2).padStart(9)} ms of 95 %\n`,
  );
}

async function fill({ tenants, notBefore }: { tenants: number; notBefore: string }): Promise<void> {
  await ask('truncate store, tenant_turn cascade');
  await ask(
    `insert into store (id, name, state, revision, pages, page_bytes, tenant)
     select n, n, 'ready', 0, 0, 4096, 'tenant ' || (n::int % $2) from (select generate_series(1, $1::int)::text as n) as made`,
    [stores, tenants],
  );
  await ask(
    `insert into work_inbox (store, kind, key, payload, not_before, since)
     select id, 'extract', 'session ' || n, '{"transcript":"fleet:0","ended":true}', $2, $2 from generate_series(1, $1::int) as n, store`,
    [EACH, notBefore],
  );
}

const take = () => takeNext(ask, { owner: 'bench', ttlMs: 3_600_000, now });
async function takeAndFinish(): Promise<void> {
  const claim = await take();
  if (claim) await ask('delete from work_inbox where store = $1 and id = $2', [claim.store, claim.id]);
}

process.stdout.write(`${stores * EACH} items in ${stores} stores\n`);
await fill({ tenants: 100, notBefore: now.toISOString() });
const [one] = await ask<{ id: string }>('select id from store limit 1');
say('a row by its key', await measured(rounds, () => ask('select name from store where id = $1', [one?.id ?? ''])));
say('takeNext, all due, 100 tenants', await measured(rounds, take));
say('takeNext and finish', await measured(rounds, takeAndFinish));
const claim = await take();
if (claim) {
  say('renewClaim', await measured(rounds, () => renewClaim(ask, claim, 60_000)));
  await releaseClaim(ask, claim);
}
say('dueWork, 100 of them', await measured(50, () => dueWork(ask, { now, limit: 100 })));
say('nextDue', await measured(50, () => nextDue(ask, now)));
say('waiting', await measured(50, () => waiting(ask)));
let begun = performance.now();
await Promise.all(Array.from({ length: 8 }, () => measured(rounds / 8, takeAndFinish)));
const each = (performance.now() - begun) / rounds;
process.stdout.write(`${'takeNext and finish, eight at once'.padEnd(56)}${each.toFixed(2).padStart(8)} ms each\n`);

await fill({ tenants: 1, notBefore: now.toISOString() });
say('takeNext, all due, one tenant', await measured(rounds, take));
await fill({ tenants: stores, notBefore: now.toISOString() });
say('takeNext, all due, each store a tenant', await measured(rounds, take));

await fill({ tenants: 100, notBefore: LATER });
await take();
say('takeNext, nothing due', await measured(rounds, take));
await ask('update work_inbox set not_before = $1 where id = (select max(id) from work_inbox)', [now.toISOString()]);
say('takeNext, one item due', await measured(1, take));

begun = performance.now();
await fill({ tenants: 100, notBefore: now.toISOString() });
await ask(`update work_inbox set claimed_until = 'infinity'`);
say('takeNext, all claimed by others', await measured(20, take));

await database.close();
await own.drop();
