// nocturne fleet: what all machines that share a database have in common, and what is told to all of them.

import { resolve } from 'node:path';
import type { Config } from '../../../base/config/config.ts';
import { AppError } from '../../../base/errors.ts';
import { canonicalPath } from '../../../base/files/directories.ts';
import { sayCount } from '../../../base/text/wording.ts';
import { dayOf, isZone } from '../../../base/time.ts';
import type { CommandSpec } from '../../../doors/cli/spec.ts';
import {
  type CommonOptions,
  configFor,
  dollars,
  MEMORY,
  parsed,
  wholeNumber,
} from '../../../doors/cli/terminal/options.ts';
import { note, print } from '../../../doors/cli/terminal/output.ts';
import { sayTime, sayTokens, sayUsd } from '../../../doors/cli/terminal/phrases.ts';
import { memoryDirFor } from '../../../doors/places.ts';
import { type DayLimits, limitDifferences } from '../../../memory/home/day-spend.ts';
import type { Home } from '../../../memory/home/home.ts';
import type { Database } from '../postgres.ts';
import type { Moved } from '../stores/move.ts';

const GROUP = 'Under the hood';
const LIMITS = '{ dayTokens, dayUsd, zone, overruled }';
const NO_LIMIT = 'none';

interface Shared {
  config: Config;
  database: Database;
  home: Home;
}

const fleet: CommandSpec = {
  name: 'fleet',
  about: 'the machines that share a database, and what counts for all of them',
  group: GROUP,
  run: (call) => status.run?.(call),
};

const status: CommandSpec<{ json?: boolean }> = {
  name: 'fleet status',
  about: 'its stores, what waits and what failed, the workers that were seen, the limits of the day and what was spent',
  group: GROUP,
  json: `{ database, server, stores: { ready, arriving }, waiting: { count, oldest, tenants }, leases, failures, givenUp, failed, workers, limits: ${LIMITS}, spendToday }`,
  examples: ['fleet status'],
  run: ({ options }) =>
    withShared(async ({ config, database, home }) => {
      const { overviewOf } = await import('../figures.ts');
      const limits = await home.days.limits(config);
      const day = dayOf(config.clock.now(), limits.zone);
      const { usedTokens, reservedTokens, calls, usedMicroUsd, reservedMicroUsd } = await home.days.spendOf(day);
      const spend = {
        day,
        usedTokens,
        reservedTokens,
        usedUsd: usedMicroUsd / 1e6,
        reservedUsd: reservedMicroUsd / 1e6,
        calls,
      };
      const { id, server, stores, waiting: waits, ...work } = await overviewOf(database);
      const workers = await home.workers.all();
      if (options.json) {
        return print({
          database: id,
          server,
          stores,
          waiting: waits,
          ...work,
          workers,
          limits: shown(limits, config),
          spendToday: spend,
        });
      }
      const arriving = stores.arriving > 0 ? `, ${stores.arriving} on the way by nocturne move` : '';
      print(`database   ${server}`);
      print(`stores     ${stores.ready}${arriving}`);
      const at = { clock: config.clock, zone: limits.zone };
      print(
        `waiting    ${waits.count}${waits.oldest === null ? '' : `, the oldest from ${sayTime(waits.oldest, at)}`}`,
      );
      print(`under way  ${work.leases}`);
      print(
        `given up   ${work.givenUp}${work.givenUp > 0 ? '; nocturne retry --failed --store NAME tries again' : ''}`,
      );
      for (const { at: when, name, kind, key, code, message } of work.failed)
        print(`  ${sayTime(when, at)} ${name}: ${kind} ${key}, ${code}: ${message}`);
      for (const { process, backend, seenAt } of workers)
        print(`worker     ${process} (${backend}), seen ${sayTime(seenAt, at)}`);
      if (workers.length === 0) print('worker     none was seen within two minutes');
      for (const line of limitLines(limits, config)) print(line);
      print(
        `spend      ${sayTokens(usedTokens)} and ${sayUsd(usedMicroUsd)} used today, ${sayTokens(reservedTokens)} and ${sayUsd(reservedMicroUsd)} reserved; ${sayCount(calls, 'call')}`,
      );
    }),
};

interface LimitOptions {
  dayTokens?: number;
  dayUsd?: number | typeof NO_LIMIT;
  zone?: string;
  json?: boolean;
}

