// Codex's rollouts: JSON lines `{ timestamp, type, payload }`, read in file order.
// Promises: a person's words come from `user_message` events, since the items that hold them too also hold what the
// program injected; everything is said once; reasoning and compaction are dropped; every id is unique and survives
// growth, and a fork, which copies records under new times, keeps those of what it copied.
// Before the first record is read it has to be known whose session it is, where a person's words are, what was rolled back.

import { basename, extname } from 'node:path';
import { isObject, type JsonObject, objectAt, textOf } from '../../base/text/json.ts';
import type { Call, Format, Message, Part, Speaker } from '../messages.ts';
import { messagesOf, type RecordReader, readObjects, scanDecoded } from '../records.ts';
import {
  callOf,
  contentParts,
  failedCall,
  failedItem,
  imagePart,
  isAnsweredElsewhere,
  outputOf,
  typedParts,
  withoutInjected,
} from './codex-items.ts';
import { answersOf, type Question, questionsIn, shellCommand } from './human-text.ts';
import { chainId, instantOf, MessageBuilder, namesOf, textParts } from './message-builder.ts';

const RECORD_START = '{"timestamp":';

const RECORD_TYPES = new Set(['session_meta', 'turn_context', 'response_item', 'event_msg', 'compacted']);

export const codex: Format = {
  name: 'codex',

  open({ path, records }) {
    if (!records.some(isRecord)) return null;
    const { meta, cwd } = findMeta(path);
    const id = textOf(meta.id) ?? basename(path, extname(path));
    const parent = parentOf(meta);
    const names = namesOf(id, parent);
    const about = { cwd, branch: textOf(objectAt(meta, 'git').branch), agent: names.subagent?.agent };
    return {
      ...names,
      cwd,
      messages(onUnreadable) {
        const known = { ...about, hasUserEvents: holds(path, 'user_message', 'UserMessage') };
        const rolledBack = holds(path, 'thread_rolled_back') ? findRolledBack(path, known) : new Set<number>();
        const reader = new CodexReader({ ...known, rolledBack }, onUnreadable);
        return messagesOf(readObjects(path, RECORD_START, onUnreadable), reader);
      },
    };
  },
};

function isRecord(record: JsonObject): boolean {
  return typeof record.type === 'string' && RECORD_TYPES.has(record.type) && isObject(record.payload);
}

/** The session that this one's agent works for; itself, where no person takes part and it names no other. */
function parentOf(meta: JsonObject): string | undefined {
  const source = objectAt(meta, 'source');
  const spawn = objectAt(objectAt(source, 'subagent'), 'thread_spawn');
  const named = textOf(meta.parent_thread_id) ?? textOf(spawn.parent_thread_id);
  const isInner = 'subagent' in source || 'internal' in source;
  const isPersons = !isInner && (textOf(meta.thread_source) ?? 'user') === 'user';
  return named ?? (isPersons ? undefined : (textOf(meta.session_id) ?? textOf(meta.id)));
}

/** Of the first `session_meta`: those that follow came with copied history. */
function findMeta(path: string): { meta: JsonObject; cwd?: string } {
  let meta: JsonObject | undefined;
  let cwd: string | undefined;
  for (const { type, payload } of readObjects(path, RECORD_START)) {
    if (!isObject(payload)) continue;
    if (type === 'session_meta') meta ??= payload;
    if (type === 'session_meta' || type === 'turn_context') cwd ??= textOf(payload.cwd);
    if (meta && cwd !== undefined) break;
  }
  return { meta: meta ?? {}, cwd };
}

/** Whether one of these is in the file as the whole of a value, by its bytes: far cheaper than reading its records. */
function holds(path: string, ...values: string[]): boolean {
  // Within a text of the conversation the quotes would be escaped.
  const marks = values.map((value) => Buffer.from(`"${value}"`));
  let tail: Buffer = Buffer.alloc(0);
  for (const chunk of scanDecoded(path)) {
    const piece = Buffer.concat([tail, chunk]);
    if (marks.some((mark) => piece.includes(mark))) return true;
    tail = chunk.subarray(-LONGEST_MARK);
  }
  return false;
}

