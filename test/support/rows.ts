// What is kept beside the files, as tests of the doors look at it: the one place among them that knows how it is kept.

import { entriesWhere } from '../../src/memory/entries.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import type { App } from '../../src/worker/compose.ts';

/** What became of a turn. */
const FATES: Record<string, string> = { 'own-write': 'main-agent', gave_up: 'gave-up' };

interface CoverageRow {
  session: string;
  turn: string;
  from: string;
  throughMessage: string;
  day: string;
  job: string;
  disposition: string;
}

interface WaitingRow {
  id: number;
  kind: string;
  key: string;
  notBefore: string;
  attempts: number;
  failure: string | null;
  since: string;
}

const QUERIES = {
  async coverage({ db }: App, { id }: MemoryRow) {
    const rows = await db.all<Record<string, string>>(
      `select s.name as session, t.id as turn, t.begins as "from", t.through as "throughMessage", t.day, t.job,
         case t.state when 'done' then case when exists (select 1 from entry e where e.session = t.session and e.turn = t.id
           and e.state <> 'gone') then 'recorded' else 'nothing' end when 'skipped' then t.reason else t.state end as fate
       from turn t join session s on s.id = t.session where t.memory = ? order by s.name, t.through`,
      id,
    );
    return rows.map(({ fate = '', ...row }) => ({ ...row, disposition: FATES[fate] ?? fate }) as CoverageRow);
  },
  fates: async (app: App, memory: MemoryRow) =>
    (await QUERIES.coverage(app, memory)).map(({ disposition }) => disposition),
  async entries({ db }: App, { id }: MemoryRow) {
    const names = new Map(
      (await db.all<{ id: string; name: string }>('select id, name from session')).map((row) => [row.id, row.name]),
    );
    const entries = await entriesWhere(db, id);
    return entries.map((entry) => ({ ...entry, session: entry.session && names.get(entry.session) }));
  },
  async waiting({ db }: App, { id }: MemoryRow) {
    const rows = await db.all<WaitingRow & { payload: string; transcript: string | null }>(
      `select i.id, i.kind, i.key, i.payload, i.not_before as "notBefore", i.attempts, i.error as failure, i.since, s.path as transcript
       from inbox i left join session s on i.kind = 'extract' and s.id = i.key
       where i.memory = ? and i.state = 'waiting' order by i.not_before, i.id`,
      id,
    );
    return rows.map(({ payload, transcript, ...row }) => {
      const { size: _, ...said } = JSON.parse(`${payload}`);
      return { ...row, payload: { ...(transcript !== null && { transcript }), ...said } };
    });
  },
  jobs: ({ db }: App, { id }: MemoryRow) =>
    db.all<
      Record<
        'id' | 'kind' | 'status' | 'outcome' | 'error' | 'code' | 'session' | 'createdAt' | 'endedAt' | 'undoes',
        string
      >
    >(
      `select job.id, kind, case status when 'running' then 'running' else 'ended' end as status, outcome, error, code,
         s.name as session, job.created_at as "createdAt", ended_at as "endedAt", undoes
       from job left join session s on s.id = job.session where job.memory = ? order by job.created_at desc, job.id desc`,
      id,
    ),
  failures: ({ db }: App, { id }: MemoryRow) =>
    db.all<{ kind: string; state: string; code: string; attempts: number; failures: number }>(
      `select kind, case state when 'failed' then 'failed' else 'retrying' end as state, code, attempts, failures from inbox
       where memory = ? and code is not null order by id desc`,
      id,
    ),
  versions: ({ db }: App, { id }: MemoryRow) =>
    db.all<{ content: unknown; actor: string; commit: string }>(
      `select content, actor_kind || ':' || coalesce(actor, '') as actor, change as "commit" from version where memory = ? order by seq`,
      id,
    ),
  support: ({ db }: App, { id }: MemoryRow) =>
    db.all('select file as path, line, source as entry from rests where memory = ? order by file, line, source', id),
  leases: ({ db }: App) => db.all<{ until: string }>('select until from inbox where owner is not null'),
  async uses({ db }: App, { id }: MemoryRow) {
    const rows = await db.all<{ path: string; shown: number; used: number; shownAt: string; usedAt: string }>(
      `select file.path, shown, used, shown_at as "shownAt", used_at as "usedAt" from topic_use
       join file on file.memory = topic_use.memory and file.id = topic_use.file where topic_use.memory = ?`,
      id,
    );
    return new Map(rows.map((row) => [row.path, row]));
  },
};

type Queries = typeof QUERIES;

export type Rows = <Query extends keyof Queries>(query: Query) => ReturnType<Queries[Query]>;

export function rowsOf(app: App, memory: MemoryRow): Rows {
  return (query) => QUERIES[query](app, memory) as ReturnType<Queries[typeof query]>;
}
