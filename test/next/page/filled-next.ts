// The memory of test/wings/page/filled.ts as rows of the next house: its files are taken in as edits are, all else is written as
// jobs would have left it.

import { newId } from '../../../src/next/db/sql.ts';
import { commit, lookInto } from '../../../src/next/memory/commit.ts';
import { putEntry } from '../../../src/next/memory/entries.ts';
import { headsOf } from '../../../src/next/memory/file-rows.ts';
import { beginJob, endJob } from '../../../src/next/memory/job-rows.ts';
import type { MemoryRow } from '../../../src/next/memory/memories.ts';
import { entryBase, putProposal } from '../../../src/next/memory/proposals.ts';
import { enterSession } from '../../../src/next/memory/session-rows.ts';
import type { App } from '../../../src/next/worker/compose.ts';
import { type Plan, writeFilled } from '../../wings/page/filled.ts';

export async function fillNext(app: App, memory: MemoryRow, plan: Plan): Promise<void> {
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
            archiving: null,
          },
          operations: [operation],
          files: [{ path, file: head?.id ?? null, sha: head?.sha ?? null, description: null, lines: [] }],
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
