// Init: the scaffold of a project that runs over many sessions, as ordinary topics of its memory: a progress log, a
// feature checklist, start-up notes. They are pinned, so no job changes them; people and agents do.
//
// 1. Render the three texts.
// 2. Hold the dream's lease: the index is built anew.
// 3. In one commit write those that are missing. One that is there is never touched.

import { join } from 'node:path';
import { statNow } from '../../base/files/files.ts';
import { renderPrompt } from '../../base/prompt.ts';
import { dayOf } from '../../base/time.ts';
import type { OpensLate } from '../../doors/wing.ts';
import { indexChange } from '../../memory/dream/index-file.ts';
import { enterPersonsJob } from '../../memory/ledger/job-rows.ts';

/** The topics that it writes. */
const SCAFFOLD = ['startup-notes', 'feature-checklist', 'progress-log'] as const;

/** How those that are there are kept, for the agent. */
export async function scaffoldNotes(dir: string): Promise<string[]> {
  const kept = SCAFFOLD.filter((name) => statNow(join(dir, `${name}.md`))?.isFile);
  const topics = kept.map((name) => `${name}.md`).join(', ');
  return kept.length > 0 ? [(await renderPrompt('recall-scaffold', { topics })).text.trimEnd()] : [];
}

export interface InitReport {
  /** `complete`: all three were there already. `planned`: a dry run. Only `written` changed something. */
  outcome: 'written' | 'complete' | 'planned' | 'busy';
  /** Paths of the topics that were written, or would be. */
  written: string[];
  /** Paths of those that were there. */
  kept: string[];
  /** With which it can be undone; null where nothing was changed. */
  job: string | null;
}

/** What `initScaffold` would do in a directory, which need not be there. */
export function planScaffold(dir: string): InitReport {
  const paths = SCAFFOLD.map((name) => `${name}.md`);
  const isThere = (path: string) => statNow(join(dir, path)) !== null;
  return {
    outcome: 'planned',
    written: paths.filter((path) => !isThere(path)),
    kept: paths.filter(isThere),
    job: null,
  };
}

export async function initScaffold(deps: OpensLate & { zone: string }): Promise<InitReport> {
  // 1.
  const today = dayOf(deps.clock.now(), deps.zone);
  const texts = new Map<string, string>();
  for (const name of SCAFFOLD) {
    const values: Record<string, string> = name === 'progress-log' ? { today } : {};
    texts.set(`${name}.md`, (await renderPrompt(`scaffold-${name}`, values)).text);
  }
  const store = await deps.openStore();
  const report: InitReport = { outcome: 'busy', written: [], kept: [], job: null };
  // 2.
  await deps.withLease(store, 'dream', async () => {
    // 3.
    await store.commit({ actor: 'person' }, () => {
      const index = indexChange(store);
      const files = [...texts].map(([path, text]) => ({
        path,
        change(current: string | null) {
          (current === null ? report.written : report.kept).push(path);
          return current ?? text;
        },
      }));
      return {
        files: [...files, index.memory, ...index.overflow()],
        rows(transaction) {
          index.finish(transaction);
          report.outcome = report.written.length > 0 ? 'written' : 'complete';
          if (report.written.length === 0) return;
          const now = deps.clock.now();
          report.job = enterPersonsJob(transaction, { kind: 'init', outcome: report.outcome, now });
        },
      };
    });
    return true;
  });
  return report;
}
