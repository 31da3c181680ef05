// What the database keeps of a store beside its files and its ledger: rows of work, and sessions. A redaction reaches both.

import type { RedactElsewhere } from '../../memory/history/redact/redaction.ts';
import { scrubRecalled } from './stores/recalls.ts';
import { redactTranscripts } from './transcripts/redact.ts';
import type { Transcripts } from './transcripts/transcripts.ts';
import { scrubWork } from './work/scrub.ts';

export function redactingElsewhere(transcripts: Transcripts): RedactElsewhere {
  return async ({ store: { id: store }, scrub, isDry }) => ({
    rows:
      (await scrubWork(transcripts.deps.database.ask, { store, scrub, isDry })) +
      (await scrubRecalled(transcripts.deps.database.ask, { store, scrub, isDry })),
    sessions: await redactTranscripts(scrub, { transcripts, store, isDry }),
  });
}
