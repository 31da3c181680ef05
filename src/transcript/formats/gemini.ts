// Gemini CLI's sessions: JSON lines that are folded into a conversation, or the older single JSON document of one.
// A line may change what came before it, so the conversation is held in memory; its size counts, not the file's, which
// says each message again and again: the last writing counts, at the place of the first. What was rewound stays as
// abandoned. `$set.messages` is what the model will be sent next, not a new thing said: it may bring messages of its own,
// but a copy of what was said brings nothing, and what is not there is not taken back. Of the project's directory a file says
// only the hash: one is named where it has that hash. What `/dir add` added (`directories`) is not the project.

import { hash } from 'node:crypto';
import { basename, dirname, extname, join, posix, win32 } from 'node:path';
import { attempt } from '../../base/errors.ts';
import { readTextNow } from '../../base/files/files.ts';
import { isObject, type JsonObject, objectAt, objectsOf, textOf, textsIn } from '../../base/text/json.ts';
import type { Format, Message, Part } from '../messages.ts';
import { readObjects } from '../records.ts';
import { answersOf, humanParts, questionsIn, shellCommand } from './human-text.ts';
import {
  attachmentPart,
  chainId,
  instantOf,
  MessageBuilder,
  namesOf,
  type Place,
  textParts,
} from './message-builder.ts';

const RECORD_START = '{"id":';

export const gemini: Format = {
  name: 'gemini',

  open({ path, records, document }) {
    const whole = document();
    if (!isDocument(whole) && !records.some(isMetadata)) return null;
    const metadata = isDocument(whole) ? whole : findMetadata(path);
    const own = textOf(metadata.sessionId) ?? basename(path, extname(path));
    const names = namesOf(own, metadata.kind === 'subagent' ? parentOf(own, path) : undefined);
    const all = isDocument(whole) ? [whole] : readObjects(path, RECORD_START);
    const cwd = findRoot(metadata.projectHash, path, all);
    return {
      ...names,
      cwd,
      *messages(onUnreadable) {
        const fold = new GeminiFold({ cwd, isSidechain: names.subagent !== undefined }, onUnreadable);
        if (isDocument(whole)) fold.take(whole);
        else for (const record of readObjects(path, RECORD_START, onUnreadable)) fold.take(record);
        yield* fold.messages();
      },
    };
  },
};

function isMetadata(record: JsonObject): boolean {
  return typeof record.sessionId === 'string' && typeof record.projectHash === 'string';
}

function isDocument(value: unknown): value is JsonObject & { messages: unknown[] } {
  return isObject(value) && isMetadata(value) && Array.isArray(value.messages);
}

/** All that the file says of the session; later lines win. */
function findMetadata(path: string): JsonObject {
  let metadata: JsonObject = {};
  for (const record of readObjects(path, RECORD_START)) {
    const { messages: _, ...said } = isMetadata(record) ? record : objectAt(record, '$set');
    metadata = { ...metadata, ...said };
  }
  return metadata;
}

/** A subagent's file does not name its parent; it is in a directory that has the parent's name. */
function parentOf(agent: string, path: string): string {
  const parent = basename(dirname(path));
  return /^[0-9a-f-]{8,}$/i.test(parent) ? parent : agent;
}

/** Where a project's directory stands, as Gemini CLI writes it beside its sessions. */
const ROOT_FILE = '.project_root';
const LONGEST_PATH = 500;

/** The project's directory: what stands beside the sessions, or what a path in a record leads through, if it has the hash. */
function findRoot(projectHash: unknown, path: string, records: Iterable<JsonObject>): string | undefined {
  const compared = new Set<string>();
  const isRoot = (directory: string): boolean => {
    if (compared.has(directory)) return false;
    compared.add(directory);
    return hash('sha256', directory) === projectHash;
  };
  const isClosed = () => null;
  // A subagent's session lies one deeper.
  for (const above of ['..', '../..']) {
    const noted = attempt(() => readTextNow(join(dirname(path), above, ROOT_FILE)), isClosed, 'storage');
    if (noted !== null && isRoot(noted.trim())) return noted.trim();
  }
  for (const record of records) {
    for (const named of textsIn(record).flatMap(pathsIn)) {
      const root = withAncestors(named).find(isRoot);
      if (root !== undefined) return root;
    }
  }
  return undefined;
}

/** The directory itself and all above it, as they were written. */
function withAncestors(directory: string): string[] {
  const above = (/^[A-Za-z]:/.test(directory) ? win32 : posix).dirname(directory);
  return above === directory ? [directory] : [directory, ...withAncestors(above)];
}

