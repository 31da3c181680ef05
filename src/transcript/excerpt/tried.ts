// What an agent tried in a session: each call with its result and the mark of its end, the failures that were made good, and what
// it wrote down for others: commits, pull requests, notes. A subagent's calls are its own.

import { type Act, actOf, endOf, madeGood } from '../../rules/lessons.ts';
import type { Segment } from './segments.ts';

/** A call that was answered. */
export interface Tried {
  act: Act;
  call: Segment;
  result: Segment;
}

/** The answered calls of these segments, in the order of their results. */
export function triedIn(segments: readonly Segment[]): Tried[] {
  const calls = new Map<string, Segment>();
  return segments.flatMap((segment) => {
    const { kind, callId = '', message } = segment;
    if (message.isSidechain) return [];
    if (kind === 'call') calls.set(callId, segment);
    const call = kind === 'result' ? calls.get(callId) : undefined;
    if (!call) return [];
    calls.delete(callId);
    const parts = { call: partOf(call), result: partOf(segment) };
    if (parts.call?.kind !== 'call' || parts.result?.kind !== 'result') return [];
    const act = actOf(parts.call);
    return [{ act: { ...act, ended: endOf(act, parts.result) }, call, result: segment }];
  });
}

function partOf({ message, kind, callId }: Segment) {
  return message.parts.find(
    (part) => part.kind === kind && (part.kind === 'call' ? part.id : part.kind === 'result' && part.callId) === callId,
  );
}

/** The segments of each failure and of the call that made it good: first what worked in another way, newest first. */
export function waysIn(tried: readonly Tried[]): Segment[][] {
  return madeGood(tried).map(({ failed, worked }) => [failed.call, failed.result, worked.call]);
}

const WRITES_DOWN =
  /^(?:git (?:commit|push)|gh (?:pr|issue) (?:create|comment|edit|review|close)|glab mr (?:create|note))$/;

/** The calls by which an agent tells others what it did and why. */
export function writtenIn(tried: readonly Tried[]): Segment[] {
  const isWritten = ({ act }: Tried) =>
    act.ended === 'worked' &&
    (act.programs.some((program) => WRITES_DOWN.test(program)) ||
      (!act.isCommand && /\.md$/i.test(act.files[0] ?? '')));
  return tried.filter(isWritten).map(({ call }) => call);
}

const OF_HISTORY = /^(?:git|gh|glab)\b/;

/** What was run last before something was written down or a person was answered, newest first: what that rests on. */
export function checkedIn(tried: readonly Tried[], own: readonly Segment[]): Segment[][] {
  const checks = tried.filter(
    ({ act: { isCommand, ended, programs } }) => isCommand && ended && !programs.some((each) => OF_HISTORY.test(each)),
  );
  const answers = own.filter(({ priority, kind }) => priority === 'answered' && kind === 'words');
  const before = [...writtenIn(tried), ...answers].map((end) => {
    const since = own.findLast(({ priority, index }) => priority === 'human' && index < end.index)?.index ?? 0;
    // Before an answer what only looks tells little.
    const isShown = ({ act, call, result }: Tried) =>
      call.index > since && result.index < end.index && (end.kind === 'call' || act.programs.length > 0);
    return checks.findLast(isShown);
  });
  return [...new Set(before.flatMap((check) => check ?? []))]
    .sort((a, b) => b.call.index - a.call.index)
    .map(({ call, result }) => [call, result]);
}

/** Of each program the last call that worked, or that ran with its end hidden, newest first: what is run here, and how. */
export function lastRuns(tried: readonly Tried[]): Tried[] {
  const ran = tried.filter(({ act: { isCommand, ended, programs } }) => {
    const isOfHistory = programs.every((program) => OF_HISTORY.test(program));
    return isCommand && (ended === 'worked' || ended === 'ran') && programs.length > 0 && !isOfHistory;
  });
  return [...new Map(ran.map((each) => [each.act.programs.join(' '), each])).values()].reverse();
}

const TELLS =
  /\b(?:error|fail(?:ed|ure)?|fatal|panic|exception|cannot|can['’]t|could not|couldn['’]t|unable|not found|no such|unknown|unrecogni[sz]ed|invalid|denied|refused|missing|undefined|unexpected|must|does not|doesn['’]t)\b/i;
/** Before the first line that tells what is wrong so many are kept. */
const LINES_BEFORE = 1;

/** An error from the line on that tells what is wrong; whole where none does. */
export function fromTellingLine(text: string): string {
  const lines = text.split('\n');
  const head = /^(?:error: )?(?:Exit code|Chunk ID|Wall time|Process exited|Original token|Output:)/;
  const at = lines.findIndex((line) => TELLS.test(line.replace(/^error: /, '')) && !head.test(line));
  return at > LINES_BEFORE ? lines.slice(at - LINES_BEFORE).join('\n') : text;
}
