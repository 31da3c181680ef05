// stores: the memory stores of this home, which nocturne serve gives to clients. keys: who may use the server; a key is printed once,
// when it is made, and one that came back with a restore is let in again by a person's word alone.

import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { addMemory, type MemoryRow, memoryRow, removedMemories } from '../memory/memories.ts';
import { isCheckedIn } from '../memory/paths.ts';
import { ApiKeys, type KeyRow, RIGHTS, type Right } from '../server/api-keys.ts';
import { note, print, printTable } from '../terminal/output.ts';
import { sayTime } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { type CommonOptions, configFor, parsed, requirePerson, storeNamed, theOne } from './cli-options.ts';
import type { Call, CommandSpec } from './spec.ts';

const SHAPE =
  '{ id, dir, kind, name, description, metadata, createdAt, updatedAt, archivedAt, removedAt, owner, tenant, allowsSecrets }';

const stores: CommandSpec = { name: 'stores', about: 'memory stores, for nocturne serve' };

/** A memory as the command tells it. */
function storeShown(row: MemoryRow) {
  const { id, dir, name, description, metadata } = row;
  const { owner = null, allowsSecrets = false } = JSON.parse(row.flags);
  const kind = row.scope === 'store' ? 'own' : isCheckedIn(row.dir) ? 'team' : 'project';
  return {
    ...{ id, dir, kind, name, description, metadata: JSON.parse(metadata) },
    ...{ createdAt: row.created_at, updatedAt: row.updated_at, archivedAt: row.archived_at, removedAt: row.deleted_at },
    ...{ owner, tenant: row.tenant || null, allowsSecrets },
  };
}

type StoreShown = ReturnType<typeof storeShown>;

function storeCells({ id, name, kind, dir, archivedAt, removedAt }: StoreShown, { clock, zone }: Config): string[] {
  const at = removedAt ?? archivedAt;
  const since = at ? `${removedAt ? 'deleted' : 'archived'} ${sayTime(at, { clock, zone })}` : '';
  return [id, name, kind === 'own' ? 'store' : kind, since, dir ?? ''];
}

const list: CommandSpec<CommonOptions & { removed?: boolean }> = {
  name: 'stores list',
  about: 'all stores, and memories of projects',
  options: [['--removed', 'those that were deleted and can be brought back']],
  json: `[${SHAPE}]`,
  examples: ['stores list'],
  async inApp({ db, config }, { options: { removed, json } }) {
    const there = 'select * from memory where deleted_at is null order by created_at desc, id desc';
    const rows = (await (removed ? removedMemories(db) : db.all<MemoryRow>(there))).map(storeShown);
    if (json) return print(rows);
    printTable(
      ['id', 'name', 'kind', '', 'directory'],
      rows.map((row) => storeCells(row, config)),
    );
    if (rows.length === 0)
      note(removed ? 'No store was deleted.' : 'There are no stores yet: nocturne stores create NAME');
  },
};

const create: CommandSpec<CommonOptions & { description: string; allowSecrets?: boolean }, [string]> = {
  name: 'stores create',
  about: 'make a memory store',
  args: [['<name>', 'what it is called']],
  options: [
    ['--description <text>', 'what is in it', { default: '' }],
    ['--allow-secrets', 'keep what looks like a secret when a client writes it'],
  ],
  json: SHAPE,
  examples: ['stores create notes'],
  async inApp({ db, clock }, { options: { description, allowSecrets, json }, args }) {
    const [name] = args;
    if (!/^\P{Cc}{1,255}$/u.test(name)) {
      const what = 'The name of a store has 1 to 255 characters, none of them a control character.';
      throw new AppError('bad-input', what);
    }
    const flags = JSON.stringify(allowSecrets ? { allowsSecrets: true } : {});
    const made = { scope: 'store', name, description, flags } as const;
    const row = await db.write(async (sql) => memoryRow(sql, await addMemory(sql, made, clock.now().toISOString())));
    const shown = storeShown(row as MemoryRow);
    print(json ? shown : `${shown.id}  ${name}`);
  },
};

