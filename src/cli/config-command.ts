// What nocturne may do. config: shows the settings that are not as by default, or one, and sets them. pause: nothing is done by
// itself, everywhere or in a project, until the pause is ended or a time is over.

import { homeOfUser, loadConfig } from '../base/config/config.ts';
import { sayTooLow } from '../base/config/prices.ts';
import { sayFormer, settingsPath } from '../base/config/settings.ts';
import { type AppError, describeError, onAppError } from '../base/errors.ts';
import { canonicalPath } from '../base/files/directories.ts';
import { gitRoot, pausedAt, pauseEnd } from '../memory/paths.ts';
import { endPause, pause as pauseAll, pausesOf } from '../queue/pauses.ts';
import { wakeWorker } from '../queue/spool.ts';
import { releasePaused } from '../queue/waiting-work.ts';
import { readSettingsOf, type Setting, writeSettings, writeTyped } from '../setup/settings-file.ts';
import { EXIT, note, print } from '../terminal/output.ts';
import { plainly, sayTime, shellPath } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { type CommonOptions, parsed } from './cli-options.ts';
import type { Call, CommandSpec } from './spec.ts';

interface ConfigOptions {
  all?: boolean;
  unset?: boolean;
  json?: boolean;
}

type ConfigCall = Call<ConfigOptions, [string | undefined, string | undefined]>;

/** What the environment says instead. */
const WINNING: Record<string, string> = {
  model: 'NOCTURNE_MODEL',
  zone: 'NOCTURNE_ZONE',
  queueUrl: 'NOCTURNE_QUEUE_URL',
  databaseUrl: 'NOCTURNE_DATABASE_URL',
};

/** Where several machines share a database, they have these in common. */
const SHARED = ['dayTokens', 'dayMoneyUsd', 'zone'] as const;

const configCommand: CommandSpec<ConfigOptions, [string | undefined, string | undefined]> = {
  name: 'config',
  about: 'show the settings, or set one',
  args: [
    ['[name]', 'one setting (default: all that you changed)'],
    ['[new]', 'its new value, as in config.json; a text needs no quotes'],
  ],
  options: [
    ['--all', 'all settings, also those with their defaults', { conflicts: 'unset' }],
    ['--unset', 'back to the default'],
  ],
  more: `They are in config.json of the nocturne home. You may edit that file too; comments stay. A setting inside another is named
with a dot: forgetDays.project.`,
  json: '{ file, isChanged, settings: [{ name, value, default, isDefault, allowed, about }] }',
  examples: ['config', 'config model offline', 'config forgetDays.project null', 'config --unset model'],
  run: config,
};

async function config({ args: [name, value], options, wrong }: ConfigCall): Promise<void> {
  if (options.unset && (name === undefined || value !== undefined)) wrong('--unset takes the name of one setting');
  const home = homeOfUser();
  const isChanged =
    name !== undefined &&
    (options.unset
      ? await writeSettings(home, { [name]: undefined })
      : value !== undefined && (await writeTyped(home, name, value)));
  // What else is wrong with the file keeps nobody from writing, and all from reading.
  const untold = (error: AppError): Setting[] => {
    note(`${name} is ${options.unset ? 'taken out' : 'set'}. ${describeError(error)}`);
    if (!options.unset) process.exitCode = EXIT.failed;
    return [];
  };
  const isWritten = options.unset || value !== undefined;
  const read = readSettingsOf(home, name !== undefined ? [name] : options.all ? 'all' : []);
  const settings = await (isWritten ? read.catch(onAppError(untold)) : read);
  if (isChanged && SHARED.some((each) => each === name)) await shareCeilings(name as (typeof SHARED)[number]);
  const loaded = await loadConfig().catch(onAppError(() => undefined));
  const { environment = {}, former = [], unknown } = loaded ?? {};
  for (const said of [sayFormer(former), unknown, loaded && sayTooLow(loaded)]) if (said) note(`config.json: ${said}`);
  if (options.json) return print({ file: settingsPath(home), isChanged, settings });
  if (settings.length > 0) print(settings.map(describe).join('\n'));
  else if (name === undefined) print('All settings have their defaults. nocturne config --all lists them.');
  for (const { name } of settings) {
    const variable = WINNING[name] ?? '';
    if (environment[variable]) note(`${variable} is set in this shell, and counts here instead of this setting.`);
  }
}

