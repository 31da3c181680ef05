// Copilot CLI's events → messages, one event at a time.
// Promises: a person's words are what they typed (`content`), never what was sent for it; what skills, autopilot and
// subagents put in a person's place is not human; a call is told once, whether the model's request or only its
// execution was recorded; every id is unique and survives growth.

import type { Message, Part, Speaker } from '../types.ts';
import { isObject, type JsonObject } from './format.ts';
import { humanParts } from './human-text.ts';
import { MessageIds } from './message-ids.ts';
import { choiceOf } from './typed-answers.ts';
import { attachmentLabel, instantOf, objectAt, textOf } from './values.ts';

export class CopilotReader {
  readonly #onUnreadable: () => void;
  readonly #ids = new MessageIds();
  #cwd: string | undefined;
  #branch: string | undefined;
  readonly #calls = new Set<string>();
  /** What the calls asked that ask the person something. */
  readonly #questions = new Map<string, string>();

  constructor(onUnreadable: () => void) {
    this.#onUnreadable = onUnreadable;
  }

  *take(event: JsonObject): Generator<Message> {
    const { type, data } = event;
    if (typeof type !== 'string' || !isObject(data)) return this.#onUnreadable();
    switch (type) {
      case 'session.start':
      case 'session.resume':
        this.#moveTo(objectAt(data, 'context'));
        break;
      case 'session.context_changed':
        this.#moveTo(data);
        break;
      case 'user.message':
        yield* this.#takeUser(event, data);
        break;
      case 'assistant.message':
        yield* this.#takeAssistant(event, data);
        break;
      case 'tool.execution_start':
        yield* this.#takeCall(event, data);
        break;
      case 'tool.execution_complete':
        yield* this.#takeResult(event, data);
        break;
      case 'system.message':
      case 'system.notification':
      case 'skill.invoked':
        yield* this.#say(event, 'harness', textParts(data.content));
    }
  }

  #moveTo(context: JsonObject): void {
    this.#cwd = textOf(context.cwd) ?? this.#cwd;
    this.#branch = textOf(context.branch) ?? this.#branch;
  }

  *#takeUser(event: JsonObject, data: JsonObject): Generator<Message> {
    if (typeof data.content !== 'string') return this.#onUnreadable();
    const parts = [...textParts(data.content), ...attachmentParts(data.attachments)];
    const isTyped = (data.source ?? 'user') === 'user' && data.isAutopilotContinuation !== true && !isInside(event);
    const own = isTyped ? humanParts(parts) : null;
    if (own === null) return yield* this.#say(event, 'harness', parts);
    // Steering joins the work that goes on; what waits in the queue is taken up as a prompt of its own.
    yield* this.#say(event, 'human', own, { beginsTurn: data.delivery !== 'steering' });
  }

  *#takeAssistant(event: JsonObject, data: JsonObject): Generator<Message> {
    const requests = Array.isArray(data.toolRequests) ? data.toolRequests.filter(isObject) : [];
    const calls = requests.flatMap((request) => this.#call(request, request.name));
    yield* this.#say(event, 'assistant', [...textParts(data.content), ...calls], { id: textOf(data.messageId) });
  }

  *#takeCall(event: JsonObject, data: JsonObject): Generator<Message> {
    if (textOf(data.toolCallId) === undefined) return this.#onUnreadable();
    yield* this.#say(event, 'assistant', this.#call(data, data.toolName));
  }

  *#takeResult(event: JsonObject, data: JsonObject): Generator<Message> {
    const callId = textOf(data.toolCallId);
    if (callId === undefined) return this.#onUnreadable();
    const result = objectAt(data, 'result');
    const text = textOf(result.content) ?? textOf(objectAt(data, 'error').message) ?? '';
    const given = objectAt(data, 'shellExecution').exitCode;
    const isGiven = typeof given === 'number' || typeof given === 'string';
    const exitCode = isGiven ? given : (EXIT_CODE.exec(text.slice(-200))?.[1] ?? 0);
    const isError = data.success === false || Number(exitCode) !== 0;
    const images = Array.isArray(result.contents) ? result.contents.filter(isObject).flatMap(binaryPart) : [];
    yield* this.#say(event, 'tool', [{ kind: 'result', callId, text, isError }, ...images]);
    const question = this.#questions.get(callId);
    if (question === undefined || isInside(event)) return;
    if (text.startsWith(TYPED_ANSWER)) {
      yield* this.#say(event, 'human', textParts(text.slice(TYPED_ANSWER.length).trim()));
    } else if (text.startsWith(CHOICE)) {
      const choice = choiceOf(question, text.slice(CHOICE.length).trim());
      yield* this.#say(event, 'human', [choice], { beside: `${textOf(event.id) ?? callId}/answer` });
    }
  }

  /** The call, where it was not told before. */
  #call(request: JsonObject, name: unknown): Part[] {
    const id = textOf(request.toolCallId) ?? '';
    if (this.#calls.has(id)) return [];
    this.#calls.add(id);
    if (name === 'ask_user') this.#questions.set(id, textOf(objectAt(request, 'arguments').question) ?? '');
    return [{ kind: 'call', id, tool: textOf(name) ?? '', input: request.arguments }];
  }

  *#say(
    event: JsonObject,
    speaker: Speaker,
    parts: Part[],
    { id, beside, beginsTurn = false }: { id?: string; beside?: string; beginsTurn?: boolean } = {},
  ): Generator<Message> {
    if (parts.length === 0) return;
    const inside = isInside(event);
    const message: Message = {
      id: beside === undefined ? this.#ids.next(id ?? textOf(event.id), speaker, parts) : this.#ids.beside(beside),
      speaker: inside && speaker === 'assistant' ? 'subagent' : speaker,
      parts,
      beginsTurn,
      isSidechain: inside,
    };
    const at = instantOf(event.timestamp);
    if (at !== undefined) message.at = at;
    if (this.#cwd !== undefined) message.cwd = this.#cwd;
    if (this.#branch !== undefined) message.branch = this.#branch;
    yield message;
  }
}

/** How an answer in the person's own words begins, and how a choice does. */
const TYPED_ANSWER = 'User responded: ';
const CHOICE = 'User selected: ';

/** What a shell says last: `<exited with exit code 1>`, `<shellId: 0 completed with exit code 1>`. */
const EXIT_CODE = /<[^<>\n]*exit code (-?\d+)>\s*$/;

/** Whether a subagent said it; its events stand among those of the session. */
function isInside(event: JsonObject): boolean {
  return textOf(event.agentId) !== undefined || textOf(objectAt(event, 'data').parentToolCallId) !== undefined;
}

function textParts(content: unknown): Part[] {
  const text = textOf(content);
  return text === undefined ? [] : [{ kind: 'text', text }];
}

function attachmentParts(attachments: unknown): Part[] {
  if (!Array.isArray(attachments)) return [];
  return attachments.filter(isObject).map((attachment): Part => {
    const name = textOf(attachment.path) ?? textOf(attachment.displayName) ?? textOf(attachment.filePath);
    const [binary] = binaryPart(attachment);
    if (binary) return binary;
    return { kind: 'attachment', label: [textOf(attachment.type), name].filter(Boolean).join(', ') || 'attachment' };
  });
}

function binaryPart(value: JsonObject): Part[] {
  const mediaType = textOf(value.mimeType);
  if (mediaType === undefined || typeof value.data !== 'string') return [];
  return [{ kind: 'attachment', label: attachmentLabel(mediaType, value.data) }];
}
