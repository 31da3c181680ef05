// The team's memory of the working tree in which a session begins: a pull may have left conflicts in it that nobody has
// opened since. They are settled soon, where nocturne works there and is not turned off.

import { join } from 'node:path';
import { describeError, isAppError } from '../../base/errors.ts';
import { isDirectory } from '../../base/files/directories.ts';
import { readTextNow } from '../../base/files/files.ts';
import { scopesBeside } from '../../doors/places.ts';
import type { Wing, WingApp } from '../../doors/wing.ts';
import { shownText } from '../../memory/conflicts/shown-text.ts';
import { isCheckedInDir } from '../../memory/home/paths.ts';
import { liveFiles } from '../../memory/store/live-files.ts';

export const onSessionStart: NonNullable<Wing['onSessionStart']> = async (cwd, { app, onProblem }) => {
  try {
    await settleTeamMemory(app, cwd);
  } catch (error) {
    if (!isAppError(error)) throw error;
    // The next session, or whoever opens the directory, tries again.
    onProblem(`The team's memory at ${cwd}: ${describeError(error)}`);
  }
};

async function settleTeamMemory(app: WingApp, cwd: string): Promise<void> {
  const beside = scopesBeside(app.config, { cwd, memory: app.memoryDirOf({ cwd }) });
  const dir = beside.find(({ scope }) => scope === 'local')?.dir;
  if (dir === undefined || !isCheckedInDir(dir) || !app.standing({ cwd }).enabled) return;
  const isKnown = app.home.stores().includes(dir);
  // What lies there of nocturne's came with the repository, and is nobody's word for what happened here.
  if (!isKnown && (isDirectory(join(dir, '.nocturne')) || !hasConflict(dir))) return;
  await (await app.store(dir)).missing();
  app.home.addStore(dir);
}

function hasConflict(dir: string): boolean {
  return liveFiles(dir, null).some(({ path, absolute }) => {
    const text = readTextNow(absolute) ?? '';
    return shownText(text, { path, ledger: null }) !== text;
  });
}
