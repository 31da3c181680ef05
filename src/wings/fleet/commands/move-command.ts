// nocturne move: a memory into the database that several machines share, or out of it.

import { resolve } from 'node:path';
import { canonicalPath } from '../../../base/files/directories.ts';
import { sayCount } from '../../../base/text/wording.ts';
import type { CommandSpec } from '../../../doors/cli/spec.ts';
import { type CommonOptions, configFor, MEMORY } from '../../../doors/cli/terminal/options.ts';
import { note, print } from '../../../doors/cli/terminal/output.ts';
import { memoryDirFor } from '../../../doors/places.ts';
import type { Moved } from '../stores/move.ts';
import { databaseOf } from './fleet.ts';

interface MoveOptions extends CommonOptions {
  toDatabase?: boolean;
  toDirectory?: string;
  name?: string;
  remove?: boolean;
}

const move: CommandSpec<MoveOptions> = {
  name: 'move',
  about: 'a memory into the PostgreSQL database that several machines share, or out of it',
  group: 'Under the hood',
  options: [
    ['--to-database', 'into the database at NOCTURNE_DATABASE_URL', { conflicts: 'toDirectory' }],
    ['--to-directory <dir>', 'out of it: --store names the memory, and dir is not there yet'],
    ['--name <name>', 'what it is called in the database (default: its directory)', { conflicts: 'toDirectory' }],
    ['--remove', 'remove the source, once all of it has arrived'],
    ...MEMORY,
  ],
  json: '{ outcome, store, name, files, rows, bytes, left }',
  more:
    'Every file, version, row and id is compared afterwards. The source stays until --remove. What was broken off goes on ' +
    'when it is called again.',
  examples: ['move --to-database', 'move --to-directory ~/notes/memory --store notes'],
  async run({ options, wrong }) {
    const { toDatabase = false, toDirectory, remove: removes = false, json } = options;
    if (toDatabase === (toDirectory !== undefined)) wrong('name one of --to-database and --to-directory');
    const given = options.store;
    if (toDirectory !== undefined) {
      if (given === undefined) wrong('--to-directory needs --store, a name or id in the database');
      options.store = undefined;
    }
    const config = await configFor(options);
    const database = databaseOf(config);
    const [{ FleetStores }, { moveToDatabase, moveToDirectory }] = await Promise.all([
      import('../stores/fleet-stores.ts'),
      import('../stores/move.ts'),
    ]);
    const open = { clock: config.clock };
    const stores = await FleetStores.open({ database, home: config.home, open });
    try {
      const moving = { stores, now: config.clock.now(), removes };
      const dir = canonicalPath(toDirectory === undefined ? memoryDirFor(config, {}) : resolve(toDirectory));
      const id = given?.startsWith('memstore_') ? given : undefined;
      const moved =
        toDirectory === undefined
          ? await moveToDatabase({ dir, name: options.name ?? dir, id }, moving)
          : await moveToDirectory({ given: given as string, dir }, moving);
      if (json) print(moved);
      else say(moved, { dir, isOut: toDirectory !== undefined });
    } finally {
      await stores.close();
    }
  },
};

function say(
  { outcome, store, name, files, rows, left }: Moved,
  { dir, isOut }: { dir: string; isOut: boolean },
): void {
  const what = `${sayCount(files, 'file')} and ${sayCount(rows, 'row')} of the ledger`;
  const source = isOut ? `${name} in the database` : dir;
  print(`${what} are in ${isOut ? dir : `the database, as ${name} (${store})`}; each was compared.`);
  if (outcome === 'removed') print(`${source} was removed.`);
  else note(`${source} is still there; the same command with --remove removes it.`);
  if (left.length > 0) note(`Left in ${dir}, as none of the memory's: ${left.join(', ')}.`);
}

export const commands = [move] as CommandSpec[];
