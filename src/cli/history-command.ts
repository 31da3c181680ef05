// Files of the memory as they are and as they were. Topics as a person names them: by name or by file, in the memory or on the disk;
// what is not there is told with the nearest name. show, which also opens them in the person's editor and pins them; and how one becomes
// again what it was.

import { randomUUID } from 'node:crypto';
import { basename, isAbsolute, join, relative, sep } from 'node:path';
import { AppError } from '../base/errors.ts';
import { canonicalPath, removeTree } from '../base/files/directories.ts';
import { makeDirectory, readTextNow, writeNew } from '../base/files/files.ts';
import { didYouMean } from '../base/text/wording.ts';
import { unifiedDiff } from '../memory/edit-text.ts';
import type { Actor } from '../memory/file-rows.ts';
import type { MemoryRow } from '../memory/memories.ts';
import type { FileText } from '../memory/memory-files.ts';
import { shortId, wholeId } from '../memory/short-ids.ts';
import { archivePath, isTopicFile, isTopicPath } from '../memory/text/topic.ts';
import type { Version } from '../memory/versions.ts';
import { EXIT, note, openEditor, print, printRaw, printTable } from '../terminal/output.ts';
import { sayWhen } from '../terminal/phrases.ts';
import type { App } from '../worker/compose.ts';
import { placeOf } from '../worker/whose-memory.ts';
import { type CommonOptions, MEMORY, memoryKept, requirePerson, undoCommand, wholeFrom } from './cli-options.ts';
import type { Call, CommandSpec } from './spec.ts';

const HISTORY_JSON = '{ versions: [{ id, memory, path, operation, actor, at, sha, sizeBytes, … }] }';

interface ShowOptions extends CommonOptions {
  limit: number;
  version?: string;
  history?: boolean;
  diff?: boolean;
  edit?: boolean;
  pin?: boolean;
  unpin?: boolean;
}

type ShowCall = Call<ShowOptions, [string | undefined]>;

const show: CommandSpec<ShowOptions, [string | undefined]> = {
  name: 'show',
  about: 'a file, as it is or was: --history, --diff, --edit',
  args: [['[file]', 'a topic, or a file of the memory directory (default: the index, MEMORY.md)']],
  options: [
    ['--version <id>', 'as it was in this version (memver_…); with --diff: what changed since'],
    ['--history', 'its versions, newest first; without a file, those of all files', { conflicts: ['diff', 'edit'] }],
    ['--diff', 'what changed (default: the last change)', { conflicts: ['edit'] }],
    ['--edit', 'open it in your editor; without a file, the whole memory'],
    ['--pin', 'jobs leave the topic as it is', { conflicts: ['history', 'diff', 'edit', 'unpin'] }],
    ['--unpin', 'jobs may change the topic again', { conflicts: ['history', 'diff', 'edit'] }],
    ['--limit <n>', 'with --history: how many versions', { default: 20, parse: wholeFrom(1, 1_000) }],
    ...MEMORY,
  ],
  json: `{ path, text }, or with --version the version and its text; with --history ${HISTORY_JSON}; with --diff { path, from, to, diff }; with --edit { path }, and nothing is opened; with --pin and --unpin { path, pinned, changed }`,
  more: 'VISUAL or EDITOR names the editor. Without one, or piped, --edit prints the path.',
  examples: ['show working-agreements', 'show MEMORY.md --version memver_01234567', 'show working-agreements --diff'],
  async inApp(app, call) {
    const { history, diff, edit, pin, unpin } = call.options;
    if (edit) return openInEditor(app, call);
    const [topic] = call.args;
    if (pin || unpin) return setPinned(app, call, topic ?? call.wrong('name the topic'), !unpin);
    const memory = await memoryKept(app);
    if (history) return listHistory(app, memory, call);
    return diff ? showDiff(app, memory, call) : showFile(app, memory, call);
  },
};

