// The ledger of a store that begins, as the database keeps it.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { removeTree } from '../../../base/files/directories.ts';
import { makeDirectory, readBytesNow } from '../../../base/files/files.ts';
import { type Ledger, openLedger } from '../../../memory/ledger/ledger.ts';
import { pageBytesOf, pagesOfFile } from './log-pages.ts';
import type { Changes } from './rows.ts';
import { LEDGER } from './stage.ts';
import { ledgerVersion } from './working-copy.ts';

/** One in which nothing is known, or what another has apart from what `leaveOut` takes out. `root`: a directory of this process. */
export function newLedger(
  root: string,
  begin?: { from: Ledger; leaveOut(ledger: Ledger): void },
): Omit<Changes, 'files'> {
  const dir = join(root, `${randomUUID()}.begun`);
  try {
    makeDirectory(join(dir, '.nocturne'));
    begin?.from.copyTo(join(dir, LEDGER));
    const ledger = openLedger(dir);
    try {
      begin?.leaveOut(ledger);
    } finally {
      ledger.close();
    }
    const bytes = readBytesNow(join(dir, LEDGER)) as Buffer;
    return { pages: pagesOfFile(bytes), pageBytes: pageBytesOf(bytes), ledgerVersion: ledgerVersion() };
  } finally {
    removeTree(dir);
  }
}