const limits: CommandSpec<LimitOptions> = {
  name: 'fleet limits',
  about: 'what a day may spend on all machines together, and whose days: shown, or changed',
  group: GROUP,
  options: [
    ['--day-tokens <count>', 'tokens that all jobs may use in a day', { parse: wholeNumber }],
    [
      '--day-usd <amount>',
      `US dollars that they may cost in a day, for models with a price; ${NO_LIMIT}: no limit`,
      {
        parse: parsed(
          (text) => (text === NO_LIMIT ? text : dollars(text)),
          `It is a number, like 12.50, or ${NO_LIMIT}.`,
        ),
      },
    ],
    [
      '--zone <zone>',
      'time zone of days and nights, like Europe/Berlin',
      { parse: parsed((text) => (isZone(text) ? text : undefined), 'It is no time zone; one is Europe/Berlin.') },
    ],
  ],
  json: LIMITS,
  more:
    'The first machine that asks writes what its settings say. From then on the database counts, and the settings of the ' +
    'machines do not. New limits count from the next request on; a new zone for what is spent at once, for nights and logs ' +
    'where a process is started again.',
  examples: ['fleet limits', 'fleet limits --day-usd 20 --zone Europe/Berlin'],
  run: ({ options: { dayTokens, dayUsd, zone, json } }) =>
    withShared(async ({ config, home }) => {
      const before = await home.days.limits(config);
      const money = dayUsd === NO_LIMIT ? undefined : (dayUsd ?? before.dayMoneyUsd);
      const to: DayLimits = { dayTokens: dayTokens ?? before.dayTokens, dayMoneyUsd: money, zone: zone ?? before.zone };
      if (dayTokens !== undefined || dayUsd !== undefined || zone !== undefined) await home.days.setLimits(to);
      if (json) print(shown(to, config));
      else for (const line of limitLines(to, config)) print(line);
    }),
};

const restored: CommandSpec<{ json?: boolean }> = {
  name: 'fleet restored',
  about: 'say that the database was restored to an older state, before workers and servers start again',
  group: GROUP,
  json: '{ stores, day }',
  more:
    'No lease, claim or copy from before counts any more. What was spent after the backup is in no row: today counts as spent ' +
    'in full, until nocturne retry --failed or the next day. Pauses that had ended and keys that had been revoked since are back.',
  examples: ['fleet restored'],
  run: ({ options }) =>
    withShared(async ({ config, database, home }) => {
      const { noteRestored } = await import('../restored.ts');
      const { zone } = await home.days.limits(config);
      const { stores, day } = await noteRestored(database, { home, zone, now: config.clock.now() });
      if (options.json) return print({ stores, day });
      print(`${sayCount(stores, 'store')}: every copy is made again, and no lease from before counts.`);
      note(`${day} counts as spent in full; nocturne retry --failed lets it start over.`);
      note('Look at nocturne keys list and nocturne status: keys and pauses are as they were at the backup.');
    }),
};

/** The URL of the database that machines share. Throws `bad-input` where there is none. */
export function databaseOf({ databaseUrl }: Config): string {
  if (databaseUrl) return databaseUrl;
  throw new AppError('bad-input', 'There is no database that machines share.', {
    remedy: 'Set NOCTURNE_DATABASE_URL=postgres://….',
  });
}

async function withShared(work: (shared: Shared) => Promise<void>): Promise<void> {
  const config = await configFor({});
  const url = databaseOf(config);
  const [{ openDatabase }, { openHomeOf }] = await Promise.all([
    import('../postgres.ts'),
    import('../../../doors/keeping.ts'),
  ]);
  const { home, close } = openHomeOf(config);
  try {
    const database = await openDatabase(url, { connections: 1 });
    try {
      await work({ config, database, home });
    } finally {
      await database.close();
    }
  } finally {
    await close();
  }
}

function shown({ dayTokens, dayMoneyUsd, zone }: DayLimits, config: Config) {
  const overruled = limitDifferences(config, { dayTokens, dayMoneyUsd, zone });
  return { dayTokens, dayUsd: dayMoneyUsd ?? null, zone, overruled };
}

function limitLines(kept: DayLimits, config: Config): string[] {
  const money = kept.dayMoneyUsd === undefined ? 'money is not limited' : sayUsd(kept.dayMoneyUsd * 1e6);
  return [
    `limits     ${sayTokens(kept.dayTokens)} and ${money} in a day of ${kept.zone}`,
    ...limitDifferences(config, kept).map((each) => `differs    ${each}`),
  ];
}

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

export const commands = [move, fleet, status, limits, restored] as CommandSpec[];