/** Whether jobs must leave a topic as it is. */
async function setPinned(app: App, call: ShowCall, topic: string, pinned: boolean): Promise<void> {
  requirePerson(app.config, 'show --pin');
  const found = await app.findMemory();
  const path = await topicFile(app, found, topic);
  const { job } = await app.pin({ memory: (found as MemoryRow).id, path, pinned });
  const changed = job !== null;
  const said = pinned ? `is pinned${changed ? '' : ' already'}` : `${changed ? 'is no longer' : 'was not'} pinned`;
  print(call.options.json ? { path, pinned, changed } : `${path} ${said}.`);
}

async function listHistory(app: App, memory: MemoryRow, { args: [given], options }: ShowCall): Promise<void> {
  const { limit, json } = options;
  const path = given === undefined ? undefined : await fileNamed(app, memory, given);
  if (path !== undefined) await lastVersion(app, memory, path);
  const { items, next } = await app.files(memory).versions({ path, limit });
  if (json) return print({ versions: items.map(toldVersion) });
  if (items.length === 0) note(`No version is kept in ${placeOf(memory)}.`);
  const rows = items.map(async (version) => {
    const { at, op, path, size, redactedAt } = version;
    const where = redactedAt ? `(redacted ${sayWhen(redactedAt, app.config)})` : (path ?? '');
    const by = await sayActor(app, version);
    const id = await shortId(app.db, 'version', version.id);
    return [sayWhen(at, app.config), id, op, size === null ? '–' : String(size), by, where];
  });
  printTable(['when', 'version', 'what', 'bytes', 'by', 'file'], await Promise.all(rows));
  if (next !== null) note('There are older ones; --limit shows more.');
}

function actorName({ kind, id }: Actor): string {
  const name = kind === 'user' ? 'person' : kind;
  return id === null ? name : `${name}:${id}`;
}

/** As a person is told, with what undo takes: `you, edit job_5b1e02f7`, `dream job_0d8c1a52`. */
async function sayActor({ db }: App, { actor, job }: Version): Promise<string> {
  if (actor.kind === 'external') return 'an edit of the file';
  const who = actor.kind === 'user' ? 'you' : actorName(actor);
  const kind = job && (await db.get<{ kind: string }>('select kind from job where id = ?', job))?.kind;
  if (!kind) return who;
  const did = `${kind === 'extract' || kind === 'reprocess' ? 'learn' : kind} ${await shortId(db, 'job', job)}`;
  return actor.kind === 'job' ? did : `${who}, ${did}`;
}

/** A version as JSON says it. */
function toldVersion({ file, op, size, actor, redactedBy, job: _, ...version }: Version) {
  const { id, path, at, sha, previous, redactedAt, ...more } = version;
  return {
    ...{ id, memory: file, path, operation: op, actor: actorName(actor), at, sha, sizeBytes: size, previous },
    ...{ redactedAt, redactedBy: redactedBy && actorName(redactedBy), ...more },
  };
}

async function showFile(app: App, memory: MemoryRow, { args, options: { version, json } }: ShowCall): Promise<void> {
  const [given = 'MEMORY.md'] = args;
  if (version !== undefined) {
    const path = await fileNamed(app, memory, given);
    const found = await versionNamed(app, memory, { path, given: version });
    return json ? print(toldVersion(found)) : printRaw(textOf(found));
  }
  const { path, text } = await fileThere(app, memory, given);
  return json ? print({ path, text }) : printRaw(text);
}

/** A file as it stands; throws `bad-input` that names the nearest topic where it is not there. */
async function fileThere(app: App, memory: MemoryRow, given: string): Promise<FileText> {
  const path = await fileNamed(app, memory, given);
  const file = await app.files(memory).read({ path });
  if (file) return file;
  const near = didYouMean(given, await topicNames(app, memory), 'nocturne list shows the topics.');
  throw new AppError('bad-input', `There is no ${path} in ${placeOf(memory)}.`, {
    remedy: `${near} If it was deleted, nocturne show ${path} --history lists its versions.`,
  });
}

