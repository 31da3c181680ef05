// A memory whose dreams propose: services with a port each, one topic a service, so that what a proposal is about can be
// read off its lines; and the words of a person who edits meanwhile.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ShownProposal } from '../../src/next/jobs/review/shown-proposals.ts';
import { allEntries, type EntryState } from '../../src/memory/ledger/entries.ts';
import { jobsInProcess } from './jobs-in-process.ts';
import { tempDir } from './temp.ts';
import { tidyDreamer } from './tidy-dreamer.ts';

export type Reviewed = Awaited<ReturnType<typeof reviewedMemory>>;

/** `topicOf` names the topic of a service; default: one of its own. */
export async function reviewedMemory({ topicOf = (service: string) => service, review = true, dir = tempDir() } = {}) {
  let now = Date.parse('2026-11-21T02:00:00Z');
  let onLook = { looks: 0, act: () => {} };
  const clock = {
    now() {
      onLook.looks -= 1;
      if (onLook.looks === 0) onLook.act();
      return new Date(now);
    },
  };
  const model = tidyDreamer((subject) => topicOf(subject.toLowerCase().replaceAll(' ', '-')));
  const jobs = await jobsInProcess(dir, clock, { runAgent: model.runAgent, review });
  const file = (path: string) => readFileSync(join(dir, path), 'utf8');
  return {
    ...jobs,
    dir,
    model,
    /** A person says that a service listens on a port; each saying is later than the one before. Answers the entry's id. */
    async say(service: string, port: number) {
      now += 60_000;
      return (await jobs.remember({ text: `${service} listens on port ${port}.`, type: 'project' })).entry.id;
    },
    file,
    edit: (path: string, change: (text: string) => string) => writeFileSync(join(dir, path), change(file(path))),
    /** Acts when somebody asks for the nth time from now (from 1) what time it is: in the middle of what they do. */
    atLook(looks: number, act: () => void) {
      onLook = { looks, act };
    },
    states: (): Record<string, EntryState> =>
      Object.fromEntries(allEntries(jobs.store.ledger).map(({ id, state }) => [id, state])),
  };
}

/** The lines that a diff adds and takes away, without its frame. */
export function changedLines(diff: string): string[] {
  return diff.split('\n').filter((line) => /^[+-](?![+-]{2} )/.test(line));
}

/** What a proposal would do, by which two of the same would be known. */
export function meaningOf({ kind, topic, lines, entries }: ShownProposal): string {
  const about = lines.length > 0 ? lines : entries.map(({ id }) => id);
  return JSON.stringify([kind, topic, about]);
}
