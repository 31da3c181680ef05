// Whether an entry that says what an agent found out rests on what its kind must rest on: calls whose ends are marked by their
// tools. It refuses what orders, what would do harm, what was of the moment, and what only repeats a text that was read.

import { asRead } from './as-read.ts';
import { type Candidate, nameOf, type Quoted } from './candidate.ts';
import { answersTo, stands } from './carried.ts';
import { harmsIn, programsIn } from './commands.ts';
import { claimsSpeaker, speaksToAgent } from './languages.ts';
import { type Found, isSameTried, MOST_QUOTED, type Proof, type TriedCall } from './lessons.ts';
import { literals } from './literals.ts';
import { findQuote } from './quotes.ts';
import { carriedShare, unitsOf } from './words.ts';

/** A call that a quote is of. */
interface QuotedCall {
  quoted: Quoted;
  tried: TriedCall;
  at: number;
  isResult: boolean;
}

/** What a lesson's calls show, beside its quotes. */
interface Proven {
  message: string;
  quote: string;
  proves: Proof;
}

interface Lesson {
  candidate: Candidate;
  tried: readonly TriedCall[];
  calls: QuotedCall[];
}

/** Why an entry is no lesson of its kind; else what its calls show. */
export function provenLesson(candidate: Candidate, found: Found): string | Proven[] {
  const { entry, quoted, options } = candidate;
  if (entry.type === 'user' || entry.type === 'feedback')
    return `found: what an agent finds out is no ${entry.type} entry. Make it project or reference, or leave it out.`;
  const [first] = quoted;
  if (first.by === 'human' || first.by === 'quoted')
    return `found: ${nameOf(first.source)} is the human's. Quote first what the agent or its tools said, or leave "found" out.`;
  if (/\[redacted\b/i.test([candidate.text, ...quoted.map(({ quote }) => quote)].join('\n')))
    return 'text: needs a value that was removed. Leave it out.';
  const others = quoted.filter(({ by }) => by !== 'human').map(({ quote }) => quote);
  if ([candidate.text, ...others].some((text) => speaksToAgent(text) || claimsSpeaker(text) !== null))
    return 'evidence: tells an agent what to do, or what a person wants, and no human said it. Leave it out.';
  const harm = harmsOf(candidate.text)[0];
  if (harm) return `text: holds a command that ${SAID[harm]}. Leave it out.`;
  if (found !== 'way' && options.isTold?.(candidate.text))
    return 'found: this session was told it, and its words are no new evidence. Leave it out.';
  const told = [candidate.text, ...quoted.flatMap(({ by, quote }) => (by === 'tool' ? quote : []))].join('\n');
  const inTree = (options.names ?? []).reduce(
    (text, name) => (/^(?:\/|[A-Z]:)/.test(name) ? text.replaceAll(name, '.') : text),
    told,
  );
  if (OF_MACHINE.test(inTree) && !/^On this machine\b/i.test(candidate.text))
    return 'text: holds on this machine alone. Begin it with "On this machine:", or leave it out.';
  const tried = options.tried?.() ?? [];
  return PROOFS[found]({ candidate, tried, calls: quoted.flatMap((each) => callsOf(each, tried)) });
}

/** What is so on one machine: a program that is missing, a port, a place outside of the tree. */
const OF_MACHINE =
  /\b(?:command not found|is not recognized as|not installed|no such program|localhost:\d|127\.0\.0\.1:\d|EADDRINUSE|address already in use)\b|(?<![\w./:~-])(?:\/(?:usr|opt|home|Users|Applications|var|etc|Library|mnt|srv)\/|~\/|[A-Z]:\\)/;

const SAID: Record<string, string> = {
  deletes: 'deletes something',
  shell: 'hands text to a shell',
  rights: 'changes rights',
  unchecked: 'turns a check off',
};

/** What a text's commands would do to whoever follows them; what sends something out is known and told to nobody unasked. */
function harmsOf(text: string): string[] {
  const spans = [...text.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);
  return (spans.length > 0 ? spans : [text]).flatMap(harmsIn).filter((harm) => harm in SAID);
}

/** The calls that a quote is of: of a message that makes several each that holds it. */
function callsOf(quoted: Quoted, tried: readonly TriedCall[]): QuotedCall[] {
  return tried.flatMap((each, at): QuotedCall[] => {
    const isIn = ({ message, text }: TriedCall['call']) =>
      message.id === quoted.source.id && findQuote(text, quoted.quote) !== null;
    if (isIn(each.result)) return [{ quoted, tried: each, at, isResult: true }];
    return isIn(each.call) ? [{ quoted, tried: each, at, isResult: false }] : [];
  });
}

const PROOFS: Record<Found, (lesson: Lesson) => string | Proven[]> = {
  way: wayProven,
  place: placeProven,
  reason: reasonProven,
  outcome: outcomeProven,
};

const shown = (tried: TriedCall, proves: Proof): Proven => ({
  message: tried.call.message.id,
  quote: tried.act.does.slice(0, MOST_QUOTED).toWellFormed(),
  proves,
});

/** What passes by itself. */
const OF_THE_MOMENT =
  /\b(?:ECONNRESET|ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|ENETUNREACH|could not resolve host|temporary failure|connection (?:timed out|reset|refused)|network is unreachable|rate limit|too many requests|service unavailable|timed? ?out|TLS handshake|no space left|index\.lock|deadlock)\b|\b(?:429|502|503|504)\b/i;

function wayProven({ candidate, calls }: Lesson): string | Proven[] {
  const { entry, text } = candidate;
  // Of a way that memory knows a new run of the call that works is enough.
  const again = calls.find(
    ({ tried: { act } }) => act.ended === 'worked' && act.programs.some((program) => text.includes(program)),
  );
  if (entry.again !== undefined && again) return [shown(again.tried, 'worked')];
  const errors = calls.filter(({ tried, isResult }) => isResult && tried.act.ended === 'failed');
  if (errors.length === 0)
    return 'evidence: a way needs the words of the error, from the result of a call that its tool marks as failed. Quote them, or leave it out.';
  const worked = calls.filter(({ tried }) => tried.act.ended === 'worked');
  const pairs = errors.flatMap((error) =>
    worked
      .filter(({ at, tried }) => at > error.at && isSameTried(error.tried.act, tried.act))
      .map((good) => ({ error, good })),
  );
  if (pairs.length === 0)
    return 'evidence: a way needs a later call of the same program or file that its tool marks as good. Quote that call, or leave it out.';
  const pair = pairs.find(({ error, good }) => error.tried.act.does !== good.tried.act.does);
  if (!pair)
    return 'found: the same call worked later, so that it is no other way. What was changed between may be a reason.';
  const { error, good } = pair;
  if (!/\p{L}{3}/u.test(error.quoted.quote.replace(/^(?:error: )?Exit code \d+/i, '')))
    return "evidence: quote the error's own words, not its number.";
  if (OF_THE_MOMENT.test(error.quoted.quote)) return 'evidence: that failure was of the moment. Leave it out.';
  const harm = harmsIn(good.tried.act.does).find((kind) => kind in SAID);
  if (harm) return `evidence: the call that worked ${SAID[harm]}. Leave it out.`;
  const { source, quote } = error.quoted;
  // What else a tool printed may look like a call that nobody made.
  const own = candidate.quoted.filter(({ by }) => by === 'assistant').map((each) => each.quote);
  const ran = [error.tried.act.does, good.tried.act.does];
  const said = [...ran, quote, ...own, ...(candidate.options.names ?? [])];
  const isCommand = (value: string) => /\s/.test(value) && programsIn(value).length > 0;
  const unmade = literals(candidate.text).find(
    (value) => !(isCommand(value) ? ran : said).some((each) => stands(value, each)),
  );
  if (unmade !== undefined)
    return `text: ${JSON.stringify(unmade)} stands in neither of the two calls, nor in the error that is quoted. Leave it out.`;
  return [shown(error.tried, 'failed'), { message: source.id, quote, proves: 'error' }, shown(good.tried, 'worked')];
}

/** So many calls looked for it, the last of which found it; so far back they are looked for. */
const SEARCHES = 3;
const SEARCHED_BACK = 25;
const LOOKS_FOR =
  /^(?:ls|glob|grep|list|find|search|read|view|fetch|web|open|query|browse|mcp)|\b(?:ls|find|rg|grep|which|where|locate|fd|tree|cat|head|sed|curl|git (?:log|grep|show|ls-files|branch|remote)|gh|kubectl get|docker ps|env)\b/i;

function placeProven({ candidate, tried, calls }: Lesson): string | Proven[] {
  const values = literals(candidate.text);
  const places = calls.flatMap((call) => {
    const isFound = call.isResult && call.tried.act.ended !== 'failed';
    return isFound ? values.filter((value) => call.quoted.quote.includes(value)).map((value) => ({ call, value })) : [];
  });
  if (places.length === 0)
    return 'evidence: a place needs the result in which the value of its text was found. Quote the value there, or leave it out.';
  // Of what stands in several places the last that was found tells how long it took.
  const isSearched = places.some(({ call: { at, tried: place }, value }) => {
    const before = tried.slice(Math.max(0, at - SEARCHED_BACK), at);
    if (place.call.text.includes(value)) return false;
    if (before.some(({ call, result }) => call.text.includes(value) || result.text.includes(value))) return false;
    const searches = before.filter(({ act }) => LOOKS_FOR.test(act.does));
    return new Set(searches.map(({ act }) => act.does)).size + 1 >= SEARCHES;
  });
  return isSearched
    ? []
    : `evidence: a place is what took a search: ${SEARCHES} calls or more, of which that one is the first that names it. One look tells this; leave it out.`;
}

/** So much of a text stands in one passage of what a tool said: that says it, and whoever looks finds it. */
const READ_SHARE = 0.8;
const PASSAGE_CHARS = 300;

function reasonProven({ candidate, tried, calls }: Lesson): string | Proven[] {
  const { quoted, text, shown: messages } = candidate;
  const own = quoted.find(({ by }) => by === 'assistant');
  if (!own) return "evidence: a reason needs the agent's sentence that says it. Quote it, or leave it out.";
  const order = messages.findIndex(({ id }) => id === own.source.id);
  const places = new Map(messages.map(({ id }, at) => [id, at]));
  const read = tried.find(({ act, result }) => {
    // What a test or a build prints is no text that somebody finds where it stands.
    if (act.ended === 'failed' && act.programs.length > 0 && !LOOKS_FOR.test(act.does)) return false;
    return (places.get(result.message.id) ?? -1) < order && isReadIn(text, own.quote, result.text);
  });
  if (read) return 'text: a text that was read says this; whoever looks there finds it. Leave it out.';
  if (answersTo(own.source, candidate).length > 0) return [];
  const isNoted = calls.find(
    ({ quoted: each, isResult, tried: { act } }) => each === own && !isResult && act.ended === 'worked',
  );
  // What it was concluded from is as good as what came of it, where the person said nothing between.
  const since = messages.slice(0, order).findLastIndex(({ speaker }) => speaker === 'human');
  const isNear = ({ tried: { result }, isResult }: QuotedCall) => {
    const at = messages.findIndex(({ id }) => id === result.message.id);
    return at > order || (isResult && at > since);
  };
  const said = `${text}\n${own.quote}`;
  const isNamed = ({ tried: { act } }: QuotedCall) =>
    [
      ...act.files.map((file) => file.split(/[/\\]/).at(-1) ?? file),
      ...act.programs.flatMap((each) => [each, each.split(' ')[0] as string]),
    ].some((name) => name.length > 1 && said.includes(name));
  const good = isNoted ?? calls.find((each) => each.tried.act.ended === 'worked' && isNear(each) && isNamed(each));
  return good
    ? []
    : 'evidence: a reason needs a call on the file or program that it names, after that sentence, or right before it with its result quoted, or the words by which the human accepts it. Quote that, or leave it out.';
}

function isReadIn(text: string, quote: string, whole: string): boolean {
  const result = whole.slice(0, MOST_READ);
  if (findQuote(result, quote) !== null) return true;
  // Most of what was read has not even the words.
  const [lower, words] = [result.toLowerCase(), unitsOf(text)];
  if (words.filter((word) => lower.includes(word.slice(0, STEM_CHARS))).length < words.length * READ_SHARE)
    return false;
  return asRead(result).some((seen) =>
    Array.from({ length: Math.ceil(seen.length / (PASSAGE_CHARS / 2)) }, (_, at) =>
      seen.slice((at * PASSAGE_CHARS) / 2, (at / 2 + 1) * PASSAGE_CHARS),
    ).some((passage) => carriedShare(text, [passage]) >= READ_SHARE),
  );
}
const MOST_READ = 20_000;
const STEM_CHARS = 4;

/** What leaves something behind that the next session meets. */
const LEAVES =
  /^(?:git (?:commit|push|merge|rebase|tag|switch|checkout|branch|cherry-pick|stash|worktree|status)|gh (?:pr|issue|release) \w+|glab mr \w+)$/;
const CLAIMS =
  /\b(?:pass(?:es|ed|ing)?|green|verified|tested|builds|works|all done|complete[d]?|fixed|deployed|released|merged)\b/i;
const SHOWS =
  /\b(?:test|tests|check|lint|build|vet|verify|e2e|ci|tsc|vitest|jest|pytest|rspec|cargo|go|make|deploy|merge|checks|view|publish|release)\b/i;

function outcomeProven({ candidate, calls }: Lesson): string | Proven[] {
  const worked = calls.filter(({ tried }) => tried.act.ended === 'worked');
  if (!worked.some(({ tried }) => tried.act.programs.some((program) => LEAVES.test(program))))
    return 'evidence: an outcome needs the call that made the branch, commit or pull request and that its tool marks as good. Quote it, or leave it out.';
  const claim = CLAIMS.exec(candidate.text)?.[0];
  if (claim && !worked.some(({ tried }) => SHOWS.test(tried.act.programs.join(' '))))
    return `text: "${claim}" claims what no quoted call shows. Quote the call that shows it, or leave the claim out.`;
  return [];
}
