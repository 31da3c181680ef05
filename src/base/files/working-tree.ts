// Asks git what is in a working tree: which files, which words stand in them, who works there. Bounded in time; reads only.
// Answers only what it saw: where git is missing, the directory is no repository or time ran out, nothing is claimed.
// Never runs a program that the repository's configuration names.

import { spawn } from 'node:child_process';
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
  const missing = new Set(words);
  if (missing.size === 0) return [];
  const patterns = words.flatMap((word) => ['-e', word]);
  const where = [
    '.',
    ':(exclude,icase)*.md',
    ':(exclude,icase)*.mdx',
    ...search.leaveOut.map((dir) => `:(exclude)${dir}`),
  ];
  const args = ['grep', '--untracked', '-I', '-o', '-h', '-w', '-F', '--no-color', ...patterns, '--', ...where];
  const isWhole = await eachLine(args, search, (line) => {
    // A longer pattern that was found may hide a shorter one in it.
    for (const word of missing) if (line === word || isWordIn(word, line)) missing.delete(word);
    return missing.size > 0;
  });
  return isWhole ? [...missing] : [];
}

/** Those of `paths` (with `/`, from the root or from any directory in it) at which nothing stands. */
export async function missingPaths(paths: string[], search: TreeSearch): Promise<string[]> {
  const missing = new Set(paths.filter((path) => kindOf(join(search.root, path)) === null));
  if (missing.size === 0) return [];
  const where = [...missing].flatMap((path) => [`:(glob)**/${path}`, `:(glob)**/${path}/**`]);
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '-z', '--', ...where];
  const isWhole = await eachLine(args, search, (found) => {
    // A file that was deleted and not committed is listed too.
    if (found === '' || kindOf(join(search.root, found)) === null) return true;
    for (const path of missing)
      if (`/${found}`.endsWith(`/${path}`) || `/${found}`.includes(`/${path}/`)) missing.delete(path);
    return missing.size > 0;
  });
  return isWhole ? [...missing] : [];
}

/** What git's own configuration calls whoever works in the tree; undefined for what it does not say. */
export async function gitUserName(tree: Tree): Promise<string | undefined> {
  let name: string | undefined;
  await eachLine(['config', '--get', 'user.name'], tree, (line) => {
    name = line;
    return false;
  });
  return name;
}

/** The first commit of the history of the tree, of several the oldest. */
export async function firstCommit(tree: Tree): Promise<string | undefined> {
  const said: string[] = [];
  const isWhole = await eachLine(['rev-list', '--max-parents=0', 'HEAD'], tree, (line) => said.push(line) > 0);
  return isWhole ? said.at(-1) : undefined;
}

/** Whether git leaves a path (with `/`, from the root) out of what is committed. */
export async function isIgnored(path: string, tree: Tree): Promise<boolean> {
  let isNamed = false;
  await eachLine(['check-ignore', path], tree, () => {
    isNamed = true;
    return false;
  });
  return isNamed;
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

/** Reads what git prints, line by line, until `take` answers false; true where nothing was left to be read. */
function eachLine(
  args: string[],
  { root, environment, timeoutMs }: Tree,
  take: (line: string) => boolean,
): Promise<boolean> {
  const own = Object.entries(environment).filter(([name]) => !name.startsWith('GIT_') || CONFIGURATION.has(name));
  return new Promise((resolve) => {
    const child = spawn('git', ['-C', root, '-c', 'core.fsmonitor=false', '--no-pager', ...args], {
      env: { ...Object.fromEntries(own), GIT_OPTIONAL_LOCKS: '0' },
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      windowsHide: true,
    });
    let rest = '';
    let isEnough = false;
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split(/[\n\0]/);
      rest = lines.pop() ?? '';
      if (isEnough || lines.every(take)) return;
      isEnough = true;
      child.kill('SIGKILL');
    });
    child.once('error', () => resolve(false));
    // 1: git grep found nothing.
    child.once('close', (code) => resolve(isEnough || code === 0 || code === 1));
  });
}
