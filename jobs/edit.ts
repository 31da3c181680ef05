// A person changes a file of the memory, and what comes of it is an action that undo takes back. `edit`: in an editor.
// `editLine`: one line of a topic, `editTopic`: its description and body, `editText`: all of a file, each from what the person was
// shown. `pin`: jobs
// leave a topic as it is, or may change it again.
//
// An edit in an editor:
// 1. What was edited outside before is taken in as such.
// 2. The editor works on the file itself: what it saves is there at once, also where it goes on after this has ended.
// 3. What is saved by then is taken in as every edit is, lines and what they rest on; each commit of that is one action.
//    The index follows.

import { AppError } from '../src/base/errors.ts';
import type { Clock } from '../src/base/time.ts';
import { indexFollowing } from '../src/memory/dream/index-follow.ts';
import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import { shaOf } from '../src/memory/ledger/version-rows.ts';
import type { Store } from '../src/memory/store/store.ts';
import { fold, lineEndOf } from '../src/memory/text/blocks.ts';
import { bodyStart, dropKey, readFrontmatter, setKeys } from '../src/memory/text/frontmatter.ts';
import { type LocatedLine, locateLines, parseTopic } from '../src/memory/text/topic.ts';

/** `open` answers whether the editor ended well. Answers that, and the jobs with which what was saved can be undone. */
export async function edit(
  { path, open }: { path: string; open(): boolean },
  { store }: { store: Store },
): Promise<{ isFine: boolean; jobs: string[] }> {
  const { ledger } = store;
  // 1.
  await store.lookUp(path);
  const last = ledger.get<{ id: number }>('select coalesce(max(id), 0) as id from "commit"')?.id ?? 0;
  // 2.
  const isFine = open();
  // 3.
  await store.lookUp(path);
  const jobs = await store.enterRows(() => {
    const sql = `select distinct version."commit" as id from version join memory on memory.id = version.memory
      where memory.path = ? and version."commit" > ? and version.actor = 'external' order by 1`;
    const commits = ledger.all<{ id: number }>(sql, path, last);
    return commits.map(({ id: commit }) => enterPersonsJob({ ledger, commit }, EDITED));
  });
  if (jobs.length > 0) {
    await store.commit({ actor: 'person' }, () => {
      const index = indexFollowing(store, [{ path }]);
      return { files: index.files, rows: (transaction) => index.finish(transaction) };
    });
  }
  return { isFine, jobs };
}

/**
 * Puts `text` in the place of the line with this id, bullet marker and all; empty takes it out. Answers with which job it can
 * be undone; null where that is what stands there. Throws `conflict` where the line is not as it was shown any more: nothing
 * is changed then.
 */
export async function editLine(
  { path, line, shown, text }: { path: string; line: string; shown: string; text: string },
  at: { store: Store; clock: Clock },
): Promise<string | null> {
  const now = withUnixEnds(text).trimEnd();
  if (now === withUnixEnds(shown).trimEnd()) return null;
  return asPerson(EDITED, path, at, (current) => {
    const raw = current ?? '';
    const isMeant = (each: LocatedLine) => each.id === line && shownLine(raw, each) === withUnixEnds(shown).trimEnd();
    const place = locateLines(raw).find(isMeant);
    if (!place) throw changedMeanwhile(`The line was changed in ${path}`);
    const { from, to } = place;
    const end = lineEndOf(raw);
    const written = now === '' ? '' : `${now.replaceAll('\n', end)}${raw.slice(from, to).endsWith('\n') ? end : ''}`;
    return raw.slice(0, from) + written + raw.slice(to);
  });
}

/**
 * Gives a file another text than the person was shown. Answers with which job it can be undone; null where nothing changes.
 * Throws `conflict` where the file is not as it was shown any more: nothing is changed then.
 */
export async function editText(
  { path, shown, text }: { path: string; shown: string; text: string },
  at: { store: Store; clock: Clock },
): Promise<string | null> {
  return asPerson(EDITED, path, at, (current) => {
    if (current !== shown) throw changedMeanwhile(`${path} was changed`);
    return text;
  });
}

const EDITED = { kind: 'edit', outcome: 'edited' } as const;

function changedMeanwhile(what: string): AppError {
  return new AppError('conflict', `${what} meanwhile; nothing of yours was written.`);
}

