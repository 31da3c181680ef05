// Recall as its doors use it: the command, the hook, the library. It decides where memory lives, whether it may be
// recalled, and what a session was given already: within a session, until it is cleared or compacted, the same request
// has the same bytes for an answer, so that the agent's prompt cache stays warm. `sessionSign`: one line that shows the
// person, where a session begins, what nocturne did for it.

import { hash } from 'node:crypto';
import { join, relative, sep } from 'node:path';
import { type Config, loadConfig } from '../base/config/config.ts';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { canonicalPath, isDirectory, isStoreId } from '../base/files/directories.ts';
import type { TreeSearch } from '../base/files/working-tree.ts';
import { textOf } from '../base/text/json.ts';
import { sayCount } from '../base/text/wording.ts';
import { nextDayAt } from '../base/time.ts';
import { countWaiting } from '../memory/dream/proposals.ts';
import { formatUnreadSpend } from '../memory/home/day-spend.ts';
import { formatDamage, type Home } from '../memory/home/home.ts';
import { checkoutRoot, type Enablement } from '../memory/home/paths.ts';
import { ifWritable, isDamagedFile } from '../memory/ledger/database.ts';
import { countLearned } from '../memory/ledger/entries.ts';
import { findLedger, type Ledger } from '../memory/ledger/ledger.ts';
import { type BesidePlace, type Recall, type RecalledTopic, recall } from '../memory/recall/recall.ts';
import { countLines } from '../memory/recall/recall-part.ts';
import { type RecallRows, recallRowsOf, timesForgotten } from '../memory/recall/recall-uses.ts';
import { isWithinTokens } from '../transcript/excerpt/tokens.ts';
import { homeOf, type Keeping, keepingOf } from './keeping.ts';
import { declaredScope, enablementFor, findDefinition, type MemoryScope, scopeDir, scopesBeside } from './places.ts';

/** What Claude Code takes from a hook; more than that it spills into a file. */
export const MAX_CHARACTERS = 10_000;
/** Asking git is worth so much waiting at the start of a session. */
const TREE_TIMEOUT_MS = 1_000;
/** A database is away that takes longer to be connected to, or to answer a statement. */
const WITHIN = { connectMs: 1_000, answerMs: 4_000 };
/** One that takes longer for all that is asked of it is not waited for. */
const ALL_WITHIN_MS = 5_000;

export interface RecallOptions {
  /** Where the session runs. Default: the process's own. */
  cwd?: string;
  /** What it is about; topics that match come first. */
  query?: string;
  /** The session's id: asked again for the same, it gets the same. */
  session?: string;
  /** The session starts over, as after `/clear` or `/compact`. */
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
  /** Why nothing could be recalled, as a sentence without its stop. */
  trouble?: string;
}

/** Builds the section. Throws `bad-input` for a memory directory or a definition that cannot be one. */
export async function recallFor(config: Config, options: RecallOptions = {}): Promise<RecallResult> {
  const { sign: _, ...result } = await recallAndSign(config, options);
  return result;
}

/** With the line that shows a person what nocturne did, where it is on. */
async function recallAndSign(config: Config, options: RecallOptions): Promise<RecallResult & { sign: string }> {
  const notices: string[] = [];
  const places = openPlaces(config, (message) => notices.push(message));
  const building = buildRecall(config, options, { places, notices });
  if (!places.isElsewhere) return building.finally(() => places.close());
  const late = AbortSignal.timeout(ALL_WITHIN_MS);
  const isLate = new Promise<never>((_, reject) => {
    late.addEventListener('abort', () => reject(new AppError('database-unavailable', 'The database is too slow.')));
  });
  try {
    return await Promise.race([building, isLate]);
  } catch (error) {
    if (!isAppError(error, 'database-unavailable')) throw error;
    const { cwd, memory } = await placeFor(config, options);
    const standing = await enablementFor(config, { pauses: [], cwd });
    const trouble = `${error.message.replace(/\.$/, '')}: nothing is recalled`;
    return { ...nothingOf(memory, standing), trouble, sign: '' };
  } finally {
    const closed = building.catch(() => {}).then(() => places.close());
    // What is still under way ends by itself; nobody waits for it.
    if (!late.aborted) await closed;
  }
}

function nothingOf(memory: string, standing: Enablement): RecallResult {
  const nothing = { text: '', index: null, topics: [], entries: [], beside: [] };
  return { memory, standing, isRepeated: false, ...nothing };
}

