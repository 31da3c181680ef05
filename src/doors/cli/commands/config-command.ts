// config: shows the settings that are not as by default, or one, and sets them. pause: nothing is done unasked, everywhere or
// in a project, until the pause is ended or a time is over.

import { homeOfUser, loadConfig } from '../../../base/config/config.ts';
import { settingsPath } from '../../../base/config/settings.ts';
import { onAppError } from '../../../base/errors.ts';
import { canonicalPath } from '../../../base/files/directories.ts';
import { formatUnreadSpend } from '../../../memory/home/day-spend.ts';
import { gitRoot, isPause, pauseEnd } from '../../../memory/home/paths.ts';
import type { WorkRows } from '../../../memory/ledger/inbox.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { readSettingsOf, type Setting, writeSettings, writeTyped } from '../../setup/settings-file.ts';
import { eachLedger } from '../../worker/known-work.ts';
import type { Call, CommandSpec, OptionSpec } from '../spec.ts';
import { type CommonOptions, parsed, withApp } from '../terminal/options.ts';
import { note, print } from '../terminal/output.ts';
import { plainly, sayTime } from '../terminal/phrases.ts';

interface ConfigOptions {
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

const configCommand: CommandSpec<ConfigOptions, [string | undefined, string | undefined]> = {
  name: 'config',
  about: 'show the settings, or set one',
  group: 'Jobs and numbers',
  args: [
    ['[name]', 'one setting (default: all that are not as by default)'],
    ['[new]', 'what it is to be: as in config.json, or a text as it is'],
  ],
  options: [['--unset', 'as by default again']],
  more: `They stand in config.json of the nocturne home, which you may edit, too; comments stay. What lies further in is named
with dots: forgetDays.project. docs/settings.md lists them all.`,
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
  // A mistyped name that was taken out is no setting, and what else is wrong with the file is told, but keeps nobody.
  const isWritten = options.unset || value !== undefined;
  const read = readSettingsOf(home, name === undefined ? [] : [name]);
  const settings = await (isWritten ? read.catch(onAppError(({ message }) => note(message) ?? [])) : read);
  if (options.json) return print({ file: settingsPath(home), isChanged, settings });
  if (settings.length > 0) print(settings.map(describe).join('\n'));
  else if (name === undefined) print('All settings are as by default. docs/settings.md lists them.');
  const { environment } = await loadConfig().catch(onAppError(() => ({ environment: {} as Record<string, string> })));
  for (const { name } of settings) {
    const variable = WINNING[name] ?? '';
    if (environment[variable]) note(`${variable} is set in this shell, and wins here.`);
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

const PROJECT: OptionSpec = ['--project [dir]', 'only the project of this directory (default: the current one)'];

const pause: CommandSpec<PauseOptions> = {
  name: 'pause',
  about: 'do nothing unasked for now',
  group: 'Every day',
  options: [
    [
      '--for <time>',
      'how long: 45m, 2h, 3d (default: until pause --off)',
      { parse: parsed(durationMs, 'It is no length of time; give minutes, hours or days: 45m, 2h, 3d.') },
    ],
    ['--off', 'end the pause', { conflicts: 'for' }],
    PROJECT,
  ],
  more: 'Sessions wait meanwhile, and nothing is recalled.',
  json: '{ project, until }; with --off { project, wasPaused, released, enabled, reason }',
  examples: ['pause --for 2h --project', 'pause --off'],
  run: (call) => (call.options.off ? endPause(call) : beginPause(call)),
};

function beginPause(call: Call<PauseOptions>): Promise<void> {
  return withApp(call, async (app) => {
    const { for: lengthMs, json } = call.options;
    const until = lengthMs ? new Date(app.config.clock.now().getTime() + lengthMs).toISOString() : null;
    const project = projectFrom(call.options);
    await app.home.pauses.begin({ project, until });
    const when = until && sayTime(until, app.config);
    const said = `${project ?? 'nocturne'} is paused until ${when ?? pauseEnd(project)}`;
    print(json ? { project, until } : plainly(said, app.config));
  });
}

function endPause(call: Call<PauseOptions>): Promise<void> {
  return withApp(call, async (app) => {
    const project = projectFrom(call.options);
    const wasPaused = await app.home.pauses.end(project);
    if (project === null) await app.home.dismissDamage();
    const now = app.config.clock.now().toISOString();
    let released = 0;
    const look = async (_: Ledger, __: string, work: WorkRows) => {
      // What another pause still holds is held again by whoever comes to work it.
      for (const { id, attempts } of (await work.items()).filter(({ failure }) => isPause(failure))) {
        await work.postpone(id, { notBefore: now, attempts, failure: null });
        released += 1;
      }
    };
    const unreadable = wasPaused ? await eachLedger(app, { look }) : [];
    for (const { dir, message } of unreadable) note(`nocturne: ${dir}: ${message}`);
    const { enabled, reason } = await app.standing({ cwd: project ?? undefined });
    const here = await app.standing({ cwd: process.cwd() });
    if (call.options.json) return print({ project, wasPaused, released, enabled, reason });
    const what = plainly(project ?? 'nocturne', app.config);
    const due = released > 0 ? `; ${released} that waited ${released === 1 ? 'is' : 'are'} due now` : '';
    print(wasPaused ? `${what} is not paused any more${due}` : `${what} was not paused`);
    if (!enabled) print(`still off: ${plainly(reason, app.config)}`);
    // Who ends the pause of all means the one that keeps this project back.
    else if (project === null && here.pausedProject) {
      const end = pauseEnd(here.pausedProject);
      const how = here.reason.endsWith(end) ? '' : `; ${end} ends that`;
      print(`still off here: ${plainly(here.reason, app.config)}${how}`);
    }
    const unread = await app.home.days.unreadDay();
    if (unread) print(formatUnreadSpend(unread));
  });
}

/** The root of the project that is meant; null: everything. */
export function projectFrom({ project }: PauseOptions): string | null {
  if (project === undefined) return null;
  const dir = canonicalPath(project === true ? process.cwd() : project);
  return gitRoot(dir) ?? dir;
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function durationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? [];
  return count && Number(count) > 0 ? Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS] : undefined;
}

export const commands: CommandSpec[] = [configCommand as CommandSpec, pause];
