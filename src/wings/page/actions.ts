// What a person does on the page: each by the same job as the command of that name. Answers where to go then, with a word
// that says what was done and takes it back; or a view, where a person must look before it is done.

import { html } from 'hono/html';
import { editLine, editTopic, pin } from '../../../jobs/edit.ts';
import type { Word } from '../../../jobs/review.ts';
import { AppError, describeError, isAppError } from '../../base/errors.ts';
import { sayCount } from '../../base/text/wording.ts';
import { put, tryAgain } from '../../doors/cli/commands/enqueue.ts';
import { isTopicPath } from '../../memory/text/topic.ts';
import { markdown } from './markdown.ts';
import { type At, type MemoryPlace, memoryCalled, memoryId, type View } from './shell.ts';
import { conflictView, topicConflictView } from './views/topic-view.ts';
import { type Flash, keepFlash } from './visits.ts';

interface Asked {
  at: At;
  /** The memory that it is done in. */
  memory: MemoryPlace;
  field(name: string): string;
}

type Done = Flash | View;

const ACTIONS: Record<string, (asked: Asked) => Promise<Done>> = {
  edit: editALine,
  'edit-topic': editATopic,
  pin: pinTopic,
  forget: forgetIt,
  share: shareTopic,
  undo: undoJob,
  review: decide,
  again: learnAgain,
  preview,
};

/** What concerns no memory alone. */
const EVERYWHERE: Record<string, (at: At) => Promise<Flash>> = {
  async seen({ visit, app, config }) {
    visit.since = config.clock.now().toISOString();
    await app.home.noteLook();
    return { text: 'All of it counts as seen.' };
  },
  async retry({ app }) {
    const { count } = await tryAgain(app, [], { failed: true }, () => {});
    return { text: count === 0 ? 'Nothing failed.' : `${sayCount(count, 'job')} for the next worker.` };
  },
  async resume({ app }) {
    for (const { project } of await app.home.pauses.all()) await app.home.pauses.end(project);
    return { text: 'nocturne works again.' };
  },
};

export async function act(at: At, { name, fields }: { name: string; fields: URLSearchParams }): Promise<string | View> {
  const back = backTo(fields.get('to'), at);
  const field = (of: string) => fields.get(of) ?? '';
  let done: Done;
  try {
    const everywhere = Object.hasOwn(EVERYWHERE, name) ? EVERYWHERE[name] : undefined;
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
    if (everywhere) done = await everywhere(at);
    else if (action) {
      const memory = memoryCalled(at.places, field('memory'));
      if (!memory) throw new AppError('bad-input', 'There is no such memory.');
      done = await action({ at, memory, field });
    } else throw new AppError('bad-input', 'There is no such action.');
  } catch (error) {
    if (!isAppError(error)) throw error;
    done = { text: describeError(error), isProblem: true };
  }
  if ('body' in done) return done;
  back.searchParams.set('said', keepFlash(at.visit, done));
  return `${back.pathname}${back.search}${back.hash}`;
}

/** Where the form said one was; never elsewhere than here. */
function backTo(to: string | null, { url }: At): URL {
  const home = new URL('/', url.origin);
  const given = URL.parse(to ?? '/', url.origin);
  // After normalisation: what is left of `/.//elsewhere` is a path of ours, which a browser takes for another host.
  return given?.origin === url.origin && !given.pathname.startsWith('//') ? given : home;
}

function topicOf({ field }: Asked): string {
  const path = field('path');
  if (!isTopicPath(path)) throw new AppError('bad-input', 'There is no such topic.');
  return path;
}

async function editALine(asked: Asked): Promise<Done> {
  const { at, memory, field } = asked;
  const edit = { path: topicOf(asked), line: field('line'), shown: field('shown'), text: field('text') };
  return saved(asked, {
    save: () => editLine(edit, { store: memory.store, clock: at.config.clock }),
    conflict: () => conflictView(at, { memory, ...edit, index: Number(field('index')) }),
  });
}

async function editATopic(asked: Asked): Promise<Done> {
  const { at, memory, field } = asked;
  const edit = { path: topicOf(asked), description: field('description'), body: field('text') };
  return saved(asked, {
    save: () => editTopic({ ...edit, shown: field('shown') }, { store: memory.store, clock: at.config.clock }),
    conflict: () => topicConflictView(at, { memory, ...edit }),
  });
}

async function saved(
  { memory }: Asked,
  { save, conflict }: { save(): Promise<string | null>; conflict(): Promise<View> },
): Promise<Done> {
  try {
    const job = await save();
    if (job === null) return { text: 'It says that already.' };
    return { text: 'Saved.', undo: { memory: memory.id, job } };
  } catch (error) {
    if (!isAppError(error, 'conflict')) throw error;
    return conflict();
  }
}

