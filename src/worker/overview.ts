// What goes on over all memories, for a person who looks: what waits, what failed, and whose each memory is; and what needs a person, each with the command that deals with it, looked for here, once. One reading for the page, for doctor and for
// `nocturne` alone. It changes nothing but when a person looked last.

import { join } from 'node:path';
import { TELL_AFTER_NIGHTS, unplacedOf } from '../../jobs/dream/topic-draft.ts';
import { offeredSnapshot } from '../../jobs/snapshot.ts';
import { attempt, describeError, onAppError, ruleOf } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import { MOST_MEMORY_BYTES, statNow } from '../base/files/files.ts';
import { parseJson } from '../base/text/json.ts';
import { sayCount } from '../base/text/wording.ts';
import { DAY_MS } from '../base/time.ts';
import { keepSetting, type Sql, settingOf } from '../db/sql.ts';
import { lookInto } from '../memory/commit.ts';
import { entriesWhere } from '../memory/entries.ts';
import { headAt, missingFiles } from '../memory/file-rows.ts';
import { lostDays } from '../memory/log-edits.ts';
import type { MemoryRow } from '../memory/memories.ts';
import { INDEX } from '../memory/memory-index.ts';
import { filesByName } from '../memory/memory-paths.ts';
import { checkoutRoot, gitIsBusy } from '../memory/paths.ts';
import { memoryDirIfTold } from '../memory/places.ts';
import { shortId } from '../memory/short-ids.ts';
import { readMemorySnapshot, sayOffer } from '../memory/snapshot-files.ts';
import { logDay, logPath } from '../memory/text/daily-log.ts';
import { INDEX_CAPS, OVERFLOW_LINE } from '../memory/text/index-file.ts';
import { type BreakerState, breakerOf } from '../queue/breaker.ts';
import { isTooSmall } from '../queue/spend.ts';
import { blockedOf } from '../queue/swept.ts';
import { listWork, type WorkRow } from '../queue/waiting-work.ts';
import type { App } from './compose.ts';
import { sayHere, type Whose, whoseMemory } from './whose-memory.ts';

export type KnownMemory = Whose & { row: MemoryRow; lastSuccessAt: string | null };

export type Overview = Awaited<ReturnType<typeof readOverview>>;

const SUCCESS = `select created_at from job where job.memory = memory.id and job.kind = ? and job.status = 'completed'
  order by created_at desc limit 1`;

/** All memories of this database's people, the one that was learned from last first. */
export async function knownMemories(app: App): Promise<KnownMemory[]> {
  const rows = await app.db.all<MemoryRow & { learnedAt: string | null; dreamedAt: string | null }>(
    `select memory.*, (${SUCCESS}) as "learnedAt", (${SUCCESS}) as "dreamedAt"
     from memory where deleted_at is null and tenant = ''`,
    ...['extract', 'dream'],
  );
  const known: KnownMemory[] = [];
  for (const { learnedAt, dreamedAt, ...row } of rows) {
    const lastSuccessAt = [learnedAt ?? '', dreamedAt ?? ''].sort()[1] || null;
    known.push({ ...(await whoseMemory(app, row)), row, lastSuccessAt });
  }
  const at = ({ lastSuccessAt }: KnownMemory) => lastSuccessAt ?? '';
  return known.sort((a, b) => at(b).localeCompare(at(a)) || a.name.localeCompare(b.name));
}

export async function readOverview(app: App, memories: KnownMemory[]) {
  const { db, config, clock } = app;
  const work = await listWork(db);
  const waits = "select memory, count(*) as count from proposal where state = 'open' group by memory";
  const proposals = new Map(
    (await db.all<{ memory: string; count: number }>(waits)).map(({ memory, count }) => [memory, count]),
  );
  const found = {
    waiting: work.filter(({ state }) => state === 'waiting'),
    /** Given up, until a person retries or dismisses it. */
    failed: work.filter(({ state }) => state === 'failed'),
    /** By memory, what dreams proposed. */
    proposals,
    breaker: await breakerOf(db, { after: config.breakerAfter, now: clock.now() }),
  };
  const needs: Need[] = [];
  for (const known of memories) needs.push(...(await needsOfMemory(app, known, proposals.get(known.row.id) ?? 0)));
  return { ...found, needs: inOrder([...needs, ...needsOfWork(found), ...(await needsOfSessions(app))]) };
}

