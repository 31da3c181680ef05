// A memory as it is after years: topics of four lines each, every line resting on an entry of its own, and the daily logs
// that hold them. Made through the store, so that versions, entries and what they support are in the ledger.

import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fixedClock } from '../../src/base/time.ts';
import { coverRange, writeSession } from '../../src/memory/ledger/coverage.ts';
import { addSupport, writeEntry } from '../../src/memory/ledger/entries.ts';
import { openStore } from '../../src/memory/open.ts';
import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import { lineId, newTopic } from '../../src/memory/text/topic.ts';
import type { Entry } from '../../src/memory/types.ts';

const TOPICS_A_DAY = 25;
const AREAS = ['billing', 'search', 'mail', 'login', 'export', 'import', 'report', 'queue', 'cache', 'audit'];
const TYPES = ['project', 'feedback', 'reference', 'user'] as const;
const DAY_MS = 86_400_000;

function linesOf(topic: number): string[] {
  const area = AREAS[topic % AREAS.length];
  return [
    `The ${area} service ${topic} listens on port ${10_000 + topic} in staging.`,
    `Run \`make ${area}-${topic}\` before a change of ${area} is merged.`,
    `The owner of ${area} ${topic} is team ${topic % 37}; ask in #${area}-${topic % 50}.`,
    `Flag --${area}-${topic} turns the new path on, \`src/${area}/${topic}.ts\` has it.`,
  ];
}

/** Fills an empty directory; its files are as old as yesterday. */
export async function fillMemory(dir: string, topics: number): Promise<void> {
  const last = Date.parse('2026-11-20T12:00:00Z');
  const days = Math.ceil(topics / TOPICS_A_DAY);
  for (let back = days; back > 0; back -= 1) {
    const at = new Date(last - back * DAY_MS).toISOString();
    const store = await openStore(dir, { clock: fixedClock(at) });
    const from = (days - back) * TOPICS_A_DAY;
    const made = Array.from({ length: Math.min(TOPICS_A_DAY, topics - from) }, (_, n) => topicOf(from + n, at));
    const entries = made.flatMap((each) => each.entries);
    const day = at.slice(0, 10);
    await store.commit({ actor: 'job:job_large' }, () => ({
      files: [
        { path: logPath(day), change: (current) => appendEntries(current, entries, { day, zone: 'UTC' }) },
        ...made.map(({ path, text }) => ({ path, change: () => text })),
      ],
      rows(transaction) {
        for (const { session, turn } of entries) {
          writeSession(transaction, {
            id: session,
            path: `/none/${session}.jsonl`,
            format: 'claude-code',
            sizeBytes: 1,
            modifiedAt: at,
          });
          const range = {
            session,
            from: '',
            throughMessage: turn,
            disposition: 'recorded',
            day,
            job: 'job_large',
          } as const;
          coverRange(transaction, { id: turn, messageIds: [turn] }, range);
        }
        for (const entry of entries) writeEntry(transaction, { ...entry, state: 'distilled', job: 'job_large' });
        for (const { path, entries } of made) {
          for (const { id, text } of entries) addSupport(transaction, { path, line: lineId(text), entry: id });
        }
      },
    }));
    store.close();
  }
  const yesterday = new Date(Date.now() - DAY_MS);
  for (const item of readdirSync(dir, { recursive: true, withFileTypes: true })) {
    if (item.isFile() && !item.parentPath.includes('.nocturne'))
      utimesSync(join(item.parentPath, item.name), yesterday, yesterday);
  }
}

function topicOf(topic: number, at: string): { path: string; text: string; entries: Entry[] } {
  const area = AREAS[topic % AREAS.length];
  const name = `${area}-${topic}`;
  const type = TYPES[topic % TYPES.length] ?? 'project';
  const entries = linesOf(topic).map((text, line): Entry => {
    const message = `m-${topic}-${line}`;
    return {
      ...{ id: entryId({ message, quote: text, text }), type, strength: 'stated', text, by: 'human', prompt: 'p' },
      ...{ evidence: [{ message, quote: text }], session: `s-${Math.floor(topic / 5)}`, turn: `t-${topic}` },
      ...{ at: new Date(Date.parse(at) + (topic % TOPICS_A_DAY) * 1_000 + line).toISOString(), day: at.slice(0, 10) },
    };
  });
  const description = `About ${area} ${topic}: ports, owners, flags`;
  return { path: `${name}.md`, text: newTopic({ name, description, type, lines: linesOf(topic) }), entries };
}
