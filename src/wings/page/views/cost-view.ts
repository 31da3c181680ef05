// Cost and work: what was spent by day, project, job and model, against the ceilings; what waits, who works, what failed. Bars
// are drawn here as SVG: a picture needs no program in the browser.

import { html } from 'hono/html';
import { formatIn, isDay } from '../../../base/time.ts';
import { asJson, OTHERS, readCost } from '../../../doors/cli/commands/cost-command.ts';
import { sayDatabase } from '../../../doors/cli/commands/status.ts';
import { readOverview, sayBreaker } from '../../../doors/cli/terminal/overview.ts';
import { plainly, sayTokens, sayUsd } from '../../../doors/cli/terminal/phrases.ts';
import { type KnownWork, knownWork } from '../../../doors/worker/known-work.ts';
import { type At, form, type Html, type View, when } from '../shell.ts';

type Cost = ReturnType<typeof asJson>;
interface Line {
  usd: number;
  tokens: number;
  requests: number;
  isOnPlan?: boolean;
}

const MOST_WAITING = 50;

export async function costView(at: At): Promise<View> {
  const { app, config, places } = at;
  const asked = at.url.searchParams.get('month') ?? '';
  const cost = asJson(await readCost(app, isDay(`${asked}-01`) ? asked : undefined));
  const overview = await readOverview(app);
  const [workers, breaker, database] = await Promise.all([
    app.home.workers.all(),
    app.home.breaker.read(),
    app.keeping?.overview?.(),
  ]);
  const others: [string, Line][] = cost.others && cost.others.tokens > 0 ? [[OTHERS, cost.others]] : [];
  const work: (KnownWork & { name: string })[] = [];
  for (const { name, store } of places.all) {
    for (const each of await knownWork(store.work)) work.push({ ...each, name });
  }
  const name = (month: string) => formatIn(`${month}-15T12:00:00Z`, 'UTC', 'MMMM yyyy');
  const before = new Date(Date.parse(`${cost.month}-01`) - 86_400_000).toISOString().slice(0, 7);
  const money = (usd: number, tokens: number) => (cost.total.usd > 0 ? sayUsd(usd * 1e6) : sayTokens(tokens));
  const ceiling = config.dayMoneyUsd === undefined ? sayTokens(config.dayTokens) : sayUsd(config.dayMoneyUsd * 1e6);
  return {
    title: 'Cost and work',
    part: 'cost',
    body: html`<h1>Cost and work <small>${name(cost.month)} · <a href="/cost?month=${before}">${name(before)}</a></small></h1>
<div class="figures">
<div><p class="figure">${money(cost.total.usd, cost.total.tokens)}</p><p class="meta">this month, ${cost.total.requests} requests</p></div>
${cost.today ? html`<div><p class="figure">${money(cost.today.usd, cost.today.tokens)}</p><p class="meta">today, of at most ${ceiling}</p></div>` : ''}
${cost.plan ? html`<div><p class="figure">${cost.plan.today} of ${cost.plan.ceiling}</p><p class="meta">requests on your plan today</p></div>` : ''}
${cost.forecast ? html`<div><p class="figure">${money(cost.forecast.usd, cost.forecast.tokens)}</p><p class="meta">about, by the end of the month</p></div>` : ''}
</div>
${monthBars(cost, at)}
<div class="columns">
<div>
${costTable('By project', [...cost.projects.map((each): [string, Line] => [each.project, each]), ...others])}
${costTable('By job', [...cost.kinds.map((each): [string, Line] => [`${each.kind} (${each.jobs})`, each]), ...others])}
${costTable('By model', [...cost.models.map((each): [string, Line] => [each.model ?? 'not noted', each]), ...others])}
${cost.kinds.length + others.length === 0 ? html`<p class="dim">No job has ended this month that asked a model.</p>` : ''}
${cost.unfinished.tokens > 0 ? html`<p class="dim">${sayTokens(cost.unfinished.tokens)} are of requests that never ended.</p>` : ''}
${others.length > 0 ? html`<p class="dim"><code>nocturne cost --all</code> tells of the jobs of all machines.</p>` : ''}
</div>
<div>
${database ? html`<section class="card" aria-labelledby="database"><h2 id="database">Database</h2><p class="said">${sayDatabase(database, workers, config)}</p></section>` : ''}
<section class="card" aria-labelledby="workers"><h2 id="workers">Workers</h2>
${workers.length === 0 ? html`<p class="dim">None runs now. The next session's end, or <code>nocturne worker</code>, starts one.</p>` : html`<ul class="plain">${workers.map(({ backend, startedAt }) => html`<li><span class="dot good"></span>${backend} queue, since ${when(startedAt, at)}</li>`)}</ul>`}
${breaker.state === 'closed' ? '' : html`<p class="problem">${plainly(sayBreaker(breaker), config)}</p>`}
</section>
<section class="card" aria-labelledby="waits"><h2 id="waits">Waits <small>${overview.pending}</small></h2>
${
  overview.pending === 0
    ? html`<p class="dim">Nothing waits for a worker.</p>`
    : html`<ul class="plain list">${work
        .filter(({ item }) => item)
        .slice(0, MOST_WAITING)
        .map(
          ({ kind, key, item, name: of }) =>
            html`<li><span class="tag">${kind}</span> <span class="said">${key.slice(0, 8)}</span> <span class="meta"><span class="said">${of}</span>, ${when(item?.notBefore, at)}${item?.failure ? html`: ${plainly(item.failure, config)}` : ''}</span></li>`,
        )}</ul>`
}
</section>
<section class="card" aria-labelledby="failed"><h2 id="failed">Failed <small>${overview.failed.length}</small></h2>
${overview.failed.length === 0 ? html`<p class="dim">Nothing was given up.</p>` : html`<ul class="plain list">${overview.failed.slice(0, MOST_WAITING).map(({ kind, key, code, message, at: failedAt }) => html`<li><span class="tag bad">${code}</span> ${kind} <span class="said">${key.slice(0, 8)}</span>, ${when(failedAt, at)}<p class="meta said">${plainly(message, config)}</p></li>`)}</ul>${form(at, { action: '/do/retry', fields: {} }, html`<button class="primary">Try all again</button>`)}`}
</section>
</div>
</div>`,
  };
}

function costTable(heading: string, rows: [string, Line][]): Html | '' {
  if (rows.length === 0) return '';
  return html`<section><h2>${heading}</h2><table><thead><tr><th scope="col">${heading.slice(3)}</th><th scope="col">cost</th><th scope="col">tokens</th></tr></thead><tbody>${rows
    .slice(0, 30)
    .map(
      ([name, { usd, tokens, isOnPlan }]) =>
        html`<tr><th scope="row"><span class="said">${name}</span></th><td>${usd > 0 ? sayUsd(usd * 1e6) : isOnPlan ? 'your plan' : '–'}</td><td>${tokens.toLocaleString('en-US')}</td></tr>`,
    )}</tbody></table></section>`;
}

/** A bar for each day of the month. */
export function monthBars({ month, days, total }: Cost, _at: At): Html {
  const [year = 0, of = 0] = month.split('-').map(Number);
  const count = new Date(Date.UTC(year, of, 0)).getUTCDate();
  const list = Array.from({ length: count }, (_, index) => {
    const day = `${month}-${String(index + 1).padStart(2, '0')}`;
    const spent = days.find((each) => each.day === day);
    const value = (total.usd > 0 ? spent?.usd : spent?.tokens) ?? 0;
    const said = `${formatIn(`${day}T12:00:00Z`, 'UTC', 'd MMM')}: ${spent ? `${sayUsd(spent.usd * 1e6)}, ${sayTokens(spent.tokens)}` : 'nothing'}`;
    return { label: String(index + 1), value, said };
  });
  const most = [...list].sort((a, b) => b.value - a.value)[0];
  return bars(list, {
    title: most && most.value > 0 ? `Spent day by day; the most on ${most.said}` : 'Nothing was spent this month',
  });
}

export interface Bar {
  label: string;
  value: number;
  said: string;
}

const HEIGHT = 72;
const WIDTH = 640;

/** `said`: all of it in words, for who cannot see it. */
export function bars(list: Bar[], { title }: { title: string }): Html {
  const most = Math.max(...list.map(({ value }) => value)) || 1;
  const step = WIDTH / Math.max(list.length, 1);
  return html`<svg class="bars" viewBox="0 0 ${WIDTH} ${HEIGHT + 14}" role="img" aria-label="${title}">${list.map(
    ({ label, value, said }, at) => {
      const height = value === 0 ? 1 : Math.max(3, (value / most) * HEIGHT);
      const x = (at * step).toFixed(1);
      const text =
        at % 5 === 0 ? html`<text x="${(at * step + step / 2).toFixed(1)}" y="${HEIGHT + 11}">${label}</text>` : '';
      return html`<g><title>${said}</title><rect class="${value === 0 ? 'nothing' : ''}" x="${x}" y="${(HEIGHT - height).toFixed(1)}" width="${(step * 0.72).toFixed(1)}" height="${height.toFixed(1)}" rx="2"/>${text}</g>`;
    },
  )}</svg>`;
}
