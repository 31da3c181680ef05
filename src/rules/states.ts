// How something stands, which passes: whether a text tells it by its words, and of which pull requests, issues and branches it speaks.
// What an agent left at the end of a session is a state whatever its words; that is known by its kind, not here.

const NUMBER = /(?<![\w&])(?:#|!|\b(?:PR|MR|pull request|issue|ticket)\s+#?)(\d{1,6})\b/gi;
const BRANCH =
  /\bbranch\s+(?:[`"“]([\w./-]*\w)|(\w[\w.]*[/-][\w./-]*\w))|[`"“]([\w./-]*\w)[`"”]\s+branch\b|\b(?:on|pushed)\s+[`"“](\w[\w.-]*\/[\w./-]*\w)[`"”]|[`"“]((?:feat(?:ure)?|(?:bug|hot)?fix|chore|refactor|wip|claude|codex|dependabot|renovate)\/[\w./-]*\w)[`"”]/gi;
const MAIN = /^(?:main|master|develop|trunk)$/;

export function subjectsIn(text: string): { numbers: string[]; branches: string[] } {
  const branches = [...text.matchAll(BRANCH)].flatMap(([, ...names]) => names.find((name) => name !== undefined) ?? []);
  const numbers = [...text.matchAll(NUMBER)].flatMap(([, number]) => number ?? []);
  return { numbers, branches: branches.filter((name) => !MAIN.test(name)) };
}

const ALONE = String.raw`(?!-|\s+(?!(?:and|or|but|on|in|for|to|so|yet)\b)\p{L})`;
const DONE = `(?:pushed|merged|committed|released|published|reviewed|deployed|migrated|shared|done|finished|started|run)${ALONE}`;
/** What is so of nothing that lasts. */
const PASSES = new RegExp(
  String.raw`(?<!\p{L})(?:(?:not|nothing) (?:is |was |are |were )?(?:yet )?(?:been )?${DONE}|un(?:tracked|staged|fixed|${DONE})|there (?:is|are) un(?:pushed|merged|committed|staged|tracked)|work in progress|wip|(?:is|are) (?:still |now )?(?:in progress|red|failing|pending|blocked|on hold|paused|waiting for)|half done|still (?:open|missing|failing|red|to do|running|needs?|waits?)|(?:ahead of|behind) origin|noch nicht|steht (?:noch )?aus|in arbeit|pas encore|en attente|todavía no|pendiente)(?!\p{L})|^(?:remaining|next steps?|to ?do):`,
  'iu',
);
/** What is so of a pull request, an issue or a branch that is named. */
const OF_NAMED =
  /(?<!\p{L})(?:open|opened|draft|ready|await(?:s|ing)|wait(?:s|ing)?|wartet|pending|blocked|needs?|remains?|requested changes|review|red|green|failing|local only|ahead|behind|closed|filed|no (?:pr|pull request)|exists? (?:yet|no))(?!\p{L})/iu;
/** By which a text says what always or under some condition is so. */
const LASTS =
  /^an? (?!.*(?<!\p{L})(?:was|were)(?!\p{L}))|(?<!\p{L})(?:until|unless|always|never|each|every|must|should|if|when|whenever|where|that|before)(?!\p{L})/iu;

/** Whether a text tells how something stands; what is not decided is no state. */
export function tellsState(text: string): boolean {
  if (/^open:/i.test(text)) return false;
  const passes = PASSES.test(text.replace(/`[^`]*`/g, '`'));
  const { numbers, branches } = subjectsIn(text);
  return numbers.length + branches.length > 0 ? passes || OF_NAMED.test(text) : passes && !LASTS.test(text);
}
