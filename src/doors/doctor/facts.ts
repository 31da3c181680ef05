// What a look finds that may need a person: in a memory, and in what crosses directories. Each is looked for here, once;
// `nocturne` tells what waits for a person and the command that deals with it, `nocturne doctor` all of it, with what to do.
// Nothing is made or changed.

import { sayCount } from '../../base/text/wording.ts';
import { longUnplaced } from '../../memory/dream/habits.ts';
import { countWaiting } from '../../memory/dream/proposals.ts';
import { formatUnreadSpend } from '../../memory/home/day-spend.ts';
import { formatDamage } from '../../memory/home/home.ts';
import type { Ledger } from '../../memory/ledger/ledger.ts';
import { shortId } from '../../memory/ledger/short-ids.ts';
import { missingIn } from '../../memory/ledger/version-rows.ts';
import { formatMissing, IF_MISSING } from '../../memory/store/missing-files.ts';
import type { App } from '../compose.ts';
import { dreamHolds } from '../worker/hold.ts';
import { type Checked, fail, ok, sayFirst, warn } from './checked.ts';

/** What waits for a person, as a sentence without its stop, and the command that deals with it from here. */
export interface Need {
  text: string;
  command?: string;
  /** What work failed with, so that it is not told of each. */
  cause?: string;
  /** The code of that error. */
  code?: string;
}

export interface Fact extends Checked {
  /** None: nobody has to do anything. */
  need?: Need;
}

/** Whose memory a directory is, and how a command is told to work on it from here. */
export interface Whose {
  /** A project by where it lies, else the directory. */
  name: string;
  command(what: string): string;
}

type Known = Pick<App, 'config' | 'home'>;

/** `by`: the settings, and what crosses directories, to say what keeps dreams from running. */
export async function factsOfMemory(
  { ledger, whose }: { ledger: Ledger; whose: Whose },
  by: Known | undefined,
): Promise<Fact[]> {
  const lost = formatMissing(missingIn(ledger));
  const holds = (by ? await dreamHolds(by, ledger) : []).filter(
    ({ why }) => !lost.some(({ what }) => why.startsWith(what)),
  );
  const [first, ...others] = longUnplaced(ledger);
  const proposals = countWaiting(ledger);
  const facts = lost.map(({ what, keepsDreams }): Fact => {
    const remedy = `${keepsDreams ? 'No dream runs: ' : ''}${IF_MISSING}.`.replace(/^p/, 'P');
    const command = whose.command('nocturne dream --accept-missing');
    return needing(fail('memory', `${whose.name}: ${what}`, remedy), command, `${whose.name}: ${what}; ${IF_MISSING}`);
  });
  for (const { why, needsPerson, remedy = 'nocturne dream tries again.' } of holds) {
    const command = whose.command(`nocturne dream${why.includes('--accept-missing') ? ' --accept-missing' : ''}`);
    const found = `${whose.name}: ${why}`;
    const held = (needsPerson ? fail : warn)('dream', found, remedy);
    facts.push(needsPerson ? needing(held, command, `No dream in ${found}`) : held);
  }
  if (first) {
    const { nights, since, reason } = first;
    const what = `${sayCount(1 + others.length, 'entry')} of ${whose.name} found no place in its topics for ${nights} nights`;
    const command = whose.command(`nocturne why ${shortId(ledger, 'entry', first.entry)}`);
    facts.push(needing(warn('entries', `${what}, since ${since.slice(0, 10)}: ${reason}`, `Run ${command}.`), command));
  }
  if (proposals > 0) {
    const what = `${sayCount(proposals, 'proposed change')} in ${whose.name} ${proposals === 1 ? 'waits' : 'wait'} for your word`;
    const command = whose.command('nocturne review');
    facts.push(needing(ok('review', `${what}: ${command}`), command, what));
  }
  return facts;
}

/** What crosses memories: what was damaged, cannot be read or could not be taken, and a model out of reach. */
export async function factsOfHome({ config, home }: Known): Promise<Fact[]> {
  const facts: Fact[] = [];
  const damage = await home.damage();
  if (damage) {
    const seen = 'Look whether its directories and pauses are as they should be, then run nocturne pause --off.';
    facts.push(needing(warn('home', formatDamage(damage), seen), 'nocturne pause --off'));
  }
  const unread = await home.days.unreadDay();
  if (unread) {
    const known = 'Look at what the account has used today, then run nocturne retry --failed.';
    facts.push(needing(warn('spend', formatUnreadSpend(unread), known), 'nocturne retry --failed'));
  }
  const { settings } = config.agentMemory;
  for (const [reason, paths] of Map.groupBy(await home.blocked.all(), (each) => each.reason)) {
    const mended = 'Mend that: they are taken by themselves then.';
    const blocked = fail('sessions', `${sayFirst(paths.map(({ path }) => path))}: ${reason}`, mended);
    // Where the agent's settings are what keeps them, that is said already.
    const why = settings.problem && reason.includes(settings.path) ? ', for the same reason' : `: ${reason}`;
    const text = `${sayCount(paths.length, 'session')} could not be taken yet${why}`;
    facts.push(needing(blocked, 'nocturne doctor', text));
  }
  const { state, failures, until, reason } = await home.breaker.read();
  if (state !== 'closed') {
    const next = state === 'open' ? `it is asked again ${until}` : 'the next job asks it again';
    const text = `The model could not be asked ${sayCount(failures, 'time')} in a row; ${next}: ${reason}`;
    const need = { text, command: 'nocturne doctor', cause: reason ?? undefined };
    facts.push({ ...warn('model', text, 'Nothing is lost: the work waits.'), need });
  }
  return facts;
}

/** `text`: as it is said in short; default: what was found. */
function needing(checked: Checked, command: string, text = checked.found): Fact {
  return { ...checked, need: { text, command } };
}
