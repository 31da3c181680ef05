// Sessions of this disk: each belongs to the memory of its project, whose ledger names its transcript. A client names one
// by its id, as it is or behind `sesn_`, as versions tell it.

import { AppError, isAppError } from '../../../base/errors.ts';
import type { WingApp } from '../../../doors/wing.ts';
import { snapshotPath } from '../../../doors/worker/transcript-snapshots.ts';
import { sessionRow } from '../../../memory/ledger/coverage.ts';
import type { Store } from '../../../memory/store/store.ts';
import type { Session } from '../../../transcript/types.ts';

interface Found {
  /** As agents name it. */
  id: string;
  transcript: string;
  snapshot?: string;
}

/** The session of a project's memory that a client names; null where it has read none of that id, and none waits there. */
export async function localSession({ work, ledger }: Store, named: string): Promise<Found | null> {
  const ids = [named, named.replace(/^sesn_/, '')];
  for (const { kind, payload } of await work.items()) {
    const { session, transcript = '', snapshot } = payload as Partial<Omit<Found, 'id'>> & { session?: string };
    if (kind === 'extract' && transcript !== '' && session !== undefined && ids.includes(session)) {
      return { id: session, transcript, ...(snapshot !== undefined && { snapshot }) };
    }
  }
  const row = ids.flatMap((id) => sessionRow(ledger, id) ?? [])[0];
  return row && row.path !== '' ? { id: row.id, transcript: row.path } : null;
}

/** Throws `transcript-gone` where it cannot be read any more, without a word of where it was. */
export async function openLocal(
  store: Store,
  { named, transcripts }: { named: string; transcripts: WingApp['transcripts'] },
): Promise<Session> {
  const found = await localSession(store, named);
  const gone = (cause?: unknown) =>
    new AppError('transcript-gone', `Session ${named} cannot be read any more.`, { cause });
  if (!found) throw gone();
  const { id, transcript, snapshot } = found;
  try {
    return await transcripts.open(transcript, { id, snapshot: snapshot && snapshotPath(store, snapshot) });
  } catch (error) {
    throw isAppError(error) ? gone(error) : error;
  }
}
