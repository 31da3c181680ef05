// Where the transcript of a session is for whoever works on it later: its file; or, where memory is kept elsewhere, a copy that
// workers of other machines read, too. And redacted copies in `.nocturne/snapshots/`, for agents that delete their transcripts
// before a worker comes. Promises: a snapshot and the work that needs it come together or not at all; it is there until that work is done
// or replaced, then it goes. Names are never used twice, so that new input does not change what a run is reading.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { listNames } from '../base/files/directories.ts';
import { writePieces } from '../base/files/file-pieces.ts';
import { moveFile, removeFile, statFile, statNow } from '../base/files/files.ts';
import { inboxItems, putInInbox } from '../memory/ledger/inbox.ts';
import type { Store } from '../memory/store/store.ts';
import type { OpenOptions, Session } from '../transcript/session.ts';

/** Where transcripts are: their files, or where memory is kept elsewhere, copies that workers of other machines read, too. */
export interface TranscriptPlace {
  /**
   * Keeps the transcript in a file of this machine for a store, as far as that is needed; answers by what name items of the
   * inbox and ledgers know it. Errors: those of `openSession`, where it is read.
   */
  keep(path: string, store: string, options?: OpenOptions): Promise<string>;
  /** By its name, or of a file of this machine. Errors: those of `openSession`. */
  open(transcript: string, options?: OpenOptions): Promise<Session>;
  /** Which growth changes; null: it is gone. */
  sizeOf(transcript: string): Promise<number | null>;
}

export const transcriptFiles: TranscriptPlace = {
  keep: async (path) => path,
  // Loaded with the first: a worker that waits needs none of it.
  open: async (path, options) => (await import('../transcript/session.ts')).openSession(path, options),
  sizeOf: async (path) => (await statFile(path))?.sizeBytes ?? null,
};

/** What was being written by a process that died is removed after this. */
const ABANDONED_MS = 24 * 60 * 60_000;

/** Puts an extraction into the inbox with a snapshot of its session, which its payload then names. */
export async function takeSnapshot(
  store: Store,
  { session, ...item }: { session: Session; key: string; payload: object; notBefore: string },
): Promise<void> {
  const name = `${randomUUID()}.jsonl`;
  const path = snapshotPath(store, name);
  const unfinished = `${path}.tmp`;
  const [{ redact }, { snapshotLines }] = await Promise.all([
    import('../base/text/redact.ts'),
    import('../transcript/session.ts'),
  ]);
  await writePieces(unfinished, snapshotLines(session, redact));
  // In one transaction with its mention, so that it is not taken for one that is not needed.
  await store.enterRows((ledger) => {
    moveFile(unfinished, path);
    putInInbox(ledger, { ...item, kind: 'extract', payload: { ...item.payload, snapshot: name } });
  });
}

/** Where the snapshot is that an inbox item names. */
export function snapshotPath(store: Store, name: string): string {
  return join(store.dir, '.nocturne', 'snapshots', name);
}

/** Removes the snapshots that no waiting work names. */
export async function dropSnapshots(store: Store, now: Date): Promise<void> {
  const dir = snapshotPath(store, '');
  if (listNames(dir).length === 0) return;
  await store.enterRows((ledger) => {
    const needed = new Set(inboxItems(ledger).map(({ payload }) => (payload as { snapshot?: string }).snapshot));
    for (const name of listNames(dir)) {
      const path = snapshotPath(store, name);
      const isUnfinished = name.endsWith('.tmp') && now.getTime() - (statNow(path)?.modifiedMs ?? 0) < ABANDONED_MS;
      if (!needed.has(name) && !isUnfinished) removeFile(path);
    }
  });
}
