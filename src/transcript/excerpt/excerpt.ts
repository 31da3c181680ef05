// The part of a range that is shown to the model, within a token budget.
// Promises: no excerpt is over its budget; every offered turn ends in exactly one; every offered human message is
// in exactly one, whole but for long pastes, unless it alone exceeds the budget; every text was redacted whole before
// any of it was cut.
// Spent on, in this order: human words, the end of what they answer and of each turn, context, failures that a later call
// of the same program or file made good, what the agent wrote for others, what it ran last before that, what else failed, what
// could be chosen, the rest of what was answered, subagents, other text, tools, what says little; newest first. Tools get a
// share only; what was said alike stands once. Behind all a line for each program that ran, with its last call.

import { mostThat } from '../../base/text/wording.ts';
import {
  CUT,
  cutIntoChunks,
  cutLongPastes,
  cutTo,
  type DisplayedSegment,
  type Layout,
  quoteLines,
  renderSegments,
  resolveId,
  shortenIds,
  type Unit,
} from './render.ts';
import {
  type ExcerptTurn,
  type Priority,
  readSource,
  repeatsIn,
  type Segment,
  type SourceMessage,
  saysAnything,
  segmentsOf,
  speakerOf,
} from './segments.ts';
import { estimateTokens, isWithinTokens } from './tokens.ts';
import { checkedIn, fromTellingLine, lastRuns, type Tried, triedIn, waysIn, writtenIn } from './tried.ts';

export interface Excerpt {
  /** Empty when the offered turns hold nothing that can be shown. */
  text: string;
  tokens: number;
  /** The offered turns that end in this excerpt, in order: with it, all that is offered of them was shown. */
  turns: string[];
  /** By full message id, in source order. */
  sources: Map<string, SourceMessage>;
  /** What was tried in all the turns, shown or not. */
  tried: readonly Tried[];
}

interface ExcerptOptions {
  budgetTokens: number;
  redact: (text: string) => Promise<{ text: string }>;
  /** Time zone of the dates that are shown. */
  zone: string;
}

/** Most tokens of one segment; a human's words have no cap. */
const CAP_TOKENS = {
  end: 250,
  answer: 1_400,
  words: 600,
  report: 1_200,
  error: 200,
  question: 250,
  call: 70,
  result: 200,
  routine: 40,
  written: 120,
  checked: 250,
};
const CONTEXT_CAP_TOKENS = 120;
/** The part of the budget that goes to segments of one kind at most. */
const SHARES = {
  context: 1 / 5,
  ways: 1 / 10,
  written: 1 / 20,
  checked: 1 / 12,
  failed: 1 / 6,
  question: 1 / 8,
  plan: 1 / 4,
  routine: 1 / 16,
  runs: 1 / 12,
  tool: 1 / 4,
};
/** No more of a command is shown where it stands for all that its program ran. */
const MOST_OF_RUN = 100;
/** What a segment costs apart from its text, with the gap before it. */
const HEADER_TOKENS = 20;
/** What a human message that cannot be shown whole may take, so that the answer to it is seen too. */
const OVERSIZE_SHARE = 3 / 4;
/** What human words and the ends of answers may take of an excerpt of several turns, so that the rest is not all left out. */
const JOINED_SHARE = 3 / 4;

/**
 * Renders the offered turns of `turns`, which must be in source order. Several excerpts are cut between turns, and inside
 * a turn only between human messages. Each is made when it is asked for.
 */
export async function* buildExcerpts(turns: readonly ExcerptTurn[], options: ExcerptOptions): AsyncGenerator<Excerpt> {
  const { units, fitsTogether, build } = excerptBuilder(turns, options);
  const chunks = await cutIntoChunks(units, fitsTogether);
  for (const [at, chunk] of chunks.entries()) yield await build(chunk, { at: at + 1, of: chunks.length });
}

/** The message that `idOrPrefix` names: its full id, or a prefix of at least eight characters that is unique here. */
export function findSource(excerpt: Excerpt, idOrPrefix: string): SourceMessage | undefined {
  const id = resolveId(excerpt.sources.keys(), idOrPrefix);
  return id === undefined ? undefined : excerpt.sources.get(id);
}

type Redact = ExcerptOptions['redact'];

/** Asks once for each segment. */
function once<T>(ask: (segment: Segment) => Promise<T>): (segment: Segment) => Promise<T> {
  const asked = new WeakMap<Segment, Promise<T>>();
  return (segment) => {
    const answer = asked.get(segment) ?? ask(segment);
    asked.set(segment, answer);
    return answer;
  };
}

