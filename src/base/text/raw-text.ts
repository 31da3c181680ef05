// Text that may hold bytes which are no UTF-8. Promises: `bytesOf(rawText(bytes))` is these bytes, whatever they are:
// a byte that belongs to no character stands in the text as half of a surrogate pair that no text has, U+DC80 to U+DCFF.

import { isUtf8 } from 'node:buffer';

/** The text of bytes that may not be UTF-8. */
export function rawText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString();
  const pieces: string[] = [];
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = lengthOfCharacter(bytes, at);
    if (length === 0)
      pieces.push(bytes.toString('utf8', from, at), String.fromCharCode(0xdc00 + (bytes[at] as number)));
    at += length || 1;
    if (length === 0) from = at;
  }
  return [...pieces, bytes.toString('utf8', from)].join('');
}

/** The bytes of a text that `rawText` gave, or that was made of one. */
export function bytesOf(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  const pieces = text.split(/([\udc80-\udcff])/u);
  return Buffer.concat(
    pieces.map((piece, at) => (at % 2 === 1 ? Buffer.of(piece.charCodeAt(0) - 0xdc00) : Buffer.from(piece))),
  );
}

/** How many bytes the character at a place has; 0 where none begins there. */
function lengthOfCharacter(bytes: Buffer, at: number): number {
  const first = bytes[at] as number;
  const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  return length > 0 && isUtf8(bytes.subarray(at, at + length)) ? length : 0;
}