const LONGEST_MARK = 40;

/** Which of the person's messages, counted from 0 as the reader counts them, were taken back. */
function findRolledBack(path: string, file: Omit<CodexFile, 'rolledBack'>): Set<number> {
  const rolledBack = new Set<number>();
  const standing: number[] = [];
  const reader = new CodexReader({ ...file, rolledBack }, () => undefined);
  for (const record of readObjects(path, RECORD_START)) {
    const before = reader.prompts;
    reader.take(record);
    reader.drain();
    if (reader.prompts > before) standing.push(before);
    const { type, num_turns: turns } = objectAt(record, 'payload');
    if (type !== 'thread_rolled_back' || typeof turns !== 'number' || !Number.isInteger(turns) || turns < 1) continue;
    for (const prompt of standing.splice(-turns)) rolledBack.add(prompt);
  }
  return rolledBack;
}

interface CodexFile {
  cwd?: string;
  branch?: string;
  /** Set in a subagent's rollout, in which nobody is human. */
  agent?: string;
  /** Whether the file records what a person typed as events. If not, the items have to do. */
  hasUserEvents: boolean;
  /** Which of the person's messages, counted from 0, were rolled back later, with all that answered them. */
  rolledBack: ReadonlySet<number>;
}

class CodexReader implements RecordReader {
  readonly #file: CodexFile;
  readonly #onUnreadable: () => void;
  readonly #builder: MessageBuilder;
  #turnId: string | undefined;
  /** Whether a task is running that was given its prompt: what is typed now joins it. */
  #isPrompted = false;
  #isRunning = false;
  /** How many messages of the person were taken. */
  prompts = 0;
  readonly #failed = new Set<string>();
  /** The questions that were asked and not yet answered. */
  readonly #asked = new Map<string, Question[]>();

  constructor(file: CodexFile, onUnreadable: () => void) {
    const { cwd, branch, agent } = file;
    this.#file = file;
    this.#onUnreadable = onUnreadable;
    this.#builder = new MessageBuilder(agent);
    this.#builder.place = { cwd, branch, isSidechain: agent !== undefined };
  }

  drain(): Message[] {
    return this.#builder.drain();
  }

  take(record: JsonObject): void {
    const { type, payload } = record;
    if (typeof type !== 'string' || !isObject(payload)) {
      this.#onUnreadable();
      return;
    }
    const { place } = this.#builder;
    place.at = instantOf(record.timestamp);
    if (type === 'turn_context') {
      place.cwd = textOf(payload.cwd) ?? place.cwd;
      this.#startTurn(payload.turn_id);
    } else if (type === 'event_msg') {
      this.#takeEvent(payload);
    } else if (type === 'response_item') {
      this.#takeItem(payload);
    } else if (type === 'inter_agent_communication') {
      this.#takeReport(payload);
    }
  }

  #takeEvent(event: JsonObject): void {
    switch (event.type) {
      case 'user_message':
        this.#takeUserMessage(event);
        break;
      case 'item_completed':
        if (!isObject(event.item)) this.#onUnreadable();
        else if (event.item.type === 'UserMessage') this.#takePrompt(contentParts(event.item.content));
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
        this.#say('human', textParts(`/review ${asked}`), { key: `${this.#turnId} review ${asked}`, isAside: true });
        break;
      }
      case 'thread_rolled_back':
        this.#builder.place.isAbandoned = undefined;
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

