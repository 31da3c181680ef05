// Recall as its doors use it: the command, the hook, the library. It decides where memory lives, whether it may be
// recalled, and what a session was given already: within a session, until it is cleared or compacted, the same request
// has the same bytes for an answer, so that the agent's prompt cache stays warm. `sessionSign`: one line that shows the
// person, where a session begins, what nocturne did for it.

import { hash } from 'node:crypto';
import { relative, sep } from 'node:path';
import { type Config, loadConfig } from '../base/config/config.ts';
import { describeError } from '../base/errors.ts';
import { canonicalPath, isDirectory } from '../base/files/directories.ts';
import type { TreeSearch } from '../base/files/working-tree.ts';
import { textOf } from '../base/text/json.ts';
import { sayCount } from '../base/text/wording.ts';
import { nextDayAt } from '../base/time.ts';
import { countWaiting } from '../memory/dream/proposals.ts';
import { formatUnreadSpend } from '../memory/home/day-spend.ts';
import { formatDamage, openHome } from '../memory/home/home.ts';
import { checkoutRoot } from '../memory/home/paths.ts';
import type { Enablement } from '../memory/home/switches.ts';
import { isDamagedFile, isUnwritable } from '../memory/ledger/database.ts';
import { countLearned } from '../memory/ledger/entries.ts';
import { findLedger, type Ledger, lookIntoLedger } from '../memory/ledger/ledger.ts';
import { type BesidePlace, type Recall, type RecalledTopic, recall } from '../memory/recall/recall.ts';
import {
  dropRecalled,
  recalledBefore,
  rememberRecalled,
  rememberUses,
  timesForgotten,
} from '../memory/recall/recall-uses.ts';
import { isWithinTokens } from '../transcript/excerpt/tokens.ts';
import { declaredScope, findDefinition } from './agent-definition.ts';
import { enablementFor, type MemoryScope, scopeDir, scopesBeside } from './places.ts';
import { wings } from './wing.ts';

/** What Claude Code takes from a hook; more than that it spills into a file. */
export const MAX_CHARACTERS = 10_000;
/** Asking git is worth so much waiting at the start of a session. */
const TREE_TIMEOUT_MS = 1_000;

export interface RecallOptions {
  /** Where the session runs. Default: the process's own. */
  cwd?: string;
  /** What it is about; topics that match come first. */
  query?: string;
  /** The session's id: asked again for the same, it gets the same. */
  session?: string;
  /** The session begins anew, as after `/clear` or `/compact`. */
  isAnew?: boolean;
  /** Default: what `definition` declares, else `project`. */
  memory?: MemoryScope;
  /** The file that defines the agent. Where it declares a memory, the agent gets that and nothing beside it. */
  definition?: string;
  /** Nothing beside the scope; a project's memory has the user's and the repository's beside it, where those are on. */
  isAlone?: boolean;
  /** The agent: `claude-code` loads MEMORY.md of the project's directory by itself, so it is left out. */
  agent?: string;
  /** Of the whole section. Default: `recallTokens`. */
  tokens?: number;
  /** Of the whole section. Default: 10,000. */
  characters?: number;
}

export interface RecallResult extends Recall {
  memory: string;
  standing: Enablement;
  /** It is what the session was given before; what it consists of is not told again. */
  isRepeated: boolean;
}

