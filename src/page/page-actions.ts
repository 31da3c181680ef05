// What a person does on the page: each by the same job, or the same writer of settings, as the command of that name. Answers where to
// go then, with a word that says what was done and takes it back; or a view, where a person must look before it is done.

import { randomBytes } from 'node:crypto';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { sayCount } from '../base/text/wording.ts';
import { removeEmpty } from '../memory/memories.ts';
import { isTopicPath, withLine } from '../memory/text/topic.ts';
import { closeBreaker } from '../queue/breaker.ts';
import { endPause, pause } from '../queue/pauses.ts';
import { reopenDay } from '../queue/spend.ts';
import { wakeWorker } from '../queue/spool.ts';
import { releasePaused, retry } from '../queue/waiting-work.ts';
import { writeTyped } from '../setup/settings-file.ts';
import { fromHome, sayTime } from '../terminal/phrases.ts';
import { withoutDreams } from '../worker/job-bounds.ts';
import { type At, type Place, thePlace, type View } from './page-shell.ts';
import { lineConflict } from './topic-view.ts';
import type { Flash } from './visits.ts';

interface Asked {
  at: At;
  /** '' where the form has none of this name. */
  field(name: string): string;
  /** The memory that it is done in. Errors: `bad-input`. */
  memory(): Place;
}

type Done = Flash | View;

const ACTIONS: Record<string, (asked: Asked) => Promise<Done>> = {
  edit: editLine,
  pin: pinTopic,
  forget: forgetIt,
  undo: undoJob,
  review: decide,
  retry: retryAll,
  pause: pauseHere,
  resume: resumeHere,
  set: setHere,
  'remove-empty': removeHere,
};

export async function act(at: At, { name, fields }: { name: string; fields: URLSearchParams }): Promise<string | View> {
  const back = backTo(fields.get('to'), at);
  const field = (of: string) => fields.get(of) ?? '';
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  let done: Done;
  try {
    if (!action) throw new AppError('bad-input', 'There is no such action.');
    done = await action({ at, field, memory: () => thePlace(at.places, field('memory')) });
  } catch (error) {
    if (!isAppError(error)) throw error;
    done = { text: describeError(error), isProblem: true };
  }
  if ('body' in done) return done;
  const id = randomBytes(6).toString('hex');
  at.visit.said = { ...done, id };
  back.searchParams.set('said', id);
  return `${back.pathname}${back.search}${back.hash}`;
}

/** Where the form said one was; never elsewhere than here. */
function backTo(to: string | null, { url }: At): URL {
  const given = URL.parse(to ?? '/', url.origin);
  // After normalisation: what is left of `/.//elsewhere` is a path of ours, which a browser takes for another host.
  const isHere = given?.origin === url.origin && !given.pathname.startsWith('//');
  return isHere ? given : new URL('/', url.origin);
}

function topicOf({ field }: Asked): string {
  const path = field('path');
  if (!isTopicPath(path)) throw new AppError('bad-input', 'There is no such topic.');
  return path;
}

async function editLine(asked: Asked): Promise<Done> {
  const { at, field } = asked;
  const [memory, path, index] = [asked.memory(), topicOf(asked), Number(field('index'))];
  const { text } = await redact(field('text'));
  const edit = { line: field('line'), index, shown: field('shown'), text };
  try {
    const { job } = await at.app.edit({
      ...{ memory: memory.id, path },
      make(current) {
        const made = withLine(current ?? '', edit);
        if (made === null) throw new AppError('conflict', `${path} was changed meanwhile; your text was not saved.`);
        return made;
      },
    });
    if (job === null) return { text: 'Nothing to change: it says that already.' };
    return { text: 'Saved.', undo: { memory: memory.id, job } };
  } catch (error) {
    if (!isAppError(error, 'conflict')) throw error;
    return lineConflict(at, memory, { path, ...edit });
  }
}

async function pinTopic(asked: Asked): Promise<Done> {
  const memory = asked.memory().id;
  const pinned = asked.field('pinned') === 'true';
  const { job } = await asked.at.app.pin({ memory, path: topicOf(asked), pinned });
  const text = pinned ? 'Pinned: no dream changes it.' : 'Dreams may change it again.';
  return { text, ...(job && { undo: { memory, job } }) };
}

async function forgetIt({ at, memory, field }: Asked): Promise<Done> {
  const { id, row } = memory();
  const [target, said] = [field('target'), field('said') || undefined];
  const report = await at.app.forget(row, { target, said, confirm: async () => true });
  if (report.outcome === 'forgotten') {
    const { lines, entries, topics, job } = report;
    const [one] = [
      ...(topics.length > 0 ? [sayCount(topics.length, 'topic')] : []),
      ...(lines.length > 0 ? [sayCount(lines.length, 'line')] : []),
      sayCount(entries.length, 'entry'),
    ];
    const text = `Forgotten: ${one}. It is not learned again from the same source.`;
    return { text, undo: { memory: id, job } };
  }
  const why = {
    busy: 'Another process works there; try again in a moment.',
    ambiguous: 'That may mean several things.',
    unknown: 'It is not there any more.',
    unconfirmed: 'Nothing was changed.',
  };
  return { text: why[report.outcome], isProblem: true };
}

