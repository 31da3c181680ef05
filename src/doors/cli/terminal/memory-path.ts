// A file of a memory directory as a person names it: by its path in the directory, or by one that leads there.

import { isAbsolute, relative, sep } from 'node:path';
import { AppError } from '../../../base/errors.ts';
import { canonicalPath } from '../../../base/files/directories.ts';
import { readVersion, type Version } from '../../../memory/history/versions.ts';
import { locateFile } from '../../../memory/store/confine.ts';
import type { MemoryReader } from '../../../memory/store/read-only-store.ts';

/** The one name of a file, relative to the memory directory, however it is spelled. Refuses what leads out of it. */
export function memoryPath({ dir }: MemoryReader, given: string): string {
  const path = isAbsolute(given) ? relative(dir, canonicalPath(given)) : given;
  return locateFile(dir, path.split(sep).join('/').replace(/^\.\//, '')).path;
}

/** A version of the file at `path`; throws `bad-input` for one of another file. */
export function versionOf(
  store: MemoryReader,
  { path, id }: { path: string; id: string },
): Version & { text: string | null } {
  const version = readVersion(store.ledger, id);
  const memory = store.ledger.get('select id from memory where path = ?', path)?.id;
  if (version.path === path || version.memory === memory) return version;
  throw new AppError(
    'bad-input',
    `Version ${id} is of ${version.path ?? 'a file whose path was redacted'}, not of ${path}.`,
    {
      remedy: `nocturne history ${path} lists the versions of ${path}.`,
    },
  );
}

/** The text of a version. Throws `bad-input` where it holds none. */
export function textOf({ id, text, operation, redactedAt }: Version & { text: string | null }): string {
  if (redactedAt) throw new AppError('bad-input', `Version ${id} was redacted at ${redactedAt}.`);
  if (text === null) throw new AppError('bad-input', `In version ${id} the file was ${operation}.`);
  return text;
}
