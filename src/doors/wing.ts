// The seams: what a wing adds to the core, and where. A wing is a feature that can be removed: its folder in src/wings, its
// line in src/wings/index.ts, its tests. The core names none; programs hand it the list before they begin (`useWings`).
// Everything a wing adds is loaded when it is asked for, so that a wing costs nothing where it is not used.

import type { Command } from 'commander';
import type { Requests, RequestsMode } from '../../jobs/dream/seams.ts';
import type { AgentRequest } from '../agent/types.ts';
import type { Ledger } from '../memory/ledger/ledger.ts';
import type { Checked } from './doctor/checked.ts';

/** Adds a command to the program. */
export type AddCommand = (program: Command) => void | Promise<void>;

/** Where a command stands in the help. */
export type CommandGroup = 'Everyday:' | 'Jobs:' | 'History and undo:' | 'Setup and care:';

/** A memory directory as it is looked at. */
export interface WingPlace {
  dir: string;
  /** Null where nocturne has not worked in it yet. */
  ledger: Ledger | null;
  /** The top of the working tree, where there is one and the memory is the project's. */
  checkout: string | null;
}

export interface Wing {
  name: string;
  /** The word that calls a command, by group of the help, and where it is. */
  commands?: Partial<Record<CommandGroup, Record<string, () => Promise<AddCommand>>>>;
  /** Kinds of jobs that it enters into the ledger; without the wing they are not undone. */
  jobKinds?: string[];
  /** Tables that hold its rows; without the wing `status` names those that are not empty. */
  tables?: string[];
  /** How a dream's requests are asked where not at once. */
  requests?(options: RequestsOptions): Promise<Requests>;
  /** Paragraphs that recall says in nocturne's own words, before what is remembered. */
  recallNotes?(at: WingPlace): Promise<string[]>;
  /** What `nocturne doctor` looks at for it. */
  checks?(at: WingPlace): Promise<Checked[]>;
  /** A key of `nocturne status --json` with its value, and the lines that say it. */
  status?(at: WingPlace): Promise<{ values: Record<string, unknown>; lines: string[] }>;
}

/** How a dream's requests may be asked. */
export interface RequestsOptions {
  /** Default: what was answered is used, and nothing is sent. */
  mode?: RequestsMode;
  /** What a model is asked with; a key that is kept elsewhere is fetched only for this. */
  asking(): Promise<Pick<AgentRequest, 'access' | 'requestMs' | 'maxOutputTokens'>>;
  signal?: AbortSignal;
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

/** The wing that has this seam, of those that only one can have. */
export function wingWith(seam: 'requests'): Wing | undefined {
  return used.find((wing) => wing[seam]);
}