function needsOfWork({
  waiting,
  failed,
  breaker,
}: Record<'waiting' | 'failed', WorkRow[]> & { breaker: BreakerState }) {
  const needs: Need[] = [];
  const { state, failures, until, reason, code: broken } = breaker;
  if (state !== 'closed') {
    const next = state === 'open' ? `it is asked again ${until}` : 'the next job asks it again';
    const text = `The model could not be asked ${sayCount(failures, 'time')} in a row; ${next}: ${reason}`;
    // What is wrong with it doctor finds; a limit is as it is.
    const command = ruleOf(broken).class === 'rate-limit' ? 'nocturne retry --failed' : 'nocturne doctor';
    needs.push({ text, command, cause: reason ?? undefined });
  }
  const stuck = waiting.filter(({ code, error }) => code !== null && (ruleOf(code).needsPerson || isTooSmall(error)));
  for (const [code, of] of Map.groupBy(stuck, (item) => item.code)) {
    // Else it is said of the model.
    if (state !== 'closed' && code === broken) continue;
    const message = of[0]?.error ?? '';
    const text = `${sayCount(of.length, 'job')} ${of.length === 1 ? 'waits' : 'wait'}: ${message}`;
    const command = isTooSmall(message) ? /nocturne config \w+ [\d.]+/.exec(message)?.[0] : undefined;
    needs.push({ text, command: command ?? 'nocturne doctor', cause: message, code: code ?? undefined });
  }
  for (const [first, ...others] of Map.groupBy(failed, ({ code, kind }) => `${code} ${kind}`).values()) {
    if (!first) continue;
    const what = first.kind === 'extract' ? sayCount(1 + others.length, 'session') : 'A dream';
    const text = `${what} could not be ${first.kind === 'extract' ? 'learned from' : 'done'}: ${first.error}`;
    needs.push({ text, command: 'nocturne retry --failed' });
  }
  return needs;
}

/** When a person looked last at what was learned; null: never. */
export async function lookedAt(sql: Sql): Promise<string | null> {
  return (await settingOf(sql, 'looked')) ?? null;
}

export function noteLook({ db, clock }: Pick<App, 'db' | 'clock'>): Promise<void> {
  return keepSetting(db, 'looked', clock.now().toISOString());
}

/** What waits for a person, as a sentence without its stop, and the command that deals with it from here. */
export interface Need {
  text: string;
  command: string;
  /** What work failed with, so that it is not told of each. */
  cause?: string;
  /** The code of that error. */
  code?: string;
  /** The transcripts that it is about. */
  sessions?: string[];
  /** It may stay as it is. */
  isNotice?: boolean;
}

const SHOWN_LOGS = 20;

/** What to do about missing files; nothing is taken for deleted until then. */
const IF_MISSING = 'nocturne check --restore puts it back, nocturne check --accept-missing accepts that it is gone';

/** Paths that are gone from the directory and were not taken as meant to go, and logs that lost entries. */
async function missingIn({ db, memories }: App, memory: MemoryRow): Promise<string[]> {
  const { id } = memory;
  await lookInto(memories, { memory: id, paths: 'all' }).catch(onAppError(() => {}));
  const lost = await lostDays(db, id);
  return [...new Set([...lost.map(logPath), ...(await missingFiles(db, id)).map(({ path }) => path)])].sort();
}

/** Markdown files in its directory that are too large to be read. */
function oversizedIn({ dir }: MemoryRow): { path: string; bytes: number }[] {
  if (dir === null || !isDirectory(dir)) return [];
  return [...filesByName(dir)].flatMap(([path, spelled]) => {
    const bytes = path.endsWith('.md') ? (statNow(join(dir, spelled))?.bytes ?? 0) : 0;
    return bytes > MOST_MEMORY_BYTES ? { path, bytes } : [];
  });
}

