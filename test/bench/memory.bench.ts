// What a commit, a claim and a search cost in a memory of 10 and of 10,000 files, on SQLite and PostgreSQL, each beside what the bare
// engine takes in the same run: `node test/bench/memory.bench.ts [files]`. With `child` it is one of four that commit at once.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../src/base/time.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { type Db, insert } from '../../src/db/sql.ts';
import { commit } from '../../src/memory/commit.ts';
import { addMemory, Memories } from '../../src/memory/memories.ts';
import { searchMemories } from '../../src/memory/search.ts';
import { claim, put } from '../../src/queue/inbox.ts';
import { ownDatabase } from '../support/own-database.ts';

const WORDS =
  'staging deploy gateway billing rollback postgres canary kernel zone tenant index queue mirror token budget'.split(
    ' ',
  );
const PARALLEL_MS = 5_000;
let missed = 0;

const now = () => systemClock.now().toISOString();
const by = { job: 'job_bench', actor: { kind: 'job', id: 'job_bench' } } as const;
const pathOf = (n: number) => `topic-${String(n).padStart(5, '0')}.md`;
const at = (sorted: number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] as number;

function textOf(n: number): string {
  const lines = Array.from({ length: 15 }, (_, line) => {
    const words = Array.from(
      { length: 6 },
      (_, word) => WORDS[(n * 7 + line * 3 + word * (1 + (n % 5))) % WORDS.length],
    );
    return `- Line ${line} of ${n}: ${words.join(' ')}.\n`;
  });
  return `---\nname: topic-${n}\ndescription: Topic ${n}\ntype: project\n---\n${lines.join('')}`;
}

async function time(rounds: number, work: (round: number) => Promise<unknown>): Promise<number[]> {
  const took: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await work(round);
    took.push(performance.now() - start);
  }
  return took.sort((a, b) => a - b);
}

function tell(what: string, took: number[], limits: { median?: number; p99?: number } = {}): void {
  const [median, p99] = [at(took, 0.5), at(took, 0.99)];
  const holds =
    median <= (limits.median ?? Number.POSITIVE_INFINITY) && p99 <= (limits.p99 ?? Number.POSITIVE_INFINITY);
  if (!holds) missed += 1;
  const limit =
    limits.median === undefined
      ? ''
      : `  limit ${limits.median}${limits.p99 ? ` / ${limits.p99}` : ''}: ${holds ? 'holds' : 'MISSED'}`;
  console.log(`${what.padEnd(58)}${median.toFixed(2).padStart(8)} / ${p99.toFixed(2).padStart(7)} ms${limit}`);
}

function tellShare(what: string, figure: number, { least, most }: { least?: number; most?: number }): void {
  const holds = figure >= (least ?? 0) && figure <= (most ?? Number.POSITIVE_INFINITY);
  if (!holds) missed += 1;
  console.log(
    `${what.padEnd(58)}${figure.toFixed(2).padStart(8)}  limit ${least ?? most}: ${holds ? 'holds' : 'MISSED'}`,
  );
}

async function fill(memories: Memories, memory: string, files: number): Promise<void> {
  for (let from = 0; from < files; from += 500) {
    const some = Array.from({ length: Math.min(500, files - from) }, (_, n) => from + n);
    await commit(memories, { memory, paths: some.map(pathOf) }, by, async () => ({
      files: some.map((n) => ({ path: pathOf(n), make: () => textOf(n) })),
    }));
  }
}

/** What a dream's smallest commit is: a line of a topic, an entry, a turn. */
function commitOne(memories: Memories, memory: string, round: number, files: number) {
  const path = pathOf((round * 37) % files);
  return commit(memories, { memory, paths: [path] }, by, async () => ({
    files: [
      {
        path,
        make: (text) => `${text?.replace(/- Said in .*\n/, '')}- Said in round ${round} of process ${process.pid}.\n`,
      },
    ],
    async rows(change) {
      const id = `e_${process.pid}_${round}`;
      const common = { memory, id, session: 's', turn: `t${round}`, at: now(), day: '2026-11-21', type: 'project' };
      const said = { strength: 'stated', said_by: 'human', text: 'Said.', quotes: '[]', prompt: 'p', job: by.job };
      await change.put('entry', { ...common, ...said, state: 'new', reason: null });
      const turn = { session: `s${process.pid}`, id: `t${round}`, begins: '', memory, through: 'm', state: 'done' };
      await change.put('turn', { ...turn, reason: null, day: '2026-11-21', job: by.job });
    },
  }));
}

/** Four processes for five seconds; answers how many rounds they did, and the longest one. */
async function atOnce(mode: 'commits' | 'inserts', of: { home: string; url?: string; memory: string }) {
  const children = [1, 2, 3, 4].map(() =>
    fork(import.meta.filename, ['child', mode, of.home, of.url ?? '', of.memory]),
  );
  const told = await Promise.all(
    children.map(async (child) => (await once(child, 'message'))[0] as { rounds: number; worst: number }),
  );
  return {
    perSecond: told.reduce((sum, { rounds }) => sum + rounds, 0) / (PARALLEL_MS / 1000),
    worst: Math.max(...told.map(({ worst }) => worst)),
  };
}