/** Changes one file as a person does; answers with which job it can be undone: null where nothing was changed. */
async function asPerson(
  done: Pick<Parameters<typeof enterPersonsJob>[1], 'kind' | 'outcome'>,
  path: string,
  { store, clock }: { store: Store; clock: Clock },
  change: (current: string | null) => string | null,
): Promise<string | null> {
  let isChanged = false;
  let job: string | null = null;
  const noted = (current: string | null) => {
    const text = change(current);
    isChanged = text !== current;
    return text;
  };
  await store.commit({ actor: 'person' }, () => {
    const index = indexFollowing(store, [{ path }]);
    return {
      files: [{ path, change: noted }, ...index.files],
      rows(transaction) {
        index.finish(transaction);
        if (isChanged) job = enterPersonsJob(transaction, { ...done, now: clock.now() });
      },
    };
  });
  return job;
}

/** A line as it stands in the file, with its marker, for whoever edits it. */
export function shownLine(raw: string, { from, to }: Pick<LocatedLine, 'from' | 'to'>): string {
  return withUnixEnds(raw.slice(from, to)).trimEnd();
}

/** What a person edits of a topic. */
interface ShownTopic {
  /** The SHA-256 of the file, in hex. */
  version: string;
  /** Of the frontmatter, on one line; empty where it has none. */
  description: string;
  /** All behind the frontmatter, with `\n`, without the blank lines around it. */
  body: string;
}

export function shownTopic(raw: string): ShownTopic {
  const { description } = readFrontmatter(raw).data;
  return {
    version: shaOf(raw),
    description: typeof description === 'string' ? fold(description) : '',
    body: bodyIn(raw).body,
  };
}

/**
 * Gives a topic another description and body; what of them stays the same stays byte for byte, as do other keys. Answers with
 * which job it can be undone; null where nothing changes. Throws `conflict` where the file is not the version `shown` any
 * more: nothing is changed then.
 */
export async function editTopic(
  { path, shown, description, body }: { path: string; shown: string; description: string; body: string },
  at: { store: Store; clock: Clock },
): Promise<string | null> {
  return asPerson(EDITED, path, at, (current) => {
    if (current === null || shaOf(current) !== shown) throw changedMeanwhile(`${path} was changed`);
    return withDescription(withBody(current, body), fold(description));
  });
}

function withDescription(raw: string, description: string): string {
  if (description === shownTopic(raw).description) return raw;
  return description === '' ? dropKey(raw, 'description') : setKeys(raw, { description });
}

function withBody(raw: string, given: string): string {
  const had = bodyIn(raw);
  const { body } = bodyIn(given, 0);
  if (body === had.body) return raw;
  const end = lineEndOf(raw);
  const head = raw.slice(0, had.from);
  const start = had.from > 0 && !head.endsWith('\n') ? end : '';
  const behind = had.body === '' ? end : raw.slice(had.to);
  const text = body === '' ? head : head + start + body.replaceAll('\n', end) + behind;
  // A rule that comes to stand first would make what follows it frontmatter.
  return bodyStart(raw) === 0 && bodyStart(text) > 0 ? end + text : text;
}

/** The body without the blank lines around it, and where it stands. */
function bodyIn(raw: string, start = bodyStart(raw)): { body: string; from: number; to: number } {
  const from = start + (/^(?:[ \t]*\r?\n)*/.exec(raw.slice(start))?.[0].length ?? 0);
  const body = raw.slice(from).trimEnd();
  return { body: withUnixEnds(body), from, to: from + body.length };
}

function withUnixEnds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** Whether that changed the topic's file, and with which job it can be undone. */
export async function pin(
  { path, pinned }: { path: string; pinned: boolean },
  at: { store: Store; clock: Clock },
): Promise<{ changed: boolean; job: string | null }> {
  const done = { kind: pinned ? 'pin' : 'unpin', outcome: pinned ? 'pinned' : 'unpinned' } as const;
  const job = await asPerson(done, path, at, (current) => {
    if (current === null || parseTopic(path, current).pinned === pinned) return current;
    return pinned ? setKeys(current, { pinned }) : dropKey(current, 'pinned');
  });
  return { changed: job !== null, job };
}
