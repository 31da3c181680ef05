// A memory of any size that looks as if nights had made it, in words of any kind: topics whose lines rest on entries, logs
// with their quotes, sessions with their conversations, reports of nights, the last of which changed files, and proposals.
// Written in one commit and not by jobs, which would take hours for five thousand topics.

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { newId } from '../../src/db/sql.ts';
import { commit, lookInto } from '../../src/memory/commit.ts';
import { putEntry } from '../../src/memory/entries.ts';
import { headsOf } from '../../src/memory/file-rows.ts';
import { beginJob, endJob } from '../../src/memory/job-rows.ts';
import type { MemoryRow } from '../../src/memory/memories.ts';
import { isMemoryPath } from '../../src/memory/memory-paths.ts';
import { MEMORY_TYPES } from '../../src/memory/memory-types.ts';
import { entryBase, putProposal } from '../../src/memory/proposals.ts';
import { enterSession } from '../../src/memory/session-rows.ts';
import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import { parseTopic } from '../../src/memory/text/topic.ts';
import type { App } from '../../src/worker/compose.ts';
import { sessionFile } from '../support/session-file.ts';

export interface Plan {
  topics: number;
  /** Of each topic; each rests on one entry. */
  lines: number;
  sessions: number;
  nights: number;
  proposals: number;
  /** Where the conversations are written. */
  transcripts: string;
  /** The words of the nth thing of a kind; one line. */
  says(kind: 'line' | 'entry' | 'quote' | 'description' | 'reason' | 'answer', n: number): string;
  topic(n: number): string;
  session?(n: number): string;
  /** Of a conversation's file, without its extension. */
  file?(n: number): string;
  now: Date;
}

const DAY_MS = 86_400_000;
const AT_LAST = 20;

/** Writes the files and the conversations; answers what is to be known of them. */
export function writeFilled(dir: string, plan: Plan) {
  const { topics, lines, nights, proposals, says, now } = plan;
  const days = Array.from({ length: Math.max(nights, 1) }, (_, at) =>
    new Date(now.getTime() - (Math.max(nights, 1) - at) * DAY_MS).toISOString().slice(0, 10),
  );
  const sessionName = plan.session ?? ((n) => `5e551011-0000-4000-8000-${String(n).padStart(12, '0')}`);
  const sessions = Array.from({ length: plan.sessions }, (_, n) => {
    // Its first four letters tell its messages from those of others.
    const id = `${String(n).padStart(4, '0')}5e55-0000-4000-8000-000000000000`;
    return { name: sessionName(n), turns: 0, job: '', file: sessionFile(plan.transcripts, { id }), path: '' };
  });
  const count = topics * lines + proposals;
  const entries = Array.from({ length: count }, (_, n) => {
    const session = sessions[n % sessions.length] as (typeof sessions)[number];
    const quote = says('quote', n);
    session.file.add(`${says('answer', n)} ${quote} ${says('answer', n + 1)}`, [{ says: says('answer', n + 2) }]);
    session.turns += 1;
    const turn = session.file.turn(session.turns);
    const day = days[Math.floor((n / count) * days.length)] as string;
    const text = says('entry', n);
    return {
      id: entryId({ message: turn, quote, text }),
      ...{ session: session.name, turn, at: `${day}T10:00:00.000Z`, day, type: MEMORY_TYPES[n % 4] ?? 'project', text },
      ...{ evidence: [{ message: turn, quote, by: 'human' as const }], by: 'human' as const },
      ...{ strength: 'stated' as const, prompt: '' },
      /** A line of a topic rests on it. */
      isPlaced: n < topics * lines,
    };
  });
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  };
  const pathOf = (n: number) => `${plan.topic(n)}.md`;
  const proposed = (n: number) => pathOf((n * 7) % topics);
  const allProposed = new Set(Array.from({ length: proposals }, (_, n) => proposed(n)));
  /** Where each entry's line stands. */
  const supports = new Map<string, { path: string; line: string }>();
  const texts = new Map<string, string>();
  for (let n = 0; n < topics; n += 1) {
    const own = Array.from({ length: lines }, (_, at) => `- ${says('line', n * lines + at)}\n`);
    const head = `---\nname: ${JSON.stringify(plan.topic(n))}\ndescription: ${JSON.stringify(says('description', n))}\ntype: ${MEMORY_TYPES[n % 4]}\n---\n\n`;
    const text = head + own.join('');
    texts.set(pathOf(n), text);
    put(pathOf(n), text);
    for (const [at, { id }] of parseTopic(pathOf(n), text).lines.slice(0, lines).entries())
      supports.set((entries[n * lines + at] as (typeof entries)[number]).id, { path: pathOf(n), line: id });
  }
  for (const [day, list] of Map.groupBy(entries, (entry) => entry.day))
    put(logPath(day), appendEntries(null, list, { day, zone: 'UTC' }));
  for (const [n, { file }] of sessions.entries()) {
    const path = plan.file ? join(plan.transcripts, `${plan.file(n)}.jsonl`) : file.path;
    renameSync(file.path, path);
    (sessions[n] as (typeof sessions)[number]).path = path;
  }
  return {
    ...{ days, sessions, entries, supports, texts, put },
    /** Those that a proposal waits for. */
    proposed: entries.slice(topics * lines),
    pathProposed: proposed,
    nameProposed: (n: number) => plan.topic((n * 7) % topics),
    /** A few topics that the last night wrote, each with a line more. */
    changed: [...texts.keys()].filter((path) => !allProposed.has(path) && isMemoryPath(path)).slice(0, AT_LAST),
    lineAtLast: (n: number) => `- ${says('line', count + n)}\n`,
  };
}

