// Tells what one sentence of a person states: its type, worded to be read later, its dates absolute; null for all that is
// asked, quoted, thought aloud, reported, or to be done now. It normalises lightly and never invents.

import type { Day } from '../../base/time.ts';
import { findRelativeDate } from '../relative-dates.ts';
import { resolveDates } from './dates.ts';
import type { Statement } from './lexicon.ts';
import * as words from './lexicon.ts';

const LONGEST_CHARS = 400;
/** Up to this many words, a sentence that ends in "it" says little by itself. */
const SHORT_WORDS = 6;
/** So many words of a sentence are a statement without what stands behind a comma. */
const WHOLE_WORDS = 4;

/** `said`: the day of the message, from which dates are counted; `isAsked`: the sentence beside it asks to remember it. */
export function classify(sentence: string, said?: Day, isAsked = false): Statement | null {
  if (sentence.length > LONGEST_CHARS || words.ASKED_OR_QUOTED.test(sentence)) return null;
  const opened = sentence.replace(words.LEAD_IN, '');
  if (words.HYPOTHETICALS.some((pattern) => pattern.test(opened))) return null;
  const bare = opened.replace(words.STANDING, '');
  const core = bare.replace(words.REMEMBER, '');
  const isRemembered = isAsked || words.REMEMBER.test(bare);
  if (isRemembered && words.NOT_A_FACT.test(core)) return null;
  if (saysLittle(core.split(/\s+/), isRemembered ? 3 : 2)) return null;

  const hasCondition = words.CONDITION.test(core);
  const isStrictOnly = hasCondition || (words.AT_WORK.test(core) && !isRemembered);
  const isTask = words.STARTS_WITH_TASK.test(core);
  for (const [name, forms] of Object.entries(words.FORMS)) {
    const isOpen = name === 'rule' || (!isStrictOnly && !(name === 'reference' && isTask));
    const type = name === 'rule' ? 'feedback' : (name as Statement['type']);
    if (isOpen && forms.some((form) => form.test(core))) return state(type, core, said);
  }
  if (hasCondition) return null;
  const isStanding = bare !== opened || words.CORRECTION.test(sentence);
  if (words.FROM_NOW_ON.test(opened) || (isStanding && words.CHOICE.test(core))) return state('feedback', core, said);
  const dated = isStrictOnly || isTask || words.HAPPENED.test(core) ? null : resolveDates(core, said);
  if (dated !== null && words.DATE.test(dated) && (words.EVENT.test(core) || words.HAPPENS.test(dated))) {
    return { type: 'project', text: finish(dated) };
  }
  if (!isRemembered) return null;
  if (/^to\s/i.test(core)) return state('feedback', core.slice(3), said);
  if (/^(?:I|I['’]m|I['’]ve|my)\b/i.test(core)) return state('user', core, said);
  return state(/https?:\/\//.test(core) ? 'reference' : 'project', core, said);
}

function saysLittle(spoken: string[], fewest: number): boolean {
  if (spoken.length < fewest || words.VAGUE.test(spoken.slice(0, 4).join(' '))) return true;
  return spoken.length <= SHORT_WORDS && words.VAGUE.test(spoken.at(-1) ?? '');
}

/** The statement, or null where a day in it cannot be told. */
function state(type: Statement['type'], sentence: string, said: Day | undefined): Statement | null {
  const text = type === 'user' ? toThirdPerson(sentence) : sentence.replace(words.GOES_WITH, 'Decided: ');
  // "Never deploy on Friday" is a rule; a weekday becomes a date only where something happens on it.
  const isTimeless = type === 'user' || type === 'feedback';
  const date = (part: string) =>
    isTimeless ? (findRelativeDate(part) === null ? part : null) : resolveDates(part, said);
  const [core = ''] = text.split(/[,;]\s|\s[–—-]\s|\sbecause\s/);
  // "…, we got burned last quarter": the rule stands without it.
  const dated = date(text) ?? (core.split(' ').length >= WHOLE_WORDS ? date(core) : null);
  return dated === null ? null : { type, text: finish(dated) };
}

/** A sentence with its capital and full stop. */
function finish(text: string): string {
  const trimmed = text.replace(/[\s,;:]*(?:,?\s*please)?[\s.!,;:]*$/i, '');
  const opened = words.OPENING.test(trimmed) ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed;
  return /https?:\/\/\S+$/.test(opened) ? opened : `${opened}.`;
}

const IRREGULAR: Record<string, string> = { am: 'is', are: 'is', have: 'has', do: 'does', can: 'can', will: 'will' };
const PRONOUNS = { 'I am': 'they are', I: 'they', my: 'their', me: 'them', your: "the agent's", you: 'the agent' };

/** What a person says of themselves, as it is said of them: "I prefer my tabs", "The user prefers their tabs". */
function toThirdPerson(sentence: string): string {
  const opened = sentence
    .replace(/\bI['’](m|ve)\b/gi, (_, verb: string) => (verb === 'm' ? 'I am' : 'I have'))
    .replace(/^my\b/i, "The user's")
    .replace(words.I_DO, (_, adverb: string, verb: string) => `The user ${adverb}${thirdPerson(verb)}`)
    .replace(words.YOU_DO, (_, when: string, verb: string) => `${when} it ${thirdPerson(verb)}`);
  // Not where they are part of a path, a name or code.
  const word = (said: string) => new RegExp(`(?<![\\w/.@\`-])${said}(?![\\w/@\`-]|\\.\\w)`, 'gi');
  return Object.entries(PRONOUNS).reduce((text, [said, told]) => text.replace(word(said), told), opened);
}

function thirdPerson(verb: string): string {
  const irregular = /^don['’]t$/i.test(verb) ? "doesn't" : IRREGULAR[verb.toLowerCase()];
  if (irregular !== undefined) return irregular;
  if (/(?:s|sh|ch|x|z|o)$/.test(verb)) return `${verb}es`;
  return /[^aeiou]y$/.test(verb) ? `${verb.slice(0, -1)}ies` : `${verb}s`;
}
