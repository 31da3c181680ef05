// cost: what a month cost, by day, project, job and model, and what it will come to. A day's total is the home's, which
// is what ceilings use; where it is more than the jobs say, the rest is shown as unfinished requests: jobs that were
// killed, requests without an answer, jobs under way, and those of directories that are gone. Over a database the total is
// of all machines, and what was used by the jobs of their stores is shown as theirs, or, where it is asked for, job by job.

import { sayCount } from '../../../base/text/wording.ts';
import { DAY_MS, type Day, dayOf, formatIn, isDay } from '../../../base/time.ts';
import type { Spend } from '../../../memory/home/day-spend.ts';
import { type JobSpent, type SpentPart, spentJobs, tokensOf } from '../../../memory/home/spend.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortId } from '../../../memory/ledger/short-ids.ts';
import type { App } from '../../compose.ts';
import { eachLedger, everyLedger } from '../../worker/known-work.ts';
import type { CommandSpec } from '../spec.ts';
import { whoseMemory } from '../terminal/looking.ts';
import { type CommonOptions, parsed, withApp } from '../terminal/options.ts';
import { note, print, style, wrap } from '../terminal/output.ts';
import { plainly, sayTokens, sayUsd, sayWhen } from '../terminal/phrases.ts';

/** The version from which on a job's row notes model and price. */
const NOTED_SINCE = '0.1.0';
/** The forecast goes by so many whole days. */
const FORECAST_DAYS = 7;
const DEAREST = 5;
const UNFINISHED = 'unfinished requests';
export const OTHERS = 'other machines, killed jobs';
const KINDS: Record<string, string> = { extract: 'learning from sessions', dream: 'dreams' };

/** Of models without a price in tokens only. */
interface Sum {
  microUsd: number;
  tokens: number;
  requests: number;
}

interface SpentHere extends JobSpent {
  memory: string;
  project: string;
  /** What it is called for a person. */
  name: string;
}

type Cost = Awaited<ReturnType<typeof readCost>>;

const cost: CommandSpec<CommonOptions & { month?: string; all?: boolean }> = {
  name: 'cost',
  about: 'what a month cost, and what it will come to',
  group: 'Jobs and numbers',
  options: [
    [
      '--month <YYYY-MM>',
      'an earlier month (default: this one)',
      { parse: parsed(monthOf, 'It is no month; give it as YYYY-MM.') },
    ],
    ['--all', 'of a database: the jobs of all its stores, of which each is read'],
  ],
  json: '{ month, today, total, plan, forecast, days: [{ day, usd, tokens, requests, unfinished }], projects: [{ memory, project, … }], kinds: [{ kind, jobs, … }], jobs: [{ job, kind, memory, session, endedAt, … }], models: [{ model, prices, isPriced, … }], unfinished, others, unreadable }, each with { usd, tokens, requests }',
  more: `A day's total is what the ceilings count. Where it is more than the jobs say, the rest is shown as ${UNFINISHED}: of jobs that were killed or are under way, of answers that never came, of directories that are gone. Models without a price are counted in tokens only. Over a database a day's total is of all machines; projects and jobs are those of this one's stores, what others used is told in one, and --all tells of each.`,
  examples: ['cost', 'cost --month 2026-10'],
  run: (call) =>
    withApp(call, async (app) => {
      const found = await readCost(app, call.options.month, { isAll: call.options.all });
      for (const { dir, message } of found.unreadable) note(`nocturne: ${dir}: ${message}`);
      print(call.options.json ? asJson(found) : wrap(describe(app, found), process.stdout.columns || 80));
    }),
};

function monthOf(text: string): string | undefined {
  return isDay(`${text}-01`) ? text : undefined;
}

