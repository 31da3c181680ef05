// nocturne retry: puts work that failed, or that waits after a failure, into its inbox again, due now. Or says of
// failed work that it may be forgotten.

import type { Command } from 'commander';
import { AppError } from '../../../base/errors.ts';
import { dayOf } from '../../../base/time.ts';
import { givenUpTurns, sessionRow } from '../../../memory/ledger/coverage.ts';
import { dropFailure, putInInbox } from '../../../memory/ledger/inbox.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import type { App } from '../../compose.ts';
import { extractKey } from '../../hook/announce.ts';
import { eachLedger, isMeant, isSessionMeant, type KnownWork, knownWork } from '../../worker/known-work.ts';
import { type CommonOptions, withApp, withJson, withMemory } from '../terminal/options.ts';
import { note, print } from '../terminal/output.ts';

/** Work to be put in again. */
type Again = Pick<KnownWork, 'kind' | 'key'> & { payload: object };

interface RetryOptions extends CommonOptions {
  all?: boolean;
  failed?: boolean;
  dismiss?: boolean;
}

export function addRetry(program: Command): void {
  const command = program
    .command('retry')
    .description('try again what failed: given up, or waiting after a failure')
    .argument('[session...]', 'sessions by id or transcript, or other work by its key (dream, a day)')
    .option('--failed', 'all work that was given up')
    .option('--all', 'that, and all that waits after a failure or a pause')
    .option('--dismiss', 'do not try it again: take it off the list of what failed');
  withJson(withMemory(command), 'one line per piece of work: { memory, kind, key, isDismissed }')
    .addHelpText(
      'after',
      '\nLooks into all known memory directories, or with --memory into one.\n\nExample:\n  nocturne retry --failed',
    )
    .action((sessions: string[], options: RetryOptions) => {
      if (sessions.length === 0 && !options.failed && !options.all) {
        command.error('error: name a session, or use --failed or --all', { exitCode: 2, code: 'commander.retry' });
      }
      return withApp(options, (app) => retry(app, sessions, options));
    });
}

async function retry(app: App, sessions: string[], options: RetryOptions): Promise<void> {
  const left = new Set(sessions);
  let count = 0;
  const say = ({ kind, key }: Pick<Again, 'kind' | 'key'>, dir: string) => {
    const isDismissed = options.dismiss ?? false;
    if (options.json) print(JSON.stringify({ memory: dir, kind, key, isDismissed }));
    else print(`${kind} ${key} ${isDismissed ? 'is off the list' : 'waits'} in ${dir}`);
  };
  const look = (ledger: Ledger, dir: string) => {
    const meant = knownWork(ledger).filter((work) => {
      const names = sessions.filter((name) => isMeant(work, name));
      for (const name of names) left.delete(name);
      const isFailed = work.failure?.state === 'failed';
      return (
        names.length > 0 ||
        (isFailed && options.failed) ||
        (options.all && !options.dismiss) ||
        (isFailed && options.all)
      );
    });
    const given = options.dismiss ? [] : givenUpSessions(ledger, [...left]);
    for (const { name } of given) left.delete(name);
    for (const work of meant) {
      if (options.dismiss) dropFailure(ledger, work);
      else putAgain(app, { ledger, work: { ...work, payload: (work.item ?? work.failure)?.payload as object } });
      say(work, dir);
    }
    for (const { work } of given) {
      putAgain(app, { ledger, work });
      say(work, dir);
    }
    count += meant.length + given.length;
  };
  for (const message of await eachLedger(app.home, { only: options.memory, look })) note(`nocturne: ${message}`);
  if (left.size > 0) {
    throw new AppError('bad-input', `Nothing failed or waits under ${[...left].join(', ')}.`, {
      remedy: 'nocturne why SESSION says what became of a session; nocturne status lists what failed and waits.',
    });
  }
  if (options.dismiss) return;
  // Whoever asks has mended what was wrong, or wants to see.
  app.home.breaker.close();
  if (app.home.days.unreadDay()) note('What is spent today is counted from nothing again: models may be asked.');
  app.home.days.reopen(dayOf(app.config.clock.now(), app.config.zone));
  if (count === 0) print('Nothing failed, and nothing waits.');
}

function putAgain(app: App, { ledger, work }: { ledger: Ledger; work: Again }): void {
  const { kind, key } = work;
  const payload = { ...work.payload, ...(kind === 'extract' && { reopenGivenUp: true }) };
  ledger.transaction(() => {
    dropFailure(ledger, work);
    putInInbox(ledger, { kind, key, payload, notBefore: app.config.clock.now().toISOString() });
  });
}

/** Sessions of which turns were given up, although no failure is listed any more. */
function givenUpSessions(ledger: Ledger, names: string[]): { name: string; work: Again }[] {
  const sessions = ledger.all("select distinct session from coverage where became = 'gave-up'");
  return sessions.flatMap(({ session }) => {
    const id = String(session);
    const name = names.find((meant) => isSessionMeant(id, meant));
    const transcript = sessionRow(ledger, id)?.path;
    if (!name || !transcript || givenUpTurns(ledger, id).length === 0) return [];
    const key = extractKey({ session: id, transcript });
    return [{ name, work: { kind: 'extract', key, payload: { transcript, ended: true } } }];
  });
}
