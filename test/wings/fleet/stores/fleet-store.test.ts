// A store of the database as everybody works in it: what those see who hold it while it is brought on and changed, the leases
// under which it is changed, how many copies are kept, and the store that stands for a directory.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { refreshTopics, topicCards } from '../../../../src/memory/dream/topic-table.ts';
import { redactMatches } from '../../../../src/memory/history/redact/redaction.ts';
import { scrubOf } from '../../../../src/memory/history/redact/scrub.ts';
import { beginJob, type Lease, lastJobs } from '../../../../src/memory/ledger/job-rows.ts';
import { headAt } from '../../../../src/memory/ledger/version-rows.ts';
import type { FleetStore } from '../../../../src/wings/fleet/stores/fleet-store.ts';
import { heldStore, noPostgres, openStores, putStore, textsOf, withStores } from '../own-database.ts';

const by = { actor: 'job:test' };
const now = new Date('2026-11-20T12:00:00Z');
const FILES = { 'a.md': 'one\n', 'topics/b.md': 'two\n' };
const TOPIC = (line: string) => `---\nname: t\ndescription: T\ntype: project\n---\n- ${line}\n`;

describe.skipIf(noPostgres)(`a store of the database ${noPostgres}`, () => {
  const own = withStores({ here: {}, there: {} });

  const put = (store: FleetStore, texts: Record<string, string | null>, lease?: object) =>
    store.commit({ ...by, ...lease }, () => ({
      files: Object.entries(texts).map(([path, text]) => ({ path, change: () => text })),
    }));

  /** What the ledger says of a file beside what stands in it, at one moment. */
  function seen({ dir, ledger }: FleetStore, path: string): [string | undefined, string | null] {
    const file = join(dir, path);
    return [headAt(ledger, path)?.content?.toString(), existsSync(file) ? readFileSync(file, 'utf8') : null];
  }

  test('who holds it while it is brought on meets its ledger and its files as they were, or as they are: never in between', async () => {
    const id = await putStore(own.here, FILES);
    const [one, other] = [await heldStore(own.here, id), await heldStore(own.there, id)];
    const { dir, ledger } = one;
    const texts = ['one\n', 'small\n', `${'large '.repeat(15_000)}\n`, 'after\n'];
    let isOver = false;
    const met = new Set<string>();
    const looking = (async () => {
      while (!isOver) {
        const [head, file] = seen(one, 'a.md');
        expect(head).toBe(file);
        expect(texts).toContain(await readFile(join(dir, 'a.md'), 'utf8'));
        met.add(file as string);
        await new Promise((done) => setImmediate(done));
      }
    })();
    for (const text of texts.slice(1)) {
      await put(other, { 'a.md': text, [`more/${text.length}.md`]: text });
      await one.refresh();
    }
    await own.database.ask("update store set lineage = 'another' where id = $1", [id]);
    expect(await one.refresh()).toBe(true);
    isOver = true;
    await looking;
    expect([...met]).toEqual(texts);
    expect([one.dir, one.ledger]).toEqual([dir, ledger]);
    expect(readdirSync(join(dir, '..')).sort()).toEqual(['mark.json', 'memory']);
  });

  test('what is not checked in yet is read by nobody, and where it is not kept it never was there', async () => {
    const id = await putStore(own.here, FILES);
    const one = await heldStore(own.here, id);
    const looks = () => Promise.all([one.read('a.md'), one.lookUp('a.md').then((found) => found?.text), one.list()]);
    const before = await looks();
    const blocker = new pg.Client({ connectionString: own.database.url, options: '-c search_path=nocturne' });
    await blocker.connect();
    onTestFinished(() => blocker.end());
    for (const isKept of [true, false]) {
      await blocker.query('begin');
      const atWork = Promise.withResolvers<void>();
      const committing = one.asOne(async (at) => {
        await blocker.query('select from store where id = $1 for update', [id]);
        await at.write(by, { path: 'a.md', text: `kept: ${isKept}\n` });
        await at.write(by, { path: 'new.md', text: 'new\n' });
        atWork.resolve();
      });
      const settled = committing.then(
        () => 'kept',
        (error) => error.code,
      );
      await atWork.promise;
      const waiting = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(async () => (await own.database.ask(waiting))[0], { timeout: 20_000 }).toEqual({ n: 1 });
      expect(await looks()).toEqual(before);
      expect(seen(one, 'a.md')).toEqual([before[0], before[0]]);
      if (!isKept) await blocker.query('update store set fence = fence + 1 where id = $1', [id]);
      await blocker.query('commit');
      expect(await settled).toBe(isKept ? 'kept' : 'fenced');
      if (isKept) {
        expect(await looks()).toEqual(['kept: true\n', 'kept: true\n', ['a.md', 'new.md', 'topics/b.md']]);
        before.splice(0, 3, ...(await looks()));
      } else expect(await looks()).toEqual(before);
      await own.database.ask('update store set owner = null, until = null where id = $1', [id]);
    }
  });

  test('a plan and what it calls see in the ledger of the store what the commit wrote so far', async () => {
    const id = await putStore(own.here, FILES);
    const one = await heldStore(own.here, id);
    const heads: (string | undefined)[] = [];
    const look = () => heads.push(headAt(one.ledger, 'a.md')?.content?.toString());
    await one.commit(by, (ledger) => ({
      files: [
        { path: 'a.md', change: () => 'two\n' },
        {
          path: 'c.md',
          change() {
            look();
            expect(headAt(ledger, 'a.md')?.content?.toString()).toBe(heads.at(-1));
            return 'three\n';
          },
        },
      ],
      rows: look,
    }));
    look();
    expect(heads).toEqual(['two\n', 'two\n', 'two\n']);
  });

  test('its ledger refuses what is written past it; what is derived may be, and goes when it is brought on', async () => {
    const id = await putStore(own.here, { 't.md': TOPIC('first') });
    const [one, other] = [await heldStore(own.here, id), await heldStore(own.there, id)];
    expect(() => one.ledger.run("insert into unsettled values ('x')")).toThrow(/readonly/);
    expect(one.ledger.transaction(() => one.ledger.get('select 1 as n'))).toEqual({ n: 1 });
    const before = one.ledger.bytes();
    refreshTopics(one.ledger);
    expect(topicCards(one.ledger).map(({ path, lines }) => [path, lines])).toEqual([['t.md', 1]]);
    await put(other, { 't.md': TOPIC('first\n- second') });
    await one.refresh();
    // A change takes what it wrote into the tables along.
    expect(topicCards(one.ledger).map(({ path, lines }) => [path, lines])).toEqual([['t.md', 2]]);
    expect(one.ledger.bytes().equals(other.ledger.bytes())).toBe(true);
    expect(one.ledger.bytes().equals(before)).toBe(false);
  });

  test('rows that belong to no commit are one revision; a job of a process that is gone is ended when the next begins', async () => {
    const id = await putStore(own.here, FILES);
    const [one, other] = [await heldStore(own.here, id), await heldStore(own.there, id)];
    await one.enterRows((ledger) => {
      for (const process of ['gone:1:1', 'alive:1:1']) {
        const job = beginJob(ledger, { kind: 'extract', now });
        ledger.run('update job set process = ? where id = ?', process, job);
      }
    });
    await own.database.ask("insert into member values ('alive:1:1/x', clock_timestamp())");
    await other.refresh();
    const mine = await other.enterRows((ledger) => beginJob(ledger, { kind: 'dream', now }));
    expect(other.revision).toBe(2);
    const outcomes = lastJobs(other.ledger, 9).map((job) => [
      job.id === mine ? 'own' : job.kind,
      job.status,
      job.outcome,
    ]);
    expect(outcomes.sort()).toEqual([
      ['extract', 'ended', 'interrupted'],
      ['extract', 'running', null],
      ['own', 'running', null],
    ]);
    await own.database.ask("delete from member where id like 'alive%'");
    await other.enterRows(() => {});
    expect(lastJobs(other.ledger, 9).filter(({ status }) => status === 'running')).toHaveLength(1);
  });

  test('a commit under a lease of the database is kept while nobody else has it and its work is wanted', async () => {
    const id = await putStore(own.here, FILES);
    const [one, other] = [await heldStore(own.here, id), await heldStore(own.there, id)];
    const taking = { key: 'dream', owner: 'me', now, ttlMs: 60_000 };
    const late = (lease: Lease) => put(one, { 'a.md': 'late\n' }, { lease });
    const lease = (await one.work.takeLease(taking)) as Lease;
    await put(one, { 'a.md': 'mine\n' }, { lease });
    await one.work.releaseLease(lease);
    await expect(late(lease)).rejects.toThrow('The work on dream was taken over');
    const again = (await other.work.takeLease({ ...taking, owner: 'you' })) as Lease;
    await expect(late(lease)).rejects.toMatchObject({ code: 'fenced' });
    await other.work.releaseLease(again);

    // Taken, or wanted no more, while the check-in is under way: it waits for who was first.
    const held = (await one.work.takeLease(taking)) as Lease;
    await one.work.put({ kind: 'dream', key: 'dream', payload: {}, notBefore: now.toISOString() });
    const item = (await one.work.item('dream', 'dream'))?.id as number;
    await put(one, { 'topics/b.md': 'mine\n' }, { lease: { ...held, item } });
    const taker = new pg.Client({ connectionString: own.database.url, options: '-c search_path=nocturne' });
    await taker.connect();
    onTestFinished(() => taker.end());
    for (const [taken, said] of [
      ['delete from work_inbox where store = $1', 'is wanted no more'],
      ["update work_lease set owner = 'you', fence = fence + 1 where store = $1", 'was taken over'],
    ] as const) {
      await taker.query('begin');
      await taker.query(taken, [id]);
      const failing = expect(late({ ...held, item })).rejects.toThrow(said);
      const waiting = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
      await expect.poll(async () => (await own.database.ask(waiting))[0], { timeout: 20_000 }).toEqual({ n: 1 });
      await taker.query('commit');
      await failing;
    }
    expect(await textsOf(own.there, id)).toEqual({ 'a.md': 'mine\n', 'topics/b.md': 'mine\n' });
    expect(one.revision).toBe(2);
  });

  test('after a redaction the secret is in no row, and in no copy of this process', async () => {
    const secret = 'hunter2-correct-horse';
    const id = await putStore(own.here, { 'a.md': `the password is ${secret}\n`, 'b.md': 'two\n' });
    const one = await heldStore(own.here, id);
    await put(one, { 'b.md': `${secret}\n` });
    refreshTopics(one.ledger);
    const done = await redactMatches(scrubOf(secret), {
      store: one,
      home: join(own.here.deps.place.root, '../../..'),
      now,
    });
    expect(done).toMatchObject({ files: ['a.md', 'b.md'], remaining: [] });
    const holding = `select (select count(*) from page where position($1::bytea in bytes) > 0)
      + (select count(*) from file where position($1::bytea in bytes) > 0) as n`;
    expect(await own.database.ask(holding, [Buffer.from(secret)])).toEqual([{ n: '0' }]);
    const files = readdirSync(join(one.dir, '..'), { recursive: true, withFileTypes: true });
    const left = files.filter(
      (file) => file.isFile() && readFileSync(join(file.parentPath, file.name)).includes(secret),
    );
    expect(left.map(({ name }) => name)).toEqual([]);
    expect(await one.read('a.md')).toBe('the password is [redacted]\n');
  });

  test.each(['pages', 'files', 'unmark', 'swap', 'mark', 'open'])(
    'where a disk fails before the step %s of bringing it on, it is whole again when it is read',
    async (failing) => {
      const id = await putStore(own.here, FILES);
      let fails: string | null = null;
      const stores = await openStores(own.database.url, {
        onStep(step) {
          if (step !== fails) return;
          fails = null;
          throw new Error('disk');
        },
      });
      onTestFinished(() => stores.close());
      const one = await stores.open(id);
      await put(one, { 'c.md': 'three\n' });
      await put(await heldStore(own.there, id), { 'a.md': 'more\n', 'topics/b.md': null });
      fails = failing;
      await expect(one.refresh()).rejects.toThrow('disk');
      if (failing !== 'open') expect(one.ledger.get('select 1 as n')).toEqual({ n: 1 });
      // What was not begun is as it was.
      const isWhole = ['pages', 'files'].includes(failing);
      if (isWhole) expect([await one.read('a.md'), ...seen(one, 'a.md')]).toEqual(['one\n', 'one\n', 'one\n']);
      if (isWhole) await one.refresh();
      expect([await one.read('a.md'), await one.list()]).toEqual(['more\n', ['a.md', 'c.md']]);
      expect(seen(one, 'a.md')).toEqual(['more\n', 'more\n']);
      await put(one, { 'c.md': 'four\n' });
      expect(await textsOf(own.there, id)).toEqual({ 'a.md': 'more\n', 'c.md': 'four\n' });
    },
  );

  test.each(['swap', 'open'])(
    'where a disk fails before the step %s of taking a commit over, it is kept, and read',
    async (failing) => {
      const id = await putStore(own.here, FILES);
      let isCheckedIn = false;
      const stores = await openStores(own.database.url, {
        onStep(step) {
          if (step === 'done') isCheckedIn = true;
          if (step !== failing || !isCheckedIn) return;
          isCheckedIn = false;
          throw new Error('disk');
        },
      });
      onTestFinished(() => stores.close());
      const one = await stores.open(id);
      for (const text of ['more\n', 'still more\n']) {
        await put(one, { 'a.md': text });
        expect([await one.read('a.md'), ...seen(one, 'a.md')]).toEqual([text, text, text]);
      }
      expect(await textsOf(own.there, id)).toEqual({ ...FILES, 'a.md': 'still more\n' });
    },
  );

  test('it is opened once for all who work in it; of those nobody works in, the ones used last are kept', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, () => putStore(own.here, FILES)));
    const stores = await openStores(own.database.url, { keep: { bytes: 2 ** 30, stores: 2 } });
    onTestFinished(() => stores.close());
    const [first, again] = await Promise.all([stores.open(ids[0] as string), stores.open(ids[0] as string)]);
    expect(first).toBe(again);
    const others = await Promise.all(ids.slice(1).map((id) => stores.open(id)));
    for (const store of others) store.close();
    first.close();
    const there = () => [first, ...others].map((store) => store.isInPlace());
    await expect.poll(there).toEqual([true, false, true, true]);
    again.close();
    await expect.poll(there).toEqual([true, false, false, true]);
    expect(await stores.open(ids[3] as string)).toBe(others[2]);
    const anew = await stores.open(ids[1] as string);
    expect(anew).not.toBe(others[0]);
    expect(await anew.read('a.md')).toBe('one\n');
    const small = await openStores(own.database.url, { keep: { bytes: 1, stores: 9 } });
    const one = await small.open(ids[0] as string);
    one.close();
    await expect.poll(() => one.isInPlace()).toBe(false);
    await expect(small.open('memstore_none')).rejects.toMatchObject({ code: 'bad-input' });
    await small.close();
    expect(existsSync(small.deps.place.root)).toBe(false);
  });

  test('a directory of a machine has one store, made empty by whoever comes first', async () => {
    const [one, other] = await Promise.all(
      [own.here, own.there].map((stores) => stores.forSource('/p/memory', { name: 'notes' })),
    );
    expect(one).toBe(other);
    const elsewhere = await own.there.forSource('/p/memory', { name: 'notes', host: 'another' });
    expect(elsewhere).not.toBe(one);
    const named = await own.database.ask(
      'select id, name, state, revision from store where id = any($1) order by name',
      [[one, elsewhere]],
    );
    expect(named).toEqual([
      { id: one, name: 'notes', state: 'ready', revision: 0 },
      { id: elsewhere, name: 'notes-2', state: 'ready', revision: 0 },
    ]);
    const store = await heldStore(own.here, one as string);
    expect(await store.list()).toEqual([]);
    await put(store, { 'a.md': 'first\n' });
    expect(await textsOf(own.there, one as string)).toEqual({ 'a.md': 'first\n' });
  });
});
