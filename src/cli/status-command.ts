// What `nocturne` alone shows: what was learned since one last looked, what waits for one, what it costs, when the next night is,
// and the one next step. For a person: times as one speaks of them, projects by where they are, and each thing that waits with the
// command that deals with it. By exit code whether a person is needed; with --json also what is kept, waits, failed, who works.
// Where nothing is set up, what nocturne is and how to begin. cost: what a month cost, by day, project, job and model, and what it
// will come to; a day's total is what the ceilings count.

import type { Config } from '../base/config/config.ts';
import { onAppError } from '../base/errors.ts';
import { statNow } from '../base/files/files.ts';
import { sayCount } from '../base/text/wording.ts';
import { formatIn, isDay } from '../base/time.ts';
import { databasePath } from '../db/open-database.ts';
import { isUsed, memoryRow } from '../memory/memories.ts';
import { pauseEnd } from '../memory/paths.ts';
import { type MonthCost, monthCost, type Sum } from '../queue/month-cost.ts';
import type { Checked } from '../setup/doctor.ts';
import { EXIT, print, printTable, style, wrap } from '../terminal/output.ts';
import { plainly, sayTokens, sayUnknown, sayUsd, sayWhen } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { type Learned, type Need, noteLook, readStatus, type Status } from '../worker/overview.ts';
import { placeOf, whoseMemory } from '../worker/whose-memory.ts';
import { type CommonOptions, configFor, MEMORY, parsed, withApp } from './cli-options.ts';
import type { CommandSpec } from './spec.ts';

const alone: CommandSpec<CommonOptions> = {
  name: '',
  about:
    'The memory of your coding agents: finished sessions in, Markdown out. Alone it says what was learned, what waits for you and what it costs',
  options: MEMORY,
  json: '{ memory, state, needs: [{ text, command, isNotice? }], lookedAt, learned, all, modelPause, spendToday, spendMonth, restoredAt, nextDreamAt, workers, database }',
  more: 'Exit code 3 where something needs a person: a key, a budget, a model that fails again and again, work that was given up, missing files, proposed changes that wait.',
  examples: ['nocturne', 'nocturne --json'],
  async run(call) {
    const { json } = call.options;
    const config = await configFor(call.options);
    const failed = await checkSetup(config);
    // Asking makes no home; where one was in use, it was lost.
    const isThere = config.databaseUrl !== undefined || statNow(databasePath(config.home)) !== null;
    if (!json && !isThere && !isUsed(config.home) && failed.some(isNoAgent)) return show(WELCOME);
    await withApp({ ...call, config }, async (app) => {
      const status = withKey(await readStatus(app), failed);
      if (json) print(toldOf(status));
      else await showHome(app, status, failed);
      if (status.needs.some(({ isNotice }) => !isNotice)) process.exitCode = EXIT.attention;
    });
  },
};

function toldOf(status: Status) {
  const learned = status.learned.map(({ memory, whose, count: entries }) => ({ memory, project: whose.name, entries }));
  return { ...status, learned };
}

/** Lines of what was learned of one project. */
const SHOWN_OF_PROJECT = 3;

const WELCOME = `nocturne is a memory for your coding agents: it reads their sessions when they are over, keeps what matters as Markdown files, and gives it to the next session.

It is not set up yet. To begin:

  nocturne setup`;

/** Shows it, and notes that it was looked at. */
async function showHome(app: App, status: Status, failed: Checked[]): Promise<void> {
  const needs = [...failed.filter((check) => !isKey(check)).map(setupNeed), ...status.needs];
  show([sayNews(app, status), ...sayNeeds(app, needs), sayNumbers(app, status, needs)].join('\n\n'));
  await noteLook(app).catch(onAppError(() => {}));
}

/** Of what set-up lacks only the key needs a person; of it is told once, with what waits for it. */
function withKey(status: Status, failed: Checked[]): Status {
  const key = failed.filter(isKey);
  if (key.length === 0) return status;
  return { ...status, needs: [...key.map(setupNeed), ...status.needs.filter(({ code }) => code !== 'no-model')] };
}

function show(text: string): void {
  print(wrap(text, process.stdout.columns || 80));
}

/** What keeps sessions from being learned from, as doctor finds it. */
async function checkSetup(config: Config): Promise<Checked[]> {
  const { checkHooks, checkKey, checkSettings } = await import('../setup/doctor.ts');
  const { problem, path } = config.agentMemory.settings;
  // Of settings that cannot be read it is told once, with what waits for them.
  const isTold = (check: Checked) => problem !== undefined && check.found.includes(path);
  const found = [...checkSettings(config), ...checkHooks(config), ...(await checkKey(config))];
  return found.filter((check) => check.state === 'fail' && !isTold(check));
}

