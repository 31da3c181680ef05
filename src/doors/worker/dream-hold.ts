// Why no dream runs over a memory directory, or none came to its end: what a person can change, and what passes.

import { OFFLINE_MODEL } from '../../agent/types.ts';
import type { Config } from '../../base/config/config.ts';
import { ruleOf } from '../../base/errors.ts';
import { keySource } from '../../base/key.ts';
import type { Home } from '../../memory/home/home.ts';
import { lastDreamJob } from '../../memory/ledger/job-rows.ts';
import type { Ledger } from '../../memory/ledger/ledger.ts';
import { formatMissing, IF_MISSING, missingIn } from '../../memory/store/external-edits.ts';
import { admissionNow } from './hold.ts';

export interface DreamHold {
  /** A sentence, which says what to do where a person can do something. */
  why: string;
  needsPerson: boolean;
}

const PASSING = new Set(['transient', 'rate-limit', 'ceiling']);

export function dreamHolds({ config, home }: { config: Config; home: Home }, ledger: Ledger): DreamHold[] {
  const holds = formatMissing(missingIn(ledger)).flatMap(({ what, keepsDreams }): DreamHold[] =>
    keepsDreams ? [{ why: `${what}; ${IF_MISSING}`, needsPerson: true }] : [],
  );
  const last = lastDreamJob(ledger);
  if (last?.error) {
    const why = `the last dream, at ${last.endedAt}, ${last.outcome === 'refused' ? 'was refused' : 'failed'}: ${last.error}`;
    // What is missing and not taken as meant is said already.
    const isSaid = last.outcome === 'refused' && holds.length > 0;
    if (!isSaid) holds.push({ why, needsPerson: !PASSING.has(ruleOf(last.code).class) });
  }
  if (config.model === OFFLINE_MODEL) return holds;
  if (keySource(config) === 'none') holds.push({ why: 'there is no key for the model', needsPerson: false });
  const admission = admissionNow({ config, home });
  if (admission) holds.push({ why: admission, needsPerson: false });
  return holds;
}
