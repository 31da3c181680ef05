// A session has news: how that reaches its inbox, at a pace, whoever noticed it (a hook, a sweep of spool files).

import { hash } from 'node:crypto';
import { resolve } from 'node:path';
import { canonicalPath } from '../../base/files/directories.ts';
import { announceInInbox, type JobKind } from '../../memory/ledger/inbox.ts';
import type { Store } from '../../memory/store/store.ts';
import { openSession } from '../../transcript/session.ts';
import type { App } from '../compose.ts';

/** Work that is in an inbox. */
export interface Waiting {
  store: Store;
  kind: JobKind;
  key: string;
}

export interface SessionNews {
  /** The session's file; relative to the working directory. It need not be there yet. */
  transcript: string;
  /** The session's id, as the agent names it. */
  session: string;
  /** Its working directory, which tells its memory directory; null: it has none. Default: what the transcript says. */
  cwd?: string | null;
  /** The session is over: its last turn is settled, and it is not held back by `throttleMs`. */
  ended: boolean;
  /** When the news came; default: now. */
  at?: Date;
  /** It was found, not told of: due at once. */
  isDueNow?: boolean;
  /** A person asks for it: what was declined at set-up, too. */
  takeDeclined?: boolean;
  /** Default: those of what waits already. */
  instructions?: string;
}

/**
 * Puts a session into the inbox of its memory directory, due `debounceMs` after its last news and not more often than
 * every `throttleMs`. Repeats while it waits are one; those that come while it is worked are worked once more after
 * it. Gives back attempts that were used up, and keeps the instructions of a person who asked for the same session.
 * Errors: where `cwd` is not given, those of opening the transcript.
 */
export async function announceSession(app: App, news: SessionNews): Promise<Waiting & { notBefore: string }> {
  const transcript = resolve(news.transcript);
  const store = await app.storeFor(
    news.cwd === undefined ? await openSession(transcript) : { cwd: news.cwd ?? undefined },
  );
  const key = extractKey({ session: news.session, transcript });
  const clockAt = app.config.clock.now();
  const { ended, instructions, takeDeclined, at = clockAt } = news;
  const asked = { ...(instructions !== undefined && { instructions }), ...(takeDeclined && { takeDeclined }) };
  const payload = { transcript, ended, ...asked };
  const { debounceMs, throttleMs } = news.isDueNow ? { debounceMs: 0, throttleMs: 0 } : app.config;
  const pace = { now: at, clockAt, debounceMs, throttleMs, isLast: ended };
  const notBefore = announceInInbox(store.ledger, { kind: 'extract', key, payload }, pace);
  return { store, kind: 'extract', key, notBefore };
}

/** The key of a session's extraction. Copies of one session in several files are worked one by one. */
export function extractKey({ session, transcript }: { session: string; transcript: string }): string {
  return `${session}@${hash('sha256', canonicalPath(transcript)).slice(0, 8)}`;
}
