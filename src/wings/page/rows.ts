// What the page keeps in the home: where it is served now, and the tickets that open it. A ticket is 256 random bits, good
// once and for a minute; only its hash is kept. And whether anything in the home is another than before.

import { createHash, randomBytes } from 'node:crypto';
import { thisProcess } from '../../base/process.ts';
import type { Clock } from '../../base/time.ts';
import type { HomeDatabase } from '../../memory/home/database.ts';
import type { Home } from '../../memory/home/home.ts';

const STEPS = [
  `
create table page_ticket (sha text primary key, ends_at text not null) strict;
create table page_server (process text primary key, url text not null) strict;
`,
];

const TICKET_MS = 60_000;

function rowsOf(home: Home): HomeDatabase {
  return home.tablesOf({ name: 'page', tables: ['page_ticket', 'page_server'], schema: STEPS });
}

function shaOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('hex');
}

export async function makeTicket(home: Home, clock: Clock): Promise<string> {
  const rows = rowsOf(home);
  const now = clock.now();
  await rows.run('delete from page_ticket where ends_at <= ?', now.toISOString());
  const ticket = randomBytes(32).toString('base64url');
  await rows.insert('page_ticket', { sha: shaOf(ticket), ends_at: new Date(now.getTime() + TICKET_MS).toISOString() });
  return ticket;
}

/** Whether it was good, which it then is no more. */
export async function takeTicket(home: Home, { ticket, clock }: { ticket: string; clock: Clock }): Promise<boolean> {
  const sql = 'delete from page_ticket where sha = ? and ends_at > ?';
  return (await rowsOf(home).run(sql, shaOf(ticket), clock.now().toISOString())) === 1;
}

export function noteServed(home: Home, url: string): Promise<void> {
  return rowsOf(home).put('page_server', { process: thisProcess(), url }, ['process']);
}

export async function noteEnded(home: Home): Promise<void> {
  await rowsOf(home).run('delete from page_server where process = ?', thisProcess());
}

/** Where pages were served when it was last noted; a server that was killed is still there. */
export async function servedAt(home: Home): Promise<string[]> {
  const served = await rowsOf(home).all<{ url: string }>('select url from page_server');
  return served.map(({ url }) => url);
}
