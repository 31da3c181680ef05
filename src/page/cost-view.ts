// Cost and health: what needs the person; who works, what waits and what failed; the settings that are set here; what was spent by
// day, memory, job and model, against the limits; and the memories that hold nothing. A key is neither shown nor taken.

import { html } from 'hono/html';
import { sayCount } from '../base/text/wording.ts';
import { formatIn, isDay } from '../base/time.ts';
import { emptyMemories } from '../memory/memories.ts';
import { monthCost, type Sum } from '../queue/month-cost.ts';
import { pausesOf } from '../queue/pauses.ts';
import { allWorkers } from '../queue/workers.ts';
import { readSettingsOf } from '../setup/settings-file.ts';
import { fromHome, plainly, sayTime, sayTokens, sayUnknown, sayUsd } from '../terminal/phrases.ts';
import { nextNight } from '../worker/nightly.ts';
import { type Need, type Overview, readOverview } from '../worker/overview.ts';
import { whoseMemory } from '../worker/whose-memory.ts';
import { type At, form, type Html, placeCalled, type View, when } from './page-shell.ts';

const MOST_ROWS = 31;
const PAUSES: [hours: string, said: string][] = [
  ['2', 'for two hours'],
  ['24', 'for a day'],
  ['', 'until you end it'],
];

export async function costView(at: At): Promise<View> {
  const { app, places } = at;
  const overview = await readOverview(app, places);
  return {
    title: 'Cost and health',
    part: 'cost',
    body: html`<h1>Cost and health</h1>
${needsSection(at, overview.needs)}
<div class="columns">${await workSection(at, overview)}${await settingsSection(at)}${await emptySection(at)}</div>
${await costSections(at)}`,
  };
}

async function costSections({ app, config, places, url }: At): Promise<Html> {
  const asked = url.searchParams.get('month') ?? '';
  const of = { ...config, sql: app.db, now: config.clock.now() };
  const cost = await monthCost(of, isDay(`${asked}-01`) ? asked : undefined);
  const name = (month: string) => formatIn(`${month}-15T12:00:00Z`, 'UTC', 'MMMM yyyy');
  const before = new Date(Date.parse(`${cost.month}-01`) - 86_400_000).toISOString().slice(0, 7);
  const money = ({ usd, tokens }: Sum) => (cost.total.usd > 0 ? sayUsd(usd * 1e6) : sayTokens(tokens));
  const ceiling = config.dayMoneyUsd === undefined ? sayTokens(config.dayTokens) : sayUsd(config.dayMoneyUsd * 1e6);
  const figure = (value: string, text: string) =>
    html`<div><p class="statement">${value}</p><p class="meta">${text}</p></div>`;
  const titleOf = (memory: string | null) => placeCalled(places, memory)?.title ?? 'no project';
  const dayName = (day: string) => formatIn(`${day}T12:00:00Z`, 'UTC', 'EEE d MMM');
  return html`<h2>${name(cost.month)} <small><a href="/cost?month=${before}">${name(before)}</a></small></h2>
<div class="columns figures">
${figure(money(cost.total), `this month, ${cost.total.requests} requests${sayUnknown(cost, config)}`)}
${cost.today ? figure(money(cost.today), `today, of at most ${ceiling}`) : ''}
${cost.plan ? figure(`${cost.plan.today} of ${cost.plan.ceiling}`, 'requests on your plan today') : ''}
${cost.forecast ? figure(money(cost.forecast), 'about, by the end of the month') : ''}
</div>
${cost.kinds.length === 0 ? html`<p class="dim">No job asked a model this month.</p>` : ''}
<div class="columns">
${costTable('Project', cost.projects, ({ memory }) => titleOf(memory))}
${costTable('Job', cost.kinds, ({ kind, jobs }) => `${kind} (${jobs})`)}
${costTable('Model', cost.models, ({ model }) => model)}
${costTable('Day', cost.days.toReversed(), ({ day }) => dayName(day))}
</div>
${cost.unfinished.tokens > 0 ? html`<p class="dim">${sayTokens(cost.unfinished.tokens)} are of requests that never ended.</p>` : ''}`;
}

function costTable<Row extends Sum & { isOnPlan?: boolean }>(
  heading: string,
  rows: Row[],
  nameOf: (row: Row) => string,
): Html | '' {
  if (rows.length === 0) return '';
  const costOf = ({ usd, isOnPlan }: Row) => (usd > 0 ? sayUsd(usd * 1e6) : isOnPlan ? 'your plan' : '–');
  return html`<table><thead><tr><th scope="col">${heading}</th><th scope="col">cost</th><th scope="col">tokens</th></tr></thead><tbody>${rows
    .slice(0, MOST_ROWS)
    .map(
      (row) =>
        html`<tr><th scope="row"><span class="said">${nameOf(row)}</span></th><td>${costOf(row)}</td><td>${row.tokens.toLocaleString('en-US')}</td></tr>`,
    )}</tbody></table>`;
}

function needsSection(at: At, needs: Need[]): Html {
  if (needs.length === 0) return html`<p class="dim">Nothing needs you.</p>`;
  return html`<section class="card needs" aria-labelledby="needs"><h2 id="needs">Needs you</h2><ul class="plain">${needs.map((need) => html`<li>${needItem(need, at)}</li>`)}</ul></section>`;
}

