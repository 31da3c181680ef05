// Where the stores of a home on this machine are: memory directories `stores/<id>/memory`; what is put aside is in
// `stores/.removed/<id>`. And a copy of a store at another place: its memories with their ids and versions, its logs, what
// lines rest on and which sessions were read; but nothing of what waits or is under way there. The store that is copied is
// not changed.
// Promises: the copy is of one moment, and is there whole or not at all.

import { dirname, join } from 'node:path';
import { canonicalPath, isDirectory, listNames, removeTree } from '../../base/files/directories.ts';
import { makeDirectory, moveFile, writeSynced } from '../../base/files/files.ts';
import type { Home } from '../../memory/home/home.ts';
import { type Ledger, openLedger } from '../../memory/ledger/ledger.ts';
import type { Store } from '../../memory/store/store.ts';
import type { StorePlaces } from '../shared.ts';

export class DirectoryPlaces implements StorePlaces {
  readonly #home: Home;
  readonly #dir: string;

  constructor(home: Home) {
    this.#home = home;
    this.#dir = join(canonicalPath(home.dir), 'stores');
  }

  of(id: string): string {
    return join(this.#dir, id, 'memory');
  }

  async make(id: string): Promise<void> {
    makeDirectory(this.of(id));
  }

  async copy(from: Store, to: string, { leaveOut }: { leaveOut(ledger: Ledger): void }): Promise<void> {
    await cloneStore(from, { to: this.of(to), beside: join(this.#removedDir, `${to}.new`), leaveOut });
  }

  entered(id: string): Promise<void> {
    return this.#home.addStore(this.of(id));
  }

  async remove(id: string, close: () => Promise<void>): Promise<void> {
    await this.#home.removeStore(this.of(id));
    await close();
    makeDirectory(this.#removedDir);
    moveFile(dirname(this.of(id)), join(this.#removedDir, id));
  }

  async restore(id: string): Promise<boolean> {
    const removed = join(this.#removedDir, id);
    if (!isDirectory(removed)) return false;
    moveFile(removed, dirname(this.of(id)));
    return true;
  }

  async drop(id: string): Promise<void> {
    removeTree(join(this.#removedDir, id));
  }

  found(): { id: string; isRemoved: boolean }[] {
    const there = listNames(this.#dir).filter((id) => isDirectory(this.of(id)));
    const removed = listNames(this.#removedDir);
    return [...there.map((id) => ({ id, isRemoved: false })), ...removed.map((id) => ({ id, isRemoved: true }))];
  }

  get #removedDir(): string {
    return join(this.#dir, '.removed');
  }
}

const LEFT_OUT = [
  ...['inbox', 'lease', 'failure', 'worked', 'skip', 'outbox', 'proposal'],
  // What is known of files by their dates.
  'history_look',
];

/** Takes out of a ledger that was copied what waits or is under way. */
export function leaveOut(ledger: Ledger): void {
  ledger.transaction(() => {
    for (const table of LEFT_OUT) ledger.run(`delete from "${table}"`);
    ledger.run("update job set status = 'ended', outcome = 'interrupted' where status = 'running'");
  });
}

/** Copies a store to a memory directory, by way of `beside`; where the directory is there, it was copied before. */
export async function cloneStore(
  from: Store,
  { to, beside, leaveOut }: { to: string; beside: string; leaveOut(ledger: Ledger): void },
): Promise<void> {
  if (isDirectory(to)) return;
  // What was edited by hand is a version before.
  await from.missing();
  removeTree(beside);
  const dir = join(beside, 'memory');
  makeDirectory(join(dir, '.nocturne'));
  from.ledger.copyTo(join(dir, '.nocturne', 'ledger.db'));
  const ledger = openLedger(dir);
  try {
    leaveOut(ledger);
    const heads = ledger.all<{ path: string; content: Buffer }>(
      `select memory.path, version.content from memory join version on version.id = memory.head
         where memory.path is not null and version.content is not null`,
    );
    for (const { path, content } of heads) {
      makeDirectory(dirname(join(dir, path)));
      writeSynced(join(dir, path), content);
    }
  } finally {
    ledger.close();
  }
  makeDirectory(dirname(dirname(to)));
  moveFile(beside, dirname(to));
}
