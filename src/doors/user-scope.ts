// The user scope as the doors use it: whether entries about the user go there, and the delivery of what waits for it in
// the outboxes of other memory directories. What cannot be delivered now stays in its outbox; whoever works there next
// tries again.

import type { Sending } from '../../jobs/deliver.ts';
import type { Config } from '../base/config/config.ts';
import { failureOf, isAppError } from '../base/errors.ts';
import { canonicalPath } from '../base/files/directories.ts';
import type { Log } from '../base/logger.ts';
import type { Home } from '../memory/home/home.ts';
import { outboxRows } from '../memory/ledger/entries.ts';
import type { Store, WithLease } from '../memory/store/store.ts';
import type { Keeping } from './keeping.ts';
import { scopeDir } from './places.ts';
import { eachLedger } from './worker/known-work.ts';

interface UserScopeParts {
  config: Config;
  home: Home;
  keeping: Keeping | null;
  /** Opens a memory directory, and makes it known to the nightly dream. */
  store(dir: string): Promise<Store>;
  withLease: WithLease;
  log: Log;
}

export class UserScope {
  /** Its directory, canonical; it need not be there. */
  readonly dir: string;
  readonly #parts: UserScopeParts;

  constructor(parts: UserScopeParts) {
    this.#parts = parts;
    this.dir = canonicalPath(scopeDir(parts.config, { memory: 'user', cwd: '/' }));
  }

  open(): Promise<Store> {
    return this.#parts.store(this.dir);
  }

  /** Delivers what waits in an outbox, also while the setting is off: it is kept nowhere else. */
  async deliver(from: Sending): Promise<void> {
    if (outboxRows(from.ledger).length === 0 || (await this.beside(from)) === null) return;
    const { deliver } = await import('../../jobs/deliver.ts');
    const { config, withLease } = this.#parts;
    await deliver(from, { store: await this.open(), clock: config.clock, zone: config.zone, withLease });
  }

  /** Waits for a job and delivers what it sent. The job's work is done whether that succeeds or not. */
  async deliverAfter<T>(work: Promise<T>, from: () => Sending | undefined): Promise<T> {
    const done = await work;
    const sending = from();
    if (sending) await this.#tryToDeliver(sending);
    return done;
  }

  /** Delivers before a dream: over the user scope what waits anywhere, else what waits there. */
  async deliverBeforeDream(at: Store): Promise<void> {
    // In a database an outbox is emptied by who works in its store, which is every night.
    if (this.#parts.keeping || at.id !== this.dir) return this.#tryToDeliver(at);
    await eachLedger(
      { home: this.#parts.home, keeping: null },
      {
        look: (ledger, id) =>
          this.#tryToDeliver({ id, ledger, enterRows: async (work) => ledger.transaction(() => work(ledger)) }),
      },
    );
  }

  /** Its id, for what a memory sent there; null where that is the user scope itself, or of another machine, whose user is another. */
  async beside({ id }: Pick<Store, 'id'>): Promise<string | null> {
    const { keeping } = this.#parts;
    if (keeping?.userStoreBeside) return keeping.userStoreBeside(id, this.dir);
    return id === this.dir ? null : this.dir;
  }

  async #tryToDeliver(from: Sending): Promise<void> {
    try {
      await this.deliver(from);
    } catch (error) {
      if (!isAppError(error)) throw error;
      const { code, message } = failureOf(error);
      await this.#parts.log('warn', { event: 'trouble', kind: 'deliver', store: from.id, code, error: message });
    }
  }
}
