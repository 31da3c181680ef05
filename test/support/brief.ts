// A message on one line, for inline snapshots.

import type { Message } from '../../src/transcript/messages.ts';

/** `>` where a turn begins, `x` where it was taken back; who, where, and the beginning of each part. */
export function brief({ speaker, parts, beginsTurn, isAbandoned, isSidechain }: Message): string {
  const mark = beginsTurn ? '>' : isAbandoned ? 'x' : isSidechain ? '~' : ' ';
  const said = parts.map((part) => {
    if (part.kind === 'call') return `call ${part.tool} ${JSON.stringify(part.input)}`;
    if (part.kind === 'result') return `${part.isError ? 'error' : 'result'} ${JSON.stringify(part.text.slice(0, 30))}`;
    return part.kind === 'attachment' ? `[${part.label}]` : JSON.stringify(part.text.slice(0, 40));
  });
  return [mark, speaker, ...said].join(' | ');
}
