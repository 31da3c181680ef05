// Proposals and decisions as a person reads them.

import { localTime } from '../../base/time.ts';
import { type CommonOptions, undoCommand } from '../../doors/cli/terminal/options.ts';
import { style } from '../../doors/cli/terminal/output.ts';
import type { Ledger } from '../../memory/ledger/ledger.ts';
import { shortId } from '../../memory/ledger/short-ids.ts';
import type { ShownProposal } from './list.ts';
import type { Decided, ReviewReport } from './review.ts';

/** Whose proposals they are, as it was said on the command line. */
export type Place = Pick<CommonOptions, 'memory' | 'scope'> & { ledger: Ledger; zone: string };

/** What each kind would do. */
const WOULD: Record<string, string> = {
  add: 'add to',
  merge: 'merge in',
  supersede: 'replace in',
  retire: 'take out of',
  archive: 'put away from',
  drop: 'leave out',
};

export function listOf(shown: ShownProposal[], dir: string): string {
  if (shown.length === 0) return `Nothing waits for a word in ${dir}.`;
  return shown
    .map(({ id, kind, topic, state, why, lines, entries, reason }) => {
      const says = lines[0] ?? entries[0]?.text ?? reason;
      const stale = state === 'stale' ? style('yellow', `\n    stale: ${why} The next dream makes it anew.`) : '';
      return `${style('bold', id)}  ${WOULD[kind] ?? kind} ${topic ?? ''}: ${says}${stale}`;
    })
    .join('\n');
}

/** One proposal whole. */
export function describeProposal(proposal: ShownProposal, { ledger, zone }: Place): string {
  const { id, kind, topic, reason, entries, diff, state, why, job } = proposal;
  return [
    style('bold', `${id}: ${WOULD[kind] ?? kind} ${topic ?? ''}`.trimEnd()),
    `  ${reason} (${shortId(ledger, 'job', job)})`,
    ...(state === 'stale' ? [style('yellow', `  stale: ${why} The next dream makes it anew.`)] : []),
    ...entries.flatMap(({ id: entry, text, by, at, quotes }) => [
      `  ${text} ${style('dim', `(${shortId(ledger, 'entry', entry)})`)}`,
      ...quotes.map((quote) => `    “${quote}” — ${by}, ${localTime(at, zone)}`),
      ...(quotes.length === 0 ? [`    written by a person, ${localTime(at, zone)}`] : []),
    ]),
    ...(diff ? ['', colored(diff.trimEnd())] : []),
  ].join('\n');
}

function describeDecided({ id, outcome, why, job }: Decided, place: Place): string {
  const undo = job ? `; ${undoCommand(job, place)} takes it back` : '';
  const next = outcome === 'stale' ? ' The next dream makes it anew.' : '';
  const found = why ? `\n  ${why.split('\n').join('\n  ')}${next}` : '';
  return `${id}  ${outcome}${undo}${found}`;
}

export function describeReport({ outcome, decided }: ReviewReport, place: Place): string {
  if (outcome === 'busy') return 'A dream works on this memory; try again when it is done.';
  return decided.map((each) => describeDecided(each, place)).join('\n') || 'Nothing waits for a word.';
}

function colored(diff: string): string {
  return diff
    .split('\n')
    .map((line) => {
      if (line.startsWith('+')) return style('green', line);
      return line.startsWith('-') ? style('red', line) : line;
    })
    .join('\n');
}
