// Home: what was learned since one last looked, what waits for one, tonight, what the month cost, and each project.

import { html } from 'hono/html';
import { sayCount } from '../../../base/text/wording.ts';
import { asJson, readCost } from '../../../doors/cli/commands/cost-command.ts';
import { readOverview } from '../../../doors/cli/terminal/overview.ts';
import { plainly, sayTokens, sayUsd } from '../../../doors/cli/terminal/phrases.ts';
import type { Need } from '../../../doors/doctor/facts.ts';
import { nextNightly } from '../../../doors/worker/hold.ts';
import { refreshTopics, topicCards } from '../../../memory/dream/topic-table.ts';
import { countStates } from '../../../memory/ledger/entries.ts';
import { lastSuccessAt } from '../../../memory/ledger/job-rows.ts';
import { inlineMarkdown } from '../markdown.ts';
import { type At, empty, form, type Html, memoryId, type View, when } from '../shell.ts';
import { monthBars } from './cost-view.ts';

const SHOWN = 12;

export async function homeView(at: At): Promise<View> {
  const { app, config, visit, places } = at;
  const overview = await readOverview(app, { since: visit.since ?? undefined });
  const cost = asJson(await readCost(app));
  const count = overview.learned.reduce((sum, each) => sum + each.count, 0);
  if (places.all.length === 0) {
    const text = html`Work with your agent: when a session ends it is learned from, and what was learned is here. <code>nocturne setup</code> connects your agents.`;
    return { title: 'Home', part: 'home', body: html`<h1>Home</h1>${empty('Nothing is remembered yet', text)}` };
  }
  const shown = overview.learned
    .flatMap(({ store, whose, entries }) => entries.map((entry) => ({ ...entry, whose, memory: memoryId(store) })))
    .slice(0, SHOWN);
  const month = cost.total.usd > 0 ? sayUsd(cost.total.usd * 1e6) : sayTokens(cost.total.tokens);
  const night = nextNightly(config, await app.home.nightlyAt());
  return {
    title: 'Home',
    part: 'home',
    body: html`<h1>${count === 0 ? 'Nothing new' : `${sayCount(count, 'thing')} learned`} <small>${visit.since === null ? 'so far' : html`since ${when(visit.since, at)}`}</small></h1>
<div class="columns">
<div>
${overview.needs.length > 0 ? html`<section class="needs" aria-labelledby="needs"><h2 id="needs">Waits for you</h2><ul class="plain">${overview.needs.map((need) => html`<li>${needItem(need, at)}</li>`)}</ul></section>` : ''}
<section aria-labelledby="learned"><h2 id="learned">Learned</h2>
${
  shown.length === 0
    ? html`<p class="dim">No session has taught anything new. <a href="/memory">What is remembered</a> is still there.</p>`
    : html`<ol class="plain feed">${shown.map(
        ({ id, text, learnedAt, whose, memory }) =>
          html`<li><a class="row" href="/memory/${memory}/entry/${id}">${inlineMarkdown(text)}</a><p class="meta"><span class="said">${places.all.find(({ id: of }) => of === memory)?.name ?? whose.name}</span> · ${when(learnedAt, at)}</p></li>`,
      )}</ol>`
}
${count > shown.length ? html`<p><a href="/sessions">All that sessions taught</a></p>` : ''}
${count > 0 ? form(at, { action: '/do/seen', fields: {} }, html`<button>Mark all as seen</button>`) : ''}
</section>
</div>
<div>
<section class="card" aria-labelledby="tonight"><h2 id="tonight">Tonight</h2>
<p>${night.getTime() <= config.clock.now().getTime() ? 'Due: with the next worker.' : html`The next dream is ${when(night.toISOString(), at)}.`}</p>
<p class="dim">${overview.pending === 0 ? 'Nothing waits to be learned from.' : `${sayCount(overview.pending, 'job')} for the next worker.`}</p>
</section>
<section class="card" aria-labelledby="month"><h2 id="month">This month</h2>
<p class="figure">${cost.total.tokens === 0 ? 'nothing' : month}</p>
${cost.forecast && cost.forecast.tokens > 0 ? html`<p class="dim">about ${cost.total.usd > 0 ? sayUsd(cost.forecast.usd * 1e6) : sayTokens(cost.forecast.tokens)} by its end</p>` : ''}
${monthBars(cost, at)}
<p><a href="/cost">Cost and work</a></p>
</section>
</div>
</div>
<section aria-labelledby="projects"><h2 id="projects">Memories</h2>
<ul class="plain cards">${places.all.map((place) => projectCard(place, at))}</ul>
${places.broken.map(({ dir, message }) => html`<p class="problem">${dir}: ${message}</p>`)}
</section>`,
  };
}

function projectCard({ id, name, path, store: { ledger } }: At['places']['all'][number], at: At): Html {
  refreshTopics(ledger);
  const topics = topicCards(ledger).filter(({ isArchived }) => !isArchived);
  const states = countStates(ledger);
  const waiting = (states.new ?? 0) + (states.held ?? 0);
  return html`<li class="card"><a class="row" href="/memory/${id}"><strong class="said">${name}</strong></a>
<p class="meta said">${path === name ? '' : path}</p>
<p class="meta">${sayCount(topics.length, 'topic')} · ${sayCount(
    topics.reduce((sum, { lines }) => sum + lines, 0),
    'line',
  )}${waiting > 0 ? html` · ${waiting} new` : ''}</p>
<p class="meta">last learned ${when(lastSuccessAt(ledger), at)}</p></li>`;
}

/** What waits, with the button that deals with it, or where it is dealt with, or what to type. */
function needItem({ text, command = '' }: Need, at: At): Html {
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
