// The public library, all of it: what is not exported here may change with any version.
// What fails is thrown as an AppError with a code of ERRORS, mostly with a remedy; a planned ending of a job is the
// `outcome` of its report.

import { useKeeping } from './doors/keeping.ts';
import { keepInDatabase } from './wings/fleet/fleet-keeping.ts';

useKeeping(keepInDatabase);

// Memory for an agent of one's own.

export {
  type AgentMemory,
  type AgentMemoryOptions,
  agentMemory,
  type MemoryTool,
  memoryTool,
} from './doors/agent-memory.ts';
export type { MemoryToolOptions } from './doors/memory-commands.ts';
export type { MemoryScope } from './doors/places.ts';
export { type RecallOptions, recallPrompt } from './doors/recall-session.ts';

// The jobs.

export type { CheckReport, ReportedFinding } from '../jobs/check-memory.ts';
export type { DreamEstimate, DreamOutcome, DreamReport } from '../jobs/dream.ts';
export type { ExtractOutcome, ExtractReport, ExtractRequest } from '../jobs/extract.ts';
export type { Candidate, ForgetPlan, ForgetReport, ForgetRequest } from '../jobs/forget.ts';
export type { RememberReport, RememberRequest } from '../jobs/remember.ts';
export type { ReprocessRequest } from '../jobs/reprocess.ts';
export type { ShownProposal } from '../jobs/review/waiting-proposals.ts';
export type { ReviewReport, ReviewRequest } from '../jobs/review.ts';
export type { ShareReport, ShareRequest } from '../jobs/share.ts';
export type { Staying, UndoReport, UndoRequest } from '../jobs/undo.ts';
export { type Config, loadConfig } from './base/config/config.ts';
export { AppError, ERRORS, type ErrorCode, type Failure, type FailureClass, type RetryRule } from './base/errors.ts';
export type { DreamRequest, JobOptions } from './doors/compose.ts';
export { type Nocturne, openNocturne } from './doors/compose.ts';
export {
  type Redaction,
  type RedactionPlace,
  redactMatches,
  redactVersion,
} from './memory/history/redact/redaction.ts';
export { type Scrub, scrubOf } from './memory/history/redact/scrub.ts';
export {
  headVersion,
  listVersions,
  readVersion,
  restoreVersion,
  type Version,
  type VersionFilter,
  type VersionOperation,
  type VersionPage,
} from './memory/history/versions.ts';
export type { Enablement as Standing } from './memory/home/paths.ts';
// A memory directory and its history.
export type { StoreOptions } from './memory/open.ts';
export { openStore } from './memory/open.ts';
export type { ListChoice } from './memory/store/live-files.ts';
export type {
  Actor,
  By,
  CommitPlan,
  CommitResult,
  FileChange,
  Limits,
  Memory,
  Precondition,
  Store,
} from './memory/store/store.ts';

// Transcripts, secrets in text, and time.

export { type Redaction as RedactedText, redact } from './base/text/redact.ts';
export { type Clock, fixedClock, systemClock } from './base/time.ts';
export type { ShareSource } from './memory/text/team-topic.ts';
export { type OpenOptions, openSession, type Session } from './transcript/session.ts';
export { readTurns } from './transcript/turns.ts';
export type { Message, Part, Speaker, Turn } from './transcript/types.ts';
