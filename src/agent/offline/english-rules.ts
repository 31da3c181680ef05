// The forms of English sentences that state something worth keeping, one rule each.
// Most fit at the beginning of a sentence or not at all, so that what is told, quoted or asked is not taken for said.

import type { Rule } from './statement.ts';
import { toThirdPerson } from './third-person.ts';

/** What is done once: a sentence that begins so is the task. */
export const COMMAND =
  'add|bump|call|change|check|commit|create|do|draft|find|fix|generate|go|implement|look|make|merge|move|open|plot|prepare|push|read|rebase|remove|rename|rerun|restore|retry|revert|rewrite|run|see|set|show|summari[sz]e|tag|tell|translate|update|use|visit|write';
const STARTS_WITH_COMMAND = new RegExp(`^(?:I|${COMMAND})\\b`, 'i');
const WEEKDAY = '(?:mon|tues|wednes|thurs|fri|satur|sun)day';
const LANGUAGE = '(?:English|German|French|Spanish|Italian|Japanese|Chinese|Korean|Portuguese|Dutch|Polish|Russian)';
/** Choosing among what was offered. */
const OPTION = '(?:the|this|that) (?:first|second|third|last|other|same|\\w+er)\\b';

/** Something outside the repository: an address, a channel, a named product or place; never a path. */
const OUTSIDE = '(?:https?://|#[a-z]|(?:(?:the|our|a) )?[A-Z][\\w-]*(?![\\w.-]*/))';
/** What a message is about while it is worked on. */
const AT_HAND =
  '(?:(?:response|pr|pull|issue|ticket|build|job|error|bug|log|trace|stack|commit|branch|page|link|test|problem|fix|output|result|file)s?|run)';
const NOT_AT_HAND = `(?!(?:\\S+ )*?${AT_HAND}\\b)`;
const POINTERS = [
  new RegExp(
    `^[^,]+? (?:(?:is|are|gets?) (?:now )?(?:tracked|documented|described|discussed|hosted|filed) (?:in|at|on|under|via)|lives? (?:in|at|on|under)) ${OUTSIDE}`,
  ),
  new RegExp(`^[Ww]e (?:track|document|discuss|file) [^,]+? (?:in|at|on|under|via) ${OUTSIDE}`),
  new RegExp(
    `^[^,]*\\b(?:[Dd]ashboards?|[Bb]oards?|[Rr]unbooks?|[Ww]iki|[Dd]oc(?:s|umentation)|[Tt]racker|[Dd]esign doc|[Pp]laybook|[Cc]hannel)\\b` +
      `[^,]*?(?:(?: is| are)(?: (?:at|in|on|under))?|:) ${OUTSIDE}`,
  ),
  // "The staging site is https://…", but not the run, the page, the issue that is spoken of.
  new RegExp(`^(?:the|our|my) ${NOT_AT_HAND}[^,:;]+? (?:is|are)(?: (?:at|on|under))? https?://`, 'i'),
  // "Datasheets are on the share, in /mnt/…": a place on this machine outside the repository.
  new RegExp(
    `^(?:I keep (?:my|our|the)|${NOT_AT_HAND}[^:;]+? (?:is|are|lives?)) [^:;]*?\\b(?:in|at|under) (?:/(?!tmp)\\w|~/(?!\\.)|\\.\\./|[A-Z]:\\\\)`,
    'i',
  ),
];

