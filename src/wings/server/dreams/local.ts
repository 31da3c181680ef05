// Sessions of this disk: each belongs to the memory of its project, whose ledger names its transcript. A client names one
// by its id, as it is or behind `sesn_`, as versions tell it.

import { AppError, isAppError } from '../../../base/errors.ts';
import { snapshotPath } from '../../../doors/worker/transcript-snapshots.ts';
import { sessionRow } from '../../../memory/ledger/coverage.ts';
import { inboxItems } from '../../../memory/ledger/inbox.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import type { Store } from '../../../memory/store/store.ts';
import { openSession } from '../../../transcript/session.ts';
import type { Session } from '../../../transcript/types.ts';

interface Found {
  /** As agents name it. */
  id: string;
  transcript: string;
  snapshot?: string;
}

/** The session of a project's memory that a client names; null where it has read none of that id, and none waits there. */
export function localSession(ledger: Ledger, named: string): Found | null {
  const ids = [named, named.replace(/^sesn_/, '')];
  for (const { kind, payload } of inboxItems(ledger)) {
    const { session, transcript = '', snapshot } = payload as Partial<Omit<Found, 'id'>> & { session?: string };
    if (kind === 'extract' && transcript !== '' && session !== undefined && ids.includes(session)) {
      return { id: session, transcript, ...(snapshot !== undefined && { snapshot }) };
    }
  }
  const row = ids.flatMap((id) => sessionRow(ledger, id) ?? [])[0];
  return row && row.path !== '' ? { id: row.id, transcript: row.path } : null;
}

/** Throws `transcript-gone` where it cannot be read any more, without a word of where it was. */
export async function openLocal(store: Store, named: string): Promise<Session> {
  const found = localSession(store.ledger, named);
  const gone = (cause?: unknown) =>
    new AppError('transcript-gone', `Session ${named} cannot be read any more.`, { cause });
  if (!found) throw gone();
  const { id, transcript, snapshot } = found;
  try {
    return await openSession(transcript, { id, snapshot: snapshot && snapshotPath(store, snapshot) });
  } catch (error) {
    throw isAppError(error) ? gone(error) : error;
  }
}
