// Claude Code's JSONL: one record per line, read in file order (timestamps and `parentUuid` are not to be trusted).
// Knows such a file by its records, finds what names the session, and makes messages of the records, one at a time.
// Promises: the lines of one API message become one message, or several in file order where something comes between
// them; nothing is said twice, however often the file repeats it; every id is unique and survives growth; memory stays
// constant but for a few bytes per record, by which repeats are known. Records that are not conversation (progress,
// snapshots, titles, hooks) yield nothing.

import { basename, extname } from 'node:path';
import { isObject, type JsonObject, objectAt, textOf } from '../../base/text/json.ts';
import type { Call, Format, Message, Part, Said, Speaker } from '../messages.ts';
import { messagesOf, type RecordReader, readObjects } from '../records.ts';
import {
  idIn,
  isBookkeeping,
  isMachines,
  isSpoken,
  messageOf,
  personsParts,
  type Queued,
  repeatKey,
  said,
  TextQueue,
  uuidOf,
  wasSuggested,
} from './claude-code-records.ts';
import { approval, commandLine, feedbackBehindPlan, humanParts, isJsonText, saidToCalls } from './human-text.ts';
import { blocksOf, chainId, isResultBlock, namesOf, partsOf, SeenKeys } from './message-builder.ts';

/** Every record of the conversation begins so; only these are worth saving from a damaged line. */
const RECORD_START = '{"parentUuid":';

export const claudeCode: Format = {
  name: 'claude-code',

  open({ path, records }) {
    if (!isOurs(records)) return null;
    const { session, cwd, agent } = findNames(path, records);
    const id = session ?? basename(path, extname(path));
    return {
      ...(agent === undefined ? { id } : namesOf(agent, id)),
      cwd,
      messages: (onUnreadable) =>
        messagesOf(readObjects(path, RECORD_START, onUnreadable), new ClaudeCodeReader(onUnreadable)),
    };
  },
};

function isOurs(records: JsonObject[]): boolean {
  let mayBegin = false;
  for (const record of records) {
    // Others (Qwen Code) write records of the same outline, but keep what was said elsewhere in them.
    if (isSpoken(record)) return isObject(record.message) && blocksOf(record.message.content) !== null;
    mayBegin ||= isBookkeeping(record);
  }
  return mayBegin;
}

interface Names {
  session?: string;
  cwd?: string;
  /** Set where the first thing said was said inside a subagent: then this file is that subagent's own. */
  agent?: string;
  hasSpoken?: true;
}

/** From the beginning that was read already, where it tells all of them. */
function findNames(path: string, records: JsonObject[]): Names {
  const names: Names = {};
  for (const record of records) if (addNames(names, record)) return names;
  for (const record of readObjects(path, RECORD_START)) if (addNames(names, record)) break;
  return names;
}

/** Whether all that there can be is known now. */
function addNames(names: Names, record: JsonObject): boolean {
  names.session ??= textOf(record.sessionId);
  names.cwd ??= textOf(record.cwd);
  if (!names.hasSpoken && isSpoken(record)) {
    names.hasSpoken = true;
    if (record.isSidechain === true) names.agent = textOf(record.agentId);
  }
  return names.session !== undefined && names.cwd !== undefined && names.hasSpoken === true;
}

class ClaudeCodeReader implements RecordReader {
  readonly #onUnreadable: () => void;
  /** Ids and fingerprints that were read already. */
  readonly #seen = new SeenKeys();
  /** Calls without a result so far, by id: what a person says in answer to one is shown with it. */
  readonly #calls = new Map<string, Call>();
  readonly #queue = new TextQueue();
  /** The assistant message whose further lines may still follow, and the id by which they are known. */
  #open: { apiId: unknown; message: Message } | null = null;
  #lastId = '';
  /** Messages to be handed out, as far as they are complete. */
  #ready: Message[] = [];
  /** Those among them of which a record may still follow; with the first of them all waits, as with the open one. */
  readonly #undecided = new Set<Message>();
  /** Whether a prompt of this file named a human as its origin: from there on, one that names none is a program's. */
  #namesHumans = false;

  constructor(onUnreadable: () => void) {
    this.#onUnreadable = onUnreadable;
  }

  take(record: JsonObject): void {
    switch (record.type) {
      case 'assistant':
      case 'user':
        this.#takeMessage(record);
        break;
      case 'attachment':
        this.#takeAttachment(record);
        break;
      case 'queue-operation':
        this.#takeOperation(record);
        break;
      case 'system':
        if (record.subtype === 'local_command') this.#takeLocalCommand(record);
        break;
      default:
        if (typeof record.type !== 'string') this.#onUnreadable();
    }
  }

  /** The messages that are complete since the last call. */
  drain(): Message[] {
    return this.#ready.splice(0, this.#firstHeld());
  }

