// Confinement: the one check of every path that a caller gives for a file of the memory directory.
// It owns what a path may be and which file it means. Promises: what it answers is inside the directory with every
// link resolved, and is no hidden item; two spellings that differ by Unicode normalisation or by case mean one file,
// the one that is there; what it refuses is an AppError `bad-input` that says what was found and what is allowed.
// It never touches anything. It cannot see a link that another program makes between the check and the use.

import { join, relative, sep } from 'node:path';
import { AppError } from '../base/errors.ts';
import { kindOf, listNames, realPath, walkNow } from '../base/files/directories.ts';

const MAX_PATH_BYTES = 1_024;
const MAX_SEGMENTS = 20;
const MAX_SEGMENT_BYTES = 255;

/** Which file a path means. */
interface Location {
  /** Its one name: relative to the memory directory, with `/`, NFC, and as the directory spells it. */
  path: string;
  /** Where it stands, without any link in it. */
  absolute: string;
  kind: 'file' | 'directory' | 'nothing';
}

/** Two paths that differ by case or composition only are one. */
export function foldPath(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

/** The location that `path` means in the directory `root`, a canonical path. Throws `bad-input`. */
export function confine(root: string, path: string): Location {
  const problem = findProblem(path);
  if (problem) throw refusal(path, problem);
  const absolute = resolveIn(root, path);
  const found = relative(root, absolute).split(sep).join('/').normalize('NFC');
  // A link, or a short name on Windows, may lead to where no path leads.
  const behind = found === '' ? 'it is the memory directory itself' : findProblem(found);
  if (behind) throw refusal(path, `it leads to ${JSON.stringify(found)}, and ${behind}`);
  const kind = kindOf(absolute) ?? 'nothing';
  if (kind === 'link' || kind === 'other') throw refusal(path, 'what stands there is neither a file nor a directory');
  return { path: found, absolute, kind };
}

/** Where a file stands. Errors: `bad-input` where its path cannot be one, or leads to a file of another name. */
export function placeOf(root: string, path: string): Location {
  const place = confine(root, path);
  if (place.kind === 'directory' || (place.kind === 'nothing' && OWN_DIRECTORY.test(place.path)))
    throw refusal(path, 'it is a directory');
  if (foldPath(place.path) === foldPath(path)) return place;
  throw new AppError('bad-input', `${path} is a link to ${place.path}, which is a memory of its own.`, {
    remedy: `Use ${place.path}.`,
  });
}

/** Throws `bad-input` for a text that cannot be the path of a file of a memory, wherever that is kept. */
export function checkFilePath(path: string): void {
  const problem = findProblem(path) ?? (OWN_DIRECTORY.test(path) ? 'it is a directory' : null);
  if (problem) throw refusal(path, problem);
}

/** Whether a path found in the directory can be that of a memory; what it answers false for is left alone. */
export function isMemoryPath(path: string): boolean {
  return findProblem(path) === null;
}

/** The regular files under the directory: the one name of each, and how the disk spells it. Links are left out. */
export function filesByName(root: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const spelled of walkNow(root)) {
    const name = spelled.normalize('NFC');
    if (name === spelled || !files.has(name)) files.set(name, spelled);
  }
  return files;
}

/** Goes down `path` name by name: through links as far as they stay inside, by the spelling that is there. */
function resolveIn(root: string, path: string): string {
  const names = path.normalize('NFC').split('/');
  // Most often it is there, spelled so, and no link is on the way.
  const whole = join(root, ...names);
  if (names.length > 1 && realPath(whole) === whole) return whole;
  let at = root;
  for (const [index, name] of names.entries()) {
    let next = realPath(join(at, name));
    if (next === null) {
      const spelled = spellingIn(at, { name, path });
      if (spelled === null) return newPlace(at, { names: names.slice(index), root, path });
      const found = join(at, spelled);
      next = realPath(found);
      if (next === null && kindOf(found) === 'link') throw refusal(path, `${spelled} is a broken link`);
      next ??= found;
    }
    if (next !== root && !next.startsWith(root + sep)) throw refusal(path, `${name} leads outside the directory`);
    at = next;
  }
  return at;
}

/** How the directory spells `name`, if it has it under another normalisation or case. */
function spellingIn(dir: string, { name, path }: { name: string; path: string }): string | null {
  const folded = foldPath(name);
  const same = listNames(dir).filter((other) => foldPath(other) === folded);
  const sameText = same.find((other) => other.normalize('NFC') === name);
  if (sameText === undefined && same.length > 1) throw refusal(path, `${name} could be ${same.join(' or ')}`);
  return sameText ?? same[0] ?? null;
}