/** Files that stay behind what is remembered, now that they were looked at. */
async function unwrittenIn({ db, machine }: App, { id, dir, machine: of }: MemoryRow): Promise<string[]> {
  if (dir === null || of !== machine || !isDirectory(dir) || gitIsBusy(dir)) return [];
  const rows = await db.all<{ path: string }>(
    `select path from file where memory = ? and placed is not null and placed <> head and path is not null
       and missing_since is null order by path`,
    id,
  );
  return rows.map(({ path }) => path);
}

/** Sentences without their stops; `keepsDreams`: until then no dream runs. */
function sayMissing(paths: string[]): { what: string; keepsDreams: boolean }[] {
  const logs = paths.filter((path) => logDay(path) !== null);
  const [first, ...others] = paths.filter((path) => logDay(path) === null);
  const said: { what: string; keepsDreams: boolean }[] = [];
  if (first !== undefined) {
    const one = `${first} is missing or empty, as others were that are back`;
    const many = `${others.length + 1} files are missing or empty at once, ${first} among them`;
    said.push({ what: others.length === 0 ? one : many, keepsDreams: true });
  }
  if (logs.length > 0) {
    const more = logs.length > SHOWN_LOGS ? ` and ${logs.length - SHOWN_LOGS} more` : '';
    const names = `${logs.slice(0, SHOWN_LOGS).join(', ')}${more}`;
    const what = `a log with entries is missing, empty or damaged (topics keep what they hold): ${names}`;
    said.push({ what, keepsDreams: false });
  }
  return said;
}

const PASSING = new Set(['transient', 'rate-limit', 'ceiling']);

/** What a memory waits for a person with. */
async function needsOfMemory(app: App, { row: memory, ...whose }: KnownMemory, proposals: number): Promise<Need[]> {
  const { db } = app;
  const needs: Need[] = [];
  const lost = sayMissing(await missingIn(app, memory));
  const check = whose.command('nocturne check');
  for (const { what } of lost) needs.push({ text: `${whose.name}: ${what}; ${IF_MISSING}`, command: check });
  for (const { path, bytes } of oversizedIn(memory)) {
    const size = `${Math.ceil(bytes / 2 ** 20)} MB`;
    needs.push({ text: `${whose.name}: ${path} has ${size}: split it, or move it out`, command: check });
  }
  const [late, ...later] = await unwrittenIn(app, memory);
  if (late !== undefined) {
    const what = later.length === 0 ? late : `${late} and ${later.length} more`;
    needs.push({ text: `${whose.name}: what is remembered cannot be written into ${what}`, command: check });
  }
  needs.push(...(await noticesOf(app, { row: memory, ...whose })));
  const last = await db.get<{ outcome: string; code: string | null; error: string | null; at: string }>(
    `select outcome, code, error, ended_at as at from job where memory = ? and kind = 'dream' and ended_at is not null
     order by ended_at desc, id desc limit 1`,
    memory.id,
  );
  // What is missing and not taken as meant is said already.
  const isSaid = last?.outcome === 'refused' && lost.some(({ keepsDreams }) => keepsDreams);
  if (last?.error && !isSaid && !PASSING.has(ruleOf(last.code).class)) {
    const became = last.outcome === 'refused' ? 'was refused' : 'failed';
    const text = `No dream in ${whose.name}: the last dream, at ${last.at}, ${became}: ${last.error}`;
    needs.push({ text, command: whose.command('nocturne dream') });
  }
  const unplaced = await unplacedOf(db, memory.id, await entriesWhere(db, memory.id, "and state = 'new'"));
  const [first, ...others] = unplaced.filter(({ nights }) => nights >= TELL_AFTER_NIGHTS);
  if (first) {
    const what = `${sayCount(1 + others.length, 'entry')} of ${whose.name} could not be sorted into topics`;
    const text = `${what} for ${first.nights} nights, since ${first.since.slice(0, 10)}: ${first.reason}`;
    needs.push({ text, command: whose.command(`nocturne why ${await shortId(db, 'entry', first.entry)}`) });
  }
  if (proposals > 0) {
    const waits = `${proposals === 1 ? 'waits' : 'wait'} for your answer`;
    const text = `${sayCount(proposals, 'proposed change')} in ${whose.name} ${waits}`;
    needs.push({ text, command: whose.command('nocturne review') });
  }
  return needs;
}

