// What of a session can be shown at all: segments in source order, each with its speaker and its priority.
// A segment is a message's words, one call or one result, so that each can be weighed and cut by itself. Harness messages
// and empty parts have none. The text is decoded, without colour codes, whole and not yet redacted.
// The priority goes by form alone, since no code knows what a sentence means: who says it, whether a person answers it,
// whether it failed, what kind of tool it comes from.

import { stripVTControlCharacters } from 'node:util';
import { AppError } from '../../base/errors.ts';
import { isObject } from '../../base/text/json.ts';
import type { EvidenceSource } from '../../rules/candidate.ts';
import { AGENT_TOOL } from '../../rules/lessons.ts';
import type { Message, Part, Speaker, Turn } from '../messages.ts';

/**
 * In the order of spending. `human`: a person's words. `answered`: the last words of the assistant before a person's and
 * at the end of a turn, and what else a person's message answers. `failed`: a tool's error, its call, and what the
 * assistant says next. `question`: a question with what could be chosen. `tool`: what tools were called for, and what they
 * said. `routine`: what says nothing by itself: announcements, bookkeeping, listings, files as they were read or written.
 */
export type Priority = 'human' | 'answered' | 'failed' | 'question' | 'subagent' | 'assistant' | 'tool' | 'routine';

export interface Segment {
  kind: 'words' | 'call' | 'result';
  /** Of a call: which tool. */
  tool?: string;
  /** Of a call and its result. */
  callId?: string;
  isError?: boolean;
  /** Of what is `answered`: a person chose or approved it. */
  isDecidedOn?: boolean;
  /** Of words: where in `text` a paste is that is too long to be shown whole. */
  longPastes?: Span[];
  message: Message;
  /** Counts the messages that have segments, in source order; what is missing between two segments was left out. */
  position: number;
  /** Counts the segments, in source order. */
  index: number;
  turn: string;
  speaker: Speaker;
  priority: Priority;
  /** False: context, on which nothing can rest. */
  offered: boolean;
  text: string;
  /** All segments of the same message, this one included. */
  siblings: Segment[];
}

interface Span {
  start: number;
  end: number;
}

export interface ExcerptTurn {
  turn: Turn;
  /** The id of the first message that is offered; null: the whole turn is context only. */
  offeredFrom: string | null;
}

/** How many messages with segments, and how many segments, come before a turn. */
interface SegmentsBefore {
  messages: number;
  segments: number;
}

/** The segments of a turn, in source order. Throws `bad-input` when `offeredFrom` names no message of it. */
export function segmentsOf({ turn, offeredFrom }: ExcerptTurn, before: SegmentsBefore): Segment[] {
  const firstOffered = offeredFrom === null ? Infinity : turn.messages.findIndex(({ id }) => id === offeredFrom);
  if (firstOffered === -1) throw new AppError('bad-input', `Turn ${turn.id} holds no message ${offeredFrom}.`);
  const segments: Segment[] = [];
  let position = before.messages;
  for (const [at, message] of turn.messages.entries()) {
    if (!saysAnything(message)) continue;
    const speaker = speakerOf(message);
    const siblings: Segment[] = [];
    for (const part of readParts(message.parts)) {
      // A result that came in a human's message was said by the tool: no word of it may pass for the human's.
      const said = speaker === 'human' && part.kind !== 'words' ? 'tool' : speaker;
      const place = { position, index: before.segments + segments.length, turn: turn.id, offered: at >= firstOffered };
      const segment: Segment = { ...part, ...place, message, speaker: said, priority: 'routine', siblings };
      siblings.push(segment);
      segments.push(segment);
    }
    position += 1;
  }
  assignPriorities(segments);
  return segments;
}

/** Whether a message has segments: what the program wrote, and what is empty, has none. */
export function saysAnything(message: Message): boolean {
  return speakerOf(message) !== 'harness' && message.parts.some(isShowable);
}

function isShowable(part: Part): boolean {
  return part.kind === 'call' || part.kind === 'attachment' || readPart(part).text.trim() !== '';
}

/** Who is taken to have said a message: what is said inside a subagent is never the human's or the main agent's. */
export function speakerOf(message: Message): Speaker {
  const isSubagent = message.isSidechain && (message.speaker === 'human' || message.speaker === 'assistant');
  return isSubagent ? 'subagent' : message.speaker;
}

type ReadPart = Pick<Segment, 'kind' | 'text' | 'tool' | 'callId' | 'isError' | 'longPastes'>;

/** A paste of more characters is shown by its head and its tail. */
const LONG_PASTE_CHARACTERS = 3_000;

function readParts(parts: Part[]): ReadPart[] {
  const read: ReadPart[] = [];
  for (const part of parts) {
    if (!isShowable(part)) continue;
    const next = readPart(part);
    const last = read.at(-1);
    if (next.kind !== 'words' || last?.kind !== 'words') {
      read.push(next);
      continue;
    }
    const offset = last.text.length + 1;
    const moved = next.longPastes?.map(({ start, end }) => ({ start: start + offset, end: end + offset })) ?? [];
    last.text += `\n${next.text}`;
    if (moved.length > 0) last.longPastes = [...(last.longPastes ?? []), ...moved];
  }
  return read;
}