/** `isAll`: of all stores that several machines share, not only of this machine's. */
export async function readCost({ config, home, keeping }: App, asked?: string, { isAll = false } = {}) {
  const today = dayOf(config.clock.now(), config.zone);
  const month = asked ?? today.slice(0, 7);
  const [first, last] = [`${month}-01`, `${month}-31`];
  const jobs: SpentHere[] = [];
  const look = (ledger: Ledger, dir: string) => {
    const found = spentJobs(ledger, { first, last, zone: config.zone });
    const project = found.length > 0 ? whoseMemory({ dir, ledger }, config).name : '';
    jobs.push(...found.map((job) => ({ ...job, memory: dir, project, name: shortId(ledger, 'job', job.id) })));
  };
  const isOfAll = isAll && keeping !== null;
  const unreadable = await (isOfAll ? everyLedger(keeping, look) : eachLedger({ home, keeping }, { look }));
  const parts = jobs.flatMap((job) => job.parts);
  const said = sumsBy(parts, ({ day }) => day);
  const all = await home.days.since('');
  const days = all
    .filter(({ day }) => day >= first && day <= last)
    .map((spend) => {
      const total = totalOf(spend);
      const jobs = said.get(spend.day) ?? NOTHING;
      const others = keeping && !isOfAll ? less(usedOf(spend), jobs) : NOTHING;
      return { day: spend.day, total, others, unfinished: less(less(total, jobs), others) };
    });
  const total = days.map((day) => day.total).reduce(plus, NOTHING);
  const onPlan = parts.filter((part) => part.isOnPlan);
  const planOf = (of: typeof all) => of.reduce((sum, { planRequests = 0 }) => sum + planRequests, 0);
  const requestsOnPlan = planOf(all.filter(({ day }) => day >= first && day <= last));
  return {
    month,
    jobs,
    days,
    total,
    /** What agents' programs used on the person's plan, which costs no money; null: nothing. */
    plan:
      requestsOnPlan === 0
        ? null
        : {
            ...{ requests: requestsOnPlan, tokens: sumOf(onPlan).tokens },
            ...{ today: planOf(all.filter(({ day }) => day === today)), ceiling: config.planRequests },
          },
    today: month === today.slice(0, 7) ? (days.find(({ day }) => day === today)?.total ?? NOTHING) : null,
    unfinished: days.map((day) => day.unfinished).reduce(plus, NOTHING),
    /** What the stores of other machines used; null: all that is there was looked at. */
    others: keeping && !isOfAll ? days.map((day) => day.others).reduce(plus, NOTHING) : null,
    forecast: month === today.slice(0, 7) ? forecast(all, today) : null,
    unreadable,
  };
}

const NOTHING: Sum = { microUsd: 0, tokens: 0, requests: 0 };

function totalOf({ usedTokens, reservedTokens, usedMicroUsd, reservedMicroUsd, calls }: Spend): Sum {
  return { microUsd: usedMicroUsd + reservedMicroUsd, tokens: usedTokens + reservedTokens, requests: calls };
}

/** Without what is reserved. */
function usedOf({ usedTokens, usedMicroUsd, calls }: Spend): Sum {
  return { microUsd: usedMicroUsd, tokens: usedTokens, requests: calls };
}

function plus(a: Sum, b: Sum): Sum {
  return { microUsd: a.microUsd + b.microUsd, tokens: a.tokens + b.tokens, requests: a.requests + b.requests };
}

/** Never below nothing: a home that was made again knows less than the jobs. */
function less(a: Sum, b: Sum): Sum {
  const rest = (name: keyof Sum) => Math.max(0, a[name] - b[name]);
  return { microUsd: rest('microUsd'), tokens: rest('tokens'), requests: rest('requests') };
}

function sumOf(parts: SpentPart[]): Sum {
  return parts
    .map((part) => ({ microUsd: part.microUsd ?? 0, tokens: tokensOf(part), requests: part.calls }))
    .reduce(plus, NOTHING);
}

function sumsBy(parts: SpentPart[], key: (part: SpentPart) => string): Map<string, Sum> {
  return new Map([...Map.groupBy(parts, key)].map(([name, group]) => [name, sumOf(group)]));
}

