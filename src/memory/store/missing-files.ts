// How a person is told of files that are missing from a memory directory: what is gone, and what to do about it.

import { isLog } from '../ledger/version-rows.ts';

/** What to do about missing files; nothing is taken for deleted until then. */
export const IF_MISSING = 'put back what was not meant to go, or take it as meant with nocturne dream --accept-missing';

const SHOWN_LOGS = 20;

/** Sentences without their stops; `keepsDreams`: until then no dream runs. */
export function formatMissing(paths: string[]): { what: string; keepsDreams: boolean }[] {
  const logs = paths.filter(isLog);
  const [first, ...others] = paths.filter((path) => !isLog(path));
  const said: { what: string; keepsDreams: boolean }[] = [];
  if (first !== undefined) {
    const what =
      others.length === 0
        ? `${first} is missing or empty, as others were that are back`
        : `${others.length + 1} files are missing or empty at once, ${first} among them`;
    said.push({ what, keepsDreams: true });
  }
  if (logs.length > 0) {
    const more = logs.length > SHOWN_LOGS ? ` and ${logs.length - SHOWN_LOGS} more` : '';
    const names = `${logs.slice(0, SHOWN_LOGS).join(', ')}${more}`;
    const what = `missing, empty or damaged, so that entries are no longer in their log (what rests on them stays): ${names}`;
    said.push({ what, keepsDreams: false });
  }
  return said;
}