/** So many days a collision is told, where the topic is not edited sooner. */
const COLLISION_DAYS = 7;

/** What has no room in the index, and what of a snapshot did not come in, since the same lines were changed here. */
async function noticesOf({ db, clock }: App, { row: { id }, ...whose }: KnownMemory): Promise<Need[]> {
  const notices: Need[] = [];
  if (OVERFLOW_LINE.test((await headAt(db, id, INDEX))?.content?.toString() ?? '')) {
    const most = `${INDEX_CAPS.lines} lines, ${INDEX_CAPS.bytes / 1_000} kB`;
    const text = `${whose.name}: MEMORY.md has no room for all topics (${most}); the others are files beside it`;
    notices.push({ text, command: whose.command('nocturne list'), isNotice: true });
  }
  const taken = await db.get<{ output: string | null; at: string }>(
    `select job.output, change.at from job join change on change.job = job.id
     where job.memory = ? and job.kind = 'snapshot' and change.at > ? and change.undone_by is null order by change.n desc limit 1`,
    ...[id, new Date(clock.now().getTime() - COLLISION_DAYS * DAY_MS).toISOString()],
  );
  const { collided = [] } = (parseJson(taken?.output ?? '') ?? {}) as { collided?: string[] };
  for (const path of collided) {
    const head = await headAt(db, id, path);
    if (!taken || !head || head.updatedAt > taken.at) continue;
    const text = `${whose.name}: ${path} has lines that were changed here and in the snapshot; yours stayed`;
    notices.push({ text, command: whose.command('nocturne snapshot check --diff'), isNotice: true });
  }
  return notices;
}

/** Sessions that could not be taken. */
async function needsOfSessions({ config, db, machine }: App): Promise<Need[]> {
  const { settings } = config.agentMemory;
  const blocked = Map.groupBy(await blockedOf(db, machine), (each) => `${each.reason}`);
  return [...blocked].map(([why, paths]) => {
    const isSaid = settings.problem && why.includes(settings.path);
    const reason = isSaid ? ', for the same reason' : `: ${why}`;
    const text = `${sayCount(paths.length, 'session')} could not be read yet${reason}`;
    return { text, command: 'nocturne doctor', sessions: paths.map(({ path }) => path) };
  });
}

/** What failed for a cause that another tells of goes without saying; what is to be reviewed comes last. */
export function inOrder(needs: Need[]): Need[] {
  const isTold = (need: Need) =>
    needs.some(({ cause, text }) =>
      cause === undefined ? text !== need.text && text.endsWith(need.text) : !need.cause && need.text.includes(cause),
    );
  const isReview = ({ command }: Need) => Number(command.includes('nocturne review'));
  return needs.filter((need) => !isTold(need)).toSorted((a, b) => isReview(a) - isReview(b));
}

/** Why nobody knows where memory lives, or whether it is wanted; `problem`: of the agent's settings. */
export function sayUntold(problem?: string): string {
  if (!problem)
    return "It is not known where memory lives: the agent's autoMemoryDirectory names a place that cannot be used";
  return `${problem.replace(/\.$/, '')}. Until that is fixed nothing is learned or recalled here; what waits is read then`;
}

/** What may be dealt with where one stands: a memory that looks like this project, and what its repository hands on. */
export async function offersHere(app: App): Promise<Need[]> {
  const cwd = process.cwd();
  if (memoryDirIfTold(app.config, { cwd }) === null) return [];
  const [same, tree, here] = [await sayHere(app), checkoutRoot(cwd), await app.findMemory()];
  const offer = tree === null ? null : await offeredSnapshot(tree, here && { sql: app.db, id: here.id });
  const broken = tree === null ? null : attempt(() => readMemorySnapshot(tree) && null, describeError);
  const snapshot = broken ?? (offer && sayOffer(offer));
  return [
    ...(same ? [{ text: same, command: 'nocturne adopt', isNotice: true }] : []),
    ...(snapshot
      ? [{ text: `Memory snapshots: ${snapshot}`, command: 'nocturne snapshot check', isNotice: true }]
      : []),
  ];
}
