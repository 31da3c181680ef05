// Anthropic's memory tool (memory_20250818) over the files of a memory, with the words of its documentation.
// Promises: a command is checked before anything happens; a change is one commit, made from what stands in the file at that moment,
// so that parallel commands all live; what cannot be done is an error whose message the model can read, and nothing is changed; no
// command overwrites a file; no secret is written.

import { z } from 'zod';
import { AppError, describeError } from '../base/errors.ts';
import { redact } from '../base/secrets/redact-text.ts';
import type { By, FileChange } from '../memory/commit.ts';
import { type Edited, insertLines, replaceOnce } from '../memory/edit-text.ts';
import type { FileInfo, FileText, MemoryFiles } from '../memory/memory-files.ts';
import { checkFilePath, isMemoryPath } from '../memory/memory-paths.ts';
import { snippet, viewMemory, withinMemory } from '../memory/memory-views.ts';
import { readLines } from '../memory/text/blocks.ts';

const text = z.string().refine((value) => value.isWellFormed(), 'holds half a character');
const path = z.string().min(1);

const COMMAND = z.discriminatedUnion('command', [
  z.object({
    command: z.literal('view'),
    path,
    view_range: z
      .array(z.int())
      .nullable()
      .transform((range) => range ?? undefined)
      .optional(),
  }),
  z.object({ command: z.literal('create'), path, file_text: text }),
  z.object({
    command: z.literal('str_replace'),
    path,
    old_str: text.min(1),
    // Left out means: delete what was found.
    new_str: text.nullish().transform((by) => by ?? ''),
  }),
  z.object({ command: z.literal('insert'), path, insert_line: z.int(), insert_text: text }),
  z.object({ command: z.literal('delete'), path }),
  z.object({ command: z.literal('rename'), old_path: path, new_path: path }),
]);

type MemoryCommand = z.infer<typeof COMMAND>;
type Command<Name extends MemoryCommand['command']> = Extract<MemoryCommand, { command: Name }>;

/** One function for each command; each answers what the model is to read, or throws. */
type MemoryCommands = {
  [Name in MemoryCommand['command']]: (command: Command<Name>) => Promise<string>;
};

/** A command as a model sent it, or anything else. Throws `bad-input` that names what does not fit. */
function readMemoryCommand(input: unknown): MemoryCommand {
  const read = COMMAND.safeParse(input);
  if (read.success) return read.data;
  const found = read.error.issues.map(({ path, message }) => `${path.join('.') || 'input'}: ${message}`);
  throw new AppError('bad-input', `Error: The arguments of the memory tool do not fit. ${found.join('; ')}.`, {
    remedy:
      'Commands: view (path, view_range?), create (path, file_text), str_replace (path, old_str, new_str?), ' +
      'insert (path, insert_line, insert_text), delete (path), rename (old_path, new_path).',
  });
}

/** A tool as the official SDK's runners take it; written out here, so that a program without the SDK has its type too. */
export interface MemoryTool {
  type: 'memory_20250818';
  name: 'memory';
  /** Answers what the model is told. Throws what it is told as an error. */
  run(input: unknown): Promise<string>;
  parse(input: unknown): unknown;
}

export interface MemoryToolOptions {
  /** `read-only`: every command but `view` is refused. */
  mode: 'read-write' | 'read-only';
  /** By which session the changes are. Default: `memory`. */
  actor?: string;
}

/** The tool for `client.beta.messages.toolRunner({ tools: [memoryTool(files, { mode: 'read-write' })] })`. */
export function memoryTool(files: MemoryFiles, options: MemoryToolOptions): MemoryTool {
  const commands = memoryCommands(files, options);
  return {
    type: 'memory_20250818',
    name: 'memory',
    parse: (input) => input,
    async run(input: unknown) {
      try {
        const command = readMemoryCommand(input);
        if (options.mode === 'read-only' && command.command !== 'view')
          throw new AppError('bad-input', 'The memory is read-only here: only the command `view` works.');
        return await commands[command.command](command as never);
      } catch (error) {
        throw await toolError(describeError(error));
      }
    },
  };
}