/** A version of the file at `path`; throws `bad-input` where there is none, and for one of another file. */
async function versionNamed(
  app: App,
  memory: MemoryRow,
  { path, given }: { path: string; given: string },
): Promise<Version> {
  const files = app.files(memory);
  const version = await files.version(await wholeId(app.db, 'version', given));
  if (version && (version.path === path || version.file === (await files.read({ path }))?.id)) return version;
  throw new AppError('bad-input', `There is no version ${given} of ${path} in ${placeOf(memory)}.`, {
    remedy: 'nocturne show --history lists those that are kept, with their paths.',
  });
}

/** The text of a version. Throws `bad-input` where it holds none. */
function textOf({ id, text, op, redactedAt }: Version): string {
  if (redactedAt) throw new AppError('bad-input', `The text of version ${id} was redacted.`);
  if (text == null) throw new AppError('bad-input', `In version ${id} the file was ${op}.`);
  return text;
}

async function showDiff(app: App, memory: MemoryRow, { args, options }: ShowCall): Promise<void> {
  const { version, json } = options;
  const path = await fileNamed(app, memory, args[0] ?? 'MEMORY.md');
  const side = async (given: string | null) => {
    if (given === null) return { name: '/dev/null', text: '' };
    const found = await versionNamed(app, memory, { path, given });
    if (found.redactedAt) throw new AppError('bad-input', `The text of version ${found.id} was redacted.`);
    const id = json ? found.id : await shortId(app.db, 'version', found.id);
    return { name: `${path} (${id})`, text: found.text ?? '' };
  };
  // Null where the last change created the file.
  const from = await side(version ?? (await lastVersion(app, memory, path)).previous);
  const to = { name: path, text: (await app.files(memory).read({ path }))?.text ?? '' };
  const diff = unifiedDiff(from, to);
  return json ? print({ path, from: from.name, to: to.name, diff }) : printRaw(diff);
}

async function lastVersion(app: App, memory: MemoryRow, path: string): Promise<Version> {
  const [last] = (await app.files(memory).versions({ path, limit: 1 })).items;
  if (last) return last;
  throw new AppError('bad-input', `There is no version of ${path} in ${placeOf(memory)}.`, {
    remedy: 'nocturne show --history without a path lists all versions, with their paths.',
  });
}

/** Makes a file what it was in a version. */
export async function restoreFile(
  app: App,
  given: string,
  { version, json }: { version: string; json?: boolean },
): Promise<void> {
  const memory = await app.memoryFor();
  const path = await fileNamed(app, memory, given);
  const { id } = await versionNamed(app, memory, { path, given: version });
  const restored = await app.restore({ memory: memory.id, version: id });
  const head = restored.version && (await app.files(memory).version(restored.version));
  if (json) return print(head ? toldVersion({ ...head, text: undefined }) : restored);
  const nameOf = async (of: string | null) => of && shortId(app.db, 'version', of);
  const now = `version ${await nameOf(restored.version)}`;
  print(`${restored.path} is what it was in ${await nameOf(id)}; ${now}. nocturne undo takes it back.`);
}

/** Opens a file of the memory, or all of it, in the person's editor. */
async function openInEditor(app: App, call: ShowCall): Promise<void> {
  const { options, args } = call;
  const memory = await memoryKept(app);
  const shown = args[0] === undefined ? undefined : await fileThere(app, memory, args[0]);
  const editor = process.stdout.isTTY && !options.json ? app.config.editor : undefined;
  if (memory.dir === null) {
    if (shown && editor) return editCopy(app, memory, { shown, editor, options });
    const what = `The memory ${placeOf(memory)} is in the database: it has no files that an editor could change.`;
    throw new AppError('refused', what, {
      remedy: 'nocturne show FILE --edit at a terminal, with VISUAL or EDITOR set, edits a copy of one.',
    });
  }
  const place = join(memory.dir, shown?.path ?? '');
  if (!editor) return print(options.json ? { path: place } : place);
  if (!shown) return endAs(openEditor(editor, place));
  const asked = { memory: memory.id, path: shown.path, open: () => openEditor(editor, place) };
  const { isFine, job } = await app.editInPlace(asked);
  const nothing = isFine ? 'Nothing was saved yet; what you save later is kept too.' : 'Nothing was saved.';
  await noteSaved(app, { job, options, nothing });
  endAs(isFine);
}

