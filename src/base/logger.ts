// The log: one JSON object per line in `$NOCTURNE_HOME/logs/nocturne.log`, for people and programs that want to know
// later what happened. Promises: never the text of a transcript, of a model or of a memory, and what is in it was
// redacted; it stays within its bounds (`maxBytes`, then it starts over; the one before is kept); several processes may
// write it. Logging never fails a job: a log that cannot be written is left out.

import { join } from 'node:path';
import type { ErrorCode } from './errors.ts';
import { addLogLine } from './files/files.ts';
import type { Clock } from './time.ts';

/** What a line may hold. `error` only for failures whose words are nocturne's, a server's or the system's own. */
interface LogFields {
  event: 'request' | 'job' | 'waits' | 'gave-up' | 'done' | 'lost' | 'worker-started' | 'worker-ended' | 'trouble';
  kind?: string;
  job?: string | null;
  key?: string;
  session?: string;
  store?: string;
  outcome?: string;
  code?: ErrorCode;
  error?: string;
  until?: string | null;
  spend?: object;
  entries?: number;
  request?: string;
  method?: string;
  /** Its pattern, without what a caller gave of it. */
  route?: string;
  status?: number;
  ms?: number;
  caller?: string;
}

interface LogOptions {
  /** `$NOCTURNE_HOME`. */
  home: string;
  maxBytes: number;
  clock: Clock;
}

export type Log = (level: 'info' | 'warn' | 'error', fields: LogFields) => Promise<void>;

const MAX_ERROR_CHARACTERS = 500;

/** Codes whose message may quote a model, a transcript or a memory: their words stay in the database. */
const QUOTING = new Set<ErrorCode>(['refusal', 'bad-reply', 'refused', 'child-crash', 'bad-input', 'unknown-format']);

/** Opens the log; nothing is made before the first line. */
export function openLog({ home, maxBytes, clock }: LogOptions): Log {
  const path = join(home, 'logs', 'nocturne.log');
  return async (level, { error, ...fields }) => {
    const words = error === undefined ? undefined : await wordsOf(error, fields.code);
    const line = { level, time: clock.now().toISOString(), pid: process.pid, ...fields, error: words };
    try {
      addLogLine(path, JSON.stringify(line), maxBytes);
    } catch {
      // A full or read-only disk: the work goes on, and says so itself where it needs the disk.
    }
  };
}

async function wordsOf(error: string, code: ErrorCode | undefined): Promise<string | undefined> {
  if (code !== undefined && QUOTING.has(code)) return undefined;
  // Loaded with the first failure: its rules take 10 MB that a worker which waits has no use for.
  const { redact } = await import('./secrets/redact-text.ts');
  return (await redact(error)).text.slice(0, MAX_ERROR_CHARACTERS);
}
