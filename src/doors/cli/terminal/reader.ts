// The memory for commands that only look at it: its store, which first takes in what was edited outside; where nothing
// can be written there, the directory as it stands.

import { isAppError } from '../../../base/errors.ts';
import { type MemoryReader, ReadOnlyStore } from '../../../memory/store/live-files.ts';
import type { App } from '../../compose.ts';

export async function withReader<T>(app: App, work: (reader: MemoryReader) => Promise<T> | T): Promise<T> {
  const session = { cwd: process.cwd() };
  const reader = await app.storeFor(session).catch((error: unknown) => {
    if (!isAppError(error, 'storage')) throw error;
    return orElse(error, () => new ReadOnlyStore(app.memoryDirOf(session)));
  });
  try {
    return await work(reader);
  } finally {
    if (reader instanceof ReadOnlyStore) reader.close();
  }
}

/** Where it cannot even be read, the first error says what to do. */
function orElse(error: Error, open: () => ReadOnlyStore): ReadOnlyStore {
  try {
    return open();
  } catch {
    throw error;
  }
}
