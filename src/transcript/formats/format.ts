// What a transcript format is to the rest of nocturne: a name, a way to know a file by its content, a way to read it.
// A new format is one file beside this one that exports a `Format`, and a line in session.ts.

import type { FormatName, Message, Subagent } from '../types.ts';

export type JsonObject = Record<string, unknown>;

/** A file that is being looked at. */
export interface Source {
  path: string;
  /** The beginning of the file as text: all of it where it is short, else cut anywhere, even within a character. */
  head: string;
  /**
   * The whole file as one JSON value, `undefined` where it is none; parsed once, whoever asks.
   * Throws an AppError `bad-input` for a file past 256 MiB.
   */
  document(): Promise<unknown>;
}

export interface Format {
  name: FormatName;
  recognises(source: Source): boolean | Promise<boolean>;
  /** Called only for a source it recognised. */
  open(source: Source): Promise<Reading>;
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
  messages(onUnreadable: OnUnreadable): AsyncIterable<Message>;
  /**
   * Set by formats whose lines can be read one by one, so that a file that grew need not be read again. Their prompts
   * have a `byte` where reading may begin: what is read from there must be what is read there from the beginning.
   * Resolves with null where what was added refers to what is before it (a replay, say): then all is read.
   */
  messagesFrom?(byte: number, onUnreadable: OnUnreadable): Promise<AsyncIterable<Message> | null>;
}

/** The message as one on a branch that was taken back. */
export function asAbandoned(message: Message): Message {
  return { ...message, speaker: 'harness', beginsTurn: false, isAbandoned: true };
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
