// What can be done with a store, by name: each runs in the thread that has the store open (thread.ts), and is called
// through `StoreThreads.run`. What goes in and comes out is plain data.

import { localSession } from '../dreams/local.ts';
import { callTool } from './mcp.ts';
import { type At, createMemory, deleteMemory, listMemories, retrieveMemory, updateMemory } from './memories.ts';
import { hashSession, keepSession } from './sessions.ts';
import { listVersions, redactVersion, retrieveVersion } from './versions.ts';

export const WORK = {
  callTool,
  createMemory,
  deleteMemory,
  listMemories,
  retrieveMemory,
  updateMemory,
  listVersions,
  redactVersion,
  retrieveVersion,
  hashSession,
  keepSession,
  /** Those of these sessions that belong to the store, a project's: as they were named, and their ids there. */
  findSessions: async ({ store }: At, { ids }: { ids: string[] }) => {
    const found: { named: string; local: string }[] = [];
    for (const named of ids) {
      const session = await localSession(store, named);
      if (session) found.push({ named, local: session.id });
    }
    return found;
  },
  /** False while somebody works on the dream, which is canceled; then nothing of what it committed stands any more. */
  takeBackDream: async ({ store, config }: At, { id }: { id: string }) =>
    (await import('../dreams/take-back.ts')).takeBackDream(store, { id, config }),
} satisfies Record<string, (at: At, args: never) => Promise<unknown>>;

/** What only begins where a store is: it is of the request. */
export const ofNoStore = new Set<WorkName>(['hashSession', 'keepSession']);
/** What reads nothing before it commits. */
export const ofCommits = new Set<WorkName>(['createMemory', 'updateMemory', 'deleteMemory']);

export type WorkName = keyof typeof WORK;
export type ArgsOf<Name extends WorkName> = Parameters<(typeof WORK)[Name]>[1];
export type ResultOf<Name extends WorkName> = Awaited<ReturnType<(typeof WORK)[Name]>>;
