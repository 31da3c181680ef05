// Where the parts of sessions are that clients sent: in files of the home, or where the keeping of this process has them.

import { join } from 'node:path';
import { listNames, removeTree } from '../../../base/files/directories.ts';
import { makeDirectory, moveFile, removeFile, statNow } from '../../../base/files/files.ts';
import type { SessionName, SessionParts } from '../../../doors/shared.ts';

/** What lies beside the stores in the directory of parts. */
export const INCOMING = '.incoming';

/** Parts as files of `dir`, in a directory per store and session. */
export class PartFiles implements SessionParts {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  async put({ store, id }: SessionName, part: string, from: string): Promise<void> {
    const dir = join(this.#dir, store, id);
    makeDirectory(dir);
    moveFile(from, join(dir, part));
  }

  async read({ store, id }: SessionName, part: string) {
    const path = join(this.#dir, store, id, part);
    return statNow(path) ? { path, discard() {} } : null;
  }

  async remove({ store, id }: SessionName, part?: string): Promise<void> {
    if (part === undefined) removeTree(join(this.#dir, store, id));
    else removeFile(join(this.#dir, store, id, part));
  }

  async putBefore(at: Date): Promise<SessionName[]> {
    const before = at.getTime();
    const stores = listNames(this.#dir).filter((name) => name !== INCOMING);
    const sessions = stores.flatMap((store) => listNames(join(this.#dir, store)).map((id) => ({ store, id })));
    return sessions.filter(({ store, id }) => (statNow(join(this.#dir, store, id))?.modifiedMs ?? before) < before);
  }
}