const remove: CommandSpec<CommonOptions, [string]> = {
  name: 'stores delete',
  about: 'delete a memory store; nocturne undo with its id brings it back',
  args: [['<store>', 'its id, or its name']],
  json: SHAPE,
  examples: ['stores delete notes'],
  async inApp(app, { options: { json }, args }) {
    const { id, name, kind, dir } = storeShown(await storeNamed(app.db, args[0]));
    if (kind !== 'own') {
      throw new AppError('bad-input', `${name} is a ${kind}'s memory, which is not deleted here.`, {
        remedy: `To remove it, delete the directory yourself: ${dir}`,
      });
    }
    await app.db.run('update memory set deleted_at = ? where id = ?', app.clock.now().toISOString(), id);
    const row = await app.db.get<MemoryRow>('select * from memory where id = ?', id);
    print(json && row ? storeShown(row) : `${name} was deleted; nocturne undo ${id} brings it back.`);
  },
};

type MoveOptions = CommonOptions & { toDatabase?: boolean; toHome?: boolean };

const moveStore: CommandSpec<MoveOptions, [string | undefined]> = {
  name: 'stores move',
  about: 'take a memory into the database that machines share, or out of it',
  args: [['[store]', "its id, its name or its directory (default: the project's)"]],
  options: [
    ['--to-database', 'into the database at NOCTURNE_DATABASE_URL'],
    ['--to-home', "out of it, into this machine's home", { conflicts: 'toDatabase' }],
  ],
  json: '{ memory, name, files, rows, dir }',
  more:
    'It is moved whole or not at all. The old copy is kept until versionDays are over, and its directory keeps its files. If a ' +
    'move was interrupted, run it again.',
  examples: ['stores move notes --to-database', 'stores move notes --to-home'],
  async run({ args: [given], options, wrong }) {
    if (!options.toDatabase && !options.toHome) wrong('say which way: --to-database or --to-home');
    const config = await configFor({});
    requirePerson(config, 'stores move');
    if (config.databaseUrl === undefined) {
      const remedy = 'Set NOCTURNE_DATABASE_URL=postgres://….';
      throw new AppError('bad-input', 'No shared database is set.', { remedy });
    }
    const { betweenDatabases } = await import('../../jobs/move.ts');
    const report = await betweenDatabases(given, config, options.toDatabase ? 'database' : 'home');
    if (options.json) return print(report);
    const where = options.toDatabase ? 'the database' : (report.dir ?? "this machine's home");
    print(`moved: ${report.name}, ${report.files} files and ${report.rows} rows, is in ${where} now`);
    note(`The old copy is kept until versionDays are over.`);
  },
};

const MICRO_USD = 1_000_000;
const KEY_SHAPE = '{ id, name, tenant, stores, rights, dayUsd, createdAt, revokedAt, isOff }';

const keys: CommandSpec = { name: 'keys', about: 'who may use nocturne serve' };

interface NewKeyOptions extends CommonOptions {
  name: string;
  tenant?: string;
  stores: string;
  rights: Right[];
  dayUsd?: number;
}

const createKey: CommandSpec<NewKeyOptions> = {
  name: 'keys create',
  about: 'make a key; it is printed once',
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
    ['--stores <names>', 'stores it may use, by name or id, with commas; all: every store', { default: '' }],
    [
      '--rights <list>',
      `of ${RIGHTS.join(',')}`,
      { parse: parsed(rightsOf, `It must be some of ${RIGHTS.join(', ')}, with commas.`), default: [...RIGHTS] },
    ],
    [
      '--day-usd <amount>',
      'what its dreams may cost in a day',
      { parse: parsed(dollarsOf, 'It must be an amount of US dollars, 0 or more.') },
    ],
  ],
  json: `{ key, ...${KEY_SHAPE} }`,
  more: 'A key may always use the stores that it makes; they belong to its tenant.',
  examples: ['keys create --name ci --stores notes --rights read,write'],
  async inApp(app, { options: { name, tenant, stores: given, rights, dayUsd, json } }) {
    const ids: string[] = [];
    const named = given.split(',').filter((each) => each.trim() !== '');
    if (given !== 'all') for (const each of named) ids.push((await storeNamed(app.db, each.trim())).id);
    const dayMicroUsd = dayUsd === undefined ? null : Math.round(dayUsd * MICRO_USD);
    const made = { name, tenant, memories: given === 'all' ? ('all' as const) : ids, rights, dayMicroUsd };
    const { key, row } = await keysOf(app).create(made);
    print(json ? { key, ...keyShown(row) } : key);
    if (!json) note(`${row.id} ${row.name}: keep it; it is not shown again.`);
  },
};