  #takeUserMessage({ message, images, local_images: localImages, kind }: JsonObject): void {
    const pictures = [images, localImages].flatMap((list) => (Array.isArray(list) ? list : []));
    const isPlain = kind === undefined || kind === 'plain';
    if (typeof message !== 'string') this.#onUnreadable();
    else this.#takePrompt([...textParts(message), ...pictures.map(imagePart)], isPlain);
  }

  #noteFailure(call: string | undefined): void {
    if (call !== undefined) this.#failed.add(call);
  }

  #takeItem(item: JsonObject): void {
    const call = callOf(item);
    if (call) this.#takeCall(item, call);
    else if (item.type === 'message') this.#takeMessage(item);
    else if (item.type === 'agent_message') this.#takeReport(item);
    else if (typeof item.type !== 'string') this.#onUnreadable();
    else if (/(?:call|search)_output$/.test(item.type)) this.#takeOutput(item);
  }

  #takeCall(item: JsonObject, call: Call): void {
    const id = call.id === '' ? `call ${this.#builder.nextId(undefined, 'assistant', [call])}` : call.id;
    const answer: Part[] = isAnsweredElsewhere(item) ? [{ kind: 'result', callId: id, text: '', isError: false }] : [];
    if (call.tool === 'request_user_input') this.#asked.set(id, questionsIn(call.input) ?? []);
    this.#say('assistant', [{ ...call, id }, ...answer], { key: textOf(item.call_id) ?? textOf(item.id) });
  }

  /** What one agent sent to another: in the file of the session itself, what its subagents report. */
  #takeReport(sent: JsonObject): void {
    const speaker = this.#file.agent === undefined && sent.author !== '/root' ? 'subagent' : 'harness';
    this.#say(speaker, contentParts(sent.content), { key: textOf(sent.id) });
  }

  #takeOutput(item: JsonObject): void {
    const callId = textOf(item.call_id);
    if (callId === undefined) {
      this.#onUnreadable();
      return;
    }
    const parts = outputOf(item, this.#failed.delete(callId));
    this.#say('tool', parts, { key: `${callId} output` });
    const asked = this.#asked.get(callId);
    this.#asked.delete(callId);
    const [result] = parts;
    const answer = asked && result?.kind === 'result' ? answersOf(result, asked) : [];
    const isTyped = answer.some((part) => part.kind === 'text' && part.untyped === undefined);
    this.#say('human', answer, { key: `${callId} answer`, isAside: !isTyped });
  }

  #takeMessage(item: JsonObject): void {
    const parts = contentParts(item.content);
    const [first] = parts;
    const isReport = first?.kind === 'text' && first.text.startsWith('<subagent_notification>');
    const own = withoutInjected(parts);
    const command = item.role === 'user' && this.#file.agent === undefined ? shellCommand(parts) : null;
    // Behind it stands what it printed.
    if (command) this.#say('human', command, { key: `${this.#turnId} shell ${JSON.stringify(parts)}`, isAside: true });
    if (item.role === 'assistant') this.#say('assistant', parts, { key: textOf(item.id) });
    else if (item.role === 'user' && isReport) this.#say('subagent', parts);
    else if (item.role !== 'user' || own.length === 0) this.#say('harness', parts);
    // Else an event holds what the person typed as well.
    else if (!this.#file.hasUserEvents) this.#takePrompt(own);
  }

  #takePrompt(parts: Part[], isPlain = true): void {
    const own = isPlain && this.#file.agent === undefined ? typedParts(parts) : null;
    if (own === null) {
      this.#say('harness', parts);
      return;
    }
    this.#builder.place.isAbandoned = this.#file.rolledBack.has(this.prompts++) || undefined;
    const beginsTurn = !(this.#isRunning && this.#isPrompted);
    this.#isPrompted = true;
    this.#say('human', own, { beginsTurn });
  }

  #startTurn(turnId: unknown): void {
    if (typeof turnId !== 'string' || turnId === this.#turnId) return;
    this.#turnId = turnId;
    this.#builder.chainTo(this.#ownKey(turnId));
  }

  /** A subagent's rollout may begin with a copy of its parent's: what is covered there was not covered by this. */
  #ownKey(key: string): string {
    return chainId(this.#file.agent ?? '', key, []);
  }

  #say(
    speaker: Speaker,
    parts: Part[],
    { key, ...how }: { key?: string; beginsTurn?: boolean; isAside?: boolean } = {},
  ): void {
    this.#builder.say(speaker, parts, { ...how, key: key === undefined ? undefined : this.#ownKey(key) });
  }
}
