// What an extraction is asked, what it works with, and what all its steps share.

import type { Clock } from '../../src/base/time.ts';
import type { Lease } from '../../src/memory/ledger/leases.ts';
import type { Store, WithLease } from '../../src/memory/store/store.ts';
import type { Session } from '../../src/transcript/session.ts';
import type { Memories } from '../../src/transcript/writes/memory-writes.ts';
import type { AgentDeps } from '../run-agent.ts';
import type { Fork } from './fork-prefix.ts';
import type { ExtractReport } from './report.ts';

export interface ExtractRequest {
  transcript: string;
  /** Where a snapshot of it is, for when it is gone. */
  snapshot?: string;
  /** The session's id, for formats whose files hold none. */
  session?: string;
  /** Take the session as ended, so that its last turn is settled too. */
  ended: boolean;
  /** Steers what to keep; never overrides the rules. */
  instructions?: string;
  /** Turns to be extracted again; what they gave before is replaced. */
  reopen?: Set<string>;
  /** Asked for by a person: take up again what was undone. Hooks and sweeps leave it alone. */
  reopenUndone?: boolean;
  /** Default: `fork` of the deps. */
  fork?: Fork;
  /** Take up again what was given up: there is new input, or a person asks. */
  reopenGivenUp?: boolean;
  /** Tries that failed before this one. What fails for the last time is covered as `gave-up`; without it nothing is. */
  attempts?: number;
}

export interface ExtractDeps extends AgentDeps {
  /** The memory directory that a session belongs to. */
  storeFor(session: { cwd?: string }): Promise<Store>;
  /** The memories on this disk that a session's agent may write to. Default: the memory directory alone. */
  memoriesOf?(session: { cwd?: string }, memory: string): Memories;
  /** Where entries about the user are kept, if not where the session's are; canonical. */
  userMemory?: string;
  clock: Clock;
  zone: string;
  settleMs: number;
  excerptTokens: number;
  /** What the extractor continues: an excerpt of the transcript, or the request that it holds. Default: `excerpt`. */
  fork?: Fork;
  withLease: WithLease;
}

/** The same with the memory directory found. */
export type Deps = ExtractDeps & { store: Store };

export interface Run {
  session: Session;
  request: ExtractRequest;
  report: ExtractReport;
  lease: Lease;
}
