// Codex's rollout records → messages, one record at a time.
// Promises: a person's words come from `user_message` events, since the items that hold them too also hold what the
// program injected; everything is said once; reasoning and compaction are dropped; every id is unique and survives
// growth, and a fork, which copies records under new times, keeps those of what it copied.

import type { Message, Part, Speaker } from '../types.ts';
import { chainId } from './chain.ts';
import {
  callOf,
  contentParts,
  enveloped,
  failedCall,
  failedItem,
  imagePart,
  isAnsweredElsewhere,
  outputOf,
} from './codex-items.ts';
import { typedParts, withoutInjected } from './codex-words.ts';
import { asAbandoned, isObject, type JsonObject } from './format.ts';
import { MessageIds } from './message-ids.ts';
import { type Asked, answersOf, askedIn } from './typed-answers.ts';
import { instantOf, objectAt, textOf } from './values.ts';

export interface CodexFile {
  cwd?: string;
  branch?: string;
  /** Set in a subagent's rollout, in which nobody is human. */
  agent?: string;
  /** Whether the file records what a person typed as events. If not, the items have to do. */
  hasUserEvents: boolean;
  /** Which of the person's messages, counted from 0, were rolled back later, with all that answered them. */
  rolledBack: ReadonlySet<number>;
}

interface Saying {
  speaker: Speaker;
  parts: Part[];
  /** What tells the message apart from all others, in this file and in copies of it. */
  key?: string;
  beginsTurn?: boolean;
  /** No id of what comes after depends on it. */
  isBeside?: boolean;
}

export class CodexReader {
  readonly #file: CodexFile;
  readonly #onUnreadable: () => void;
  readonly #ids: MessageIds;
  #at: string | undefined;
  #cwd: string | undefined;
  #turnId: string | undefined;
  /** Whether a task is running that was given its prompt: what is typed now joins it. */
  #isPrompted = false;
  #isRunning = false;
  #prompts = 0;
  #isRolledBack = false;
  readonly #failed = new Set<string>();
  /** Messages to be handed out. */
  #ready: Message[] = [];
  /** The questions that were asked and not yet answered. */
  readonly #asked = new Map<string, Asked>();

  constructor(file: CodexFile, onUnreadable: () => void) {
    this.#file = file;
    this.#cwd = file.cwd;
    this.#onUnreadable = onUnreadable;
    this.#ids = new MessageIds(file.agent);
  }

  /** How many messages of the person were taken. */
  get prompts(): number {
    return this.#prompts;
  }

  take(record: JsonObject): void {
    const { type, payload } = enveloped(record);
    if (typeof type !== 'string' || !isObject(payload)) {
      this.#onUnreadable();
      return;
    }
    this.#at = instantOf(record.timestamp);
    if (type === 'turn_context') {
      this.#cwd = textOf(payload.cwd) ?? this.#cwd;
      this.#startTurn(payload.turn_id);
    } else if (type === 'event_msg') {
      this.#takeEvent(payload);
    } else if (type === 'response_item') {
      this.#takeItem(payload);
    } else if (type === 'inter_agent_communication') {
      this.#takeReport(payload);
    }
  }

  /** What was said since the last call. */
  drain(): Message[] {
    return this.#ready.splice(0);
  }

  #takeEvent(event: JsonObject): void {
    switch (event.type) {
      case 'user_message': {
        if (typeof event.message !== 'string') {
          this.#onUnreadable();
          return;
        }
        const images = [event.images, event.local_images].flatMap((list) => (Array.isArray(list) ? list : []));
        const isPlain = event.kind === undefined || event.kind === 'plain';
        this.#takePrompt([...contentParts(event.message), ...images.map(imagePart)], isPlain);
        break;
      }
      case 'item_completed':
        if (!isObject(event.item)) {
          this.#onUnreadable();
          return;
        }
        if (event.item.type === 'UserMessage') this.#takePrompt(contentParts(event.item.content), true);
        else this.#noteFailure(failedItem(event.item));
        break;
      case 'task_started':
      case 'turn_started':
        this.#isRunning = true;
        this.#isPrompted = false;
        this.#startTurn(event.turn_id);
        break;
      case 'task_complete':
      case 'turn_complete':
      case 'turn_aborted':
        this.#isRunning = false;
        break;
      case 'entered_review_mode': {
        // What a person typed behind `/review`; all other reviews they chose from a list.
        const asked = textOf(objectAt(event, 'target').instructions);
        if (asked === undefined || this.#file.agent !== undefined) break;
        const parts: Part[] = [{ kind: 'text', text: `/review ${asked}` }];
        this.#say({ speaker: 'human', parts, key: `${this.#turnId} review ${asked}`, isBeside: true });
        break;
      }
      case 'thread_rolled_back':
        this.#isRolledBack = false;
        break;
      case 'exec_command_end':
      case 'patch_apply_end':
      case 'mcp_tool_call_end':
      case 'dynamic_tool_call_response':
        this.#noteFailure(failedCall(event));
        break;
      default:
        if (typeof event.type !== 'string') this.#onUnreadable();
    }
  }

