// Whether what an agent found out is a way: a call that failed, with the error's own words, and a later one that worked, of which
// the text names nothing but what they did. Also the shapes that every kind of lesson is judged with.

import type { Candidate, Quoted } from './candidate.ts';
import { each, stands } from './carried.ts';
import { commandsIn, HARM_SAID, harmsIn, programsIn, withoutRemoving } from './commands.ts';
import { CLAUSE } from './languages.ts';
import {
  type Act,
  isSameTried,
  isStarted,
  MOST_QUOTED,
  missingFor,
  type Proof,
  shellOf,
  type TriedCall,
} from './lessons.ts';
import { literals } from './literals.ts';
import { contentWords, countSharedWords } from './words.ts';

/** A call that a quote is of. */
export interface QuotedCall {
  quoted: Quoted;
  tried: TriedCall;
  at: number;
  isResult: boolean;
}

/** What a lesson's calls show, beside its quotes. */
export interface Proven {
  message: string;
  quote: string;
  proves: Proof;
}

export interface Lesson {
  candidate: Candidate;
  tried: readonly TriedCall[];
  calls: QuotedCall[];
}

export type Judged = { faults: string[] } | Proven[];
export const no = (...faults: string[]): Judged => ({ faults });

export const IS_HERE = /^On this machine\b/i;
export const ONLY_HERE = 'text: holds on this machine alone. Begin it with "On this machine:", or leave it out.';
/** So many words of a text make a result that is quoted one of its subject; a call's own words stand in many. */
export const WORDS_OF_SUBJECT = 2;

const shown = (tried: TriedCall, proves: Proof): Proven => ({
  message: tried.call.message.id,
  quote: tried.act.does.slice(0, MOST_QUOTED).toWellFormed(),
  proves,
});

/** What passes by itself. */
const OF_THE_MOMENT =
  /\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENETUNREACH|could not resolve host|temporary failure|connection (?:timed out|reset|refused)|network is unreachable|rate limit|too many requests|service unavailable|timed? ?out|TLS handshake|no space left|index\.lock|deadlock)\b|\b(?:429|502|503|504)\b/i;

