// What recall says in nocturne's own words, apart from what is remembered: what the user is to be told, what features add, and
// what the last dream did. Nothing of it comes from a file of anybody's.

import { join } from 'node:path';
import { listNames } from '../../base/files/directories.ts';
import { readTextNow } from '../../base/files/files.ts';
import { reportDay, reportLine, reportPath } from '../text/dream-report.ts';

/** A dream is told of for so long. */
const LAST_DREAM_MS = 3 * 86_400_000;

/** Paragraphs to be said before what is remembered; empty where there is nothing to say. */
export function recallNotes({ notices = [], notes = [] }: { notices?: string[]; notes?: string[] }): string {
  const said = [...notices.map((notice) => `nocturne: ${notice.replace(/\.$/, '')}. Tell the user.`), ...notes];
  return said.length > 0 ? `${said.join('\n\n')}\n\n` : '';
}

/** What the last dream did, in one line, where it was within the last days; else null. */
export function lastDream({ dir, now }: { dir: string; now: Date }): string | null {
  const days = listNames(join(dir, '.nocturne', 'dreams')).flatMap((name) => reportDay(name) ?? []);
  const day = days.sort().at(-1);
  if (!day || now.getTime() - Date.parse(day) > LAST_DREAM_MS) return null;
  return reportLine(day, readTextNow(join(dir, reportPath(day, 'json'))) ?? '');
}