/** Whose memory is asked for, and its directory, or its id. */
async function placeFor(config: Config, { memory: asked, definition, cwd = process.cwd() }: RecallOptions) {
  const declared = definition === undefined ? undefined : await declaredScope(definition);
  const scope = asked ?? declared ?? 'project';
  const place = scopeDir(config, { memory: scope, cwd });
  return { cwd, scope, declared, memory: isStoreId(place, config) ? place : canonicalPath(place) };
}

async function buildRecall(
  config: Config,
  options: RecallOptions,
  { places, notices }: { places: ReturnType<typeof openPlaces>; notices: string[] },
): Promise<RecallResult & { sign: string }> {
  const { cwd, scope, declared, memory } = await placeFor(config, options);
  const isAlone = options.isAlone ?? (scope !== 'project' || declared !== undefined);
  const { standing, known } = await readHome(config, { home: places.home, cwd, notices });
  const { isElsewhere } = places;
  const dirs = isAlone ? [] : scopesBeside(config, { cwd, memory, isElsewhere });
  if (!standing.enabled && !standing.isAssumed) return { ...nothingOf(memory, standing), sign: '' };
  const own = await places.look(memory);
  const result = nothingOf(own.id, standing);
  const signed = (text: string) =>
    standing.enabled && config.sessionSign ? sessionSign(config, { ledger: own.ledger, text }) : '';
  const besideDirs = dirs.map(({ dir }) => dir);
  const tree = scope === 'user' ? undefined : treeAt(config, { cwd, leaveOut: [own.dir, ...besideDirs] });
  const looked: (BesidePlace & Partial<Looked>)[] = [];
  for (const { scope, dir } of dirs) {
    // A ledger that came with a repository proves nothing of what happened here.
    const isTrusted = scope === 'user' || (!isElsewhere && known.includes(dir));
    const found = isTrusted ? await places.look(dir) : { dir, ledger: null };
    looked.push({ scope, ...found, hasIndex: false, tree: scope === 'user' ? undefined : tree });
  }
  const request = requestFor(config, { ...options, memory: scope }, isElsewhere);
  const given = options.session && {
    session: options.session,
    request: fingerprint({
      ...request,
      ...(notices.length > 0 && { notices }),
      scope,
      cwd,
      isAlone,
      forgotten: forgottenBeside(looked),
    }),
  };
  // Where a project has no memory yet, what its sessions are given is all from beside.
  const keeper = own.isThere ? own.rows : (looked.find((place) => place.scope === 'user')?.rows ?? null);
  const { session = '', isAnew = false } = options;
  if (keeper && session && isAnew) await ifWritable(() => keeper.drop(session));
  const before = keeper && given && !isAnew ? await keeper.before(given) : null;
  if (before !== null) return { ...result, text: before, isRepeated: true, sign: signed(before) };
  const now = config.clock.now();
  const limits = { ...request.limits, isWithinTokens };
  const checkout = scope === 'project' && !isAlone ? checkoutRoot(cwd) : null;
  const { dir, called, ledger } = own;
  const notes = checkout === null ? [] : await notesOf(checkout, ledger);
  const found = await recall({ ...request, notices, dir, called, ledger, beside: looked, limits, tree, notes, now });
  await noteUses(own.rows, { topics: found.topics, now });
  for (const part of found.beside) {
    const from = looked.find((place) => place.dir === part.memory);
    await noteUses(from?.rows, { topics: part.topics, now });
    part.memory = from?.id ?? part.memory;
  }
  const { text } = found;
  if (keeper && given && text !== '') await ifWritable(() => keeper.remember({ ...given, text, now }));
  return { ...result, ...found, sign: signed(text) };
}

/** What recall says in nocturne's own words, before what is remembered. */
async function notesOf(checkout: string, ledger: Ledger | null): Promise<string[]> {
  const { offeredSnapshot } = await import('../../jobs/snapshot/applied-snapshots.ts');
  const { sayOffer } = await import('../memory/text/memory-snapshot.ts');
  const offer = offeredSnapshot(checkout, ledger);
  return offer ? [`Memory snapshots: ${sayOffer(offer)}. Tell the user, who may run \`nocturne snapshot check\`.`] : [];
}

/** What was forgotten beside since is not given again; nothing, where nothing ever was. */
function forgottenBeside(beside: (BesidePlace & { id?: string })[]): [place: string, times: number][] {
  return beside
    .map(({ id, dir, ledger }): [string, number] => [id ?? dir, ledger ? timesForgotten(ledger) : 0])
    .filter(([, times]) => times > 0);
}

