// docs/dev/evidence.md: each of its parts stands between two marks, is written by the command that measures it, and read by the
// test that runs that command again.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = join(ROOT, 'docs/dev/evidence.md');

/** Puts a part in the place of the last one of its name. Throws where the page has no place for it. */
export function publishPart(name: string, text: string, page = PAGE): void {
  const { before, after } = around(name, page);
  writeFileSync(page, `${before}\n\n${text.trim().split('\n').map(wrapped).join('\n')}\n\n${after}`);
}

/** A line of prose as several, none longer than this project's documents have them. */
function wrapped(line: string): string {
  const indent = line.startsWith('- ') ? '\n  ' : '\n';
  return line.startsWith('|') ? line : line.replace(/(.{1,140})(?: |$)/g, `$1${indent}`).trimEnd();
}

export function publishedPart(name: string, page = PAGE): string {
  return around(name, page).part.trim();
}

/** The rows of the tables in a part: the first cell, then the others, as they are without bold type. */
export function rowsIn(part: string): Map<string, string[]> {
  const rows = part.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| |'));
  const cells = (row: string) => row.split('|').map((cell) => cell.replaceAll('**', '').trim());
  return new Map(rows.map((row) => [cells(row)[1] ?? '', cells(row).slice(2, -1)]));
}

/** What stands beside timings. */
export function measuredOn(): { date: string; commit: string; machine: string } {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).trim();
  const [cpu] = cpus();
  const machine = `${cpus().length} cores, ${cpu?.model.trim() ?? 'unknown'}, Node ${process.version}`;
  return { date: new Date().toISOString().slice(0, 10), commit, machine };
}

function around(name: string, page: string): { before: string; part: string; after: string } {
  const [begin, end] = [`<!-- ${name} begins -->`, `<!-- ${name} ends -->`];
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page} has no part "${name}".`);
  return {
    before: text.slice(0, from + begin.length),
    part: text.slice(from + begin.length, to),
    after: text.slice(to),
  };
}
