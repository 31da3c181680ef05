// How the screens for a person say things: times as one speaks of them, places from `~/`, money, projects by where they
// are, a command so that it works from where one stands, and a day as one names it. Lines are broken by output.ts.

import { sep } from 'node:path';
import { formatDistanceStrict } from 'date-fns/formatDistanceStrict';
import type { Config } from '../base/config/config.ts';
import { AppError } from '../base/errors.ts';
import { DAY_MS, type Day, dayOf, formatIn, isDay } from '../base/time.ts';
import type { KeptEntry } from '../memory/entries.ts';

const HOUR_MS = 3_600_000;

/** Who reads it. */
export type Seen = Pick<Config, 'clock' | 'zone'>;

/** `5 minutes ago`, `today 09:10`, `yesterday 23:10`, `in 5 hours (03:30)`, `Tuesday 14:00`, `3 Nov 14:00`. */
export function sayWhen(at: string | Date, seen: Seen): string {
  const instant = new Date(at);
  const { clock, zone } = seen;
  const now = clock.now();
  const ms = instant.getTime() - now.getTime();
  const time = formatIn(instant, zone, 'HH:mm');
  if (Math.abs(ms) < 60_000) return ms > 0 ? 'in a moment' : 'just now';
  const distance = formatDistanceStrict(instant, now, { addSuffix: true, roundingMethod: 'floor' });
  if (Math.abs(ms) < HOUR_MS) return distance;
  if (ms > 0 && ms < 24 * HOUR_MS) return `${distance} (${time})`;
  return sayTime(instant, seen);
}

/** The same without a distance: `today 09:10`, as it stands behind `until` and `since`. */
export function sayTime(at: string | Date, { clock, zone }: Seen): string {
  const [instant, now] = [new Date(at), clock.now()];
  const time = formatIn(instant, zone, 'HH:mm');
  const days = (Date.parse(dayOf(instant, zone)) - Date.parse(dayOf(now, zone))) / (24 * HOUR_MS);
  const near = { '-1': 'yesterday', 0: 'today', 1: 'tomorrow' }[days];
  if (near) return `${near} ${time}`;
  if (Math.abs(days) < 7) return formatIn(instant, zone, 'EEEE HH:mm');
  const isThisYear = formatIn(instant, zone, 'yyyy') === formatIn(now, zone, 'yyyy');
  return formatIn(instant, zone, isThisYear ? 'd MMM HH:mm' : 'd MMM yyyy');
}

/** Behind what a month cost, where the database was restored in it. */
export function sayUnknown({ restoredAt: at }: { restoredAt: string | null }, seen: Seen): string {
  return at === null ? '' : `; what was spent before the restore, ${sayTime(at, seen)}, may be missing`;
}