function readPart(part: Part): ReadPart {
  switch (part.kind) {
    case 'text': {
      const text = readable(part.text);
      const isLongPaste = part.untyped === 'pasted' && text.length > LONG_PASTE_CHARACTERS;
      return { kind: 'words', text, ...(isLongPaste && { longPastes: [{ start: 0, end: text.length }] }) };
    }
    case 'attachment':
      return { kind: 'words', text: `[attachment: ${part.label}]`.toWellFormed() };
    case 'call': {
      return { kind: 'call', text: sayCall(part.tool, part.input).toWellFormed(), tool: part.tool, callId: part.id };
    }
    case 'result': {
      const text = `${part.isError ? 'error: ' : ''}${readable(part.text)}`;
      return { kind: 'result', text, callId: part.callId, isError: part.isError };
    }
  }
}

function readable(text: string): string {
  return (text.includes('\u001b') ? stripVTControlCharacters(text) : text).toWellFormed();
}

/** What a call is about: a command or a file, which then stand first, and without their names. */
const SUBJECT = /^(?:command|cmd|script|(?:file|absolute|notebook)_?path|path)$/i;
const COMMAND = /^(?:command|cmd|script)$/i;

/** A call as it is shown: its subject, then what else it was given, what an edit took out last. */
function sayCall(tool: string, input: unknown): string {
  const fields = isObject(input) ? Object.entries(input) : [];
  const [name, subject] = fields.find(([key]) => SUBJECT.test(key)) ?? [];
  const words = Array.isArray(subject) ? subject : [subject];
  if (name === undefined || !words.every((word) => typeof word === 'string'))
    return `call ${tool} ${compactJson(input)}`;
  // What describes a command repeats it in other words.
  const isSaid = (key: string) => key === name || (key === 'description' && COMMAND.test(name));
  const others = fields.filter(([key, value]) => value !== false && !isSaid(key));
  const given = [...others.filter(([key]) => !/^old/.test(key)), ...others.filter(([key]) => /^old/.test(key))];
  return `call ${tool} ${words.join(' ')}${given.length > 0 ? ` ${compactJson(Object.fromEntries(given))}` : ''}`;
}

const MAX_DEPTH = 8;

/** JSON as it is shown: eight levels deep, its strings not escaped, for a secret is recognised in decoded text only. */
export function compactJson(value: unknown, depth = 0): string {
  if (typeof value === 'string') return `"${value}"`;
  if (typeof value !== 'object' || value === null) return String(value);
  if (depth === MAX_DEPTH) return '…';
  if (Array.isArray(value)) return `[${value.map((item) => compactJson(item, depth + 1)).join(',')}]`;
  const fields = Object.entries(value).map(([key, item]) => `"${key}":${compactJson(item, depth + 1)}`);
  return `{${fields.join(',')}}`;
}

/** Gives all segments of a turn, in source order, their priorities. */
function assignPriorities(segments: readonly Segment[]): void {
  const calls = new Map<string, Segment>();
  for (const segment of segments) {
    if (segment.kind === 'call' && segment.callId) calls.set(segment.callId, segment);
    segment.priority = priorityOf(segment, segment.kind === 'result' ? calls.get(segment.callId ?? '') : segment);
  }
  raiseFailures(segments, calls);
  raiseAnswered(segments.filter((segment) => segment.offered));
  raiseAnswered(segments.filter((segment) => !segment.offered));
}

/** `call`: of a call and of a result, the call. */
function priorityOf(segment: Segment, call: Segment | undefined): Priority {
  const { kind, speaker } = segment;
  // The human's words in the same message say little without it.
  if (speaker !== 'human' && segment.message.speaker === 'human' && !segment.message.isSidechain) return 'answered';
  if (kind === 'words' && speaker !== 'tool') {
    if (speaker === 'human' || speaker === 'subagent') return speaker;
    return isAnnouncement(segment.text) ? 'routine' : 'assistant';
  }
  if (kind === 'words') return 'tool';
  if (call?.tool !== undefined) {
    if ([BOOKKEEPING, LOOKING].some((tools) => tools.test(call.tool ?? ''))) return 'routine';
    if (segment.isError) return 'tool';
    if (LISTING.test(call.text)) return 'routine';
    // What was asked is told apart from what was chosen, which the person's own message says.
    if (ASKING.test(call.tool)) return kind === 'call' ? 'question' : 'routine';
    if (kind === 'result' && EDITING.test(call.tool)) return 'routine';
    if (kind === 'result' && AGENT_TOOL.test(call.tool)) return LAUNCHED.test(segment.text) ? 'routine' : 'subagent';
  }
  return 'tool';
}

const BOOKKEEPING =
  /^(?:todo|task_?(?:create|update|list|get|output|stop)|update_plan|write_todos|update_todo|toolsearch|report_intent|enterplanmode)/i;
