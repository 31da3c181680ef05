// The six commands of Anthropic's memory tool over a store, with the words of its documentation.
// Promises: a command is checked before anything happens, and every path by confine.ts; a change is one commit, made
// from what stands in the file at that moment, so that parallel commands all live; what cannot be done is an AppError
// `bad-input` whose message the model can read, and nothing is changed; no command overwrites a file; no secret is written.
// It never changes a file but through the store.

import { AppError } from '../base/errors.ts';
import { removeEmptyDirectories } from '../base/files/directories.ts';
import { holdsText } from '../base/files/files.ts';
import { indexFollowing } from '../memory/dream/index-follow.ts';
import { confine, type Location } from '../memory/store/confine.ts';
import { type Edited, insertLines } from '../memory/store/edit-text.ts';
import { namesNothing, readTree, snippet, viewMemory, withinMemory } from '../memory/store/memory-view.ts';
import type { Actor, FileChange, Store } from '../memory/store/store.ts';
import { readLines } from '../memory/text/blocks.ts';
import {
  type Command,
  type MemoryCommands,
  refusal,
  refuseJoinedSecret,
  refuseSecretName,
  replaceIn,
  withoutSecrets,
} from './memory-words.ts';

export interface MemoryToolOptions {
  /** `read-only`: every command but `view` is refused. */
  mode: 'read-write' | 'read-only';
  /** Who the changes are by. Default: `tool:memory`. */
  actor?: Actor;
}

export function memoryCommands(store: Store, options: MemoryToolOptions): MemoryCommands {
  const view = ({ path, view_range }: Command<'view'>) => viewMemory(store, { path, range: view_range });
  if (options.mode === 'read-only') {
    const refuse = async (): Promise<never> => {
      throw new AppError('bad-input', 'The memory is read-only here: only the command `view` works.');
    };
    return { view, create: refuse, str_replace: refuse, insert: refuse, delete: refuse, rename: refuse };
  }

  /** Makes one commit of what `plan` finds to be changed at that moment; answers what `done` says then. */
  async function commit(plan: () => { files: FileChange[]; done(): string }): Promise<string> {
    let done = () => '';
    const { collisions } = await store.commit({ actor: options.actor ?? 'tool:memory' }, () => {
      const planned = plan();
      done = planned.done;
      const index = indexFollowing(store, planned.files);
      return { files: [...planned.files, ...index.files], rows: (transaction) => index.finish(transaction) };
    });
    const answer = done();
    if (collisions.length === 0) return answer;
    return `${answer}\nSomebody else edited the same lines meanwhile, and their edit was kept: ${collisions.join(', ')}.`;
  }

  /** Edits a file that is there. */
  async function editFile(
    path: string,
    { missing, edit, done }: { missing: string; edit(text: string): Edited; done(edited: Edited): string },
  ): Promise<string> {
    const standing = placeOf(store, path, missing);
    const before = standing.kind === 'file' && holdsText(standing.absolute) ? await store.read(standing.path) : null;
    if (before !== null) await refuseJoinedSecret(path, before, edit(before).text);
    return commit(() => {
      const place = placeOf(store, path, missing);
      if (place.kind !== 'file') throw refusal(missing);
      requireText(place);
      let edited: Edited | undefined;
      const change = (current: string | null) => {
        if (current === null) throw refusal(missing);
        edited = edit(current);
        requireSize(edited.text, { path, before: current, maxBytes: store.limits.memoryBytes });
        return edited.text;
      };
      return { files: [{ path: place.path, change }], done: () => done(edited as Edited) };
    });
  }

  return {
    view,

    async create({ path, ...given }) {
      await refuseSecretName(path);
      const { text: file_text, note } = await withoutSecrets(given.file_text);
      requireSize(file_text, { path, before: '', maxBytes: store.limits.memoryBytes });
      return commit(() => {
        const place = placeOf(store, path);
        const exists = `Error: File ${path} already exists`;
        if (place.kind === 'directory') throw refusal(`${exists}: it is a directory`);
        const change = (current: string | null) => {
          if (current !== null) throw refusal(exists);
          return file_text;
        };
        return { files: [{ path: place.path, change }], done: () => `File created successfully at: ${path}${note}` };
      });
    },

    async str_replace({ path, old_str, ...given }) {
      const { text: new_str, note } = await withoutSecrets(given.new_str);
      return editFile(path, {
        missing: `Error: The path ${path} does not exist. Please provide a valid path.`,
        edit: (current) => replaceIn(current, { path, old_str, new_str }),
        done: (edited) => `The memory file has been edited. ${snippet(edited.text, edited)}${note}`,
      });
    },

    async insert({ path, insert_line, ...given }) {
      const { text: insert_text, note } = await withoutSecrets(given.insert_text);
      return editFile(path, {
        missing: `Error: The path ${path} does not exist`,
        edit(current) {
          const last = readLines(current).length;
          if (insert_line >= 0 && insert_line <= last) {
            return insertLines(current, { after: insert_line, lines: insert_text });
          }
          throw refusal(
            `Error: Invalid \`insert_line\` parameter: ${insert_line}. ` +
              `It should be within the range of lines of the file: [0, ${last}]`,
          );
        },
        done: () => `The file ${path} has been edited.${note}`,
      });
    },

    async delete({ path }) {
      if (!namesNothing(path) && withinMemory(path) === '')
        throw refusal('Error: Cannot delete the /memories directory itself');
      return commit(() => {
        const source = treeAt(store, path);
        const files = filesOf(store, source).map((file) => ({ path: file, change: () => null }));
        return { files, done: () => `Successfully deleted ${path}${removeEmptied(store, source)}` };
      });
    },

    async rename({ old_path, new_path }) {
      await refuseSecretName(new_path);
      if (!namesNothing(old_path) && withinMemory(old_path) === '')
        throw refusal('Error: Cannot rename the /memories directory itself');
      const exists = () => refusal(`Error: The destination ${new_path} already exists`);
      if (withinMemory(new_path) === '') throw exists();
      return commit(() => {
        const source = treeAt(store, old_path);
        const target = placeOf(store, withoutSlash(new_path));
        if (target.kind !== 'nothing') throw exists();
        if (target.path.startsWith(`${source.path}/`)) throw refusal(`Error: ${old_path} cannot be moved into itself`);
        const files = filesOf(store, source);
        if (files.length === 0) throw refusal(`Error: The directory ${old_path} holds nothing that could be renamed`);
        return {
          files: files.map((from) => ({
            path: target.path + from.slice(source.path.length),
            from,
            change: (current) => current,
          })),
          done: () => `Successfully renamed ${old_path} to ${new_path}${removeEmptied(store, source)}`,
        };
      });
    },
  };
}

