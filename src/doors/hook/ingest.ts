// From the spool into the inboxes: what hooks have said becomes work of the memory directory the session belongs to.
// Promises that a spool file goes only after its inbox has the work, so that a crash repeats and never loses it, and
// that however many hooks named a session it waits once; what settings, permissions or a missing directory keep from
// being taken stays, and the home names it (`blocked`). Never starts work; where a session begins it settles
// what a pull left in conflict in the team's memory there, where nocturne works and nobody has opened it since.
// `announceSession`: how the news of a session reaches its inbox, at a pace, whoever noticed it.

import { hash } from 'node:crypto';
import { dirname, join, resolve, sep } from 'node:path';
import { type AppError, describeError, ERRORS, isAppError, onAppError } from '../../base/errors.ts';
import { canonicalPath, isDirectory } from '../../base/files/directories.ts';
import { readTextNow } from '../../base/files/files.ts';
import { shownText } from '../../memory/conflicts/conflict.ts';
import { isCheckedInDir } from '../../memory/home/paths.ts';
import { coverageOfTurn, sessionRow } from '../../memory/ledger/coverage.ts';
import type { JobKind } from '../../memory/ledger/job-rows.ts';
import { liveFiles } from '../../memory/store/live-files.ts';
import type { Store } from '../../memory/store/store.ts';
import {
  kindOfEvent,
  readSpool,
  removeAbandoned,
  removeSpooled,
  type Spooled,
  type SpoolItem,
  sessionName,
} from '../../queue/spool.ts';
import { FOUND_AGENTS, findSessions } from '../../transcript/find-sessions.ts';
import { isInteractive, openSession, type Session } from '../../transcript/session.ts';
import { readTurns } from '../../transcript/turns.ts';
import type { Message } from '../../transcript/types.ts';
import type { App } from '../compose.ts';
import { isByProject, scopesBeside, whyTurnedOff } from '../places.ts';

export interface IngestOptions {
  /** Told, in a sentence, of everything that will not become work. */
  onProblem(message: string): void;
}

export interface Ingested {
  /** Sessions that were put into an inbox. */
  announced: number;
  /** Sessions whose transcript may still come. */
  lagging: number;
  /** A session began somewhere: time to look for what no hook told of. */
  sessionBegan: boolean;
}

/** Takes in what is in the spool. What names a transcript that is not there yet stays until its debounce is over. */
export async function ingestSpool(app: App, options: IngestOptions): Promise<Ingested> {
  const { home, clock } = app.config;
  const spooled = readSpool(home, options.onProblem);
  removeAbandoned(home, clock.now());
  const began = spooled.filter(({ item }) => kindOfEvent(item.event) === 'start');
  for (const cwd of new Set(began.flatMap(({ item }) => item.cwd ?? []))) {
    // The next session, or whoever opens the directory, tries again.
    const told = (error: AppError) => options.onProblem(`The team's memory at ${cwd}: ${describeError(error)}`);
    await settleTeamMemory(app, cwd).catch(onAppError(told));
  }
  for (const each of began) removeSpooled(each);
  const sessions = Map.groupBy(
    spooled.filter((each) => !began.includes(each)),
    ({ item }) => `${item.agent}\n${item.session ?? item.transcript}`,
  );
  const ingested: Ingested = { announced: 0, lagging: 0, sessionBegan: began.length > 0 };
  for (const calls of sessions.values()) {
    const became = await ingestSession(app, calls, options);
    if (became !== 'skipped') ingested[became] += 1;
  }
  return ingested;
}

/** A directory that is gone may be a disk that is not there; after so long it is not coming back. */
const CUT_OFF_MS = 30 * 86_400_000;

