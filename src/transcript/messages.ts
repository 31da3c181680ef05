// What every format is read into, and what a format is: a name, and a way to open a file that is of it. A new one is one file in
// formats/ that exports a `Format`, and a line in session.ts. Nothing here knows a format, a model or a memory directory.

import type { JsonObject } from '../base/text/json.ts';

/** Who said it. Only text a person typed is `human`; injected context, reminders and notifications are `harness`. */
export type Speaker = 'human' | 'assistant' | 'tool' | 'subagent' | 'harness';

/**
 * How a text came from a person who did not type it in their own words. `pasted`: another's words that they sent
 * along (a fence, quoted lines, a mail, a file). `chosen`: what they answered to a question or a plan by choosing from
 * what was offered, e.g. `Which store?\nchose: SQLite`: they decided it, a model worded it.
 */
type Untyped = 'pasted' | 'chosen';

export type Part =
  /** The texts of a human's message, joined by line ends, are what was sent; without `untyped` a person typed it. */
  | { kind: 'text'; text: string; untyped?: Untyped }
  | { kind: 'call'; id: string; tool: string; input: unknown }
  /** `isUnmarked`: only words tell whether it failed, or nothing does; else a mark of the tool or of its program. */
  | { kind: 'result'; callId: string; text: string; isError: boolean; isUnmarked?: true }
  /** An image, a document, other binary data: `label` says what stood there, e.g. `image/png, 48 kB`. */
  | { kind: 'attachment'; label: string };

export type Call = Extract<Part, { kind: 'call' }>;
export type Result = Extract<Part, { kind: 'result' }>;

/** One API message. Records that are not part of the conversation (progress, snapshots, titles) yield none. */
export interface Message {
  /** Stable over growth and resumption of the session; unique within it. */
  id: string;
  speaker: Speaker;
  parts: Part[];
  /** A human prompt that begins a turn. A human's text queued while the agent works begins none. */
  beginsTurn: boolean;
  /** Of a prompt: what it was sent after, where the format tells. Two that follow the same: the first was taken back. */
  follows?: string;
  /** Said inside a subagent whose records are inlined in this file. */
  isSidechain: boolean;
  /** A person marked something in it as private: nothing of what it said is here, and its turn is never extracted. */
  isPrivate?: true;
  /** The input of nocturne's own agent: its turn is never extracted. */
  isOwn?: true;
  /** On a branch that was taken back: it counts as said by no one and only keeps its id and its place. */
  isAbandoned?: true;
  /** ISO-8601 UTC, where the record has a time. */
  at?: string;
  cwd?: string;
  branch?: string;
}

export type FormatName =
  | 'claude-code'
  | 'codex'
  | 'gemini'
  | 'copilot'
  | 'pi'
  | 'entire'
  | 'opencode'
  | 'atif'
  | 'messages'
  | 'openai';

/** Which subagent of which session a transcript records. */
export interface Subagent {
  session: string;
  agent: string;
}

/** A human prompt and all that answers it, up to the next human prompt. */
export interface Turn {
  /** The id of its first message: the prompt's, except for what precedes the first prompt or a session without one. */
  id: string;
  messages: Message[];
  /** Of its prompt. */
  follows?: string;
  /** When it began: the time of the prompt, else of the first message that has one. */
  at?: string;
}

/** An opened transcript; functions take this, not a path. */
export interface Session {
  /** Of a subagent's own transcript: `<session>/<agent>`. */
  id: string;
  format: FormatName;
  path: string;
  sizeBytes: number;
  /** ISO-8601 UTC. */
  modifiedAt: string;
  /** The first working directory recorded. */
  cwd?: string;
  subagent?: Subagent;
  /** Lines that were skipped or cut; complete once `messages()` was read to its end. */
  readonly unreadableLines: number;
  /** No file here is it: it was read of what is kept of it. */
  isKept?: boolean;
  /** In file order, from the beginning. Also after the file has grown. */
  messages(): AsyncIterable<Message>;
}

/** A file that is being looked at. */
export interface Source {
  path: string;
  /** Those of its beginning, where it is JSON lines. */
  records: JsonObject[];
  /**
   * The whole file as one JSON value, `undefined` where it is none, which JSON lines are not; parsed once.
   * Throws an AppError `bad-input` for a file past 256 MiB.
   */
  document(): unknown;
}

export interface Format {
  name: FormatName;
  /** Null where the file is not of this format. */
  open(source: Source): Reading | null;
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
  /** From the beginning, in file order. */
  messages(onUnreadable: OnUnreadable): Iterable<Message>;
}

/** A message before its place is known. */
export type Said = Pick<Message, 'id' | 'speaker' | 'parts'> & Partial<Pick<Message, 'beginsTurn' | 'follows'>>;
