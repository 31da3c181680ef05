// The team's memory as it lies in a working tree. Where a session begins, conflicts that a pull left there and nobody has
// opened since are settled, where nocturne works and is not turned off. Where a text was redacted in one's own memory,
// what the team's still says of it is told, and changed only when that is asked for.

import { join } from 'node:path';
import { type AppError, describeError, onAppError } from '../../base/errors.ts';
import { canonicalPath, isDirectory, listFiles } from '../../base/files/directories.ts';
import { readTextNow } from '../../base/files/files.ts';
import { scopeDir, scopesBeside } from '../../doors/places.ts';
import type { Wing, WingApp } from '../../doors/wing.ts';
import { shownText } from '../../memory/conflicts/conflict.ts';
import { holdsMatch } from '../../memory/history/redact/redaction.ts';
import { scrubOf } from '../../memory/history/redact/scrub.ts';
import { isCheckedInDir } from '../../memory/home/paths.ts';
import { findConfined, liveFiles } from '../../memory/store/live-files.ts';

export const onSessionStart: NonNullable<Wing['onSessionStart']> = (cwd, { app, onProblem }) => {
  // The next session, or whoever opens the directory, tries again.
  const told = (error: AppError) => onProblem(`The team's memory at ${cwd}: ${describeError(error)}`);
  return settleTeamMemory(app, cwd).catch(onAppError(told));
};

async function settleTeamMemory(app: WingApp, cwd: string): Promise<void> {
  if (app.keeping) return;
  const beside = scopesBeside(app.config, { cwd, memory: app.memoryDirOf({ cwd }) });
  const dir = beside.find(({ scope }) => scope === 'local')?.dir;
  if (dir === undefined || !isCheckedInDir(dir) || !(await app.standing({ cwd })).enabled) return;
  const isKnown = (await app.home.stores()).includes(dir);
  // What lies there of nocturne's came with the repository, and is nobody's word for what happened here.
  if (!isKnown && (isDirectory(join(dir, '.nocturne')) || !hasConflict(dir))) return;
  await (await app.store(dir)).missing();
  await app.home.addStore(dir);
}

function hasConflict(dir: string): boolean {
  return liveFiles(dir, null).some(({ path, absolute }) => {
    const text = readTextNow(absolute) ?? '';
    return shownText(text, { path, ledger: null }) !== text;
  });
}

export const afterRedact: NonNullable<Wing['afterRedact']> = async (match, { app, store, cwd }) => {
  const dir = canonicalPath(scopeDir(app.config, { memory: 'local', cwd }));
  if (dir === store.dir || !isCheckedInDir(dir) || !isDirectory(dir)) return [];
  const scrub = scrubOf(match);
  const saying: string[] = [];
  for (const path of (await listFiles(dir)).filter((each) => each.endsWith('.md'))) {
    const absolute = findConfined(dir, path);
    if (absolute !== null && (await holdsMatch(absolute, scrub))) saying.push(join(dir, path));
  }
  if (saying.length === 0) return [];
  return [`It stands in the team's memory, too: ${saying.join(', ')}. The same with --scope local takes it out there.`];
};