  #noteFailure(call: string | undefined): void {
    if (call !== undefined) this.#failed.add(call);
  }

  #takeItem(item: JsonObject): void {
    const call = callOf(item);
    const key = textOf(item.call_id) ?? textOf(item.id);
    if (call) {
      const id = call.id === '' ? `call ${this.#ids.next(undefined, 'assistant', [call])}` : call.id;
      const answer: Part[] = isAnsweredElsewhere(item)
        ? [{ kind: 'result', callId: id, text: '', isError: false }]
        : [];
      if (call.tool.endsWith('request_user_input')) this.#asked.set(id, askedIn(call.input));
      this.#say({ speaker: 'assistant', parts: [{ ...call, id }, ...answer], key });
    } else if (item.type === 'message') {
      this.#takeMessage(item);
    } else if (item.type === 'agent_message') {
      this.#takeReport(item);
    } else if (typeof item.type !== 'string') {
      this.#onUnreadable();
    } else if (/(?:call|search)_output$/.test(item.type)) {
      this.#takeOutput(item);
    }
  }

  /** What one agent sent to another: in the file of the session itself, what its subagents report. */
  #takeReport(sent: JsonObject): void {
    const speaker = this.#file.agent === undefined && sent.author !== '/root' ? 'subagent' : 'harness';
    this.#say({ speaker, parts: contentParts(sent.content), key: textOf(sent.id) });
  }

  #takeOutput(item: JsonObject): void {
    const callId = textOf(item.call_id);
    if (callId === undefined) {
      this.#onUnreadable();
      return;
    }
    const parts = outputOf(item, this.#failed.delete(callId));
    this.#say({ speaker: 'tool', parts, key: `${callId} output` });
    const asked = this.#asked.get(callId);
    this.#asked.delete(callId);
    const [result] = parts;
    const answer = asked && result?.kind === 'result' ? answersOf(result.text, asked) : [];
    const isTyped = answer.some((part) => part.kind === 'text' && part.untyped === undefined);
    this.#say({ speaker: 'human', parts: answer, key: `${callId} answer`, isBeside: !isTyped });
  }

  #takeMessage(item: JsonObject): void {
    const parts = contentParts(item.content);
    if (item.role === 'assistant') {
      this.#say({ speaker: 'assistant', parts, key: textOf(item.id) });
    } else if (item.role === 'user') {
      const [first] = parts;
      const isReport = first?.kind === 'text' && first.text.startsWith('<subagent_notification>');
      const own = withoutInjected(parts);
      if (isReport) this.#say({ speaker: 'subagent', parts });
      else if (own.length === 0) this.#say({ speaker: 'harness', parts });
      // Else what the person typed stands in an event as well.
      else if (!this.#file.hasUserEvents) this.#takePrompt(own, true);
    } else {
      this.#say({ speaker: 'harness', parts });
    }
  }

  #takePrompt(parts: Part[], isPlain: boolean): void {
    const own = isPlain && this.#file.agent === undefined ? typedParts(parts) : null;
    if (own === null) {
      this.#say({ speaker: 'harness', parts });
      return;
    }
    this.#isRolledBack = this.#file.rolledBack.has(this.#prompts++);
    const beginsTurn = !(this.#isRunning && this.#isPrompted);
    this.#isPrompted = true;
    this.#say({ speaker: 'human', parts: own, beginsTurn });
  }

  #startTurn(turnId: unknown): void {
    if (typeof turnId !== 'string' || turnId === this.#turnId) return;
    this.#turnId = turnId;
    this.#ids.restart(this.#own(turnId));
  }

  /** A subagent's rollout may begin with a copy of its parent's: what is covered there was not covered by this. */
  #own(key: string): string {
    return chainId(this.#file.agent ?? '', key, []);
  }

  #say({ speaker, parts, key, beginsTurn = false, isBeside = false }: Saying): void {
    if (parts.length === 0) return;
    const isInside = this.#file.agent !== undefined;
    const own = key === undefined ? undefined : this.#own(key);
    const message: Message = {
      id: isBeside && own !== undefined ? this.#ids.beside(own) : this.#ids.next(own, speaker, parts),
      speaker: isInside && (speaker === 'assistant' || speaker === 'human') ? 'subagent' : speaker,
      parts,
      beginsTurn,
      isSidechain: isInside,
    };
    if (this.#at !== undefined) message.at = this.#at;
    if (this.#cwd !== undefined) message.cwd = this.#cwd;
    if (this.#file.branch !== undefined) message.branch = this.#file.branch;
    this.#ready.push(this.#isRolledBack ? asAbandoned(message) : message);
  }
}