/** What a shell says of a directory that is not there; whatever runs behind a `cd` that says no such thing found it. */
const NO_DIRECTORY = /\bcd: .*(?:no such file|not a directory|can['’]t cd)/i;
const hasMoved = ({ act, result }: TriedCall) =>
  /^cd\s/.test(act.does) && (act.ended === 'worked' || act.ended === 'ran') && !NO_DIRECTORY.test(result.text);

export function wayProven(lesson: Lesson): Judged {
  const { candidate, calls, tried } = lesson;
  const { entry, text } = candidate;
  // Of a way that memory knows a new run of the call that works is enough.
  const again = calls.find(
    ({ tried: { act } }) => act.ended === 'worked' && act.programs.some((program) => text.includes(program)),
  );
  if (entry.again !== undefined && again) return [shown(again.tried, 'worked')];
  const errors = calls.filter(({ tried, isResult }) => isResult && tried.act.ended === 'failed');
  if (errors.length === 0)
    return no(
      'evidence: a way needs the words of the error, from the result of a call that its tool marks as failed (it begins "error:"). Quote them; where no call failed, it may be a reason.',
    );
  const worked = calls.flatMap((call): QuotedCall[] => {
    const { act } = call.tried;
    const does = withoutRemoving(act.does);
    return act.ended === 'worked' || isStarted(call.tried, tried.slice(call.at + 1))
      ? [{ ...call, tried: { ...call.tried, act: { ...act, does } } }]
      : [];
  });
  const pairs = errors.flatMap((error) => {
    const moved = NO_DIRECTORY.test(error.quoted.quote) ? calls.filter(({ tried }) => hasMoved(tried)) : [];
    const ways = [...worked.filter(({ at, tried }) => isWayFrom(error, tried, at)), ...moved];
    return ways.filter(({ at }) => at > error.at).map((good) => ({ error, good }));
  });
  if (pairs.length === 0)
    return no(
      `evidence: a way needs a later call of the same program or file that its tool marks as good; of another program only soon after, where the error says that the first is missing and the text names it. ${worked.length === 0 ? 'No quoted call is marked as good (where a later command hides its end, it may be a reason)' : `${JSON.stringify(worked[0]?.tried.act.does.slice(0, 80))} is none of these`}. Quote one that is, or leave it out.`,
    );
  const others = pairs.filter(({ error, good }) => error.tried.act.does !== good.tried.act.does);
  if (others.length === 0)
    return no(
      'found: the same call worked later, so that it is no other way. What was changed between may be a reason.',
    );
  // Of several that are quoted the one that the text tells of.
  const ways = others.map((pair) => ({ ...pair, faults: wayFaults(pair, lesson) }));
  const { error, good, faults } = ways.reduce((best, way) => (way.faults.length < best.faults.length ? way : best));
  if (faults.length > 0) return no(...faults);
  const { source, quote } = error.quoted;
  return [shown(error.tried, 'failed'), { message: source.id, quote, proves: 'error' }, shown(good.tried, 'worked')];

  function isWayFrom(error: QuotedCall, other: TriedCall, at: number): boolean {
    if (isSameTried(error.tried.act, other.act)) return true;
    const missing = missingFor(error.tried, other, { error: error.quoted.quote, apart: at - error.at });
    return missing !== undefined && text.includes(missing) && nameIn(text, other.act);
  }
}

/** Why a call that worked is no way that a text may tell from one that failed. */
function wayFaults({ error, good }: Record<'error' | 'good', QuotedCall>, { candidate, tried }: Lesson): string[] {
  const { text } = candidate;
  const { quote } = error.quoted;
  const faults: string[] = [];
  // Which part of it is quoted says nothing of what is missing.
  const whole = error.tried.result.text;
  const missing = missingFor(error.tried, good.tried, { error: whole, apart: good.at - error.at });
  // `cd` is in every shell: what it did not find is a directory.
  const isMissing = ({ words }: { words: string[] }) =>
    words.find((word) => !word.includes('=')) === missing && missing !== 'cd';
  const isProgram = missing !== undefined && commandsIn(error.tried.act.does).some(isMissing);
  if (isProgram && !IS_HERE.test(text)) faults.push(ONLY_HERE);
  if (!/\p{L}{3}/u.test(quote.replace(/^(?:error: )?Exit code \d+/i, '')))
    faults.push("evidence: quote the error's own words, not its number.");
  const moment = OF_THE_MOMENT.exec(quote)?.[0];
  if (moment && !(/^tim/i.test(moment) && hasCause(quote, text)))
    faults.push(
      `evidence: ${JSON.stringify(moment)} was a failure of the moment. Quote and say what it came from, or leave it out.`,
    );
  const harm = harmsIn(good.tried.act.does).find((kind) => kind in HARM_SAID);
  if (harm)
    faults.push(`evidence: the call that worked ${HARM_SAID[harm]}. Quote a later one that does not, or leave it out.`);
  // What a tool printed may look like a call that nobody made: only of the error what is no command may be named.
  const own = candidate.quoted.filter(({ by }) => by === 'assistant').map((each) => each.quote);
  // Another call may hide how it ended, and still it was made.
  const isMade = ({ act }: TriedCall, at: number) => at > error.at && act.isCommand && act.ended !== 'failed';
  const made = [error.tried, ...tried.filter((each, at) => at === error.at || at === good.at || isMade(each, at))];
  const ran = made.flatMap(({ act: { does } }) => [does, withoutRemoving(does)]);
  const said = [...ran, whole, ...own, ...(candidate.options.names ?? [])];
  const isRun = (value: string) => good.tried.act.isCommand && isCommand(value);
  const unmade = literals(text).filter((value) => !(isRun(value) ? ran : said).some((where) => stands(value, where)));
  if (unmade.length > 0)
    faults.push(`text: ${each(unmade)} stands in neither of the two calls, nor in the error. Leave the value out.`);
  return faults;
}

/** Whether what failed says, beside that it took too long, what a text says. */
function hasCause(error: string, text: string): boolean {
  const others = error.split(CLAUSE).filter((clause) => !OF_THE_MOMENT.test(clause));
  return countSharedWords(contentWords(others.join('\n')), contentWords(text)) >= WORDS_OF_SUBJECT;
}

export const isCommand = (value: string) => /\s/.test(value) && programsIn(value).length > 0;

/** Whether a text names a file or a program of a call. */
export function nameIn(text: string, act: Act, contains = (name: string) => text.includes(name)): boolean {
  const programs = [...act.programs.map((each) => each.split(' ')[0]), shellOf(act)];
  const names = [...act.files.map((file) => file.split(/[/\\]/).at(-1)), ...programs];
  return names.some((name = '') => name.length > 1 && contains(name));
}
