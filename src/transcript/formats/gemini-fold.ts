// Folds Gemini CLI's records into the conversation that they amount to.
// A message is written again whenever it changes: the last writing counts, at the place of the first. What was rewound
// stays as abandoned. `$set.messages` is what the model will be sent next, not a new thing said: it may bring messages
// of its own, but a copy or a summary of what was said brings nothing and takes nothing away.

import type { Message, Part } from '../types.ts';
import { chainId } from './chain.ts';
import { asAbandoned, isObject, type JsonObject } from './format.ts';
import { contentParts, toolCallParts } from './gemini-parts.ts';
import { isSnapshot, typedCommand, typedParts } from './gemini-words.ts';
import { answersOf, askedIn } from './typed-answers.ts';
import { instantOf, textOf } from './values.ts';

interface Entry {
  id: string;
  type: unknown;
  at: string | undefined;
  said: Part[];
  /** What the person saw themselves type, where it differs from what was sent. */
  shown: Part[];
  calls: Part[];
  results: Part[];
  /** What it says, so that a copy under another id is known. */
  sayings: string[];
  isAbandoned: boolean;
}

export interface GeminiFile {
  cwd?: string;
  isSubagent: boolean;
}

export class GeminiFold {
  readonly #file: GeminiFile;
  readonly #onUnreadable: () => void;
  readonly #entries = new Map<string, Entry>();
  /** All that was said so far. */
  readonly #said = new Set<string>();

  constructor(file: GeminiFile, onUnreadable: () => void) {
    this.#file = file;
    this.#onUnreadable = onUnreadable;
  }

  /** A line of the file. */
  take(record: JsonObject): void {
    const { $rewindTo: target, $set: change } = record;
    if (target !== undefined) this.#rewind(target);
    else if (change !== undefined) this.#change(change);
    else if (typeof record.sessionId !== 'string') this.#put(record);
    else if (Array.isArray(record.messages)) this.takeAll(record.messages);
  }

  /** The messages of a document. */
  takeAll(records: readonly unknown[]): void {
    for (const record of records) this.#put(record);
  }

  *messages(): Generator<Message> {
    for (const entry of this.#entries.values()) yield* this.#messagesOf(entry);
  }

  #put(record: unknown): void {
    const entry = isObject(record) ? entryOf(record) : null;
    if (!entry) {
      this.#onUnreadable();
      return;
    }
    // What was rewound and is said again is said now.
    if (this.#entries.get(entry.id)?.isAbandoned) this.#entries.delete(entry.id);
    this.#keep(entry);
  }

  #keep(entry: Entry): void {
    this.#entries.set(entry.id, entry);
    for (const saying of entry.sayings) this.#said.add(saying);
  }

