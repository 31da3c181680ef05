// What a session is told where it begins: by the command, the hook, the library. It decides where memory is, whether it may be recalled,
// and what the session was given already: until it is cleared or compacted, the same request has the same bytes for an answer, so
// that the agent's prompt cache stays warm. `sessionSign`: one line that shows the person what nocturne did.
// Promises: no file and no memory is made; where the database is damaged or away, that is told, and no session is kept waiting.

import { hash } from 'node:crypto';
import { join, relative, sep } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { AppError, describeError, isAppError, onAppError } from '../base/errors.ts';
import { canonicalPath, isDirectory, isStoreId } from '../base/files/directories.ts';
import { statNow } from '../base/files/files.ts';
import type { TreeSearch } from '../base/files/working-tree.ts';
import { textOf } from '../base/text/json.ts';
import { sayCount } from '../base/text/wording.ts';
import { nextDayAt } from '../base/time.ts';
import { databasePath, openDatabase } from '../db/open-database.ts';
import { type Db, marks } from '../db/sql.ts';
import { lookInto } from '../memory/commit.ts';
import { Memories, type MemoryRow } from '../memory/memories.ts';
import { branchOf, checkoutRoot, type Enablement } from '../memory/paths.ts';
import { enablementFor, isByProject, type MemoryScope, scopeDir } from '../memory/places.ts';
import { type SameProject, sameProjects, saySame } from '../memory/projects.ts';
import { dropRecalled, keepRecalled, noteUses, type Recall, recall, recalledBefore } from '../memory/recall/recall.ts';
import { NOTHING_TOLD } from '../memory/recall/recall-section.ts';
import { conflictedIn } from '../memory/recall/recall-source.ts';
import { countLines } from '../memory/recall/recall-words.ts';
import { pausesOf } from '../queue/pauses.ts';
import { type FoundPlace, keeperOf, type Opened, placesFor } from './recalled-places.ts';

/** What Claude Code takes from a hook; more than that it spills into a file. */
export const MAX_CHARACTERS = 10_000;
/** Of all that a start may take (`startMs`) so much for git, for reaching a database, for noting what was told. */
const SHARE_OF_STEP = 0.2;

export interface RecallOptions {
  /** Where the session runs. Default: the process's own. */
  cwd?: string;
  /** What it is about; topics that match come first. */
  query?: string;
  /** The session's id: asked again for the same, it gets the same. */
  session?: string;
  /** The session starts over, as after `/clear` or `/compact`. */
  isAnew?: boolean;
  /** Default: `project`. */
  memory?: MemoryScope;
  /** Nothing beside the scope; a project's memory has the user's and the repository's beside it, where those are on. */
  isAlone?: boolean;
  /** The agent: `claude-code` loads MEMORY.md of the project's directory by itself, so it is left out. */
  agent?: string;
  /** Of the whole section. Default: `recallTokens`. */
  tokens?: number;
  /** Of the whole section. Default: 10,000. */
  characters?: number;
  /** It is only asked what would be told: nothing is noted as shown or used. */
  isOnlyAsked?: boolean;
}

export interface RecallResult extends Recall {
  memory: string;
  state: Enablement;
  /** It is what the session was given before; what it consists of is not told again. */
  isRepeated: boolean;
  /** Why nothing could be recalled, as a sentence without its stop. */
  trouble?: string;
}

/** Builds the section. Errors: `bad-input` for a memory directory that cannot be one. */
export async function recallFor(config: Config, options: RecallOptions = {}): Promise<RecallResult> {
  const { sign: _, ...result } = await recallAndSign(config, options);
  return result;
}

type Signed = RecallResult & { sign: string };

/** With the line that shows a person what nocturne did, where it is on. */
async function recallAndSign(config: Config, options: RecallOptions): Promise<Signed> {
  const place = placeFor(config, options);
  try {
    return await within(
      config.startMs,
      withDatabase(config, (opened) => build(config, options, { place, opened, notice: opened?.db.trouble })),
    );
  } catch (error) {
    // What is in files is recalled all the same.
    if (isAppError(error, 'storage'))
      return build(config, options, { place, opened: null, notice: describeError(error) });
    if (!isAppError(error, 'database-unavailable')) throw error;
    const standing = await enablementFor(config, { pauses: [], cwd: place.cwd });
    const trouble = `${error.message.replace(/\.$/, '')}: nothing is recalled`;
    return { ...nothingOf(place.memory, standing), trouble };
  }
}

