// Nights of one directory with the real job and the SDK, in which a loopback model answers each call as a test says.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addDays } from 'date-fns/addDays';
import { onTestFinished } from 'vitest';
import { jobsInProcess } from './jobs-in-process.ts';
import { calls, type MessagesRequest, says, startMessagesServer, toolResults } from './messages-server.ts';
import { record, type Said } from './recorded.ts';
import { tempDir } from './temp.ts';

type Operations = (ids: string[], call: number) => object[] | null;

/** Nights of one directory; each takes what was said, and a model that answers each call with operations, or is done. */
export async function nights() {
  const dir = tempDir();
  let now = new Date('2026-11-20T03:00:00Z');
  let answer: Operations = () => null;
  let ids: string[] = [];
  let first = 0;
  const server = await startMessagesServer((_, call) => {
    const operations = answer(ids, call - first);
    return operations ? calls('propose_operations', { operations }) : says('Done.');
  });
  const jobs = await jobsInProcess(dir, { now: () => now }, { all: { model: 'test-model', access: server.access } });
  onTestFinished(() => server.close());
  return {
    ...jobs,
    dir,
    file: (path: string) => readFileSync(join(dir, path), 'utf8'),
    async night(said: (Said | string)[], operations: Operations) {
      now = addDays(now, 1);
      const all = said.map((each): Said => (typeof each === 'string' ? { type: 'project', text: each } : each));
      ids = (await record(jobs.store, addDays(now, -0.5).toISOString(), all)).map(({ id }) => id);
      answer = operations;
      first = server.requests.length;
      const report = await jobs.dream();
      return { report, ids, requests: server.requests.slice(first) as MessagesRequest[] };
    },
  };
}

export const put = (id: string | undefined, text: string, more: object = {}) => ({
  ...{ kind: 'put', topic: 'facts', type: 'project', description: 'Facts', reason: 'New.' },
  ...{ in: [{ text, entries: [id] }], ...more },
});

/** What code said of what a request follows. */
export const told = (request: MessagesRequest | undefined) => JSON.stringify(toolResults(request));