/** Throws as for a path that is not there where it names none: `/`, or one with a segment `.`. */
function placeOf(store: Store, path: string, missing = `Error: The path ${path} does not exist`): Location {
  if (namesNothing(path)) throw refusal(missing);
  const within = withinMemory(path);
  return within === '' ? { path: '', absolute: store.dir, kind: 'directory' } : confine(store.dir, within);
}

/** The file or directory at a path; a directory may be named with a slash behind it. */
function treeAt(store: Store, path: string): Location {
  const place = placeOf(store, withoutSlash(path));
  if (place.kind === 'nothing') throw refusal(`Error: The path ${path} does not exist`);
  return place;
}

function withoutSlash(path: string): string {
  return path.endsWith('/') && path !== '/' ? path.slice(0, -1) : path;
}

/** The paths of the files that a file or a directory consists of; all of them text. */
function filesOf(store: Store, source: Location): string[] {
  const items = source.kind === 'file' ? [] : readTree(source.absolute, source.path);
  const inside = items.filter((item) => !item.isDirectory).map((item) => confine(store.dir, item.path));
  const files = source.kind === 'file' ? [source] : inside;
  for (const file of files) requireText(file);
  return files.map((file) => file.path);
}

/** Takes away what is left of a directory whose files are gone; answers a note if something is left in it. */
function removeEmptied(store: Store, { kind, absolute }: Location): string {
  if (kind !== 'directory') return '';
  // Within a transaction, so that no other commit is making a file in there.
  const isGone = store.ledger.transaction(() => removeEmptyDirectories(absolute));
  return isGone ? '' : '. Hidden items and links, which this tool does not touch, were left in it.';
}

function requireSize(after: string, file: { path: string; before: string; maxBytes: number }): void {
  const { path, before, maxBytes } = file;
  const bytes = Buffer.byteLength(after);
  // A file that someone else made too large may be made smaller.
  if (bytes <= maxBytes || bytes < Buffer.byteLength(before)) return;
  throw refusal(
    `Error: File ${path} would have ${bytes.toLocaleString('en')} bytes; at most ${maxBytes.toLocaleString('en')} are allowed. ` +
      'Keep it shorter, or split it.',
  );
}

/** The store keeps text: the bytes of a picture would not survive a change or come back from a version. */
function requireText({ path, absolute }: Location): void {
  if (!holdsText(absolute)) throw refusal(`Error: ${path} is not UTF-8 text; the memory tool leaves it alone.`);
}
