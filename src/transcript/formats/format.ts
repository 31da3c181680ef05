// What a transcript format is to the rest of nocturne: a name, and a way to open a file that is of it. A new format is
// one file in this folder that exports a `Format`, and a line in session.ts.

import type { JsonObject } from '../../base/text/json.ts';
import type { FormatName, Message, Subagent } from '../messages.ts';

/** A file that is being looked at. */
export interface Source {
  path: string;
  /** Those of its beginning, where it is JSON lines. */
  records: JsonObject[];
  /**
   * The whole file as one JSON value, `undefined` where it is none, which JSON lines are not; parsed once.
   * Throws an AppError `bad-input` for a file past 256 MiB.
   */
  document(): Promise<unknown>;
}

export interface Format {
  name: FormatName;
  /** Null where the file is not of this format. */
  open(source: Source): Promise<Reading | null>;
}

/** Called once for each line that was skipped or cut; `isHalfWritten`: it is the last one and has no end yet. */
export type OnUnreadable = (line?: { isHalfWritten: boolean }) => void;

/** One recognised file, ready to be read. */
export interface Reading {
  /** The session's id as the file tells it. */
  id: string;
  /** The first working directory recorded. */
  cwd?: string;
  subagent?: Subagent;
  /** The whole request body, as it was parsed, where the file is one that the Messages API takes. */
  request?: JsonObject;
  /** From the beginning, in file order. */
  messages(onUnreadable: OnUnreadable): AsyncIterable<Message> | Iterable<Message>;
  /**
   * Set by formats whose lines can be read one by one, so that a file that grew need not be read again. Their prompts
   * have a `byte` where reading may begin: what is read from there must be what is read there from the beginning.
   * Resolves with null where what was added refers to what is before it (a replay, say): then all is read.
   */
  messagesFrom?(byte: number, onUnreadable: OnUnreadable): Promise<AsyncIterable<Message> | null>;
}

/** The id of a session; where it is a subagent's, with that of the session it works for. */
export function namesOf(own: string, parent: string | undefined): Pick<Reading, 'id' | 'subagent'> {
  return parent === undefined ? { id: own } : { id: `${parent}/${own}`, subagent: { session: parent, agent: own } };
}

/** A message before its place is known. */
export type Said = Pick<Message, 'id' | 'speaker' | 'parts'> &
  Partial<Pick<Message, 'beginsTurn' | 'follows' | 'byte'>>;
