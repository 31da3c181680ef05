// Tickets to the page, where it is served now, and when a person last looked, as single values of the database. A ticket is 256
// random bits, good once and for a minute; only its hash is kept.

import { hash, randomBytes } from 'node:crypto';
import { isDead, thisProcess } from '../base/process.ts';
import type { Clock } from '../base/time.ts';
import { type Db, replace } from '../db/sql.ts';

interface At {
  db: Db;
  clock: Clock;
}

const TICKET_MS = 60_000;

export async function makeTicket({ db, clock }: At): Promise<string> {
  const now = clock.now();
  const ticket = randomBytes(32).toString('base64url');
  const ends = new Date(now.getTime() + TICKET_MS).toISOString();
  await db.run("delete from setting where key like 'ticket:%' and value <= ?", now.toISOString());
  await replace(db, 'setting', ['key'], { key: `ticket:${hash('sha256', ticket)}`, value: ends });
  return ticket;
}

/** Whether it was good, which it then is no more. */
export async function takeTicket({ db, clock }: At, ticket: string): Promise<boolean> {
  const values = [`ticket:${hash('sha256', ticket)}`, clock.now().toISOString()];
  return (await db.run('delete from setting where key = ? and value > ?', ...values)) === 1;
}

export function noteServed(db: Db, url: string): Promise<void> {
  return replace(db, 'setting', ['key'], { key: `page:${thisProcess()}`, value: url });
}

export async function noteEnded(db: Db): Promise<void> {
  await db.run('delete from setting where key = ?', `page:${thisProcess()}`);
}

/** Where pages are served by processes of this machine that live. */
export async function servedAt(db: Db): Promise<string[]> {
  const rows = await db.all<{ key: string; value: string }>("select key, value from setting where key like 'page:%'");
  return rows.filter(({ key }) => !isDead(key.slice('page:'.length))).map(({ value }) => value);
}
