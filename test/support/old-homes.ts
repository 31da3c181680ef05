// Copies of test/fixtures/homes: what the last build of before left on disks and in a PostgreSQL database. Databases are kept as SQL
// text beside their files. It was made by the command line of the commit that made-by.json names, on a scripted model: `plain` by
// extract, dream, remember; `kim` by these and forget, pin, a dream that waits for review, a pause, an extraction that waits;
// `server` by stores and keys, by clients of its serve, and a pause; `fleet` by both on two homes that share a database.
// Logs, locks, what is derived and reports of nights were taken out.

import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, utimesSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import pg from 'pg';
import type { Environment } from '../../src/base/config/config.ts';
import type { MessagesServer } from './messages-server.ts';
import { asking } from './scripted-model.ts';
import { tempDir } from './temp.ts';

const FIXTURE = join(import.meta.dirname, '../fixtures/homes');
export const MADE_BY = JSON.parse(readFileSync(join(FIXTURE, 'made-by.json'), 'utf8'));

export type OldHome = ReturnType<typeof copyHome>;

export function copyHome(name: 'plain' | 'kim' | 'server' | 'fleet') {
  const root = tempDir();
  const user = join(root, name);
  // By a name of its own: it is told by NOCTURNE_HOME.
  const home = join(user, 'next');
  cpSync(join(FIXTURE, name), user, { recursive: true });
  renameSync(join(user, '.nocturne'), home);
  const here = (text: string) =>
    text.replaceAll(`${MADE_BY.root}/${name}/.nocturne`, home).replaceAll(`${MADE_BY.root}/`, `${root}/`);
  for (const item of readdirSync(user, { recursive: true, withFileTypes: true })) {
    const path = join(item.parentPath, item.name);
    // Git keeps no modes.
    chmodSync(path, item.isFile() ? 0o600 : 0o700);
    if (item.name.endsWith('.db.txt')) restore(path, here(readFileSync(path, 'utf8')));
    if (/^[0-9a-f-]{36}\.jsonl$/.test(item.name)) ageAsItsEnd(path);
  }
  const project = join(user, '.claude/projects/-home-kim-orchard');
  mkdirSync(project, { recursive: true });
  return {
    user,
    home,
    project,
    memory: join(project, 'memory'),
    /** The transcript of the session whose id begins with this digit. */
    session: (digit: string) => join(project, `${digit.repeat(8)}-2222-4333-8444-555555555555.jsonl`),
    /** What a process there has in its environment. */
    environment: (server: MessagesServer): Environment => ({
      ...{ PATH: process.env.PATH, HOME: user, NOCTURNE_HOME: home },
      ...{ CLAUDE_CONFIG_DIR: join(user, '.claude'), NOCTURNE_ZONE: 'UTC', NOCTURNE_QUEUE_URL: '' },
      ...{ NOCTURNE_NOW: MADE_BY.now, ...asking(server) },
    }),
    /** Fills a database as the machines of `fleet` did. */
    async fill(url: string) {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const sql = gunzipSync(readFileSync(join(FIXTURE, 'fleet/database.sql.gz'))).toString();
      // Directories stand there with the host that they are of.
      await client.query(here(sql).replaceAll("'vm:", `'${hostname()}:`)).finally(() => client.end());
    },
  };
}

function restore(text: string, sql: string): void {
  const db = new Database(text.slice(0, -'.txt'.length));
  db.exec(sql);
  db.close();
  rmSync(text);
}

/** A session's file is as old as its last record. */
function ageAsItsEnd(path: string): void {
  const last = readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  const at = new Date(JSON.parse(last).timestamp);
  utimesSync(path, at, at);
}
