// Copilot CLI's `events.jsonl`: one event per line, `{ type, data, id, timestamp, parentId }`, read in file order.
// Promises: a person's words are what they typed (`content`), never what was sent for it; what skills, autopilot and
// subagents put in a person's place is not human; a call is told once, whether the model's request or only its
// execution was recorded; every id is unique and survives growth.

import { basename, dirname, extname } from 'node:path';
import { isObject, type JsonObject, objectAt, objectsOf, textOf } from '../../base/text/json.ts';
import type { Format, Message, Part, Speaker } from '../messages.ts';
import { messagesOf, type RecordReader, readObjects } from '../records.ts';
import { choiceOf, humanParts } from './human-text.ts';
import { attachmentPart, instantOf, MessageBuilder, textParts } from './message-builder.ts';

const RECORD_START = '{"type":"';

export const copilot: Format = {
  name: 'copilot',

  open({ path, records }) {
    if (!records.some(isEvent)) return null;
    const { session, cwd } = findNames(path);
    return {
      id: session ?? nameOf(path),
      cwd,
      messages: (onUnreadable) =>
        messagesOf(readObjects(path, RECORD_START, onUnreadable), new CopilotReader(onUnreadable)),
    };
  },
};

function isEvent({ type, data, id }: JsonObject): boolean {
  return (
    /^(session|user|assistant|system|tool|hook)\.[a-z_]+$/.test(textOf(type) ?? '') && isObject(data) && !!textOf(id)
  );
}

function findNames(path: string): { session?: string; cwd?: string } {
  for (const record of readObjects(path, RECORD_START)) {
    if (record.type !== 'session.start' && record.type !== 'session.resume') continue;
    const data = objectAt(record, 'data');
    return { session: textOf(data.sessionId), cwd: textOf(objectAt(data, 'context').cwd) };
  }
  return {};
}

/** Copilot keeps each session in a directory of its name. */
function nameOf(path: string): string {
  return basename(path) === 'events.jsonl' ? basename(dirname(path)) : basename(path, extname(path));
}

class CopilotReader implements RecordReader {
  readonly #onUnreadable: () => void;
  readonly #builder = new MessageBuilder();
  readonly #calls = new Set<string>();
  /** What the calls asked that ask the person something. */
  readonly #questions = new Map<string, string>();

  constructor(onUnreadable: () => void) {
    this.#onUnreadable = onUnreadable;
  }

  drain(): Message[] {
    return this.#builder.drain();
  }

  take(event: JsonObject): void {
    const { type, data } = event;
    if (typeof type !== 'string' || !isObject(data)) {
      this.#onUnreadable();
      return;
    }
    const { place } = this.#builder;
    place.at = instantOf(event.timestamp);
    // A subagent's events are among those of the session.
    place.isSidechain = textOf(event.agentId) !== undefined || textOf(data.parentToolCallId) !== undefined;
    switch (type) {
      case 'session.start':
      case 'session.resume':
        this.#moveTo(objectAt(data, 'context'));
        break;
      case 'session.context_changed':
        this.#moveTo(data);
        break;
      case 'user.message':
        this.#takeUser(event, data);
        break;
      case 'assistant.message': {
        const calls = objectsOf(data.toolRequests).flatMap((request) => this.#call(request, request.name));
        this.#say(event, 'assistant', [...textParts(data.content), ...calls], { id: textOf(data.messageId) });
        break;
      }
      case 'tool.execution_start':
        // A request does not say whose tool it asks for.
        if (textOf(data.mcpServerName) !== undefined) this.#questions.delete(textOf(data.toolCallId) ?? '');
        if (textOf(data.toolCallId) === undefined) this.#onUnreadable();
        else this.#say(event, 'assistant', this.#call(data, data.toolName));
        break;
      case 'tool.execution_complete':
        this.#takeResult(event, data);
        break;
      case 'system.message':
      case 'system.notification':
      case 'skill.invoked':
        this.#say(event, 'harness', textParts(data.content));
    }
  }

  #moveTo(context: JsonObject): void {
    const { place } = this.#builder;
    place.cwd = textOf(context.cwd) ?? place.cwd;
    place.branch = textOf(context.branch) ?? place.branch;
  }

