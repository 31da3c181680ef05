// Copies of test/fixtures/before: users as nocturne left them at the commit that its made-by.json names, before the schema
// was one text, with this test's paths in place of those that stand there. They were made by the command line of that commit
// on a scripted model: `ordinary` by extract, dream, extract; `waiting` by extract, dream, pin, forget, extract,
// dream --review, enqueue extract, a pause and a date of set-up; `server` by stores create, keys create and revoke, and what a
// client of its serve wrote. Displaced files, logs and empty lock files were taken out, and databases are packed.

import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import type { MessagesServer } from './messages-server.ts';
import { COMPILED } from './run.ts';
import { tempDir } from './temp.ts';

const FIXTURE = join(import.meta.dirname, '../fixtures/before');
export const MADE_BY = JSON.parse(readFileSync(join(FIXTURE, 'made-by.json'), 'utf8'));

export type Before = ReturnType<typeof copyBefore>;

export function copyBefore(name: 'ordinary' | 'waiting' | 'server') {
  const root = tempDir();
  const user = join(root, name);
  cpSync(join(FIXTURE, name), user, { recursive: true });
  for (const item of readdirSync(user, { recursive: true, withFileTypes: true })) {
    const path = join(item.parentPath, item.name);
    // Git keeps no modes.
    chmodSync(path, item.isFile() ? 0o600 : 0o700);
    if (item.name.endsWith('.db.gz')) unpack(path, root);
    if (item.name.endsWith('.jsonl')) ageAsItsEnd(path);
  }
  const home = join(user, '.nocturne');
  const project = join(user, '.claude/projects/-home-kim-orchard');
  return {
    home,
    memory: join(project, 'memory'),
    /** The transcript of the session whose id begins with this digit. */
    session: (digit: string) => join(project, `${digit.repeat(8)}-2222-4333-8444-555555555555.jsonl`),
    /** What a process there has in its environment. */
    environment: ({ access }: MessagesServer) => ({
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: COMPILED,
      HOME: user,
      NOCTURNE_HOME: home,
      CLAUDE_CONFIG_DIR: join(user, '.claude'),
      NOCTURNE_ZONE: 'UTC',
      NOCTURNE_QUEUE_URL: '',
      NOCTURNE_MODEL: 'test-model',
      NOCTURNE_NOW: MADE_BY.now,
      ANTHROPIC_API_KEY: access.apiKey,
      ANTHROPIC_BASE_URL: access.baseURL,
    }),
  };
}

/** Writes another directory into all that stands in a database. */
function unpack(packed: string, root: string): void {
  const path = packed.slice(0, -'.gz'.length);
  writeFileSync(path, gunzipSync(readFileSync(packed)), { mode: 0o600 });
  rmSync(packed);
  const db = new Database(path);
  const tables = db.pragma('table_list') as { name: string; type: string }[];
  for (const { name } of tables.filter((each) => each.type === 'table' && !each.name.startsWith('sqlite_'))) {
    const columns = db.pragma(`table_info("${name}")`) as { name: string; type: string }[];
    for (const column of columns.filter(({ type }) => type.toLowerCase() === 'text')) {
      const sql = `update "${name}" set "${column.name}" = replace("${column.name}", ?, ?) where instr("${column.name}", ?)`;
      db.prepare(sql).run(MADE_BY.root, root, MADE_BY.root);
    }
  }
  db.close();
}

/** A session's file is as old as its last record. */
function ageAsItsEnd(path: string): void {
  const last = readFileSync(path, 'utf8').trimEnd().split('\n').at(-1) ?? '';
  const at = new Date(JSON.parse(last).timestamp);
  utimesSync(path, at, at);
}
