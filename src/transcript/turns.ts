// Cuts a session into turns, and says which of them are settled.
// One turn is held at a time. A turn's id never changes as the session grows.

import type { Message, Turn } from './messages.ts';

/**
 * How long the file must be quiet where the last turn's tool has not answered: it may run for long, or it may have
 * died with its session, which must not keep the turn open for ever.
 */
const QUIET_WITH_OPEN_CALL_MS = 24 * 60 * 60_000;

/**
 * The turns of a session, in order. What precedes the first prompt is a turn of its own if an agent did something in
 * it (as in a subagent's transcript); mere preamble of the program is put at the head of the first turn.
 */
export async function* readTurns(messages: AsyncIterable<Message>): AsyncGenerator<Turn> {
  let prompt: Message | null = null;
  let gathered: Message[] = [];
  for await (const message of messages) {
    if (message.beginsTurn) {
      if (isTurn(gathered) && !isPreamble(gathered)) {
        yield toTurn(prompt, gathered);
        gathered = [];
      }
      prompt = message;
    }
    gathered.push(message);
  }
  if (isTurn(gathered)) yield toTurn(prompt, gathered);
}

/** Whether a tool was called in the turn and its result is not there. */
export function hasOpenCall(turn: Turn): boolean {
  const parts = turn.messages.flatMap((message) => (message.isAbandoned ? [] : message.parts));
  const answered = new Set(parts.flatMap((part) => (part.kind === 'result' ? [part.callId] : [])));
  return parts.some((part) => part.kind === 'call' && !answered.has(part.id));
}

/** Whether a person marked something in the turn as private. Then nothing of it is extracted, nor shown as context. */
export function isPrivate(turn: Turn): boolean {
  return turn.messages.some((message) => message.isPrivate);
}

/** Whether the turn is nocturne's own agent at work. */
export function isOwn(turn: Turn): boolean {
  return turn.messages.some((message) => message.isOwn);
}

/** Tells which turns a person took back, by editing a prompt and sending it again after the same message. */
export class Branches {
  readonly #turns: string[] = [];
  readonly #firstAfter = new Map<string, string>();

  /** The ids of the earlier turns that `turn`, the next one of the session, takes the place of. */
  takenBackBy(turn: Turn): string[] {
    const resent = turn.follows === undefined ? undefined : this.#firstAfter.get(turn.follows);
    const at = resent === undefined ? -1 : this.#turns.indexOf(resent);
    const takenBack = at === -1 ? [] : this.#turns.splice(at);
    this.#turns.push(turn.id);
    if (turn.follows !== undefined) this.#firstAfter.set(turn.follows, turn.id);
    return takenBack;
  }
}

interface TurnSigns {
  /** Whether another turn follows it. */
  hasNext: boolean;
  /** Whether the session is known, or taken, to have ended. */
  ended: boolean;
  /** Time since the file last changed. */
  unchangedMs: number;
  /** How long the file must be quiet for its last turn to count as finished. */
  quietMs: number;
}

/** Whether nothing more will be added to the turn, as far as one can tell. */
export function isSettled(turn: Turn, { hasNext, ended, unchangedMs, quietMs }: TurnSigns): boolean {
  if (hasNext || ended) return true;
  return unchangedMs >= (hasOpenCall(turn) ? Math.max(quietMs, QUIET_WITH_OPEN_CALL_MS) : quietMs);
}

function isTurn(messages: readonly Message[]): boolean {
  return messages.some((message) => message.speaker !== 'harness');
}

/** What precedes the first prompt and got no answer: a command to the program, a plan that was approved. */
function isPreamble(messages: readonly Message[]): boolean {
  const ids = new Set(messages.map(({ id }) => id));
  return messages.every(
    ({ id, speaker, beginsTurn }) =>
      speaker === 'harness' ||
      (speaker === 'human' && !beginsTurn) ||
      (speaker === 'assistant' && ids.has(`${id}/answer`)),
  );
}

function toTurn(prompt: Message | null, messages: Message[]): Turn {
  const id = (prompt ?? (messages[0] as Message)).id;
  const at = prompt?.at ?? messages.find((message) => message.at !== undefined)?.at;
  const turn: Turn = { id, messages };
  if (at !== undefined) turn.at = at;
  if (prompt?.follows !== undefined) turn.follows = prompt.follows;
  return turn;
}
