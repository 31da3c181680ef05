// Turns in few words, for tests of what is made of them.

import { buildExcerpts } from '../../src/transcript/excerpt/excerpt.ts';
import type { ExcerptTurn } from '../../src/transcript/excerpt/segments.ts';
import type { Message, Part, Speaker } from '../../src/transcript/messages.ts';

export const asIs = async (text: string) => ({ text });
export const words = (text: string): Part => ({ kind: 'text', text });
export const call = (tool: string, input: unknown, id = 'c'): Part => ({ kind: 'call', id, tool, input });
export const result = (text: string, isError = false, callId = 'c'): Part => ({
  kind: 'result',
  callId,
  text,
  isError,
});

export function message(id: string, speaker: Speaker, parts: (Part | string)[], more: Partial<Message> = {}): Message {
  return {
    id,
    speaker,
    parts: parts.map((part) => (typeof part === 'string' ? words(part) : part)),
    beginsTurn: speaker === 'human',
    isSidechain: false,
    ...more,
  };
}

export function turn(messages: Message[], offeredFrom: string | null = messages[0]?.id ?? null): ExcerptTurn {
  return { turn: { id: messages[0]?.id ?? '', messages }, offeredFrom };
}

export function build(turns: ExcerptTurn[], budgetTokens = 12_000, redact: typeof asIs = asIs) {
  return Array.fromAsync(buildExcerpts(turns, { budgetTokens, redact, zone: 'Europe/Berlin' }));
}

export async function buildOne(turns: ExcerptTurn[], budgetTokens?: number, redact?: typeof asIs) {
  const excerpts = await build(turns, budgetTokens, redact);
  if (excerpts.length !== 1) throw new Error(`one excerpt expected, ${excerpts.length} were built`);
  return excerpts[0] as (typeof excerpts)[number];
}

export const long = (word: string, times: number) => Array.from({ length: times }, (_, at) => `${word}${at}`).join(' ');
