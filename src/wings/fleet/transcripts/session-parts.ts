// The parts of sessions that clients of the server sent, in the database: what the server keeps in files elsewhere (its
// `SessionParts`). They go when the server lets their session go.

import { scanChunks } from '../../../base/files/file-pieces.ts';
import { removeFile, statFile } from '../../../base/files/files.ts';
import type { SessionName, SessionParts } from '../../../doors/shared.ts';
import type { Brought, Transcripts } from './fleet-transcripts.ts';
import { idOfNamed, partsBefore, removeNamed } from './transcript-rows.ts';

export class DatabaseParts implements SessionParts {
  readonly #transcripts: Transcripts;

  constructor(transcripts: Transcripts) {
    this.#transcripts = transcripts;
  }

  /** Keeps the file `from`, which goes. Errors: those of `Transcripts.send`. */
  async put(name: SessionName, part: string, from: string): Promise<void> {
    const { sizeBytes = 0, modifiedAt = '' } = (await statFile(from)) ?? {};
    const file = { id: name.id, format: 'messages', sizeBytes, modifiedAt } as const;
    await this.#transcripts.keepAs(nameOf(name, part), file, async (_, put) => ({
      ...(await put(scanChunks(from))),
      head: '',
      tail: '',
    }));
    removeFile(from);
  }

  /** A file of this machine with what was put; null where it is not kept. */
  async read(name: SessionName, part: string): Promise<Brought | null> {
    const id = await idOfNamed(this.#transcripts.deps.database.ask, nameOf(name, part));
    return id === null ? null : this.#transcripts.bring(id);
  }

  /** Removes a part, or all of a session. */
  remove({ store, id }: SessionName, part = ''): Promise<void> {
    return removeNamed(this.#transcripts.deps.database.ask, { store, kind: 'part' }, `${id}/${part}`);
  }

  /** The sessions of which nothing was put since. */
  putBefore(at: Date): Promise<SessionName[]> {
    return partsBefore(this.#transcripts.deps.database.ask, at);
  }
}

function nameOf({ store, id }: SessionName, part: string) {
  return { store, kind: 'part', name: `${id}/${part}` } as const;
}
