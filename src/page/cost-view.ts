// Cost and health: what needs the person; what was spent by day, memory, job and model, against the limits; beside it work and
// settings (health-section.ts). Bars are drawn here as SVG: a picture needs no program in the browser.

import { html } from 'hono/html';
import { formatIn, isDay } from '../base/time.ts';
import { type MonthCost, monthCost, type Sum } from '../queue/month-cost.ts';
import { sayTokens, sayUnknown, sayUsd } from '../terminal/phrases.ts';
import { readOverview } from '../worker/overview.ts';
import { emptySection, needsSection, settingsSection, workSections } from './health-section.ts';
import { type At, type Html, placeCalled, type View } from './page-shell.ts';

export async function costView(at: At): Promise<View> {
  const { app, config, places } = at;
  const asked = at.url.searchParams.get('month') ?? '';
  const of = { ...config, sql: app.db, now: config.clock.now() };
  const cost = await monthCost(of, isDay(`${asked}-01`) ? asked : undefined);
  const overview = await readOverview(app, places);
  const name = (month: string) => formatIn(`${month}-15T12:00:00Z`, 'UTC', 'MMMM yyyy');
  const before = new Date(Date.parse(`${cost.month}-01`) - 86_400_000).toISOString().slice(0, 7);
  const money = ({ usd, tokens }: Sum) => (cost.total.usd > 0 ? sayUsd(usd * 1e6) : sayTokens(tokens));
  const ceiling = config.dayMoneyUsd === undefined ? sayTokens(config.dayTokens) : sayUsd(config.dayMoneyUsd * 1e6);
  const titleOf = (memory: string | null) => placeCalled(places, memory)?.title ?? 'no project';
  return {
    title: 'Cost and health',
    part: 'cost',
    body: html`<h1>Cost and health</h1>
${needsSection(at, overview.needs)}
<div class="sheets">${await workSections(at, overview)}${await settingsSection(at)}${await emptySection(at)}</div>
<h2>${name(cost.month)} <small><a href="/cost?month=${before}">${name(before)}</a></small></h2>
<div class="figures">
<div><p class="figure">${money(cost.total)}</p><p class="meta">this month, ${cost.total.requests} requests${sayUnknown(cost, config)}</p></div>
${cost.today ? html`<div><p class="figure">${money(cost.today)}</p><p class="meta">today, of at most ${ceiling}</p></div>` : ''}
${cost.plan ? html`<div><p class="figure">${cost.plan.today} of ${cost.plan.ceiling}</p><p class="meta">requests on your plan today</p></div>` : ''}
${cost.forecast ? html`<div><p class="figure">${money(cost.forecast)}</p><p class="meta">about, by the end of the month</p></div>` : ''}
</div>
${cost.total.tokens > 0 ? monthBars(cost) : ''}
${cost.kinds.length === 0 ? html`<p class="dim">No job asked a model this month.</p>` : ''}
<div class="sheets">
${costTable(
  'By project',
  cost.projects.map((each) => [titleOf(each.memory), each]),
)}
${costTable(
  'By job',
  cost.kinds.map((each) => [`${each.kind} (${each.jobs})`, each]),
)}
${costTable(
  'By model',
  cost.models.map((each) => [each.model, each]),
)}
</div>
${cost.unfinished.tokens > 0 ? html`<p class="dim">${sayTokens(cost.unfinished.tokens)} are of requests that never ended.</p>` : ''}`,
  };
}

function costTable(heading: string, rows: [name: string, sum: Sum & { isOnPlan?: boolean }][]): Html | '' {
  if (rows.length === 0) return '';
  return html`<section><h2>${heading}</h2><table><thead><tr><th scope="col">${heading.slice(3)}</th><th scope="col">cost</th><th scope="col">tokens</th></tr></thead><tbody>${rows
    .slice(0, 30)
    .map(
      ([name, { usd, tokens, isOnPlan }]) =>
        html`<tr><th scope="row"><span class="said">${name}</span></th><td>${usd > 0 ? sayUsd(usd * 1e6) : isOnPlan ? 'your plan' : '–'}</td><td>${tokens.toLocaleString('en-US')}</td></tr>`,
    )}</tbody></table></section>`;
}

const HEIGHT = 72;
const WIDTH = 640;

/** A bar for each day of the month, each with what it is in words, for who cannot see it. */
function monthBars({ month, days, total }: MonthCost): Html {
  const [year = 0, of = 0] = month.split('-').map(Number);
  const bars = Array.from({ length: new Date(Date.UTC(year, of, 0)).getUTCDate() }, (_, at) => {
    const day = `${month}-${String(at + 1).padStart(2, '0')}`;
    const spent = days.find((each) => each.day === day);
    const value = (total.usd > 0 ? spent?.usd : spent?.tokens) ?? 0;
    const said = `${formatIn(`${day}T12:00:00Z`, 'UTC', 'd MMM')}: ${spent ? `${sayUsd(spent.usd * 1e6)}, ${sayTokens(spent.tokens)}` : 'nothing'}`;
    return { value, said };
  });
  const [most] = bars.toSorted((a, b) => b.value - a.value);
  const title = most && most.value > 0 ? `Spent day by day; the most on ${most.said}` : 'Nothing was spent this month';
  const step = WIDTH / bars.length;
  return html`<svg class="bars" viewBox="0 0 ${WIDTH} ${HEIGHT + 14}" role="img" aria-label="${title}">${bars.map(
    ({ value, said }, at) => {
      const height = value === 0 ? 1 : Math.max(3, (value / (most?.value || 1)) * HEIGHT);
      const text =
        at % 5 === 0 ? html`<text x="${(at * step + step / 2).toFixed(1)}" y="${HEIGHT + 11}">${at + 1}</text>` : '';
      return html`<g><title>${said}</title><rect class="${value === 0 ? 'nothing' : ''}" x="${(at * step).toFixed(1)}" y="${(HEIGHT - height).toFixed(1)}" width="${(step * 0.72).toFixed(1)}" height="${height.toFixed(1)}" rx="2"/>${text}</g>`;
    },
  )}</svg>`;
}
