// How long sessions lie in the database, and what becomes of the work that names them: a worker reads there what a machine
// announced, a session goes when it is old and nothing waits for it, and one that is gone is told as one whose file is gone.

import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { announceSession } from '../../../src/doors/hook/ingest.ts';
import { useKeeping } from '../../../src/doors/keeping.ts';
import { localDesk } from '../../../src/doors/worker/desk.ts';
import { inboxItems } from '../../../src/memory/ledger/inbox.ts';
import { openStore } from '../../../src/memory/open.ts';
import { openSession } from '../../../src/transcript/session.ts';
import { keepInDatabase } from '../../../src/wings/fleet/fleet-keeping.ts';
import { PostgresHome } from '../../../src/wings/fleet/home/postgres-home.ts';
import type { Database } from '../../../src/wings/fleet/postgres.ts';
import type { Transcripts } from '../../../src/wings/fleet/transcripts/fleet-transcripts.ts';
import { testApp } from '../../support/app.ts';
import { workDue } from '../../support/due-work.ts';
import { aSession } from '../../support/session-file.ts';
import { tempDir } from '../../support/temp.ts';
import { noPostgres, type OwnDatabase, ownDatabase } from './own-database.ts';
import { broughtFiles, machine, openTranscriptDatabase, storeIn } from './transcripts.ts';

describe.skipIf(noPostgres)(`sessions that are kept in the database ${noPostgres}`, () => {
  let own: OwnDatabase;
  let database: Database;
  let here: Transcripts;

  beforeAll(async () => {
    own = await ownDatabase();
    database = await openTranscriptDatabase(own.url);
    here = machine(database);
  });

  afterEach(() => useKeeping(keepInDatabase));

  afterAll(async () => {
    await database?.close();
    await own?.drop();
  });

  const age = (days: number) => own.ask(`update transcript set sent_at = sent_at - $1 * interval '1 day'`, [days]);
  const isKept = (name: string) => here.sizeOf(name).then((size) => size !== null);

  test('they go so many days after they were sent last, but none that an item of the inbox names', async () => {
    const store = await storeIn(database);
    const other = await storeIn(database);
    const send = async (of: string) => here.send(await openSession(aSession().path), of);
    const [old, waiting, elsewhere] = [await send(store), await send(store), await send(other)];
    await age(20);
    const grown = aSession();
    const again = await here.send(await openSession(grown.path), store);
    await age(9);
    expect(await here.dropOlder(30)).toBe(0);
    const put = (of: string, key: string, transcript: string) =>
      own.ask(`insert into work_inbox (store, kind, key, payload, not_before) values ($1, 'extract', $2, $3, '')`, [
        ...[of, key, JSON.stringify({ transcript, ended: true })],
      ]);
    await put(store, 'one', waiting);
    // Of another store: it cannot mean this session.
    await put(store, 'two', elsewhere);
    await age(2);
    expect(await here.dropOlder(30)).toBe(2);
    expect(await Promise.all([old, waiting, elsewhere, again].map(isKept))).toEqual([false, true, false, true]);
    // What is to be reprocessed is told by a session's id, or by a day.
    await own.ask(`update work_inbox set kind = 'reprocess', payload = '{"all":true}' where store = $1`, [store]);
    expect(await here.dropOlder(30)).toBe(0);
    await own.ask('delete from work_inbox where store = $1', [store]);
    expect(await here.dropOlder(30)).toBe(1);
    // What is sent again counts from then.
    expect(await here.send(await openSession(grown.path), store)).toBe(again);
    await age(29);
    expect(await here.dropOlder(30)).toBe(0);
    expect(
      await own.ask('select from transcript_piece where transcript <> $1', [again.slice('fleet:'.length)]),
    ).toEqual([]);
  });

  /** An app whose sessions lie in the database, in a memory directory whose store the database knows. */
  async function appHere() {
    const transcripts = machine(database, { home: tempDir() });
    const dir = join(tempDir(), 'memory');
    const opened = await openStore(dir);
    await own.ask(
      `insert into store (id, name, state, revision, pages, page_bytes) values ($1, $1, 'ready', 0, 0, 4096)`,
      [opened.id],
    );
    useKeeping(() => {
      const homeDatabase = new PostgresHome(own.url);
      return {
        ...{ homeDatabase, transcripts, shared: null },
        ...{ openStore: async () => opened, findStore: async () => opened, stores: async () => [] },
        ...{ desk: (parts) => localDesk(parts) },
        queueNamespace: async () => 'test',
        close: async () => {
          opened.close();
          await homeDatabase.close();
        },
      };
    });
    return { ...(await testApp({ dir })), transcripts };
  }

  test('a worker extracts what a machine announced, when its file is gone and when it grew, and reprocesses it', async () => {
    const { app, store, transcripts, ...testing } = await appHere();
    const session = aSession();
    const away = `${session.path}.away`;
    const workWithoutFile = async () => {
      const news = { transcript: session.path, session: session.id, cwd: null, ended: true, isDueNow: true };
      await announceSession(app, news);
      renameSync(session.path, away);
      const done = await workDue({ app, store, ...testing });
      renameSync(away, session.path);
      return done;
    };
    const said = () => store.ledger.all<{ text: string }>(`select text from entry where state <> 'withdrawn'`);
    expect(await workWithoutFile()).toMatchObject([{ outcome: 'recorded' }]);
    session.add('I prefer short answers.');
    expect(await workWithoutFile()).toMatchObject([{ outcome: 'recorded' }]);
    expect(said()).toHaveLength(2);
    expect(store.ledger.all('select distinct path from session')).toEqual([
      { path: expect.stringMatching(/^fleet:tran_/) },
    ]);
    renameSync(session.path, away);
    const reports = await app.reprocess(store, { all: true, ended: true });
    expect(reports).toMatchObject([{ session: session.id, outcome: 'recorded', entries: [{}, {}] }]);
    expect(broughtFiles(transcripts.deps.home)).toEqual([]);
  });

  test('reprocessing one that is gone says so, as of a file that is gone, and covers nothing', async () => {
    const { app, store, ...testing } = await appHere();
    const session = aSession();
    const news = { transcript: session.path, session: session.id, cwd: null, ended: true, isDueNow: true };
    await announceSession(app, news);
    const [{ transcript: name = '' } = {}] = inboxItems(store.ledger).map(
      ({ payload }) => payload as { transcript?: string },
    );
    await workDue({ app, store, ...testing });
    const covered = () => store.ledger.all('select * from coverage');
    const before = [covered(), await store.read((await store.list())[0] ?? '')];
    await age(31);
    await here.dropOlder(30);
    const [report] = await app.reprocess(store, { all: true, ended: true });
    expect(report).toMatchObject({ session: session.id, outcome: 'transcript-gone', entries: [] });
    expect(report?.error?.message).toContain(name);
    expect([covered(), await store.read((await store.list())[0] ?? '')]).toEqual(before);
    const gone = await app.extract({ transcript: `${session.path}.gone`, ended: true });
    expect([gone.outcome, gone.error?.code]).toEqual([report?.outcome, report?.error?.code]);
  });
});
