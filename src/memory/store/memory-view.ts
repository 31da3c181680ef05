// What the memory tool's `view` shows: a directory as a listing, a file with numbered lines.
// Promises: the words and shapes that models know from Anthropic's memory tool; an answer has at most 16,000
// characters, and where something is left out it says with which `view_range` to ask for the rest (a single line asked
// for by itself is shown whole). What lies deeper than two levels is named, so that it can be viewed.
// It never shows hidden items, `node_modules`, links, or anything that confine.ts refuses.

import { join } from 'node:path';
import { AppError } from '../../base/errors.ts';
import { readDirectory } from '../../base/files/directories.ts';
import { readLines } from '../text/blocks.ts';
import { confine, isMemoryPath } from './confine.ts';
import type { Store } from './store.ts';

/** The name of the memory directory in the tool's paths. */
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

/** The path within the memory directory of a path under `/memories`; '' for the directory itself. */
export function withinMemory(path: string): string {
  if (path === TOOL_ROOT || path === `${TOOL_ROOT}/`) return '';
  if (path.startsWith(`${TOOL_ROOT}/`)) return path.slice(TOOL_ROOT.length + 1);
  throw new AppError('bad-input', `The path ${JSON.stringify(path.slice(0, 200))} does not begin with ${TOOL_ROOT}/.`, {
    remedy: `View ${TOOL_ROOT} to see what is there.`,
  });
}

/** Whether a path is one that a model may well ask for and that never is there: the root, or one with a segment `.`. */
export function namesNothing(path: string): boolean {
  return path === '/' || (path.startsWith(`${TOOL_ROOT}/`) && path.split('/').includes('.'));
}

/** Answers `view`. Throws `bad-input` for a path or a range that is not there. */
export async function viewMemory(store: Store, { path, range }: ViewRequest): Promise<string> {
  if (namesNothing(path)) throw notThere(path);
  const shown = path.endsWith('/') ? path.slice(0, -1) : path;
  const within = withinMemory(shown);
  if (within === '') return viewDirectory({ shown, items: readTree(store.dir, ''), range });
  const place = confine(store.dir, within);
  if (place.kind === 'directory') {
    return viewDirectory({ shown, items: readTree(place.absolute, place.path), range });
  }
  const text = await store.read(place.path);
  if (text === null) throw notThere(path);
  const lines = numberedLines(text);
  if (lines.length > MAX_LINES) {
    throw new AppError('bad-input', `File ${path} exceeds maximum line limit of 999,999 lines.`);
  }
  const header = `Here's the content of ${path} with line numbers:`;
  return lines.length === 0 ? `${header}\n(The file is empty.)` : page(lines, { header, range });
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

function viewDirectory({ shown, items, range }: { shown: string; items: TreeItem[]; range?: number[] }): string {
  const visible = items.filter((item) => !item.path.split('/').includes('node_modules'));
  const prefix = `${TOOL_ROOT}/`;
  const row = (item: TreeItem) => `${formatSize(item.sizeBytes)}\t${prefix}${item.path}${item.isDirectory ? '/' : ''}`;
  const deeper = visible.filter((item) => item.level >= LISTED_LEVELS && item.files > 0);
  const lines = [
    `${formatSize(totalBytes(visible))}\t${shown}`,
    ...visible.filter((item) => item.level <= LISTED_LEVELS).map(row),
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

interface TreeItem {
  /** Within the memory directory. */
  path: string;
  isDirectory: boolean;
  /** Of a directory: of all files under it. */
  sizeBytes: number;
  /** 1 for what is in the directory itself. */
  level: number;
  /** Of a directory: how many files are right in it. */
  files: number;
}

/** All items under the directory at `absolute`, which is `within` the memory directory ('' for itself), top down. */
export function readTree(absolute: string, within: string, level = 1): TreeItem[] {
  const items: TreeItem[] = [];
  for (const { name, kind, sizeBytes } of readDirectory(absolute) ?? []) {
    const path = within === '' ? name.normalize('NFC') : `${within}/${name.normalize('NFC')}`;
    if (!isMemoryPath(path)) continue;
    if (kind === 'file') items.push({ path, isDirectory: false, sizeBytes, level, files: 0 });
    if (kind === 'directory') {
      const inside = readTree(join(absolute, name), path, level + 1);
      const files = inside.filter((item) => !item.isDirectory && item.level === level + 1).length;
      items.push({ path, isDirectory: true, sizeBytes: totalBytes(inside), level, files }, ...inside);
    }
  }
  return items;
}

/** The bytes of all files among `items`. */
function totalBytes(items: TreeItem[]): number {
  return items.reduce((sum, item) => sum + (item.isDirectory ? 0 : item.sizeBytes), 0);
}
