// A session as the systems beside nocturne are shown it: what the human and the agent said, and calls with their results
// cut short; what is too much is cut out of the middle.

import { compactJson } from '../../../src/transcript/excerpt/segments.ts';
import { estimateTokens } from '../../../src/transcript/excerpt/tokens.ts';
import type { Message, Part } from '../../../src/transcript/messages.ts';
import { isMainAgents } from '../../../src/transcript/own-writes.ts';

/** As nocturne's own excerpt: `excerptTokens` as it is set when nothing is, and each session of the chains is one excerpt. */
const SESSION_TOKENS = 12_000;
const CALL_CHARACTERS = 400;
const RESULT_CHARACTERS = 600;

export function sessionText(messages: readonly Message[], budgetTokens = SESSION_TOKENS): string {
  const shown = messages.filter((message) => isMainAgents(message) && !message.isPrivate && !message.isOwn);
  const blocks = shown.flatMap((message) => message.parts.flatMap((part) => blockOf(message, part)));
  return withoutMiddle(blocks, budgetTokens);
}

function blockOf({ speaker }: Message, part: Part): string[] {
  if (part.kind === 'call') return [`[call ${part.tool}] ${cut(compactJson(part.input), CALL_CHARACTERS)}`];
  if (part.kind === 'result') {
    const name = part.isError ? 'failed' : 'result';
    return part.text.trim() ? [`[${name}] ${cut(part.text, RESULT_CHARACTERS)}`] : [];
  }
  if (part.kind !== 'text' || part.text.trim() === '') return [];
  return speaker === 'human' || speaker === 'assistant' ? [`[${speaker}] ${part.text.trim()}`] : [];
}

function cut(text: string, characters: number): string {
  const trimmed = text.trim();
  if (trimmed.length <= characters) return trimmed;
  return `${trimmed.slice(0, characters * 0.6)} […] ${trimmed.slice(-characters * 0.4)}`;
}

/** From both ends, as many tokens of each, as long as they fit. */
function withoutMiddle(blocks: string[], budgetTokens: number): string {
  const [head, tail] = [
    { blocks: [] as string[], tokens: 0 },
    { blocks: [] as string[], tokens: 0 },
  ];
  let [from, to] = [0, blocks.length];
  while (from < to) {
    const side = head.tokens <= tail.tokens ? head : tail;
    const block = blocks[side === head ? from : to - 1] ?? '';
    const left = budgetTokens - head.tokens - tail.tokens;
    const tokens = estimateTokens(block) + 2;
    if (tokens > left) {
      // A single long message does not hide itself: of it a part is shown. Two characters are a token at most.
      head.blocks.push(cut(block, left * 2), `[… ${to - from - 1} messages and calls are left out here …]`);
      break;
    }
    side.tokens += tokens;
    if (side === head) head.blocks.push(blocks[from++] ?? '');
    else tail.blocks.unshift(blocks[--to] ?? '');
  }
  return [...head.blocks, ...tail.blocks].join('\n\n');
}
