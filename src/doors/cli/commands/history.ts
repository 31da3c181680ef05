// Files of the memory as they are and as they were: show, restore, and open in the person's editor.

import { randomUUID } from 'node:crypto';
import { basename, join } from 'node:path';
import { edit as editMemory, editText } from '../../../../jobs/edit.ts';
import { AppError } from '../../../base/errors.ts';
import { isDirectory, removeTree } from '../../../base/files/directories.ts';
import { makeDirectory, readTextNow, statNow, writeNew } from '../../../base/files/files.ts';
import { didYouMean } from '../../../base/text/wording.ts';
import { toInstant } from '../../../base/time.ts';
import { unifiedDiff } from '../../../memory/history/line-diff.ts';
import {
  headVersion,
  listVersions,
  OPERATIONS,
  readVersion,
  restoreVersion,
  type Version,
  type VersionFilter,
} from '../../../memory/history/versions.ts';
import type { Ledger } from '../../../memory/ledger/ledger.ts';
import { shortActor, shortId, wholeId } from '../../../memory/ledger/short-ids.ts';
import { catalogTopics } from '../../../memory/recall/catalog.ts';
import type { MemoryReader } from '../../../memory/store/live-files.ts';
import type { Call, CommandSpec, OptionSpec } from '../spec.ts';
import { openEditor } from '../terminal/ask.ts';
import { findTopic, inReader, memoryPath, topicFile, withLooking } from '../terminal/looking.ts';
import {
  type CommonOptions,
  countUpTo,
  inApp,
  MEMORY,
  parsed,
  requirePerson,
  undoCommand,
  withApp,
} from '../terminal/options.ts';
import { EXIT, note, print, printRaw, printTable } from '../terminal/output.ts';
import { type Seen, sayWhen } from '../terminal/phrases.ts';

type HistoryOptions = CommonOptions & Omit<VersionFilter, 'path' | 'memory'>;

/** As the ledger writes instants, so that they can be compared as texts. */
const instantFrom = parsed(
  (text) => toInstant(text) || undefined,
  'It is no ISO-8601 instant like 2026-11-21 or 2026-11-21T09:30:00Z.',
);

/** Which versions are listed. */
const LISTED: OptionSpec[] = [
  ['--limit <n>', 'so many versions', { default: 20, parse: countUpTo(1_000) }],
  ['--page <cursor>', 'go on behind this version, the nextPage of --json'],
  ['--operation <name>', 'only what was done so', { choices: OPERATIONS }],
  ['--actor <actor>', 'job, person, external, or one of them: job:job_01234567'],
  ['--since <instant>', 'not older, ISO-8601', { parse: instantFrom }],
  ['--until <instant>', 'not newer, ISO-8601', { parse: instantFrom }],
];
const HISTORY_JSON = '{ versions: [{ id, memory, path, operation, actor, at, sha, sizeBytes, … }], nextPage }';

const listHistory = inReader<HistoryOptions, [string | undefined]>(async (store, app, call) => {
  const { limit, page, operation, actor, since, until, json } = call.options;
  const [given] = call.args;
  const path = given === undefined ? undefined : fileNamed(store, given);
  const { ledger } = store;
  const asked = { limit, page: page && wholeId(ledger, 'version', page), actor: actorFrom(ledger, actor) };
  const found = listVersions(ledger, { ...asked, path, operation, since, until });
  if (path !== undefined && listVersions(ledger, { path, limit: 1 }).versions.length === 0) {
    throw new AppError('bad-input', `No version of ${path} is known in ${store.id}.`, {
      remedy: 'nocturne show --history without a path lists all versions, with their paths.',
    });
  }
  if (json) return print(found);
  if (found.versions.length === 0) note(`No version like that is kept in ${store.id}.`);
  const rows = found.versions.map((version) => rowOf(version, store, app.config));
  printTable(['when', 'version', 'what', 'bytes', 'by', 'file'], rows);
  if (found.nextPage) print(`… older ones: --page ${shortId(ledger, 'version', found.nextPage)}`);
});

function rowOf(version: Version, { ledger }: MemoryReader, seen: Seen): string[] {
  const { at, id, operation, sizeBytes, actor, path, redactedAt } = version;
  const where = redactedAt ? `(redacted ${sayWhen(redactedAt, seen)})` : (path ?? '');
  const bytes = sizeBytes === null ? '–' : String(sizeBytes);
  return [sayWhen(at, seen), shortId(ledger, 'version', id), operation, bytes, shortActor(ledger, actor), where];
}

/** One job may be named by what its id begins with. */
function actorFrom(ledger: Ledger, actor: string | undefined): string | undefined {
  const job = /^job:(.+)$/.exec(actor ?? '')?.[1];
  return job === undefined ? actor : `job:${wholeId(ledger, 'job', job)}`;
}

interface ShowOptions extends HistoryOptions {
  version?: string;
  with?: string;
  history?: boolean;
  diff?: boolean;
  edit?: boolean;
}

/** What `show` does: one of these, or it prints the file. */
const WAYS = ['history', 'diff', 'edit'];

