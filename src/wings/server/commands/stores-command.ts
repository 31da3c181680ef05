// nocturne stores: the memory stores of this home, which nocturne serve gives to clients. nocturne keys: who may use the
// server; a key is printed once, when it is made.

import type { Config } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import type { CommandSpec } from '../../../doors/cli/spec.ts';
import { dollars, parsed, withApp } from '../../../doors/cli/terminal/options.ts';
import { EXIT, note, print } from '../../../doors/cli/terminal/output.ts';
import { sayTime } from '../../../doors/cli/terminal/phrases.ts';
import { type KeyRow, Keys, RIGHTS, type Right } from '../../../doors/clients/keys.ts';
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

const MICRO_USD = 1_000_000;
const KEY_SHAPE = '{ id, name, tenant, stores, rights, dayUsd, createdAt, revokedAt }';

const keys: CommandSpec = { name: 'keys', about: 'who may use nocturne serve', group: GROUP };

interface NewKeyOptions {
  name: string;
  tenant?: string;
  stores: string;
  rights: Right[];
  dayUsd?: number;
  json?: boolean;
}

const createKey: CommandSpec<NewKeyOptions> = {
  name: 'keys create',
  about: 'make a key; it is printed once',
  group: GROUP,
  options: [
    ['--name <name>', 'what it is for', { isRequired: true }],
    [
      '--tenant <name>',
      'whose it is: a name for all keys and stores of one customer or group',
      {
        parse: parsed(
          (text) => /^[\w.-]{1,64}$/.exec(text)?.[0],
          'It must have 1 to 64 letters, digits, _, - or dots.',
        ),
      },
    ],
    ['--stores <names>', 'stores it may use, by name or id, with commas; all: those of the home', { default: '' }],
    [
      '--rights <list>',
      `of ${RIGHTS.join(',')}`,
      { parse: parsed(rightsOf, `It must be some of ${RIGHTS.join(', ')}, with commas.`), default: [...RIGHTS] },
    ],
    [
      '--day-usd <amount>',
      'what its dreams may cost in a day',
      { parse: parsed(dollars, 'It must be an amount of US dollars, 0 or more.') },
    ],
  ],
  json: `{ key, ...${KEY_SHAPE} }`,
  more: 'Stores that are made with a key are its own, whatever --stores says, and belong to its tenant.',
  examples: ['keys create --name ci --stores notes --rights read,write'],
  run: ({ options, parts }) =>
    withApp({ options: {}, parts }, async (app) => {
      const known = await storesOf(app);
      const named = options.stores.split(',').filter((each) => each.trim() !== '');
      const stores: string[] = [];
      if (options.stores !== 'all') for (const each of named) stores.push((await oneStore(known, each.trim())).id);
      const { key, row } = await keysOf(app).create({
        name: options.name,
        tenant: options.tenant ?? null,
        stores: options.stores === 'all' ? 'all' : stores,
        rights: options.rights,
        dayMicroUsd: options.dayUsd === undefined ? null : Math.round(options.dayUsd * MICRO_USD),
      });
      print(options.json ? { key, ...shownKey(row) } : key);
      if (!options.json) note(`${row.id} ${row.name}: keep it; it is not shown again.`);
    }),
};

const listKeys: CommandSpec<{ json?: boolean }> = {
  name: 'keys list',
  about: 'the keys that there are, and those that were revoked',
  group: GROUP,
  json: `[${KEY_SHAPE}]`,
  examples: ['keys list'],
  run: ({ options, parts }) =>
    withApp({ options: {}, parts }, async (app) => {
      const rows = await keysOf(app).all();
      if (options.json) return print(rows.map(shownKey));
      for (const row of rows) print(keyLine(row, app.config));
      if (rows.length === 0) note('There is none: nocturne keys create --name NAME');
    }),
};

const revokeKey: CommandSpec<{ json?: boolean }, [string]> = {
  name: 'keys revoke',
  about: 'let a key in no more, from its next request on',
  group: GROUP,
  args: [['<key>', 'apikey_…, or its name']],
  json: '{ id, name }',
  examples: ['keys revoke ci'],
  run: ({ args: [given], options, parts }) =>
    withApp({ options: {}, parts }, async (app) => {
      const all = keysOf(app);
      const found = (await all.all()).filter(
        ({ id, name, revokedAt }) => !revokedAt && (id === given || name === given),
      );
      const [row, ...others] = found;
      if (!row) {
        throw new AppError('bad-input', `There is no key ${JSON.stringify(given)}.`, { remedy: 'nocturne keys list' });
      }
      if (others.length > 0) {
        for (const each of found) note(keyLine(each, app.config));
        note(`Several keys have the name ${JSON.stringify(given)}: give an id.`);
        process.exitCode = EXIT.usage;
        return;
      }
      await all.revoke(row.id);
      print(options.json ? { id: row.id, name: row.name } : `${row.id} ${row.name}: revoked`);
    }),
};

function keysOf({ home, config }: Parameters<typeof storesOf>[0]): Keys {
  return new Keys(home.database, config.clock);
}

function shownKey({ dayMicroUsd, ...row }: KeyRow) {
  return { ...row, dayUsd: dayMicroUsd === null ? null : dayMicroUsd / MICRO_USD };
}

function keyLine({ id, name, tenant, stores, rights, revokedAt }: KeyRow, { clock, zone }: Config): string {
  const which = stores === 'all' ? 'all stores' : stores.length === 0 ? 'its own stores' : stores.join(' ');
  const end = revokedAt ? `  revoked ${sayTime(revokedAt, { clock, zone })}` : '';
  return `${id}  ${name}${tenant === null ? '' : `  of ${tenant}`}  ${rights.join(',')}  ${which}${end}`;
}

function rightsOf(text: string): Right[] | undefined {
  const given = text.split(',').map((each) => RIGHTS.find((right) => right === each.trim()));
  return given.every((each) => each !== undefined) ? given : undefined;
}

export const commands = [stores, list, create, remove, keys, createKey, listKeys, revokeKey] as CommandSpec[];
