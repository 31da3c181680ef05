// What can be done with a store, by name: each runs in the thread that has the store open (server-thread.ts), and is called
// through `StoreThreads.run`. What goes in and comes out is plain data.

import { isAppError } from '../../../base/errors.ts';
import { localSession } from '../../../doors/clients/dream-sessions.ts';
import type { ToolCall } from '../../../doors/mcp/server.ts';
import { isHeld } from '../api-errors.ts';
import {
  type At,
  type Change,
  createMemory,
  deleteMemory,
  listMemories,
  retrieveMemory,
  updateMemory,
} from './stored-memories.ts';
import { hashSession, keepSession } from './stored-sessions.ts';
import { listVersions, redactVersion, retrieveVersion } from './stored-versions.ts';

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
  /** False while someone works on the dream, which is canceled; then nothing of what it committed stands any more. */
  takeBackDream: async ({ store, config }: At, { id }: { id: string }) =>
    (await import('../../../doors/clients/client-work.ts')).takeBackDream(store, { id, config }),
} satisfies Record<string, (at: At, args: never) => Promise<unknown>>;

/** What only begins where a store is: it is of the request. */
export const ofNoStore = new Set<WorkName>(['hashSession', 'keepSession']);
/** What reads nothing before it commits. */
export const ofCommits = new Set<WorkName>(['createMemory', 'updateMemory', 'deleteMemory']);

export type WorkName = keyof typeof WORK;
export type ArgsOf<Name extends WorkName> = Parameters<(typeof WORK)[Name]>[1];
export type ResultOf<Name extends WorkName> = Awaited<ReturnType<(typeof WORK)[Name]>>;

/** The tools of MCP: those of `nocturne mcp`, with changes by the key that asks. */
async function callTool({ store, config }: At, { by, asked }: Pick<Change, 'by'> & { asked: ToolCall }) {
  const tools = await import('../../../doors/mcp/memory-tools.ts');
  return tools.callTool(asked, {
    openStore: async () => store,
    ...(store.id !== store.dir && { findStore: async () => store }),
    actor: `tool:${by}`,
    clock: config.clock,
    passesOn: (error) => isHeld(error) || isAppError(error, 'database-unavailable'),
  });
}
