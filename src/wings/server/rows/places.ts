// Where the stores of a home on this machine are: memory directories `stores/<id>/memory`; what is put aside is in
// `stores/.removed/<id>`.

import { dirname, join } from 'node:path';
import { canonicalPath, isDirectory, listNames, removeTree } from '../../../base/files/directories.ts';
import { makeDirectory, moveFile } from '../../../base/files/files.ts';
import type { StorePlaces } from '../../../doors/shared.ts';
import type { Home } from '../../../memory/home/home.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import type { Store } from '../../../memory/store/store.ts';
import { cloneStore } from './clone.ts';

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