export const RULES: Rule[] = [
  {
    type: 'feedback',
    isStrict: true,
    pattern: /^(?:(?:make sure|be sure) (?:you|to) |you (?:must|should|need to) |we )?(?:always|never)\s+\S+\s+\S+/i,
    // "Always fails on Windows" and "we never get a reply" report what happens.
    unless:
      /^(?:we )?(?:always|never) (?:\w+(?<![su])s|\w+[^e]ed|the|an?|got|was|were|get|hit|see|saw|have|had|know|knew|seem|end up|run into|mind|nice|good|great|fun)\b|^you (?:must|should) (?:always|never) (?:be able|have been)\b/i,
  },
  {
    type: 'feedback',
    isStrict: true,
    pattern:
      /^(?:instead of .+,\s*)?(?:we )?use\s.+\s(?:instead of|rather than|over)\s|^(?:we )?use\s+[^,]+,\s*not\s|^instead of .+,\s*use\s|^prefer\s.+\s(?:over|to|instead of|rather than)\s|^avoid\s+\S+ing\b|^stop\s+\w+ing\s+\S+/i,
    // Of one file only, or among what was offered.
    unless: new RegExp(`\\bin \`?[\\w/-]+\\.[a-z]{1,4}\\b|^\\w+ ${OPTION}`, 'i'),
  },
  {
    // "Don't touch the parser" is about the task at hand; "don't mock the database" is a rule.
    type: 'feedback',
    isStrict: true,
    pattern: /^(?:don['’]t|do not)\s+(?:ever\s+)?\w+(?:\s+\S+){2,}/i,
    unless:
      /^(?:don['’]t|do not) you\b|^(?:don['’]t|do not)\s+(?:touch|change|edit|modify|implement|start|begin|continue|proceed|fix|make|create|add|include|output|return|print|show|reply|respond|run|install|commit|push|merge|rename|delete|remove|worry|bother|stop|forget|do|need|want|know|think|see|have|understand|remember)\b(?!.*\b(?:ever|again|instead|anymore|because|without|every|each|any|all|directly)\b)/i,
  },
  {
    // "Tests must never hit the network": for anything that is not the speaker, the agent or the thing at hand.
    type: 'feedback',
    isStrict: true,
    pattern: /^(?!(?:I|we|you|it|this|that|there)\b)[^,:;]{2,60}? must (?:never|not|always|only)\s+\S+/i,
  },
  {
    // What is asked for each time is a rule; "when you are done" is the task. An article makes "when" mean every time.
    type: 'feedback',
    isStrict: true,
    pattern:
      /^(?:(?:whenever|every time|each time|any time) |when you (?!have|get)\w+ an? )[^,:]+[,:]\s*(?!(?:I|it|we|you|this|that|there|the|my|an?|nothing|everything)\b)\S+/i,
  },
  {
    type: 'feedback',
    pattern: /^no \S+[^,:;]* (?:anywhere|ever|any ?more)\b/i,
    unless: /^no (?:need|idea|one|\w+ \w+ed)\b/i,
  },
  {
    type: 'feedback',
    pattern: new RegExp(
      `^(?:(?:answer|reply|respond|speak|talk|write)(?: \\w+){0,4}|[a-z][^,:;]{2,40} (?:is|are)(?: always)?) in ${LANGUAGE}(?:$|[,.;!]| (?:only|too|and)\\b)`,
      'i',
    ),
    unless: /^(?:the|this|that|it|there)\b/i,
  },
  { type: 'feedback', pattern: /^[a-z][^,:;]{1,40}? (?:runs?|(?:is|are) run) with `/i, unless: /^(?:it|this|that)\b/i },
  {
    // "Branches are called kim/<ticket>": a name looks like one, so that no function is called.
    type: 'feedback',
    pattern: /^[a-z][^,:;]{1,40}? are (?:always )?(?:called|named) [^\s]*[/<_`"]/i,
  },
  {
    type: 'user',
    pattern:
      /^I (?:(?:really|strongly|usually|generally|much|only) )?(?:prefer|like|love|hate|dislike|don['’]t like|do not like) \S+/i,
    unless:
      /^I (?:\w+ )?(?:not )?(?:prefer|like|love|hate|dislike) (?:option|how|when|where|what|your|to see|(?:the|a) (?!.*\bover\b))/i,
    reword: toThirdPerson,
  },
  {
    type: 'user',
    pattern: /^I want you to (?:always|never|not|stop|be|ask|answer|reply) \S+/i,
    reword: toThirdPerson,
  },
  {
    // With an article it says what somebody is: no state has one, but for these.
    type: 'user',
    pattern:
      /^I(?:['’]m| am) (?:an? |the \S+ (?:of|for|at|behind) |new to \S|allergic to \S)|^I(?:['’]ve| have) been .+ for .+ years?\b/i,
    unless:
      /^I(?:['’]m| am) an? (?:bit|little|tad|lot|few|fan|idiot|fool|moron|mess|huge|big|step|while|couple|minute|hour|day|week|month)\b/i,
    reword: toThirdPerson,
  },
  {
    type: 'user',
    pattern:
      /^I (?:work (?:on|at|in|as|with|from|for)|maintain|lead|own|manage|teach|study|translate|live in|speak|(?:always|never) \w+|use .+ (?:as|for) (?:my|all|every)|no longer use) \S+/i,
    unless:
      /^I (?:own an? |(?:always|never) (?:\w+ed|get|got|see|saw|have|had|hit|knew|know|thought|said|forget|end up)\b)/i,
    reword: toThirdPerson,
  },
  {
    // A habit: "usually", "every evening", "on Mondays".
    type: 'user',
    pattern: new RegExp(
      `^I (?!get|see|have|hit)[a-z]+ [^;:]*?\\b(?:usually|every (?:day|morning|evening|night|week)|(?:on|in the) (?:${WEEKDAY}s|mornings?|evenings?))\\b`,
      'i',
    ),
    reword: toThirdPerson,
  },
  { type: 'user', pattern: /^[A-Z]\w+ is allergic to \S/ },
  {
    type: 'user',
    pattern:
      /^My (?:\w+ )?(?:role|job|team|name|title|time ?zone|editor|shell|native language|background|operating system|company|budget|pronouns|(?:readers|users|customers|students|clients)(?= are)) (?:for .+ )?(?:is|are) \S+/i,
    unless: /^My [^,]*? (?:is|are) (?:\w{3,}ing|\w{3,}ed|on|off|in|out|down|broken|gone|here|back)\b/i,
    reword: toThirdPerson,
  },
  {
    type: 'project',
    pattern:
      /^(?:we (?:have |['’]ve )?(?:decided|agreed (?:on|to|that)|settled on|chose)|we['’](?:ve|re) (?:decided|agreed|settled on|going with)|(?:we['’]ll|we will|let['’]s) go with|the decision(?: on [^:]+)?(?: is|:)|decision:)\s+\S+/i,
    unless: new RegExp(
      `\\b(?:go|going) with (?:option|approach|plan|number|${OPTION})|^the decision is (?:yours|mine|up to|final|pending)\\b|^we decided nothing\\b`,
      'i',
    ),
    reword: (sentence) =>
      sentence.replace(/^(?:let['’]s go|we['’]re going|we['’]ll go|we will go) with\s+/i, 'Decided: '),
  },
  {
    // What a team uses, ships and stays on. With an article it is a thing at hand: "we use the mutex".
    type: 'project',
    pattern:
      /^we (?:(?:only|all|always|now|still|mostly) )?(?:use|deploy|host|ship|build|target|support|stay on|are (?:back|still|now) on|(?:have )?(?:switched|moved|migrated|upgraded) (?:back |over )?to|dropped|(?:no longer|don['’]t|do not) (?:use|support|ship|deploy)) (?!(?:the|an?|our|this|that|these|it|them|main|master|track)\b)\S+/i,
  },
  {
    // What is so every week.
    type: 'project',
    pattern: new RegExp(
      `^(?:[^:]{3,40}: )?(?!(?:I|it|this|that)\\b)[^,;:]+? (?:(?:is|are|runs?|moves? to|starts?) (?:on )?(?:every )?${WEEKDAY}s|(?:is|runs?|starts?) every (?:other )?${WEEKDAY})\\b`,
      'i',
    ),
  },
  {
    type: 'project',
    pattern: new RegExp(`^(?:the|our) ${NOT_AT_HAND}[^,;:]+? (?:listens?|runs?|is) on port \\d+`, 'i'),
  },
  { type: 'project', pattern: /^[a-z][^,;:]{1,40}? moved to (?:port \d+|https?:)/i },
  {
    // Somebody by name, of whom it is said what is theirs.
    type: 'project',
    pattern:
      /^(?!(?:I|We|You|It|This|That|The|Who|Nobody|Everybody|Everyone|Someone)\b)[A-Z]\w+ (?:(?:owns|maintains|leads) the|is (?:responsible for|in charge of))\s+\S+/,
  },
  {
    // Said against another value: "stored in metres, not in feet".
    type: 'project',
    pattern:
      /^[a-z][^,;:]{1,40}? (?:is|are) (?:stored|measured|computed|counted|given|written|billed) in [^,;:]+, (?:not|never) \S+/i,
    unless: /^(?:it|this|that)\b/i,
  },
  ...POINTERS.map((pattern): Rule => ({ type: 'reference', pattern, unless: STARTS_WITH_COMMAND })),
];
