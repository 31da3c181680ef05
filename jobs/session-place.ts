// Where a session ran, in words for a model: the name of its project and its working directory.
// The directory is what the transcript says; it may be one of another machine, which no file of this one is taken for.

import { isAbsolute } from 'node:path';
import { isAppError } from '../src/base/errors.ts';
import { redact } from '../src/base/text/redact.ts';
import { gitRoot } from '../src/memory/home/paths.ts';

/** A path is no longer; what is, was made to be read. */
const MOST_CHARACTERS = 500;

/** `project shop, in /home/ada/shop`; `unknown` where the transcript names no directory. Redacted. */
export async function describePlace(cwd: string | undefined): Promise<string> {
  if (!cwd) return 'unknown';
  const directory = cwd.replace(/[<>\p{Cc}]/gu, '').slice(0, MOST_CHARACTERS);
  return (await redact(`project ${projectOf(directory)}, in ${directory}`)).text;
}

function projectOf(cwd: string): string {
  const name = (repositoryOf(cwd) ?? cwd).split(/[/\\]+/).findLast(Boolean) ?? cwd;
  return name.replace(/(?<=.)\.git$/, '');
}

function repositoryOf(cwd: string): string | null {
  if (!isAbsolute(cwd)) return null;
  try {
    return gitRoot(cwd);
  } catch (error) {
    if (isAppError(error, 'storage')) return null;
    throw error;
  }
}
