// What a person does on the page: each by the same job as the command of that name. Answers where to go then, with a word that
// says what was done and takes it back; or a view, where a person must look before it is done.

import type { Word } from '../../jobs/review.ts';
import { AppError, describeError, isAppError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import { sayCount } from '../base/text/wording.ts';
import { marks } from '../db/sql.ts';
import { isTopicPath, shownTopic, withLine, withTopic } from '../memory/text/topic.ts';
import { closeBreaker } from '../queue/breaker.ts';
import { reopenDay } from '../queue/spend.ts';
import { LIMITS, retry } from '../queue/waiting-work.ts';
import { withoutDreams } from '../worker/job-bounds.ts';
import { noteLook } from '../worker/overview.ts';
import { shareWithTeam } from '../worker/sharing.ts';
import { pauseHere, removeHere, restoreHere, resumeHere, setHere } from './health-section.ts';
import { type At, type Place, thePlace, type View } from './page-shell.ts';
import { lineConflict, readTopic, topicConflict } from './topic-view.ts';
import { type Flash, keepFlash } from './visits.ts';

interface Asked {
  at: At;
  /** The memory that it is done in. */
  memory: Place;
  field(name: string): string;
}

type Done = Flash | View;

const ACTIONS: Record<string, (asked: Asked) => Promise<Done>> = {
  edit: editLine,
  'edit-topic': editTopic,
  pin: pinTopic,
  forget: forgetIt,
  share: shareTopic,
  undo: undoJob,
  review: decide,
};

/** What concerns no memory alone. */
const EVERYWHERE: Record<string, (at: At, fields: URLSearchParams) => Promise<Flash>> = {
  async seen({ visit, app }) {
    visit.since = app.clock.now().toISOString();
    await noteLook(app);
    return { text: 'Marked as seen.' };
  },
  async retry({ app: { db, clock } }) {
    const now = clock.now();
    const select = `select id from inbox where state = 'failed' or code in (${marks(LIMITS)})`;
    const ids = (await db.all<{ id: number }>(select, ...LIMITS)).map(({ id }) => id);
    const count = await retry(db, ids, now);
    await closeBreaker(db, now);
    await reopenDay(db);
    return { text: count === 0 ? 'Nothing failed.' : `${sayCount(count, 'job')} for the next worker.` };
  },
  pause: async (at, fields) => ({ text: await pauseHere(at, (name) => fields.get(name) ?? '') }),
  resume: async (at, fields) => ({ text: await resumeHere(at, fields.get('project')) }),
  'remove-empty': (at, fields) => removeHere(at, (name) => fields.get(name) ?? ''),
  restore: async (at, fields) => ({ text: await restoreHere(at, (name) => fields.get(name) ?? '') }),
  set: async (at, fields) => ({ text: await setHere(at, (name) => fields.get(name) ?? '') }),
};

export async function act(at: At, { name, fields }: { name: string; fields: URLSearchParams }): Promise<string | View> {
  const back = backTo(fields.get('to'), at);
  const field = (of: string) => fields.get(of) ?? '';
  const everywhere = Object.hasOwn(EVERYWHERE, name) ? EVERYWHERE[name] : undefined;
  const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name] : undefined;
  let done: Done;
  try {
    if (everywhere) done = await everywhere(at, fields);
    else if (action) done = await action({ at, memory: thePlace(at.places, field('memory')), field });
    else throw new AppError('bad-input', 'There is no such action.');
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
  const { at, memory, field } = asked;
  const [line, index, shown] = [field('line'), Number(field('index')), field('shown')];
  const { text } = await redact(field('text'));
  const edit = { path: topicOf(asked), line, index, shown, text };
  return saved(asked, edit.path, {
    make: (current) => withLine(current ?? '', edit),
    conflict: () => lineConflict(at, memory, edit),
  });
}

async function editTopic(asked: Asked): Promise<Done> {
  const { at, memory, field } = asked;
  const [description, body] = await Promise.all([redact(field('description')), redact(field('text'))]);
  const typed = { description: description.text, body: body.text };
  const path = topicOf(asked);
  return saved(asked, path, {
    make: (current) =>
      current !== null && shownTopic(current).version === field('shown') ? withTopic(current, typed) : null,
    conflict: () => topicConflict(at, memory, { path, ...typed }),
  });
}

/** `make`: null where what stands there is not what the person was shown. */
async function saved(
  { at, memory }: Asked,
  path: string,
  { make, conflict }: { make(current: string | null): string | null; conflict(): Promise<View> },
): Promise<Done> {
  try {
    const { job } = await at.app.edit({
      ...{ memory: memory.id, path },
      make(current) {
        const text = make(current);
        if (text === null) throw new AppError('conflict', `${path} was changed meanwhile; your text was not saved.`);
        return text;
      },
    });
    return job === null
      ? { text: 'Nothing to change: it says that already.' }
      : { text: 'Saved.', undo: { memory: memory.id, job } };
  } catch (error) {
    if (!isAppError(error, 'conflict')) throw error;
    return conflict();
  }
}

async function pinTopic(asked: Asked): Promise<Done> {
  const { at, memory, field } = asked;
  const pinned = field('pinned') === 'true';
  const { job } = await at.app.pin({ memory: memory.id, path: topicOf(asked), pinned });
  const text = pinned ? 'Pinned: no dream changes it.' : 'Dreams may change it again.';
  return { text, ...(job && { undo: { memory: memory.id, job } }) };
}

async function forgetIt({ at, memory, field }: Asked): Promise<Done> {
  const [target, said] = [field('target'), field('said') || undefined];
  const report = await at.app.forget(memory.row, { target, said, confirm: async () => true });
  if (report.outcome === 'forgotten') {
    const { lines, entries, topics, job } = report;
    const [one] = [
      ...(topics.length > 0 ? [sayCount(topics.length, 'topic')] : []),
      ...(lines.length > 0 ? [sayCount(lines.length, 'line')] : []),
      sayCount(entries.length, 'entry'),
    ];
    const text = `Forgotten: ${one}. It is not learned again from the same source.`;
    return { text, undo: { memory: memory.id, job } };
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
  if (memory.root === null)
    throw new AppError(
      'bad-input',
      'Its sessions did not all run in one repository, so there is no team to share with.',
    );
  const sources = [{ path, text: (await readTopic(at, memory, path)) ?? '' }];
  const report = await shareWithTeam(at.app, memory.row, { sources }, { cwd: memory.root });
  if (report.outcome === 'known') return { text: "The team's memory has all of it already." };
  if (report.outcome === 'refused') {
    const where = report.secrets.map(({ line, rule }) => `line ${line} (${rule})`).join(', ');
    return { text: `Not shared: it holds secrets, ${where}.`, isProblem: true };
  }
  const undo = report.job === null ? {} : { undo: { memory: memory.id, job: report.job } };
  return { text: "Shared: commit the team's memory with git as you do with other files.", ...undo };
}

async function undoJob({ at, memory, field }: Asked): Promise<Done> {
  const report = await at.app.undo({ job: field('job') });
  if (report.undo !== null) {
    const text = report.kind === 'undo' ? 'Done again.' : 'Taken back.';
    return { text, undo: { memory: memory.id, job: report.undo, isRedo: true } };
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
  const words: Record<string, Word> = {
    accept: { kind: 'accept' },
    reject: { kind: 'reject', because: field('because') || undefined },
    edit: { kind: 'edit', text: field('text'), topic: field('topic') || undefined },
  };
  const word = Object.hasOwn(words, field('word')) ? words[field('word')] : undefined;
  if (!word) throw new AppError('bad-input', 'Choose accept, reject or edit.');
  const ids = field('id') === 'all' ? undefined : [field('id')];
  const { app } = at;
  const decided = await withoutDreams(app, memory.row, (claim) => app.review(memory.row, { ids, word, claim }));
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
