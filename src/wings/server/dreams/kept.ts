// A session that a client sent, opened from the files in which its messages are kept (rows/sessions.ts).

import { AppError } from '../../../base/errors.ts';
import { openSnapshot } from '../../../transcript/session.ts';
import type { Session } from '../../../transcript/types.ts';
import type { SessionName, Sessions } from '../rows/sessions.ts';

/** Throws `transcript-gone` where it is not kept any more. */
export async function openKept(sessions: Sessions, name: SessionName): Promise<Session> {
  const parts = await sessions.parts(name);
  const opened = await Promise.all(parts.map(({ file }) => openSnapshot(sessions.pathOf(name, file))));
  const [first] = opened;
  if (!first) throw new AppError('transcript-gone', `Session ${name.id} is not kept any more.`);
  return {
    ...first,
    id: name.id,
    async *messages() {
      for (const [at, part] of opened.entries()) {
        // What was appended has ids of its own, chained to nothing that came before.
        const before = at === 0 ? '' : `${parts[at]?.after}/`;
        for await (const message of part.messages()) yield { ...message, id: `${before}${message.id}` };
      }
    },
  };
}
