// What `why` says: of a session, a line, an entry, a transcript. Sessions by how their ids begin, turns by their numbers,
// times as a person says them; JSON has it all whole.

import type { Inspection } from '../../../../jobs/inspect.ts';
import type { Config } from '../../../base/config/config.ts';
import { ERRORS, isErrorCode } from '../../../base/errors.ts';
import { sayCount } from '../../../base/text/wording.ts';
import type { ExplainedEntry, ExplainedLine, toldOf } from '../../../memory/dream/provenance.ts';
import type { Explanation } from './explain-session.ts';
import { plainly, sayTime, sayWhen } from './words.ts';

/** Who looks: when and where, and how a session is called there. */
export interface Seen {
  now: Date;
  zone: string;
  short(session: string): string;
  entry(id: string): string;
}

/** What became of a session, and what it taught. */
export function describeSession(found: Explanation, at: Seen, config: Config): string {
  const divided = new Set(found.ranges.flatMap(({ messages, from }) => (messages ? [from] : [])));
  const total = found.ranges.reduce((sum, { messages, turns }) => sum + (messages ? 0 : turns), divided.size);
  const { holds } = found;
  return [
    `session     ${found.shortId}`,
    `transcript  ${found.transcript}${found.unreadable ? ` — ${found.unreadable}` : ''}`,
    `memory      ${found.memory}`,
    ...(holds ? [`holds       ${sayCount(total, 'turn')}; ${sayOffered(holds)}`] : []),
    ...sayRanges(found.ranges, at).map((said, index) => `${(index === 0 ? 'turns' : '').padEnd(12)}${said}`),
    ...found.entries.map(({ type, text, state }, index) => {
      const mark = state === 'new' || state === 'distilled' ? '' : ` (${state})`;
      return `${(index === 0 ? 'taught' : '').padEnd(12)}${type.padEnd(9)}  ${text}${mark}`;
    }),
    ...found.waiting.map(
      ({ notBefore, why }) => `waits       until ${sayTime(notBefore, at)}${why ? `: ${plainly(why, config)}` : ''}`,
    ),
    ...found.failures.map((failure) => `failed      ${sayFailure(failure, at)}`),
    ...found.proposals.map(({ entry, text, says }) => `proposed    ${text} (${entry}): ${says}`),
    `next        ${plainly(found.next.replaceAll(` ${found.session}`, ` ${found.shortId}`), config)}`,
  ].join('\n');
}

function sayOffered({ offered }: NonNullable<Explanation['holds']>): string {
  const { messages, tokens } = offered;
  return messages === 0 ? 'nothing new to read' : `new: ${sayCount(messages, 'message')}, about ${tokens} tokens`;
}

/** Turns by their number in the session. */
function sayRanges(ranges: Explanation['ranges'], at: Seen): string[] {
  let before = 0;
  let divided: string | null = null;
  return ranges.map((range) => {
    if (range.messages && range.from !== divided) before += 1;
    const first = before + 1;
    if (!range.messages) before += range.turns;
    divided = range.messages ? range.from : null;
    const which = range.messages ? `part of ${before}` : range.turns === 1 ? `${first}` : `${first}–${before}`;
    const by = range.job && range.at ? `, ${sayWhen(range.at, at)}` : '';
    return `${which}  ${range.state}: ${range.why}${range.wrote ? `, ${range.wrote}` : ''}${by}`;
  });
}

function sayFailure(
  { at, code, state, attempts, tries, message, ...failure }: Explanation['failures'][number],
  when: Seen,
): string {
  const limit = tries === null ? 'as often as it takes' : `${attempts} of ${tries} tries`;
  const what = code && isErrorCode(code) && ERRORS[code].class !== code ? `${failure.class}, ${code}` : failure.class;
  const fate = { retrying: `, ${limit}`, failed: ', given up', ended: '' }[state];
  return `${sayWhen(at, when)}: ${what}${fate}: ${message}`;
}

export function describeTold({ day, op, topic, reason, over = [] }: ReturnType<typeof toldOf>[number]): string {
  const gone = over.length > 0 ? ` No longer true: ${over.join('; ')}` : '';
  return `  dream of ${day}: ${op}${topic ? ` → ${topic}` : ''}. ${reason}${gone}`;
}

export function describeLine(line: ExplainedLine, at: Seen): string {
  const { path, number, text, isPersons, authors, entries, changed } = line;
  const head = `${path}:${number}\n  ${text}`;
  if (authors.length > 0) return `${head}\n  shared by ${authors.join(', ')}`;
  if (changed) {
    const by = changed.actor === 'external' || changed.actor === 'person' ? 'you' : changed.actor;
    const was = [`  changed by ${by}, ${sayWhen(changed.at, at)}; it said: ${changed.text}`, '  and rested on:'];
    return [head, ...was, ...changed.entries.map((entry) => describeEntry(entry, at, '  '))].join('\n');
  }
  if (isPersons) return `${head}\n  written by a person or by the main agent`;
  return [head, ...entries.map((entry) => describeEntry(entry, at, '  '))].join('\n');
}

export function describeEntry(entry: ExplainedEntry, seen: Seen, indent = ''): string {
  const { id, type, strength, state, at, text, by, session, evidence, log, transcript, sentFrom } = entry;
  const when = sayWhen(at, seen);
  const gave = entry.gave?.join(' … ');
  const isTakenOut = !entry.isInLog && state !== 'sent' && state !== 'withdrawn' && state !== 'forgotten';
  const gone = isTakenOut ? ', taken out there: the next dream takes out what rests on it alone' : '';
  const lines = [
    `← ${seen.entry(id)}, ${type}, ${strength}, ${state}, in ${log}${state === 'sent' ? ' of the user scope' : gone}`,
    `  ${text}`,
    ...(gave && gave !== text ? [`  gave the line: ${gave}`] : []),
    ...evidence.map(({ quote }) => `  “${quote}”`),
    evidence.length === 0
      ? `  written by a person, ${when}`
      : `  said by ${by}, ${when}${session && `, in session ${seen.short(session)}`}`,
    ...sentFrom.map((dir) => `  sent from ${dir}: nocturne why ${id} --memory ${dir}`),
    ...(session && (transcript || sentFrom.length === 0) ? [`  transcript ${transcript ?? 'unknown'}`] : []),
  ];
  return lines.map((line) => `${indent}${line}`).join('\n');
}

export function describeInspection(found: Inspection, seen: Seen): string {
  const { offered, turns } = found;
  const speakers = Object.entries(found.speakers).map(([speaker, count]) => `${count} ${speaker}`);
  const states = [...Map.groupBy(turns, ({ state }) => state)].map(([state, { length }]) => `${length} ${state}`);
  return [
    `${found.transcript}: ${found.format}, ${found.sizeBytes} bytes, last changed ${sayWhen(found.modifiedAt, seen)}`,
    `session   ${seen.short(found.session)}${found.cwd ? ` in ${found.cwd}` : ''}`,
    `memory    ${found.memory}`,
    `turns     ${turns.length}${states.length > 0 ? `: ${states.join(', ')}` : ''}`,
    `messages  ${speakers.join(', ') || 'none'}`,
    `offered   ${offered.messages} messages of ${offered.turns} turns, about ${offered.tokens} tokens in ${offered.excerpts.length} excerpts`,
    ...found.skipped.map(({ what, count, why }) => `skipped   ${count} ${what}: ${why}`),
  ].join('\n');
}
