// What a store goes through while its disk fails: each scenario has a directory before, one commit, and perhaps an
// edit from outside that arrives between the commit point and the swap.

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fixedClock } from '../../src/base/time.ts';
import { coverRange } from '../../src/memory/ledger/coverage.ts';
import { openStore } from '../../src/memory/open.ts';
import type { FileChange, Store } from '../../src/memory/store/store.ts';

export const EARLY = fixedClock('2026-11-20T10:00:00Z');
/** When every displaced file has been looked at for long enough. */
export const LATE = fixedClock('2026-11-20T10:02:00Z');

export interface Scenario {
  name: string;
  files: FileChange[];
  /** Files written (null: removed) by somebody else; `before` the commit begins, or after it has read the files. */
  outside?: { path: string; text: string | null; when: 'before' | 'meanwhile' };
}

export const BEFORE: Record<string, string> = {
  'a.md': 'one\ntwo\nthree\n',
  'b.md': 'alpha\r\nbeta\r\ngamma',
  'logs/2026/11/2026-11-20.md': '- first\n',
};

const append = (path: string, line: string): FileChange => ({ path, change: (text) => `${text ?? ''}${line}\n` });
const move = (from: string, path: string): FileChange => ({ path, from, change: (text) => text });
const several = [
  append('a.md', 'four'),
  move('b.md', 'topics/c.md'),
  append('new/d.md', 'd'),
  { path: 'logs/2026/11/2026-11-20.md', change: () => null },
];
const edit = (path: string, text: string | null) => ({ path, text, when: 'meanwhile' as const });

export const SCENARIOS: Scenario[] = [
  { name: 'a file is created', files: [append('deep/new/d.md', 'd')] },
  { name: 'a file is changed', files: [append('a.md', 'four')] },
  { name: 'a file is removed', files: [{ path: 'a.md', change: () => null }] },
  { name: 'a file is moved', files: [move('a.md', 'topics/c.md')] },
  { name: 'a file is moved and changed', files: [{ path: 'c.md', from: 'a.md', change: (text) => `${text}four\n` }] },
  { name: 'several files are changed, moved, created and removed', files: several },
  {
    name: 'a file is changed that was edited before',
    files: [append('a.md', 'four')],
    outside: { path: 'a.md', text: 'ONE\ntwo\nthree\n', when: 'before' },
  },
  {
    name: 'a file is changed that is edited meanwhile',
    files: [append('a.md', 'four')],
    outside: edit('a.md', 'ONE\ntwo\nthree\n'),
  },
  {
    name: 'a file is changed that is rewritten meanwhile',
    files: [{ path: 'a.md', change: () => 'ours\n' }],
    outside: edit('a.md', 'theirs\n'),
  },
  { name: 'a file is changed that is removed meanwhile', files: [append('a.md', 'four')], outside: edit('a.md', null) },
  {
    name: 'a file is removed that is edited meanwhile',
    files: [{ path: 'a.md', change: () => null }],
    outside: edit('a.md', 'ONE\ntwo\nthree\n'),
  },
  {
    name: 'a file is created that appears meanwhile',
    files: [append('d.md', 'ours')],
    outside: edit('d.md', 'theirs\n'),
  },
  {
    name: 'a file is moved that is edited meanwhile',
    files: [move('a.md', 'c.md')],
    outside: edit('a.md', 'ONE\ntwo\nthree\n'),
  },
  {
    name: 'a file is moved to a name that is taken meanwhile',
    files: [move('a.md', 'c.md')],
    outside: edit('c.md', 'theirs\n'),
  },
  {
    name: 'several files are changed, one of which is edited meanwhile',
    files: several,
    outside: edit('b.md', 'ALPHA\r\nbeta\r\ngamma'),
  },
];

/** A directory as every scenario finds it. */
export async function prepare(dir: string): Promise<void> {
  const store = await openStore(dir, { clock: EARLY });
  await store.commit({ actor: 'job:before' }, () => ({
    files: Object.entries(BEFORE).map(([path, text]) => ({ path, change: () => text })),
  }));
  store.close();
}

/**
 * Opens the directory and runs the scenario's commit; `abort` takes it back when everything is staged, `leaveOpen` closes
 * nothing afterwards.
 */
export async function run(
  scenario: Scenario,
  dir: string,
  how: { abort?: boolean; leaveOpen?: boolean } = {},
): Promise<void> {
  const { outside } = scenario;
  if (outside?.when === 'before') writeOutside(dir, outside);
  const store = await openStore(dir, { clock: EARLY });
  try {
    await store.commit({ actor: 'job:test' }, () => ({
      files: scenario.files,
      rows(transaction) {
        coverRange(
          transaction,
          { id: 't', messageIds: ['m'] },
          { session: 's', from: '', throughMessage: 'm', disposition: 'nothing', day: '2026-11-20', job: 'test' },
        );
        if (outside?.when === 'meanwhile') writeOutside(dir, outside);
        if (how.abort) throw new Error('aborted');
      },
    }));
  } finally {
    if (!how.leaveOpen) store.close();
  }
}

/** The visible files, and whether the commit's rows are there. */
export async function stateOf(store: Store): Promise<{ files: Record<string, string>; hasRows: boolean }> {
  const files: Record<string, string> = {};
  for (const path of await store.list()) files[path] = readFileSync(join(store.dir, path), 'utf8');
  return { files, hasRows: store.ledger.all('select * from coverage').length === 1 };
}

// Named imports, so that somebody else's disk does not fail.
function writeOutside(dir: string, { path, text }: { path: string; text: string | null }): void {
  const target = join(dir, path);
  writeFileSync(`${dir}.outside`, 'The edit from outside was made.');
  mkdirSync(dirname(target), { recursive: true });
  if (text === null) rmSync(target);
  else writeFileSync(target, text);
}