/** No agent at all tells of its sessions. */
function isNoAgent({ what }: Checked): boolean {
  return what === 'hook';
}

function isKey({ what }: Checked): boolean {
  return what === 'key';
}

function setupNeed(check: Checked): Need {
  const { what, found, remedy = '' } = check;
  if (isNoAgent(check)) return { text: 'No agent tells nocturne of its sessions', command: 'nocturne setup' };
  const text = `The ${what}: ${found.replace(/\.$/, '')}`;
  const [, command] = /^Run (nocturne [\w -]+)[.:]/.exec(remedy) ?? [];
  return command ? { text, command } : { text: `${text}. ${remedy}`, command: 'nocturne doctor' };
}

function sayNews({ config }: App, status: Status): string {
  const { learned, lookedAt } = status;
  const count = learned.reduce((sum, group) => sum + group.count, 0);
  const since = lookedAt === null ? 'so far' : `since you last looked, ${sayWhen(lookedAt, config)}`;
  if (count === 0)
    return lookedAt === null || status.all.lastSuccessAt === null
      ? 'Nothing learned from a session yet.'
      : `Nothing new ${since}.`;
  const groups = learned.map((group) => sayLearned(group, config));
  return [style('bold', `${sayCount(count, 'thing')} learned ${since}`), ...groups].join('\n\n');
}

function sayLearned({ whose, count, entries }: Learned, config: Config): string {
  const when = entries[0] ? `, ${sayWhen(entries[0].learnedAt, config)}` : '';
  const shown = entries.slice(0, SHOWN_OF_PROJECT);
  const more = count - shown.length;
  return [
    `  ${whose.name}${when}`,
    ...shown.map(({ text }) => `  - ${text}`),
    ...(more > 0 ? [`  ${more} more:`, `    ${whose.command('nocturne list')}`] : []),
  ].join('\n');
}

function sayNeeds({ config }: App, needs: Need[]): string[] {
  if (needs.length === 0) return [];
  const said = needs.map(({ text, command }) => {
    const sentence = `  - ${plainly(text, config).replace(/\.$/, '')}.`;
    return command ? `${sentence}\n    ${command}` : sentence;
  });
  return [[style('bold', 'Waits for you'), '', ...said].join('\n')];
}

function sayNumbers({ config }: App, status: Status, needs: Need[]): string {
  const { state, all, database, nextDreamAt, workers } = status;
  const row = (name: string, said: string) => `${name.padEnd(10)}  ${said}`;
  const isOff = !state.enabled && !state.isUnknown;
  const isDue = Date.parse(nextDreamAt) <= config.clock.now().getTime();
  const seen = workers.length === 0 ? 'no worker was seen' : `${sayCount(workers.length, 'worker')} seen`;
  return [
    ...(isOff ? [row('Off', `nothing happens by itself here: ${plainly(state.reason, config)}`)] : []),
    row('Cost', `${sayCost(status)}${sayUnknown(status, config)}`),
    ...(all.pending > 0 ? [row('Waiting', sayPending(status, config, needs))] : []),
    ...(database ? [row('Database', `${database.server}: ${sayCount(database.stores, 'memory')}; ${seen}`)] : []),
    row('Next night', isDue ? 'as soon as a worker runs' : sayWhen(nextDreamAt, config)),
    row('Next step', nextStep(status, needs)),
  ].join('\n');
}

function sayCost({ spendToday: today, spendMonth: month }: Status): string {
  const { planRequests, ceilingPlanRequests, ceilingUsd } = today;
  const plan = planRequests ? `; ${planRequests} of ${ceilingPlanRequests} requests on your plan today` : '';
  if (month.tokens === 0) return `nothing this month${plan}`;
  const full = today.fullFrom ? "; today's limit is reached, the rest waits until tomorrow" : '';
  if (month.usd === 0) {
    const ofDay = sayTokens(today.usedTokens + today.reservedTokens);
    return `${ofDay} today, ${sayTokens(month.tokens)} this month${plan}${full}`;
  }
  const limit = ceilingUsd === null ? '' : ` (limit ${sayUsd(ceilingUsd * 1e6)})`;
  const ofDay = sayUsd((today.usedUsd + today.reservedUsd) * 1e6);
  return `${ofDay} today${limit}, ${sayUsd(month.usd * 1e6)} this month${plan}${full}`;
}

function sayPending({ all }: Status, config: Config, needs: Need[]): string {
  const { pending, running, nextAt } = all;
  const when = nextAt && nextAt > config.clock.now().toISOString() ? sayWhen(nextAt, config) : 'now';
  const said = [
    ...(running > 0 ? [`a worker is at ${sayCount(running, 'job')}`] : []),
    ...(nextAt ? [`${sayCount(pending - running, 'job')} for the next worker, ${when}`] : []),
  ].join('; ');
  return `${said}${needs.length === 0 ? '; nothing for you to do' : ''}`;
}

