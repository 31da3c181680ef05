// The seams: what a wing adds to the core, and where. A wing is a feature that can be removed: its folder in src/wings, its
// line in src/wings/index.ts, its tests. The core names none; programs hand it the list before they begin (`useWings`).
// Everything a wing adds is loaded when it is asked for, so that a wing costs nothing where it is not used.

import type { Approval } from '../../jobs/dream/seams.ts';
import type { DreamFacts, DreamReport } from '../../jobs/dream.ts';
import type { Config } from '../base/config/config.ts';
import type { Clock } from '../base/time.ts';
import type { RedactElsewhere } from '../memory/history/redact/redaction.ts';
import type { HomeDatabase } from '../memory/home/database.ts';
import type { Home } from '../memory/home/home.ts';
import type { Enablement } from '../memory/home/paths.ts';
import type { JobKind } from '../memory/ledger/job-rows.ts';
import type { Ledger, StartedBy } from '../memory/ledger/ledger.ts';
import type { ExtraScope } from '../memory/recall/recall.ts';
import type { Store, WithLease } from '../memory/store/store.ts';
import type { MemoryType } from '../memory/types.ts';
import type { Session } from '../transcript/session.ts';
import type { CommandModule, OptionSpec } from './cli/spec.ts';
import type { JobOptions } from './job-bounds.ts';
import type { Shared } from './shared.ts';
import type { TranscriptPlace } from './transcripts.ts';
import type { Desk, DeskParts } from './worker/desk.ts';

/** A memory directory as it is looked at. */
export interface WingPlace {
  dir: string;
  /** Null where nocturne has not worked in it yet. */
  ledger: Ledger | null;
  /** The top of the working tree, where there is one and the memory is the project's. */
  checkout: string | null;
}

/** What of the app a wing may use. */
export interface WingApp {
  config: Config;
  home: Home;
  /** Where the transcripts of sessions are. */
  transcripts: TranscriptPlace;
  /** What several machines share; null: this one has all of it. */
  shared: Shared | null;
  /** Where the memory of a project, default the one here, is kept, or would be: nothing is opened or made. */
  memoryDirOf(session?: { cwd?: string }): string;
  /** Whether anything is kept of it; nothing is made. */
  hasMemory(session?: { cwd?: string }): Promise<boolean>;
  /** Whether nocturne may work unasked for a session that ran in `cwd`; without one, whether it may anywhere. */
  standing(session?: { cwd?: string }): Promise<Enablement>;
  /** Opens a memory directory; one that is open already is not opened twice. */
  store(dir: string): Promise<Store>;
  /** The same, which the nightly dream knows from then on. */
  knownStore(dir: string): Promise<Store>;
  /** Runs `work` while no other process works on the key in the store; null where one does. */
  withLease: WithLease;
  /** Where memory is kept, where that is elsewhere; null: all is on this machine. */
  keeping: Keeping | null;
  /** What wings do with what a dream changed, or a person accepted of one: the keys that they add to its report. */
  afterDream(done: { job: string | null; own: Store; options: JobOptions }): Promise<Partial<DreamFacts>>;
}

/** Of work whose memory is opened, and so made, only once there is something to do there. */
export type OpensLate = { openStore(): Promise<Store>; clock: Clock; withLease: WithLease };

/** How an item that a wing put into an inbox is worked. */
export interface WorkTerms {
  /** Why it is not worked any more; it is taken out. */
  dropped?: string;
  /** Until when it waits, and why. */
  held?: { until: Date; reason: string };
  options?: JobOptions;
  /** Of an extraction: the session, where no file of an agent has it. */
  session?: Session;
  /** Of a dream: whether what would change waits for a person, whatever the setting. */
  review?: boolean;
  /** Of a dream: as which session its job is told. */
  named?: string;
  /** Told that it is worked now, which what waits is not; what it answers is called when the try is over, however it ends. */
  begun?(): () => void;
  /** Told what became of this try: it is done, given up, or waits. */
  worked(result: { outcome: string; reason: string | null; delayedUntil: string | null }): Promise<void>;
}

/** What a wing has a worker do. */
export interface WorkerPart {
  /** Asked with every tick: puts what waits into the inboxes; answers whether it did. */
  takeIn(app: WingApp): Promise<boolean>;
  /** Null for an item that is not the wing's. */
  termsOf(item: { store: Store; kind: JobKind; key: string }, app: WingApp): Promise<WorkTerms | null>;
}

/** The values of a command's options, by name. */
export type GivenOptions = Record<string, unknown>;