/** What the month comes to if its other days cost what the last whole days did at the mean, or today where it is the first. */
function forecast(all: (Spend & { day: Day })[], today: Day): Sum {
  const dayBefore = (count: number) => new Date(Date.parse(today) - count * DAY_MS).toISOString().slice(0, 10);
  const since = [all[0]?.day ?? today, dayBefore(FORECAST_DAYS)].sort().at(-1) as Day;
  const whole = (Date.parse(today) - Date.parse(since)) / DAY_MS;
  const sumFrom = (from: Day, to: Day) =>
    all
      .filter(({ day }) => day >= from && day < to)
      .map(totalOf)
      .reduce(plus, NOTHING);
  const sofar = sumFrom(`${today.slice(0, 7)}-01`, today);
  const now = sumFrom(today, dayBefore(-1));
  const end = new Date(Date.UTC(Number(today.slice(0, 4)), Number(today.slice(5, 7)), 0)).getUTCDate();
  const left = end - Number(today.slice(8));
  const of = (name: keyof Sum) => {
    const mean = whole > 0 ? sumFrom(since, today)[name] / whole : now[name];
    return Math.round(sofar[name] + Math.max(now[name], mean) + mean * left);
  };
  return { microUsd: of('microUsd'), tokens: of('tokens'), requests: of('requests') };
}

function projectsOf({ jobs }: Cost) {
  return [...Map.groupBy(jobs, ({ memory }) => memory)]
    .map(([memory, group]) => ({ memory, project: group[0]?.project ?? memory, sum: sumOf(group.flatMap(partsOf)) }))
    .sort(dearest);
}

function kindsOf({ jobs }: Cost) {
  return [...Map.groupBy(jobs, ({ kind }) => kind)]
    .map(([kind, group]) => ({ kind, jobs: group.length, sum: sumOf(group.flatMap(partsOf)) }))
    .sort(dearest);
}

function modelsOf({ jobs }: Cost) {
  return [...Map.groupBy(jobs.flatMap(partsOf), ({ model, isOnPlan }) => JSON.stringify([model, isOnPlan])).values()]
    .map((parts) => ({
      model: parts[0]?.model ?? null,
      isOnPlan: parts[0]?.isOnPlan === true,
      /** What was paid per million tokens; several where the price changed. */
      prices: [...new Map(parts.map(({ price }) => [JSON.stringify(price), price])).values()].filter(
        (each) => each !== null,
      ),
      isPriced: parts.every(({ microUsd }) => microUsd !== null),
      sum: sumOf(parts),
    }))
    .sort(dearest);
}

function partsOf({ parts }: JobSpent): SpentPart[] {
  return parts;
}

function dearest(a: { sum: Sum }, b: { sum: Sum }): number {
  return b.sum.microUsd - a.sum.microUsd || b.sum.tokens - a.sum.tokens;
}

/** The same as numbers: by day, project, kind of job, job and model. */
export function asJson(found: Cost) {
  const usd = ({ microUsd, ...sum }: Sum) => ({ usd: microUsd / 1e6, ...sum });
  const flat = <T extends { sum: Sum }>({ sum, ...rest }: T) => ({ ...rest, ...usd(sum) });
  return {
    month: found.month,
    today: found.today && usd(found.today),
    total: usd(found.total),
    plan: found.plan,
    forecast: found.forecast && usd(found.forecast),
    days: found.days.map(({ day, total, unfinished }) => ({ day, ...usd(total), unfinished: usd(unfinished) })),
    projects: projectsOf(found).map(flat),
    kinds: kindsOf(found).map(flat),
    jobs: found.jobs.map(({ id, kind, memory, session, endedAt, parts }) => ({
      ...{ job: id, kind, memory, session, endedAt },
      ...usd(sumOf(parts)),
    })),
    models: modelsOf(found).map(flat),
    unfinished: usd(found.unfinished),
    others: found.others && usd(found.others),
    unreadable: found.unreadable,
  };
}

