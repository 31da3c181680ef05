// What a merge of plain git left in files that were edited outside, and the end of it: conflict markers in any memory
// directory; in one that is checked in, where git may keep the lines of both sides, also keys and bullets that stand
// twice and an index that is not what the topics make it.
// Promises: nothing of either side is lost; the file as found and both sides are versions with the actor `external`,
// what becomes of them one of `tool:merge`. While git runs nothing is touched; while it replays commits (a rebase)
// only files with markers are, so that `git add` of these and `git rebase --continue` go on.

import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { kindOf } from '../../base/files/directories.ts';
import type { Clock } from '../../base/time.ts';
import { indexChange } from '../dream/index-change.ts';
import { checkoutRoot, gitDirOf } from '../home/paths.ts';
import { type Ledger, Transaction } from '../ledger/ledger.ts';
import {
  addVersion,
  beginCommit,
  headAt,
  keepVersion,
  memoryAt,
  newMemory,
  type Version,
  versionOf,
} from '../ledger/version-rows.ts';
import { followLines } from '../store/external-edits.ts';
import type { FileChange, Store } from '../store/store.ts';
import { linesAsGenerated } from '../text/index-file.ts';
import { isTopicFile } from '../text/topic.ts';
import { type Sides, tidyTopic, withoutMarkers } from './conflict.ts';

const INDEX = 'MEMORY.md';

/** Commits what becomes of the edits taken in since the last time; true where that changed a file. */
export function resolveMerges(store: Pick<Store, 'dir' | 'ledger' | 'isCheckedIn'>, clock: Clock): boolean {
  const { dir, ledger, isCheckedIn } = store;
  const paths = ledger.all('select path from unsettled order by path').map((row) => row.path as string);
  if (paths.length === 0) return false;
  if (!isCheckedIn && !paths.some((path) => headAt(ledger, path)?.content?.includes('<<<<<<<'))) {
    ledger.transactionInNoHurry(() => ledger.run('delete from unsettled'));
    return false;
  }
  const git = gitStateOf(dir);
  if (git === 'running') return false;
  return ledger.transaction(() => {
    const merges = resolving(store, clock.now().toISOString());
    for (const path of paths) merges.resolve(path, { isTidied: isCheckedIn && git === 'idle' });
    merges.resolveIndex({ isBuilt: isCheckedIn && git === 'idle' });
    // What a directory that is checked in still needs once git is done is looked at again then.
    if (!isCheckedIn || git === 'idle') ledger.run('delete from unsettled');
    return merges.hasChanged();
  });
}

/** Has these looked into once more at the next opening or commit. */
export function lookAgain(ledger: Ledger, paths: string[]): void {
  for (const path of paths) ledger.run('insert or ignore into unsettled (path) values (?)', path);
}

function resolving(store: Pick<Store, 'dir' | 'ledger' | 'isCheckedIn'>, at: string) {
  const { ledger } = store;
  let commit: number | null = null;
  /** The index and its overflow files where they held markers: written once, when they are built. */
  const lists = new Map<string, string>();
  const currentOf = (path: string) => headAt(ledger, path)?.content?.toString() ?? null;

  function keepSides(head: Version, sides: Sides): void {
    const commit = beginCommit(ledger, { actor: 'external', at, isApplied: true });
    for (const side of [sides.ours, sides.theirs]) {
      keepVersion(ledger, { ...head, previous: head.id, commit, at, actor: 'external', content: Buffer.from(side) });
    }
  }

  function write(path: string, text: string | null): void {
    const current = currentOf(path);
    if (text === current) return;
    commit ??= beginCommit(ledger, { actor: 'tool:merge', at, isApplied: false });
    const memory = memoryAt(ledger, path) ?? newMemory(ledger, path);
    const content = text === null ? null : Buffer.from(text);
    const previous = headAt(ledger, path)?.id ?? null;
    addVersion(ledger, { memory, path, previous, content, actor: 'tool:merge', at, commit });
    followLines(new Transaction(ledger, commit), { path, before: current ?? '', after: text ?? '' });
  }

  function buildIndex({ merged, isWhole }: { merged: string | undefined; isWhole: boolean }): void {
    const generated = merged === undefined ? undefined : generatedElsewhere(merged, store);
    const index = indexChange(store, generated);
    if (index.size().topics.length === 0 && merged === undefined && currentOf(INDEX) === null) return;
    const changes: FileChange[] = [index.memory, ...(isWhole ? index.overflow() : [])];
    for (const { path, change } of changes) {
      write(path, change(lists.get(path) ?? currentOf(path)));
      lists.delete(path);
    }
    if (commit !== null) index.finish(new Transaction(ledger, commit));
  }

  return {
    hasChanged: () => commit !== null,
    resolve(path: string, { isTidied }: { isTidied: boolean }): void {
      const head = headAt(ledger, path);
      if (!head?.content || !isUtf8(head.content)) return;
      const text = head.content.toString();
      const previous = head.previous === null ? null : versionOf(ledger, head.previous).content;
      const found = withoutMarkers(text, { path, before: previous?.toString() ?? null });
      if (found) keepSides(head, found.sides);
      if (path === INDEX || path.startsWith('index/')) {
        if (found) lists.set(path, found.text);
        return;
      }
      const isTidy = found !== null || !isTidied || !isTopicFile(path);
      write(path, isTidy ? (found?.text ?? text) : tidyTopic(text));
    },
    /** `isBuilt`: it is rebuilt with its overflow files, else it alone, where it held markers. */
    resolveIndex({ isBuilt }: { isBuilt: boolean }): void {
      const merged = lists.get(INDEX);
      if (isBuilt || merged !== undefined) buildIndex({ merged, isWhole: isBuilt });
      for (const [path, text] of lists) write(path, text);
    },
  };
}

/**
 * Lines of an index of two sides that some clone generated: of a topic that is gone, or that has two of them. All
 * others may be someone's own.
 */
function generatedElsewhere(index: string, { ledger }: Pick<Store, 'ledger'>): Set<string> {
  const pathOf = (line: string) => line.slice(line.lastIndexOf('[') + 1, -1);
  const byPath = Map.groupBy(linesAsGenerated(index), pathOf);
  const isThere = (path: string) => headAt(ledger, path)?.content != null;
  return new Set([...byPath].flatMap(([path, lines]) => (lines.length > 1 || !isThere(path) ? lines : [])));
}

/** `running`: a process of git works on the tree; `replaying`: it waits for a person amid a series of commits. */
function gitStateOf(dir: string): 'idle' | 'running' | 'replaying' {
  const top = checkoutRoot(dir);
  const gitDir = top && gitDirOf(top);
  if (!gitDir) return 'idle';
  const has = (name: string) => kindOf(join(gitDir, name)) !== null;
  if (has('index.lock')) return 'running';
  const isReplaying = ['rebase-merge', 'rebase-apply', 'sequencer', 'CHERRY_PICK_HEAD', 'REVERT_HEAD'].some(has);
  return isReplaying ? 'replaying' : 'idle';
}
