// nocturne for programs: the jobs over memory directories, wired as the command line and the worker wire them.
// What only those doors need is not shown.

import { type Config, loadConfig } from '../base/config/config.ts';
import { type App, openApp } from './compose.ts';
import { wings } from './wing.ts';

/**
 * The jobs, and the memory directories they work on. Every job asks for its lease, and ends with a report. Wings declare
 * functions of theirs.
 */
export interface Nocturne
  extends Pick<
    App,
    | 'config'
    | 'standing'
    | 'memoryDirOf'
    | 'storeFor'
    | 'store'
    | 'extract'
    | 'dream'
    | 'estimateDream'
    | 'reprocess'
    | 'undo'
    | 'remember'
    | 'forget'
    | 'check'
    | 'close'
  > {}

/**
 * Opens nocturne with the settings of this machine's user, or with others: `{ ...(await loadConfig()), model: 'offline' }`.
 * The home is made where it is missing. Throws `bad-input` for settings that cannot be read, `storage` where the home
 * cannot be used. Call `close()` when done: it closes the stores, too.
 */
export async function openNocturne(config?: Config): Promise<Nocturne> {
  const app = await openApp(config ?? (await loadConfig()));
  return Object.assign({}, app, ...wings().map((wing) => wing.library?.(app)));
}
