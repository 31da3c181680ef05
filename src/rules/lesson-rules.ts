// Whether an entry that says what an agent found out rests on what its kind must rest on: calls whose ends are marked by their
// tools. It refuses what orders, what would do harm, what was of the moment, and what only repeats a text that was read. Each
// refusal says what is missing, and what would pass.

import { type Candidate, nameOf, type Quoted } from './candidate.ts';
import { answersTo, isReadIn, PASSAGE_CHARS, stands } from './carried.ts';
import { HARM_SAID, harmsIn, harmsOf } from './commands.ts';
import { type Act, AGENT_TOOL, type Found, isLeaving, isSameTried, leaves, type TriedCall, verbIn } from './lessons.ts';
import { containsLiteral, literals, missingIn, valuesIn } from './literals.ts';
import { overtakenIn } from './overtaken.ts';
import { findQuote } from './quotes.ts';
import {
  IS_HERE,
  isCommand,
  type Judged,
  type Lesson,
  nameIn,
  no,
  ONLY_HERE,
  type QuotedCall,
  WORDS_OF_SUBJECT,
  wayProven,
} from './way-rules.ts';
import { carriedShare, contentWords, countSharedWords, isNegated, shareIn, sharesTopic } from './words.ts';

/** Why an entry is no lesson of its kind; else what its calls show. */
export function provenLesson(candidate: Candidate, found: Found): Judged {
  const { entry, quoted, options } = candidate;
  if (entry.type === 'user' || entry.type === 'feedback')
    return no(
      `found: what an agent finds out is no ${entry.type} entry. Make it project or reference, or leave it out.`,
    );
  const [first] = quoted;
  if (first.by === 'human' || first.by === 'quoted')
    return no(
      `found: ${nameOf(first.source)} is the human's. Quote first what the agent or its tools said, or leave "found" out.`,
    );
  const faults: string[] = [];
  if (/\[redacted\b/i.test([candidate.text, ...quoted.map(({ quote }) => quote)].join('\n')))
    faults.push('text: needs a value that was removed. Leave it out.');
  const harm = harmsOf(candidate.text)[0];
  if (harm) faults.push(`text: holds a command that ${HARM_SAID[harm]}. Name another that was run, or leave it out.`);
  const line = found === 'way' ? undefined : options.told?.find((each) => saysAgain(candidate.text, each));
  if (line)
    faults.push(
      `found: this session was told ${JSON.stringify(line)}, and its words are no new evidence. Say what is new or different, or leave it out.`,
    );
  const tried = options.tried?.() ?? [];
  const lesson: Lesson = { candidate, tried, calls: quoted.flatMap((each) => callsOf(each, tried)) };
  // What another machine's person reports of it holds there.
  if (found === 'place' && reportIn(lesson)) return faults.length > 0 ? no(...faults) : [];
  // Nor is a path on this machine that a page names.
  const reported = lesson.calls.flatMap((call) => (isOutside(call) ? call.quoted.quote : []));
  const elsewhere = literals(candidate.text).filter((value) => reported.some((quote) => stands(value, quote)));
  const trees = (options.names ?? []).filter((name) => /^(?:\/|[A-Z]:)/.test(name));
  const without = (text: string) => [...elsewhere, ...trees].reduce((left, value) => left.replaceAll(value, '.'), text);
  if (OWN_PATH.test(without(candidate.text)) && !IS_HERE.test(candidate.text)) faults.push(ONLY_HERE);
  const judged = PROOFS[found](lesson);
  if ('faults' in judged) faults.push(...judged.faults);
  return faults.length > 0 ? no(...faults) : judged;
}

/** Whether a text says what a line said: much of its words, no other value, and nothing that the line denies. */
const saysAgain = (text: string, line: string) =>
  shareIn(text, line) >= TOLD_SHARE &&
  missingIn(valuesIn(text), [line]).length === 0 &&
  isNegated(text) === isNegated(line);

const TOLD_SHARE = 0.6;

/** What programs keep in a home, `~/.config`, is there in everybody's. */
const OWN_PATH =
  /(?<![\w./:~-])(?:\/(?:usr|opt|home|Users|Applications|var|etc|Library|mnt|srv)\/|~\/(?!\.\w)|[A-Z]:\\)/;

/** The calls that a quote is of: of a message that makes several each that holds it. */
function callsOf(quoted: Quoted, tried: readonly TriedCall[]): QuotedCall[] {
  return tried.flatMap((each, at): QuotedCall[] => {
    const isIn = ({ message, text }: TriedCall['call']) =>
      message.id === quoted.source.id && findQuote(text, quoted.quote) !== null;
    if (isIn(each.result)) return [{ quoted, tried: each, at, isResult: true }];
    return isIn(each.call) ? [{ quoted, tried: each, at, isResult: false }] : [];
  });
}

const PROOFS = { way: wayProven, place: placeProven, reason: reasonProven, outcome: outcomeProven };

/** So many calls looked for it, the last of which found it; so far back they are looked for. */
const SEARCHES = 3;
const SEARCHED_BACK = 25;
const LOOKS_FOR =
  /^(?:ls|glob|grep|list|find|search|read|view|fetch|web|open|query|browse|mcp)|\b(?:ls|find|rg|grep|which|where|locate|fd|tree|cat|head|sed|curl|git (?:log|grep|show|ls-files|branch|remote)|gh|kubectl get|docker ps|env)\b/i;

function placeProven({ candidate, tried, calls }: Lesson): Judged {
  // A home is written `~`, whatever a result calls it.
  const values = literals(candidate.text).map((value) => value.replace(/^~(?=\/)/, ''));
  const places = candidate.quoted.flatMap((quoted) =>
    values.flatMap((value) => {
      const call = quoted.quote.includes(value) ? foundBy(value, quoted) : undefined;
      return call && call.tried.act.ended !== 'failed' ? { call, value } : [];
    }),
  );
  const [first] = places;
  if (!first)
    return no(
      'evidence: a place needs a result, of a call that did not fail, in which a path, name or other value of its text stands. Quote the value there, and write it in the text as it stands there.',
    );
  const before = (at: number) => tried.slice(Math.max(0, at - SEARCHED_BACK), at);
  // Of what stands in several places the last that was found tells how long it took.
  const isSearched = places.some(({ call: { at, tried: place }, value }) => {
    if (place.call.text.includes(value)) return false;
    // What was sought by its name in vain was not known.
    const isKnown = ({ act, call, result }: TriedCall) =>
      act.ended !== 'failed' && `${call.text}\n${result.text}`.includes(value);
    if (before(at).some(isKnown)) return false;
    const searches = before(at).filter(({ act }) => LOOKS_FOR.test(act.does));
    return new Set(searches.map(({ act }) => act.does)).size + 1 >= SEARCHES;
  });
  // Or several places belong together, of which each was gone to.
  const gone = new Set(before(first.call.at).flatMap(({ act }) => (act.ended === 'failed' ? [] : act.files)));
  const together = new Set(places.map(({ value }) => value));
  const isTogether = [...together].filter((value) => [...gone].some((file) => stands(value, file))).length >= SEARCHES;
  // A subagent searched for it, and it was there.
  const isMet = (value: string, { act, result }: TriedCall) =>
    act.ended === 'worked' && !isAgents({ act }) && stands(value, `${act.does}\n${result.text}`);
  const isReported = places.some(
    ({ call: { at, tried: place }, value }) =>
      isAgents(place) && tried.slice(at + 1).some((each) => isMet(value, each)),
  );
  return isSearched || isTogether || isReported || isOfKnown(candidate)
    ? []
    : no(
        `evidence: a place is what took a search: ${SEARCHES} different calls or more, of which the quoted one is the first that names ${JSON.stringify(first.value)}; or ${SEARCHES} places or more that belong together, each worked on before and named in the quoted result; or what an issue, a pull request or a page reports, with its number or address in the text; or by what a line of memory is over, which "changes" copies. One look tells this; leave it out.`,
      );

  /** The call whose result tells a value: the quoted one; of what the agent says the first that does, as most results are not shown. */
  function foundBy(value: string, said: Quoted): Pick<QuotedCall, 'at' | 'tried'> | undefined {
    if (said.by !== 'assistant') return calls.find(({ quoted, isResult }) => quoted === said && isResult);
    const at = tried.findIndex(({ act, result }) => act.ended !== 'failed' && result.text.includes(value));
    const found = tried[at];
    return found && found.result.position < (said.source.position ?? 0) ? { at, tried: found } : undefined;
  }
}

/** Whether a line of memory is over by it: what one look tells is worth keeping where memory says otherwise. */
const isOfKnown = ({ entry: { changes = '' }, text, options: { isRemembered, told = [] } }: Candidate) =>
  (isRemembered?.(changes) || told.some((line) => line.startsWith(`- ${changes} (`))) && sharesTopic(changes, text);

/** Whether a call has a subagent do something. */
const isAgents = ({ act: { isCommand, programs } }: Pick<TriedCall, 'act'>) =>
  !isCommand && AGENT_TOOL.test(programs[0] ?? '');

/** What asks outside of this machine what others wrote. */
const ASKS_OUTSIDE = /^(?:gh|glab)(?! (?:repo clone|auth))|^(?:curl|wget)\b|^(?:web|mcp__)|fetch/i;
const isOutside = ({ isResult, tried: { act } }: QuotedCall) =>
  isResult && act.ended !== undefined && act.programs.some((program) => ASKS_OUTSIDE.test(program));
/** So much of a text must stand in what is quoted of a report, or of what an agent wrote for others. */
const SAID_SHARE = 0.3;

/** Whether a quoted result is an issue's, a review's or a page's that the text names: by its number, its address or its key. */
function reportIn({ candidate: { text }, calls, tried }: Lesson): boolean {
  // What others say is to be run was run by nobody here.
  if (literals(text).some((value) => isCommand(value) && !tried.some(({ act }) => stands(value, act.does))))
    return false;
  return calls.filter(isOutside).some(({ quoted: { quote }, tried: { act } }) => {
    const names = [
      ...(act.does.match(/(?<=[\s/"])\d{1,6}(?=[\s/"]|$)/g) ?? []).map((number) => `#${number}`),
      ...(act.does.match(/(?<=https?:\/\/)[^\s/"'?#]+/g) ?? []),
      ...(act.does.match(/\b[A-Z][A-Z\d]+-\d+\b/g) ?? []),
    ];
    const isNamed = names.some((name) => containsLiteral(name, text));
    return isNamed && carriedShare(text, [quote]) >= SAID_SHARE;
  });
}

function reasonProven({ candidate, tried, calls }: Lesson): Judged {
  const { quoted, text, shown: messages } = candidate;
  const report = calls.find(({ isResult, tried: each }) => isResult && isAgents(each));
  const own = quoted.find(({ by }) => by === 'assistant') ?? report?.quoted;
  if (!own)
    return no(
      "evidence: a reason needs the agent's own sentence that says it, from a message, a commit or a pull request. Quote it; where only a result says it, it may be a place.",
    );
  const order = own.source.position ?? Number.POSITIVE_INFINITY;
  const isReadThere = ({ act, call, result }: TriedCall) => {
    // What a test or a build prints, and what the agent itself wrote into the call, is no text that somebody finds where it stands.
    if (act.ended === 'failed' && act.programs.length > 0 && !LOOKS_FOR.test(act.does)) return false;
    return result.position < order && isReadIn(text, own.quote, result.text) && !isReadIn(text, own.quote, call.text);
  };
  const read = tried.find((each) => !isAgents(each) && isReadThere(each));
  if (read && !isOfKnown(candidate))
    return no(
      `text: what ${JSON.stringify(read.act.does.slice(0, 80).toWellFormed())} printed says this; whoever looks there finds it. Say what it led to here, or leave it out.`,
    );
  if (answersTo(own.source, candidate).length > 0) return [];
  // Said to others it is the agent's sentence, too.
  const isNoted = calls.some(
    ({ quoted: { by, quote }, isResult, tried: { act } }) =>
      (quote === own.quote || (by === 'assistant' && leaves(act) && carriedShare(text, [quote]) >= SAID_SHARE)) &&
      !isResult &&
      act.ended === 'worked',
  );
  const before = messages.filter(({ speaker, position = order }) => speaker === 'human' && position < order);
  // What a subagent reported, in whose words ever, is only as good as what comes of it.
  const told = own === report?.quoted ? report.tried : tried.find((each) => isAgents(each) && isReadThere(each));
  // Who asks about a call does not part it from the answer.
  const asksOf = (asked: string, act: Act) =>
    asked.length <= PASSAGE_CHARS && nameIn(asked, act, (name) => containsLiteral(name, asked));
  const since = ({ act }: TriedCall) =>
    Math.max(...[before.findLast((each) => !asksOf(each.text, act)), told?.result].map((each) => each?.position ?? -1));
  const said = `${text}\n${own.quote}`;
  // What it was concluded from is as good as what came of it, where the person said nothing between; neither need be quoted, as most
  // of what tools said is not shown.
  const isShown = (of: TriedCall): boolean => {
    const { act, result } = of;
    if (told && isAgents(of)) return false;
    const quotes = calls.flatMap((each) => (each.tried === of && each.isResult ? each.quoted.quote : []));
    if (result.position <= since(of) || (act.ended !== 'worked' && act.ended !== 'ran')) return false;
    const values = literals(text);
    if (values.some((value) => IDENTIFIER.test(value) && result.text.includes(value))) return true;
    if (act.ended === 'ran' && quotes.length === 0) return false;
    const shared = countSharedWords(contentWords(text), contentWords(quotes.join('\n')));
    const isThere = (value: string) => [act.does, ...quotes].some((each) => stands(value, each));
    return values.some(isThere) || nameIn(said, act) || shared >= WORDS_OF_SUBJECT;
  };
  return isNoted || tried.some(isShown)
    ? []
    : no(
        "evidence: a reason needs, beside that sentence, a call since the human's last message that worked, on the file, program or value that it names (where a pipe or a later command hides its end, quote its result); or the words by which the human accepts it. There is none. Quote one, or leave it out.",
      );
}

/** A name in code stands nowhere by chance: what printed it is about it. */
const IDENTIFIER = /^(?=\S*(?:_|\p{Ll}\.?\p{Lu}))[\w.]{6,}$/u;
const CLAIMS = /\b(?:pass(?:es|ed|ing)?|verified|tested|all done|fixed|deployed|released|merged)\b/i;
/** What only hands over shows nothing of what it says. */
const HANDS_OVER = /^(?:git|(?:gh|glab) \w+ (?:create|comment|edit))\b/;

/** What lists what was left here, and what was left elsewhere. */
const LISTS_HERE = /^git (?:branch|tag|log|show|worktree|for-each-ref)$/;
const LISTS_THERE = /^(?:git ls-remote|(?:gh|glab) \w+ (?:list|view))$/;
/** What makes something elsewhere, which no list of this machine shows. */
const makesThere = ({ does, programs }: Act) =>
  harmsIn(does).includes('sends') || programs.some((program) => ASKS_OUTSIDE.test(program));

function outcomeProven({ candidate, calls, tried }: Lesson): Judged {
  const faults: string[] = [];
  const worked = calls.filter(({ tried }) => tried.act.ended === 'worked');
  // What a person saw of it is as good as a call that tells how it ended.
  const isSeen = candidate.quoted.some(({ by }) => by === 'human');
  const made = isSeen ? calls.filter(({ tried }) => tried.act.ended !== undefined) : worked;
  // What took away what is known has changed it, whatever it left.
  const { changes } = candidate.entry;
  const known = new Map(changes === undefined ? [] : [[0, changes] as const]);
  const hasOvertaken =
    overtakenIn(
      known,
      calls.map((call) => call.tried),
    ).size > 0;
  const isMade = made.some(
    ({ tried: { act } }) => leaves(act) || (isSeen && act.programs.length + act.files.length > 0),
  );
  // What is not shown cannot be quoted: there the branch, the commit or the number that the text names leads to it; where a pipe
  // hides the call's end, a later list that did not fail.
  const isNamed = ({ act, call, result }: TriedCall, at: number) => {
    if (!leaves(act)) return false;
    const made = literals(candidate.text).filter((value) => stands(value, `${call.text}\n${result.text}`));
    if (act.ended === 'worked') return made.length > 0 || carriedShare(candidate.text, [act.does]) >= SAID_SHARE;
    const lists = (program: string) => LISTS_THERE.test(program) || (!makesThere(act) && LISTS_HERE.test(program));
    const isListed = ({ act: later, result: { text } }: TriedCall) =>
      (later.ended === 'worked' || later.ended === 'ran') &&
      later.programs.some(lists) &&
      made.some((value) => stands(value, text));
    return act.ended === 'ran' && tried.slice(at + 1).some(isListed);
  };
  if (!isMade && !hasOvertaken && !tried.some(isNamed))
    faults.push(
      'evidence: an outcome needs the call that made the branch, commit, pull request, comment, release, deployment or installation and that its tool marks as good; or any call that tried it, with the words by which the human says what they saw. Quote it, or leave it out.',
    );
  // What a call was to do that sends something out, and that nothing shows it did.
  const saysSent = ({ act: { programs } }: TriedCall) =>
    verbIn(candidate.text, { programs: programs.filter((program) => harmsIn(program).includes('sends')) });
  const isUndone = (each: TriedCall, at: number) =>
    each.act.ended !== 'worked' &&
    saysSent(each) !== undefined &&
    !isNamed(each, at) &&
    !tried.slice(at + 1).some(({ act }) => act.ended === 'worked' && isSameTried(act, each.act));
  const undone = isSeen || isNegated(candidate.text) ? undefined : tried.find(isUndone);
  if (undone)
    faults.push(
      `text: says "${saysSent(undone)}", and nothing shows that ${JSON.stringify(undone.act.does.slice(0, 80).toWellFormed())} did. Leave it out, or say what is open.`,
    );
  const claim = CLAIMS.exec(candidate.text)?.[0];
  const isShown = ({ act }: TriedCall) =>
    act.ended === 'worked' &&
    act.programs.some((program) => !(act.isCommand ? HANDS_OVER.test(program) : isLeaving(program)));
  const isAbout = (each: TriedCall) => nameIn(candidate.text, each.act) && isShown(each);
  if (claim && !isSeen && !worked.some((call) => isShown(call.tried)) && !tried.some(isAbout))
    faults.push(
      `text: "${claim}" claims what no quoted call shows. Quote the call that shows it, or leave the claim out.`,
    );
  return faults.length > 0 ? no(...faults) : [];
}