const INSTANT = /\b(?:at )?(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z)/g;
const UUID = /(?<![\w/\\.-])([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![\w/\\]|\.\w)/gi;

/** A sentence made for logs, as one would say it: its instants as times, its ids by how they begin, paths from `~/`. */
export function plainly(text: string, config: Config): string {
  return text
    .replace(INSTANT, (_, instant: string, at: number) =>
      (/\b(?:until|since|before|after) $/.test(text.slice(0, at)) ? sayTime : sayWhen)(instant, config),
    )
    .replace(UUID, '$1')
    .replaceAll(`${config.userDir}${sep}`, '~/');
}

export function fromHome(path: string, { userDir }: Config): string {
  return path.startsWith(`${userDir}${sep}`) ? `~/${path.slice(userDir.length + 1)}` : path;
}

/** A path as a word that a shell takes as it is. */
export function shellPath(path: string, config: Config): string {
  const short = fromHome(path, config);
  return shellWord(short) === short ? short : shellWord(path);
}

export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export function sayUsd(microUsd: number): string {
  const usd = microUsd / 1e6;
  return `$${usd === 0 || usd >= 0.01 ? usd.toFixed(2) : usd.toFixed(4)}`;
}

export function sayTokens(tokens: number): string {
  return `${tokens.toLocaleString('en-US')} ${tokens === 1 ? 'token' : 'tokens'}`;
}

/**
 * The day that is given, default the latest of `days`, those that there are. Throws `bad-input`: `none` where there is no day
 * at all, else that there is no `what` of it, with the nearest days.
 */
export function dayAmong(
  days: Day[],
  { given, config, none, what }: { given?: string; config: Seen; none: AppError; what: string },
): Day {
  const day = given === undefined ? days.at(-1) : dayFrom(given, { now: config.clock.now(), zone: config.zone, days });
  if (day === undefined || days.length === 0) throw none;
  if (days.includes(day)) return day;
  const near = [days.findLast((each) => each < day), days.find((each) => each > day)].filter(Boolean);
  throw new AppError('bad-input', `There is no ${what} of ${day}.`, {
    remedy: `The nearest days with one: ${near.join(' and ')}.`,
  });
}

/** From `YYYY-MM-DD`, `today`, `yesterday` or `-N` days before today. `days` are those worth naming in an error. */
function dayFrom(given: string, { now, zone, days }: { now: Date; zone: string; days: Day[] }): Day {
  if (isDay(given)) return given;
  const back = given === 'today' ? 0 : given === 'yesterday' ? 1 : /^-\d{1,5}$/.test(given) ? -Number(given) : null;
  // Counted on the calendar: a day of 23 or 25 hours is a day.
  if (back !== null) return dayOf(new Date(Date.parse(dayOf(now, zone)) - back * DAY_MS), 'UTC');
  throw new AppError('bad-input', `${JSON.stringify(given)} is not a day.`, {
    remedy: `Use YYYY-MM-DD, today, yesterday or -1${days.length > 0 ? `; the latest is ${days.at(-1)}` : ''}.`,
  });
}

const SPEAKERS: Record<string, string> = {
  human: 'you',
  assistant: 'the agent',
  tool: 'a tool',
  subagent: 'a subagent',
  harness: 'the program',
};

/** Who spoke, as one says it to the person. */
export const saySpeaker = (by = '') => SPEAKERS[by] ?? by;

/** The same of an entry, behind `said`. Whose words an archive brought along is not known. */
export function sayBy({ by, person, learnedBy }: Pick<KeptEntry, 'by' | 'person' | 'learnedBy'>): string {
  const isImported = by === 'human' && !person && learnedBy === 'import';
  return isImported ? 'in an imported memory' : `by ${person ?? saySpeaker(by)}`;
}

const ENDED: Record<string, string> = {
  recorded: 'learned',
  dreamed: 'sorted into topics',
  proposed: 'waits for your answer',
  ceiling: 'stopped at a limit',
};

/** How a job ended: `nothing worth keeping`. */
export const sayOutcome = (outcome: string) => ENDED[outcome] ?? outcome.replaceAll('-', ' ');

/** By the kind of a job, or by how an edit ended. */
const DID: Record<string, string> = {
  extract: 'learned from a session',
  dream: 'sorted what was new into topics',
  reprocess: 'learned a session again',
  remember: 'remembered',
  forget: 'forgot',
  pinned: 'pinned a topic',
  unpinned: 'let dreams change a topic again',
  restored: 'made a file what it was',
  edited: 'edited a file',
  review: 'decided in review',
  import: 'imported an archive',
  adopt: 'took up a memory for this checkout',
  share: 'shared with the team',
  redact: 'took a text out for good',
  snapshot: 'took in a snapshot',
};

/** What a job did, behind who did it: `remembered`. */
export function sayDid({ kind, outcome }: { kind: string; outcome: string | null }): string {
  return DID[outcome ?? ''] ?? DID[kind] ?? `did ${kind}`;
}

/** What a person hears of a home on another machine's disk. */
export const NETWORK_RISK = "SQLite's locks may fail there. Set NOCTURNE_HOME to a disk of this machine.";