/** The absolute paths in a text: all of it, and its words, with and without what ends a sentence. */
function pathsIn(text: string): string[] {
  return [text, ...text.split(/[\s"'`<>()[\],;|]+/)]
    .filter((path) => path.length <= LONGEST_PATH && /^(?:\/|[A-Za-z]:\\)/.test(path))
    .flatMap((path) => [path, path.replace(/[^\p{L}\p{N}]+$/u, '')]);
}

interface Entry {
  id: string;
  type: unknown;
  at: string | undefined;
  said: Part[];
  /** What the person saw themselves type, where it differs from what was sent. */
  shown: Part[];
  calls: Part[];
  results: Part[];
  /** What the person answered to them. */
  answers: Part[];
  /** What it says, so that a copy under another id is known. */
  sayings: string[];
  isAbandoned: boolean;
}

class GeminiFold {
  readonly #place: Place;
  readonly #onUnreadable: () => void;
  readonly #entries = new Map<string, Entry>();
  /** All that was said so far. */
  readonly #said = new Set<string>();

  constructor(place: Place, onUnreadable: () => void) {
    this.#place = place;
    this.#onUnreadable = onUnreadable;
  }

  /** A line of the file, or the document. */
  take(record: JsonObject): void {
    const { $rewindTo: target, $set: change, messages } = record;
    if (target !== undefined) this.#rewind(target);
    else if (change !== undefined) this.#change(change);
    else if (typeof record.sessionId !== 'string') this.#put(record);
    else if (Array.isArray(messages)) for (const message of messages) this.#put(message);
  }

  *messages(): Generator<Message> {
    const builder = new MessageBuilder();
    for (const entry of this.#entries.values()) {
      const { at, isAbandoned } = entry;
      builder.place = { ...this.#place, at, isAbandoned };
      this.#say(entry, builder);
      yield* builder.drain();
    }
  }

  #put(record: unknown): void {
    const entry = entryOf(record);
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
    const given = messages.map(entryOf);
    if (given.includes(null)) this.#onUnreadable();
    for (const entry of given.filter((entry) => entry !== null)) {
      const known = this.#entries.get(entry.id);
      if (known && !known.isAbandoned) this.#keep({ ...entry, shown: known.shown, at: known.at });
      else if (!entry.sayings.every((saying) => this.#said.has(saying))) this.#keep(entry);
    }
  }

  #say({ id: key, type, said, shown, calls, results, answers }: Entry, builder: MessageBuilder): void {
    if (type === 'gemini') {
      const own = said.filter((part) => part.kind !== 'call' || calls.length === 0);
      builder.say('assistant', [...own, ...calls], { key });
      builder.say('tool', results, { key: chainId(key, 'results', []) });
      builder.say('human', answers, { key: chainId(key, 'answer', []) });
    } else if (type === 'user' && said.length > 0 && said.every((part) => part.kind === 'result')) {
      builder.say('tool', said, { key });
    } else {
      const isPersons = type === 'user' && !this.#place.isSidechain;
      // The words that were shown, and the pictures that were sent with them.
      const sent = shown.length === 0 ? said : [...shown, ...said.filter((part) => part.kind === 'attachment')];
      const own = isPersons ? typedParts(sent) : null;
      const toShell = isPersons ? shellCommand(said) : null;
      if (toShell) builder.say('human', toShell, { key: chainId(key, 'shell', []), isAside: true });
      // Only what was sent for it is the model's: a command of the program's own is not.
      const command = isPersons ? typedCommand(shown) : null;
      if (own) builder.say('human', own, { key, beginsTurn: true });
      else if (command) builder.say('human', command, { key });
      else builder.say('harness', said, { key });
    }
  }
}

function entryOf(record: unknown): Entry | null {
  const { id, type, timestamp, content, displayContent, toolCalls } = isObject(record) ? record : ({} as JsonObject);
  if (typeof id !== 'string' || id === '' || typeof type !== 'string') return null;
  const said = contentParts(content);
  const recorded = objectsOf(toolCalls);
  const calls = recorded.map(callPart);
  const results = recorded.flatMap(resultParts);
  const sayings = sayingsOf(type, [...said, ...calls, ...results]);
  const shown = contentParts(displayContent);
  const answers = recorded.flatMap(answersIn);
  return { id, type, at: instantOf(timestamp), said, shown, calls, results, answers, sayings, isAbandoned: false };
}

function sayingsOf(type: string, parts: readonly Part[]): string[] {
  const text = parts.filter((part) => part.kind === 'text');
  const sayings = parts.flatMap((part) => {
    if (part.kind === 'call') return [`call ${part.id}`];
    return part.kind === 'result' ? [`result ${part.callId}`] : [];
  });
  return text.length === 0 ? sayings : [...sayings, chainId('', type, text)];
}

/** What a person answered in a dialog of Gemini CLI; the tool of a server may have its name, but not its title. */
function answersIn(call: JsonObject): Part[] {
  const isServers = / MCP Server\)$/.test(textOf(call.displayName) ?? '');
  const [result] = call.name === 'ask_user' && !isServers ? resultParts(call) : [];
  return result?.kind === 'result' ? answersOf(result, questionsIn(call.args) ?? []) : [];
}

/** `content` is a string, a part, or a list of either. Thoughts are dropped; of binary data a label stays. */
function contentParts(content: unknown): Part[] {
  if (Array.isArray(content)) return content.flatMap((item) => (Array.isArray(item) ? [] : contentParts(item)));
  if (typeof content === 'string') return textParts(content);
  if (!isObject(content) || content.thought === true) return [];
  if (isObject(content.functionCall)) return [callPart(content.functionCall)];
  if (isObject(content.functionResponse)) return [resultPart(content.functionResponse, undefined)];
  const data = isObject(content.inlineData) ? content.inlineData : objectAt(content, 'fileData');
  const mediaType = textOf(data.mimeType);
  return mediaType === undefined ? textParts(content.text) : [attachmentPart(mediaType, textOf(data.data))];
}

function callPart(call: JsonObject): Part {
  return { kind: 'call', id: textOf(call.id) ?? '', tool: textOf(call.name) ?? '', input: call.args };
}

const ENDED: ReadonlySet<unknown> = new Set(['success', 'error', 'cancelled']);

/** What came of a call that was recorded with a message of the model, if it has ended. */
function resultParts({ id, status, result: given }: JsonObject): Part[] {
  const parts = objectsOf(given);
  if (!ENDED.has(status) && parts.length === 0) return [];
  const response = parts.find((part) => isObject(part.functionResponse)) ?? {};
  const result = resultPart({ ...objectAt(response, 'functionResponse'), id }, status);
  return [result, ...contentParts(parts).filter((part) => part.kind === 'attachment')];
}

function resultPart(functionResponse: JsonObject, status: unknown): Part {
  const response = objectAt(functionResponse, 'response');
  const error = textOf(response.error) ?? textOf(objectAt(response, 'error').message);
  const text = textOf(response.output) ?? error ?? '';
  const exitCode = text.match(/(?<=^Exit Code: )-?\d{1,9}/gm)?.at(-1) ?? '0';
  const isError = error !== undefined || exitCode !== '0' || status === 'error' || status === 'cancelled';
  // What a command printed can look like the line that tells its exit code; before late 2025 that was always there, the last.
  const isToldInText =
    error === undefined && status !== 'error' && /^Exit Code: /m.test(text) && !/^Command: /.test(text);
  const result = { kind: 'result', callId: textOf(functionResponse.id) ?? '', text, isError } as const;
  return isToldInText || status === 'cancelled' ? { ...result, isUnmarked: true } : result;
}

// What a person typed. Gemini CLI sends more than was typed (the files that an `@` names, what the editor shows) and
// speaks in the person's place itself (to go on, to sum up). Commands to the program are not for the model; what was
// typed behind one is the person's.

const REFERENCED_FILES = /^\s*--- Content from referenced files ---/;

const MACHINE_BEGINNINGS = [
  '<state_snapshot>',
  '<session_context>',
  '<hook_context>',
  'This is the Gemini CLI. We are setting up the context for our chat',
  "Here is the user's editor context",
  "Here is a summary of changes in the user's editor context",
  'I ran the following shell command:',
  'System: ',
];

/** `/chat save` and the like, but not a path. */
const COMMAND = /^(\/[a-z][\w:-]*(\s|$)|\?$)/i;

/** The parts as the person typed them; `null` where no person typed, or typed a command. */
function typedParts(parts: readonly Part[]): Part[] | null {
  const files = parts.findIndex((part) => part.kind === 'text' && REFERENCED_FILES.test(part.text));
  const own = humanParts(files === -1 ? parts : parts.slice(0, files));
  const first = own?.find((part) => part.kind === 'text')?.text.trim() ?? '';
  const isMachine = first === 'Please continue.' || MACHINE_BEGINNINGS.some((beginning) => first.startsWith(beginning));
  return isMachine || COMMAND.test(first) ? null : own;
}

/** A command to the program that a person typed with arguments, as they typed it; `null` for anything else. */
function typedCommand(parts: readonly Part[]): Part[] | null {
  const own = humanParts(parts);
  const first = own?.find((part) => part.kind === 'text')?.text.trim() ?? '';
  return /^\/[a-z][\w:-]*\s+\S/i.test(first) ? own : null;
}