/** What waits, with the button that deals with it, or where it is dealt with, or what to type. */
function needItem({ text, command }: Need, at: At): Html {
  const said = html`<p class="said">${plainly(text, at.config).replace(/\.$/, '')}.</p>`;
  if (/nocturne review\b/.test(command)) return html`${said}<a class="button primary" href="/changes">Look at it</a>`;
  if (command === 'nocturne retry --failed')
    return html`${said}${form(at, { action: '/do/retry', fields: {} }, html`<button class="primary">Try again</button>`)}`;
  const entry = /nocturne why (e_\w+)/.exec(command)?.[1];
  if (entry) return html`${said}<a class="button" href="/search?q=${entry}">Show it</a>`;
  return html`${said}<p class="meta">In a terminal: <code>${command}</code></p>`;
}

async function workSection(at: At, { waiting, failed }: Overview): Promise<Html> {
  const { app, config } = at;
  const workers = await allWorkers(app.db);
  const night = await nextNight(app);
  const waits = [
    ...(waiting.length > 0 ? [`${sayCount(waiting.length, 'job')} for the next worker`] : []),
    ...(failed.length > 0 ? [`${failed.length} failed`] : []),
  ];
  return html`<section class="card" aria-labelledby="workers"><h2 id="workers">Workers</h2>
${workers.length === 0 ? html`<p class="dim">None runs now. The next session's end, or <code>nocturne worker</code>, starts one.</p>` : html`<ul class="plain">${workers.map(({ machine, started_at }) => html`<li>${machine === app.machine ? 'On this machine' : 'On another machine'}, since ${when(started_at, at)}</li>`)}</ul>`}
<p class="dim">${night <= config.clock.now() ? 'The next night begins as soon as a worker runs.' : html`The next night is ${when(night.toISOString(), at)}.`}</p>
<p class="dim">${waits.join(', ') || 'Nothing waits for a worker, and nothing failed'}.</p></section>`;
}

async function settingsSection(at: At): Promise<Html> {
  const { app, config, places } = at;
  const [review, model] = await readSettingsOf(config.home, ['review', 'model']);
  const pauses = await pausesOf(app.db, config.clock.now());
  const roots = new Map(places.flatMap(({ root, title }) => (root === null ? [] : [[root, title]])));
  const nameOf = (project: string | null) =>
    project === null ? 'Everything' : (roots.get(project) ?? fromHome(project, config));
  const waits = review?.value === true;
  const option = (value: string, said: string) => html`<option value="${value}">${said}</option>`;
  return html`<section class="card" aria-labelledby="settings"><h2 id="settings">Settings</h2>
${pauses.map(({ project, until }) =>
  form(
    at,
    { action: '/do/resume', fields: { project: project ?? '' }, className: 'bar' },
    html`<p class="problem"><span class="said">${nameOf(project)}</span> is paused until ${until ? sayTime(until, config) : 'you end it'}.</p><button class="primary">Go on</button>`,
  ),
)}
${form(
  at,
  { action: '/do/pause', fields: {}, className: 'asked' },
  html`<label>Pause<select name="project">${option('', 'Everything')}${[...roots].map(([root, title]) => option(root, title))}</select></label><label>How long<select name="hours">${PAUSES.map(([hours, said]) => option(hours, said))}</select></label><button>Pause</button>`,
)}
${form(
  at,
  { action: '/do/set', fields: { name: 'review', value: String(!waits) }, className: 'bar' },
  html`<p>${waits ? 'What a night would change waits for your answer.' : 'Nights change topics by themselves.'}</p><button>${waits ? 'Let nights do it' : 'Ask me first'}</button>`,
)}
${form(
  at,
  { action: '/do/set', fields: { name: 'model' }, className: 'asked' },
  html`<label>Model<input name="value" value="${String(model?.value ?? '')}" autocomplete="off" spellcheck="false" required></label><button>Save</button>`,
)}
<p class="meta">A model's id, an agent that you are logged in to (<code>claude-code</code>, <code>codex</code>), or <code>offline</code>.${config.environment.NOCTURNE_MODEL ? html` <code>NOCTURNE_MODEL</code> is set where this page is served, and wins there.` : ''} Other settings: <code>nocturne config</code>.</p></section>`;
}

/** Memories that hold nothing are shown nowhere else; they can be removed, which `undo` takes back. */
async function emptySection(at: At): Promise<Html | ''> {
  const empty = await emptyMemories(at.app.db);
  if (empty.length === 0) return '';
  const rows = await Promise.all(
    empty.map(async ({ id, sessions }) => {
      const { name } = await whoseMemory(at.app, await at.app.memories.of(id));
      return html`<li><span class="said">${name}</span>: <span class="meta">0 lines, 0 entries, 0 waiting sessions; ${sayCount(sessions, 'session')} read</span></li>`;
    }),
  );
  const isOne = empty.length === 1;
  const fields = { ids: empty.map(({ id }) => id).join(' ') };
  return html`<section class="card"><details id="empty"><summary>${sayCount(empty.length, 'empty memory')} ${isOne ? 'is' : 'are'} not shown</summary><ul>${rows}</ul>
${form(at, { action: '/do/remove-empty', fields }, html`<button class="danger">Remove ${isOne ? 'it' : `all ${empty.length}`}</button>`)}</details></section>`;
}
