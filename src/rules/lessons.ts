// Lessons: what an agent found out by trying, and what each kind of it must rest on. A failure and a success are a tool's own
// marks, never words. Pure: it looks nothing up, and what a sentence means it does not know.

import { filesIn, harmsIn, programsIn } from './commands.ts';

/** How something was found: a way that works, where something is, why it is so, or what a session left. */
export const FOUND = ['way', 'place', 'reason', 'outcome'] as const;
export type Found = (typeof FOUND)[number];

/** What a quote shows: a call that failed, its error's own words, a call that worked. */
export type Proof = 'failed' | 'error' | 'worked';

/** What a way that is known is told for: another failure of these programs, or one with these words. */
export interface Way {
  /** Of the call that failed, each with its verb: `pnpm test`. */
  programs: string[];
  files: string[];
  error: string;
  /** The call that worked. */
  works: string;
  /** Whether its calls may be told to whoever meets the failure: they delete nothing, send nothing out, change no rights … */
  isHarmless: boolean;
}

/** The way that an entry's evidence proves; null where it proves none. */
export function wayOf(evidence: readonly { quote: string; proves?: Proof }[]): Way | null {
  const said = (proves: Proof) => evidence.find((each) => each.proves === proves)?.quote;
  const [failed, error, works] = [said('failed'), said('error'), said('worked')];
  if (failed === undefined || error === undefined || works === undefined) return null;
  return {
    programs: programsIn(failed),
    files: filesIn(failed),
    error,
    works,
    isHarmless: harmsIn(works).length === 0,
  };
}
