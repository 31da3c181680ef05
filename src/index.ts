// The public library, over worker/compose.ts: what is not exported here may change with any version. How a job ended is the
// `outcome` of its report; `extract` and `dream` tell failures there, too (`error`). All else that fails, also that no key is
// there to begin with, is thrown as an AppError with a code of ERRORS, mostly with a remedy.

import { type Config, loadConfig } from './base/config/config.ts';
import { type RecallOptions, recallFor } from './hook/start-recall.ts';
import { type App, openApp } from './worker/compose.ts';

/** The jobs over the memories of this machine's user. Call `close()` when done. */
export async function openNocturne(config?: Config): Promise<App> {
  return openApp(config ?? (await loadConfig()));
}

/** What a session is to be told where it begins. */
export async function recallPrompt({ config, ...options }: RecallOptions & { config?: Config } = {}): Promise<string> {
  return (await recallFor(config ?? (await loadConfig()), options)).text;
}

export type { DreamReport, DreamRequest } from '../jobs/dream.ts';
export type { RememberReport, RememberRequest } from '../jobs/edit.ts';
export type { ExtractReport, ExtractRequest, LearnAgainRequest } from '../jobs/extract.ts';
export type { ForgetReport, ForgetRequest } from '../jobs/forget.ts';
export { type RedactReport, type RedactRequest, redactVersion } from '../jobs/redact.ts';
export type { ReviewRequest } from '../jobs/review.ts';
export type { UndoReport, UndoRequest } from '../jobs/undo.ts';
export { AppError, ERRORS, type ErrorCode, type Failure, type FailureClass, type RetryRule } from './base/errors.ts';
export { type Redaction as RedactedText, redact } from './base/secrets/redact-text.ts';
export { type Clock, fixedClock, systemClock } from './base/time.ts';
export type { By } from './memory/commit.ts';
export type { Actor, Limits, Precondition } from './memory/file-rows.ts';
export type { MemoryRow } from './memory/memories.ts';
export { type Changed, type FileInfo, type FileText, type ListFiles, MemoryFiles } from './memory/memory-files.ts';
export type { Enablement as Standing } from './memory/paths.ts';
export type { MemoryScope } from './memory/places.ts';
export { type Scrub, scrubOf } from './memory/redaction.ts';
export type { ListVersions, Version } from './memory/versions.ts';
export { type MemoryTool, type MemoryToolOptions, memoryTool } from './tools/memory-tool.ts';
export { type AgentMemory, type AgentMemoryOptions, agentMemory } from './tools/own-agent.ts';
export type { Message, Part, Speaker, Turn } from './transcript/messages.ts';
export { type OpenOptions, openSession, type Session } from './transcript/session.ts';
export { readTurns } from './transcript/turns.ts';
export type { App as Nocturne, JobOptions } from './worker/compose.ts';
export { type Config, loadConfig, type RecallOptions };
