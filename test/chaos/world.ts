// The world of a chaos run: projects with a memory directory each, and sessions in which every turn says one thing
// that nobody else says, so that afterwards each can be counted; and what is asked of nocturne itself.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import { canonicalPath } from '../../src/base/files/directories.ts';
import { enqueueExtract } from '../../src/cli/learn-command.ts';
import { lookInto } from '../../src/memory/commit.ts';
import { entriesWhere, isInLog } from '../../src/memory/entries.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import { listWork } from '../../src/queue/waiting-work.ts';
import { openApp } from '../../src/worker/compose.ts';
import { putWork } from '../../src/worker/work-item.ts';
import type { Random } from '../support/random.ts';
import { rowsOf } from '../support/rows.ts';
import { type SessionFile, sessionFile } from '../support/session-file.ts';

interface WorldOptions {
  root: string;
  directories: number;
  sessions: number;
  queueUrl: string;
  concurrency: number;
}

export interface ChaosSession {
  file: SessionFile;
  /** Of its project. */
  cwd: string;
  turns: number;
}

/** What the `turn`th turn (from 1) of a session says: the words are in no other turn. */
function statementOf(session: Pick<ChaosSession, 'file'>, turn: number): string {
  if (isAboutUser(session, turn)) return `I work at the station ${codeOf(session)}-${turn} is heron bureau.`;
  return `Remember that the code word of station ${codeOf(session)}-${turn} is heron.`;
}

/** Every other session begins with something about the user, which the user scope keeps. */
export function isAboutUser(session: Pick<ChaosSession, 'file'>, turn: number): boolean {
  return turn === 1 && Number(session.file.id.slice(0, 4)) % 2 === 1;
}

/** What marks that turn in a log line. */
export function markOf(session: Pick<ChaosSession, 'file'>, turn: number): string {
  return `station ${codeOf(session)}-${turn} is heron`;
}

export interface CoverageRow {
  session: string;
  turn: string;
  disposition: string;
}

export type World = Awaited<ReturnType<typeof makeWorld>>;

export async function makeWorld(options: WorldOptions, random: Random) {
  const home = join(options.root, 'home');
  const transcripts = join(options.root, 'transcripts');
  for (const dir of [home, transcripts]) mkdirSync(dir, { recursive: true });
  const settings = { concurrency: options.concurrency, requestMs: 15_000, userScope: true };
  writeFileSync(join(home, 'config.json'), JSON.stringify(settings));
  const environment: Environment = {
    PATH: process.env.PATH,
    HOME: home,
    NOCTURNE_HOME: home,
    CLAUDE_CONFIG_DIR: join(home, 'claude'),
    NOCTURNE_MODEL: 'offline',
    NOCTURNE_QUEUE_URL: options.queueUrl,
    NOCTURNE_ZONE: 'UTC',
  };
  const app = await openApp(await loadConfig({}, environment));
  const { db } = app;
  const memories = () => db.all<MemoryRow>('select * from memory where deleted_at is null order by created_at, id');
  const projects = Array.from({ length: options.directories }, (_, index) => {
    const cwd = join(options.root, 'projects', `project-${index}`);
    mkdirSync(cwd, { recursive: true });
    return cwd;
  });
  const startsAt = new Date(Date.now() - 6 * 3_600_000).toISOString();
  const sessions = Array.from({ length: options.sessions }, (_, index): ChaosSession => {
    const cwd = index < projects.length ? (projects[index] as string) : random.pick(projects);
    // Message ids begin with its first four digits.
    const id = `${String(index).padStart(4, '0')}0000-2222-4333-8444-555555555555`;
    const session = { file: sessionFile(transcripts, { id, cwd, startsAt }), cwd, turns: 0 };
    for (let turns = 1 + random.below(3); turns > 0; turns -= 1) grow(session);
    return session;
  });

  function grow(session: ChaosSession): void {
    session.turns += 1;
    session.file.add(statementOf(session, session.turns));
  }
  return {
    home,
    environment,
    sessions,
    user: canonicalPath(join(home, 'claude', 'memory')),
    /** Goes on with a session: one more turn. */
    grow,
    /** Puts a session into its inbox, as a hook does; one that waits or is being worked is put again. */
    async announce({ file }: ChaosSession) {
      await enqueueExtract(app, { transcript: file.path, ended: true });
    },
    async stores() {
      return (await memories()).map((memory) => ({
        dir: memory.dir ?? memory.id,
        entries: async () => (await entriesWhere(db, memory.id)).filter(isInLog).length,
        coverage: (): Promise<CoverageRow[]> => rowsOf(app, memory)('coverage'),
        commits: (tell: (violation: string) => void) => commitsOf(memory, tell),
      }));
    },
    async dreamEverywhere() {
      for (const memory of await memories()) await putWork(app, { kind: 'dream', key: memory.id, memory, payload: {} });
    },
    waiting: async () => (await listWork(db)).length,
    /** Looks at every memory once more, as the next job does. */
    async tidy() {
      for (const { id: memory } of await memories()) {
        await app.memories.of(memory);
        await lookInto(app.memories, { memory, paths: 'all' });
      }
    },
    close: () => app.close(),
  };

  /** How many commits there are; `tell` of each turn or entry that two of them wrote, and of what is not finished. */
  async function commitsOf({ id, dir }: MemoryRow, tell: (violation: string) => void): Promise<number> {
    const twice = await db.all<{ tbl: string; key: string; commits: number }>(
      `select tbl, undo.key as key, count(distinct change) as commits from undo join change on change.id = undo.change
       where change.id in (select change from version where memory = ?)
         and (tbl = 'turn' or (tbl = 'entry' and before is null)) group by tbl, undo.key having count(distinct change) > 1`,
      id,
    );
    for (const { tbl, key, commits } of twice) tell(`${dir}: ${commits} commits wrote ${tbl} ${key}.`);
    const behind = 'select path from file where memory = ? and placed <> head';
    for (const { path } of await db.all<{ path: string }>(behind, id))
      tell(`${dir}: ${path} is not what its head says.`);
    const all = 'select count(distinct change) as commits from version where memory = ?';
    return Number((await db.get<{ commits: number }>(all, id))?.commits);
  }
}

function codeOf({ file }: Pick<ChaosSession, 'file'>): string {
  return file.id.slice(0, 8);
}
