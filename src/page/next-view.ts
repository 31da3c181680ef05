// Next: what the next session will be told, word for word, with why each part is there and what is left out. It asks what the hooks
// ask, and notes nothing.

import { html } from 'hono/html';
import { promptNext } from '../hook/prompt-recall.ts';
import { MAX_CHARACTERS, recallFor } from '../hook/start-recall.ts';
import { leftOut, whyTold } from '../memory/recall/recall.ts';
import { sessionDirs } from '../memory/session-rows.ts';
import { AGENT_NAMES, type AgentName, findAgent } from '../setup/agents/agents.ts';
import { fromHome, plainly } from '../terminal/phrases.ts';
import { type At, empty, type Html, type Place, switcher, thePlace, type View } from './page-shell.ts';

const MOST_CHARACTERS = 4_000;

export async function nextView(at: At): Promise<View> {
  const { places, url } = at;
  const given = url.searchParams.get('memory');
  const memory = given === null ? places[0] : thePlace(places, given);
  const title = html`<h1>What the next session is told</h1>`;
  if (!memory) {
    const nothing = empty('Nothing is remembered yet', 'So the next session is told nothing.');
    return { title: 'Next', part: 'next', body: html`${title}${nothing}` };
  }
  const to = switcher(at, memory, { href: (place) => `/next?memory=${place?.id}` });
  return {
    title: 'Next',
    part: 'next',
    body: html`${title}${to}
${await nextOf(at, memory)}`,
  };
}

async function nextOf(at: At, memory: Place): Promise<Html> {
  const { app, config, url } = at;
  const asked = (name: string) => url.searchParams.get(name) ?? '';
  const dirs = [
    ...new Set([...(memory.root === null ? [] : [memory.root]), ...(await sessionDirs(app.db, memory.id))]),
  ];
  const cwd = dirs.find((dir) => dir === asked('dir')) ?? dirs[0];
  if (cwd === undefined && memory.row.scope !== 'user')
    return html`<p class="dim">No session has run there yet, so it is not known where the next one will.</p>`;
  const agent: AgentName = AGENT_NAMES.find((name) => name === asked('agent')) ?? 'claude-code';
  const prompt = asked('prompt').slice(0, MOST_CHARACTERS);
  const place = { cwd: cwd ?? config.userDir, ...(memory.row.scope === 'user' && { memory: 'user' as const }) };
  const told = await recallFor(config, { ...place, agent, isOnlyAsked: true });
  const options = (all: readonly string[], chosen: string | undefined, say = (each: string) => each) =>
    all.map((each) => html`<option value="${each}" ${each === chosen ? html`selected` : ''}>${say(each)}</option>`);
  return html`<form action="/next" class="asked"><input type="hidden" name="memory" value="${memory.id}">
<label>Agent<select name="agent">${options(AGENT_NAMES, agent, (name) => findAgent(name as AgentName).title)}</select></label>
${dirs.length > 1 ? html`<label>Started in<select name="dir">${options(dirs, cwd, (dir) => fromHome(dir, config))}</select></label>` : ''}
<label>First prompt, if you like<input name="prompt" value="${prompt}" autocomplete="off" dir="auto"></label><button>Show</button></form>
${told.trouble !== undefined ? html`<p class="problem">${told.trouble}.</p>` : told.state.enabled ? await toldOf(at, { told, agent, prompt, cwd: place.cwd }) : html`<p class="problem">A session here is told nothing: ${plainly(told.state.reason, config)}.</p>`}`;
}

interface Told {
  told: Awaited<ReturnType<typeof recallFor>>;
  agent: AgentName;
  prompt: string;
  cwd: string;
}

async function toldOf(at: At, { told, agent, prompt, cwd }: Told): Promise<Html> {
  const { title } = findAgent(agent);
  const limit = `no room in ${MAX_CHARACTERS.toLocaleString('en')} characters`;
  return html`<section><h2>At its start</h2>${told.text === '' ? html`<p class="dim">Nothing: nothing is remembered here yet.</p>` : toldText(told.text)}
${agent === 'claude-code' && told.text !== '' ? html`<p class="meta">${title} reads MEMORY.md by itself, where there is one.</p>` : ''}
${rows('Why it is told', whyTold(told))}${rows(
  'Left out',
  leftOut(told).map((what) => [limit, what]),
)}</section>
${prompt === '' ? '' : html`<section><h2>With this prompt</h2>${await withPrompt(at, { told, agent, prompt, cwd })}</section>`}`;
}

async function withPrompt({ config }: At, { told, agent, prompt, cwd }: Told): Promise<Html> {
  const { title, asksWithPrompt } = findAgent(agent);
  if (!asksWithPrompt) return html`<p class="dim">Nothing: ${title} has no hook for prompts.</p>`;
  if (!config.recallPrompts) return html`<p class="dim">Nothing: <code>recallPrompts</code> is off.</p>`;
  const near = await promptNext(config, { cwd, prompt, told: told.text });
  const nothing = html`<p class="dim">Nothing more: nothing else in memory is about it.</p>`;
  if (near === null) return nothing;
  const { text, lines, leftOut: out, known } = near;
  return html`${text === '' ? nothing : toldText(text)}
${rows(
  'Why it is told',
  lines.map(({ said, shares }) => [`shares ${shares.join(', ')}`, said]),
)}${rows('Left out', [
  ...known.map((said): Row => ['told at the start', said]),
  ...out.map(({ said }): Row => ['no room, or a secret in it', said]),
])}`;
}

const toldText = (text: string) => html`<pre class="told said" dir="auto">${text}</pre>`;

type Row = [why: string, what: string];

function rows(heading: string, all: Row[]): Html | '' {
  if (all.length === 0) return '';
  return html`<details open><summary>${heading}</summary><dl>${[...Map.groupBy(all, ([why]) => why)].map(
    ([why, of]) => html`<dt>${why}</dt>${of.map(([, what]) => html`<dd class="said" dir="auto">${what}</dd>`)}`,
  )}</dl></details>`;
}
