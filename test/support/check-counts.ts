// How often each check of a dream's operations stopped one that was wrong, and one that was right, by what it says.

/** An operation that a model proposed at its first call. */
export interface Proposed {
  isSpoilt: boolean;
  /** The first thing that code said against it, if it did. */
  problems: string[];
}

/** The operations of one night with what its dream said of them, which names each by its number. */
export function withProblems(proposed: Proposed[], refused: string[]): Proposed[] {
  const first = new Map<number, string>();
  for (const problem of refused) {
    const at = Number(/^operations\[(\d+)\]/.exec(problem)?.[1] ?? -1);
    if (!first.has(at)) first.set(at, problem);
  }
  return proposed.map((each, at) => ({ ...each, problems: first.has(at) ? [first.get(at) as string] : [] }));
}

/** The checks of operations, by what they say. */
const CHECKS: Record<string, RegExp> = {
  'words that nothing says': /^nothing that .*: word it as it was said/,
  'a value that nothing says': /^nothing that .* rests on says/,
  'a line against its entry': /says the opposite of/,
  'a value that is lost': /its lines lose|says anything of it/,
  'what else a line says': /and no line would any more/,
  'about something else': /is about something else/,
  'older than the line': /statement which is newer/,
  'only shown': /one session only showed|is another habit/,
  'two things in one line': /keep them apart|put that into a line of its own/,
  'beside what it denies': /denies .*take that out/,
  'stands there already': /stands there already/,
  'a duplicate that is none': /as duplicate/,
  'gives way to nothing': /as gave-way|gives way to nothing/,
  'who said it': /not said by the user|speaks to an agent/,
  'no such line': /is in no topic|taken out by another/,
  'the topic': /does not exist yet|is of type|description says/,
  accounting: /more than one operation|no such entry|cites/,
};

/** And what is said by none of them. */
export const CHECK_NAMES = [...Object.keys(CHECKS), 'another'];

export interface CheckCount {
  check: string;
  /** How often it was the first to stop an operation that was wrong, and one that was right. */
  wrong: number;
  right: number;
}

/** How often each check stopped an operation, one that was spoilt or one that was right. */
export function countChecks(all: Proposed[]): {
  checks: CheckCount[];
  /** Operations in all, and how many of the wrong ones no check stopped. */
  wrong: number;
  right: number;
  passed: number;
} {
  const counts = new Map(CHECK_NAMES.map((check) => [check, { check, wrong: 0, right: 0 }]));
  /** What is left is tried again on later nights, and counts once. */
  const counted = new Set<string>();
  for (const { isSpoilt, problems } of all) {
    const [problem] = problems;
    if (problem === undefined) continue;
    const said = problem.replace(/^operations\[\d+\](?: \(\w+\))?: /, '');
    const name = CHECK_NAMES.find((check) => CHECKS[check]?.test(said)) ?? 'another';
    const count = counts.get(name) as CheckCount;
    if (!isSpoilt && counted.has(said)) continue;
    if (!isSpoilt) counted.add(said);
    if (isSpoilt) count.wrong += 1;
    // Where the line stands, by an operation that was let through, to add it once more is not right any more.
    else if (name !== 'stands there already') count.right += 1;
  }
  const spoilt = all.filter(({ isSpoilt }) => isSpoilt);
  return {
    checks: [...counts.values()].filter(({ wrong, right }) => wrong + right > 0),
    wrong: spoilt.length,
    right: all.length - spoilt.length,
    passed: spoilt.filter(({ problems }) => problems.length === 0).length,
  };
}
