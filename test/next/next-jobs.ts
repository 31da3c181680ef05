// The jobs over memories of the next house, wired as a process would, with the scripted model or one that a test plays.

import { join } from 'node:path';
import { runAgent as loopInProcess } from '../../src/agent/loop.ts';
import { NO_USAGE, type RunAgent } from '../../src/agent/types.ts';
import type { Usage } from '../../src/base/config/prices.ts';
import type { ExtractDeps, ExtractReport, ExtractRequest } from '../../src/next/jobs/extract/extract-report.ts';
import { extract } from '../../src/next/jobs/extract.ts';
import type { Memories, MemoryRow } from '../../src/next/memory/memories.ts';
import type { MessagesServer } from '../support/messages-server.ts';
import { scriptedModel } from '../support/scripted-model.ts';

export interface JobsOptions extends Partial<Omit<ExtractDeps, 'memories' | 'memoryFor'>> {
  /** Where the model is; default: the scripted one. */
  server?: Pick<MessagesServer, 'access'>;
  runAgent?: RunAgent;
}

/** Counts what requests use; no ceiling. */
function counted() {
  const used = { ...NO_USAGE };
  let last = 0;
  return {
    async reserve() {
      last += 1;
      return last;
    },
    async settle(_: number, usage: Usage) {
      for (const key of ['calls', 'inputTokens', 'cachedInputTokens', 'cacheWriteTokens', 'outputTokens'] as const)
        used[key] += usage[key];
    },
    total: () => ({ ...used }),
  };
}

/** How jobs are run that write into this memory. */
export async function depsFor(
  memory: MemoryRow,
  { memories, home }: { memories: Memories; home: string },
  { server, runAgent = loopInProcess, ...more }: JobsOptions = {},
): Promise<ExtractDeps> {
  const { access } = server ?? (await scriptedModel());
  return {
    memories,
    zone: 'UTC',
    agent: { model: 'test-model', access, maxTurns: 5, maxOutputTokens: 8_000, requestMs: 60_000 },
    runAgent,
    spend: counted(),
    memoryFor: async () => memory,
    copiesDir: join(home, 'copies'),
    quietMs: 0,
    excerptTokens: 12_000,
    startedBy: 'person',
    ...more,
  };
}

export async function extractInto(
  memory: MemoryRow,
  world: { memories: Memories; home: string },
  { transcript, ...request }: Partial<ExtractRequest> & { transcript: string },
  options: JobsOptions = {},
): Promise<ExtractReport> {
  return extract({ transcript, ended: true, ...request }, await depsFor(memory, world, options));
}
