// What single records of Claude Code say, and the texts that it holds back while the agent works, as its
// `queue-operation` records tell of them. A queued text that a record or an attachment says too is dropped here. One
// that was given to the agent without a record (`remove`, seldom `dequeue`) stays where it was given; one that was never
// sent is left over; one taken back is gone. An operation that names no text is taken to be about the oldest, or about
// all where it takes all back.

import { isObject, type JsonObject, textOf } from '../../base/text/json.ts';
import type { Message, Part, Said } from '../messages.ts';
import { humanParts } from './human-text.ts';
import { blocksOf, instantOf, partsOf, toMessage } from './message-builder.ts';

export interface Queued {
  record: JsonObject;
  parts: Part[];
  /** Where it was given to the agent: the message there until a record says the same. That comes next, or soon, or never. */
  message?: Message;
  /** When it was given to the agent; undefined: it waits. */
  givenAt?: string;
  /** The operation that gave it named no text: it may have been about another. */
  isGuess?: 'dequeue' | 'remove';
}

export class TextQueue {
  /** In the order in which they were queued. */
  #queued: Queued[] = [];

  /** Takes an operation; answers the text that it gave to the agent, as far as one can tell. */
  take(record: JsonObject): Queued | undefined {
    const { operation, content } = record;
    const parts = partsOf(blocksOf(content) ?? []);
    const waiting = this.#queued.filter(isWaiting);
    const named = waiting.find((queued) => parts.length === 0 || wordsOf(queued.parts) === wordsOf(parts));
    if (operation === 'enqueue' && parts.length > 0) this.#queued.push({ record, parts });
    if (operation === 'popAll') this.#remove(...(parts.length > 0 ? [named] : waiting));
    if (!named || (operation !== 'dequeue' && operation !== 'remove')) return undefined;
    if (parts.length === 0) named.isGuess = operation;
    named.givenAt = textOf(record.timestamp) ?? '';
    return named;
  }

  /** Drops the text that was sent as `parts`, if it had been queued; answers what was dropped. */
  drop(parts: readonly Part[]): Queued[] {
    const same = this.#queued.filter((queued) => wordsOf(queued.parts) === wordsOf(parts));
    const [given] = same.filter((queued) => !isWaiting(queued));
    if (given) return this.#remove(given);
    const [waiting] = same;
    return waiting ? [...this.#remove(waiting), ...this.#takeBackGuess()] : [];
  }

  /** What was given before an instant stays where it is: no record of it is waited for any more. */
  decide(before?: string): Queued[] {
    // A rewritten file may begin with the end of its queue.
    return this.#remove(
      ...this.#queued.filter(({ givenAt }) => givenAt !== undefined && !(before !== undefined && givenAt > before)),
    );
  }

  /** All that was never given, which is dropped with it. */
  clear(): Queued[] {
    return this.#remove(...this.#queued.filter(isWaiting));
  }

  #remove(...queued: (Queued | undefined)[]): Queued[] {
    const removed = queued.filter((each) => each !== undefined);
    this.#queued = this.#queued.filter((each) => !removed.includes(each));
    return removed;
  }

  /** A record says what still waits: so the operation before it was about that, not about what was taken for it. */
  #takeBackGuess(): Queued[] {
    const at = this.#queued.findIndex(({ isGuess }) => isGuess !== undefined);
    const guess = this.#queued[at];
    if (!guess) return [];
    const { record, parts, isGuess } = guess;
    if (isGuess === 'remove') this.#queued[at] = { record, parts };
    else this.#remove(guess);
    return [guess];
  }
}

function isWaiting({ givenAt }: Queued): boolean {
  return givenAt === undefined;
}

function wordsOf(parts: readonly Part[]): string {
  return parts
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('')
    .trim();
}

export function isSpoken(record: JsonObject): boolean {
  const isMessage = record.type === 'user' || record.type === 'assistant';
  return isMessage && (typeof record.uuid === 'string' || typeof record.sessionId === 'string');
}

/** A record with which a session can begin before anybody has said anything. */
export function isBookkeeping(record: JsonObject): boolean {
  const { type } = record;
  if (typeof type !== 'string') return false;
  if (type === 'summary') return typeof record.leafUuid === 'string';
  if (type === 'file-history-snapshot') return isObject(record.snapshot);
  return typeof record.sessionId === 'string' && !('payload' in record) && !('data' in record && type !== 'progress');
}

const FLAGS_OF_MACHINES = `isMeta isCompactSummary isVisibleInTranscriptOnly isSidechain isSynthetic isVirtual
  turnCompanion`.split(/\s+/);

/** Whether the record itself says that no person sent it. */
export function isMachines(record: JsonObject): boolean {
  if (FLAGS_OF_MACHINES.some((flag) => record[flag] === true)) return true;
  const origin = isObject(record.origin) ? record.origin.kind : (record.origin ?? undefined);
  if (origin === undefined ? !PEOPLES_SOURCES.has(record.promptSource) : origin !== 'human') return true;
  // The document of a skill that was called; what a schedule, a notice or another session set going.
  return typeof record.sourceToolUseID === 'string' || !PEOPLES_TURNS.has(record.turnOrigin);
}

/** Older versions do not say it; in the SDK a person may have typed it. */
const PEOPLES_TURNS: ReadonlySet<unknown> = new Set([undefined, 'human', 'sdk']);
const PEOPLES_SOURCES: ReadonlySet<unknown> = new Set([undefined, 'typed', 'queued', 'sdk', 'suggestion_accepted']);

/** What was sent as a person's prompt; a model worded what it suggested and they took. */
export function personsParts(record: JsonObject, parts: Part[]): Part[] | null {
  const own = humanParts(parts);
  return wasSuggested(record) && own
    ? own.map((part) => (part.kind === 'text' ? { ...part, untyped: 'chosen' } : part))
    : own;
}

export function wasSuggested({ promptSource }: JsonObject): boolean {
  return promptSource === 'suggestion_accepted';
}

export function messageOf(record: JsonObject, said: Said): Message {
  return toMessage(said, {
    at: instantOf(record.timestamp),
    cwd: textOf(record.cwd),
    branch: textOf(record.gitBranch),
    isSidechain: record.isSidechain === true,
  });
}

export function uuidOf(record: JsonObject): string | undefined {
  return textOf(record.uuid);
}

/** An instant tells two records apart only with its milliseconds: a whole second is what people make up. */
export function repeatKey({ timestamp }: JsonObject): string | undefined {
  return typeof timestamp === 'string' && /\.\d*[1-9]\d*Z$/.test(timestamp) ? timestamp : undefined;
}

/** The call that a part belongs to, by which it is known again. */
export function idIn(part: Part): string {
  return part.kind === 'call' ? ` ${part.id}` : part.kind === 'result' ? ` ${part.callId}` : '';
}

/** What a part without a call says. */
export function said(part: Part): string {
  if (part.kind === 'call') return part.id === '' ? (JSON.stringify(part.input) ?? '') : '';
  return part.kind === 'attachment' ? part.label : part.text;
}
