// What of a job's work has left this machine: lines that it wrote and that git has pushed since, or pulled from where they
// were pushed to. It asks git what it last saw of other repositories, and claims nothing where git does not answer.

import { relative, sep } from 'node:path';
import { remotesHolding } from '../../base/files/working-tree.ts';
import { checkoutRoot } from '../home/paths.ts';
import type { Store } from '../store/store.ts';
import { changesOf, type FileChanges } from './undo.ts';

export interface Pushed {
  /** In the memory directory. */
  path: string;
  /** Branches of other repositories: `origin/main`. */
  to: string[];
}

const GIT_TIMEOUT_MS = 5_000;
/** A shorter line, as a heading or a mark, may stand in a file that says nothing of what was written. */
const TELLING_CHARACTERS = 8;

export async function pushedBy(
  { dir, ledger }: Pick<Store, 'dir' | 'ledger'>,
  job: string,
  environment: Record<string, string | undefined>,
): Promise<Pushed[]> {
  const root = checkoutRoot(dir);
  if (root === null) return [];
  const tree = { root, environment, timeoutMs: GIT_TIMEOUT_MS };
  const pushed: Pushed[] = [];
  for (const file of changesOf(ledger, job).files) {
    const from = [relative(root, dir).split(sep).join('/'), file.path].filter(Boolean).join('/');
    const to = await remotesHolding(writtenBy(file), from, tree);
    if (to.length > 0) pushed.push({ path: file.path, to });
  }
  return pushed;
}

/** The lines that the job left in a file and that were not there before it. */
function writtenBy({ steps }: FileChanges): string[] {
  const before = new Set(linesOf(steps.at(-1)?.before));
  return linesOf(steps[0]?.after).filter((line) => line.length >= TELLING_CHARACTERS && !before.has(line));
}

function linesOf(text: string | null | undefined): string[] {
  return (text ?? '').split(/\r?\n/).map((line) => line.trim());
}
