// A memory of any size that looks as if nights had made it, in words of any kind: topics whose lines rest on entries, logs
// with their quotes, sessions with their conversations, reports of nights, the last of which changed files, and proposals.
// Written in one commit and not by jobs, which would take hours for five thousand topics.

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Proposal } from '../../../src/memory/dream/proposals.ts';
import { pinEntry, proposalId, putProposal } from '../../../src/memory/dream/proposals.ts';
import { coverRange, writeSession } from '../../../src/memory/ledger/coverage.ts';
import { addSupport, writeEntry } from '../../../src/memory/ledger/entries.ts';
import { beginJob, endJob, rememberJob } from '../../../src/memory/ledger/job-rows.ts';
import { shaOf } from '../../../src/memory/ledger/version-rows.ts';
import { isMemoryPath } from '../../../src/memory/store/confine.ts';
import type { Store } from '../../../src/memory/store/store.ts';
import { appendEntries, entryId, logPath } from '../../../src/memory/text/daily-log.ts';
import { appendJsonReport, type ReportedRow, reportPath } from '../../../src/memory/text/dream-report.ts';
import { lineId, parseTopic } from '../../../src/memory/text/topic.ts';
import { MEMORY_TYPES } from '../../../src/memory/types.ts';
import { sessionFile } from '../../support/session-file.ts';

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

type Filled = ReturnType<typeof writeFilled>;

export async function fill(store: Store, plan: Plan): Promise<void> {
  const { now, nights, says, topics, lines } = plan;
  const filled = writeFilled(store.dir, plan);
  const { days, sessions, entries, supports, proposed, texts, put } = filled;
  await store.commit({ actor: 'person' }, () => ({
    files: [],
    rows(transaction) {
      const { ledger } = transaction;
      for (const session of sessions) {
        session.job = beginJob(ledger, { kind: 'extract', session: session.name, now });
        endJob(ledger, session.job, { outcome: 'extracted', usage: null, now });
        writeSession(transaction, {
          ...{ id: session.name, path: session.path, format: 'claude-code', cwd: '/home/kim/orchard' },
          ...{ sizeBytes: 0, modifiedAt: now.toISOString() },
        });
      }
      for (const [n, { isPlaced, ...entry }] of entries.entries()) {
        const { job } = sessions[n % sessions.length] as (typeof sessions)[number];
        writeEntry(transaction, { ...entry, job, state: isPlaced ? 'distilled' : 'new' });
        const support = supports.get(entry.id);
        if (support) addSupport(transaction, { ...support, entry: entry.id });
        const turn = { id: entry.turn, messageIds: [entry.turn] };
        const { session, day } = entry;
        coverRange(transaction, turn, {
          session,
          from: '',
          throughMessage: entry.turn,
          disposition: 'recorded',
          day,
          job,
        });
      }
      for (const [n, entry] of proposed.entries()) putProposal(transaction, proposalFor(entry, n));
    },
  }));
  function proposalFor(entry: Filled['entries'][number], n: number): Proposal {
    const path = filled.pathProposed(n);
    const text = texts.get(path) as string;
    const name = filled.nameProposed(n);
    const line = { text: says('line', topics * lines + n).slice(0, 900), entries: [entry.id] };
    const operation = { kind: 'put' as const, reason: says('reason', n), topic: name, in: [line] };
    const made = { operations: [operation], archiving: null };
    const description = lineId(parseTopic(path, text).description);
    return {
      ...{ id: proposalId(made), job: 'job_proposed', at: now.toISOString(), madeBy: 'model', ...made },
      topics: [{ path, sha: shaOf(text), description, lines: [] }],
      ...{ entries: [pinEntry({ ...entry, job: '', state: 'new' }, false)], state: 'waiting', because: null },
    };
  }
  for (const [night, day] of days.slice(0, nights).entries()) {
    const job = `job_night${String(night).padStart(7, '0')}`;
    rememberJob(store.ledger, { id: job, kind: 'dream', day, now: now.toISOString() });
    const rows = entries.flatMap((entry, n): ReportedRow[] => {
      const support = supports.get(entry.id);
      if (entry.day !== day || !support) return [];
      const row = { job, entry: entry.id, op: 'add', topic: support.path, lines: [support.line] };
      return [{ ...row, reason: says('reason', n), operation: n, text: entry.text }];
    });
    put(reportPath(day, 'json'), appendJsonReport(null, rows));
    if (night < nights - 1) continue;
    // What the last one wrote can be seen, and taken back.
    await store.commit({ actor: `job:${job}` }, () => ({
      files: filled.changed.map((path, n) => ({ path, change: (text) => `${text}${filled.lineAtLast(n)}` })),
    }));
  }
}