  #takeUser(event: JsonObject, data: JsonObject): void {
    if (typeof data.content !== 'string') {
      this.#onUnreadable();
      return;
    }
    const parts = [...textParts(data.content), ...objectsOf(data.attachments).map(attachedPart)];
    const isInside = this.#builder.place.isSidechain;
    const isTyped = (data.source ?? 'user') === 'user' && data.isAutopilotContinuation !== true && !isInside;
    const own = isTyped ? humanParts(parts) : null;
    // Steering joins the work that goes on; what waits in the queue is taken up as a prompt of its own.
    if (own) this.#say(event, 'human', own, { beginsTurn: data.delivery !== 'steering' });
    else this.#say(event, 'harness', parts);
  }

  #takeResult(event: JsonObject, data: JsonObject): void {
    const callId = textOf(data.toolCallId);
    if (callId === undefined) {
      this.#onUnreadable();
      return;
    }
    const result = objectAt(data, 'result');
    const text = textOf(result.content) ?? textOf(objectAt(data, 'error').message) ?? '';
    const given = objectAt(data, 'shellExecution').exitCode;
    const isGiven = typeof given === 'number' || typeof given === 'string';
    const exitCode = isGiven ? given : (EXIT_CODE.exec(text.slice(-200))?.[1] ?? 0);
    const isError = data.success === false || Number(exitCode) !== 0;
    const images = objectsOf(result.contents).flatMap((content) => binaryPart(content) ?? []);
    this.#say(event, 'tool', [{ kind: 'result', callId, text, isError }, ...images]);
    const question = this.#questions.get(callId);
    if (question === undefined || isError || this.#builder.place.isSidechain) return;
    if (text.startsWith(TYPED_ANSWER)) {
      this.#say(event, 'human', textParts(text.slice(TYPED_ANSWER.length).trim()));
    } else if (text.startsWith(CHOICE)) {
      const choice = choiceOf(question, text.slice(CHOICE.length).trim());
      this.#say(event, 'human', [choice], { id: `${textOf(event.id) ?? callId}/answer`, isAside: true });
    }
  }

  /** The call, where it was not told before. */
  #call(request: JsonObject, name: unknown): Part[] {
    const id = textOf(request.toolCallId) ?? '';
    if (this.#calls.has(id)) return [];
    this.#calls.add(id);
    if (name === 'ask_user' && textOf(request.mcpServerName) === undefined) {
      this.#questions.set(id, textOf(objectAt(request, 'arguments').question) ?? '');
    }
    return [{ kind: 'call', id, tool: textOf(name) ?? '', input: request.arguments }];
  }

  #say(
    event: JsonObject,
    speaker: Speaker,
    parts: Part[],
    { id, ...how }: { id?: string; beginsTurn?: boolean; isAside?: boolean } = {},
  ): void {
    this.#builder.say(speaker, parts, { ...how, key: id ?? textOf(event.id) });
  }
}

/** How an answer in the person's own words begins, and how a choice does. */
const TYPED_ANSWER = 'User responded: ';
const CHOICE = 'User selected: ';

/** What a shell says last: `<exited with exit code 1>`, `<shellId: 0 completed with exit code 1>`. */
const EXIT_CODE = /<[^<>\n]*exit code (-?\d+)>\s*$/;

function attachedPart(attachment: JsonObject): Part {
  const name = textOf(attachment.path) ?? textOf(attachment.displayName) ?? textOf(attachment.filePath);
  const label = [textOf(attachment.type), name].filter(Boolean).join(', ') || 'attachment';
  return binaryPart(attachment) ?? { kind: 'attachment', label };
}

function binaryPart({ mimeType, data }: JsonObject): Part | null {
  const mediaType = textOf(mimeType);
  return mediaType === undefined || typeof data !== 'string' ? null : attachmentPart(mediaType, data);
}