async function noteUses(
  rows: RecallRows | null | undefined,
  { topics, now }: { topics: RecalledTopic[]; now: Date },
): Promise<void> {
  if (!rows || topics.length === 0) return;
  const used = topics.filter((topic) => topic.matches);
  await ifWritable(() => rows.use({ shown: pathsOf(topics), used: pathsOf(used), now }));
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
  const { text, trouble, sign } = await recallAndSign(config, {
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
  const shown = trouble && !isSubagent ? `nocturne: ${trouble}` : isShown ? sign : '';
  if (text + shown === '') return '';
  return JSON.stringify({
    ...(shown !== '' && { systemMessage: shown }),
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

/** Whether anything may be recalled, and in which memory directories nocturne works; `notices`: what a person should know. */
async function readHome(
  config: Config,
  { home, cwd, notices }: { home: Home; cwd: string; notices: string[] },
): Promise<{ standing: Enablement; known: string[] }> {
  const damage = await home.damage();
  const unread = await home.days.unreadDay();
  notices.push(...(damage ? [formatDamage(damage)] : []), ...(unread ? [formatUnreadSpend(unread)] : []));
  const pauses = await home.pauses.all();
  return { standing: await enablementFor(config, { pauses, cwd }), known: await home.stores() };
}

function requestFor(config: Config, options: RecallOptions, isElsewhere: boolean) {
  const { query, agent, memory, tokens = config.recallTokens, characters = MAX_CHARACTERS } = options;
  // Claude Code loads the index of the directory, which a store elsewhere is not.
  const hasIndex = agent === 'claude-code' && memory === 'project' && !isElsewhere;
  return { query, hasIndex, limits: { tokens, characters } };
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
function sessionSign({ clock, zone }: Config, { ledger, text }: { ledger: Ledger | null; text: string }): string {
  const lines = countLines(text);
  const yesterdayAt = nextDayAt(clock.now(), zone, -1).toISOString();
  const learned = ledger ? countLearned(ledger, yesterdayAt) : 0;
  const waiting = ledger ? countWaiting(ledger) : 0;
  const parts = [
    ...(lines > 0 ? [`${sayCount(lines, 'line')} recalled`] : []),
    ...(learned > 0 ? [`${learned} learned since yesterday`] : []),
    ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? 'waits' : 'wait'} for review`] : []),
  ];
  return parts.length === 0 ? '' : `nocturne: ${parts.join('; ')}`;
}

interface Looked {
  /** What it is called: its directory, or its id. */
  id: string;
  dir: string;
  /** How an agent is told where it is, where that is no directory. */
  called?: string;
  /** Null where nocturne has not worked in it. */
  ledger: Ledger | null;
  rows: RecallRows | null;
  isThere: boolean;
}

/**
 * Where it is looked: into directories of this machine, or into what is kept elsewhere, which must answer soon. Nothing
 * is made. `onDamage`: told what cannot be read of a directory; what is in its files is recalled all the same.
 */
function openPlaces(config: Config, onDamage: (message: string) => void) {
  const keeping = keepingOf(config, { within: WITHIN });
  const home = homeOf(config, { keeping });
  const opened: Ledger[] = [];
  const look = async (dir: string): Promise<Looked> => {
    const nothing = { id: dir, dir, ledger: null, rows: null, isThere: isDirectory(dir) };
    try {
      const ledger = findLedger(dir);
      if (!ledger) return nothing;
      opened.push(ledger);
      return { ...nothing, ledger, rows: recallRowsOf(ledger) };
    } catch (error) {
      if (!isDamagedFile(error)) throw error;
      onDamage(describeError(error));
      return nothing;
    }
  };
  return {
    home,
    isElsewhere: keeping !== null,
    /** The memory in a directory, or under an id. */
    look: keeping ? (place: string) => lookElsewhere(keeping, { place, config }) : look,
    async close(): Promise<void> {
      for (const ledger of opened) ledger.close();
      await (keeping ?? home).close();
    },
  };
}

async function lookElsewhere(keeping: Keeping, { place, config }: { place: string; config: Config }): Promise<Looked> {
  const store = await keeping.findStore(place);
  // What lies in its directory is not what is kept.
  if (!store) {
    const dir = join(config.home, 'copies', 'none');
    return { id: place, dir, called: place, ledger: null, rows: null, isThere: false };
  }
  const { id, dir, ledger, recalls: rows } = store;
  const called = `the store ${id} of a database (nocturne show FILE --memory ${id} prints a file of it)`;
  return { id, dir, called, ledger, rows, isThere: true };
}
