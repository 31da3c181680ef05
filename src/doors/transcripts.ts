// Where the transcript of a session is for whoever works on it later: its file; or, where memory is kept elsewhere, a copy that
// workers of other machines read, too.

import { statFile } from '../base/files/files.ts';
import { type OpenOptions, openSession, type Session } from '../transcript/session.ts';

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
  open: openSession,
  sizeOf: async (path) => (await statFile(path))?.sizeBytes ?? null,
};
