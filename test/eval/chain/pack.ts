// A package for a judge of plays of one chain: systems' names off, in an order drawn by a seed. What tells which play is whose
// stands beside the package, not in it, with what the plays cost.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../../src/base/errors.ts';
import { type Random, seeded } from '../../support/random.ts';
import { type CostOfSession, costsOf } from './costs.ts';
import { keptLines, toldLines } from './lines.ts';
import { type Link, linksOf } from './links.ts';
import { type Need, needsOf } from './needs.ts';
import { type Played, playIn, toldIn } from './play.ts';

export interface PackedPlay extends Omit<Played, 'chain' | 'sessions' | 'steps'> {
  costs: CostOfSession[];
  /** How many lines its sessions were told, a line once a session; how many it keeps at the end. */
  told: number;
  kept: number;
}

/** Which play is whose. */
export interface Key {
  chain: string;
  seed: number;
  plays: Record<string, PackedPlay>;
  needs: Pick<Need, 'id' | 'grade' | 'source'>[];
}

const BRIEF = join(import.meta.dirname, '../chains/JUDGE.md');

interface Packing {
  chain: string;
  plays: string[];
  seed: number;
  out: string;
  sessions?: string;
  /** In the place of needs.jsonl. */
  needs?: string;
}

/** Writes the package to `out`, and the key beside it. Returns where that is. */
export async function pack({ chain, plays, seed, out, sessions, needs: path }: Packing): Promise<string> {
  const needs = needsOf(chain, path).filter(({ grade }) => grade !== 'C');
  if (needs.length === 0) throw new AppError('bad-input', `No needs of ${chain} of grade A or B are written down.`);
  const links = await linksOf(chain, sessions);
  const random = seeded(seed);
  const letters = shuffled(plays, random).map((dir, at) => ({ dir, letter: String.fromCharCode(65 + at) }));
  rmSync(out, { recursive: true, force: true });
  const packed = letters.map(({ dir, letter }) => {
    const told = links.map((link, at) => writeTold(link, { dir, file: join(out, 'told', `${at + 1}-${letter}.md`) }));
    for (const at of links.keys()) {
      const before = at === 0 ? [] : keptLines(join(dir, 'after', String(at)), { withLogs: true });
      write(join(out, 'before', `${at + 1}-${letter}.md`), numbered(before));
    }
    const kept = keptLines(join(dir, 'after', String(links.length)), { withLogs: false });
    write(join(out, 'memory', `${letter}.md`), numbered(shuffled(kept, random)));
    return { letter, dir, told, kept: kept.length };
  });
  const asked = needs.map(({ id, session, source, fact, later }) => {
    const counts = packed.map(({ letter, told }) => [letter, told[session - 1]?.(later.line) ?? 0]);
    const { file, line } = later;
    return { need: id, session, source, fact, file, line, told: Object.fromEntries(counts) };
  });
  write(join(out, 'needs.jsonl'), asked.map((need) => `${JSON.stringify(need)}\n`).join(''));
  const sessionsAre = links.map(({ startsAt, path: file }, at) => `${at + 1}. ${startsAt}: ${file}`).join('\n');
  write(join(out, 'README.md'), `${readFileSync(BRIEF, 'utf8')}\n## Sessions\n\n${sessionsAre}\n`);
  const ofPlays = packed.map(({ letter, dir, told, kept }): [string, PackedPlay] => {
    const { system, model, isReaders, commit, date, prompts } = playIn(dir);
    const count = told.reduce((all, until) => all + until(Infinity), 0);
    return [letter, { system, model, isReaders, commit, date, prompts, costs: costsOf(dir), told: count, kept }];
  });
  const ids = needs.map(({ id, grade, source }) => ({ id, grade, source }));
  const key: Key = { chain, seed, plays: Object.fromEntries(ofPlays), needs: ids };
  write(`${out}.KEY.json`, `${JSON.stringify(key, null, 1)}\n`);
  return `${out}.KEY.json`;
}

/** What the session was told, its lines numbered. Returns how many of them came before a line of the transcript. */
function writeTold(link: Link, { dir, file }: { dir: string; file: string }): (line: number) => number {
  const transcript = readFileSync(link.path, 'utf8').split('\n');
  const told = toldIn(dir).filter(({ session }) => session === link.id);
  const parts: string[] = [];
  const after: number[] = [];
  for (const each of told) {
    const lines = toldLines(each);
    if (lines.length === 0) continue;
    // A message of several parts goes by the id of its record, and what stands behind it.
    const [record = ''] = (each.message ?? '').split('/');
    const at = each.message === null ? 0 : transcript.findIndex((line) => line.includes(`"${record}"`)) + 1;
    parts.push(`## ${each.on}${at > 0 ? `, line ${at}` : ''}\n\n${numbered(lines, after.length)}`);
    after.push(...lines.map(() => at));
  }
  write(file, parts.join('\n'));
  return (line) => after.filter((at) => at < line).length;
}

const numbered = (lines: string[], from = 0) => lines.map((line, at) => `${from + at + 1}: ${line}\n`).join('');

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, at: random.below(2 ** 32) }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

function write(file: string, text: string): void {
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
}