  #rewind(target: unknown): void {
    if (typeof target !== 'string' || !this.#entries.has(target)) {
      this.#onUnreadable();
      return;
    }
    let isAbandoned = false;
    for (const entry of this.#entries.values()) {
      isAbandoned ||= entry.id === target;
      entry.isAbandoned ||= isAbandoned;
    }
  }

  #change(change: unknown): void {
    const { messages } = isObject(change) ? change : {};
    if (messages === undefined) return;
    if (!Array.isArray(messages)) {
      this.#onUnreadable();
      return;
    }
    const given = messages.map((record) => (isObject(record) ? entryOf(record) : null));
    if (given.includes(null)) this.#onUnreadable();
    const next = given.filter((entry) => entry !== null);
    if (!next.some(({ said }) => isSnapshot(said))) this.#abandonAbsent(next);
    for (const entry of next) {
      const known = this.#entries.get(entry.id);
      if (known && !known.isAbandoned) this.#keep({ ...entry, shown: known.shown, at: known.at });
      else if (!entry.sayings.every((saying) => this.#said.has(saying))) this.#keep(entry);
    }
  }

  /** A prompt that is no longer there, neither by id nor by its words, was taken back with all that answered it. */
  #abandonAbsent(next: readonly Entry[]): void {
    const ids = new Set(next.map(({ id }) => id));
    const said = new Set(next.flatMap(({ sayings }) => sayings));
    let isAbsent = false;
    for (const entry of this.#entries.values()) {
      if (entry.type === 'user') isAbsent = !ids.has(entry.id) && !entry.sayings.every((saying) => said.has(saying));
      entry.isAbandoned ||= isAbsent;
    }
  }

  *#messagesOf(entry: Entry): Generator<Message> {
    const { id, type, said, calls, results } = entry;
    if (type === 'gemini') {
      const own = said.filter((part) => part.kind !== 'call' || calls.length === 0);
      yield* this.#say(entry, { id, speaker: 'assistant', parts: [...own, ...calls] });
      yield* this.#say(entry, { id: chainId(id, 'results', []), speaker: 'tool', parts: results });
      const typed = answersIn(calls, results);
      yield* this.#say(entry, { id: chainId(id, 'answer', []), speaker: 'human', parts: typed });
    } else if (type === 'user' && said.length > 0 && said.every((part) => part.kind === 'result')) {
      yield* this.#say(entry, { id, speaker: 'tool', parts: said });
    } else {
      const isPersons = type === 'user' && !this.#file.isSubagent;
      const own = isPersons ? typedParts(typedOf(entry)) : null;
      // Only what was sent for it is the model's: a command of the program's own is not.
      const command = isPersons ? typedCommand(entry.shown) : null;
      if (own) yield* this.#say(entry, { id, speaker: 'human', parts: own, beginsTurn: true });
      else if (command) yield* this.#say(entry, { id, speaker: 'human', parts: command });
      else yield* this.#say(entry, { id, speaker: 'harness', parts: said });
    }
  }

  *#say(entry: Entry, said: Pick<Message, 'id' | 'speaker' | 'parts'> & { beginsTurn?: boolean }): Generator<Message> {
    if (said.parts.length === 0) return;
    const { isSubagent, cwd } = this.#file;
    const message: Message = { beginsTurn: false, isSidechain: isSubagent, ...said };
    if (isSubagent && said.speaker !== 'tool' && said.speaker !== 'harness') message.speaker = 'subagent';
    if (entry.at !== undefined) message.at = entry.at;
    if (cwd !== undefined) message.cwd = cwd;
    yield entry.isAbandoned ? asAbandoned(message) : message;
  }
}

function entryOf(record: JsonObject): Entry | null {
  const id = textOf(record.id);
  const { type } = record;
  if (id === undefined || typeof type !== 'string') return null;
  const said = contentParts(record.content);
  const { calls, results } = toolCallParts(record.toolCalls);
  const shown = contentParts(record.displayContent);
  const sayings = sayingsOf(type, [...said, ...calls, ...results]);
  return { id, type, at: instantOf(record.timestamp), said, shown, calls, results, sayings, isAbandoned: false };
}

/** The words that were shown, and the pictures that were sent with them. */
function typedOf({ said, shown }: Entry): Part[] {
  return shown.length === 0 ? said : [...shown, ...said.filter((part) => part.kind === 'attachment')];
}

function sayingsOf(type: string, parts: readonly Part[]): string[] {
  const text = parts.filter((part) => part.kind === 'text');
  const sayings = parts.flatMap((part) => {
    if (part.kind === 'call') return [`call ${part.id}`];
    return part.kind === 'result' ? [`result ${part.callId}`] : [];
  });
  return text.length === 0 ? sayings : [...sayings, chainId('', type, text)];
}

function answersIn(calls: readonly Part[], results: readonly Part[]): Part[] {
  return calls.flatMap((call) => {
    const result = results.find((part) => part.kind === 'result' && call.kind === 'call' && part.callId === call.id);
    if (call.kind !== 'call' || call.tool !== 'ask_user' || result?.kind !== 'result') return [];
    return answersOf(result.text, askedIn(call.input));
  });
}
