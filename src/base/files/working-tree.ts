// Asks git what is in a working tree: which files, which words stand in them, who works there. Bounded in time; reads only.
// Answers only what it saw: where git is missing, the directory is no repository or time ran out, nothing is claimed.
// Never runs a program that the repository's configuration names.

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { kindOf } from './directories.ts';

interface Tree {
  /** The top of the working tree. */
  root: string;
  /** Of the whole search. */
  timeoutMs: number;
  environment: Record<string, string | undefined>;
}

export interface TreeSearch extends Tree {
  /** Directories under the root, with `/`, in which nothing is looked for. */
  leaveOut: string[];
}

/** Those of `words` that stand nowhere as a whole word in files that git knows or would add, Markdown apart. */
export async function missingWords(words: string[], search: TreeSearch): Promise<string[]> {
  if (words.length === 0) return [];
  const patterns = words.flatMap((word) => ['-e', word]);
  const where = [
    '.',
    ':(exclude,icase)*.md',
    ':(exclude,icase)*.mdx',
    ...search.leaveOut.map((dir) => `:(exclude)${dir}`),
  ];
  const args = ['grep', '--untracked', '-I', '-o', '-h', '-w', '-F', '--no-color', ...patterns, '--', ...where];
  const lines = await linesOf(args, search);
  const found = [...new Set(lines)];
  // A longer pattern that was found may hide a shorter one in it.
  return lines === null ? [] : words.filter((word) => !found.some((line) => line === word || isWordIn(word, line)));
}

/** Those of `paths` (with `/`, from the root or from any directory in it) at which nothing stands. */
export async function missingPaths(paths: string[], search: TreeSearch): Promise<string[]> {
  const isThere = (path: string) => kindOf(join(search.root, path)) !== null;
  const absent = paths.filter((path) => !isThere(path));
  if (absent.length === 0) return [];
  const where = absent.flatMap((path) => [`:(glob)**/${path}`, `:(glob)**/${path}/**`]);
  const lines = await linesOf(['ls-files', '--cached', '--others', '--exclude-standard', '-z', '--', ...where], search);
  // A file that was deleted and not committed is listed too.
  const found = lines?.filter(isThere).map((line) => `/${line}/`);
  return found ? absent.filter((path) => !found.some((line) => line.includes(`/${path}/`))) : [];
}

/** What git's own configuration calls whoever works in the tree; undefined for what it does not say. */
export async function gitUserName(tree: Tree): Promise<string | undefined> {
  return (await linesOf(['config', '--get', 'user.name'], tree))?.[0];
}

/** The first commit of the history of the tree, of several the oldest. */
export async function firstCommit(tree: Tree): Promise<string | undefined> {
  return (await linesOf(['rev-list', '--max-parents=0', 'HEAD'], tree))?.at(-1);
}

/** Whether git leaves a path (with `/`, from the root) out of what is committed. */
export async function isIgnored(path: string, tree: Tree): Promise<boolean> {
  return ((await linesOf(['check-ignore', path], tree)) ?? []).length > 0;
}

function isWordIn(word: string, line: string): boolean {
  const isPart = (character: string | undefined) => character !== undefined && /\w/.test(character);
  for (let at = line.indexOf(word); at >= 0; at = line.indexOf(word, at + 1)) {
    if (!isPart(line[at - 1]) && !isPart(line[at + word.length])) return true;
  }
  return false;
}

/** Where a person's own configuration is; what else git is told by its environment is about another working tree. */
const CONFIGURATION = new Set(['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM']);
const MOST_BYTES = 32 * 2 ** 20;

/** The lines that git prints; null where it did not answer whole and in time. */
function linesOf(args: string[], { root, environment, timeoutMs }: Tree): Promise<string[] | null> {
  const own = Object.entries(environment).filter(([name]) => !name.startsWith('GIT_') || CONFIGURATION.has(name));
  const env = { ...Object.fromEntries(own), GIT_OPTIONAL_LOCKS: '0' };
  const options = { env, timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: MOST_BYTES, windowsHide: true } as const;
  return new Promise((resolve) => {
    execFile('git', ['-C', root, '-c', 'core.fsmonitor=false', '--no-pager', ...args], options, (error, stdout) =>
      // 1: git found nothing.
      resolve(error && error.code !== 1 ? null : stdout.split(/[\n\0]/).filter((line) => line !== '')),
    );
  });
}
