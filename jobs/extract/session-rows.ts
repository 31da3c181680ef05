// What the ledger is told of a session while a job commits, and when all of it is committed: only then may the next
// reading begin where the last turn begins.

import { type SessionRow, sessionRow } from '../../src/memory/ledger/coverage.ts';
import type { Store } from '../../src/memory/store/store.ts';
import { readPointAt, type Session } from '../../src/transcript/session.ts';

export interface SessionRows {
  meanwhile: SessionRow;
  atEnd: SessionRow;
}

/** `lastTurnByte`: where the last turn begins; null where the next reading has to be from the beginning. */
export async function sessionRows(
  session: Session,
  { store, lastTurnByte }: { store: Store; lastTurnByte: number | null },
): Promise<SessionRows> {
  const { id, path, format, cwd, sizeBytes, modifiedAt } = session;
  const row: SessionRow = { id, path, format, cwd, sizeBytes, modifiedAt };
  const point = lastTurnByte === null ? null : await readPointAt(path, lastTurnByte);
  return {
    meanwhile: { ...row, readPoint: sessionRow(store.ledger, id)?.readPoint },
    atEnd: { ...row, readPoint: point ?? undefined },
  };
}