/** Puts the session of one or more hook calls, in their order, into its inbox. */
async function ingestSession(
  app: App,
  calls: Spooled[],
  { onProblem }: IngestOptions,
): Promise<'announced' | 'lagging' | 'skipped'> {
  const { item } = calls.at(-1) as Spooled;
  const now = app.config.clock.now();
  const sinceMs = now.getTime() - Date.parse(item.at);
  const { debounceMs } = app.config;
  // A clock that was ahead when the hook was called would hold the session back for as long.
  const at = sinceMs < -debounceMs ? now : new Date(item.at);
  const mayStillCome = Math.abs(sinceMs) < debounceMs;
  const name = sessionName(item);
  try {
    const session = await openSession(transcriptOf(app, calls), { isLive: true });
    const reason = (await reasonToSkip(app, session)) ?? (await whyOff(app, session, calls));
    if (reason) onProblem(`${name} is skipped: ${reason}.`);
    else {
      const { path: transcript, id, cwd = dirTold(calls) } = session;
      // What a person asks to remember waits neither for the pace of a session that goes on nor for its next turn.
      const ended = hasEnded(calls) || (await asksToRemember(app, session, cwd ?? undefined));
      await announceSession(app, { transcript, session: id, cwd, ended, at });
    }
    for (const each of calls) removeSpooled(each);
    await app.home.blocked.remove(session.path);
    return reason ? 'skipped' : 'announced';
  } catch (error) {
    if (!isAppError(error)) throw error;
    if (error.code === 'transcript-gone' && mayStillCome) return 'lagging';
    const transcript = transcriptTold(calls);
    const isCutOff = error.code === 'transcript-gone' && transcript !== null && !isDirectory(dirname(transcript));
    if (ERRORS[error.code].tries === null || (isCutOff && sinceMs < CUT_OFF_MS)) {
      const reason = describeError(error);
      onProblem(`${name} stays in the spool: ${reason}`);
      if (transcript) await app.home.blocked.add({ path: transcript, reason, since: item.at });
    } else {
      if (transcript) await app.home.blocked.remove(transcript);
      onProblem(`${name} is skipped: ${describeError(error)}`);
      for (const each of calls) removeSpooled(each);
    }
    return 'skipped';
  }
}

/** Copilot tells the path at some events only, Codex's `notify` never: then it is found by the session's id. */
function transcriptOf(app: App, calls: Spooled[]): string {
  const told = transcriptTold(calls);
  const { agent, session } = (calls.at(-1) as Spooled).item;
  if (told || session === null) return told ?? '';
  const agents = FOUND_AGENTS.filter((found) => found === agent);
  return findSessions(app.config.agentDirs, { agents, named: session })[0]?.path ?? '';
}

function transcriptTold(calls: Spooled[]): string | null {
  return calls.findLast(({ item }) => item.transcript !== null)?.item.transcript ?? null;
}

/** Where the agent stood, as the hook had it: a file of Gemini CLI may not tell it. */
function dirTold(calls: Spooled[]): string | null {
  return calls.findLast(({ item }) => item.cwd !== null)?.item.cwd ?? null;
}

/** Why the project is turned off that only the hook knows of: the job asks by what the file tells. What is paused is not off. */
async function whyOff(app: App, session: Session, calls: Spooled[]): Promise<string | null> {
  const cwd = session.cwd === undefined ? dirTold(calls) : null;
  if (cwd === null) return null;
  return whyTurnedOff(await app.standing({ cwd }));
}

/** The session was over, and nothing was added to its transcript since. */
function hasEnded(calls: Spooled[]): boolean {
  const { item: last } = calls.at(-1) as Spooled;
  const isEnd = ({ event, size }: SpoolItem) => kindOfEvent(event) === 'end' && size === last.size;
  return calls.some(({ item }) => isEnd(item));
}