const show: CommandSpec<ShowOptions, [string | undefined]> = {
  name: 'show',
  about: 'a file as it is or was: --history, --diff, --edit',
  group: 'Every day',
  args: [['[file]', 'a topic, or a file of the memory directory (default: the index, MEMORY.md)']],
  options: [
    ['--version <id>', 'as it was in this version (memver_…); with --diff: from it on'],
    ['--history', 'its versions, newest first, or without a file those of all', { conflicts: ['diff', 'edit'] }],
    ['--diff', 'what changed in it (default: with the last change)', { conflicts: ['edit'] }],
    ['--with <id>', 'with --diff: up to this version (default: the file as it is)'],
    ['--edit', 'open it, or without a file the memory, in your editor'],
    ...LISTED.map(([flags, about, more]): OptionSpec => [flags, `with --history: ${about}`, more]),
    ...MEMORY,
  ],
  json: `{ path, text }, or with --version the version and its text; with --history ${HISTORY_JSON}; with --diff { path, from, to, diff }; with --edit { path }, and nothing is opened`,
  more: 'VISUAL or EDITOR names the editor. Without one, or piped, --edit prints the path.',
  examples: ['show working-agreements', 'show MEMORY.md --version memver_01234567', 'show working-agreements --diff'],
  run(call) {
    const { options, args } = call;
    if (WAYS.every((way) => !Object(options)[way]) && options.with) call.wrong('--with goes with --diff');
    if (options.history) return listHistory(call);
    if (options.edit) return edit(call);
    const [given = 'MEMORY.md'] = args;
    return options.diff ? showDiff({ ...call, args: [given] }) : showFile({ ...call, args: [given] });
  },
};

const showFile = inReader<ShowOptions, [string]>(async (store, _app, call) => {
  const { version: id, json } = call.options;
  const path = fileNamed(store, call.args[0]);
  if (id) {
    const version = versionOf(store, { path, id });
    return json ? print(version) : printRaw(textOf(version));
  }
  const text = await store.read(path);
  if (text === null) {
    const names = catalogTopics(store.dir, store.ledger).map(({ name }) => name);
    const near = didYouMean(call.args[0], names, 'nocturne list names the topics.');
    throw new AppError('bad-input', `There is no ${path} in ${store.id}.`, {
      remedy: `${near} Where it was deleted, nocturne show ${path} --history names its versions.`,
    });
  }
  if (json) return print({ path, text });
  printRaw(text);
});

/** A version of the file at `path`; throws `bad-input` for one of another file. */
function versionOf(store: MemoryReader, { path, id: given }: { path: string; id: string }) {
  const id = wholeId(store.ledger, 'version', given);
  const version = readVersion(store.ledger, id);
  const memory = store.ledger.get('select id from memory where path = ?', path)?.id;
  if (version.path === path || version.memory === memory) return version;
  throw new AppError(
    'bad-input',
    `Version ${shortId(store.ledger, 'version', id)} is of ${version.path ?? 'a file whose path was redacted'}, not of ${path}.`,
    { remedy: `nocturne show ${path} --history lists the versions of ${path}.` },
  );
}

/** The text of a version. Throws `bad-input` where it holds none. */
function textOf({ id, text, operation, redactedAt }: ReturnType<typeof readVersion>): string {
  if (redactedAt) throw new AppError('bad-input', `The text of version ${id} was redacted.`);
  if (text === null) throw new AppError('bad-input', `In version ${id} the file was ${operation}.`);
  return text;
}

/** A topic may be named without its ending. */
function fileNamed(store: MemoryReader, given: string): string {
  return findTopic(store.dir, given) ?? memoryPath(store, given);
}

type DiffOptions = CommonOptions & { version?: string; with?: string };

const showDiff = inReader<DiffOptions, [string]>(async (store, _app, call) => {
  const { version, with: upTo, json } = call.options;
  const path = fileNamed(store, call.args[0]);
  const nameOf = (id: string) => (json ? id : shortId(store.ledger, 'version', id));
  const from = versionSide(store, { path, id: version ?? beforeLastChange(store, path), nameOf });
  const standing = async () => ({ name: path, text: (await store.read(path)) ?? '' });
  const to = upTo ? versionSide(store, { path, id: upTo, nameOf }) : await standing();
  const changes = unifiedDiff(from, to);
  if (json) return print({ path, from: from.name, to: to.name, diff: changes });
  printRaw(changes);
});

function versionSide(
  store: MemoryReader,
  { path, id, nameOf }: { path: string; id: string | null; nameOf(id: string): string },
): { name: string; text: string } {
  if (id === null) return { name: '/dev/null', text: '' };
  const version = versionOf(store, { path, id });
  if (version.redactedAt) throw new AppError('bad-input', `The text of version ${id} was redacted.`);
  return { name: `${path} (${nameOf(version.id)})`, text: version.text ?? '' };
}

/** Null where the last change created the file. */
function beforeLastChange(store: MemoryReader, path: string): string | null {
  const head = headVersion(store.ledger, path);
  if (head) return head.previous;
  throw new AppError('bad-input', `No version of ${path} is known in ${store.id}.`, {
    remedy: 'nocturne show --history lists all versions.',
  });
}

