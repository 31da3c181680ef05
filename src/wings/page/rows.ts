// What the page keeps in the home: where it is served now, and the tickets that open it. A ticket is 256 random bits, good
// once and for a minute; only its hash is kept. And whether anything in the home is another than before.

import { createHash, randomBytes } from 'node:crypto';
import { thisProcess } from '../../base/process.ts';
import type { Clock } from '../../base/time.ts';
import type { Home } from '../../memory/home/home.ts';

const STEPS = [
  `
create table page_ticket (sha text primary key, ends_at text not null) strict;
create table page_server (process text primary key, url text not null) strict;
`,
];

const TICKET_MS = 60_000;

type Sql = ReturnType<Home['tablesOf']>;

function rowsOf(home: Home): Sql {
  return home.tablesOf({ name: 'page', tables: ['page_ticket', 'page_server'], schema: STEPS });
}

function shaOf(ticket: string): string {
  return createHash('sha256').update(ticket).digest('hex');
}

export function makeTicket(home: Home, clock: Clock): string {
  const rows = rowsOf(home);
  const now = clock.now();
  rows.run('delete from page_ticket where ends_at <= ?', now.toISOString());
  const ticket = randomBytes(32).toString('base64url');
  rows.insert('page_ticket', { sha: shaOf(ticket), ends_at: new Date(now.getTime() + TICKET_MS).toISOString() });
  return ticket;
}

/** Whether it was good, which it then is no more. */
export function takeTicket(home: Home, { ticket, clock }: { ticket: string; clock: Clock }): boolean {
  const sql = 'delete from page_ticket where sha = ? and ends_at > ?';
  return rowsOf(home).run(sql, shaOf(ticket), clock.now().toISOString()) === 1;
}

export function noteServed(home: Home, url: string): void {
  rowsOf(home).replace('page_server', { process: thisProcess(), url });
}

export function noteEnded(home: Home): void {
  rowsOf(home).run('delete from page_server where process = ?', thisProcess());
}

/** Where pages were served when it was last noted; a server that was killed is still there. */
export function servedAt(home: Home): string[] {
  return rowsOf(home)
    .all<{ url: string }>('select url from page_server')
    .map(({ url }) => url);
}

/** Another one where another process wrote the home. */
export function signOfHome(home: Home): string {
  return String(rowsOf(home).get<{ data_version: number }>('pragma data_version')?.data_version);
}
