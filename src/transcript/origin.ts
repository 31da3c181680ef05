// Whether a person sat at a session, or a program ran it: `claude -p`, the Agent SDK, `codex exec`. Told by what Claude
// Code and Codex write into their records; sessions of other agents do not tell and count as a person's.

import { readHead, readTail } from './decoded.ts';
import type { Session } from './session.ts';

const LOOK_BYTES = 64 * 2 ** 10;

/** False only where all that the beginning and the end of the file say of it names a program: it may be resumed by hand. */
export async function isInteractive({ path, sizeBytes, format }: Pick<Session, 'path' | 'sizeBytes' | 'format'>) {
  if (format !== 'claude-code' && format !== 'codex') return true;
  const ends = [await readHead(path, LOOK_BYTES), await readTail(path, { bytes: LOOK_BYTES, sizeBytes })].join('\n');
  // Within a text of the conversation these quotes would be escaped.
  const field = format === 'codex' ? /"originator":\s*"([^"\\]+)"/g : /"entrypoint":\s*"([^"\\]+)"/g;
  const named = [...ends.matchAll(field)].map((match) => match[1] as string);
  return named.length === 0 || named.some((name) => !/^sdk-|^codex_(exec|sdk)/.test(name));
}