async function undoJob({ at, memory, field }: Asked): Promise<Done> {
  const { id } = memory();
  const report = await at.app.undo({ job: field('job') });
  if (report.undo !== null) {
    const text = report.kind === 'undo' ? 'Done again.' : 'Taken back.';
    return { text, undo: { memory: id, job: report.undo, isRedo: true } };
  }
  if (report.outcome === 'busy')
    return { text: 'Another process works there; try again in a moment.', isProblem: true };
  const stays = report.stays.map(({ name }) => name).join(', ');
  return {
    text: `Not taken back: a later change builds on it (in ${stays}). Undo the later change first.`,
    isProblem: true,
  };
}

async function decide({ at, memory, field }: Asked): Promise<Done> {
  const { id, row } = memory();
  const kind = field('word');
  if (kind !== 'accept' && kind !== 'reject') throw new AppError('bad-input', 'Choose accept or reject.');
  const ids = field('id') === 'all' ? undefined : [field('id')];
  const { app } = at;
  const decided = await withoutDreams(app, row, (claim) => app.review(row, { ids, word: { kind }, claim }));
  const done = decided.filter(({ job }) => job !== null);
  const [first] = done;
  const left = decided.filter(({ job }) => job === null);
  const did = { accept: 'accepted', reject: 'rejected' }[kind];
  const text = [
    ...(done.length > 0 ? [`${sayCount(done.length, 'proposal')} ${did}.`] : []),
    ...left.map(({ why }) => `Not done: ${why}`),
  ].join(' ');
  const undo = first?.job && done.length === 1 ? { undo: { memory: id, job: first.job } } : {};
  return { text: text || 'Nothing waits.', ...undo, isProblem: done.length === 0 };
}

async function retryAll({ at }: Asked): Promise<Done> {
  const { db, clock } = at.app;
  const now = clock.now();
  const select = "select id from inbox where state = 'failed' or code is not null";
  const ids = (await db.all<{ id: number }>(select)).map(({ id }) => id);
  const count = await retry(db, ids, now);
  await closeBreaker(db, now);
  await reopenDay(db);
  return { text: count === 0 ? 'Nothing failed.' : `${sayCount(count, 'job')} for the next worker.` };
}

const HOUR_MS = 3_600_000;

async function pauseHere({ at, field }: Asked): Promise<Done> {
  const { app, config, places } = at;
  const [project, hours] = [field('project') || null, Number(field('hours'))];
  if (project !== null && !places.some(({ root }) => root === project))
    throw new AppError('bad-input', 'There is no such project.');
  const now = config.clock.now();
  const until = hours > 0 && hours <= 24 ? new Date(now.getTime() + hours * HOUR_MS).toISOString() : null;
  await pause(app.db, { project, until }, now);
  const what = project === null ? 'nocturne' : fromHome(project, config);
  const end = until ? sayTime(until, config) : 'you end it';
  return { text: `${what} is paused until ${end}: nothing is learned or recalled.` };
}

async function resumeHere({ at: { app, config }, field }: Asked): Promise<Done> {
  const now = config.clock.now();
  await endPause(app.db, field('project') || null, now);
  if ((await releasePaused(app.db, now)) > 0) wakeWorker(app.config.home, app.config.environment);
  return { text: 'nocturne works again.' };
}

const SET_HERE = ['review', 'model'];
const MOST_CHARACTERS = 80;
const LIKE_A_KEY = /^(?:sk|pk|gsk|noct)[-_]/i;

async function setHere({ at, field }: Asked): Promise<Done> {
  const [name, value] = [field('name'), field('value').trim()];
  if (!SET_HERE.includes(name)) throw new AppError('bad-input', 'That is not set here: nocturne config sets it.');
  if (value.length > MOST_CHARACTERS || LIKE_A_KEY.test(value) || (await redact(value)).found.length > 0)
    throw new AppError('bad-input', 'That looks like a key. Keys are not taken here: nocturne setup asks for one.');
  const isChanged = await writeTyped(at.config.home, name, value);
  return { text: isChanged ? 'Saved: it counts for jobs that begin from now on.' : 'It says that already.' };
}

/** Errors: `conflict` where something was written in one of them meanwhile. */
async function removeHere({ at, field }: Asked): Promise<Done> {
  const ids = field('ids').split(' ').filter(Boolean);
  await removeEmpty(at.app, ids);
  const back = ids.length === 1 ? 'it' : 'each of them';
  const text = `Removed ${sayCount(ids.length, 'empty memory')}. nocturne undo with its id brings ${back} back`;
  return { text: `${text}: ${ids.join(' ')}` };
}