/** A wrong hit costs one request; a miss waits as long as all else that is said. */
const ASKS =
  /(?<!\b(?:i|you|we|they|do|can|can['’]t|cannot)\s)\bremember\b|\b(?:do not|don['’]?t|never) forget\b|\b(?:keep|bear) in mind\b|\b(?:merke? (?:dir|es dir)|vergiss nicht|denke? daran|retiens|souviens-toi|n['’]oublie pas|recuerda|no olvides|lembre-se|não esqueça|ricordati|non dimenticare)\b|记住|記住|覚えて|기억해/iu;

/** Whether a person asks for something to be remembered in what was not worked yet. What cannot be read, its extraction tells. */
async function asksToRemember(app: App, session: Session, cwd: string | undefined): Promise<boolean> {
  const { ledger } = await app.storeFor({ cwd });
  const typed = ({ speaker, parts }: Message) =>
    speaker === 'human' ? parts.map((part) => (part.kind === 'text' && !part.untyped ? part.text : '')).join('\n') : '';
  const look = async () => {
    for await (const { id, messages } of readTurns(session.messages(sessionRow(ledger, session.id)?.readPoint))) {
      const messageIds = messages.map((message) => message.id);
      const asks = messages.some((message) => ASKS.test(typed(message)));
      if (asks && coverageOfTurn(ledger, { id, messageIds }).length === 0) return true;
    }
    return false;
  };
  return look().catch(onAppError(() => false));
}

export type SkipReason = 'non-interactive' | 'subagent' | 'own' | 'no-project';

/** Why hooks and sweeps leave a session alone, as far as its file tells; null: they do not. */
export async function reasonToSkip(app: Pick<App, 'config'>, session: Session): Promise<SkipReason | null> {
  if (session.subagent) return 'subagent';
  const home = canonicalPath(app.config.home) + sep;
  if (session.cwd && (canonicalPath(session.cwd) + sep).startsWith(home)) return 'own';
  if (!app.config.nonInteractive && !(await isInteractive(session))) return 'non-interactive';
  return null;
}

/** The same of one that was found, of which nobody but its file says whose project it was. */
export async function reasonToLeave(app: Pick<App, 'config'>, session: Session): Promise<SkipReason | null> {
  const isOfNoProject = session.cwd === undefined && isByProject(app.config);
  return (await reasonToSkip(app, session)) ?? (isOfNoProject ? 'no-project' : null);
}

const WHY_LEFT: Record<SkipReason, string> = {
  'non-interactive': 'no person took part (nonInteractive in config.json is off)',
  subagent: 'a subagent ran it',
  own: "nocturne's own agent ran it",
  'no-project': 'no file says in which project it ran',
};

/**
 * Why nobody takes a session that was found, as a sentence without its stop: by its file, or where nocturne is turned off.
 * Null: somebody does, now, when a pause is over, or when settings can be read again.
 */
export async function whyLeft(
  app: Pick<App, 'config' | 'standing'>,
  session: Session,
): Promise<{ verdict: SkipReason | 'off'; why: string } | null> {
  const verdict = await reasonToLeave(app, session);
  if (verdict) return { verdict, why: WHY_LEFT[verdict] };
  const why = whyTurnedOff(await app.standing({ cwd: session.cwd }));
  return why === null ? null : { verdict: 'off', why };
}

/** Work that is in an inbox. */
export interface Waiting {
  store: Store;
  kind: JobKind;
  key: string;
}

export interface SessionNews {
  /** The session's file; relative to the working directory. It need not be there yet. */
  transcript: string;
  /** The session's id, as the agent names it. */
  session: string;
  /** Its working directory, which tells its memory directory; null: it has none. Default: what the transcript says. */
  cwd?: string | null;
  /** The session is over: its last turn is settled, and it is not held back by `throttleMs`. */
  ended: boolean;
  /** When the news came; default: now. */
  at?: Date;
  /** It was found, not told of: due at once. */
  isDueNow?: boolean;
  /** A person asks for it: what was declined at set-up, too. */
  takeDeclined?: boolean;
  /** Default: those of what waits already. */
  instructions?: string;
}

/**
 * Puts a session into the inbox of its memory directory, due `debounceMs` after its last news and not more often than
 * every `throttleMs`. Repeats while it waits are one; those that come while it is worked are worked once more after
 * it. Gives back attempts that were used up, and keeps the instructions of a person who asked for the same session.
 * Errors: where `cwd` is not given, those of opening the transcript.
 */
export async function announceSession(app: App, news: SessionNews): Promise<Waiting & { notBefore: string }> {
  const transcript = resolve(news.transcript);
  const store = await app.storeFor(
    news.cwd === undefined ? await openSession(transcript) : { cwd: news.cwd ?? undefined },
  );
  const key = extractKey({ session: news.session, transcript });
  const clockAt = app.config.clock.now();
  const { ended, instructions, takeDeclined, at = clockAt } = news;
  const asked = { ...(instructions !== undefined && { instructions }), ...(takeDeclined && { takeDeclined }) };
  const kept = await app.transcripts.keep(transcript, store.id, { id: news.session, isLive: !ended });
  const payload = { transcript: kept, ended, ...asked };
  const { debounceMs, throttleMs } = news.isDueNow ? { debounceMs: 0, throttleMs: 0 } : app.config;
  const pace = { now: at, clockAt, debounceMs, throttleMs, isLast: ended };
  const notBefore = await store.work.announce({ kind: 'extract', key, payload }, pace);
  return { store, kind: 'extract', key, notBefore };
}

/** The key of a session's extraction. Copies of one session in several files are worked one by one. */
export function extractKey({ session, transcript }: { session: string; transcript: string }): string {
  return `${session}@${hash('sha256', canonicalPath(transcript)).slice(0, 8)}`;
}

async function settleTeamMemory(app: App, cwd: string): Promise<void> {
  if (app.keeping) return;
  const beside = scopesBeside(app.config, { cwd, memory: app.memoryDirOf({ cwd }) });
  const dir = beside.find(({ scope }) => scope === 'local')?.dir;
  if (dir === undefined || !isCheckedInDir(dir) || !(await app.standing({ cwd })).enabled) return;
  const isKnown = (await app.home.stores()).includes(dir);
  // What lies there of nocturne's came with the repository, and proves nothing of what happened here.
  if (!isKnown && (isDirectory(join(dir, '.nocturne')) || !hasConflict(dir))) return;
  await (await app.store(dir)).missing();
  await app.home.addStore(dir);
}

function hasConflict(dir: string): boolean {
  return liveFiles(dir, null).some(({ path, absolute }) => {
    const text = readTextNow(absolute) ?? '';
    return shownText(text, { path, ledger: null }) !== text;
  });
}