/** It counts on all machines, and what waits for it is due. */
async function shareCeilings(name: (typeof SHARED)[number]): Promise<void> {
  const config = await loadConfig();
  if (config.databaseUrl === undefined) return;
  const [{ openDatabase }, { ceilingsOf, reopenDay, setCeilings }, { release }] = await Promise.all([
    import('../db/open-database.ts'),
    import('../queue/spend.ts'),
    import('../queue/waiting-work.ts'),
  ]);
  const db = await openDatabase({ home: config.home, url: config.databaseUrl });
  try {
    const shared = { ...(await ceilingsOf(db, config)), [name]: config[name] };
    await setCeilings(db, shared);
    await reopenDay(db);
    await release(db, ['ceiling'], config.clock.now());
    note(`It counts on all machines that share ${db.name}.`);
  } finally {
    await db.close();
  }
}

function describe({ name, value, default: standard, isDefault, allowed, about }: Setting): string {
  const shown = isDefault ? `${say(value)} (default)` : `${say(value)} (default: ${say(standard)})`;
  return [
    `${name}: ${shown}`,
    ...[about, allowed && `Takes: ${allowed}.`].filter(Boolean).map((line) => `  ${line}`),
  ].join('\n');
}

function say(value: unknown): string {
  if (value === null) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

interface PauseOptions extends CommonOptions {
  project?: string | true;
  for?: number;
  off?: boolean;
}

const pause: CommandSpec<PauseOptions> = {
  name: 'pause',
  about: 'stop all automatic work for now',
  options: [
    [
      '--for <time>',
      'how long: 45m, 2h, 3d (default: until pause --off)',
      { parse: parsed(durationMs, 'Give minutes, hours or days: 45m, 2h, 3d.') },
    ],
    ['--off', 'end the pause', { conflicts: 'for' }],
    ['--project [dir]', 'only the project of this directory (default: the current one)'],
  ],
  more: 'Sessions wait meanwhile, and nothing is recalled.',
  json: '{ project, until }; with --off { project, wasPaused, released, left, enabled, reason }',
  examples: ['pause --for 2h --project', 'pause --off'],
  inApp: (app, call) => (call.options.off ? stop(app, call) : begin(app, call)),
};

async function begin({ db, clock, config }: App, { options }: Call<PauseOptions>): Promise<void> {
  const { for: lengthMs, json } = options;
  const now = clock.now();
  const until = lengthMs ? new Date(now.getTime() + lengthMs).toISOString() : null;
  const project = projectFrom(options);
  await pauseAll(db, { project, until }, now);
  const when = until && sayTime(until, config);
  const said = `${project ?? 'nocturne'} is paused until ${when ?? pauseEnd(project)}`;
  print(json ? { project, until } : plainly(said, config));
}

async function stop(app: App, { options }: Call<PauseOptions>): Promise<void> {
  const { db, clock, config } = app;
  const project = projectFrom(options);
  const now = clock.now();
  const pauses = await pausesOf(db, now);
  const ended = pauses.find((each) => (project === null ? each.project : pausedAt(each, project)) === project);
  const left = ended ? await endPause(db, ended.project, now) : pauses;
  // What another pause still holds is held again by whoever comes to work it.
  const released = ended ? await releasePaused(db, now) : 0;
  if (released > 0) wakeWorker(config.home, config.environment);
  const { enabled, reason } = await app.standing({ cwd: project ?? undefined });
  if (options.json) return print({ project, wasPaused: ended !== undefined, released, left, enabled, reason });
  const what = plainly(project ?? 'nocturne', config);
  const due = released > 0 ? `; ${released} that waited ${released === 1 ? 'is' : 'are'} due now` : '';
  print(ended ? `${what} is not paused any more${due}` : `${what} was not paused`);
  for (const { project: of, until } of left) {
    const when = until === null ? '' : ` until ${sayTime(until, config)}`;
    const end = `${pauseEnd(of)}${of === null ? '' : ` ${shellPath(of, config)}`}`;
    print(`still paused: ${plainly(of ?? 'everything', config)}${when}; ${end} ends that`);
  }
}

/** The root of the project that is meant; null: everything. */
function projectFrom({ project }: PauseOptions): string | null {
  if (project === undefined) return null;
  const dir = canonicalPath(project === true ? process.cwd() : project);
  return gitRoot(dir) ?? dir;
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function durationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? [];
  return count && Number(count) > 0 ? Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS] : undefined;
}

export const commands = [configCommand, pause] as CommandSpec[];
