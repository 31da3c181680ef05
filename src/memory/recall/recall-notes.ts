// What recall says in nocturne's own words, beside what is remembered: how the scaffold of a long project is kept,
// where there is one, that the repository offers a memory snapshot, and what the last dream did. Nothing of it comes
// from a file of anybody's.

import { join } from 'node:path';
import { listNames } from '../../base/files/directories.ts';
import { lookNow, readTextNow } from '../../base/files/files.ts';
import { renderPrompt } from '../../base/prompt.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { offeredSnapshot, sayOffer } from '../snapshot/applied-snapshots.ts';
import { reportDay, reportLine, reportPath } from '../text/dream-report.ts';

/** The topics that `nocturne init` writes. */
export const SCAFFOLD = ['startup-notes', 'feature-checklist', 'progress-log'] as const;

/** A dream is told of for so long. */
const LAST_DREAM_MS = 3 * 86_400_000;

/** Paragraphs to be said before what is remembered; empty where there is nothing to say. */
export async function recallNotes(at: {
  dir: string;
  ledger: Ledger | null;
  checkout?: string;
  notices?: string[];
}): Promise<string> {
  const { dir, ledger, checkout } = at;
  const kept = SCAFFOLD.filter((name) => lookNow(join(dir, `${name}.md`))?.isFile);
  const notes = (at.notices ?? []).map((notice) => `nocturne: ${notice.replace(/\.$/, '')}. Tell the user.`);
  if (kept.length > 0) {
    const topics = kept.map((name) => `${name}.md`).join(', ');
    notes.push((await renderPrompt('recall-scaffold', { topics })).text.trimEnd());
  }
  const offer = offeredSnapshot(checkout ?? null, ledger);
  if (offer) {
    notes.push(`Memory snapshots: ${sayOffer(offer)}. Tell the user, who may run \`nocturne snapshot check\`.`);
  }
  return notes.length > 0 ? `${notes.join('\n\n')}\n\n` : '';
}

/** What the last dream did, in one line, where it was within the last days; else null. */
export function lastDream({ dir, now }: { dir: string; now: Date }): string | null {
  const days = listNames(join(dir, '.nocturne', 'dreams')).flatMap((name) => reportDay(name) ?? []);
  const day = days.sort().at(-1);
  if (!day || now.getTime() - Date.parse(day) > LAST_DREAM_MS) return null;
  return reportLine(day, readTextNow(join(dir, reportPath(day, 'json'))) ?? '');
}
