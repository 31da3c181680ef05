// nocturne stores: the memory stores of this home, which nocturne serve gives to clients.

import type { Config } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import type { CommandSpec } from '../../../doors/cli/spec.ts';
import { withApp } from '../../../doors/cli/terminal/options.ts';
import { note, print } from '../../../doors/cli/terminal/output.ts';
import { sayTime } from '../../../doors/cli/terminal/phrases.ts';
import { oneStore, storesOf } from '../../../doors/clients/rows.ts';
import type { StoreRow } from '../../../doors/clients/stores.ts';

const GROUP = 'Under the hood';
const SHAPE =
  '{ id, dir, kind, name, description, metadata, createdAt, updatedAt, archivedAt, removedAt, owner, tenant, allowsSecrets }';

const stores: CommandSpec = { name: 'stores', about: 'memory stores of this home, for nocturne serve', group: GROUP };

const list: CommandSpec<{ removed?: boolean; json?: boolean }> = {
  name: 'stores list',
  about: 'the stores that there are, memories of projects among them',
  group: GROUP,
  options: [['--removed', 'those that were deleted and can be brought back']],
  json: `[${SHAPE}]`,
  examples: ['stores list'],
  run: ({ options, parts }) =>
    withApp({ options: {}, parts }, async (app) => {
      const known = await storesOf(app);
      const rows = await (options.removed ? known.removed() : known.list({ seenBy: 'all', withArchived: true }));
      if (options.json) return print(rows);
      for (const row of rows) print(line(row, app.config));
      if (rows.length === 0) note(options.removed ? 'There is none.' : 'There is none: nocturne stores create NAME');
    }),
};

const create: CommandSpec<{ description: string; allowSecrets?: boolean; json?: boolean }, [string]> = {
  name: 'stores create',
  about: 'make a memory store',
  group: GROUP,
  args: [['<name>', 'what it is called']],
  options: [
    ['--description <text>', 'what is in it', { default: '' }],
    ['--allow-secrets', 'keep what looks like a secret, where a client writes it'],
  ],
  json: SHAPE,
  examples: ['stores create notes'],
  run: ({ args: [name], options, parts }) =>
    withApp({ options: {}, parts }, async (app) => {
      if (!/^\P{Cc}{1,255}$/u.test(name)) {
        throw new AppError(
          'bad-input',
          'The name of a store has 1 to 255 characters, none of them a control character.',
        );
      }
      const { description, allowSecrets: allowsSecrets } = options;
      const known = await storesOf(app);
      const row = await known.create({ name, description, allowsSecrets });
      print(options.json ? row : line(row, app.config));
    }),
};

const remove: CommandSpec<{ json?: boolean }, [string]> = {
  name: 'stores delete',
  about: 'put a memory store aside; nocturne undo with its id brings it back',
  group: GROUP,
  args: [['<store>', 'its id, or its name']],
  json: SHAPE,
  examples: ['stores delete notes'],
  run: ({ args: [given], options, parts }) =>
    withApp({ options: {}, parts }, async (app) => {
      const known = await storesOf(app);
      const row = await oneStore(known, given);
      if (row.kind !== 'own') {
        throw new AppError('bad-input', `${row.name} is a ${row.kind}'s memory, which is not deleted here.`, {
          remedy: `Remove the directory yourself, if that is meant: ${row.dir}`,
        });
      }
      await known.remove(row.id);
      print(options.json ? row : `${row.name} was deleted; nocturne undo ${row.id} brings it back.`);
    }),
};

function line({ id, name, kind, dir, archivedAt, removedAt }: StoreRow, { clock, zone }: Config): string {
  const at = removedAt ?? archivedAt;
  const since = at ? `  ${removedAt ? 'deleted' : 'archived'} ${sayTime(at, { clock, zone })}` : '';
  return `${id}  ${name}${kind === 'own' ? '' : `  (${kind})`}${since}  ${dir}`;
}

export const commands = [stores, list, create, remove] as CommandSpec[];
