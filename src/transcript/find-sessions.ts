// Where agents keep their sessions on this disk, and which of them changed lately. Told by names, sizes and times: no
// file is opened. opencode keeps its sessions in a database, so none of them is found here.

import { join } from 'node:path';
import { type AppError, attempt } from '../base/errors.ts';
import { type OnClosed, walkNow } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';

export const FOUND_AGENTS = ['claude-code', 'codex', 'gemini', 'copilot', 'pi'] as const;
export type FoundAgent = (typeof FOUND_AGENTS)[number];

/** Each agent's own directory: `~/.claude`, `~/.codex`, `~/.gemini`, `~/.copilot`, `~/.pi`. */
type AgentDirs = Record<FoundAgent, string>;

export interface FoundSession {
  agent: FoundAgent;
  path: string;
  sizeBytes: number;
  /** ISO-8601 UTC. */
  modifiedAt: string;
}

/** Files of subagents, spilled results and the like are no sessions. */
const PLACES: Record<FoundAgent, { under: string; pattern: RegExp }[]> = {
  'claude-code': [{ under: 'projects', pattern: /^[^/]+\/(?!agent-)[^/]+\.jsonl$/ }],
  codex: [
    { under: 'sessions', pattern: /(?:^|\/)rollout-[^/]+\.jsonl(?:\.zst)?$/ },
    { under: 'archived_sessions', pattern: /(?:^|\/)rollout-[^/]+\.jsonl(?:\.zst)?$/ },
  ],
  gemini: [{ under: 'tmp', pattern: /^[^/]+\/chats\/session-[^/]+\.jsonl?$/ }],
  copilot: [{ under: 'session-state', pattern: /^(?:[^/]+\/events|[^/]+)\.jsonl$/ }],
  pi: [{ under: 'agent/sessions', pattern: /\.jsonl$/ }],
};

interface FindOptions {
  agents?: readonly FoundAgent[];
  /** Only what changed at or after this instant. */
  since?: Date;
  /** Only paths that hold this text: a session's id. */
  named?: string;
  /** Told of a directory that may not be read; default: an AppError `storage` is thrown. */
  onClosed?: OnClosed;
}

/** The newest first. */
export function findSessions(dirs: AgentDirs, options: FindOptions = {}): FoundSession[] {
  const found: FoundSession[] = [];
  const closed = (path: string) => (error: AppError) => {
    if (!options.onClosed) throw error;
    options.onClosed(path, error);
    return null;
  };
  for (const agent of options.agents ?? FOUND_AGENTS) {
    for (const { under, pattern } of PLACES[agent]) {
      const root = join(dirs[agent], under);
      const paths = new Set(walkNow(root, options.onClosed).filter((path) => pattern.test(path)));
      for (const path of paths) {
        // While Codex goes on with a session that it had compressed, both are there.
        if (path.endsWith('.zst') && paths.has(path.slice(0, -'.zst'.length))) continue;
        const whole = join(root, path);
        const stat = attempt(() => statNow(whole), closed(whole), 'storage');
        if (!stat || stat.bytes === 0) continue;
        if (options.since && stat.modifiedMs < options.since.getTime()) continue;
        if (options.named !== undefined && !path.includes(options.named)) continue;
        const modifiedAt = new Date(stat.modifiedMs).toISOString();
        found.push({ agent, path: whole, sizeBytes: stat.bytes, modifiedAt });
      }
    }
  }
  return found.sort((a, b) => (a.modifiedAt === b.modifiedAt ? 0 : a.modifiedAt > b.modifiedAt ? -1 : 1));
}
