// What every message goes through, in every format alike, before anything else reads it.
// What a person marked as private, and memory that nocturne itself recalled into the session, is taken out; a mark that
// is never closed reaches to the end of the message. What a person sent is cut into what they typed and what they pasted:
// the parts, a line end apart, make up again what was sent; ids are made before, so that none changes.

import { passagesOf } from '../base/text/pasted.ts';
import type { Message, Part } from './types.ts';

/** `<private>`, with any attributes. */
const PRIVATE = /<private(?:\s[^>]{0,200})?>/i;

/** How recalled memory is fenced where it is put into a session: `<nocturne-memory …>` … `</nocturne-memory>`. */
const RECALLED = /<nocturne-memory(?:\s[^>]{0,200})?>[\s\S]*?(?:<\/nocturne-memory>|$)/g;

/** How the input of nocturne's own agent begins (see `prompts/extract-input.md` and `prompts/dream-input.md`). */
const OWN_INPUT = '<nocturne-agent>';

/** The message without what is withheld. One in which a person said nothing else is the program's. */
export function withhold(message: Message): Message {
  if (isOwnInput(message)) return { ...message, isOwn: true };
  if (message.speaker === 'human' && message.parts.some((part) => part.kind === 'text' && PRIVATE.test(part.text))) {
    return { ...message, parts: [], isPrivate: true };
  }
  if (!message.parts.some(holdsRecalled)) return message;
  const parts = message.parts.map(withoutRecalled).filter((part) => part.kind !== 'text' || part.text !== '');
  if (message.speaker !== 'human' || parts.length > 0) return { ...message, parts };
  return { ...message, parts, speaker: 'harness', beginsTurn: false };
}

function isOwnInput({ speaker, parts: [first] }: Message): boolean {
  if (speaker !== 'human' && speaker !== 'harness') return false;
  return first?.kind === 'text' && first.text.trimStart().startsWith(OWN_INPUT);
}

function holdsRecalled(part: Part): boolean {
  return (part.kind === 'text' || part.kind === 'result') && part.text.includes('<nocturne-memory');
}

function withoutRecalled(part: Part): Part {
  return holdsRecalled(part) && 'text' in part ? { ...part, text: part.text.replace(RECALLED, '').trim() } : part;
}

/** The message with what the person pasted in parts of its own. */
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
