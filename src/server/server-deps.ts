// What the endpoints of the server work with.

import type { Config } from '../base/config/config.ts';
import type { Log } from '../base/logger.ts';
import type { Memories } from '../memory/memories.ts';
import type { ApiKeys } from './api-keys.ts';
import type { RateLimit } from './rate-limit.ts';
import type { Streams } from './streams.ts';

export interface ServerDeps {
  config: Config;
  log: Log;
  memories: Memories;
  keys: ApiKeys;
  /** Memories of projects, too, to keys that name no memories. */
  withProjects: boolean;
  /** Who a person of this machine is to clients. */
  user: string;
  /** Requests that change something, and those that only read. */
  creates: RateLimit;
  reads: RateLimit;
  streams: Streams;
  /** Of nocturne. */
  version: string;
  /** Ends where the server does: streams end with it. */
  closing: AbortSignal;
}