/** Of the class of the caller's SDK, which shows a model these words alone; the build holds a copy of its own of the rest. */
async function toolError(words: string): Promise<Error> {
  const sdk = await import('@anthropic-ai/sdk/lib/tools/ToolError').catch(() => null);
  return sdk ? new sdk.ToolError(words) : new Error(words);
}

/** A path as models write it: under `/memories`, and of a directory perhaps with a slash behind it. */
interface Place {
  /** Within the memory; '': the memory itself. */
  path: string;
  /** Undefined: there is no file of that path. */
  file: FileText | undefined;
  /** The files below it, where it is a directory. */
  inside: FileInfo[];
}

function memoryCommands(files: MemoryFiles, { actor = 'memory' }: MemoryToolOptions): MemoryCommands {
  const by: By = { job: actor, actor: { kind: 'session', id: actor } };

  async function commit(changes: FileChange[], done: () => string): Promise<string> {
    const { collisions } = await files.changeAll(by, changes);
    if (collisions.length === 0) return done();
    return `${done()}\nSomebody else edited the same lines meanwhile, and their edit was kept: ${collisions.join(', ')}.`;
  }

  async function placeOf(given: string, missing = `Error: The path ${given} does not exist`): Promise<Place> {
    if (given === '/' || (given.startsWith('/memories/') && given.split('/').includes('.'))) throw refusal(missing);
    const path = withinMemory(given.endsWith('/') && given !== '/' ? given.slice(0, -1) : given);
    if (path !== '' && !isMemoryPath(path)) checkFilePath(path);
    const found = path === '' ? null : await files.read({ path });
    const { items } = found ? { items: [] } : await files.list({ prefix: path === '' ? '' : `${path}/` });
    const inside = (items as FileInfo[]).filter((item) => isMemoryPath(item.path));
    return { path: found?.path ?? path, file: found ?? undefined, inside };
  }

  /** The files that a file or a directory consists of. */
  async function treeAt(given: string): Promise<Place & { all: string[] }> {
    const place = await placeOf(given);
    const all = place.file ? [place.path] : place.inside.map(({ path }) => path);
    if (all.length === 0) throw refusal(`Error: The path ${given} does not exist`);
    for (const path of all) refuseBytes(await files.read({ path }));
    return { ...place, all };
  }

  const leftOf = (path: string) =>
    files.isDirectory(path) ? '. Hidden items and links, which this tool does not touch, were left in it.' : '';

  /** Edits a file that is there. */
  async function editFile(
    given: string,
    { missing, edit, done }: { missing: string; edit(text: string): Edited; done(edited: Edited): string },
  ): Promise<string> {
    const { file, path } = await placeOf(given, missing);
    if (!file) throw refusal(missing);
    refuseBytes(file);
    await refuseJoinedSecret(given, file.text, edit(file.text).text);
    let edited: Edited | undefined;
    const make = (current: string | null) => {
      if (current === null) throw refusal(missing);
      edited = edit(current);
      return edited.text;
    };
    return commit([{ path, make }], () => done(edited as Edited));
  }

  return {
    view: ({ path, view_range }) => viewMemory(files, { path, range: view_range }),

    async create({ path: given, ...of }) {
      await refuseSecretName(given);
      const { text, note } = await withoutSecrets(of.file_text);
      if (given.endsWith('/')) checkFilePath(withinMemory(given));
      const { path, inside } = await placeOf(given);
      const exists = `Error: File ${given} already exists`;
      if (path === '' || inside.length > 0 || files.isDirectory(path)) throw refusal(`${exists}: it is a directory`);
      const make = (current: string | null) => {
        if (current !== null) throw refusal(exists);
        return text;
      };
      return commit([{ path, make }], () => `File created successfully at: ${given}${note}`);
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
      const { text, note } = await withoutSecrets(given.insert_text);
      return editFile(path, {
        missing: `Error: The path ${path} does not exist`,
        edit(current) {
          const last = readLines(current).length;
          if (insert_line >= 0 && insert_line <= last) return insertLines(current, { after: insert_line, lines: text });
          throw refusal(
            `Error: Invalid \`insert_line\` parameter: ${insert_line}. ` +
              `It should be within the range of lines of the file: [0, ${last}]`,
          );
        },
        done: () => `The file ${path} has been edited.${note}`,
      });
    },

    async delete({ path: given }) {
      if (given !== '/' && withinMemory(given) === '')
        throw refusal('Error: Cannot delete the /memories directory itself');
      const { all, path } = await treeAt(given);
      return commit(
        all.map((each) => ({ path: each, make: () => null })),
        () => `Successfully deleted ${given}${leftOf(path)}`,
      );
    },

    async rename({ old_path, new_path }) {
      await refuseSecretName(new_path);
      if (old_path !== '/' && withinMemory(old_path) === '')
        throw refusal('Error: Cannot rename the /memories directory itself');
      const exists = () => refusal(`Error: The destination ${new_path} already exists`);
      if (withinMemory(new_path) === '') throw exists();
      const source = await treeAt(old_path);
      const target = await placeOf(new_path);
      if (target.path.startsWith(`${source.path}/`)) throw refusal(`Error: ${old_path} cannot be moved into itself`);
      if (target.file || target.inside.length > 0) throw exists();
      const moved = source.all.map((from) => ({
        path: target.path + from.slice(source.path.length),
        from,
        make: (current: string | null) => current,
      }));
      return commit(moved, () => `Successfully renamed ${old_path} to ${new_path}${leftOf(source.path)}`);
    },
  };
}

