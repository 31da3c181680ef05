// How often each check of a dream's operations stops what is wrong, and what is right: over a seeded year of a person who
// changes, with models that propose what is right, now and then something wrong, or whatever wrong there is; and over what
// readers proposed in the place of a model, played again. One that stops more right than wrong work is to be changed.

import Table from 'cli-table3';
import { asOneHabit, dropWrongly, liveThrough, type Sent, spoil } from '../support/changing-year.ts';
import { CHECK_NAMES, type CheckCount, countChecks, type Proposed } from '../support/check-counts.ts';
import { seeded } from '../support/random.ts';
import { hasReal } from '../support/transcripts.ts';
import { cassetteNames, readCassette, wholeCassette } from './reference/cassette.ts';
import { replay } from './reference/replay.ts';

const SEED = 20_261_122;

/** Whose operations are counted. */
export interface Counted {
  who: string;
  proposed: Proposed[];
}

/** `nights` of the year; readers only where the sessions are that they read. */
export async function measureChecks(
  { nights }: { nights: number },
  say: (text: string) => void = () => {},
): Promise<Counted[]> {
  const out: Counted[] = [];
  // One of three operations that a sloppy model sends is wrong where it can be; a hostile one sends what is wrong wherever there is something.
  for (const [who, oneOf] of Object.entries({ right: 0, sloppy: 3, hostile: 1 })) {
    say(`${nights} nights with a ${who} model`);
    const random = seeded(SEED);
    const spoilt = (...[right, kept, idOf, tonight]: Parameters<Parameters<typeof liveThrough>[1]>): Sent | null => {
      if (oneOf === 0 || random.below(oneOf) > 0) return null;
      if (random.below(6) === 0) return dropWrongly(right, kept, { random, idOf });
      return asOneHabit(right, kept, { random, idOf, tonight }) ?? spoil(right, kept, { random, idOf });
    };
    const { proposed } = await liveThrough({ nights, seed: SEED }, spoilt);
    out.push({ who: `year, ${who}`, proposed });
  }
  const proposed: Proposed[] = [];
  for (const name of hasReal ? cassetteNames() : []) {
    for (const [session, lines] of Map.groupBy(readCassette(name), (line) => line.session)) {
      say(`the play ${name}, ${session.slice(0, 8)}`);
      proposed.push(...(await replay(session, wholeCassette(lines))).proposed);
    }
  }
  if (proposed.length > 0) out.push({ who: 'readers', proposed });
  return out;
}

/** A row for each check: what it was the first to stop of what was wrong and of what was right, by who proposed it. */
export function describeChecks(counted: Counted[]): string {
  const counts = counted.map(({ who, proposed }) => ({ who, ...countChecks(proposed) }));
  const total = countChecks(counted.flatMap(({ proposed }) => proposed));
  const table = new Table({
    head: ['wrong / right operations', ...counts.map(({ who }) => who), 'all'],
    style: { head: [], border: [], compact: true },
  });
  const all = [...counts, total];
  for (const check of CHECK_NAMES) {
    const found = all.map(({ checks }) => checks.find((each) => each.check === check));
    table.push([check, ...found.map((count) => `${count?.wrong ?? 0} / ${count?.right ?? 0}`)]);
  }
  table.push(['let through', ...all.map(({ passed, right, checks }) => `${passed} / ${right - stopped(checks)}`)]);
  table.push(['in all', ...all.map(({ wrong, right }) => `${wrong} / ${right}`)]);
  const worse = total.checks.filter(({ wrong, right }) => right > wrong).map(({ check }) => check);
  const said = [
    `Of ${total.right} right operations ${stopped(total.checks)} were stopped (${percent(stopped(total.checks), total.right)} %), of ${total.wrong} wrong ones ${total.wrong - total.passed} (${percent(total.wrong - total.passed, total.wrong)} %).`,
    worse.length > 0 ? `They stop more of what is right than of what is wrong: ${worse.join('; ')}.` : '',
    counted.some(({ who }) => who === 'readers')
      ? ''
      : 'The sessions that readers read are not here, so their plays are left out.',
  ];
  return `${table}\n\n${said.filter((line) => line).join('\n')}`;
}

function stopped(checks: CheckCount[]): number {
  return checks.reduce((sum, { right }) => sum + right, 0);
}

function percent(part: number, of: number): string {
  return ((100 * part) / Math.max(1, of)).toFixed(1);
}
