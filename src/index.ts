// The public library: the jobs, the memory directory they work on, and what reads a transcript.

export type { CheckReport, ReportedFinding } from '../jobs/check-memory.ts';
export type { DreamDeps, DreamOutcome, DreamReport, DreamRequest } from '../jobs/dream.ts';
export type { ExtractDeps, ExtractOutcome, ExtractReport, ExtractRequest } from '../jobs/extract.ts';
export type { Candidate, ForgetPlan } from '../jobs/forget/targets.ts';
export type { ForgetReport, ForgetRequest } from '../jobs/forget.ts';
export type { RememberReport, RememberRequest } from '../jobs/remember.ts';
export type { ReprocessRequest } from '../jobs/reprocess.ts';
export type { ShareReport, ShareRequest, ShareSource } from '../jobs/share.ts';
export type { Staying } from '../jobs/undo/taking-back.ts';
export type { UndoReport, UndoRequest } from '../jobs/undo.ts';
export { type Config, loadConfig } from './config.ts';
export { type AgentMemory, type AgentMemoryOptions, agentMemory } from './entry/agent-memory.ts';
export { type App, compose as openNocturne } from './entry/compose.ts';
export { memoryTool } from './entry/memory-tool.ts';
export type { MemoryScope } from './entry/places.ts';
export { type RecallOptions, recallPrompt } from './entry/recall.ts';
export { AppError, ERRORS, type ErrorCode } from './errors.ts';
export { type Redaction, type RedactionPlace, redactMatches, redactVersion } from './memory/redact/redaction.ts';
export { type Scrub, scrubOf } from './memory/redact/scrub.ts';
export type { MemoryToolOptions } from './memory/store/memory-commands.ts';
export {
  type Actor,
  type By,
  type CommitPlan,
  type CommitResult,
  type FileChange,
  type Limits,
  type Memory,
  openStore,
  type Precondition,
  type Store,
} from './memory/store/store.ts';
export {
  dropOldVersions,
  headVersion,
  listVersions,
  type Retention,
  readVersion,
  restoreVersion,
  type Version,
  type VersionFilter,
  type VersionOperation,
  type VersionPage,
} from './memory/store/versions.ts';
export { redact } from './redact.ts';
export { type Clock, fixedClock, systemClock } from './time.ts';
export { openSession, type Session } from './transcript/session.ts';
export { readTurns } from './transcript/turns.ts';
