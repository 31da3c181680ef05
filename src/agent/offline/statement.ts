// What a rule makes of a sentence: a statement with a type, its dates absolute, normalised lightly and never invented.

import type { Day } from '../../base/time.ts';
import { hasRelativeDate, resolveDates } from './dates.ts';

export interface Statement {
  type: 'user' | 'feedback' | 'project' | 'reference';
  text: string;
}

/** A grammatical form of sentences that state something. */
export interface Rule {
  type: Statement['type'];
  pattern: RegExp;
  unless?: RegExp;
  /** Whether it is put so strictly that a condition, a complaint or a task behind it takes nothing from it. */
  isStrict?: boolean;
  reword?: (sentence: string) => string;
}

/** The statement, or null where a day in it cannot be told. `said` is the day of its message. */
export function state(type: Statement['type'], text: string, said: Day | undefined): Statement | null {
  // "Never deploy on Friday" is a rule; a weekday becomes a date only where something happens on it.
  const isTimeless = type === 'user' || type === 'feedback';
  const date = (part: string) => (isTimeless ? (hasRelativeDate(part) ? null : part) : resolveDates(part, said));
  const [core = ''] = text.split(/[,;]\s|\s[–—-]\s|\sbecause\s/);
  // "…, we got burned last quarter": the rule stands without it.
  const dated = date(text) ?? (core.split(' ').length >= 4 ? date(core) : null);
  return dated === null ? null : { type, text: finish(dated) };
}

/** A sentence with its capital and full stop. */
export function finish(text: string): string {
  const trimmed = text.replace(
    /[\s,;:]*(?:,?\s*(?:please|bitte|s['’]il (?:te|vous) pla[iî]t|por favor|per favore))?[\s.!。！,;:]*$/i,
    '',
  );
  // Only words of the language get a capital: "pnpm" is a name.
  const capital =
    /^(?:always|never|don['’]t|do|use|avoid|stop|prefer|instead|make|be|we|the|our|you|run|write|keep|put|call|name|no|whenever|when|every|each|answer|reply|a|an|all|decided|decision)\b/i;
  const opened = capital.test(trimmed) ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed;
  if (/https?:\/\/\S+$/.test(opened)) return opened;
  return /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]$/u.test(opened) ? `${opened}。` : `${opened}.`;
}
