// Where recall looks: into directories of this machine, or into what a wing keeps elsewhere. Nothing is made. Whoever keeps it
// elsewhere must answer soon: no session waits for a database.

import { join } from 'node:path';
import type { Config } from '../base/config/config.ts';
import { describeError } from '../base/errors.ts';
import { isDirectory } from '../base/files/directories.ts';
import type { Home } from '../memory/home/home.ts';
import { isDamagedFile } from '../memory/ledger/database.ts';
import { findLedger, type Ledger } from '../memory/ledger/ledger.ts';
import { type RecallRows, recallRowsOf } from '../memory/recall/recall-uses.ts';
import { homeOf } from './places.ts';
import { type Keeping, keepingOf } from './wing.ts';

/** A database is away that takes longer to be connected to, or to answer a statement. */
const WITHIN = { connectMs: 1_000, answerMs: 4_000 };

export interface Looked {
  /** What it is called: its directory, or its id. */
  id: string;
  dir: string;
  /** How an agent is told where it is, where that is no directory. */
  called?: string;
  /** Null where nocturne has not worked in it. */
  ledger: Ledger | null;
  rows: RecallRows | null;
  isThere: boolean;
}

export interface RecallPlaces {
  home: Home;
  isElsewhere: boolean;
  /** The memory in a directory, or under an id. */
  look(place: string): Promise<Looked>;
  close(): Promise<void>;
}

/** `onDamage`: told what cannot be read of a directory; what is in its files is recalled all the same. */
export function openPlaces(config: Config, onDamage: (message: string) => void): RecallPlaces {
  const keeping = keepingOf(config, { within: WITHIN });
  const home = homeOf(config, { keeping });
  return keeping ? placesElsewhere(keeping, { home, config }) : placesHere(home, onDamage);
}

function placesHere(home: Home, onDamage: (message: string) => void): RecallPlaces {
  const ledgers: Ledger[] = [];
  return {
    home,
    isElsewhere: false,
    async look(dir) {
      const isThere = isDirectory(dir);
      try {
        const ledger = findLedger(dir);
        if (ledger) ledgers.push(ledger);
        return { id: dir, dir, ledger, rows: ledger && recallRowsOf(ledger), isThere };
      } catch (error) {
        if (!isDamagedFile(error)) throw error;
        onDamage(describeError(error));
        return { id: dir, dir, ledger: null, rows: null, isThere };
      }
    },
    async close() {
      for (const ledger of ledgers) ledger.close();
      await home.close();
    },
  };
}

function placesElsewhere(keeping: Keeping, { home, config }: { home: Home; config: Config }): RecallPlaces {
  return {
    home,
    isElsewhere: true,
    async look(place) {
      const store = await keeping.findStore(place);
      // What lies in its directory is not what is kept.
      if (!store) {
        const dir = join(config.home, 'copies', 'none');
        return { id: place, dir, called: place, ledger: null, rows: null, isThere: false };
      }
      const { id, dir, ledger, recalls: rows } = store;
      const called = `the store ${id} of a database (nocturne show FILE --memory ${id} prints a file of it)`;
      return { id, dir, called, ledger, rows, isThere: true };
    },
    close: () => keeping.close(),
  };
}
