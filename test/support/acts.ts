// What jobs do to a memory, by hand: a session is learned, a night sorts it into topics.

import type { Sql } from '../../src/db/sql.ts';
import { commit, type FileChange, type Plan } from '../../src/memory/commit.ts';
import { headAt } from '../../src/memory/file-rows.ts';
import { beginJob, endJob, type JobKind } from '../../src/memory/job-rows.ts';
import type { Entry } from '../../src/memory/memory-types.ts';
import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import { editLines, lineId, newTopic } from '../../src/memory/text/topic.ts';
import type { Change } from '../../src/memory/undo-rows.ts';
import type { World } from './memory-world.ts';

export const DAY = '2026-03-02';
export const LOG = logPath(DAY);

type Place = Pick<World, 'db' | 'memories'>;

/** Runs a job of one commit; answers its id. */
export async function act(
  { db, memories }: Place,
  memory: string,
  of: {
    kind: JobKind;
    files?: FileChange[];
    rows?(change: Change): Promise<void>;
    /** In place of these. */
    plan?(sql: Sql): Promise<Plan>;
    by?: 'user' | 'job';
    startedBy?: 'person' | 'hook';
  },
): Promise<string> {
  const at = memories.clock.now().toISOString();
  const job = await beginJob(db, { kind: of.kind, memory, startedBy: of.startedBy ?? 'hook', at });
  const actor = of.by === 'user' ? { kind: 'user', id: null } : { kind: 'job', id: job };
  const target = { memory, paths: (of.files ?? []).map(({ path }) => path) };
  const plan = of.plan ?? (async () => ({ files: of.files ?? [], rows: of.rows }));
  await commit(memories, target, { job, actor } as never, plan);
  await endJob(db, job, { outcome: 'done', at });
  return job;
}

export function entryOf(text: string, { session = 's1', turn = 't1' } = {}): Entry {
  const evidence = [{ message: `${turn}-m`, quote: text, by: 'human' }];
  const id = entryId({ message: `${turn}-m`, quote: text, text });
  const common = { type: 'feedback', strength: 'stated', by: 'human', prompt: 'p' } as const;
  return { ...common, id, text, evidence, session, turn, at: `${DAY}T09:00:00.000Z`, day: DAY };
}

function entryRow(memory: string, entry: Entry, state: string, job: string) {
  const { id, session, turn, at, day, type, strength, by, text, evidence, prompt } = entry;
  const said = { said_by: by, quotes: JSON.stringify(evidence), prompt };
  return { memory, id, session, turn, at, day, type, strength, text, ...said, job, state, reason: null };
}

/** Learns what was said in turns of a session: entries, their log, and coverage. */
export function learn(
  world: Place,
  memory: string,
  turns: Record<string, string | null>,
  { session = 's1', kind = 'extract' as JobKind, through = '' } = {},
): Promise<string> {
  const said = Object.entries(turns).flatMap(([turn, text]) =>
    text === null ? [] : [entryOf(text, { session, turn })],
  );
  const log: FileChange = { path: LOG, make: (now) => appendEntries(now, said, { day: DAY, zone: 'UTC' }) };
  return act(world, memory, {
    kind,
    files: said.length > 0 ? [log] : [],
    async rows(change) {
      for (const entry of said) await change.put('entry', entryRow(memory, entry, 'new', change.job));
      for (const turn of Object.keys(turns)) {
        const covered = { state: 'done', reason: null, day: DAY, job: change.job };
        await change.put('turn', { session, id: turn, begins: '', memory, through: `${turn}-m${through}`, ...covered });
      }
    },
  });
}

/** Sorts what was said into topics, by their names. */
export function dream(world: Place, memory: string, topics: Record<string, string[]>): Promise<string> {
  const files = Object.entries(topics).map(([name, lines]): FileChange => {
    const topic = { name, description: `About ${name}`, type: 'feedback', lines } as const;
    const make = (now: string | null) =>
      now === null ? newTopic(topic) : editLines(now, { remove: new Set(), add: lines });
    return { path: `${name}.md`, make };
  });
  return act(world, memory, {
    kind: 'dream',
    files,
    async rows(change) {
      for (const [name, lines] of Object.entries(topics)) {
        const file = (await headAt(change.sql, memory, `${name}.md`))?.id as string;
        for (const text of lines) {
          const entries = await change.sql.all('select * from entry where memory = ? and text = ?', memory, text);
          for (const entry of entries) {
            await change.put('rests', { memory, file, line: lineId(text), source: String(entry.id) });
            await change.put('entry', { ...(entry as object), state: 'placed' } as never);
          }
        }
      }
    },
  });
}

/** Everything that an undo is to bring back: the text of each file, coverage, entries and what lines rest on. */
export async function stateOf({ db }: Place, memory: string) {
  const files = await db.all<{ path: string; text: Buffer }>(
    `select f.id, f.path, v.content as text from file f join version v on v.id = f.head
     where f.memory = ? and f.path is not null order by f.path`,
    memory,
  );
  const rowsOf = (table: string, order: string) =>
    db.all(`select * from ${table} where memory = ? order by ${order}`, memory);
  return {
    files: files.map(({ text, ...file }) => ({ ...file, text: String(text) })),
    turns: await rowsOf('turn', 'session, id, begins'),
    entries: await rowsOf('entry', 'id'),
    rests: await rowsOf('rests', 'file, line, source'),
  };
}
