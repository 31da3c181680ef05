// All that the server keeps in a home, for whoever has an app.

import type { WingApp } from '../../../doors/wing.ts';
import { Dreams } from './dreams.ts';
import { Keys } from './keys.ts';
import { DirectoryPlaces } from './places.ts';
import { openRows } from './schema.ts';
import { Sessions } from './sessions.ts';
import { Stores } from './stores.ts';

export interface Rows {
  dreams: Dreams;
  keys: Keys;
  sessions: Sessions;
  stores: Stores;
}

export type RowsOwner = Pick<WingApp, 'home' | 'shared'> & { config: Pick<WingApp['config'], 'clock'> };

export function rowsOf({ home, config: { clock }, shared }: RowsOwner): Rows {
  const rows = openRows(home);
  return {
    dreams: new Dreams(rows, clock),
    keys: new Keys(rows, clock),
    sessions: new Sessions(rows, { home, clock, kept: shared?.parts }),
    stores: new Stores(rows, { home, clock, places: shared?.places ?? new DirectoryPlaces(home) }),
  };
}