/** Its files are taken in as edits are, all else is written as jobs would have left it. */
export async function fillMemory({ app, store: memory }: { app: App; store: MemoryRow }, plan: Plan): Promise<void> {
  const { memories, db, machine } = app;
  const { now, says, topics, lines, nights } = plan;
  const filled = writeFilled(memory.dir as string, plan);
  const { days, sessions, entries, supports } = filled;
  await lookInto(memories, { memory: memory.id, paths: 'all' });
  const files = new Map((await headsOf(db, memory.id)).map((head) => [head.path, head]));
  const at = now.toISOString();
  const night = (n: number) => `job_night${String(n).padStart(7, '0')}`;
  const by = { job: newId('job'), actor: { kind: 'user', id: null } } as const;
  await commit(memories, { memory: memory.id, paths: [] }, by, async (sql) => ({
    files: [],
    async rows(change) {
      const ids: string[] = [];
      for (const session of sessions) {
        const row = await enterSession(
          sql,
          { memory: memory.id, machine, at },
          {
            ...{ id: session.name, path: session.path, format: 'claude-code', cwd: '/home/kim/orchard' },
            ...{ sizeBytes: 0, modifiedAt: at },
          },
        );
        ids.push(row.id);
        const of = { kind: 'extract', memory: memory.id, session: row.id, startedBy: 'hook', at } as const;
        session.job = await beginJob(sql, of);
        await endJob(sql, session.job, { outcome: 'recorded', at });
      }
      for (const [n, { isPlaced, session: _, ...entry }] of entries.entries()) {
        const session = ids[n % ids.length] as string;
        const { job } = sessions[n % sessions.length] as (typeof sessions)[number];
        const row = {
          ...entry,
          memory: memory.id,
          session,
          job,
          state: isPlaced ? 'placed' : 'new',
          reason: null,
        } as const;
        await putEntry(change, row);
        const support = supports.get(entry.id);
        const file = support && files.get(support.path)?.id;
        if (file) await change.put('rests', { memory: memory.id, file, line: support.line, source: entry.id });
        const range = { session, id: entry.turn, begins: '', memory: memory.id, through: entry.turn };
        await change.put('turn', { ...range, state: 'done', reason: null, day: entry.day, job });
        if (n < topics * lines) continue;
        const place = n - topics * lines;
        const path = filled.pathProposed(place);
        const line = { text: says('line', n).slice(0, 900), entries: [entry.id] };
        const operation = {
          kind: 'put' as const,
          reason: says('reason', place),
          topic: filled.nameProposed(place),
          in: [line],
        };
        const head = files.get(path);
        await putProposal(change, memory.id, {
          ...{
            id: `prop_${String(place).padStart(12, '0')}`,
            job: 'job_proposed',
            at,
            madeBy: 'model',
          },
          operations: [operation],
          files: [{ path, file: head?.id ?? null, lines: [] }],
          entries: [entryBase({ ...entry }, false)],
          ...{ state: 'open', decidedAt: null, because: null },
        });
      }
      for (const [n, day] of days.slice(0, nights).entries()) {
        const id = night(n);
        const begun = `${day}T03:30:00.000Z`;
        await beginJob(sql, { id, kind: 'dream', memory: memory.id, startedBy: 'hook', at: begun });
        const operations = entries.flatMap((entry, of) => {
          const support = supports.get(entry.id);
          if (entry.day !== day || !support) return [];
          const told = { kind: 'add' as const, entries: [entry.id], topic: support.path, reason: says('reason', of) };
          return [{ ...told, came: [entry.text] }];
        });
        const output = { operations, proposals: [], refused: [], left: [], index: null };
        await endJob(sql, id, { outcome: 'dreamed', output, progress: operations.length, at: begun });
      }
    },
  }));
  if (nights === 0) return;
  // What the last one wrote can be seen, and taken back.
  const job = night(nights - 1);
  await commit(memories, { memory: memory.id, paths: 'all' }, { job, actor: { kind: 'job', id: job } }, async () => ({
    files: filled.changed.map((path, n) => ({ path, make: (text) => `${text}${filled.lineAtLast(n)}` })),
  }));
}