async function child([mode, home = '', url, memory = '']: string[]): Promise<void> {
  const db = await openDatabase({ home, url: url || undefined });
  const memories = new Memories({ db, home, clock: systemClock });
  const until = performance.now() + PARALLEL_MS;
  let [rounds, worst] = [0, 0];
  while (performance.now() < until) {
    const start = performance.now();
    if (mode === 'commits') await commitOne(memories, memory, rounds, 10);
    else await bareInsert(db, `${process.pid}-${rounds}`);
    rounds += 1;
    worst = Math.max(worst, performance.now() - start);
  }
  await memories.close();
  await db.close();
  process.send?.({ rounds, worst }, () => process.disconnect());
}

function bareInsert(db: Db, key: string): Promise<void> {
  return db.write((sql) => insert(sql, 'setting', [{ key, value: 'x'.repeat(1_000) }]));
}

async function ofEngine(engine: 'sqlite' | 'postgres', files: number): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), 'nocturne-bench-'));
  const database = engine === 'postgres' ? await ownDatabase({ isNew: true }) : undefined;
  const url = database?.url;
  const db = await openDatabase({ home, url });
  const memories = new Memories({ db, home, clock: systemClock });
  const store = (name: string) => db.write((sql) => addMemory(sql, { scope: 'store', name }, now()));
  const isLite = engine === 'sqlite';
  console.log(`\n${engine}${' '.repeat(52)}  median /     p99`);
  try {
    const bare = await time(300, (round) => bareInsert(db, `bare-${round}`));
    tell('bare insert of a kilobyte', bare);
    const limits = isLite ? { median: 2, p99: 10 } : { median: 5, p99: 25 };
    for (const count of [10, files]) {
      const memory = await store(`of ${count}`);
      await fill(memories, memory, count);
      await time(20, (round) => commitOne(memories, memory, 1_000 + round, count));
      const took = await time(300, (round) => commitOne(memories, memory, 2_000 + round, count));
      tell(`commit, ${count} files, without a directory`, took, limits);
      if (isLite) tellShare('  ÷ bare insert', at(took, 0.5) / at(bare, 0.5), { most: 4 });
    }
    const copy = await memories.ofDirectory(join(home, 'copy'), { scope: 'project', name: 'copy' });
    await fill(memories, copy.id, 10);
    tell(
      'commit, 10 files, with a directory',
      await time(200, (round) => commitOne(memories, copy.id, 5_000 + round, 10)),
      { median: 12, p99: 40 },
    );
    const memory = await store('of four');
    await fill(memories, memory, 10);
    const inserts = await atOnce('inserts', { home, url, memory });
    const commits = await atOnce('commits', { home, url, memory });
    console.log(
      `four processes, bare inserts ${inserts.perSecond.toFixed(0)}/s, commits to one memory ${commits.perSecond.toFixed(0)}/s`,
    );
    if (isLite) tellShare('  commits ÷ inserts', commits.perSecond / inserts.perSecond, { least: 0.4 });
    else tellShare('  commits a second', commits.perSecond, { least: 120 });
    tellShare('  worst wait, seconds', commits.worst / 1000, { most: 2 });
    await db.write(async (sql) => {
      for (let n = 0; n < 10_000; n += 1)
        await put(sql, { kind: 'extract', key: `session-${n}`, payload: {}, notBefore: new Date(0) }, new Date());
    });
    // As autovacuum does within a minute: without statistics PostgreSQL sorts all that is due, 4 ms a claim.
    if (engine === 'postgres') await db.run('analyze');
    const claims = await time(200, async () => {
      const item = await claim(db, {
        owner: 'host:1:1',
        machine: '',
        kinds: ['extract'],
        now: new Date(),
        claimMs: 60_000,
      } as never);
      if (!item) throw new Error('nothing to claim');
      return item;
    });
    tell('claim of one of 10,000', claims, { median: 3 });
    const large = (await db.get<{ id: string }>('select id from memory where name = ?', `of ${files}`))?.id as string;
    const searches = {
      'one word': ['canary', 50],
      'three words': ['canary rollback tenant', 50],
      'seven words': ['how do we deploy the billing gateway', 300],
    } as const;
    for (const [name, [query, limit]] of Object.entries(searches))
      tell(
        `search of ${15 * files} lines, ${name}`,
        await time(15, () => searchMemories(db, [large], { query, limit: 10 })),
        { median: limit },
      );
  } finally {
    await memories.close();
    await db.close();
    await database?.drop();
    rmSync(home, { recursive: true, force: true });
  }
}

if (process.argv[2] === 'child') await child(process.argv.slice(3));
else {
  for (const engine of ['sqlite', 'postgres'] as const) await ofEngine(engine, Number(process.argv[2] ?? 10_000));
  process.exitCode = missed > 0 ? 1 : 0;
}