const LOOKING =
  /^(?:ls|glob|grep|list_?(?:dir|files)|listdir|find_?files|read|view|open_?file|search_?(?:file|text)|notebookread)/i;
const LISTING = /^call \S+ (?:(?:ba|z)?sh -l?c )?(?:cd \S+ && )?(?:ls|find|tree|pwd)\b[^|&;\n]*$/;
const EDITING = /^(?:edit|multiedit|write|notebookedit|apply_?patch|replace|str_replace|create)/i;
const ASKING = /^(?:ask_?user|request_?user_?input|question$)/i;
/** What a program says of an agent that goes on by itself is no report. */
const LAUNCHED = /^Async agent launched/;

/** What announces the next call, or says that the last one went well. */
function isAnnouncement(text: string): boolean {
  const line = text.trim();
  if (line.length > 160 || line.includes('\n') || line.endsWith('?')) return false;
  return ANNOUNCES.test(line);
}

const ANNOUNCES =
  /^(?:ack\b|ok(?:ay)?\b|good\b|great\b|perfect\b|excellent\b|done\b|now\b|next\b|let(?:'|’)?s\b|let me\b|i(?:'|’)(?:ll|m going)\b|i will\b|first,|(?:updat|check|read|runn|look|fix|add|creat|commit|push)ing\b|all (?:tests|checks) (?:pass|green))/i;

/**
 * What the program says of a call that it did not even make: the agent used its tool wrongly, or a person said something
 * to it, which their own message says behind the call.
 */
const MISUSE =
  /^error: (?:<tool_use_error>|File (?:has not been read|has been modified|does not exist)|String to replace|Sibling tool call|Cancelled|The user doesn't want to proceed[^\n]*the user said:\n(?!The user wants to clarify))/;

function raiseFailures(segments: readonly Segment[], calls: Map<string, Segment>): void {
  let isFailed = false;
  for (const segment of segments) {
    if (segment.priority === 'human') isFailed = false;
    if (segment.kind === 'result' && segment.isError && segment.priority === 'tool' && !MISUSE.test(segment.text)) {
      segment.priority = 'failed';
      const call = calls.get(segment.callId ?? '');
      if (call) call.priority = 'failed';
      isFailed = true;
    } else if (isFailed && segment.kind === 'words' && segment.speaker === 'assistant') {
      segment.priority = 'failed';
      isFailed = false;
    }
  }
}

function raiseAnswered(segments: readonly Segment[]): void {
  let last: Segment | undefined;
  for (const segment of segments) {
    if (segment.priority === 'human') {
      if (last) {
        last.priority = 'answered';
        last.isDecidedOn = segment.message.parts.some((part) => part.kind === 'text' && part.untyped === 'chosen');
      }
      last = undefined;
    } else if (segment.kind === 'words' && segment.speaker === 'assistant') {
      last = segment;
    }
  }
  if (last) last.priority = 'answered';
}

/** Of what was said alike in calls and results, and by no person: how often the last says it; 0 for the others. */
export function repeatsIn(segments: readonly Segment[]): Map<Segment, number> {
  const others = segments.filter(({ kind, speaker }) => kind !== 'words' && speaker !== 'human');
  const alike = [...Map.groupBy(others, ({ kind, text }) => `${kind} ${text}`).values()].filter(
    ({ length }) => length > 1,
  );
  return new Map(
    alike.flatMap((each) => each.map((segment, at) => [segment, at === each.length - 1 ? each.length : 0])),
  );
}

/** A message that is shown, for checking what is quoted from it; white space as it was. Results in a human's are not theirs. */
export interface SourceMessage extends EvidenceSource {
  speaker: Speaker;
}

/** The message of a segment, for checking what is quoted from it. */
export async function readSource(
  { message, turn, position, siblings }: Segment,
  how: {
    offered: boolean;
    shortIds: { get(id: string): string };
    redact: (text: string) => Promise<{ text: string }>;
    redactSegment: (segment: Segment) => Promise<string>;
  },
): Promise<SourceMessage> {
  const speaker = speakerOf(message);
  const said = siblings.filter((other) => other.speaker === speaker);
  const textOf = async (segments: Segment[]) => (await Promise.all(segments.map(how.redactSegment))).join('\n');
  const place = { id: message.id, turn, position };
  const source: SourceMessage = { ...place, speaker, text: await textOf(said), offered: how.offered };
  source.shownAs = how.shortIds.get(message.id);
  if (message.at) source.at = message.at;
  const inWords = said.filter((other) => other.kind === 'words');
  if (inWords.length < said.length) source.words = await textOf(inWords);
  const chosen = message.parts.flatMap((part) => (part.kind === 'text' && part.untyped === 'chosen' ? part.text : []));
  if (chosen.length > 0) source.chosen = (await how.redact(chosen.join('\n'))).text;
  const asked = speaker === 'human' ? siblings.filter((other) => other.kind === 'call') : [];
  if (asked.length > 0) source.asked = await textOf(asked);
  return source;
}