async function withDatabase<T>(config: Config, work: (opened: Opened | null) => Promise<T>): Promise<T> {
  const { home, databaseUrl: url, clock } = config;
  if (url === undefined && statNow(databasePath(home)) === null) return work(null);
  const opening = openDatabase({ home, url });
  const db = await (url === undefined ? opening : within(stepMs(config), opening)).catch((error) => {
    void opening.then((late) => late.close()).catch(() => {});
    throw error;
  });
  const memories = new Memories({ db, home, clock });
  return work({ db, memories }).finally(() => memories.close().then(() => db.close()));
}

const stepMs = ({ startMs }: Config) => startMs * SHARE_OF_STEP;

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late.reject(new AppError('database-unavailable', 'The database is too slow.'));
    // What is still under way ends by itself; no session waits for it.
    work.catch(() => {});
  }, ms);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

function nothingOf(memory: string, standing: Enablement): Signed {
  return { memory, state: standing, isRepeated: false, text: '', ...NOTHING_TOLD, beside: [], sign: '' };
}

/** Whose memory is asked for, and its directory, or its id. */
function placeFor(config: Config, { memory: scope = 'project', cwd = process.cwd() }: RecallOptions) {
  const place = scopeDir(config, { memory: scope, cwd });
  return { cwd, scope, memory: isStoreId(place, config) ? place : canonicalPath(place) };
}

async function build(
  config: Config,
  options: RecallOptions,
  of: { place: ReturnType<typeof placeFor>; opened: Opened | null; notice?: string },
): Promise<Signed> {
  const { cwd, scope, memory } = of.place;
  const { opened, notice } = of;
  const now = config.clock.now();
  const at = now.toISOString();
  const pauses = opened ? await pausesOf(opened.db, now) : [];
  const standing = await enablementFor(config, { pauses, cwd });
  if (!standing.enabled) return nothingOf(memory, standing);
  const isElsewhere = config.databaseUrl !== undefined;
  const isAlone = options.isAlone ?? scope !== 'project';
  const { own, beside: places } = await placesFor({ config, opened }, memory, { cwd, scope, isAlone });
  const leaveOut = [own.id, ...places.map(({ id }) => id)];
  const tree = scope === 'user' ? undefined : treeAt(config, { cwd, leaveOut });
  const beside = places.map((place) => ({ ...place, tree: place.scope === 'user' ? undefined : tree }));
  const result = nothingOf(own.id, standing);
  const same =
    opened && scope === 'project' && !isAlone && isByProject(config)
      ? await sameProjects(opened.db, {
          ...{ own: own.row, machine: opened.memories.machine, place: memory, cwd },
        })
      : [];
  const sign = (text: string) =>
    notice !== undefined && !options.isOnlyAsked
      ? `nocturne: ${notice}`
      : config.sessionSign && !options.isOnlyAsked
        ? sessionSign(config, { db: opened?.db, row: own.row, text, same })
        : '';
  const {
    query,
    agent,
    tokens = config.recallTokens,
    characters = MAX_CHARACTERS,
    session = '',
    isAnew = false,
  } = options;
  // Claude Code loads the index of the directory, which a database is not.
  const isInPlace = !isElsewhere && (own.row?.dir ?? memory) === memory;
  const hasIndex = agent === 'claude-code' && scope === 'project' && isInPlace;
  const notes = notice === undefined ? [] : [`nocturne: ${notice.replace(/\.$/, '')}. Tell the user.`];
  const request = { query, hasIndex, limits: { tokens, characters }, notes };
  const keeper = keeperOf(own, beside);
  const given =
    opened && session !== '' && keeper !== undefined && !options.isOnlyAsked ? { session, memory: keeper } : null;
  const key = hash(
    'sha256',
    JSON.stringify([request, scope, cwd, isAlone, await timesForgotten(opened, [own, ...beside])]),
  );
  const kept = given && { ...given, request: key.slice(0, 16) };
  if (opened && given && isAnew) await noted(config, () => dropRecalled(opened.db, given));
  const before = opened && kept && !isAnew ? await recalledBefore(opened.db, kept) : null;
  if (before !== null) return { ...result, text: before, isRepeated: true, sign: await sign(before) };
  const offers =
    isAlone || notice !== undefined ? [] : [...sayTo(same, config), ...(await offersTo(own.row, { cwd, opened }))];
  const conflicts = isAlone ? [] : [own, ...beside].filter(({ isForeign }) => isForeign).flatMap(sayConflicts);
  const about = { query, ...(!isAlone && whereIs(cwd)) };
  const found = await recall({
    ...request,
    about,
    ...own,
    tree,
    beside,
    now,
    notes: [...notes, ...conflicts, ...offers],
  });
  for (const [place, { topics }] of [[own, found] as const, ...besideOf(beside, found)]) {
    const paths = (those: typeof topics) => those.map(({ path }) => path);
    const uses = { shown: paths(topics), used: paths(topics.filter(({ matches }) => matches)), at };
    if (opened && place.row && !options.isOnlyAsked)
      await noted(config, () => noteUsesOf(opened, place.row?.id ?? '', uses));
  }
  const parts = besideOf(beside, found).map(([{ id: memory }, part]) => ({ ...part, memory }));
  if (opened && kept && found.text !== '')
    await noted(config, () => keepRecalled(opened.db, { ...kept, text: found.text, at }));
  return { ...result, ...found, beside: parts, sign: await sign(found.text) };
}