/** What is said of a part of a report; the outcome counts for the exit code. */
export interface Said {
  outcome: string;
  lines: string[];
}

/** What a wing adds to `nocturne dream` and to the job itself. Its keys of the report are declared in `DreamFacts`. */
export interface DreamPart {
  options: OptionSpec[];
  /** The keys as the help lists them. */
  keys: string[];
  /** What the options ask of the job. */
  asks(given: GivenOptions, at: { cwd: string }): JobOptions;
  /** Done with what a dream changed, or a person accepted of one; `job` is null where nothing was. */
  after(done: { job: string | null; own: Store; options: JobOptions }, app: WingApp): Promise<Partial<DreamFacts>>;
  /** Null where the report has none of its keys. */
  say(report: DreamReport): Promise<Said | null>;
}

/** What a wing adds to `nocturne remember`. */
export interface RememberPart {
  options: OptionSpec[];
  /** Its keys of the JSON, as the help lists them. */
  keys: string[];
  /**
   * Asked before anything is kept: throws what forbids it. What is answered is done after the words were kept; null
   * where no option asks for it.
   */
  begin(
    given: GivenOptions,
    at: { app: WingApp; own: Store; words: string; type: MemoryType; cwd: string },
  ): Promise<(() => Promise<Said & { values: Record<string, unknown> }>) | null>;
}

/** What a wing shows in a browser, where the server is there to serve it. */
export interface Pages {
  /** Null where there is nothing of it at this address. */
  answer(request: Request): Promise<Response | null>;
  /** Ends what is still being sent. */
  close(): Promise<void>;
}

/** How much waits and is worked on now, in all memory that a worker works for. */
export interface WorkFigures {
  /** Items in the inboxes. */
  waiting: number;
  /** Since when the oldest of them waits, ISO-8601; null: none does. */
  oldestSince: string | null;
  /** Keys that someone works on. */
  leases: number;
}

/** How all of it is that several machines share. */
export interface SharedOverview {
  id: string;
  /** Where it is, without a password. */
  server: string;
  stores: { ready: number; arriving: number };
  /** `oldest`: since when, ISO-8601, or null; `tenants`: the longest line first, null: the stores of none. */
  waiting: {
    count: number;
    oldest: string | null;
    tenants: { tenant: string | null; count: number; oldest: string }[];
  };
  /** Keys that someone works on. */
  leases: number;
  /** How much waits for another try or was given up, by the code of the error. */
  failures: Record<string, number>;
  givenUp: number;
  /** The newest 20 of them. */
  failed: { store: string; name: string; kind: string; key: string; code: string; at: string; message: string }[];
  /** Where each store is asked for, by name; `isHere`: it stands for a directory of this machine. */
  each?: { id: string; name: string; isHere: boolean; waiting: number; givenUp: number }[];
}

export interface KeepingParts {
  startedBy?: StartedBy;
  /** A database is away that takes longer to be connected to, or to answer a statement. */
  within?: { connectMs: number; answerMs: number };
}

/** Where memory and the home are kept, where that is not a disk of this machine. */
export interface Keeping {
  homeDatabase: HomeDatabase;
  /** The store of this id; or the one that stands for a directory, made where there is none. The same object while it is open. */
  openStore(place: string): Promise<Store>;
  /** The same where it is there; null: nothing is kept of it yet. */
  findStore(place: string): Promise<Store | null>;
  /** All stores that can be worked in; `isHere`: it stands for a directory of this machine. */
  stores(): Promise<{ id: string; name: string; isHere: boolean }[]>;
  /**
   * The store that stands for the user's directory of this machine, made where there is none; null where the one with this id is
   * that, or stands for no directory of this machine.
   */
  userStoreBeside?(id: string, dir: string): Promise<string | null>;
  /** Redacts what is kept of a store outside of its files and its ledger. */
  redactElsewhere?: RedactElsewhere;
  /** Where transcripts are kept for workers of other machines; default: in their files. */
  transcripts?: TranscriptPlace;
  /** What a worker sees of all its stores. */
  desk(parts: DeskParts): Desk;
  /** For metrics. */
  figures?(): Promise<WorkFigures>;
  /** For who asks how it is; `isAll`: and each store. */
  overview?(ask?: { isAll?: boolean }): Promise<SharedOverview>;
  /** What doctor looks at. */
  checks?(at: { home: Home; now(): Date }): Promise<Checked[]>;
  /** Calls `look` with the ledger of a store, of which nothing else is read. */
  lookIntoLedger?(id: string, look: (ledger: Ledger) => void): Promise<void>;
  shared: Shared | null;
  /** Of the queue that all workers share. */
  queueNamespace(): Promise<string>;
  /** Lets go of all that was opened. */
  close(): Promise<void>;
}

