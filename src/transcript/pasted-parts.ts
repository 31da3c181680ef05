// Cuts what a person sent into what they typed and what they pasted, in every format alike. The parts, a line end
// apart, make up again what was sent; ids are made before, so that none changes.

import { passagesOf } from '../base/text/pasted.ts';
import type { Message, Part } from './types.ts';

export function markPasted(message: Message): Message {
  if (message.speaker !== 'human') return message;
  const parts = message.parts.flatMap(cut);
  return parts.length === message.parts.length && !parts.some((part, at) => part !== message.parts[at])
    ? message
    : { ...message, parts };
}

function cut(part: Part): Part[] {
  if (part.kind !== 'text' || part.untyped !== undefined) return [part];
  const passages = passagesOf(part.text);
  if (passages.every(({ isPasted }) => !isPasted)) return [part];
  return passages.map(({ text, isPasted }) => (isPasted ? { ...part, text, untyped: 'pasted' } : { ...part, text }));
}