function describe({ config }: App, found: Cost): string {
  const { month, today, total, plan, forecast, days, jobs, unfinished, others } = found;
  const name = formatIn(`${month}-15T12:00:00Z`, 'UTC', 'MMMM yyyy');
  if (total.tokens === 0 && jobs.length === 0) return `Nothing was spent in ${name}.`;
  const isPriced = total.microUsd > 0;
  const say = ({ microUsd, tokens }: Sum) => (isPriced ? sayUsd(microUsd) : sayTokens(tokens));
  const { dayMoneyUsd, dayTokens } = config;
  const most = isPriced ? dayMoneyUsd !== undefined && sayUsd(dayMoneyUsd * 1e6) : sayTokens(dayTokens);
  const limit = most ? ` of ${most} a day` : '';
  const rowOf = (name: string, sum: Sum | null): [string, Sum][] => (sum && sum.tokens > 0 ? [[name, sum]] : []);
  const rest = [...rowOf(OTHERS, others), ...rowOf(UNFINISHED, unfinished)];
  const top = [...jobs]
    .map((job) => ({ ...job, sum: sumOf(job.parts) }))
    .sort(dearest)
    .slice(0, DEAREST);
  return [
    [
      ...(today ? [`Today       ${say(today)}${limit}`] : []),
      `${name.split(' ')[0]?.padEnd(10)}  ${say(total)}${forecast ? `; about ${say(forecast)} by its end` : ''}`,
      ...(plan
        ? [
            `Your plan   ${sayCount(plan.requests, 'request')}, ${sayTokens(plan.tokens)}; today ${plan.today} of at most ${plan.ceiling}`,
          ]
        : []),
    ].join('\n'),
    table(
      'Day',
      days.flatMap(({ day, total, unfinished }): [string, Sum][] => [
        [formatIn(`${day}T12:00:00Z`, 'UTC', 'EEE d MMM'), total],
        ...rowOf(`  of it ${UNFINISHED}`, unfinished),
      ]),
    ),
    table('Project', [...projectsOf(found).map(({ project, sum }): [string, Sum] => [project, sum]), ...rest]),
    table('Job', [
      ...kindsOf(found).map(({ kind, jobs, sum }): [string, Sum] => [`${KINDS[kind] ?? kind} (${jobs})`, sum]),
      ...rest,
    ]),
    table(
      'The dearest jobs',
      top.map(({ name, kind, project, endedAt, sum }) => [
        `${name}, ${kind === 'dream' ? 'dream in' : 'session of'} ${project}, ${sayWhen(endedAt, config)}`,
        sum,
      ]),
    ),
    table('Model', [
      ...modelsOf(found).map(({ model, isPriced, isOnPlan, sum }): [string, Sum, string] => [
        model ?? `before ${NOTED_SINCE}`,
        sum,
        isPriced ? sayUsd(sum.microUsd) : isOnPlan ? 'your plan' : '–',
      ]),
      ...rest,
    ]),
    others && others.tokens > 0 ? 'nocturne cost --all tells of the jobs of all machines.' : '',
  ]
    .filter((text) => text !== '')
    .map((text) => plainly(text, config))
    .join('\n\n');
}

const NAME_WIDTH = 38;

/** A name that is longer than its column has a line of its own. */
function table(heading: string, rows: [name: string, sum: Sum, cost?: string][]): string {
  if (rows.length === 0) return '';
  const line = (name: string, cells: string[]) => {
    const numbers = [9, 14, 10].map((width, at) => (cells[at] ?? '').padStart(width)).join('');
    return name.length > NAME_WIDTH
      ? `${name}\n${' '.repeat(NAME_WIDTH)}${numbers}`
      : name.padEnd(NAME_WIDTH) + numbers;
  };
  return [
    style('bold', line(heading, ['cost', 'tokens', 'requests'])),
    ...rows.map(([name, { microUsd, tokens, requests }, cost = microUsd > 0 ? sayUsd(microUsd) : '–']) =>
      line(`  ${name}`, [cost, tokens.toLocaleString('en-US'), String(requests)]),
    ),
  ].join('\n');
}

export const commands: CommandSpec[] = [cost as CommandSpec];
