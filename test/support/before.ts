// A copy of test/fixtures/before-issue-12: a home, memory directories and settings as an older nocturne left them, at the
// commit that its made-by.json names, with this machine's paths in place of those that stand there.

import { chmodSync, cpSync, readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import type { Environment } from '../../src/base/config/config.ts';
import type { MessagesServer } from './messages-server.ts';
import { COMPILED, DOOR } from './run.ts';
import { tempDir } from './temp.ts';

export interface Before {
  /** The directory of the user. */
  user: string;
  home: string;
  /** The memory directory of the project at `/home/kim/<project>`. */
  memory(project: string): string;
  /** The transcript of the session whose id begins with this digit. */
  session(project: string, digit: string): string;
  /** What a process there has in its environment; without a server the offline model answers. */
  environment(now: string, server?: MessagesServer): Environment;
}

export function copyBefore(): Before {
  const fixture = join(import.meta.dirname, '../fixtures/before-issue-12');
  const root = tempDir();
  cpSync(fixture, root, { recursive: true, filter: (path) => !/\.db-(?:wal|shm)$/.test(path) });
  const madeBy = JSON.parse(readFileSync(join(fixture, 'made-by.json'), 'utf8'));
  const here = (text: string) =>
    text
      .replaceAll(madeBy.root, root)
      .replaceAll(madeBy.nodeAt, process.execPath)
      .replaceAll(dirname(madeBy.nodeAt), dirname(process.execPath))
      .replaceAll(madeBy.packageAt, join(DOOR, '../..'));
  const user = join(root, 'user');
  for (const item of readdirSync(user, { recursive: true, withFileTypes: true })) {
    const path = join(item.parentPath, item.name);
    // Git keeps no modes.
    chmodSync(path, item.isFile() ? 0o600 : 0o700);
    if (!item.isFile()) continue;
    if (item.name.endsWith('.db')) moveDatabase(path, madeBy.root, root);
    else writeFileSync(path, here(readFileSync(path, 'utf8')));
    if (item.name.endsWith('.jsonl')) ageAsItsEnd(path);
    if (item.name === '_gitignore') renameSync(path, join(item.parentPath, '.gitignore'));
  }
  const project = (name: string) => join(user, '.claude', 'projects', `-home-kim-${name}`);
  const home = join(user, '.nocturne');
  return {
    user,
    home,
    memory: (name) => join(project(name), 'memory'),
    session: (name, digit) => join(project(name), `${digit.repeat(8)}-2222-4333-8444-555555555555.jsonl`),
    environment: (now, server) => ({
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: COMPILED,
      HOME: user,
      NOCTURNE_HOME: home,
      CLAUDE_CONFIG_DIR: join(user, '.claude'),
      NOCTURNE_ZONE: 'UTC',
      NOCTURNE_QUEUE_URL: '',
      NOCTURNE_MODEL: server ? 'test-model' : 'offline',
      NOCTURNE_NOW: now,
      // Nobody is reached by mistake.
      ANTHROPIC_API_KEY: server?.access.apiKey ?? 'none',
      ANTHROPIC_BASE_URL: server?.access.baseURL ?? 'http://127.0.0.1:9',
    }),
  };
}

/** Writes another directory into all that stands in a database. */
function moveDatabase(path: string, from: string, to: string): void {
  const db = new Database(path);
  const tables = db.pragma('table_list') as { schema: string; name: string; type: string }[];
  for (const { name } of tables.filter((each) => each.type === 'table' && !each.name.startsWith('sqlite_'))) {
    const columns = db.pragma(`table_info("${name}")`) as { name: string; type: string }[];
    for (const column of columns.filter(({ type }) => type.toLowerCase() === 'text')) {
      const sql = `update "${name}" set "${column.name}" = replace("${column.name}", ?, ?) where instr("${column.name}", ?)`;
      db.prepare(sql).run(from, to, from);
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
