// What people and jobs do to a memory in one short life, act by act, as a process of its own: `node one-life.ts HOME DIR SESSIONS URL`, with
// the model at ANTHROPIC_BASE_URL. It tells of each act that it finished, and what the memory was then.

import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { dream } from '../../jobs/dream.ts';
import { forget } from '../../jobs/forget.ts';
import { redact } from '../../jobs/redact.ts';
import { lastJob, undo } from '../../jobs/undo.ts';
import { fixedClock } from '../../src/base/time.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { lookInto } from '../../src/memory/commit.ts';
import { Memories, type MemoryRow } from '../../src/memory/memories.ts';
import { scrubOf } from '../../src/memory/redaction.ts';
import { extractInto } from '../support/job-world.ts';
import type { World } from '../support/memory-world.ts';
import { dreamDeps } from '../support/night-world.ts';

type Here = Pick<World, 'db' | 'memories' | 'home'> & {
  row: MemoryRow;
  dir: string;
  sessions: string[];
  server: Server;
};
type Server = { access: { apiKey: string; baseURL: string } };

export const BY_HAND = 'A line of mine.';
export const REDACTED = 'quillfeather';

export const ACTS: [name: string, act: (here: Here) => Promise<unknown>][] = [
  [
    'extract',
    ({ row, sessions, server, ...world }) => extractInto(row, world, { transcript: sessions[0] as string }, { server }),
  ],
  ['dream', ({ row, server, ...world }) => dream({ startedBy: 'person' }, dreamDeps(world, row, { server }))],
  [
    'extract-more',
    ({ row, sessions, server, ...world }) => extractInto(row, world, { transcript: sessions[1] as string }, { server }),
  ],
  ['undo', undoLast],
  ['undo-the-undo', async ({ db, memories, row }) => undo({ job: await lastUndo(db, row) }, { memories })],
  ['by-hand', async ({ dir }) => appendFileSync(join(dir, 'by-hand.md'), `- ${BY_HAND}\n`)],
  ['dream-again', ({ row, server, ...world }) => dream({ startedBy: 'person' }, dreamDeps(world, row, { server }))],
  [
    'forget',
    ({ memories, row }) => forget({ target: 'pnpm', all: true, confirm: async () => true }, { memories, memory: row }),
  ],
  ['redact', ({ memories }) => redact({ scrub: scrubOf(REDACTED) }, { memories })],
];

async function undoLast({ db, memories, row }: Here) {
  const last = await lastJob(db, { memories: [row.id] });
  return undo({ job: last?.id ?? '' }, { memories });
}

async function lastUndo(db: World['db'], row: MemoryRow): Promise<string> {
  const sql = "select id from job where memory = ? and kind = 'undo' order by created_at desc, id limit 1";
  return (await db.get<{ id: string }>(sql, row.id))?.id ?? '';
}

const BAD_ENDS = new Set(['refused', 'busy', 'failed', 'ambiguous', 'unknown']);

if (process.argv[1] === import.meta.filename) await live(process.argv.slice(2));

async function live([home = '', dir = '', sessions = '', url = '']: string[]): Promise<void> {
  const db = await openDatabase({ home, url: url || undefined });
  const memories = new Memories({ db, home, clock: fixedClock('2026-11-21T02:00:00.000Z') });
  const row = await memories.ofDirectory(dir, { scope: 'project', name: 'memory' });
  const { ANTHROPIC_API_KEY: apiKey = '', ANTHROPIC_BASE_URL: baseURL = '' } = process.env;
  const here: Here = {
    db,
    memories,
    home,
    row,
    dir,
    sessions: sessions.split(','),
    server: { access: { apiKey, baseURL } },
  };
  tell({ act: 'open', state: await stateNow(here) });
  for (const [act, run] of ACTS) {
    const ended = (await run(here)) as { outcome?: string; job?: string } | undefined;
    if (ended?.outcome && BAD_ENDS.has(ended.outcome)) throw new Error(`${act}: ${JSON.stringify(ended)}`);
    tell({ act, state: await stateNow(here) });
  }
  const { steps } = await import('./killing-steps.ts');
  tell({ act: 'end', steps: steps.taken });
  await memories.close();
  await db.close();
}

/** What the memory is, without what differs from run to run: its files, what was learned and what became of it and of turns. */
export async function stateNow({
  db,
  memories,
  row,
  dir,
}: Pick<World, 'db' | 'memories'> & { row: MemoryRow; dir: string }): Promise<string[]> {
  await lookInto(memories, { memory: row.id, paths: 'all' });
  const files = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.md') && !path.startsWith('.nocturne'),
  );
  const texts = files.sort().map((path) => `${path}: ${readFileSync(join(dir, path), 'utf8')}`);
  const entries = await db.all<{ text: string; state: string; reason: string | null }>(
    'select text, state, reason from entry where memory = ? order by id',
    row.id,
  );
  const turns = await db.all<{ id: string; state: string }>(
    'select id, state from turn where memory = ? order by id, begins',
    row.id,
  );
  return [
    ...texts,
    ...entries.map(({ text, state, reason }) => `${state} ${reason ?? ''}: ${text}`),
    ...turns.map(({ id, state }) => `${id}: ${state}`),
  ];
}

function tell(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}