/** What no UTF-8 is shown as may be meant as it is: then the text has the bytes of the file. */
function refuseBytes(file: FileText | null): void {
  if (file && Buffer.byteLength(file.text) !== file.size)
    throw refusal(`Error: ${file.path} is not UTF-8 text; the memory tool leaves it alone.`);
}

// What the tools of MCP share: no secret is written that can be known as one, and a text is replaced where it stands once.

/** Of an `old_str` that an error repeats. */
const SHOWN_CHARS = 1_000;

/** What is written holds no secret that can be known as one; `redacted`: how many it held, `note` tells the model so. */
export async function withoutSecrets(given: string): Promise<{ text: string; redacted: number; note: string }> {
  const { text, found } = await redact(given);
  const redacted = found.reduce((sum, { count }) => sum + count, 0);
  return {
    text,
    redacted,
    note: redacted > 0 ? `\nA secret in it was not kept: a placeholder stands in its place.` : '',
  };
}

/** Throws `refused` for a name that is a secret: names are shown, listed and kept in every version. */
export async function refuseSecretName(path: string): Promise<void> {
  if ((await redact(path)).found.length === 0) return;
  throw new AppError('refused', 'The path holds a secret; nothing was written.', { remedy: 'Choose another name.' });
}

/** Throws `refused` where an edit would put a secret together from what stands in a file and what it adds. */
export async function refuseJoinedSecret(path: string, before: string, after: string): Promise<void> {
  const { redacted } = await withoutSecrets(after);
  if (redacted === 0 || redacted <= (await withoutSecrets(before)).redacted) return;
  throw new AppError('refused', `${path} was not changed: with the edit it would hold a secret.`, {
    remedy: 'Say where the secret is kept instead of what it is.',
  });
}

/** Replaces the only place where `old_str` stands in a file's text. Throws `bad-input` where there is none or several. */
export function replaceIn(current: string, edit: { path: string; old_str: string; new_str: string }): Edited {
  const { path, old_str, new_str } = edit;
  const edited = replaceOnce(current, { wanted: old_str, by: new_str });
  if ('text' in edited) return edited;
  const isLong = old_str.length > SHOWN_CHARS;
  const wanted = `old_str \`${isLong ? `${old_str.slice(0, SHOWN_CHARS).toWellFormed()}…` : old_str}\``;
  if (edited.found.length === 0) {
    throw refusal(`No replacement was performed, ${wanted} did not appear verbatim in ${path}.`);
  }
  const lines = edited.found.join(', ');
  throw refusal(
    `No replacement was performed. Multiple occurrences of ${wanted} in lines: ${lines}. Please ensure it is unique`,
  );
}

function refusal(message: string): AppError {
  return new AppError('bad-input', message);
}
