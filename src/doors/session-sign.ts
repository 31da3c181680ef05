// The sign: one line that shows the person, where a session begins, what nocturne did for it. How many lines were
// recalled, what was learned since yesterday, what waits for review. Only looks; what cannot be read is not counted.

import type { Config } from '../base/config/config.ts';
import { sayCount } from '../base/text/wording.ts';
import { nextDayAt } from '../base/time.ts';
import { countWaiting } from '../memory/dream/proposals.ts';
import { learnedSince } from '../memory/ledger/entries.ts';
import { lookIntoLedger } from '../memory/ledger/ledger.ts';

/** Empty where there is nothing to tell. `text`: what the session is given. */
export function sessionSign({ clock, zone }: Config, { memory, text }: { memory: string; text: string }): string {
  const lines = text.match(/^[ \t]*[-*] /gm)?.length ?? 0;
  const ledger = lookIntoLedger(memory);
  try {
    const yesterdayAt = nextDayAt(clock.now(), zone, -1).toISOString();
    const learned = ledger ? learnedSince(ledger, yesterdayAt).length : 0;
    const waiting = ledger ? countWaiting(ledger) : 0;
    const parts = [
      ...(lines > 0 ? [`${sayCount(lines, 'line')} recalled`] : []),
      ...(learned > 0 ? [`${learned} learned since yesterday`] : []),
      ...(waiting > 0 ? [`${waiting} ${waiting === 1 ? 'waits' : 'wait'} for review`] : []),
    ];
    return parts.length === 0 ? '' : `nocturne: ${parts.join('; ')}`;
  } finally {
    ledger?.close();
  }
}