/** Redacts each segment once. */
const redactOnce = (redact: Redact) => once(async ({ text }) => (await redact(text)).text);

function isEssential(segment: Segment): boolean {
  return segment.priority === 'human' || segment.priority === 'answered';
}

function newestFirst(segments: Segment[], ...priorities: Priority[]): Segment[] {
  return priorities.flatMap((priority) => segments.filter((segment) => segment.priority === priority).reverse());
}

/** In source order; of a segment that is shown twice, the later, which shows more of it. */
function inOrder(shown: DisplayedSegment[]): DisplayedSegment[] {
  const latest = [...new Map(shown.map((item) => [item.segment, item])).values()];
  return latest.sort((a, b) => a.segment.index - b.segment.index);
}

function excerptBuilder(turns: readonly ExcerptTurn[], { budgetTokens, redact, zone }: ExcerptOptions) {
  const shortIds = shortenIds(turns.flatMap(({ turn }) => turn.messages.filter(saysAnything).map(({ id }) => id)));
  const whole: Layout = { shortIds, messages: shortIds.count, zone };
  const redactSegment = redactOnce(redact);
  const units: Unit[] = [];
  /** What can be context of what comes after it. */
  const essential: Segment[] = [];
  const all: Segment[] = [];
  const before = { messages: 0, segments: 0 };
  for (const shown of turns) {
    const segments = segmentsOf(shown, before);
    all.push(...segments);
    before.messages = (segments.at(-1)?.position ?? before.messages - 1) + 1;
    before.segments += segments.length;
    for (const segment of segments) if (isEssential(segment)) essential.push(segment);
    if (shown.offeredFrom === null) continue;
    units.push({ turn: shown.turn.id, segments: segments.filter((segment) => segment.offered), endsTurn: true });
  }

  const tried = triedIn(all);

  function render(shown: DisplayedSegment[], layout: Layout = whole): string {
    return renderSegments(inOrder(shown), layout);
  }

  function fits(shown: DisplayedSegment[], { layout = whole, share = 1, behind = '' } = {}): boolean {
    return isWithinTokens(render(shown, layout) + behind, budgetTokens * share);
  }

  /** What was run, in a line each, as far as their share goes. */
  async function runsOf(own: Segment[]): Promise<DisplayedSegment[]> {
    const isOwn = new Set(own);
    const runs: DisplayedSegment[] = [];
    for (const { call, act } of lastRuns(tried.filter((each) => isOwn.has(each.call)))) {
      const does = act.does.replace(/^cd \S+\s+(?:&& |; )?/, '');
      const { text } = await redact(does.slice(0, MOST_OF_RUN).toWellFormed());
      const next = [...runs, { segment: call, text, offered: true }];
      if (!isWithinTokens(sayRuns(next), budgetTokens * SHARES.runs)) break;
      runs.push(...next.slice(-1));
    }
    return runs;
  }

  const sayRuns = (runs: DisplayedSegment[]) =>
    runs
      .map(({ segment, text }) => `\n(ran [${shortIds.get(segment.message.id)}]: ${text.replace(/\s+/g, ' ')})`)
      .join('');

  /** The segment with its lines cut to `capTokens`; null where nothing worth showing is left. */
  function cutSegment(shown: DisplayedSegment, capTokens: number, headShare?: number): DisplayedSegment | null {
    const isShort = (candidate: string) => isWithinTokens(quoteLines(candidate), capTokens);
    const text = cutTo(shown.text, isShort, headShare);
    return text === null ? null : { ...shown, text };
  }

  async function displayWhole(segment: Segment): Promise<DisplayedSegment> {
    // What a tool said inside a human's message is shown, but cannot be quoted as theirs.
    const isSpeakers = segment.speaker === speakerOf(segment.message);
    return { segment, text: await redactSegment(segment), offered: segment.offered && isSpeakers };
  }

  const showOffered = once(async (segment: Segment): Promise<DisplayedSegment | null> => {
    const { priority, kind } = segment;
    if (priority === 'human') {
      const human = await showUncut(segment);
      return fits([human]) ? human : cutSegment(human, budgetTokens * OVERSIZE_SHARE);
    }
    const shown = await displayWhole(segment);
    if (kind === 'call') return showCall(segment, priority === 'question' ? CAP_TOKENS.question : CAP_TOKENS.call);
    if (priority === 'answered') {
      return cutSegment(shown, kind === 'words' ? CAP_TOKENS.end : CAP_TOKENS.words, CUT.beginning);
    }
    if (priority === 'subagent') return cutSegment(shown, CAP_TOKENS.report);
    if (kind === 'words') return cutSegment(shown, CAP_TOKENS.words);
    if (priority === 'routine') return cutSegment(shown, CAP_TOKENS.routine, CUT.end);
    return cutSegment(shown, priority === 'failed' ? CAP_TOKENS.error : CAP_TOKENS.result);
  });

  async function showCall(segment: Segment, capTokens: number): Promise<DisplayedSegment | null> {
    const shown = await displayWhole(segment);
    const call = cutSegment({ ...shown, text: shown.text.replace(/\s+/g, ' ') }, capTokens, CUT.end);
    return call && { ...call, text: call.text.replace('\n', ' ') };
  }

  async function showTried(segment: Segment): Promise<DisplayedSegment | null> {
    if (segment.kind === 'call') return showCall(segment, CAP_TOKENS.call);
    const shown = await displayWhole(segment);
    return cutSegment({ ...shown, text: fromTellingLine(shown.text) }, CAP_TOKENS.error);
  }

  /** What is shown of what comes before the first words of a person, which it may be that they answer. */
  async function showPreceding(own: Segment[]): Promise<DisplayedSegment | null> {
    const [first] = own.filter(isEssential);
    const preceding = essential.findLast((segment) => segment.index < (own[0]?.index ?? 0));
    if (first?.priority !== 'human' || preceding?.speaker !== 'assistant') return null;
    return cutSegment({ ...(await displayWhole(preceding)), offered: false }, CAP_TOKENS.end, CUT.beginning);
  }

  async function showContext(candidates: Segment[]): Promise<DisplayedSegment[]> {
    const context: DisplayedSegment[] = [];
    let leftTokens = budgetTokens * SHARES.context;
    for (const segment of candidates.toReversed()) {
      const all = { ...(await displayWhole(segment)), offered: false };
      const shown = cutSegment(all, CONTEXT_CAP_TOKENS, segment.priority === 'human' ? CUT.middle : CUT.beginning);
      if (shown === null) continue;
      leftTokens -= estimateTokens(render([shown]));
      if (leftTokens < 0) break;
      context.push(shown);
    }
    return context;
  }

  async function fitsTogether(units: Unit[]): Promise<boolean> {
    const least: DisplayedSegment[] = [];
    for (const segment of units.flatMap((unit) => unit.segments).filter(isEssential)) {
      const shown = await (segment.priority === 'human' ? showUncut(segment) : showOffered(segment));
      if (shown) least.push(shown);
    }
    return fits(least, { share: units.length > 1 ? JOINED_SHARE : 1 });
  }

  async function showUncut(segment: Segment): Promise<DisplayedSegment> {
    const shown = await displayWhole(segment);
    return { ...shown, text: await cutLongPastes(segment, shown.text, redact) };
  }

  /** What goes first, in order; stops where nothing more can fit, so that the rest need not even be redacted. */
  async function rank(own: Segment[]): Promise<{ ranked: DisplayedSegment[]; first: number }> {
    const ranked: DisplayedSegment[] = [];
    let bodyTokens = 0;
    const costOf = ({ text }: DisplayedSegment) => estimateTokens(text) + HEADER_TOKENS;
    const repeats = repeatsIn(own);
    const isTaken = new Set<Segment>();
    const take = (shown: DisplayedSegment | null) => {
      if (shown === null) return;
      const times = repeats.get(shown.segment);
      ranked.push(times === undefined ? shown : { ...shown, times });
      bodyTokens += costOf(shown);
      isTaken.add(shown.segment);
    };
    /** Each group as a whole. `stops`: what does not fit ends it, and is not passed over. */
    const takeGroups = async (
      groups: Segment[][],
      share: number,
      { show = showOffered, from = bodyTokens, stops = false },
    ) => {
      const mostTokens = Math.min(from + budgetTokens * share, budgetTokens * 2);
      for (const group of groups) {
        const shown = await Promise.all(group.filter((segment) => !isTaken.has(segment)).map(show));
        const cost = shown.reduce((sum, each) => sum + (each ? costOf(each) : 0), 0);
        if (bodyTokens + cost <= mostTokens) for (const each of shown) take(each);
        else if (stops) return;
      }
    };
    const takeNewest = (priorities: Priority[], share: number, from?: number) => {
      const segments = newestFirst(own, ...priorities).filter((segment) => repeats.get(segment) !== 0);
      return takeGroups(
        segments.map((segment) => [segment]),
        share,
        { from, stops: true },
      );
    };
    for (const segment of newestFirst(own, 'human', 'answered')) take(await showOffered(segment));
    const preceding = await showPreceding(own);
    take(preceding);
    const first = ranked.length;
    const end = own.at(-1)?.index ?? 0;
    const taken = new Set([...own, preceding?.segment]);
    const earlier = essential.filter((segment) => segment.index < end && !taken.has(segment));
    for (const shown of await showContext(earlier)) take(shown);
    const isOwn = new Set(own);
    const ownTried = tried.filter(({ call, result }) => isOwn.has(call) && isOwn.has(result));
    const before = bodyTokens;
    await takeGroups(waysIn(ownTried), SHARES.ways, { show: showTried });
    const show = async (segment: Segment) =>
      segment.kind === 'call'
        ? showCall(segment, CAP_TOKENS.written)
        : cutSegment(await displayWhole(segment), CAP_TOKENS.checked);
    const written = writtenIn(ownTried).map((call) => [call]);
    await takeGroups(written.reverse(), SHARES.written, { show });
    await takeGroups(checkedIn(ownTried, own), SHARES.checked, { show });
    await takeNewest(['failed'], SHARES.failed, before);
    await takeNewest(['question'], SHARES.question);
    for (const segment of newestFirst(own, 'answered')) {
      const capTokens = segment.isDecidedOn ? budgetTokens * SHARES.plan : CAP_TOKENS.answer;
      if (segment.kind === 'words') take(cutSegment(await displayWhole(segment), Math.max(capTokens, CAP_TOKENS.end)));
    }
    await takeNewest(['subagent', 'assistant'], 2);
    await takeNewest(['tool'], SHARES.tool);
    await takeNewest(['routine'], SHARES.routine);
    return { ranked, first };
  }

  /** Null where not even the essential ones fit before `behind`. */
  function choose(ranked: DisplayedSegment[], first: number, layout: Layout, behind = ''): DisplayedSegment[] | null {
    // Fewer segments can need more gap lines, so the essential ones are tried first instead of trusting the search with them.
    const areHeld = (count: number) => fits(ranked.slice(0, count), { layout, behind });
    if (behind !== '' && !areHeld(first)) return null;
    const kept = mostThat(areHeld, ranked.length + 1, areHeld(first) ? first : 0);
    const chosen = ranked.slice(0, kept);
    const next = ranked[kept];
    if (!next || next.segment.kind === 'call') return chosen;
    const cut = cutTo(next.text, (text) => fits([...chosen, { ...next, text }], { layout, behind }));
    const shown = chosen.find(({ segment }) => segment === next.segment)?.text.length ?? 0;
    return cut === null || cut.length <= shown ? chosen : [...chosen, { ...next, text: cut }];
  }

  async function build(units: Unit[], { at, of }: { at: number; of: number }): Promise<Excerpt> {
    const own = units.flatMap((unit) => unit.segments);
    const turns = units.filter((unit) => unit.endsTurn).map((unit) => unit.turn);
    const sources = new Map<string, SourceMessage>();
    if (own.length === 0) return { text: '', tokens: 0, turns, sources, tried };
    const { ranked, first: least } = await rank(own);
    const asPart: Layout = { ...whole, part: { at, of } };
    // Rather than a person's words the lines about parts are left out.
    const human = ranked.filter(({ segment, offered }) => offered && segment.priority === 'human');
    const isRoomForPart = of > 1 && fits(human, { layout: asPart });
    const layout = isRoomForPart ? asPart : whole;
    const runs = await runsOf(own);
    const held = choose(ranked, least, layout, sayRuns(runs));
    const chosen = inOrder(held ?? choose(ranked, least, layout) ?? []);
    const isShown = new Set(chosen.map(({ segment }) => segment.message.id));
    const besides = held ? runs.filter(({ segment }) => !isShown.has(segment.message.id)) : [];
    const offeredMessages = new Set(own.map((segment) => segment.position));
    for (const { segment } of [...chosen, ...besides].sort((a, b) => a.segment.index - b.segment.index)) {
      const isOffered = offeredMessages.has(segment.position);
      sources.set(
        segment.message.id,
        await readSource(segment, { offered: isOffered, shortIds, redact, redactSegment }),
      );
    }
    const text = render(chosen, layout) + sayRuns(besides);
    return { text, tokens: estimateTokens(text), turns, sources, tried };
  }

  return { units, fitsTogether, build };
}