function sayTo(same: SameProject[], config: Config): string[] {
  if (same.length === 0) return [];
  return [
    `nocturne: ${saySame(same, config)}; nothing of that is recalled here until the user runs \`nocturne adopt\`. Tell the user.`,
  ];
}

/** What the repository hands on, and the memory never took in. */
async function offersTo(row: MemoryRow | null, { cwd, opened }: { cwd: string; opened: Opened | null }) {
  const tree = checkoutRoot(cwd);
  if (tree === null || !isDirectory(join(tree, '.claude', 'memory-snapshot'))) return [];
  const { offeredSnapshot } = await import('../../jobs/snapshot.ts');
  const { sayOffer } = await import('../memory/snapshot-files.ts');
  const offer = await offeredSnapshot(tree, opened && row && { sql: opened.db, id: row.id });
  return offer ? [`Memory snapshots: ${sayOffer(offer)}. Tell the user, who may run \`nocturne snapshot check\`.`] : [];
}

/** What git left in conflict in a memory that it carries. */
function sayConflicts({ id: dir }: FoundPlace): string[] {
  return conflictedIn(dir).map(
    (path) =>
      `nocturne: git left conflict markers in ${join(dir, path)}, so it is neither recalled nor changed. Tell the user, who must resolve the conflict in the file.`,
  );
}

/** A topic that somebody wrote a moment ago has no row yet. */
async function noteUsesOf({ db, memories }: Opened, memory: string, uses: Parameters<typeof noteUses>[2]) {
  await lookInto(memories, { memory, paths: uses.shown ?? [] });
  await noteUses(db, memory, uses);
}

function besideOf<Place extends FoundPlace>(beside: Place[], found: Recall): [Place, Recall['beside'][number]][] {
  return found.beside.flatMap((part) => {
    const place = beside.find(({ called }) => called === part.memory);
    return place ? [[place, part]] : [];
  });
}

/** What cannot be written down is told all the same. */
async function noted(config: Config, work: () => Promise<unknown>): Promise<void> {
  await within(stepMs(config), work()).catch(onAppError(() => {}));
}

/** How often something was forgotten or redacted in these: what a session was given before that is not given again. */
async function timesForgotten(opened: Opened | null, places: FoundPlace[]): Promise<number> {
  const ids = places.flatMap(({ row }) => row?.id ?? []);
  if (!opened || ids.length === 0) return 0;
  const select = `select count(*) as n from job where (memory in (${marks(ids)}) and kind = 'forget')
    or (memory is null and kind = 'redact')`;
  return (await opened.db.get<{ n: number }>(select, ...ids))?.n ?? 0;
}

