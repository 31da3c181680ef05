// A log of bounded size: lines are added at its end; when it is full it becomes `<path>.1`, which replaces the one
// before. Loads nothing but Node's own modules, for the hook's sake.

import fs from 'node:fs';
import { dirname } from 'node:path';

const MAX_BYTES = 256 * 1024;

/** Opens a log for adding to it, for this process or for one that it starts. Throws what the disk throws. */
export function openLog(path: string): number {
  fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const stat = fs.statSync(path, { throwIfNoEntry: false });
  if (stat && stat.size > MAX_BYTES) fs.renameSync(path, `${path}.1`);
  return fs.openSync(path, 'a', 0o600);
}

/** Adds one line; ends of lines within it become spaces. */
export function addLogLine(path: string, line: string): void {
  const log = openLog(path);
  try {
    fs.writeSync(log, `${line.replaceAll(/(?<!\s)\s*\n\s*/g, ' ')}\n`);
  } finally {
    fs.closeSync(log);
  }
}