function endAs(isFine: boolean): void {
  process.exitCode = isFine ? EXIT.fine : EXIT.failed;
}

/**
 * A file of a memory without a directory: the editor gets a private copy, and what was saved of it is one commit, unless the file
 * was changed meanwhile. What could not be written stays where the editor left it.
 */
async function editCopy(
  app: App,
  memory: MemoryRow,
  { shown, editor, options }: { shown: FileText; editor: string; options: CommonOptions },
): Promise<void> {
  const dir = join(app.config.home, 'edits', randomUUID().slice(0, 8));
  const copy = join(dir, basename(shown.path));
  makeDirectory(dir);
  writeNew(copy, shown.text);
  const isFine = openEditor(editor, copy);
  const text = readTextNow(copy);
  try {
    const isSame = text === null || text === shown.text;
    const change = { memory: memory.id, path: shown.path, base: shown.version, make: () => text };
    const edited = isSame ? null : await app.edit(change);
    await noteSaved(app, { job: edited?.job ?? null, options, nothing: 'Nothing was changed.' });
  } catch (error) {
    note(`What you wrote is in ${copy}.`);
    throw error;
  }
  removeTree(dir);
  endAs(isFine);
}

async function noteSaved(
  app: App,
  { job, options, nothing }: { job: string | null; options: CommonOptions; nothing: string },
): Promise<void> {
  note(job === null ? nothing : `Saved; ${await undoCommand(app, job, options)} takes it back.`);
}

/** The names of the living topics. */
export async function topicNames({ db }: App, { id }: Pick<MemoryRow, 'id'>): Promise<string[]> {
  const topics = 'select path from file where memory = ? and meta is not null and path is not null order by path';
  const rows = await db.all<{ path: string }>(topics, id);
  return rows.flatMap(({ path }) => (isTopicPath(path) ? path.replace(/\.md$/i, '') : []));
}

/** A topic, and perhaps a line of it, by its number or its id. */
export const LINE = /^(.+?)(?::(\d+|[0-9a-f]{8}))?$/;

/** The file of a topic, by its name or its path; undefined where there is none. One in the archive is found where no other is. */
export async function findTopic(app: App, memory: MemoryRow, given: string): Promise<string | undefined> {
  const path = pathIn(memory, given);
  for (const each of [path, `${path}.md`, archivePath(path), archivePath(`${path}.md`)]) {
    if (!isTopicFile(each)) continue;
    const found = await app.files(memory).read({ path: each });
    if (found) return found.path;
  }
  return undefined;
}

/** The path of any file, whether it is there, was, or never was; a topic may be named without its ending. */
async function fileNamed(app: App, memory: MemoryRow, given: string): Promise<string> {
  const found = await findTopic(app, memory, given);
  if (found) return found;
  const path = pathIn(memory, given);
  const { items } = await app.files(memory).versions({ path: `${path}.md`, limit: 1 });
  return items.length > 0 ? `${path}.md` : path;
}

function pathIn({ dir }: MemoryRow, given: string): string {
  return isAbsolute(given) && dir !== null
    ? relative(dir, canonicalPath(given)).split(sep).join('/')
    : given.replace(/^\.\//, '');
}

/** The same as `findTopic`. Errors: `bad-input` that names the nearest; `memory`: null where there is none yet. */
export async function topicFile(app: App, memory: MemoryRow | null, given: string): Promise<string> {
  const found = memory && (await findTopic(app, memory, given));
  if (found) return found;
  const called = memory ? placeOf(memory) : app.memoryDirOf();
  throw new AppError('bad-input', `There is no topic ${JSON.stringify(given)} in ${called}.`, {
    remedy: didYouMean(given, memory ? await topicNames(app, memory) : [], 'nocturne list shows the topics.'),
  });
}

export const commands: CommandSpec[] = [show];
