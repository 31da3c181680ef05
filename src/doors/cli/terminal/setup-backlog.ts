// The sessions from before, at set-up: how many there are, about what learning them costs, the question, the progress, and
// what was learned, in a person's words. Where they are not learned now, they count as declined.

import { basename } from 'node:path';
import { sayCount } from '../../../base/text/wording.ts';
import type { App } from '../../compose.ts';
import { type Backlog, findBacklog, type Learned, learnBacklog } from '../../setup/backlog.ts';
import type { Call } from '../spec.ts';
import { type CommonOptions, withApp } from './options.ts';
import { EXIT, note } from './output.ts';
import { progress } from './progress.ts';
import type { Asking } from './setup-key.ts';

const MOST_SHOWN = 20;
const STOPPED =
  'Stopped. What is learned stays; the rest waits, and the next session or nocturne worker --once goes on with it.';

interface Offer extends Asking {
  /** The model can be asked. */
  canLearn: boolean;
}

interface Offered {
  backlog: { sessions: number; days: number; microUsd: number | null; ms: number };
  learned?: Pick<Learned, 'done' | 'waiting'> & { memories: Pick<Learned['memories'][number], 'memory' | 'entries'>[] };
}

/** Answers what it found and what was learned of it, for programs. */
export function offerBacklog(call: Call<CommonOptions & { learn?: boolean }>, offer: Offer): Promise<Offered> {
  return withApp(call, async (app) => {
    const isFirst = app.home.declinedBefore() === undefined && app.home.stores().length === 0;
    const now = app.config.clock.now();
    const bar = progress('looking for sessions');
    const backlog = await findBacklog(app).finally(() => bar.stop());
    for (const problem of backlog.problems) note(problem);
    // Before anything may be taken: what is learned now is asked for by name.
    if (isFirst) app.home.decline(now);
    const { problems: _, sessions, ...size } = backlog;
    const found: Offered = { backlog: { ...size, sessions: sessions.length } };
    if (sessions.length === 0) return found;
    if (!(await isAccepted(backlog, { ...offer, learn: call.options.learn }))) return found;
    offer.questions?.close();
    const learned = await learnFound(app, backlog);
    offer.say(describeLearned(learned));
    if (learned.waiting.length > 0) process.exitCode = EXIT.attention;
    return {
      ...found,
      learned: { ...learned, memories: learned.memories.map(({ memory, entries }) => ({ memory, entries })) },
    };
  });
}

export async function learnFound(app: App, backlog: Backlog): Promise<Learned> {
  const all = sayCount(backlog.sessions.length, 'session');
  const learning = progress(`learning ${all}`, STOPPED);
  let done = 0;
  return learnBacklog(app, backlog, {
    signal: new AbortController().signal,
    onDone() {
      done += 1;
      learning.say(`${done} of ${all} learned`);
    },
    onError: note,
  }).finally(() => learning.stop());
}

async function isAccepted(
  backlog: Backlog,
  { questions, say, canLearn, learn }: Offer & { learn?: boolean },
): Promise<boolean> {
  const what = `${sayCount(backlog.sessions.length, 'session')} of the last ${sayCount(backlog.days, 'day')}`;
  const price = `${what}, ${sayCost(backlog.microUsd)}, ${sayTime(backlog.ms)}`;
  if (!canLearn) {
    say(`${what} could be learned: nocturne setup --learn does it once the model can be asked.`);
    if (learn) process.exitCode = EXIT.attention;
    return false;
  }
  if (learn) {
    say(`${price}.`);
    return true;
  }
  const answer = await questions?.ask(`${price}: learn them now? [y/N] `);
  if (/^y(es)?$/i.test(answer?.trim() ?? '')) return true;
  say(`${price}: left alone. nocturne learn takes them, nocturne learn FILE one.`);
  return false;
}

function sayCost(microUsd: number | null): string {
  if (microUsd === null) return 'no price known';
  if (microUsd === 0) return 'free';
  return microUsd < 10_000 ? 'less than $0.01' : `about $${(microUsd / 1_000_000).toFixed(2)}`;
}

function sayTime(ms: number): string {
  if (ms < 60_000) return 'less than a minute';
  const minutes = Math.round(ms / 60_000);
  return `about ${sayCount(minutes, 'minute')}`;
}

/** What was learned, by project, each fact with its quote. */
export function describeLearned({ done, waiting, memories }: Learned): string {
  const entries = memories.flatMap((each) => each.entries);
  const lines = [`Learned ${sayCount(entries.length, 'thing')} from ${sayCount(done, 'session')}.`];
  let left = MOST_SHOWN;
  for (const { memory, cwd, entries: of } of memories) {
    if (left === 0) break;
    lines.push('', cwd ? basename(cwd) : memory);
    for (const { text, evidence, by } of of.slice(0, left)) {
      lines.push(`  - ${text}`, `    ${by === 'human' ? 'you' : by}: “${evidence[0]?.quote ?? ''}”`);
    }
    left -= Math.min(left, of.length);
  }
  const more = entries.length - MOST_SHOWN;
  if (more > 0) lines.push('', `… and ${more} more: nocturne sessions --all shows them.`);
  if (entries.length > 0) lines.push('', 'The next session of each project is told; the night sorts them into topics.');
  for (const [reason, of] of Map.groupBy(waiting, (each) => each.reason)) {
    lines.push('', `${sayCount(of.length, 'session')} waits or failed: ${reason}`);
  }
  return lines.join('\n');
}
