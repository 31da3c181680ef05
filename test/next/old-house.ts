// The jobs of the house before over a memory of their own, for plays that both houses take part in.

import { join } from 'node:path';
import { allEntries } from '../../src/memory/ledger/entries.ts';
import { isTopicPath, parseTopic } from '../../src/memory/text/topic.ts';
import type { HouseOptions, PlayedHouse } from '../eval/reference/replay.ts';
import { jobsInProcess } from '../support/jobs-in-process.ts';
import { tempDir } from '../support/temp.ts';

export async function oldHouse({ access, excerptTokens, now }: HouseOptions): Promise<PlayedHouse> {
  const model = { model: 'reader', access };
  const jobs = await jobsInProcess(join(tempDir(), 'memory'), { now }, { all: model, excerptTokens });
  return {
    ...jobs,
    entries: async () => allEntries(jobs.store.ledger),
    async lines() {
      const paths = (await jobs.store.list()).filter(isTopicPath);
      const texts = await Promise.all(paths.map((path) => jobs.store.read(path)));
      return paths.flatMap((path, at) => parseTopic(path, texts[at] ?? '').lines.map(({ text }) => text));
    },
    close: async () => jobs.close(),
  };
}