/** Builds the section. Throws `bad-input` for a memory directory or a definition that cannot be one. */
export async function recallFor(config: Config, options: RecallOptions = {}): Promise<RecallResult> {
  const cwd = options.cwd ?? process.cwd();
  const declared = options.definition === undefined ? undefined : await declaredScope(options.definition);
  const scope = options.memory ?? declared ?? 'project';
  const isAlone = options.isAlone ?? (scope !== 'project' || declared !== undefined);
  const memory = canonicalPath(scopeDir(config, { memory: scope, cwd }));
  const { standing, known, notices } = await readHome(config, cwd);
  const result: RecallResult = {
    memory,
    standing,
    isRepeated: false,
    ...{ text: '', index: null, topics: [], entries: [], beside: [] },
  };
  const dirs = isAlone ? [] : scopesBeside(config, { cwd, memory });
  const isThere = isDirectory(memory);
  if (!standing.enabled && !standing.isAssumed) return result;
  const ledgers: Ledger[] = [];
  const open = (dir: string) => {
    try {
      const ledger = findLedger(dir);
      if (ledger) ledgers.push(ledger);
      return ledger;
    } catch (error) {
      // What is in the files is recalled all the same.
      if (!isDamagedFile(error)) throw error;
      notices.push(describeError(error));
      return null;
    }
  };
  try {
    const ledger = open(memory);
    const besideDirs = dirs.map(({ dir }) => dir);
    const tree = scope === 'user' ? undefined : treeAt(config, { cwd, leaveOut: [memory, ...besideDirs] });
    const beside = dirs.map(
      ({ scope, dir }): BesidePlace => ({
        scope,
        dir,
        // A ledger that came with a repository is nobody's word for what happened here.
        ledger: scope === 'user' || known.includes(dir) ? open(dir) : null,
        hasIndex: false,
        tree: scope === 'user' ? undefined : tree,
      }),
    );
    const request = requestFor(config, { ...options, memory: scope });
    const given = options.session && {
      session: options.session,
      request: fingerprint({
        ...request,
        ...(notices.length > 0 && { notices }),
        scope,
        cwd,
        isAlone,
        forgotten: forgottenBeside(beside),
      }),
    };
    // Where a project has no memory yet, what its sessions are given is all from beside.
    const keeper = isThere ? ledger : (beside.find((place) => place.scope === 'user')?.ledger ?? null);
    const { session = '', isAnew = false } = options;
    if (keeper && session && isAnew) tryToNote(() => dropRecalled(keeper, session));
    const before = keeper && given && !isAnew ? recalledBefore(keeper, given) : null;
    if (before !== null) return { ...result, text: before, isRepeated: true };
    const now = config.clock.now();
    const limits = { ...request.limits, isWithinTokens };
    const checkout = scope === 'project' && !isAlone ? checkoutRoot(cwd) : null;
    const said = wings().map((wing) => wing.recallNotes?.({ dir: memory, ledger, checkout }) ?? []);
    const notes = (await Promise.all(said)).flat();
    const found = await recall({ ...request, notices, dir: memory, ledger, beside, limits, tree, notes, now });
    tryToNote(() => noteUses(ledger, { topics: found.topics, now }));
    for (const part of found.beside) {
      const from = beside.find(({ dir }) => dir === part.memory)?.ledger ?? null;
      tryToNote(() => noteUses(from, { topics: part.topics, now }));
    }
    const { text } = found;
    if (keeper && given && text !== '') tryToNote(() => rememberRecalled(keeper, { ...given, text, now }));
    return { ...result, ...found };
  } finally {
    for (const ledger of ledgers) ledger.close();
  }
}

/** What was forgotten beside since is not given again; nothing, where nothing ever was. */
function forgottenBeside(beside: BesidePlace[]): [dir: string, times: number][] {
  return beside
    .map(({ dir, ledger }): [string, number] => [dir, ledger ? timesForgotten(ledger) : 0])
    .filter(([, times]) => times > 0);
}

/** Where nothing can be written, a recall is told all the same. */
function tryToNote(note: () => void): void {
  try {
    note();
  } catch (error) {
    if (!isUnwritable(error)) throw error;
  }
}

function noteUses(ledger: Ledger | null, { topics, now }: { topics: RecalledTopic[]; now: Date }): void {
  if (!ledger || topics.length === 0) return;
  const used = topics.filter((topic) => topic.matches);
  rememberUses(ledger, { shown: pathsOf(topics), used: pathsOf(used), now });
}

/**
 * What a SessionStart or SubagentStart hook answers to the JSON it was given, as the agents read it; empty for nothing.
 * An agent whose definition declares a memory gets that alone; another subagent begins with what its parent tells it.
 */
