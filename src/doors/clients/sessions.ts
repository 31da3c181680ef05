// The sessions that clients sent: a row of the home each, and its messages, redacted, in parts (store/sessions.ts writes them,
// dreams/sessions.ts reads them): in files of the home, or where the keeping of this process has them. An id is known within
// its store alone.
// Promises: a session belongs to one store, and only who may read that store finds it; what was sent last more than
// `sessionDays` ago goes with its files.

import { join } from 'node:path';
import { listNames, removeTree } from '../../base/files/directories.ts';
import { makeDirectory, moveFile, removeFile, statNow } from '../../base/files/files.ts';
import { type Clock, DAY_MS } from '../../base/time.ts';
import type { Home } from '../../memory/home/home.ts';
import { type HomeDatabase, insert, row, run, type Steps } from '../../memory/home/home-database.ts';
import type { SessionName, SessionParts } from '../shared.ts';

export interface SessionRow extends SessionName {
  /** The key that sent it. */
  owner: string;
  /** How many messages it has, as its sender counts them. */
  messages: number;
  createdAt: string;
  updatedAt: string;
  /** Since when it is to be extracted; null: nobody asked, or it waits in the inbox of its store. */
  extractAt: string | null;
}

/** What was sent at once. */
export interface SessionPart {
  /** How many messages came before it. */
  after: number;
  count: number;
  /** SHA-256 of what was sent, decompressed. */
  sha: string;
  /** By what name its messages are kept. */
  file: string;
}

/** What lies beside the stores in the directory of parts. */
const INCOMING = '.incoming';

const COLUMNS = `id, store, owner, messages, created_at as "createdAt", updated_at as "updatedAt", extract_at as "extractAt"`;

export class Sessions {
  readonly #rows: HomeDatabase;
  readonly #clock: Clock;
  /** Where their messages are. */
  readonly kept: SessionParts;
  /** A directory of this machine for bodies that are being read. */
  readonly incoming: string;

  constructor(rows: HomeDatabase, { home, clock, kept }: { home: Home; clock: Clock; kept?: SessionParts }) {
    const dir = join(home.dir, 'sessions');
    this.#rows = rows;
    this.#clock = clock;
    this.incoming = join(dir, INCOMING);
    this.kept = kept ?? new PartFiles(dir);
  }

  async find({ store, id }: SessionName): Promise<SessionRow | null> {
    const sql = `select ${COLUMNS} from sent_session where store = ? and id = ?`;
    return (await this.#rows.get<SessionRow>(sql, store, id)) ?? null;
  }

  /** Those that have an id, in whatever store, newest first. */
  withId(id: string): Promise<SessionRow[]> {
    return this.#rows.all<SessionRow>(`select ${COLUMNS} from sent_session where id = ? order by created_at desc`, id);
  }

  parts({ store, id }: SessionName): Promise<SessionPart[]> {
    const sql = 'select after, count, sha, file from sent_part where store = ? and session = ? order by after';
    return this.#rows.all<SessionPart>(sql, store, id);
  }

  /** Enters a session with its first messages; false where the store has one of that id. */
  create(name: SessionName & Pick<SessionRow, 'owner'>, part: SessionPart): Promise<boolean> {
    const now = this.#now();
    return this.#rows.transaction(function* (): Steps<boolean> {
      if ((yield* messagesOf(name)) !== undefined) return false;
      yield* insert('sent_session', { ...name, messages: part.count, created_at: now, updated_at: now });
      yield* insert('sent_part', { store: name.store, session: name.id, ...part });
      return true;
    });
  }

  /** Adds messages behind those that there are; false where there are others by now. */
  append({ store, id }: SessionName, part: SessionPart): Promise<boolean> {
    const now = this.#now();
    return this.#rows.transaction(function* (): Steps<boolean> {
      if ((yield* messagesOf({ store, id })) !== part.after) return false;
      const sql = 'update sent_session set messages = ?, updated_at = ? where store = ? and id = ?';
      yield* run(sql, part.after + part.count, now, store, id);
      yield* insert('sent_part', { store, session: id, ...part });
      return true;
    });
  }

  async askToExtract({ store, id }: SessionName): Promise<void> {
    const sql = 'update sent_session set waits = 1, extract_at = coalesce(extract_at, ?) where store = ? and id = ?';
    await this.#rows.run(sql, this.#now(), store, id);
  }

  /** Those that are to be extracted. */
  toExtract(): Promise<SessionRow[]> {
    const sql = `select ${COLUMNS} from sent_session where extract_at is not null order by extract_at, id`;
    return this.#rows.all<SessionRow>(sql);
  }

  /** How many wait to be learned from: all, those for the stores of a tenant, or those that a key sent. */
  async waiting(of: { tenant: string } | { owner: string } | 'all'): Promise<number> {
    const count = 'select count(*) as n from sent_session where waits = 1';
    const found =
      of === 'all'
        ? this.#rows.get<{ n: number }>(count)
        : 'owner' in of
          ? this.#rows.get<{ n: number }>(`${count} and owner = ?`, of.owner)
          : this.#rows.get<{ n: number }>(
              `${count} and store in (select id from memory_store where tenant = ?)`,
              of.tenant,
            );
    return (await found)?.n ?? 0;
  }

  /** It waits in the inbox of its store. */
  async noteWaiting({ store, id }: SessionName): Promise<void> {
    await this.#rows.run('update sent_session set extract_at = null where store = ? and id = ?', store, id);
  }

  /** What was asked for was worked, or given up. */
  async noteWorked({ store, id }: SessionName): Promise<void> {
    const sql = 'update sent_session set waits = 0 where store = ? and id = ? and extract_at is null';
    await this.#rows.run(sql, store, id);
  }

  /** Those that wait in an inbox since this instant or longer, as far as is known here. */
  waitingSince(before: Date): Promise<SessionName[]> {
    const sql = 'select store, id from sent_session where waits = 1 and extract_at is null and updated_at < ?';
    return this.#rows.all<SessionName>(sql, before.toISOString());
  }

  /** Removes what was sent last so many days ago, and what nothing waits for any more. */
  async dropOld(days: number): Promise<void> {
    const before = new Date(this.#clock.now().getTime() - days * DAY_MS).toISOString();
    const sql = 'select store, id from sent_session where updated_at < ? and waits = 0';
    for (const name of await this.#rows.all<SessionName>(sql, before)) await this.#remove(name);
  }

  /** Removes messages that no row knows, since a damaged home was made again, and that are as old. */
  async dropLost(days: number): Promise<void> {
    const before = new Date(this.#clock.now().getTime() - days * DAY_MS);
    for (const name of await this.kept.putBefore(before)) if (!(await this.find(name))) await this.kept.remove(name);
    for (const body of listNames(this.incoming)) {
      const path = join(this.incoming, body);
      if ((statNow(path)?.modifiedMs ?? Number.POSITIVE_INFINITY) < before.getTime()) removeFile(path);
    }
  }

  async #remove({ store, id }: SessionName): Promise<void> {
    await this.#rows.transaction(function* (): Steps<void> {
      yield* run('delete from sent_part where store = ? and session = ?', store, id);
      yield* run('delete from sent_session where store = ? and id = ?', store, id);
    });
    await this.kept.remove({ store, id });
  }

  #now(): string {
    return this.#clock.now().toISOString();
  }
}

/** How many messages it has; undefined: there is none of that name. */
function* messagesOf({ store, id }: SessionName): Steps<number | undefined> {
  const sql = 'select messages from sent_session where store = ? and id = ?';
  return (yield* row<{ messages: number }>(sql, store, id))?.messages;
}

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
