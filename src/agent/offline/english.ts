// Reads an English sentence: what opens it, what makes it a thought or a matter of the moment, and which rule it fits.

import type { Day } from '../../base/time.ts';
import { hasDate, resolveDates } from './dates.ts';
import { COMMAND, RULES } from './english-rules.ts';
import { finish, type Statement, state } from './statement.ts';
import { toThirdPerson } from './third-person.ts';

const LEAD_IN =
  /^(?:(?:(?:no(?!\b.*\b(?:anywhere|ever|any ?more)\b)|nope|yes|yeah|ok|okay|please|also|and|so|but|well|actually|again|btw|by the way|important|fyi|hey|hi|hello|thanks|oh|one (?:more )?thing(?: for the future)?)\b[,:;.!—–-]*|(?:stop|wait|right|sorry|exactly)[,:;.!—–-]+)\s+)+/i;
const CORRECTION = /^(?:no|nope|stop|wait)\b[,:;.!—–-]/i;
const STANDING = /^(?:from now on|going forward|in (?:the )?future|in general|as a (?:general )?rule)\b[,:]?\s+/i;
const FROM_NOW_ON = /\b(?:from now on|going forward)\b(?! it was)/i;
const REMEMBER =
  /^(?:(?:always )?remember|keep in mind|(?:don['’]t|do not) forget)(?:(?: (?:that|this))?[:,]\s*|\s+(?:that\s+)?)/i;
const NOT_A_FACT = /^(?:when|how|what|where|why|the time|the \w+ (?:we|I|you) had|me|him|her|us)\b/i;

const SUPPOSED = /^(?:if|what if|suppose|supposing|assuming|imagine|pretend|let['’]s say|say)\b/i;
const DOUBT =
  /\b(?:maybe|perhaps|suppose|pretend|could|might|would|I['’]d|probably|possibly|hypothetically|for example|e\.g\.|considering|wondering|not sure|I (?:think|guess|assume)|let['’]s say)(?!\w)/i;
const CONDITION = /\b(?:if|unless|whether)\b/i;
/** "In this project" is for good; in this anything else is not. */
const EPHEMERAL =
  /\b(?:yet|for now|right now|for the moment|temporarily|just this|this time|this once|this one|for this|(?:in|at) this (?!repo|project|codebase|workspace|team|house)\w+|until (?:I|we)|before (?:I|we|you) (?:start|begin))\b|, just \w+ (?:it|them)\b/i;
const VAGUE = /\b(?:this|that|these|those|it|them|he|she|they)\b/i;
/** What goes wrong, and what is to be done now: a report or the task, unless it is put as a rule. */
const AT_WORK = new RegExp(
  `\\b(?:fail\\w*|broken|breaks|broke|crash\\w*|hangs?|stuck|blocked|missing|by accident|here)\\b|(?:,|;|\\band|\\bso) (?:please |just |now |then )*(?:${COMMAND}|don['’]t)\\b(?! .*\\bbefore you\\b)|/(?:runs?|pull|issues|actions|commit|blob|jobs?|builds?|compare)/`,
  'i',
);

/** Up to this many words, a sentence that ends in "it" says little by itself. */
const SHORT_WORDS = 6;

const EVENT =
  /\b(?:deadlines?|due|releas(?:e|es|ed)|freezes?|frozen|launch(?:es)?|ships?|goes live|go live|cut-?off|sunset|end of life|milestone|migration|demo|branch is cut)\b/i;
/** What is, begins, ends or has to be done on a day. What was seen on one is a report. */
const HAPPENS =
  /^(?!(?:I|you|it|this|that|there)\b)[^,;:]+? (?:(?:is|are) (?:now )?(?:on |by |until )?\d{4}-\d|(?:must|has to|have to|needs? to|begins?|starts?|ends?|expires?|opens?|closes?|goes out|is live)\b.* \d{4}-\d)/i;
const HAPPENED = /\b(?:was|were|ran|did|had|went|happened|started|failed|deleted|broke|appeared)\b/i;
const STARTS_WITH_COMMAND = new RegExp(`^(?:I|${COMMAND})\\b`, 'i');

/** Whether the sentence asks to remember what it says. */
export function asksToRemember(sentence: string): boolean {
  return REMEMBER.test(sentence);
}

/** What the sentence states, or null. `isAsked`: the sentence beside it asks to remember it. */
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
  const isStrictOnly = CONDITION.test(sentence) || (AT_WORK.test(sentence) && !manner.isAsked);
  for (const rule of RULES) {
    if (isStrictOnly && !rule.isStrict) continue;
    if (!rule.pattern.test(sentence) || rule.unless?.test(sentence)) continue;
    return state(rule.type, rule.reword?.(sentence) ?? sentence, manner.said);
  }
  if (CONDITION.test(sentence)) return null;
  if (manner.isForGood) return state('feedback', sentence, manner.said);
  if (manner.isStanding && /^(?:use|prefer|run|write|keep|put|call|name)\s+\S+/i.test(sentence)) {
    return state('feedback', sentence, manner.said);
  }
  const dated = STARTS_WITH_COMMAND.test(sentence) ? null : resolveDates(sentence, manner.said);
  if (dated !== null && hasDate(dated) && (EVENT.test(sentence) || HAPPENS.test(dated)) && !isStrictOnly) {
    if (!HAPPENED.test(sentence)) return { type: 'project', text: finish(dated) };
  }
  return manner.isAsked ? asRemembered(sentence, manner.said) : null;
}

function asRemembered(sentence: string, said: Day | undefined): Statement | null {
  if (/^to\s/i.test(sentence)) return state('feedback', sentence.slice(3), said);
  if (/^(?:I|I['’]m|I['’]ve|my)\b/i.test(sentence)) return state('user', toThirdPerson(sentence), said);
  return state(/https?:\/\//.test(sentence) ? 'reference' : 'project', sentence, said);
}