export async function answerHook(
  config: Config,
  { input, options = {} }: { input: Record<string, unknown>; options?: RecallOptions },
): Promise<string> {
  const hookEventName = textOf(input.hook_event_name) ?? 'SessionStart';
  const isSubagent = hookEventName === 'SubagentStart';
  if (textOf(input.agent_id) && !isSubagent) return '';
  const cwd = textOf(input.cwd) ?? options.cwd;
  const type = textOf(input.agent_type);
  const at = { cwd: cwd ?? process.cwd(), claudeDir: config.claudeDir };
  const definition = type === undefined ? null : await findDefinition(type, at);
  const memory = definition === null ? undefined : await declaredScope(definition);
  if (isSubagent && memory === undefined) return '';
  const agent = options.agent ?? 'claude-code';
  const {
    text,
    memory: dir,
    standing,
  } = await recallFor(config, {
    ...options,
    ...(memory && { memory, isAlone: true }),
    // Claude Code loads the index for the session, not for its subagents.
    agent: isSubagent ? undefined : agent,
    cwd,
    session: textOf(input.session_id) ?? options.session,
    isAnew: input.source === 'clear' || input.source === 'compact',
    characters: Math.min(options.characters ?? MAX_CHARACTERS, MAX_CHARACTERS),
  });
  const isShown = config.sessionSign && !isSubagent && (input.source === 'startup' || input.source === 'resume');
  const sign = isShown && standing.enabled ? sessionSign(config, { memory: dir, text }) : '';
  if (text + sign === '') return '';
  return JSON.stringify({
    ...(sign !== '' && { systemMessage: sign }),
    ...(text !== '' && { hookSpecificOutput: { hookEventName, additionalContext: text } }),
  });
}

/**
 * The prompt section of what is remembered: text between `<nocturne-memory>` and `</nocturne-memory>`, or empty where
 * nothing is, or where nocturne is turned off. Settings are those of this machine's user unless given.
 */
export async function recallPrompt(options: RecallOptions & { config?: Config } = {}): Promise<string> {
  const { config, ...rest } = options;
  return (await recallFor(config ?? (await loadConfig()), rest)).text;
}

/** Whether anything may be recalled, in which memory directories nocturne works, and what a person should know. */
async function readHome(
  config: Config,
  cwd: string,
): Promise<{ standing: Enablement; known: string[]; notices: string[] }> {
  const home = openHome(config.home, config.clock, config.zone);
  try {
    const damage = await home.damage();
    const unread = await home.days.unreadDay();
    const notices = [...(damage ? [formatDamage(damage)] : []), ...(unread ? [formatUnreadSpend(unread)] : [])];
    const pauses = await home.pauses.all();
    return { standing: enablementFor(config, { pauses, cwd }), known: await home.stores(), notices };
  } finally {
    await home.close();
  }
}

function requestFor(config: Config, options: RecallOptions) {
  const { query, agent, memory, tokens = config.recallTokens, characters = MAX_CHARACTERS } = options;
  return { query, hasIndex: agent === 'claude-code' && memory === 'project', limits: { tokens, characters } };
}

function fingerprint(of: object): string {
  return hash('sha256', JSON.stringify(of)).slice(0, 16);
}

/** The working tree of `cwd` without the memories that may lie in it, which name everything. */
function treeAt(config: Config, { cwd, leaveOut }: { cwd: string; leaveOut: string[] }): TreeSearch | undefined {
  const root = checkoutRoot(cwd);
  if (root === null) return undefined;
  const within = leaveOut.map((dir) => relative(root, dir).split(sep).join('/'));
  return {
    root,
    timeoutMs: TREE_TIMEOUT_MS,
    environment: config.environment,
    leaveOut: within.filter((path) => !path.startsWith('..') && path !== ''),
  };
}

function pathsOf(topics: RecalledTopic[]): string[] {
  return topics.map((topic) => topic.path);
}

/** Empty where there is nothing to tell. `text`: what the session is given. */
export function sessionSign({ clock, zone }: Config, { memory, text }: { memory: string; text: string }): string {
  const lines = text.match(/^[ \t]*[-*] /gm)?.length ?? 0;
  const ledger = lookIntoLedger(memory);
  try {
    const yesterdayAt = nextDayAt(clock.now(), zone, -1).toISOString();
    const learned = ledger ? countLearned(ledger, yesterdayAt) : 0;
    const waiting = ledger ? countWaiting(ledger) : 0;
    const parts = [
      ...(lines > 0 ? [`${sayCount(lines, 'line')} recalled`] : []),
      ...(learned > 0 ? [`${learned} learned since yesterday`] : []),
      ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? 'waits' : 'wait'} for review`] : []),
    ];
    return parts.length === 0 ? '' : `nocturne: ${parts.join('; ')}`;
  } finally {
    ledger?.close();
  }
}
