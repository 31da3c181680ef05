// Whether all is well: what needs the person, who works, what waits and what failed; and the settings that are set here, by the writer
// that `nocturne config` uses. A key is neither shown nor taken.

import { html } from 'hono/html';
import { AppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { sayCount } from '../base/text/wording.ts';
import { emptyMemories, removeEmpty, restoreMemory } from '../memory/memories.ts';
import { endPause, pause, pausesOf } from '../queue/pauses.ts';
import { releasePaused } from '../queue/waiting-work.ts';
import { allWorkers } from '../queue/workers.ts';
import { readSettingsOf, writeTyped } from '../setup/settings-file.ts';
import { fromHome, plainly, sayTime } from '../terminal/phrases.ts';
import { nextNight } from '../worker/nightly.ts';
import type { Need, Overview } from '../worker/overview.ts';
import { namesOf, whoseMemory } from '../worker/whose-memory.ts';
import { type At, form, type Html, placeCalled, when } from './page-shell.ts';
import type { Flash } from './visits.ts';

const MOST_WAITING = 50;
const HOUR_MS = 3_600_000;
const PAUSES: [hours: string, said: string][] = [
  ['2', 'for two hours'],
  ['24', 'for a day'],
  ['', 'until you end it'],
];

export function needsSection(at: At, needs: Need[]): Html {
  if (needs.length === 0) return html`<p><span class="dot good"></span>Nothing needs you.</p>`;
  return html`<section class="needs" aria-labelledby="needs"><h2 id="needs">Needs you</h2><ul class="plain">${needs.map((need) => html`<li>${needItem(need, at)}</li>`)}</ul></section>`;
}

/** What waits, with the button that deals with it, or where it is dealt with, or what to type. */
function needItem({ text, command }: Need, at: At): Html {
  const said = html`<p class="said">${plainly(text, at.config).replace(/\.$/, '')}.</p>`;
  if (/nocturne review\b/.test(command)) return html`${said}<a class="button primary" href="/changes">Look at it</a>`;
  if (command === 'nocturne retry --failed')
    return html`${said}${form(at, { action: '/do/retry', fields: {} }, html`<button class="primary">Try again</button>`)}`;
  if (command === 'nocturne pause --off')
    return html`${said}${form(at, { action: '/do/resume', fields: {} }, html`<button class="primary">Go on</button>`)}`;
  const entry = /nocturne why (e_\w+)/.exec(command)?.[1];
  if (entry) return html`${said}<a class="button" href="/search?q=${entry}">Show it</a>`;
  return html`${said}<p class="meta">In a terminal: <code>${command}</code></p>`;
}

export async function workSections(at: At, { waiting, failed }: Overview): Promise<Html> {
  const { app, config } = at;
  const workers = await allWorkers(app.db);
  const now = config.clock.now();
  const night = await nextNight(app);
  const shown = [...waiting.slice(0, MOST_WAITING), ...failed.slice(0, MOST_WAITING)];
  const names = await namesOf(
    app,
    shown.flatMap(({ kind, key }) => (kind === 'extract' ? key : [])),
  );
  const what = ({ kind, key, memory }: (typeof shown)[number]) =>
    html`<span class="said">${kind === 'extract' ? `Session ${names.get(key)?.name ?? key.slice(0, 12)}` : kind}</span> <span class="meta said">${placeCalled(at.places, memory)?.title ?? ''}</span>`;
  return html`<section class="card" aria-labelledby="workers"><h2 id="workers">Workers</h2>
${workers.length === 0 ? html`<p class="dim">None runs now. The next session's end, or <code>nocturne worker</code>, starts one.</p>` : html`<ul class="plain">${workers.map(({ machine, started_at }) => html`<li><span class="dot good"></span>${machine === app.machine ? 'On this machine' : 'On another machine'}, since ${when(started_at, at)}</li>`)}</ul>`}
<p class="dim">${night.getTime() <= now.getTime() ? 'The next night begins as soon as a worker runs.' : html`The next night is ${when(night.toISOString(), at)}.`}</p>
${waiting.length + failed.length === 0 ? html`<p class="dim">Nothing waits for a worker, and nothing failed.</p>` : ''}
</section>
${
  waiting.length === 0
    ? ''
    : html`<section class="card" aria-labelledby="waits"><h2 id="waits">Waits <small>${waiting.length}</small></h2><ul class="plain list">${waiting
        .slice(0, MOST_WAITING)
        .map(
          (each) =>
            html`<li>${what(each)} <span class="meta">${when(each.not_before, at)}${each.error ? html`: <span class="said">${plainly(each.error, config)}</span>` : ''}</span></li>`,
        )}</ul></section>`
}${
  failed.length === 0
    ? ''
    : html`<section class="card" aria-labelledby="failed"><h2 id="failed">Failed <small>${failed.length}</small></h2><ul class="plain list">${failed.slice(0, MOST_WAITING).map((each) => html`<li>${what(each)} <span class="meta">${when(each.not_before, at)}</span><p class="meta said">${plainly(each.error ?? '', config)}</p></li>`)}</ul>${form(at, { action: '/do/retry', fields: {} }, html`<button class="primary">Try all again</button>`)}</section>`
}`;
}

export async function settingsSection(at: At): Promise<Html> {
  const { app, config, places } = at;
  const [review, model] = await readSettingsOf(config.home, ['review', 'model']);
  const pauses = await pausesOf(app.db, config.clock.now());
  const roots = new Map(places.flatMap(({ root, title }) => (root === null ? [] : [[root, title]])));
  const nameOf = (project: string | null) =>
    project === null ? 'Everything' : (roots.get(project) ?? fromHome(project, config));
  const waits = review?.value === true;
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
  html`<label>Pause<select name="project"><option value="">Everything</option>${[...roots].map(([root, title]) => html`<option value="${root}">${title}</option>`)}</select></label><label>How long<select name="hours">${PAUSES.map(([hours, said]) => html`<option value="${hours}">${said}</option>`)}</select></label><button>Pause</button>`,
)}
${form(
  at,
  { action: '/do/set', fields: { name: 'review', value: String(!waits) }, className: 'bar' },
  html`<p>${waits ? 'What a night would change waits for your answer.' : 'Nights change topics by themselves.'}</p><button>${waits ? 'Let nights do it' : 'Ask me first'}</button>`,
)}
${form(
  at,
  { action: '/do/set', fields: { name: 'model' }, className: 'asked' },
  html`<label class="wide">Model<input name="value" value="${String(model?.value ?? '')}" autocomplete="off" spellcheck="false" required></label><button>Save</button>`,
)}
<p class="meta">A model's id, an agent that you are logged in to (<code>claude-code</code>, <code>codex</code>), or <code>offline</code>.${config.environment.NOCTURNE_MODEL ? html` <code>NOCTURNE_MODEL</code> is set where this page is served, and wins there.` : ''} Other settings: <code>nocturne config</code>.</p></section>`;
}

/** Memories that hold nothing are shown nowhere else; they can be removed, which `undo` takes back. */
export async function emptySection(at: At): Promise<Html | ''> {
  const empty = await emptyMemories(at.app.db);
  if (empty.length === 0) return '';
  const rows = await Promise.all(
    empty.map(async ({ id, sessions }) => {
      const { name } = await whoseMemory(at.app, await at.app.memories.of(id));
      return html`<li><span class="said">${name}</span>: <span class="meta">0 lines, 0 entries, 0 waiting sessions; ${sayCount(sessions, 'session')} read</span></li>`;
    }),
  );
  const count = sayCount(empty.length, 'empty memory');
  const fields = { ids: empty.map(({ id }) => id).join(' ') };
  return html`<section class="card"><details id="empty"><summary>${count} ${empty.length === 1 ? 'is' : 'are'} not shown</summary><ul>${rows}</ul>
${form(at, { action: '/do/remove-empty', fields }, html`<button class="danger">Remove ${empty.length === 1 ? 'it' : `all ${empty.length}`}</button>`)}</details></section>`;
}

/** Errors: `conflict` where something was written in one of them meanwhile. */
export async function removeHere({ app }: At, field: (name: string) => string): Promise<Flash> {
  const ids = field('ids').split(' ').filter(Boolean);
  await removeEmpty(app, ids);
  const back = ids.length === 1 ? 'it' : 'each of them';
  return {
    text: `Removed ${sayCount(ids.length, 'empty memory')}. nocturne undo with its id brings ${back} back: ${ids.join(' ')}`,
    restore: ids.join(' '),
  };
}

/** Brings removed ones back. */
export async function restoreHere({ app }: At, field: (name: string) => string): Promise<string> {
  const ids = field('ids').split(' ').filter(Boolean);
  for (const id of ids) await restoreMemory(app.db, id);
  return `${sayCount(ids.length, 'memory')} brought back.`;
}

const SET_HERE = ['review', 'model'];
const MOST_CHARACTERS = 80;
const LIKE_A_KEY = /^(?:sk|pk|gsk|noct)[-_]/i;

/** Errors: `bad-input` for what is not set here, is not allowed there, or looks like a key. */
export async function setHere({ config }: At, field: (name: string) => string): Promise<string> {
  const [name, value] = [field('name'), field('value').trim()];
  if (!SET_HERE.includes(name)) throw new AppError('bad-input', 'That is not set here: nocturne config sets it.');
  if (value.length > MOST_CHARACTERS || LIKE_A_KEY.test(value) || (await redact(value)).found.length > 0)
    throw new AppError('bad-input', 'That looks like a key. Keys are not taken here: nocturne setup asks for one.');
  const isChanged = await writeTyped(config.home, name, value);
  return isChanged ? 'Saved: it counts for jobs that begin from now on.' : 'It says that already.';
}

/** Errors: `bad-input` for a project that is not known here. */
export async function pauseHere({ app, config, places }: At, field: (name: string) => string): Promise<string> {
  const [project, hours] = [field('project') || null, Number(field('hours'))];
  if (project !== null && !places.some(({ root }) => root === project))
    throw new AppError('bad-input', 'There is no such project.');
  const now = config.clock.now();
  const until = hours > 0 && hours <= 24 ? new Date(now.getTime() + hours * HOUR_MS).toISOString() : null;
  await pause(app.db, { project, until }, now);
  const what = project === null ? 'nocturne' : fromHome(project, config);
  return `${what} is paused until ${until ? sayTime(until, config) : 'you end it'}: nothing is learned or recalled.`;
}

/** `project`: null: all pauses end; '': the one of everything. */
export async function resumeHere({ app: { db }, config }: At, project: string | null): Promise<string> {
  const now = config.clock.now();
  const meant = (await pausesOf(db, now)).filter((each) => project === null || (each.project ?? '') === project);
  for (const each of meant) await endPause(db, each.project, now);
  await releasePaused(db, now);
  return 'nocturne works again.';
}
