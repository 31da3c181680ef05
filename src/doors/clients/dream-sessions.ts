// Sessions that a dream reads: those that a client sent, opened from the parts in which their messages are kept
// (rows/sessions.ts), and those of this disk. Each of these belongs to the memory of its project, whose ledger names its
// transcript. A client names one by its id, as it is or behind `sesn_`, as versions tell it.

import { AppError, isAppError } from '../../base/errors.ts';
import { sessionRow } from '../../memory/ledger/coverage.ts';
import type { Store } from '../../memory/store/store.ts';
import type { Session } from '../../transcript/types.ts';
import type { App } from '../compose.ts';
import type { SessionName } from '../shared.ts';
import { snapshotPath } from '../transcripts.ts';
import type { Sessions } from './sessions.ts';

interface Found {
  /** As agents name it. */
  id: string;
  transcript: string;
  snapshot?: string;
}

/** The session of a project's memory that a client names; null where it has read none of that id, and none waits there. */
export async function localSession({ work, ledger }: Store, named: string): Promise<Found | null> {
  const ids = [named, named.replace(/^sesn_/, '')];
  for (const { kind, payload } of await work.items()) {
    const { session, transcript = '', snapshot } = payload as Partial<Omit<Found, 'id'>> & { session?: string };
    if (kind === 'extract' && transcript !== '' && session !== undefined && ids.includes(session)) {
      return { id: session, transcript, ...(snapshot !== undefined && { snapshot }) };
    }
  }
  const row = ids.flatMap((id) => sessionRow(ledger, id) ?? [])[0];
  return row && row.path !== '' ? { id: row.id, transcript: row.path } : null;
}

/** Throws `transcript-gone` where it cannot be read any more, without a word of where it was. */
export async function openLocal(
  store: Store,
  { named, transcripts }: { named: string; transcripts: App['transcripts'] },
): Promise<Session> {
  const found = await localSession(store, named);
  const gone = (cause?: unknown) =>
    new AppError('transcript-gone', `Session ${named} cannot be read any more.`, { cause });
  if (!found) throw gone();
  const { id, transcript, snapshot } = found;
  try {
    return await transcripts.open(transcript, { id, snapshot: snapshot && snapshotPath(store, snapshot) });
  } catch (error) {
    throw isAppError(error) ? gone(error) : error;
  }
}

/** Throws `transcript-gone` where it is not kept any more. */
export async function openKept(sessions: Sessions, name: SessionName): Promise<Session> {
  const gone = () => new AppError('transcript-gone', `Session ${name.id} is not kept any more.`);
  const { openSnapshot } = await import('../../transcript/session.ts');
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
