// cost: what a month cost, by day, project, job and model, and what it will come to. A day's total is what the ceilings count; what
// has no answer yet, of jobs under way or killed, is shown as unfinished requests.

import { sayCount } from '../base/text/wording.ts';
import { dayOf, formatIn, isDay } from '../base/time.ts';
import { memoryRow } from '../memory/memories.ts';
import { shortId } from '../memory/short-ids.ts';
import { type MonthCost, monthCost, type Sum } from '../queue/month-cost.ts';
import { print, style, wrap } from '../terminal/output.ts';
import { plainly, sayTokens, sayUnanswered, sayUnknown, sayUsd, sayWhen } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { placeOf, whoseMemory } from '../worker/whose-memory.ts';
import { type CommonOptions, parsed } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

const DEAREST = 5;
const NONE: Sum = { usd: 0, tokens: 0, requests: 0 };
const UNFINISHED = 'unfinished requests';
const KINDS: Record<string, string> = { extract: 'learning from sessions', dream: 'dreams', check: 'setup and doctor' };

const cost: CommandSpec<CommonOptions & { month?: string }> = {
  name: 'cost',
  about: 'what this month cost, and about what it will cost',
  options: [
    [
      '--month <YYYY-MM>',
      'an earlier month (default: this one)',
      { parse: parsed((text) => (isDay(`${text}-01`) ? text : undefined), 'Give a month as YYYY-MM.') },
    ],
  ],
  json: '{ month, restoredAt, today, total, plan, forecast, days: [{ day, usd, tokens, requests, unfinished }], projects: [{ memory, project, … }], kinds: [{ kind, jobs, … }], jobs: [{ job, kind, memory, session, endedAt, … }], models: [{ model, prices, isPriced, … }], unfinished }, each with { usd, tokens, requests }',
  more: `A day's total is what the limits count. Where it is more than all jobs together, the rest is shown as ${UNFINISHED}: of jobs that were stopped or still run, or whose answer never came. Models without a price are counted in tokens only.`,
  examples: ['cost', 'cost --month 2026-10'],
  async inApp(app, call) {
    const { db, clock, config } = app;
    const found = await monthCost({ ...config, sql: db, now: clock.now() }, call.options.month);
    const projects = await projectsOf(app, found);
    const placeNamed = (memory: string | null) => projects.get(memory ?? '')?.place ?? null;
    const named = <Row extends { memory: string | null }>(row: Row) => ({ ...row, memory: placeNamed(row.memory) });
    const inJson = () => ({
      ...found,
      projects: found.projects.map((each) => ({
        ...named(each),
        project: projects.get(each.memory ?? '')?.name ?? null,
      })),
      jobs: found.jobs.map(named),
    });
    print(call.options.json ? inJson() : wrap(await describe(app, found, projects), process.stdout.columns || 80));
  },
};

type Projects = Map<string, { place: string; name: string }>;

/** Memories by id: where each is, and whose it is. */
async function projectsOf(app: App, { projects, jobs }: MonthCost): Promise<Projects> {
  const found: Projects = new Map();
  for (const id of new Set([...projects, ...jobs].flatMap(({ memory }) => memory ?? []))) {
    const row = await memoryRow(app.db, id);
    found.set(id, row ? { place: placeOf(row), name: (await whoseMemory(app, row)).name } : { place: id, name: id });
  }
  return found;
}

async function describe({ db, config, clock }: App, found: MonthCost, projects: Projects): Promise<string> {
  const { month, today, total, plan, forecast, days, jobs, unfinished } = found;
  const name = formatIn(`${month}-15T12:00:00Z`, 'UTC', 'MMMM yyyy');
  const unknown = sayUnknown(found, config);
  if (total.tokens === 0 && jobs.length === 0) return `Nothing was spent in ${name}${unknown}.`;
  const isPriced = total.usd > 0;
  const say = ({ usd, tokens }: Sum) => (isPriced ? sayUsd(usd * 1e6) : sayTokens(tokens));
  const certain = (sum: Sum, open: Sum, of = '') =>
    `${say({ ...sum, usd: sum.usd - open.usd, tokens: sum.tokens - open.tokens })}${of}${sayUnanswered(open)}`;
  const ofToday = days.find(({ day }) => day === dayOf(clock.now(), config.zone))?.unfinished;
  const { dayMoneyUsd, dayTokens } = config;
  const most = isPriced ? dayMoneyUsd !== undefined && sayUsd(dayMoneyUsd * 1e6) : sayTokens(dayTokens);
  const projectOf = (memory: string | null) => projects.get(memory ?? '')?.name ?? 'no project';
  const rest: [string, Sum][] = unfinished.tokens > 0 ? [[UNFINISHED, unfinished]] : [];
  const top = [...jobs].sort((a, b) => b.usd - a.usd || b.tokens - a.tokens).slice(0, DEAREST);
  const ofPlan = plan
    ? `Your plan   ${sayCount(plan.requests, 'request')}, ${sayTokens(plan.tokens)}; today ${plan.today} of at most ${plan.ceiling}`
    : '';
  const dearest = top.map(async (job): Promise<[string, Sum]> => {
    const what = `${job.kind === 'dream' ? 'dream in' : 'session of'} ${projectOf(job.memory)}`;
    const when = job.endedAt ? sayWhen(job.endedAt, config) : 'under way';
    return [`${await shortId(db, 'job', job.job)}, ${what}, ${when}`, job];
  });
  return [
    [
      today ? `Today       ${certain(today, ofToday ?? NONE, most ? ` of ${most} a day` : '')}` : '',
      `${name.split(' ')[0]?.padEnd(10)}  ${certain(total, unfinished)}${forecast ? `; about ${say(forecast)} by its end` : ''}${unknown}`,
      ofPlan,
    ]
      .filter((line) => line !== '')
      .join('\n'),
    table(
      'Day',
      days.flatMap((each): [string, Sum][] => [
        [formatIn(`${each.day}T12:00:00Z`, 'UTC', 'EEE d MMM'), each],
        ...(each.unfinished.tokens > 0 ? ([[`  of it ${UNFINISHED}`, each.unfinished]] as [string, Sum][]) : []),
      ]),
    ),
    table('Project', [...found.projects.map((each): [string, Sum] => [projectOf(each.memory), each]), ...rest]),
    table('Job', [
      ...found.kinds.map((each): [string, Sum] => [`${KINDS[each.kind] ?? each.kind} (${each.jobs})`, each]),
      ...rest,
    ]),
    table('The most expensive jobs', await Promise.all(dearest)),
    table('Model', [
      ...found.models.map((each): [string, Sum, string?] => [
        each.model,
        each,
        each.isOnPlan ? 'your plan' : undefined,
      ]),
      ...rest,
    ]),
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
    ...rows.map(([name, { usd, tokens, requests }, cost = usd > 0 ? sayUsd(usd * 1e6) : '–']) =>
      line(`  ${name}`, [cost, tokens.toLocaleString('en-US'), String(requests)]),
    ),
  ].join('\n');
}

export const commands: CommandSpec[] = [cost as CommandSpec];
