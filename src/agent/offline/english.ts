// The rules by which an English sentence is an explicit statement worth keeping.
// Most fit at the beginning of a sentence or not at all, so that what is told, quoted or asked is not taken for said.

import type { Day } from '../../time.ts';
import { hasDate, resolveDates } from './dates.ts';
import { finish, type Rule, type Statement, state } from './statement.ts';
import { toThirdPerson } from './third-person.ts';

const LEAD_IN =
  /^(?:(?:(?:no|nope|yes|yeah|ok|okay|please|also|and|so|but|well|actually|again|btw|by the way|important|fyi|hey|hi|hello|thanks|oh|one (?:more )?thing(?: for the future)?)\b[,:;.!—–-]*|(?:stop|wait|right|sorry|exactly)[,:;.!—–-]+)\s+)+/i;
const CORRECTION = /^(?:no|nope|stop|wait)\b[,:;.!—–-]/i;
const STANDING = /^(?:from now on|going forward|in (?:the )?future|in general|as a (?:general )?rule)\b[,:]?\s+/i;
const FROM_NOW_ON = /\b(?:from now on|going forward)\b/i;
const REMEMBER =
  /^(?:(?:always )?remember|keep in mind|note|(?:don['’]t|do not) forget)(?:(?: (?:that|this))?[:,]\s*|\s+(?:that\s+)?)/i;
const NOT_A_FACT = /^(?:when|how|what|where|why|the time|me|him|her|us)\b/i;

const SUPPOSED = /^(?:if|what if|suppose|supposing|assuming|imagine|pretend|let['’]s say|say)\b/i;
const DOUBT =
  /\b(?:maybe|perhaps|suppose|pretend|could|might|would|I['’]d|probably|possibly|hypothetically|for example|e\.g\.|considering|wondering|not sure|I (?:think|guess|assume)|let['’]s say)(?!\w)/i;
const CONDITION = /\b(?:if|unless|whether)\b/i;
const EPHEMERAL =
  /\b(?:yet|for now|right now|for the moment|temporarily|just this|this time|this once|for this|in this (?:file|pr|commit|session|branch|task)|until (?:I|we)|before (?:I|we|you) (?:start|begin))\b/i;
const VAGUE = /\b(?:this|that|these|those|it|them|he|she|they)\b/i;

/** Up to this many words, a sentence that ends in "it" says little by itself. */
const SHORT_WORDS = 6;

const EVENT =
  /\b(?:deadlines?|due|releas(?:e|es|ed)|freezes?|frozen|launch(?:es)?|ships?|goes live|go live|cut-?off|sunset|end of life|milestone|migration|demo|branch is cut)\b/i;
/** What is, begins, ends or has to be done on a day. What was seen on one is a report. */
const HAPPENS =
  /^(?!(?:I|you|it|this|that|there)\b)[^,;:]+? (?:(?:is|are) (?:now )?(?:on |by |until )?\d{4}-\d|(?:must|has to|have to|needs? to|begins?|starts?|ends?|expires?|opens?|closes?|goes out|is live)\b.* \d{4}-\d)/i;
const COMMAND =
  /^(?:add|bump|change|check|commit|create|do|draft|find|fix|generate|go|I|implement|look|make|merge|open|prepare|push|read|remove|rename|run|see|set|show|tag|tell|update|use|visit|write)\b/i;

/** Something outside the repository: an address, a channel, a named product or place; never a path. */
const OUTSIDE = '(?:https?://|#[a-z]|(?:(?:the|our|a) )?[A-Z][\\w-]*(?![\\w.-]*/))';
/** What a message is about while it is worked on. */
const AT_HAND =
  '(?:pr|pull|issue|ticket|run|build|job|error|bug|log|stack|commit|branch|page|link|test|problem|fix|output|file|here)';
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
  new RegExp(`^(?:the|our|my) (?!(?:\\S+ )*?${AT_HAND}s?\\b)[^,:;]+? (?:is|are)(?: (?:at|on|under))? https?://`, 'i'),
  // "Datasheets are on the share, in /mnt/…": a place on this machine outside the repository.
  new RegExp(
    `^(?:I keep (?:my|our|the)|(?!(?:\\S+ )*?${AT_HAND}s?\\b)[^:;]+? (?:is|are|lives?)) [^:;]*?\\b(?:in|at|under) (?:/(?!tmp)\\w|~/|\\.\\./|[A-Z]:\\\\)`,
    'i',
  ),
];

const WEEKDAY = '(?:mon|tues|wednes|thurs|fri|satur|sun)day';
const LANGUAGE = '(?:English|German|French|Spanish|Italian|Japanese|Chinese|Korean|Portuguese|Dutch|Polish|Russian)';

const RULES: Rule[] = [
  {
    type: 'feedback',
    isConditional: true,
    pattern:
      /^(?:(?:make sure|be sure) (?:you|to) |you (?:must|should|need to) |we )?(?:always|never)\s+\S+\s+\S+|^(?:instead of .+,\s*)?(?:we )?use\s.+\s(?:instead of|rather than|over)\s|^(?:we )?use\s+[^,]+,\s*not\s|^instead of .+,\s*use\s|^prefer\s.+\s(?:over|to|instead of|rather than)\s|^avoid\s+\S+ing\b|^stop\s+\w+ing\s+\S+/i,
    // "Always fails on Windows" and "we never get a reply" report what happens.
    unless:
      /^(?:we )?(?:always|never) (?:\w+(?<![su])s|\w+[^e]ed|the|an?|got|was|were|get|hit|see|saw|have|had|know|knew|seem|end up|run into)\b/i,
  },
  {
    // "Don't touch the parser" is about the task at hand; "don't mock the database" is a rule.
    type: 'feedback',
    isConditional: true,
    pattern: /^(?:don['’]t|do not)\s+(?:ever\s+)?\w+(?:\s+\S+){2,}/i,
    unless:
      /^(?:don['’]t|do not)\s+(?:touch|change|edit|modify|implement|start|begin|continue|proceed|fix|make|create|add|include|output|return|print|reply|respond|run|install|commit|push|merge|rename|delete|remove|worry|bother|stop|forget|do|need|want|know|think|see|have|understand|remember)\b(?!.*\b(?:ever|again|instead|anymore|because|without|every|each|any|all|directly)\b)/i,
  },
  {
    // "Tests must never hit the network": for anything that is not the speaker, the agent or the thing at hand.
    type: 'feedback',
    isConditional: true,
    pattern: /^(?!(?:I|we|you|it|this|that|there)\b)[^,:;]{2,60}? must (?:never|not|always|only)\s+\S+/i,
  },
  {
    // What is asked for each time is a rule; "when you are done" is the task. An article makes "when" mean every time.
    type: 'feedback',
    pattern:
      /^(?:whenever|every time|each time|any time) [^,:]+[,:]\s*\S+|^when you \w+ an? [^,:]+[,:]\s*\S+|^[a-z]+ [^,:]+ (?:whenever|every time|each time)\b/i,
    unless: /^(?:whenever|every time|each time) (?:I|it|this|that|the)\b[^,:]+[,:] (?:I|it|we|this|that|the|an?)\b/i,
  },
  { type: 'feedback', pattern: /^no \S+[^,:;]* (?:anywhere|ever|any ?more)\b/i, unless: /^no (?:need|idea|one)\b/i },
  {
    type: 'feedback',
    pattern: new RegExp(
      `^(?:(?:answer|reply|respond|speak|talk|write)(?: \\w+){0,4}|[a-z][^,:;]{2,40} (?:is|are)(?: always)?) in ${LANGUAGE}\\b`,
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
    type: 'user',
    // With an article it says what somebody is: no state has one, but for these.
    pattern:
      /^I(?:['’]m| am) (?:an? |the \S+ (?:of|for|at|behind) |new to \S|allergic to \S)|^I(?:['’]ve| have) been .+ for .+ years?\b/i,
    unless:
      /^I(?:['’]m| am) an? (?:bit|little|tad|lot|few|fan|idiot|fool|moron|mess|huge|big|step|while|couple|week|day|month)\b/i,
    reword: toThirdPerson,
  },
  {
    type: 'user',
    pattern:
      /^I (?:work (?:on|at|in|as|with|from|for)|maintain|lead|own|manage|teach|study|translate|live in|speak|(?:always|never) (?!\w+ed\b)\w+|use .+ (?:as|for) (?:my|all|every)|no longer use) \S+/i,
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
    reword: toThirdPerson,
  },
  {
    type: 'project',
    pattern:
      /^(?:we (?:have |['’]ve )?(?:decided|agreed|settled on|chose)|we['’](?:ve|re) (?:decided|agreed|settled on|going with)|(?:we['’]ll|we will|let['’]s) go with|the decision(?: on [^:]+)?(?: is|:)|decision:)\s+\S+/i,
    unless: /\b(?:go|going) with (?:option|approach|plan|number|the (?:first|second|third|last|other))\b/i,
    reword: (sentence) =>
      sentence.replace(/^(?:let['’]s go|we['’]re going|we['’]ll go|we will go) with\s+/i, 'Decided: '),
  },
  {
    // What a team uses, ships and stays on; not what it gets, sees or keeps seeing.
    type: 'project',
    pattern:
      /^we (?:(?:only|all|always|now|still|mostly) )?(?:use|deploy|host|ship|build|target|support|stay on|are (?:back|still|now) on|(?:have )?(?:switched|moved|migrated|upgraded) (?:back |over )?to|dropped|(?:no longer|don['’]t|do not) (?:use|support|ship|deploy)) \S+/i,
    unless: /^we (?:\w+ )?(?:use|build|ship) (?:the|this|that|these|it|them|an?) (?!.*:)|\bhere\b/i,
  },
  {
    // What is so every week.
    type: 'project',
    pattern: new RegExp(
      `^(?:[^:]{3,40}: )?(?!(?:I|it|this|that)\\b)[^,;:]+? (?:(?:is|are|runs?|moves? to|starts?) (?:on )?(?:every )?${WEEKDAY}s|(?:is|runs?|starts?) every (?:other )?${WEEKDAY})\\b`,
      'i',
    ),
  },
  { type: 'project', pattern: /^(?:the|our) [^,;:]+? (?:listens?|runs?|is) on port \d+/i },
  { type: 'project', pattern: /^[a-z][^,;:]{1,40}? moved to (?:port \d+|https?:)/i },
  {
    // Somebody by name, of whom it is said what is theirs.
    type: 'project',
    pattern:
      /^(?!(?:I|We|You|It|This|That|The|Who|Nobody|Everybody|Everyone|Someone)\b)[A-Z]\w+ (?:owns|maintains|leads|is (?:responsible for|in charge of))\s+\S+/,
  },
  {
    // Said against another value: "stored in metres, not in feet".
    type: 'project',
    pattern:
      /^[a-z][^,;:]{1,40}? (?:is|are) (?:stored|measured|computed|counted|given|written|billed) in [^,;:]+, (?:not|never) \S+/i,
    unless: /^(?:it|this|that)\b/i,
  },
  ...POINTERS.map((pattern): Rule => ({ type: 'reference', pattern, unless: COMMAND })),
];

/** What the sentence states in English, or null. */
export function readEnglish(
  sentence: string,
  { said, isAsked: isAskedBeside }: { said: Day | undefined; isAsked: boolean },
): Statement | null {
  const opened = sentence.replace(LEAD_IN, '');
  if (SUPPOSED.test(opened) || DOUBT.test(sentence)) return null;
  const bare = opened.replace(STANDING, '');
  if (EPHEMERAL.test(bare)) return null;
  const isStanding = bare !== opened || CORRECTION.test(sentence);
  const isForGood = FROM_NOW_ON.test(opened);
  const isAsked = isAskedBeside || REMEMBER.test(bare);
  const core = bare.replace(REMEMBER, '');
  if (isAsked && NOT_A_FACT.test(core)) return null;
  const words = core.split(/\s+/);
  if (words.length < 2 || words.length < (isAsked ? 3 : 0) || VAGUE.test(words.slice(0, 4).join(' '))) return null;
  if (words.length <= SHORT_WORDS && VAGUE.test(words.at(-1) ?? '')) return null;
  return classify(core, { said, isStanding, isForGood, isAsked });
}

interface Manner {
  said: Day | undefined;
  /** Said as a correction or for the future, so that a bare "use X" is a rule and not the task. */
  isStanding: boolean;
  /** Said to hold from now on, whatever its form. */
  isForGood: boolean;
  isAsked: boolean;
}

function classify(sentence: string, manner: Manner): Statement | null {
  const hasCondition = CONDITION.test(sentence);
  for (const rule of RULES) {
    if (hasCondition && !rule.isConditional) continue;
    if (!rule.pattern.test(sentence) || rule.unless?.test(sentence)) continue;
    return state(rule.type, rule.reword?.(sentence) ?? sentence, manner.said);
  }
  if (hasCondition) return null;
  if (manner.isForGood) return state('feedback', sentence, manner.said);
  if (manner.isStanding && /^(?:use|prefer|run|write|keep|put|call|name)\s+\S+/i.test(sentence)) {
    return state('feedback', sentence, manner.said);
  }
  const dated = COMMAND.test(sentence) ? null : resolveDates(sentence, manner.said);
  if (dated !== null && hasDate(dated) && (EVENT.test(sentence) || HAPPENS.test(dated))) {
    return { type: 'project', text: finish(dated) };
  }
  return manner.isAsked ? asRemembered(sentence, manner.said) : null;
}

function asRemembered(sentence: string, said: Day | undefined): Statement | null {
  if (/^to\s/i.test(sentence)) return state('feedback', sentence.slice(3), said);
  if (/^(?:I|I['’]m|I['’]ve|my)\b/i.test(sentence)) return state('user', toThirdPerson(sentence), said);
  return state(/https?:\/\//.test(sentence) ? 'reference' : 'project', sentence, said);
}