const restore: CommandSpec<CommonOptions & { version: string }, [string]> = {
  name: 'restore',
  about: 'make a file what it was in a version',
  group: 'Under the hood',
  args: [['<path>', 'file of the memory directory']],
  options: [['--version <id>', 'the version (memver_…, or what it begins with)', { isRequired: true }], ...MEMORY],
  json: 'the version that the file is at now, as show --history prints it',
  examples: ['restore working-agreements.md --version memver_01234567'],
  run: inApp(async (app, { options, args }) => {
    requirePerson(app.config, 'restore');
    const store = await app.storeFor();
    const { id } = versionOf(store, { path: fileNamed(store, args[0]), id: options.version });
    const head = await restoreVersion(store, id);
    if (options.json) return print(head);
    const nameOf = (version: string) => shortId(store.ledger, 'version', version);
    print(`${head.path} is what it was in ${nameOf(id)}; version ${nameOf(head.id)}. nocturne undo takes it back.`);
  }),
};

/** Opens a file of the memory, or all of it, in the person's editor. */
export async function edit(call: Call<CommonOptions, [string | undefined]>): Promise<void> {
  const [given] = call.args;
  const { path, editor, isElsewhere } = await withLooking(call, ({ config, id, dir, ledger }) => {
    const isElsewhere = config.databaseUrl !== undefined && ledger !== null;
    if (isElsewhere) {
      const editor = process.stdout.isTTY && !call.options.json ? config.editor : undefined;
      if (given === undefined || !editor) throw noFileFor(id);
      return { path: findTopic(dir, given) ?? memoryPath({ dir }, given), editor, isElsewhere };
    }
    const path = given === undefined ? dir : pathIn(dir, given);
    if (given === undefined && !isDirectory(dir)) {
      throw new AppError('bad-input', `There is no ${dir} yet.`, { remedy: 'nocturne remember begins it.' });
    }
    return { path, editor: process.stdout.isTTY ? config.editor : undefined, isElsewhere };
  });
  if (call.options.json) return print({ path });
  if (!editor) return print(path);
  const open = (at = path) => openEditor(editor, at);
  const editIt = isElsewhere ? editCopy : editFile;
  const isFine = given === undefined ? open() : await editIt(call, { path, open });
  process.exitCode = isFine ? EXIT.fine : EXIT.failed;
}

/** A copy of a store in the database is only read. */
function noFileFor(id: string): AppError {
  return new AppError('refused', `The memory ${id} is in the database: it has no files that an editor could change.`, {
    remedy:
      'nocturne show FILE --edit at a terminal, with VISUAL or EDITOR set, edits a copy of one; nocturne move --to-directory brings ' +
      'the memory into a directory.',
  });
}

/**
 * A file of a memory that is kept elsewhere: the editor gets a private copy, and what was saved of it is one commit, unless the
 * file was changed meanwhile. What could not be written stays where the editor left it.
 */
function editCopy(
  call: Call<CommonOptions>,
  { path, open }: { path: string; open(copy: string): boolean },
): Promise<boolean> {
  return withApp(call, async (app) => {
    const shown = await (await app.storeFor()).read(path);
    if (shown === null) throw new AppError('bad-input', `There is no ${path} in ${(await app.storeFor()).id}.`);
    const dir = join(app.config.home, 'edits', randomUUID().slice(0, 8));
    const copy = join(dir, basename(path));
    makeDirectory(dir);
    writeNew(copy, shown);
    const isFine = open(copy);
    const text = readTextNow(copy);
    // The editor may have been open for hours.
    const store = await app.storeFor();
    try {
      const isSame = text === null || text === shown;
      const job = isSame ? null : await editText({ path, shown, text }, { store, clock: app.config.clock });
      noteSaved(job ? [job] : [], { ...call.options, ledger: store.ledger, nothing: 'Nothing was changed.' });
    } catch (error) {
      note(`What you wrote is in ${copy}.`);
      throw error;
    }
    removeTree(dir);
    return isFine;
  });
}

/** One file, and how what was saved of it is taken back; answers whether the editor ended well. */
function editFile(call: Call<CommonOptions>, { path, open }: { path: string; open(): boolean }): Promise<boolean> {
  return withApp(call, async (app) => {
    const store = await app.storeFor();
    const { isFine, jobs } = await editMemory({ path: memoryPath(store, path), open }, { store });
    const nothing = 'Nothing was saved so far; what you save later is kept, too.';
    noteSaved(jobs, { ...call.options, ledger: store.ledger, nothing });
    return isFine;
  });
}

function noteSaved(jobs: string[], { nothing, ...at }: Parameters<typeof undoCommand>[1] & { nothing: string }): void {
  const undo = jobs.map((job) => undoCommand(job, at)).join(', ');
  note(jobs.length > 0 ? `Saved; ${undo} takes it back.` : nothing);
}

function pathIn(dir: string, given: string): string {
  return statNow(join(dir, given))?.isFile ? join(dir, given) : join(dir, topicFile(dir, given));
}

export const commands: CommandSpec[] = [show, restore];
