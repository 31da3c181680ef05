// The jobs over one memory, wired as a process would, with the scripted model or one that a test plays.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DreamReport, dream } from '../../jobs/dream.ts';
import { type RememberReport, type RememberRequest, remember } from '../../jobs/edit.ts';
import type { ExtractDeps, ExtractReport, ExtractRequest } from '../../jobs/extract.ts';
import { extract, type LearnAgainRequest, learnAgain } from '../../jobs/extract.ts';
import { type ForgetReport, type ForgetRequest, forget } from '../../jobs/forget.ts';
import { lastJob, type UndoReport, undo } from '../../jobs/undo.ts';
import type { RunAgent } from '../../src/agent/agent-types.ts';
import { runAgent as loopInProcess } from '../../src/agent/loop.ts';
import { insert, newId } from '../../src/db/sql.ts';
import { type EntryRow, entriesWhere, type TurnRow } from '../../src/memory/entries.ts';
import type { Memories, MemoryRow } from '../../src/memory/memories.ts';
import { type Engine, inWorld, NOW, type World } from './memory-world.ts';
import type { MessagesServer } from './messages-server.ts';
import { dreamDeps } from './night-world.ts';
import { scriptedModel } from './scripted-model.ts';
import type { SessionFile } from './session-file.ts';

export interface JobsOptions extends Partial<Omit<ExtractDeps, 'memories' | 'memoryFor' | 'runAgent'>> {
  /** Where the model is; default: the scripted one. */
  server?: Pick<MessagesServer, 'access'>;
  runAgent?: RunAgent;
}

/** Counts what requests use, in the rows of their job; no ceiling. */
export function counting({ db }: Memories): ExtractDeps['spendOf'] {
  return (job) => {
    const calls: string[] = [];
    return {
      async reserve(tokens) {
        const id = newId('call');
        const row = { id, day: '2026-11-21', scope: '', job, model: 'test-model', at: NOW };
        await insert(db, 'call', [{ ...row, reserved_tokens: tokens, reserved_usd: 0 }]);
        return calls.push(id) - 1;
      },
      async settle(at, { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens }) {
        await db.run(
          'update call set input = ?, cached = ?, written = ?, output = ?, micro_usd = 0, settled_at = ? where id = ?',
          ...[inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, NOW, calls[at] ?? ''],
        );
      },
    };
  };
}

/** How an extraction into a memory is run. */
export async function extractDeps(
  memory: MemoryRow,
  { memories }: Pick<World, 'memories'>,
  { server, runAgent = loopInProcess, ...more }: JobsOptions = {},
): Promise<ExtractDeps> {
  const { access } = server ?? (await scriptedModel());
  return {
    memories,
    zone: 'UTC',
    agent: { model: 'test-model', access, maxTurns: 5, maxOutputTokens: 8_000, requestMs: 60_000 },
    runAgent,
    spendOf: counting(memories),
    memoryFor: async () => memory,
    quietMs: 0,
    excerptTokens: 12_000,
    startedBy: 'person',
    ...more,
  };
}

export interface Jobs extends World {
  row: MemoryRow;
  dir: string;
  /** The clock stands at 2026-11-21T02:00Z until then. */
  setNow(at: string): void;
  /** As an ended session. */
  extract(of: SessionFile | string, more?: Partial<ExtractRequest>, deps?: JobsOptions): Promise<ExtractReport>;
  learnAgain(of: Partial<LearnAgainRequest>, deps?: JobsOptions): Promise<ExtractReport[]>;
  remember(request: RememberRequest): Promise<RememberReport>;
  /** Confirms what is asked, unless told otherwise; `user`: the user's memory beside this one. */
  forget(target: string, more?: Partial<ForgetRequest>, user?: MemoryRow): Promise<ForgetReport>;
  dream(): Promise<DreamReport>;
  /** Default: the last job. */
  undo(job?: string | null): Promise<UndoReport>;
  /** A file of the memory, as it stands in the directory. */
  file(path: string): string;
  /** What became of ranges of turns, in the order of their messages' ids: from, through, what. */
  ranges(): Promise<string[][]>;
  /** The last of these. */
  fates(): Promise<string[]>;
  entries(memory?: MemoryRow): Promise<EntryRow[]>;
  states(): Promise<Record<string, string>>;
}

/** Opens a memory with a working copy on an engine, and closes it. */
export async function inJobs(
  engine: Engine,
  work: (jobs: Jobs) => Promise<void>,
  options: JobsOptions = {},
): Promise<void> {
  let now = '2026-11-21T02:00:00.000Z';
  const clock = { now: () => new Date(now) };
  await inWorld(
    engine,
    async (world) => {
      const { row, dir } = await world.withDirectory();
      const { memories, db } = world;
      const run: Jobs['extract'] = (of, more = {}, deps = {}) => {
        const transcript = typeof of === 'string' ? of : of.path;
        return extractInto(row, world, { transcript, ...more }, { ...options, ...deps });
      };
      const ranges = async () => {
        const rows = await db.all<TurnRow>('select * from turn where memory = ? order by through, begins', row.id);
        return rows.map(({ begins, through, state, reason }) => [begins, through, reason ?? state]);
      };
      await work({
        ...{ ...world, row, dir, extract: run },
        setNow(at) {
          now = at;
        },
        learnAgain: async (of, deps = {}) =>
          learnAgain(
            { ended: true, ...of },
            {
              ...{ sql: db, memory: row },
              extract: async (request) => extract(request, await extractDeps(row, world, { ...options, ...deps })),
            },
          ),
        remember: (request) => remember(request, { memory: row, memories, zone: 'UTC' }),
        forget: (target, more, userMemory) =>
          forget({ target, confirm: async () => true, ...more }, { memories, memory: row, userMemory }),
        dream: async () =>
          dream({ startedBy: 'person' }, dreamDeps(world, row, { server: await (options.server ?? scriptedModel()) })),
        undo: async (job) => undo({ job: job ?? (await lastJob(db, { memories: [row.id] }))?.id ?? '' }, { memories }),
        file: (path) => readFileSync(join(dir, path), 'utf8'),
        ranges,
        fates: async () => (await ranges()).map(([, , became = '']) => became),
        entries: (memory = row) => entriesWhere(db, memory.id),
        async states() {
          const rows = await entriesWhere(db, row.id);
          return Object.fromEntries(rows.map(({ text, state, reason }) => [text, reason ?? state]));
        },
      });
    },
    { clock },
  );
}

/** Extracts an ended session into a memory. */
export async function extractInto(
  memory: MemoryRow,
  world: Pick<World, 'memories' | 'home'>,
  { transcript, ...request }: Partial<ExtractRequest> & { transcript: string },
  options: JobsOptions = {},
): Promise<ExtractReport> {
  return extract({ transcript, ended: true, ...request }, await extractDeps(memory, world, options));
}
