// What the memory tool's `view` shows: a directory as a listing, a file with numbered lines.
// Promises: the words and shapes that models know from Anthropic's memory tool; an answer has at most 16,000 characters, and where
// something is left out it says with which `view_range` to ask for the rest (a single line asked for by itself is shown whole).
// What lies deeper than two levels is named, so that it can be viewed. Hidden items are not shown.

import { AppError } from '../base/errors.ts';
import type { FileInfo, MemoryFiles } from './memory-files.ts';
import { checkFilePath, isMemoryPath } from './memory-paths.ts';
import { readLines } from './text/blocks.ts';

/** The name of the memory in the tool's paths. */
const TOOL_ROOT = '/memories';
const MAX_CHARS = 16_000;
/** Room for the note that says what is left out. */
const NOTE_CHARS = 200;
const MAX_LINES = 999_999;
const LISTED_LEVELS = 2;

interface ViewRequest {
  /** Under `/memories`. */
  path: string;
  /** First and last line, from 1, of the file or of the listing; the last may be -1, the end. */
  range?: number[];
}

/** The path within a memory of one under `/memories`; '' for the memory itself. Errors: `bad-input`. */
export function withinMemory(path: string): string {
  if (path === TOOL_ROOT || path === `${TOOL_ROOT}/`) return '';
  if (path.startsWith(`${TOOL_ROOT}/`)) return path.slice(TOOL_ROOT.length + 1);
  throw new AppError('bad-input', `The path ${JSON.stringify(path.slice(0, 200))} does not begin with ${TOOL_ROOT}/.`, {
    remedy: `View ${TOOL_ROOT} to see what is there.`,
  });
}

/** Answers `view`. `clean`: what a text and a listing go through first. Errors: `bad-input` for a path or a range that is not there. */
export async function viewMemory(
  files: MemoryFiles,
  { path, range }: ViewRequest,
  clean = async (text: string) => text,
): Promise<string> {
  // Models ask for these, and they are never there.
  if (path === '/' || (path.startsWith(`${TOOL_ROOT}/`) && path.split('/').includes('.'))) throw notThere(path);
  const shown = path.endsWith('/') ? path.slice(0, -1) : path;
  const within = withinMemory(shown);
  // It says what is wrong with it.
  if (within !== '' && !isMemoryPath(within)) checkFilePath(within);
  const file = within === '' ? null : await files.read({ path: within });
  if (file) {
    const lines = numberedLines(await clean(file.text));
    if (lines.length > MAX_LINES)
      throw new AppError('bad-input', `File ${path} exceeds maximum line limit of 999,999 lines.`);
    const header = `Here's the content of ${path} with line numbers:`;
    return lines.length === 0 ? `${header}\n(The file is empty.)` : page(lines, { header, range });
  }
  const prefix = within === '' ? '' : `${within}/`;
  const { items } = await files.list({ prefix });
  const there = (items as FileInfo[]).filter((item) => isMemoryPath(item.path));
  if (within !== '' && there.length === 0) throw notThere(path);
  return clean(viewDirectory(shown, { prefix, items: there, range }));
}

/** The lines `from` to `to` of a text, numbered, with two more on either side. */
export function snippet(text: string, { from, to }: { from: number; to: number }): string {
  const lines = numberedLines(text);
  const range = [Math.max(1, Math.min(from, lines.length) - 2), Math.min(lines.length, to + 2)];
  const header = 'Here is the snippet showing the change (with line numbers):';
  return lines.length === 0 ? 'The file is empty now.' : page(lines, { header, range });
}

function numberedLines(text: string): string[] {
  return readLines(text).map((line, index) => `${String(index + 1).padStart(6)}\t${line.text}`);
}

interface Directory {
  level: number;
  bytes: number;
  /** Those right in it. */
  files: number;
}