const listKeys: CommandSpec<CommonOptions> = {
  name: 'keys list',
  about: 'all keys, also those that were revoked',
  json: `[${KEY_SHAPE}]`,
  examples: ['keys list'],
  async inApp(app, { options: { json } }) {
    const rows = await keysOf(app).all();
    if (json) return print(rows.map(keyShown));
    printTable(
      ['id', 'name', 'tenant', 'rights', 'stores', ''],
      rows.map((row) => keyCells(row, app.config)),
    );
    if (rows.length === 0) note('There are no keys yet: nocturne keys create --name NAME');
  },
};

const revokeKey: CommandSpec<CommonOptions, [string]> = {
  name: 'keys revoke',
  about: 'take a key back, from its next request on',
  args: [['<key>', 'apikey_…, or its name']],
  json: '{ id, name }',
  examples: ['keys revoke ci'],
  inApp: (app, call) => changeKey(app, call, 'revoked', (all, id) => all.revoke(id)),
};

const confirmKey: CommandSpec<CommonOptions, [string]> = {
  name: 'keys confirm',
  about: 'turn a key on again after a restore of the database',
  args: [['<key>', 'apikey_…, or its name']],
  json: '{ id, name }',
  examples: ['keys confirm ci'],
  inApp: (app, call) => changeKey(app, call, 'turned on again', (all, id) => all.confirm(id)),
};

async function changeKey(
  app: App,
  { args, options }: Call<CommonOptions, [string]>,
  did: string,
  change: (all: ApiKeys, id: string) => Promise<unknown>,
) {
  const all = keysOf(app);
  const valid = (await all.all()).filter(({ revokedAt }) => !revokedAt);
  const row = theOne(valid, args[0], 'key');
  await change(all, row.id);
  print(options.json ? { id: row.id, name: row.name } : `${row.id} ${row.name}: ${did}`);
}

function keysOf({ db, clock }: App): ApiKeys {
  return new ApiKeys(db, clock);
}

function keyShown({ dayMicroUsd, memories, tenant, expiresAt: _, ...row }: KeyRow) {
  const dayUsd = dayMicroUsd === null ? null : dayMicroUsd / MICRO_USD;
  return { ...row, tenant: tenant || null, stores: memories, dayUsd };
}

function keyCells({ id, name, tenant, memories, rights, revokedAt, isOff }: KeyRow, { clock, zone }: Config): string[] {
  const which = memories === 'all' ? 'all' : memories.length === 0 ? 'its own' : memories.join(' ');
  const off = isOff ? `off since the database was restored: nocturne keys confirm ${name}` : '';
  return [
    id,
    name,
    tenant,
    rights.join(','),
    which,
    revokedAt ? `revoked ${sayTime(revokedAt, { clock, zone })}` : off,
  ];
}

function dollarsOf(text: string): number | undefined {
  return /^\d{1,9}(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

function rightsOf(text: string): Right[] | undefined {
  const given = text.split(',').map((each) => RIGHTS.find((right) => right === each.trim()));
  return given.every((each) => each !== undefined) ? given : undefined;
}

const STORES = [stores, list, create, remove, moveStore];
const KEYS = [keys, createKey, listKeys, revokeKey, confirmKey];
export const commands = [...STORES, ...KEYS] as CommandSpec[];
