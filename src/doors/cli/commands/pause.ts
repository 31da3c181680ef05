// nocturne pause: nothing is done unasked, everywhere or in a project, until it is resumed or a time is over.

import { type Command, InvalidArgumentError, Option } from 'commander';
import { canonicalPath } from '../../../base/files/directories.ts';
import { formatUnreadSpend } from '../../../memory/home/day-spend.ts';
import { gitRoot } from '../../../memory/home/paths.ts';
import { isPause } from '../../../memory/home/switches.ts';
import { inboxItems, postponeInboxItem } from '../../../memory/ledger/inbox.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { eachLedger } from '../../worker/known-work.ts';
import { type CommonOptions, withApp, withJson } from '../terminal/options.ts';
import { note, print } from '../terminal/output.ts';

export interface PauseOptions extends CommonOptions {
  project?: string | true;
}

export function addPause(program: Command): void {
  const command = program
    .command('pause')
    .description('do nothing unasked for now: sessions wait, nothing is recalled')
    .addOption(
      new Option('--for <time>', 'how long: 45m, 2h, 3d (default: until nocturne resume)').argParser(durationMs),
    );
  withJson(withProject(command), '{ project, until }')
    .addHelpText('after', '\nExample:\n  nocturne pause --for 2h --project')
    .action((options: PauseOptions & { for?: number }) =>
      withApp(options, async (app) => {
        const { clock } = app.config;
        const until = options.for ? new Date(clock.now().getTime() + options.for).toISOString() : null;
        const project = projectFrom(options);
        app.home.pauses.begin({ project, until });
        const end = until ? `until ${until}` : 'until nocturne resume';
        print(options.json ? JSON.stringify({ project, until }) : `${project ?? 'nocturne'} is paused ${end}`);
      }),
    );
}

export function withProject(command: Command): Command {
  return command.option('--project [dir]', 'only the project of this directory (default: the current one)');
}

/** The root of the project that is meant; null: everything. */
export function projectFrom({ project }: PauseOptions): string | null {
  if (project === undefined) return null;
  const dir = canonicalPath(project === true ? process.cwd() : project);
  return gitRoot(dir) ?? dir;
}

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

function durationMs(text: string): number {
  const [, count, unit] = /^(\d{1,6})([mhd])$/.exec(text.trim()) ?? [];
  if (count && Number(count) > 0) return Number(count) * UNIT_MS[unit as keyof typeof UNIT_MS];
  throw new InvalidArgumentError('It is no length of time; give minutes, hours or days: 45m, 2h, 3d.');
}

export function addResume(program: Command): void {
  withJson(
    withProject(program.command('resume').description('end a pause')),
    '{ project, wasPaused, released, enabled, reason }',
  )
    .addHelpText('after', '\nExample:\n  nocturne resume --project')
    .action((options: PauseOptions) =>
      withApp(options, async (app) => {
        const project = projectFrom(options);
        const wasPaused = app.home.pauses.end(project);
        if (project === null) app.home.dismissDamage();
        const now = app.config.clock.now().toISOString();
        let released = 0;
        const look = (ledger: Ledger) => {
          // What another pause still holds is held again by whoever comes to work it.
          for (const { id, attempts } of inboxItems(ledger).filter(({ failure }) => isPause(failure))) {
            postponeInboxItem(ledger, id, { notBefore: now, attempts, failure: null });
            released += 1;
          }
        };
        const unreadable = wasPaused ? await eachLedger(app.home, { look }) : [];
        for (const message of unreadable) note(`nocturne: ${message}`);
        const { enabled, reason } = app.standing({ cwd: project ?? undefined });
        if (options.json) return print(JSON.stringify({ project, wasPaused, released, enabled, reason }));
        const what = project ?? 'nocturne';
        const due = released > 0 ? `; ${released} that waited ${released === 1 ? 'is' : 'are'} due now` : '';
        print(wasPaused ? `${what} is resumed${due}` : `${what} was not paused`);
        if (!enabled) print(`still off: ${reason}`);
        const unread = app.home.days.unreadDay();
        if (unread) print(formatUnreadSpend(unread));
      }),
    );
}
