// Home: what was learned since one last looked, what waits for one, tonight, what the month cost, and each memory.

import { html } from 'hono/html';
import { sayCount } from '../base/text/wording.ts';
import { monthCost } from '../queue/month-cost.ts';
import { plainly, sayTokens, sayUsd } from '../terminal/phrases.ts';
import { lastNight, nextNightly } from '../worker/nightly.ts';
import type { Need } from '../worker/overview.ts';
import { readOverview } from '../worker/overview.ts';
import { monthBars } from './cost-view.ts';
import { inlineMarkdown } from './markdown-html.ts';
import { type At, empty, form, type Html, type Place, placeCalled, type View, when } from './page-shell.ts';

export async function homeView(at: At): Promise<View> {
  const { app, config, visit, places } = at;
  if (places.length === 0) {
    const text = html`Work with your agent: when a session ends it is learned from, and what was learned is here. <code>nocturne setup</code> connects your agents.`;
    return { title: 'Home', part: 'home', body: html`<h1>Home</h1>${empty('Nothing is remembered yet', text)}` };
  }
  const { learned, waiting, needs } = await readOverview(app, { since: visit.since, memories: places });
  const cost = await monthCost({ ...config, sql: app.db, now: config.clock.now() });
  const { count, newest } = learned;
  const month = cost.total.usd > 0 ? sayUsd(cost.total.usd * 1e6) : sayTokens(cost.total.tokens);
  const night = nextNightly(config, new Date(await lastNight(app.db, config.clock.now())));
  const kept = await keptIn(at);
  return {
    title: 'Home',
    part: 'home',
    body: html`<h1>${count === 0 ? 'Nothing new' : `${sayCount(count, 'thing')} learned`} <small>${visit.since === null ? 'so far' : html`since ${when(visit.since, at)}`}</small></h1>
<div class="columns">
<div>
${needs.length > 0 ? html`<section class="needs" aria-labelledby="needs"><h2 id="needs">Waits for you</h2><ul class="plain">${needs.map((need) => html`<li>${needItem(need, at)}</li>`)}</ul></section>` : ''}
<section aria-labelledby="learned"><h2 id="learned">Learned</h2>
${
  newest.length === 0
    ? html`<p class="dim">Nothing new was learned. <a href="/memory">What is remembered</a> is still there.</p>`
    : html`<ol class="plain feed">${newest.map(
        ({ id, text, learnedAt, memory }) =>
          html`<li><a class="row" href="/memory/${memory}/entry/${id}">${inlineMarkdown(text)}</a><p class="meta"><span class="said">${placeCalled(places, memory)?.title}</span> · ${when(learnedAt, at)}</p></li>`,
      )}</ol>`
}
${count > newest.length ? html`<p class="dim">${count - newest.length} more: <code>nocturne list --sessions</code></p>` : ''}
${count > 0 ? form(at, { action: '/do/seen', fields: {} }, html`<button>Mark all as seen</button>`) : ''}
</section>
</div>
<div>
<section class="card" aria-labelledby="tonight"><h2 id="tonight">Tonight</h2>
<p>${night.getTime() <= config.clock.now().getTime() ? 'As soon as a worker runs.' : html`The next dream is ${when(night.toISOString(), at)}.`}</p>
<p class="dim">${waiting.length === 0 ? 'Nothing waits to be learned from.' : `${sayCount(waiting.length, 'job')} for the next worker.`}</p>
</section>
<section class="card" aria-labelledby="month"><h2 id="month">This month</h2>
<p class="figure">${cost.total.tokens === 0 ? 'nothing' : month}</p>
${cost.forecast && cost.forecast.tokens > 0 ? html`<p class="dim">about ${cost.total.usd > 0 ? sayUsd(cost.forecast.usd * 1e6) : sayTokens(cost.forecast.tokens)} by its end</p>` : ''}
${monthBars(cost)}
<p><a href="/cost">Cost and work</a></p>
</section>
</div>
</div>
<section aria-labelledby="projects"><h2 id="projects">Memories</h2>
<ul class="plain cards">${places.map((place) => memoryCard(place, kept.get(place.id) ?? NOTHING, at))}</ul>
</section>`,
  };
}

interface Kept {
  topics: number;
  lines: number;
  waiting: number;
}

const NOTHING: Kept = { topics: 0, lines: 0, waiting: 0 };

/** How much stands in each memory. */
async function keptIn({ app: { db } }: At): Promise<Map<string, Kept>> {
  const kept = new Map<string, Kept>();
  const of = (memory: string) => kept.get(memory) ?? kept.set(memory, { ...NOTHING }).get(memory) ?? NOTHING;
  const topics = `select memory, meta from file where meta is not null and path is not null and not (path >= 'archive/' and path < 'archive0')`;
  for (const { memory, meta } of await db.all<{ memory: string; meta: string }>(topics)) {
    of(memory).topics += 1;
    of(memory).lines += Number(JSON.parse(meta).lines);
  }
  const fresh = "select memory, count(*) as count from entry where state = 'new' group by memory";
  for (const { memory, count } of await db.all<{ memory: string; count: number }>(fresh)) of(memory).waiting = count;
  return kept;
}

function memoryCard({ id, title, name, lastSuccessAt }: Place, { topics, lines, waiting }: Kept, at: At): Html {
  return html`<li class="card"><a class="row" href="/memory/${id}"><strong class="said">${title}</strong></a>
<p class="meta said">${name === title ? '' : name}</p>
<p class="meta">${sayCount(topics, 'topic')} · ${sayCount(lines, 'line')}${waiting > 0 ? html` · ${waiting} new` : ''}</p>
<p class="meta">last learned ${when(lastSuccessAt, at)}</p></li>`;
}

/** What waits, with the button that deals with it, or where it is dealt with, or what to type. */
function needItem({ text, command }: Need, at: At): Html {
  const said = html`<p>${plainly(text, at.config).replace(/\.$/, '')}.</p>`;
  if (/nocturne review\b/.test(command)) return html`${said}<a class="button primary" href="/review">Review</a>`;
  if (command === 'nocturne retry --failed')
    return html`${said}${form(at, { action: '/do/retry', fields: {} }, html`<button class="primary">Try again</button>`)}`;
  if (command === 'nocturne pause --off')
    return html`${said}${form(at, { action: '/do/resume', fields: {} }, html`<button class="primary">Go on</button>`)}`;
  const entry = /nocturne why (e_\w+)/.exec(command)?.[1];
  if (entry) return html`${said}<a class="button" href="/search?q=${entry}">Show it</a>`;
  return html`${said}<p class="meta">In a terminal: <code>${command}</code></p>`;
}