async function preview({ field }: Asked): Promise<Done> {
  return { title: 'Preview', part: 'memory', body: html`<div id="preview">${markdown(field('text'))}</div>` };
}

async function pinTopic(asked: Asked): Promise<Done> {
  const { at, memory, field } = asked;
  const pinned = field('pinned') === 'true';
  const { changed, job } = await pin({ path: topicOf(asked), pinned }, { store: memory.store, clock: at.config.clock });
  const text = pinned ? 'Pinned: no dream changes it.' : 'Dreams may change it again.';
  return { text, ...(changed && job && { undo: { memory: memory.id, job } }) };
}

async function forgetIt({ at, memory, field }: Asked): Promise<Done> {
  const report = await at.app.forget(memory.store, { target: field('target'), confirm: async () => true });
  if (report.outcome === 'forgotten') {
    const { lines, entries, topics } = report;
    const what =
      topics.length > 0
        ? sayCount(topics.length, 'topic')
        : lines.length > 0
          ? sayCount(lines.length, 'line')
          : sayCount(entries.length, 'entry');
    return {
      text: `Forgotten: ${what}. It is not learned again from the same source.`,
      undo: { memory: memory.id, job: report.job },
    };
  }
  const why = {
    busy: 'Another process works there; try again in a moment.',
    ambiguous: 'That may mean several things.',
    unknown: 'It is not there any more.',
    unconfirmed: 'Nothing was changed.',
  };
  return { text: why[report.outcome], isProblem: true };
}

async function shareTopic(asked: Asked): Promise<Done> {
  const { at, memory } = asked;
  const path = topicOf(asked);
  if (memory.cwd === null)
    throw new AppError('bad-input', 'Its sessions ran in no one repository, so there is no team to share with.');
  const sources = [{ path, text: (await memory.store.read(path)) ?? '' }];
  const report = await at.app.share(memory.store, { sources }, { cwd: memory.cwd });
  if (report.outcome === 'known') return { text: "All of it stands in the team's memory already." };
  if (report.outcome === 'refused') {
    const where = report.secrets.map(({ line, rule }) => `line ${line} (${rule})`).join(', ');
    return { text: `Not shared: it holds secrets, ${where}.`, isProblem: true };
  }
  // It may not have been among the memories before.
  const undo = report.job === null ? {} : { undo: { memory: memoryId(report.memory), job: report.job } };
  return { text: "Shared: commit the team's memory with git as you do with other files.", ...undo };
}

async function undoJob({ at, memory, field }: Asked): Promise<Done> {
  const report = await at.app.undo(memory.store, { job: field('job') });
  if (report.undo !== null) {
    return {
      text: report.kind === 'undo' ? 'Done again.' : 'Taken back.',
      undo: { memory: memory.id, job: report.undo, isRedo: true },
    };
  }
  if (report.outcome === 'busy')
    return { text: 'Another process works there; try again in a moment.', isProblem: true };
  const stays = report.stays.map(({ name }) => name).join(', ');
  return { text: `Not taken back: later work rests on it (${stays}). Undo that first.`, isProblem: true };
}

async function decide({ at, memory, field }: Asked): Promise<Done> {
  const words: Record<string, Word> = {
    accept: { kind: 'accept' },
    reject: { kind: 'reject', because: field('because') || undefined },
    edit: { kind: 'edit', text: field('text'), topic: field('topic') || undefined },
  };
  const word = words[field('word')];
  if (!word) throw new AppError('bad-input', 'That is no decision.');
  const ids = field('id') === 'all' ? undefined : [field('id')];
  const { outcome, decided } = await at.app.review(memory.store, { ids, word });
  if (outcome === 'busy') return { text: 'A dream works there; try again in a moment.', isProblem: true };
  const done = decided.filter(({ job }) => job !== null);
  const [first] = done;
  const left = decided.filter(({ job }) => job === null);
  const did = { accept: 'accepted', reject: 'rejected', edit: 'done in your words' }[word.kind];
  const text = [
    ...(done.length > 0 ? [`${sayCount(done.length, 'proposal')} ${did}.`] : []),
    ...left.map(({ why }) => `Not done: ${why}`),
  ].join(' ');
  const undo = first?.job && done.length === 1 ? { undo: { memory: memory.id, job: first.job } } : {};
  return { text: text || 'Nothing waits.', ...undo, isProblem: done.length === 0 };
}

async function learnAgain({ at, memory, field }: Asked): Promise<Done> {
  const session = field('session');
  await put(at.app, { store: memory.store, kind: 'reprocess', key: session }, { session, ended: true });
  return { text: 'The next worker learns from it again.' };
}