function newPlace(at: string, { names, root, path }: { names: string[]; root: string; path: string }): string {
  if (kindOf(at) === 'file') throw refusal(path, `${relative(root, at)} is a file, not a directory`);
  return join(at, ...names);
}

/** What a path must not hold: control and format characters (bidi, zero width), line ends, what is no text. */
const UNFIT = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\ufffd]/u;
/** Names that Windows keeps for devices, whatever their extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]) *(?:\.|$)/i;

/** What nocturne itself writes, and where: a directory in the place of the one, or a file of the other, would keep it from that. */
const OWN_FILE = /^(?:MEMORY\.md|index\/[^/]+\.md|logs\/\d{4}\/\d{2}\/[^/]+\.md)(?=\/)/i;
const OWN_DIRECTORY = /^(?:archive|logs(?:\/\d{4}(?:\/\d{2})?)?)$/i;

/** Why a path cannot be one, as the end of a sentence; null for nothing. It looks at the text alone. */
function findProblem(path: string): string | null {
  const text = path.normalize('NFC');
  const unfit = UNFIT.exec(text)?.[0];
  if (unfit !== undefined) {
    const code = (unfit.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0');
    return `it holds the character U+${code}`;
  }
  if (text === '') return 'it is empty';
  if (text.includes('\\')) return 'it holds a backslash';
  if (text.includes(':')) return 'it holds a colon, as drives and streams do';
  if (text.startsWith('/')) return 'it is absolute';
  const names = text.split('/');
  if (names.length > MAX_SEGMENTS) return `it has ${names.length} segments`;
  if (Buffer.byteLength(text) > MAX_PATH_BYTES) return `it is ${Buffer.byteLength(text)} bytes long`;
  for (const name of names) {
    const problem = findNameProblem(name);
    if (problem) return problem;
  }
  const own = OWN_FILE.exec(text)?.[0];
  if (own !== undefined) return `${own} is a file, not a directory`;
  return findEncodedProblem(text, names.length);
}

function findNameProblem(name: string): string | null {
  if (name === '') return 'it has an empty segment';
  if (name === '.' || name === '..') return `it has the segment ${name}`;
  if (name.startsWith('.')) return `${name} is hidden`;
  // Programs that fold look-alikes would see another path: `‥` is `..` to them, `／` is `/`.
  const folded = name.normalize('NFKC');
  if (/[/\\:]/.test(folded) || folded.startsWith('.')) return `${name} is ${folded} to programs that fold look-alikes`;
  if (/[.\s]$/.test(name)) return `${JSON.stringify(name)} ends with a dot or a space`;
  if (DEVICE.test(name)) return `${name} is the name of a device on Windows`;
  const bytes = Buffer.byteLength(name);
  return bytes > MAX_SEGMENT_BYTES ? `a segment is ${bytes} bytes long` : null;
}

/** A path that says something else once it is decoded (`%2e%2e%2f`, `%00`) is refused; `50%25.md` is a name. */
function findEncodedProblem(text: string, segments: number): string | null {
  const decoded = text
    .replace(/%u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'));
  if (decoded === text) return null;
  const problem = findProblem(decoded) ?? (decoded.split('/').length === segments ? null : 'it has more segments');
  return problem && `once its percent signs are decoded, ${problem}`;
}

function refusal(path: string, problem: string): AppError {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return new AppError('bad-input', `The path ${JSON.stringify(shown)} is refused: ${problem}.`, {
    remedy:
      `Use a path inside the memory directory: 1 to ${MAX_SEGMENTS} names with "/" between them, none of which begins with ".", ` +
      `each of at most ${MAX_SEGMENT_BYTES} bytes, all of at most ${MAX_PATH_BYTES}.`,
  });
}

export function linkInState(root: string): string | undefined {
  const state = join(root, '.nocturne');
  const inside = kindOf(state) === 'directory' ? listNames(state).map((name) => join(state, name)) : [];
  return [state, ...inside].find((path) => kindOf(path) === 'link');
}

/**
 * Throws `refused` where a link stands in for what nocturne keeps next to the memories: in a directory that comes with a
 * repository it would lead what is written to wherever someone else wants it.
 */
export function refuseLinkedState(root: string): void {
  const link = linkInState(root);
  if (link === undefined) return;
  throw new AppError('refused', `${link} is a link, so nothing is read or written there.`, {
    remedy: 'Remove it; what belongs there is made again.',
  });
}