export interface Wing {
  name: string;
  /** The wings that it is made of: without one of them it is not there either. */
  standsOn?: string[];
  commands?: CommandModule;
  /** Kinds of jobs that it enters into the ledger; without the wing they are not undone. */
  jobKinds?: string[];
  /** Whether a dream's operations need approval; `isOn`: those of tonight do. */
  approval?(isOn: boolean): Promise<Approval>;
  /** Paragraphs that recall says in nocturne's own words, before what is remembered. */
  recallNotes?(at: WingPlace): Promise<string[]>;
  /** What `nocturne doctor` looks at for it. */
  checks?(at: WingPlace): Promise<Checked[]>;
  /**
   * A key of `nocturne status --json` with its value, the lines that say it, and what of it waits for a person: a sentence
   * without its stop and the command that deals with it.
   */
  status?(at: WingPlace): Promise<{
    values: Record<string, unknown>;
    lines: string[];
    needs?: { text: string; command: string }[];
  }>;
  worker?: WorkerPart;
  dream?: DreamPart;
  remember?: RememberPart;
  /** Scopes that are recalled beside a project's memory. */
  extraScopes?(config: Config): ExtraScope[];
  /** Done in the working tree where a session begins. */
  onSessionStart?(cwd: string, at: { app: WingApp; onProblem(message: string): void }): Promise<void>;
  /** What keeps the nightly dream from a directory, as a sentence, or null. */
  keepsNightFrom?(store: Store, app: WingApp): string | null;
  /** What a person is to know after a text was redacted in a directory, each a sentence. */
  afterRedact?(match: string, at: { app: WingApp; store: Store; cwd: string }): Promise<string[]>;
  /** The memory stores that have this name, or id. */
  storesNamed?(name: string, config: Config): Promise<{ id: string; dir: string }[]>;
  /** Takes back what it did under this id, which is none of a job; null where it knows none. */
  undoes?(id: string, app: WingApp): Promise<Said | null>;
  /** Answers what no endpoint of the server does; `url`: where it listens, `urls`: what it is called elsewhere. */
  pages?(at: { config: Config; url: string; urls: readonly string[] }): Promise<Pages>;
  /** Where memory is kept, as the settings say; null: on this machine. Nothing is reached before it is asked. */
  keeping?(config: Config, parts: KeepingParts): Keeping | null;
  /** Functions for programs, declared in `Nocturne`. */
  library?(app: WingApp): object;
}

/** What a look by `nocturne doctor` finds. */
export interface Checked {
  /** What was looked at. */
  what: string;
  /** `warn` works, but not as well as it could; `fail` needs a person. */
  state: 'ok' | 'warn' | 'fail';
  found: string;
  /** What to do; only beside `warn` and `fail`. */
  remedy?: string;
}

export function ok(what: string, found: string): Checked {
  return { what, state: 'ok', found };
}

export function warn(what: string, found: string, remedy: string): Checked {
  return { what, state: 'warn', found, remedy };
}

export function fail(what: string, found: string, remedy: string): Checked {
  return { what, state: 'fail', found, remedy };
}

let used: readonly Wing[] = [];

/** Called once, by a program's own file, before anything else. */
export function useWings(list: readonly Wing[]): void {
  used = list;
}

/** The wings that are there, in their order. */
export function wings(): readonly Wing[] {
  return used;
}

/** What all wings answer, one behind the other. */
export async function askWings<T>(ask: (wing: Wing) => Promise<T[]> | undefined): Promise<T[]> {
  return (await Promise.all(used.map((wing) => ask(wing) ?? []))).flat();
}

/** What the first wing answers that has an answer. */
export async function firstOfWings<T>(ask: (wing: Wing) => Promise<T | null> | undefined): Promise<T | null> {
  for (const wing of used) {
    const answer = await ask(wing);
    if (answer) return answer;
  }
  return null;
}

/** The wing that has this seam, of those that only one can have. */
export function wingWith(seam: 'approval'): Wing | undefined {
  return used.find((wing) => wing[seam]);
}

/** Where memory is kept, where that is not this machine. */
export function keepingOf(config: Config, parts: KeepingParts = {}): Keeping | null {
  for (const wing of used) {
    const keeping = wing.keeping?.(config, parts);
    if (keeping) return keeping;
  }
  return null;
}
