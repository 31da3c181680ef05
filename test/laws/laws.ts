// What holds of a memory after any plan, asked of rows, files and bytes by themselves: the reader of the product is not used where
// a plain query or a plain look at the directory does.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lookInto } from '../../src/memory/commit.ts';
import { headsOf } from '../../src/memory/file-rows.ts';
import { rowTexts, searchedLines } from '../../src/memory/search-words.ts';
import { lineNumbers } from '../../src/memory/text/topic.ts';
import type { Lived } from './lived-plan.ts';

/** What does not hold, a sentence each. */
export async function broken(lived: Lived): Promise<string[]> {
  const { memories, row } = lived;
  await lookInto(memories, { memory: row.id, paths: 'all' });
  const found = [...lived.wrong];
  for (const law of [saidOnce, restingOnSomething, onTheDisk, searchable, counted, gone])
    found.push(...(await law(lived)).map((fault) => `${law.name}: ${fault}`));
  return found;
}

/** Nothing said is lost or doubled: an entry that stands is in its log once, and what stands in a log is an entry. */
async function saidOnce({ world: { db }, row, said, redacted }: Lived): Promise<string[]> {
  const entries = await db.all<{ id: string; text: string; state: string; day: string }>(
    'select id, text, state, day from entry where memory = ?',
    row.id,
  );
  const logs = (await headsOf(db, row.id)).filter(({ path }) => path?.startsWith('logs/'));
  const text = logs.map(({ content }) => String(content)).join('\n');
  const faults = entries
    .filter(({ state }) => state !== 'gone')
    .filter(({ id }) => text.split(`<!-- ${id} `).length !== 2)
    .map(({ id, state }) => `${id} (${state}) stands ${text.split(`<!-- ${id} `).length - 1} times in the logs`);
  const known = new Set(entries.filter(({ state }) => state !== 'gone').map(({ id }) => id));
  for (const [, id = ''] of text.matchAll(/<!-- (e_\w+) /g))
    if (!known.has(id)) faults.push(`${id} of a log is no entry`);
  for (const each of said.filter((words) => !redacted.some((word) => words.includes(word)))) {
    const times = entries.filter((entry) => entry.text === each).length;
    if (times > 1) faults.push(`"${each}" is ${times} entries`);
  }
  return faults;
}

/** A line of a topic rests on entries that are there, or on a program, or a person wrote it. */
async function restingOnSomething({ world: { db }, row, byHand, redacted }: Lived): Promise<string[]> {
  const rests = await db.all<{ file: string; line: string; source: string }>(
    'select file, line, source from rests where memory = ?',
    row.id,
  );
  const entries = await db.all<{ id: string }>('select id from entry where memory = ?', row.id);
  const known = new Set(entries.map(({ id }) => id));
  const faults = rests
    .filter(({ source }) => source.startsWith('e_') && !known.has(source))
    .map(({ line, source }) => `line ${line} rests on ${source}, which is no entry`);
  const resting = new Set(rests.map(({ file, line }) => `${file} ${line}`));
  for (const { id, path, content } of await headsOf(db, row.id)) {
    if (path === null || !/^[\w-]+\.md$/.test(path) || path === 'MEMORY.md') continue;
    for (const line of lineNumbers(String(content))) {
      const isPersons = byHand.has(line.text) || (redacted.length > 0 && line.text.includes('redacted'));
      if (!resting.has(`${id} ${line.id}`) && !isPersons) faults.push(`"${line.text}" of ${path} rests on nothing`);
    }
  }
  return faults;
}

/** The directory is what the heads say, and nothing else. */
async function onTheDisk({ world: { db }, row, dir }: Lived): Promise<string[]> {
  const heads = new Map((await headsOf(db, row.id)).map(({ path, content }) => [path as string, String(content)]));
  const there = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.md') && !path.startsWith('.nocturne'),
  );
  const faults = there.filter((path) => heads.get(path) !== readFileSync(join(dir, path), 'utf8'));
  const missing = [...heads.keys()].filter((path) => !there.includes(path));
  const missingRows = await db.all<{ path: string }>(
    'select path from file where memory = ? and missing_since is not null',
    row.id,
  );
  // Many files that are gone at once are not taken for deleted.
  const waiting = new Set(missingRows.map(({ path }) => path));
  return [
    ...faults.map((path) => `${path} is not what its head says`),
    ...missing.filter((path) => !waiting.has(path)).map((path) => `${path} is not there`),
  ];
}

/** What search looks through is what the heads hold. */
async function searchable({ world: { db }, row }: Lived): Promise<string[]> {
  const rows = await db.all<{ file: string; text: string }>('select file, text from line where memory = ?', row.id);
  const byFile = Map.groupBy(rows, ({ file }) => file);
  const faults: string[] = [];
  for (const { id, path, content } of await headsOf(db, row.id)) {
    const wanted = new Set(searchedLines(path as string, String(content)).flatMap(rowTexts));
    const found = new Set((byFile.get(id) ?? []).map(({ text }) => text));
    byFile.delete(id);
    if (wanted.symmetricDifference(found).size > 0) faults.push(`the lines of ${path} are others`);
  }
  if (byFile.size > 0) faults.push(`${byFile.size} files that are gone have lines`);
  return faults;
}

async function counted({ world: { db }, row }: Lived): Promise<string[]> {
  const is = await db.get<{ files: number; bytes: number }>('select files, bytes from memory where id = ?', row.id);
  const heads = (await headsOf(db, row.id)).filter(({ path }) => !/^(?:logs\/|index\/|MEMORY\.md$)/i.test(path ?? ''));
  const files = heads.length;
  const bytes = heads.reduce((sum, { size }) => sum + (size ?? 0), 0);
  return is?.files === files && is.bytes === bytes ? [] : [`${JSON.stringify(is)} is counted of ${files}, ${bytes}`];
}

/** Nothing redacted is in any column of the catalogue, or in a file of the memory and the home. */
async function gone({ world, dir, redacted }: Lived): Promise<string[]> {
  if (redacted.length === 0) return [];
  const { db, home } = world;
  const tables =
    db.engine === 'sqlite'
      ? "select name from sqlite_master where type = 'table' and name not like 'line_fts%' and name not like 'sqlite%'"
      : "select table_name as name from information_schema.tables where table_schema = 'public'";
  const faults: string[] = [];
  for (const { name } of await db.all<{ name: string }>(tables))
    for (const row of await db.all(`select * from ${name}`)) {
      const text = Object.values(row).map(String).join('\n');
      for (const word of redacted) if (text.includes(word)) faults.push(`${word} is in a row of ${name}`);
    }
  for (const place of [dir, home])
    for (const path of readdirSync(place, { recursive: true, encoding: 'utf8', withFileTypes: true })) {
      // An open database is not read as a file: closing it would drop SQLite's locks.
      if (!path.isFile() || /\.db/.test(path.name)) continue;
      const text = readFileSync(join(path.parentPath, path.name), 'latin1');
      for (const word of redacted) if (text.includes(word)) faults.push(`${word} is in ${path.name}`);
    }
  return faults;
}
