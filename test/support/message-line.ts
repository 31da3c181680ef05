// A message on one line, for comparing what a reader made of a file with what one sees in it.

import type { Message } from '../../src/transcript/messages.ts';

/** `>` begins a turn, `x` was taken back; then the id, the speaker (in brackets inside a subagent) and each part. */
export function messageLine({ id, speaker, parts, beginsTurn, isSidechain, isAbandoned }: Message): string {
  const said = parts.map((part) => {
    if (part.kind === 'call') return `call ${part.id} ${part.tool} ${JSON.stringify(part.input)}`;
    if (part.kind === 'result') return `${part.isError ? 'error' : 'result'} ${part.callId} ${part.text}`;
    return part.kind === 'attachment' ? `[${part.label}]` : part.text;
  });
  return [beginsTurn ? '>' : isAbandoned ? 'x' : ' ', id, isSidechain ? `(${speaker})` : speaker, ...said].join(' | ');
}