/** Where a person looks at what an agent shows of its hooks. */
function isBegun({ source }: Record<string, unknown>): boolean {
  return source === 'startup' || source === 'resume';
}

/** What is answered where the settings cannot be read: a line for the person, where the session begins. */
export function answerTrouble(input: Record<string, unknown>, error: unknown): string {
  const systemMessage = `nocturne: ${describeError(error)} Until then sessions go on without memory.`;
  return isBegun(input) ? JSON.stringify({ systemMessage }) : '';
}

/**
 * What a hook at a session's start answers to the JSON it was given, as the agents read it; empty for nothing. A subagent begins with
 * what its parent tells it.
 */
export async function answerHook(
  config: Config,
  { input, options = {} }: { input: Record<string, unknown>; options?: RecallOptions },
): Promise<string> {
  const hookEventName = textOf(input.hook_event_name) ?? 'SessionStart';
  // Of an earlier set-up.
  if (textOf(input.agent_id) || hookEventName === 'SubagentStart') return '';
  const { text, trouble, sign } = await recallAndSign(config, {
    ...options,
    agent: options.agent ?? 'claude-code',
    cwd: textOf(input.cwd) ?? options.cwd,
    session: textOf(input.session_id) ?? options.session,
    isAnew: input.source === 'clear' || input.source === 'compact',
    characters: Math.min(options.characters ?? MAX_CHARACTERS, MAX_CHARACTERS),
  });
  const unknown = config.unknown ? `nocturne: config.json: ${config.unknown}` : '';
  const begun = isBegun(input) ? [unknown, sign].filter(Boolean).join(' ') : '';
  const shown = trouble ? `nocturne: ${trouble}` : begun;
  if (text + shown === '') return '';
  return JSON.stringify({
    ...(shown !== '' && { systemMessage: shown }),
    ...(text !== '' && { hookSpecificOutput: { hookEventName, additionalContext: text } }),
  });
}

/** The branch, where it is one of its own, and in words that and the directory within the working tree. */
function whereIs(cwd: string): { branch: string; here: string } {
  const root = checkoutRoot(cwd);
  const branch = root === null ? '' : branchOf(root);
  const inside = root === null ? '' : relative(root, canonicalPath(cwd));
  return { branch, here: `${branch} ${inside}`.replace(/[^\p{L}\p{N}]+/gu, ' ') };
}

/** The working tree of `cwd` without the memories that may lie in it, which name everything. */
function treeAt(config: Config, { cwd, leaveOut }: { cwd: string; leaveOut: string[] }): TreeSearch | undefined {
  const root = checkoutRoot(cwd);
  if (root === null) return undefined;
  const inside = leaveOut.map((dir) => relative(root, dir).split(sep).join('/'));
  return {
    root,
    timeoutMs: stepMs(config),
    environment: config.environment,
    leaveOut: inside.filter((path) => !path.startsWith('..') && path !== ''),
  };
}

/** Empty where there is nothing to tell. `text`: what the session is given. */
async function sessionSign(
  config: Config,
  { db, row, text, same }: { db: Db | undefined; row: MemoryRow | null; text: string; same: SameProject[] },
): Promise<string> {
  const lines = countLines(text);
  const counts = (await db?.get<{ learned: number; waiting: number }>(
    // Job by job, as SQLite would else go through all entries of the memory.
    `select (select coalesce(sum((select count(*) from entry where entry.job = job.id and entry.memory = ? and state <> 'gone')), 0)
         from job where kind = 'extract' and ended_at > ?) as learned,
       (select count(*) from proposal where memory = ? and state = 'open') as waiting`,
    ...[row?.id ?? '', nextDayAt(config.clock.now(), config.zone, -1).toISOString(), row?.id ?? ''],
  )) ?? { learned: 0, waiting: 0 };
  const { learned, waiting } = counts;
  const parts = [
    ...(lines > 0 ? [`${sayCount(lines, 'line')} recalled`] : []),
    ...(learned > 0 ? [`${learned} learned since yesterday`] : []),
    ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? 'waits' : 'wait'} for review`] : []),
    ...(same.length > 0 ? [`${saySame(same, config)}: nocturne adopt`] : []),
  ];
  return parts.length === 0 ? '' : `nocturne: ${parts.join('; ')}`;
}
