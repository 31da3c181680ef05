// What one process of all does at a time: a lease by name, kept while the work goes on, and for a while after where the same
// process is to do it again. Promises: of those that ask at once one gets it; that of a process that died ends by the
// database's time.

import { randomUUID } from 'node:crypto';
import { scanChunks } from '../../base/files/file-pieces.ts';
import { removeFile, statFile } from '../../base/files/files.ts';
import { thisProcess } from '../../base/process.ts';
import type { SessionName, SessionParts } from '../../doors/shared.ts';
import type { Ask } from './postgres.ts';
import type { Brought, Transcripts } from './transcripts/fleet-transcripts.ts';
import { idOfNamed, partsBefore, removeNamed } from './transcripts/transcript-rows.ts';

const DEFAULT_LEASE_MS = 15_000;
const UNTIL = `clock_timestamp() + $3 * interval '1 millisecond'`;

export interface AloneOptions {
  /** How long the lease of a process that hangs keeps others from the work; default: 15 s. */
  leaseMs?: number;
}

export class Alone {
  readonly #ask: Ask;
  readonly #leaseMs: number;
  readonly #owner = `${thisProcess()}/${randomUUID()}`;
  /** What this process does now: it does nothing twice at a time either. */
  readonly #now = new Set<string>();
  /** What is kept for this process afterwards. */
  readonly #kept = new Set<string>();

  constructor(ask: Ask, { leaseMs = DEFAULT_LEASE_MS }: AloneOptions = {}) {
    this.#ask = ask;
    this.#leaseMs = leaseMs;
  }

  /** See `Shared.alone`. */
  async do<T>(name: string, work: () => Promise<T>, { keepMs = 0 }: { keepMs?: number } = {}): Promise<T | null> {
    if (this.#now.has(name)) return null;
    this.#now.add(name);
    try {
      if (!(await this.#take(name))) return null;
      const renewing = setInterval(() => this.#hold(name, this.#leaseMs).catch(ignore), this.#leaseMs / 3).unref();
      try {
        return await work();
      } finally {
        clearInterval(renewing);
        if (keepMs > 0) this.#kept.add(name);
        // Where that fails it ends by itself.
        await (keepMs > 0 ? this.#hold(name, keepMs) : this.#release(name)).catch(ignore);
      }
    } finally {
      this.#now.delete(name);
    }
  }

  /** Lets go of what was kept. */
  async close(): Promise<void> {
    for (const name of this.#kept) await this.#release(name).catch(ignore);
  }

  async #take(name: string): Promise<boolean> {
    const taken = await this.#ask(
      `insert into alone values ($1, $2, ${UNTIL}) on conflict (name) do update
         set owner = excluded.owner, until = excluded.until where alone.owner = $2 or alone.until < clock_timestamp()
       returning 1 as one`,
      [name, this.#owner, this.#leaseMs],
    );
    return taken.length === 1;
  }

  async #hold(name: string, forMs: number): Promise<void> {
    await this.#ask(`update alone set until = ${UNTIL} where name = $1 and owner = $2`, [name, this.#owner, forMs]);
  }

  async #release(name: string): Promise<void> {
    this.#kept.delete(name);
    await this.#ask('delete from alone where name = $1 and owner = $2', [name, this.#owner]);
  }
}

function ignore(): void {}

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
