// A commit of a store in the database, while processes die and hang and the database's answers are lost: all of it is there,
// or nothing, and what is told of it is true.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sized } from '../../../support/depth.ts';
import { seeded } from '../../../support/random.ts';
import { lineTo } from '../line.ts';
import { noPostgres, openStores, putStore, textsOf, withStores } from '../own-database.ts';

const FILES = { 'a.md': 'one\n', 'topics/b.md': 'two\n' };
/** Of a check-out, a commit and its check-in, in their order; what is read and what is worked in are copies of their own. */
const STEPS = [
  ...['pages', 'files', 'mark', 'rename', 'open'],
  ...['take', 'link', 'rename', 'open', 'work', 'read-log', 'empty-log', 'check-in', 'done'],
  ...['unmark', 'swap', 'mark'],
];
const random = seeded(Number(process.env.PROPERTY_SEED ?? 1) || Date.now());
const numbers = STEPS.map((_, n) => n + 1);
const deaths = sized({ quick: [random.pick(numbers)], deep: numbers });

describe.skipIf(noPostgres)(`a commit of a store in the database ${noPostgres}`, () => {
  const own = withStores({ stores: {} });

  function start(id: string, how: 'die' | 'stop', at: number, leaseMs = 250) {
    const program = join(import.meta.dirname, 'writer.ts');
    const child = spawn(process.execPath, [program, own.database.url, id, 'theirs', how, String(at), String(leaseMs)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const said: string[] = [];
    createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
    return { child, said, closed: once(child, 'close') };
  }

  async function add(id: string, from = own.stores): Promise<void> {
    const store = await from.open(id);
    try {
      const change = (text: string | null) => `${text}ours\n`;
      await store.commit({ actor: 'job:test' }, () => ({ files: [{ path: 'a.md', change }] }));
    } finally {
      store.close();
    }
  }

  test('these are its steps', async () => {
    const said: string[] = [];
    const id = await putStore(own.stores, FILES);
    const telling = await openStores(own.database.url, { onStep: (step) => said.push(step) });
    onTestFinished(() => telling.close());
    await add(id, telling);
    expect(said).toEqual(STEPS);
  });

  test.each(deaths.map((at) => [STEPS[at - 1], at] as const))(
    'killed before the step %s (%i): all of it is there or nothing, and the next writer goes on',
    async (step, at) => {
      const id = await putStore(own.stores, FILES);
      const { said, closed } = start(id, 'die', at);
      expect(await closed).toEqual([null, 'SIGKILL']);
      expect(said).toEqual(STEPS.slice(0, at));
      const isKept = STEPS.indexOf('done') < at;
      const text = `one\n${isKept ? 'theirs\n' : ''}`;
      expect([step, await textsOf(own.stores, id)]).toEqual([step, { ...FILES, 'a.md': text }]);
      await add(id);
      expect(await textsOf(own.stores, id)).toEqual({ ...FILES, 'a.md': `${text}ours\n` });
    },
  );

  test.each(sized({ quick: ['check-in'], deep: ['take', 'work', 'read-log', 'check-in'] }))(
    'a process that was stopped before the step %s, past its lease, keeps nothing of what it did without it',
    async (step) => {
      const id = await putStore(own.stores, FILES);
      const { child, said, closed } = start(id, 'stop', STEPS.indexOf(step) + 1);
      await expect.poll(() => said.at(-1), { timeout: 60_000, interval: 20 }).toBe(step);
      await add(id);
      // It may say the step long before it stops.
      const waking = setInterval(() => child.kill('SIGCONT'), 50);
      expect(await closed.finally(() => clearInterval(waking))).toEqual([0, null]);
      // Before it took the lease it had none to lose.
      const isKept = step === 'take';
      expect(said.at(-1)).toBe(`ended ${isKept ? 'kept' : 'fenced'}`);
      expect(await textsOf(own.stores, id)).toEqual({ ...FILES, 'a.md': `one\nours\n${isKept ? 'theirs\n' : ''}` });
    },
  );

  test('killed before its check-in, whatever lease it asked for, it keeps others waiting for ten seconds at most', async () => {
    const id = await putStore(own.stores, FILES);
    const { closed } = start(id, 'die', STEPS.indexOf('check-in') + 1, 60_000);
    expect(await closed).toEqual([null, 'SIGKILL']);
    const [row] = await own.database.ask<{ ms: number }>(
      'select extract(epoch from until - clock_timestamp())::float * 1000 as ms from store where id = $1',
      [id],
    );
    expect(row?.ms).toBeGreaterThan(0);
    expect(row?.ms).toBeLessThanOrEqual(10_000);
    const adding = add(id);
    // Time passes.
    if (sized({ quick: true, deep: false })) await own.database.ask('update store set until = clock_timestamp()');
    await adding;
    expect(await textsOf(own.stores, id)).toEqual({ ...FILES, 'a.md': 'one\nours\n' });
  });

  async function overLine(id: string, cut: 'request' | 'answer', answerMs?: number) {
    const line = await lineTo(own.database.url);
    onTestFinished(() => line.close());
    const distant = await openStores(line.url, {
      answerMs,
      onStep: (step) => {
        if (step === 'check-in') line.cutAt(cut);
      },
    });
    onTestFinished(() => distant.close());
    return { line, committing: add(id, distant) };
  }

  test('the check-in never reaches the database: nothing is there, and so it is told', async () => {
    const id = await putStore(own.stores, FILES);
    const { committing } = await overLine(id, 'request');
    await expect(committing).rejects.toMatchObject({ code: 'database-unavailable' });
    expect(await textsOf(own.stores, id)).toEqual(FILES);
    await add(id);
    expect(await textsOf(own.stores, id)).toEqual({ ...FILES, 'a.md': 'one\nours\n' });
  });

  test('the answer of the check-in is lost: all of it is there, and so it is told', async () => {
    const id = await putStore(own.stores, FILES);
    const { committing } = await overLine(id, 'answer');
    await committing;
    expect(await textsOf(own.stores, id)).toEqual({ ...FILES, 'a.md': 'one\nours\n' });
  });

  const isWaitedFor =
    'the line is lost while the database is still at the check-in: it is waited for before anything is told';
  test(isWaitedFor, async () => {
    const id = await putStore(own.stores, FILES);
    const blocker = new pg.Client({ connectionString: own.database.url, options: '-c search_path=nocturne' });
    await blocker.connect();
    onTestFinished(() => blocker.end());
    const line = await lineTo(own.database.url);
    onTestFinished(() => line.close());
    let blocked: Promise<unknown> = Promise.resolve();
    const waiting = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    const waitingFor = (n: number) =>
      expect.poll(async () => (await own.database.ask(waiting))[0], { timeout: 20_000 }).toEqual({ n });
    const distant = await openStores(line.url, {
      onStep: (step) => {
        if (step === 'work')
          blocked = blocker.query('begin').then(() => blocker.query('select 1 from store for update'));
        // Whoever waits for the row first has it first: the check-in, before it is asked after.
        if (step === 'check-in') line.cutAt('answer', () => waitingFor(1));
      },
    });
    onTestFinished(() => distant.close());
    const store = await distant.open(id);
    let isTold = false;
    const changing = store
      .asOne(async (at) => {
        await blocked;
        await at.write({ actor: 'job:test' }, { path: 'a.md', text: 'late\n' });
      })
      .finally(() => {
        isTold = true;
      });
    await line.cut;
    await waitingFor(2);
    expect(isTold).toBe(false);
    await blocker.query('rollback');
    await changing;
    expect(await textsOf(own.stores, id)).toEqual({ ...FILES, 'a.md': 'late\n' });
  });

  test('where the database stays away after the check-in, it is told that nobody knows', async () => {
    const id = await putStore(own.stores, FILES);
    const { line, committing } = await overLine(id, 'answer', 100);
    void line.cut.then(() => line.close());
    await expect(committing).rejects.toThrow('it is not known whether the last change was kept');
    expect(await textsOf(own.stores, id)).toEqual({ ...FILES, 'a.md': 'one\nours\n' });
  });
});
