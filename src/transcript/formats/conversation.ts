// What was said, in Anthropic's blocks → messages with an id and a speaker. All formats but Claude Code's end here.
// A tool's results come before what stands beside them: a person who speaks in the same message knew them, and begins
// the next turn. Every id is unique; a thing that carries none of its own gets one chained to what came before it.

import { toInstant } from '../../base/time.ts';
import type { Message, Part, Speaker } from '../types.ts';
import { isResultBlock, partsOf } from './blocks.ts';
import { chainId } from './chain.ts';
import { asksPerson, saidToCalls } from './claude-code-answers.ts';
import type { JsonObject } from './format.ts';
import { commandLine, humanParts } from './human-text.ts';

export interface Utterance {
  /** `user`: tools' results, and what a person typed, save for what reads like a program's. `harness`: neither. */
  by: 'user' | 'assistant' | 'harness';
  blocks: readonly JsonObject[];
  /** The format's own id, where it is stable over growth and copies and differs from session to session. */
  id?: string;
  /** ISO-8601, or milliseconds since 1970; anything else is no time. */
  at?: unknown;
  cwd?: unknown;
  /** Said to or by a subagent: then nobody in it is human. */
  isSidechain?: boolean;
}

type Call = Extract<Part, { kind: 'call' }>;

export class Conversation {
  readonly #ids: Set<string>;
  /** Calls that ask a person something and have no result so far. */
  readonly #asked = new Map<string, Call>();
  #lastId: string;

  /** `seed` keeps the chained ids of two sessions apart that begin with the same words. */
  constructor(seed = '', ids = new Set<string>()) {
    this.#lastId = seed;
    this.#ids = ids;
  }

  /** A branch that was taken back: what is said there has no id that this one has, and changes none. */
  branch(): Conversation {
    return new Conversation(`${this.#lastId} abandoned`, this.#ids);
  }

  /** None for what says nothing. */
  *add(utterance: Utterance): Generator<Message> {
    const { by, blocks, id, isSidechain = false } = utterance;
    const isResult = (block: JsonObject): boolean => by === 'user' && isResultBlock(block);
    const results = blocks.filter(isResult);
    const said = blocks.filter((block) => !isResult(block));
    const resultParts = partsOf(results);
    if (resultParts.length > 0) {
      const resultId = this.#idOf(id, by, results);
      yield this.#toMessage(utterance, { id: resultId, speaker: 'tool', parts: resultParts });
      if (!isSidechain) yield* this.#answers(utterance, { id: resultId, results: resultParts });
    }
    const saidParts = partsOf(said);
    if (saidParts.length === 0) return;
    for (const part of saidParts) if (part.kind === 'call' && asksPerson(part.tool)) this.#asked.set(part.id, part);
    const command = by === 'user' && !isSidechain ? commandLine(saidParts) : null;
    if (command?.hasArguments) {
      const parts: Part[] = [{ kind: 'text', text: command.text }];
      yield this.#toMessage(utterance, { id: this.#idOf(id, by, said), speaker: 'human', parts }, false);
      return;
    }
    const own = by === 'user' && !isSidechain ? humanParts(saidParts) : null;
    const speaker = own ? 'human' : by !== 'assistant' ? 'harness' : isSidechain ? 'subagent' : 'assistant';
    const saidId = id !== undefined && resultParts.length > 0 ? `${id}/text` : id;
    yield this.#toMessage(utterance, { id: this.#idOf(saidId, by, said), speaker, parts: own ?? saidParts });
  }

  /** What a person chose or typed in a dialog, and the plan that they approved. */
  *#answers(utterance: Utterance, { id, results }: { id: string; results: readonly Part[] }): Generator<Message> {
    const callOf = (callId: string): Call | undefined => {
      const call = this.#asked.get(callId);
      this.#asked.delete(callId);
      return call;
    };
    const { plans, parts } = saidToCalls(results, { callOf });
    const written = plans.map((text): Part => ({ kind: 'text', text }));
    if (plans.length > 0) yield this.#toMessage(utterance, { id: `${id}/plan`, speaker: 'assistant', parts: written });
    if (parts.length > 0) yield this.#toMessage(utterance, { id: `${id}/answer`, speaker: 'human', parts }, false);
  }

  #idOf(own: string | undefined, by: Utterance['by'], blocks: readonly JsonObject[]): string {
    const isNew = own !== undefined && own !== '' && !this.#ids.has(own);
    const id = isNew ? own : chainId(this.#lastId, by, blocks);
    this.#ids.add(id);
    this.#lastId = id;
    return id;
  }

  #toMessage(
    { at, cwd, isSidechain = false }: Utterance,
    said: { id: string; speaker: Speaker; parts: Part[] },
    beginsTurn = said.speaker === 'human',
  ): Message {
    const message: Message = { ...said, beginsTurn, isSidechain };
    const instant = toInstant(at);
    if (instant !== undefined) message.at = instant;
    if (typeof cwd === 'string' && cwd !== '') message.cwd = cwd;
    return message;
  }
}