  /** Where the messages begin that wait for a record. */
  #firstHeld(): number {
    const open = this.#open?.message;
    const at = this.#ready.findIndex((message) => message === open || this.#undecided.has(message));
    return at === -1 ? this.#ready.length : at;
  }

  /** Completes what is still open when the file ends, and what was queued and never sent. */
  end(): void {
    this.#open = null;
    this.#closeQueue();
  }

  #takeMessage(record: JsonObject): void {
    const message = objectAt(record, 'message');
    const { content } = message;
    const blocks = blocksOf(content);
    if (blocks === null || (blocks.length === 0 && !(Array.isArray(content) && content.length === 0)))
      this.#onUnreadable();
    else if (this.#isRepeated(record)) return;
    else if (record.type === 'assistant') this.#takeAssistant(record, message, blocks);
    else this.#takeUser(record, blocks);
  }

  #takeAssistant(record: JsonObject, message: JsonObject, blocks: JsonObject[]): void {
    const apiId = textOf(message.id);
    const parts = this.#dropRepeated(apiId, partsOf(blocks));
    if (parts.length === 0) return;
    for (const part of parts) if (part.kind === 'call' && record.isSidechain !== true) this.#calls.set(part.id, part);
    if (this.#open && apiId !== undefined && this.#open.apiId === apiId) {
      this.#open.message.parts.push(...parts);
      return;
    }
    const isFromModel = record.isApiErrorMessage !== true && message.model !== '<synthetic>';
    const role = !isFromModel ? 'harness' : record.isSidechain === true ? 'subagent' : 'assistant';
    const id = this.#idOf(apiId !== undefined && this.#seen.add(apiId) ? apiId : uuidOf(record), role, blocks);
    this.#open = { apiId, message: messageOf(record, { id, speaker: role, parts }) };
    this.#ready.push(this.#open.message);
  }

  #takeUser(record: JsonObject, blocks: JsonObject[]): void {
    const results = blocks.filter(isResultBlock);
    const resultParts = this.#dropRepeated(repeatKey(record), partsOf(results));
    if (resultParts.length > 0) {
      this.#open = null;
      const id = this.#say(record, { id: uuidOf(record), speaker: 'tool', parts: resultParts }, results);
      const answers = saidToCalls(resultParts, { calls: this.#calls, record, id });
      if (record.isSidechain !== true) this.#ready.push(...answers.map((answer) => messageOf(record, answer)));
    }
    const spoken = blocks.filter((block) => !isResultBlock(block));
    const parts = this.#dropRepeated(repeatKey(record), partsOf(spoken));
    if (parts.length === 0) return;
    this.#open = null;
    if (textOf(record.planContent) !== undefined && !isMachines(record)) this.#takePlan(record, { spoken, parts });
    else this.#takeSpoken(record, spoken, { parts, hasResult: results.length > 0 });
  }

  /** A record with role `user` beyond tool results. What a person typed while a tool ran is theirs, but begins no turn. */
  #takeSpoken(
    record: JsonObject,
    spoken: JsonObject[],
    { parts, hasResult }: { parts: Part[]; hasResult: boolean },
  ): void {
    const command = isMachines(record) ? null : commandLine(parts);
    const typed = this.#isFromPerson(record) ? personsParts(record, parts) : null;
    const own = typed ?? (command?.hasArguments ? command.parts : null);
    const isPrompt = typed !== null && !hasResult;
    const wasQueued = this.#dropQueued(command?.parts ?? parts);
    // A prompt typed while texts are queued means that the program was restarted: they will never be sent.
    if (isPrompt && !wasQueued) this.#closeQueue(textOf(record.timestamp));
    const uuid = uuidOf(record);
    const id = hasResult && uuid ? `${uuid}/text` : uuid;
    const said: Omit<Said, 'id'> = { speaker: own ? 'human' : 'harness', parts: own ?? parts, beginsTurn: isPrompt };
    if (isPrompt) said.follows = textOf(record.parentUuid);
    this.#say(record, { ...said, id }, spoken, typed ? 'human' : 'harness');
  }

  /** A plan with which a session starts afresh: the model wrote it, a person approved it, the program entered it. */
  #takePlan(record: JsonObject, { spoken, parts }: { spoken: JsonObject[]; parts: Part[] }): void {
    const text = textOf(record.planContent) ?? '';
    const plan: Part[] = [{ kind: 'text', text }];
    const id = this.#say(record, { id: uuidOf(record), speaker: 'assistant', parts: plan }, spoken, 'harness');
    const whole = parts.map((part) => (part.kind === 'text' ? part.text : '')).join('\n');
    const answer = approval(feedbackBehindPlan(whole, text));
    this.#ready.push(messageOf(record, { id: `${id}/answer`, speaker: 'human', parts: answer }));
  }

  /** Hands out a message with its own id, which none had yet, or one chained over `blocks` and `role`; answers the id. */
  #say(
    record: JsonObject,
    said: Omit<Said, 'id'> & { id: string | undefined },
    blocks: JsonObject[],
    role: Speaker = said.speaker,
  ): string {
    const id = this.#idOf(said.id, role, blocks);
    this.#ready.push(messageOf(record, { ...said, id }));
    return id;
  }

  /** Newer versions write a command that the program itself carries out as a record of its own kind. */
  #takeLocalCommand(record: JsonObject): void {
    const command = isMachines(record) ? null : commandLine(partsOf(blocksOf(record.content) ?? []));
    const id = uuidOf(record);
    if (!command?.hasArguments || id === undefined || this.#isRepeated(record)) return;
    this.#ready.push(messageOf(record, { id, speaker: 'human', parts: command.parts }));
  }

  #takeOperation(record: JsonObject): void {
    const given = this.#queue.take(record);
    const message = given && this.#queuedMessage(given);
    if (!given || !message) return;
    given.message = message;
    this.#undecided.add(message);
    this.#ready.push(message);
  }

  /** Whether the parts had been queued; then what stood in their place until now goes. */
  #dropQueued(parts: readonly Part[]): boolean {
    const dropped = this.#queue.drop(parts);
    for (const { message } of dropped) if (message) this.#withdraw(message);
    return dropped.length > 0;
  }

  #withdraw(message: Message): void {
    this.#undecided.delete(message);
    this.#ready = this.#ready.filter((each) => each !== message);
  }

  /** No record is waited for of what was queued and given before an instant; what was never given is left over. */
  #closeQueue(before?: string): void {
    for (const { message } of this.#queue.decide(before)) {
      if (!message) continue;
      this.#undecided.delete(message);
      if (!this.#seen.add(message.id)) this.#withdraw(message);
    }
    for (const left of this.#queue.clear()) {
      const message = this.#queuedMessage(left);
      if (message && this.#seen.add(message.id)) this.#ready.push(message);
    }
  }

  /** What a person queued, under an id of its own; null for what a program did. */
  #queuedMessage({ record, parts }: Queued): Message | null {
    const own = isMachines(record) || isJsonText(parts) ? null : humanParts(parts);
    if (own === null) return null;
    const id = `queued-${chainId('', textOf(record.timestamp) ?? '', blocksOf(record.content) ?? [])}`;
    return messageOf(record, { id, speaker: 'human', parts: own });
  }

  /** Text queued while the agent works: a person's, or a program's notice. */
  #takeAttachment(record: JsonObject): void {
    const { attachment } = record;
    if (!isObject(attachment) || attachment.type !== 'queued_command') return;
    const source = textOf(attachment.source_uuid);
    if (this.#isRepeated(record) || (source !== undefined && !this.#seen.add(source))) return;
    const blocks = blocksOf(attachment.prompt) ?? [];
    const parts = this.#dropRepeated(repeatKey(record), partsOf(blocks));
    if (parts.length === 0) return;
    this.#open = null;
    this.#dropQueued(parts);
    const mode = attachment.commandMode ?? 'prompt';
    const isTyped = mode === 'prompt' && this.#isFromPerson({ ...record, ...attachment }) && !isJsonText(parts);
    const own = isTyped ? humanParts(parts) : null;
    this.#say(record, { id: uuidOf(record), speaker: own ? 'human' : 'harness', parts: own ?? parts }, blocks);
  }

  #isFromPerson(record: JsonObject): boolean {
    const origin = objectAt(record, 'origin').kind;
    if (origin === 'human') this.#namesHumans = true;
    // The text of an approved plan: the model wrote it, the program entered it.
    if (isMachines(record) || typeof record.planContent === 'string') return false;
    if (origin !== undefined) return origin === 'human';
    // Some versions name the origin of notices only, and mark what was typed elsewhere.
    return record.promptSource === 'typed' || wasSuggested(record) || !this.#namesHumans;
  }

  /** A resumed session may be written into the same file again, under new uuids: same message or instant, same words. */
  #dropRepeated(key: string | undefined, parts: Part[]): Part[] {
    return key === undefined ? parts : parts.filter((part) => this.#seen.add(`${key}${idIn(part)} ${said(part)}`));
  }

  #isRepeated(record: JsonObject): boolean {
    const uuid = uuidOf(record);
    return uuid !== undefined && !this.#seen.add(uuid);
  }

  /** `ownId`, which no message has had yet, or else an id chained to the message before. */
  #idOf(ownId: string | undefined, speaker: Speaker, blocks: JsonObject[]): string {
    this.#lastId = ownId ?? chainId(this.#lastId, speaker, blocks);
    return this.#lastId;
  }
}
