// A home of `next`, as an earlier nocturne called one, moves up into the home in which it lies: its database with all that
// belongs to it, what hooks left there, settings. Promises: nothing is overwritten; broken off, it goes on where it was, and whoever
// reads the settings has moved it up whole before; where both have settings, those of `next` count, and of each ceiling the lower.

import { basename, dirname, join } from 'node:path';
import { isDirectory, listNames, removeTree } from '../files/directories.ts';
import { makeDirectory, moveFile, readTextNow, statNow, writeWhole } from '../files/files.ts';
import { parseWithComments } from '../text/json.ts';

const DATABASE = 'nocturne.db';
const SETTINGS = 'config.json';
const CEILINGS = ['dayTokens', 'dayMoneyUsd', 'planRequests'];

/** Whether it is a home of `next` that moved up: schedules and agents' settings may name it still. */
export function hasMovedUp(home: string): boolean {
  return basename(home) === 'next' && !statNow(join(home, DATABASE)) && statNow(join(dirname(home), DATABASE)) !== null;
}

export async function moveUp(home: string): Promise<void> {
  const from = join(home, 'next');
  // Two databases are two homes.
  if (!isDirectory(from) || (statNow(join(from, DATABASE)) && statNow(join(home, DATABASE)))) return;
  await joinSettings(home, from);
  // The database last: as long as it is there, something may be left to move.
  const isLast = (name: string) => name.startsWith(DATABASE);
  const names = listNames(from).sort((a, b) => Number(isLast(a)) - Number(isLast(b)) || (a < b ? 1 : -1));
  const isMoved = names.map((name) => moveInto(join(from, name), join(home, name)));
  if (isMoved.every(Boolean)) removeTree(from);
}

/** False where something is there already, and stays. */
function moveInto(from: string, to: string): boolean {
  if (isDirectory(from)) {
    makeDirectory(to);
    return listNames(from)
      .map((name) => moveInto(join(from, name), join(to, name)))
      .every(Boolean);
  }
  return statNow(to) === null && (moveFile(from, to) || true);
}

async function joinSettings(home: string, from: string): Promise<void> {
  const [own, theirs] = await Promise.all([read(join(home, SETTINGS)), read(join(from, SETTINGS))]);
  if (!own || !theirs) return;
  const lower = CEILINGS.flatMap((name) => {
    const [a, b] = [own[name], theirs[name]];
    return typeof a === 'number' && typeof b === 'number' ? [[name, Math.min(a, b)] as const] : [];
  });
  const both = { ...own, ...theirs, ...Object.fromEntries(lower) };
  writeWhole(join(home, `${SETTINGS}.before`), `${JSON.stringify(own, null, 2)}\n`);
  writeWhole(join(home, SETTINGS), `${JSON.stringify(both, null, 2)}\n`);
  moveFile(join(from, SETTINGS), join(home, `${SETTINGS}.next`));
}

async function read(path: string): Promise<Record<string, unknown> | null> {
  const text = readTextNow(path);
  return text === null ? null : ((await parseWithComments(text)) as Record<string, unknown>);
}
