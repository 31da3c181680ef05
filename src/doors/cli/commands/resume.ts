// nocturne resume: ends what nocturne pause began. What waited for that is due at once, for the next worker.

import type { Command } from 'commander';
import { formatUnreadSpend } from '../../../memory/home/day-spend.ts';
import { isPause } from '../../../memory/home/switches.ts';
import { inboxItems, postponeInboxItem } from '../../../memory/ledger/inbox.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { eachLedger } from '../../worker/known-work.ts';
import { withApp, withJson } from '../terminal/options.ts';
import { note, print } from '../terminal/output.ts';
import { type PauseOptions, projectFrom, withProject } from './pause.ts';

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
