// A session that a client sent, opened from the parts in which its messages are kept (rows/session-parts.ts).

import { AppError } from '../../../base/errors.ts';
import type { SessionName } from '../../../doors/shared.ts';
import { openSnapshot } from '../../../transcript/session.ts';
import type { Session } from '../../../transcript/types.ts';
import type { Sessions } from '../rows/sessions.ts';

/** Throws `transcript-gone` where it is not kept any more. */
export async function openKept(sessions: Sessions, name: SessionName): Promise<Session> {
  const gone = () => new AppError('transcript-gone', `Session ${name.id} is not kept any more.`);
  const parts = await sessions.parts(name);
  const discards: (() => void)[] = [];
  const discard = () => {
    for (const each of discards) each();
  };
  const opened: Session[] = [];
  try {
    for (const { file } of parts) {
      const read = await sessions.kept.read(name, file);
      if (!read) throw gone();
      discards.push(read.discard);
      opened.push(await openSnapshot(read.path));
    }
    const [first] = opened;
    if (!first) throw gone();
    return {
      ...first,
      id: name.id,
      get unreadableLines() {
        return opened.reduce((sum, part) => sum + part.unreadableLines, 0);
      },
      messages: messagesOf,
      discard,
    };
  } catch (error) {
    discard();
    throw error;
  }
  async function* messagesOf() {
    for (const [at, part] of opened.entries()) {
      // What was appended has ids of its own, chained to nothing that came before.
      const before = at === 0 ? '' : `${parts[at]?.after}/`;
      for await (const message of part.messages()) yield { ...message, id: `${before}${message.id}` };
    }
  }
}
