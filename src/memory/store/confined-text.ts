// The text of a file in a memory directory as it stands, read without its store. A link that leads out of the directory
// leads nowhere: what came with somebody's repository must not show what is elsewhere.

import { isAppError } from '../../base/errors.ts';
import { readMemoryNow } from '../../base/files/files.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { shownText } from '../team/shown-text.ts';
import { confine } from './confine.ts';

/** Null where no file stands, or where a path cannot be that of a memory. `dir` is canonical. */
export function readConfined(dir: string, path: string): string | null {
  const absolute = findConfined(dir, path);
  return absolute === null ? null : readMemoryNow(absolute);
}

/** The same as readers are shown it: what git left in it is told by shown-text.ts. */
export function readShown(dir: string, path: string, ledger: Ledger | null): string | null {
  const text = readConfined(dir, path);
  return text === null ? null : shownText(text, { path, ledger });
}

/** Where the file stands, without any link in it. */
export function findConfined(dir: string, path: string): string | null {
  try {
    const { absolute, kind } = confine(dir, path);
    return kind === 'file' ? absolute : null;
  } catch (error) {
    if (!isAppError(error, 'bad-input')) throw error;
    return null;
  }
}
