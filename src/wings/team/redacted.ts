// What the team's memory still says of a text that was redacted in one's own. What was shared is the team's: it is told
// of, and changed only when that is asked for.

import { join } from 'node:path';
import { canonicalPath, isDirectory, listFiles } from '../../base/files/directories.ts';
import { scopeDir } from '../../doors/places.ts';
import type { Wing } from '../../doors/wing.ts';
import { holdsMatch } from '../../memory/history/redact/redaction.ts';
import { scrubOf } from '../../memory/history/redact/scrub.ts';
import { isCheckedInDir } from '../../memory/home/paths.ts';
import { findConfined } from '../../memory/store/live-files.ts';

export const afterRedact: NonNullable<Wing['afterRedact']> = async (match, { app, store, cwd }) => {
  const dir = canonicalPath(scopeDir(app.config, { memory: 'local', cwd }));
  if (dir === store.dir || !isCheckedInDir(dir) || !isDirectory(dir)) return [];
  const scrub = scrubOf(match);
  const saying: string[] = [];
  for (const path of (await listFiles(dir)).filter((each) => each.endsWith('.md'))) {
    const absolute = findConfined(dir, path);
    if (absolute !== null && (await holdsMatch(absolute, scrub))) saying.push(join(dir, path));
  }
  if (saying.length === 0) return [];
  return [`It stands in the team's memory, too: ${saying.join(', ')}. The same with --scope local takes it out there.`];
};