function viewDirectory(
  shown: string,
  { prefix, items, range }: { prefix: string; items: FileInfo[]; range?: number[] },
): string {
  const visible = items.filter(({ path }) => !path.split('/').includes('node_modules'));
  const directories = new Map<string, Directory>();
  for (const { path, size } of visible) {
    const names = path.slice(prefix.length).split('/');
    for (let level = 1; level < names.length; level += 1) {
      const at = `${prefix}${names.slice(0, level).join('/')}/`;
      const directory = directories.get(at) ?? { level, bytes: 0, files: 0 };
      directory.bytes += size;
      if (level === names.length - 1) directory.files += 1;
      directories.set(at, directory);
    }
  }
  const levelOf = (path: string) => path.slice(prefix.length).split('/').length;
  const rows = [
    ...visible.map(({ path, size }) => ({ path, bytes: size, level: levelOf(path), files: 0 })),
    ...[...directories].map(([path, directory]) => ({ path, ...directory })),
  ].sort((a, b) => (a.path < b.path ? -1 : 1));
  const row = ({ path, bytes }: { path: string; bytes: number }) => `${formatSize(bytes)}\t${TOOL_ROOT}/${path}`;
  const deeper = rows.filter(({ level, files }) => level >= LISTED_LEVELS && files > 0);
  const lines = [
    `${formatSize(visible.reduce((sum, { size }) => sum + size, 0))}\t${shown}`,
    ...rows.filter(({ level }) => level <= LISTED_LEVELS).map(row),
    ...(deeper.length === 0 ? [] : ['Directories with files deeper than that (view one to list its files):']),
    ...deeper.map((item) => `${row(item)} (${item.files} ${item.files === 1 ? 'file' : 'files'})`),
  ];
  const header = `Here're the files and directories up to 2 levels deep in ${shown}, excluding hidden items and node_modules:`;
  return page(lines, { header, range });
}

/** As many of the lines as fit, after a header; what does not is named in a note. */
function page(lines: string[], { header, range }: { header: string; range?: number[] }): string {
  const { from, to } = readRange(range, lines.length);
  const room = MAX_CHARS - header.length - NOTE_CHARS;
  const shown: string[] = [];
  let chars = 0;
  for (const line of lines.slice(from - 1, to)) {
    chars += line.length + 1;
    if (chars > room) break;
    shown.push(line);
  }
  const notes: string[] = [];
  if (shown.length === 0) {
    const line = lines[from - 1] as string;
    shown.push(from === to ? line : `${line.slice(0, room).replace(/[\ud800-\udbff]$/, '')}…`);
    if (from < to) notes.push(`Line ${from} is cut here; view_range [${from}, ${from}] shows it whole.`);
  }
  const next = from + shown.length;
  if (next <= to) {
    const end = to === lines.length ? -1 : to;
    notes.push(
      `Lines ${from} to ${next - 1} of ${lines.length} are shown; view_range [${next}, ${end}] shows the rest.`,
    );
  }
  return [header, ...shown, ...(notes.length === 0 ? [] : [`[${notes.join(' ')}]`])].join('\n');
}

function readRange(range: number[] | undefined, lines: number): { from: number; to: number } {
  const [from, last] = range ?? [1, -1];
  const to = last === -1 ? lines : Math.min(last ?? 0, lines);
  if ((range === undefined || range.length === 2) && from !== undefined && from >= 1 && from <= to) return { from, to };
  throw new AppError(
    'bad-input',
    `Invalid \`view_range\` parameter: [${range?.join(', ')}]. It should be the first and the last line to show, ` +
      `within the range of lines: [1, ${lines}]; -1 stands for the last.`,
  );
}

function formatSize(bytes: number): string {
  const units = ['B', 'K', 'M', 'G', 'T'];
  let size = bytes;
  while (size >= 1024 && units.length > 1) {
    size /= 1024;
    units.shift();
  }
  return `${Number.isInteger(size) ? size : size.toFixed(1)}${units[0]}`;
}

function notThere(path: string): AppError {
  return new AppError('bad-input', `The path ${path} does not exist. Please provide a valid path.`);
}