function nextStep(status: Status, [first]: Need[]): string {
  const { state } = status;
  if (first?.command) return first.command;
  if (!state.enabled && state.pausedUntil !== undefined) return pauseEnd(state.pausedProject);
  return status.all.lastSuccessAt !== null
    ? 'nothing to do; nocturne list shows what is remembered'
    : 'work with your agent; when the session ends, nocturne learns from it';
}

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
  json: '{ month, restoredAt, today, total, plan, forecast, days: [{ day, usd, tokens, requests, unfinished }], projects: [{ memory, project, … }], kinds: [{ kind, jobs, … }], models: [{ model, isOnPlan, … }], unfinished }, each with { usd, tokens, requests }',
  more: `A day's total is what the limits count. Where it is more than all jobs together, the rest is shown as ${UNFINISHED}: of jobs that were stopped or still run, or whose answer never came. Models without a price are counted in tokens only.`,
  examples: ['cost', 'cost --month 2026-10'],
  async inApp(app, call) {
    const { db, clock, config } = app;
    const found = await monthCost({ ...config, sql: db, now: clock.now() }, call.options.month);
    const projects = await projectsOf(app, found);
    if (!call.options.json) {
      tellCost(app, found, projects);
      return;
    }
    const ofProjects = found.projects.map((each) => {
      const { place = null, name = null } = projects.get(each.memory ?? '') ?? {};
      return { ...each, memory: place, project: name };
    });
    print({ ...found, projects: ofProjects });
  },
};

type Projects = Map<string, { place: string; name: string }>;

/** Memories by id: where each is, and whose it is. */
async function projectsOf(app: App, { projects }: MonthCost): Promise<Projects> {
  const found: Projects = new Map();
  for (const id of projects.flatMap(({ memory }) => memory ?? [])) {
    const row = await memoryRow(app.db, id);
    found.set(id, row ? { place: placeOf(row), name: (await whoseMemory(app, row)).name } : { place: id, name: id });
  }
  return found;
}

function tellCost({ config }: App, found: MonthCost, projects: Projects): void {
  const { month, today, total, plan, forecast, days, kinds, unfinished } = found;
  const name = formatIn(`${month}-15T12:00:00Z`, 'UTC', 'MMMM yyyy');
  const unknown = sayUnknown(found, config);
  if (total.tokens === 0 && kinds.length === 0) {
    print(`Nothing was spent in ${name}${unknown}.`);
    return;
  }
  const isPriced = total.usd > 0;
  const say = ({ usd, tokens }: Sum) => (isPriced ? sayUsd(usd * 1e6) : sayTokens(tokens));
  const { dayMoneyUsd, dayTokens } = config;
  const most = isPriced ? dayMoneyUsd !== undefined && sayUsd(dayMoneyUsd * 1e6) : sayTokens(dayTokens);
  const tell = (head: string, said: string) => print(`${head.padEnd(12)}${said}`);
  if (today) tell('Today', `${say(today)}${most ? ` of ${most} a day` : ''}`);
  tell(name.split(' ')[0] ?? '', `${say(total)}${forecast ? `; about ${say(forecast)} by its end` : ''}${unknown}`);
  if (plan) {
    const used = `${sayCount(plan.requests, 'request')}, ${sayTokens(plan.tokens)}`;
    tell('Your plan', `${used}; today ${plan.today} of at most ${plan.ceiling}`);
  }
  const rest: Row[] = unfinished.tokens > 0 ? [[UNFINISHED, unfinished]] : [];
  table(
    'Day',
    days.map((each): Row => [formatIn(`${each.day}T12:00:00Z`, 'UTC', 'EEE d MMM'), each]),
  );
  const ofProjects = found.projects.map((each): Row => [projects.get(each.memory ?? '')?.name ?? 'no project', each]);
  table('Project', [...ofProjects, ...rest]);
  table('Job', [...kinds.map((each): Row => [`${KINDS[each.kind] ?? each.kind} (${each.jobs})`, each]), ...rest]);
  const ofModels = found.models.map((each): Row => [each.model, each, each.isOnPlan ? 'your plan' : undefined]);
  table('Model', [...ofModels, ...rest]);
}

type Row = [name: string, sum: Sum, cost?: string];

function table(heading: string, rows: Row[]): void {
  if (rows.length === 0) return;
  print('');
  printTable(
    [heading, 'cost', 'tokens', 'requests'],
    rows.map(([name, { usd, tokens, requests }, cost = usd > 0 ? sayUsd(usd * 1e6) : '–']) => {
      return [name, cost, tokens.toLocaleString('en-US'), String(requests)];
    }),
  );
}

export const commands = [alone, cost] as CommandSpec[];
