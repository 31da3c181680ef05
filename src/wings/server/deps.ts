// What the endpoints of the server work with.

import type { Config } from '../../base/config/config.ts';
import type { Log } from '../../base/logger.ts';
import type { Home } from '../../memory/home/home.ts';
import type { Cursors } from './cursor.ts';
import type { RateLimit } from './limits.ts';
import type { Dreams } from './rows/dreams.ts';
import type { Keys } from './rows/keys.ts';
import type { Sessions } from './rows/sessions.ts';
import type { Stores } from './rows/stores.ts';
import type { RecentMemories } from './store/recent.ts';
import type { StoreThreads } from './store/threads.ts';
import type { Streams } from './streams.ts';

export interface ServerDeps {
  config: Config;
  home: Home;
  log: Log;
  stores: Stores;
  keys: Keys;
  sessions: Sessions;
  dreams: Dreams;
  threads: StoreThreads;
  memories: RecentMemories;
  cursors: Cursors;
  /** Who a person of this machine is to clients. */
  user: string;
  /** Memory of projects is there for keys that name no stores. */
  withProjects: boolean;
  /** Requests that change something, and those that only read. */
  creates: RateLimit;
  reads: RateLimit;
  streams: Streams;
  /** Of nocturne. */
  version: string;
  /** Ends where the server does: streams end with it. */
  closing: AbortSignal;
}
