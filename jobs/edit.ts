// Edit: a person changes a file of the memory in an editor, and what comes of it is an action that undo takes back.
//
// 1. What was edited outside before is taken in as such.
// 2. The editor works on the file itself: what it saves is there at once, also where it goes on after this has ended.
// 3. What is saved by then is taken in as every edit is, lines and what they rest on; each commit of that is one action.

import { enterPersonsJob } from '../src/memory/ledger/job-rows.ts';
import type { Store } from '../src/memory/store/store.ts';

/** `open` answers whether the editor ended well. Answers that, and the jobs with which what was saved can be undone. */
export async function edit(
  { path, open }: { path: string; open(): boolean },
  { store }: { store: Store },
): Promise<{ isFine: boolean; jobs: string[] }> {
  const { ledger } = store;
  // 1.
  await store.lookUp(path);
  const last = ledger.get<{ id: number }>('select coalesce(max(id), 0) as id from "commit"')?.id ?? 0;
  // 2.
  const isFine = open();
  // 3.
  await store.lookUp(path);
  const jobs = ledger.transaction(() => {
    const sql = `select distinct version."commit" as id from version join memory on memory.id = version.memory
      where memory.path = ? and version."commit" > ? and version.actor = 'external' order by 1`;
    const commits = ledger.all<{ id: number }>(sql, path, last);
    return commits.map(({ id: commit }) => enterPersonsJob({ ledger, commit }, { kind: 'edit', outcome: 'edited' }));
  });
  return { isFine, jobs };
}
