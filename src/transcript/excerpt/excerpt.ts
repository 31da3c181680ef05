// The part of a range that is shown to the model, within a token budget.
// Promises: no excerpt is over its budget; every offered turn ends in exactly one; every offered human message stands
// in exactly one, whole but for long pastes, unless it alone exceeds the budget; every text was redacted whole before
// any of it was cut.
// Spent on, in this order: human words, the end of what they answer and of each turn, context, what failed, what could
// be chosen, the rest of what was answered, subagents, other text, tools; newest first. Tools get a share only.

import type { Message, Speaker } from '../types.ts';
import { cutIntoChunks, type Unit } from './chunks.ts';
import { showWithoutLongPastes } from './long-pastes.ts';
import { CUT, cutTo, type Frame, quoteLines, renderRows, resolveId, type ShownRow, shortenIds } from './render.ts';
import { type ExcerptTurn, layOutTurn, type Row, saysAnything, speakerOf, type Tier } from './rows.ts';
import { assignTiers } from './tiers.ts';
import { estimateTokens, isWithinTokens } from './tokens.ts';

export type { ExcerptTurn } from './rows.ts';

/** A message that is shown, for checking what is quoted from it. */
export interface SourceMessage {
  id: string;
  turn: string;
  speaker: Speaker;
  at?: string;
  /** The whole redacted text, also of what was cut; white space as it was. Results in a human's message are not his. */
  text: string;
  /** What of it is said in words, where tools are called too. */
  words?: string;
  /** What of a human's message was chosen among what was offered. */
  chosen?: string;
  /** What an agent asked, where it is shown with the human's answer, under one id. */
  asked?: string;
  /** False: context, on which nothing can rest. */
  offered: boolean;
}

export interface Excerpt {
  /** Empty when the offered turns hold nothing that can be shown. */
  text: string;
  tokens: number;
  /** The offered turns that end in this excerpt, in order: with it, all that is offered of them was shown. */
  turns: string[];
  /** By full message id, in source order. */
  sources: Map<string, SourceMessage>;
}

export interface ExcerptOptions {
  /** The ids of all messages of the turns that say anything (`idsOf`), in source order; gone through once. */
  ids: Iterable<string>;
  budgetTokens: number;
  redact: (text: string) => Promise<{ text: string }>;
  /** Time zone of the dates that are shown. */
  zone: string;
  /** Whether each of several says which it is, for which all turns are gone through once more. Default: true. */
  isNumbered?: boolean;
}

/** Most tokens of one row; a human's words have no cap. */
const CAP_TOKENS = {
  end: 250,
  answer: 1_400,
  words: 600,
  report: 500,
  error: 150,
  question: 250,
  call: 70,
  result: 100,
  idle: 40,
};
const CONTEXT_CAP_TOKENS = 120;
/** The part of the budget that goes to rows of one kind at most. */
const SHARES = { context: 1 / 5, failed: 1 / 6, asked: 1 / 8, plan: 1 / 4, trace: 1 / 6 };
/** What a row costs beside its text, with the gap before it. */
const HEADER_TOKENS = 20;
/** No row costs less as context, with its header. */
const LEAST_CONTEXT_TOKENS = 6;
/** What a human message that cannot be shown whole may take, so that the answer to it is seen too. */
const OVERSIZE_SHARE = 3 / 4;
/** What human words and the ends of answers may take of an excerpt of several turns, so that the rest is not all left out. */
const JOINED_SHARE = 4 / 5;

/**
 * Renders the offered turns of `turns`, which must be in source order and are gone through again where one excerpt is
 * not enough, to count them. Several are cut between turns, and inside a turn only between human messages. Each is made
 * when it is asked for, and only the turns that it and the next one need are held.
 */
export async function* buildExcerpts(
  turns: () => AsyncIterable<ExcerptTurn> | Iterable<ExcerptTurn>,
  options: ExcerptOptions,
): AsyncGenerator<Excerpt> {
  const shortIds = shortenIds(options.ids);
  const cut = () => {
    const builder = excerptBuilder(options, shortIds);
    return { builder, chunks: cutIntoChunks(builder.takeUnits(turns()), builder) };
  };
  const { builder, chunks } = cut();
  if (options.isNumbered === false) {
    for await (const chunk of chunks) yield await builder.build(chunk, { at: 1, of: 1 });
    return;
  }
  let parts = 1;
  let next = await chunks.next();
  for (let at = 1; !next.done; at += 1) {
    const chunk = next.value;
    next = await chunks.next();
    if (parts === 1 && !next.done) parts = await countOf(cut().chunks);
    yield await builder.build(chunk, { at, of: parts });
  }
}

async function countOf(items: AsyncIterable<unknown>): Promise<number> {
  let count = 0;
  for await (const _ of items) count += 1;
  return count;
}

/** The ids of the messages that can be shown. */
export function idsOf(messages: readonly Message[]): string[] {
  return messages.filter(saysAnything).map(({ id }) => id);
}

/** The message that `idOrPrefix` names: its full id, or a prefix of at least eight characters that is unique here. */
export function findSource(excerpt: Excerpt, idOrPrefix: string): SourceMessage | undefined {
  const id = resolveId(excerpt.sources.keys(), idOrPrefix);
  return id === undefined ? undefined : excerpt.sources.get(id);
}

function isVital(row: Row): boolean {
  return row.tier === 'human' || row.tier === 'answered';
}

/** What `rank` spends on rows of a tier at most. */
function shareOf(tier: Tier): number {
  if (tier === 'failed' || tier === 'asked') return SHARES[tier];
  return tier === 'trace' || tier === 'idle' ? SHARES.trace : 2;
}

function newestFirst(rows: Row[], ...tiers: Tier[]): Row[] {
  return tiers.flatMap((tier) => rows.filter((row) => row.tier === tier).reverse());
}

/** In source order; of a row that is shown twice, the later, which shows more of it. */
function inOrder(shown: ShownRow[]): ShownRow[] {
  return [...new Map(shown.map((item) => [item.row, item])).values()].sort((a, b) => a.row.index - b.row.index);
}

function excerptBuilder({ budgetTokens, redact, zone }: ExcerptOptions, shortIds: Frame['shortIds']) {
  const whole: Frame = { shortIds, messages: shortIds.count, zone };
  const mostContextRows = Math.ceil((budgetTokens * SHARES.context) / LEAST_CONTEXT_TOKENS);
  const redacted = new WeakMap<Row, Promise<string>>();
  const offered = new WeakMap<Row, Promise<ShownRow | null>>();
  /** What can be context of what comes: vital rows that were shown, or that are not offered. */
  let passed: Row[] = [];

  async function* takeUnits(turns: AsyncIterable<ExcerptTurn> | Iterable<ExcerptTurn>): AsyncGenerator<Unit> {
    const before = { messages: 0, rows: 0 };
    for await (const shown of turns) {
      const rows = layOutTurn(shown, before);
      assignTiers(rows);
      before.messages = (rows.at(-1)?.position ?? before.messages - 1) + 1;
      before.rows += rows.length;
      pass(rows.filter((row) => !row.offered));
      const { turn, offeredFrom } = shown;
      if (offeredFrom === null) continue;
      yield { turn: turn.id, rows: rows.filter((row) => row.offered), endsTurn: true };
    }
  }

  function pass(rows: Row[]): void {
    const both = [...passed, ...rows.filter(isVital)].sort((a, b) => a.index - b.index);
    passed = both.slice(-mostContextRows);
  }

  function redactRow(row: Row): Promise<string> {
    const text = redacted.get(row) ?? redact(row.text).then((result) => result.text);
    redacted.set(row, text);
    return text;
  }

  function render(shown: ShownRow[], frame: Frame = whole): string {
    return renderRows(inOrder(shown), frame);
  }

  function fits(shown: ShownRow[], { frame = whole, share = 1 } = {}): boolean {
    return isWithinTokens(render(shown, frame), budgetTokens * share);
  }

  /** The row with its lines cut to `capTokens`; null where nothing worth showing is left. */
  function cutRow(shown: ShownRow, capTokens: number, headShare?: number): ShownRow | null {
    const isShort = (candidate: string) => isWithinTokens(quoteLines(candidate), capTokens);
    const text = cutTo(shown.text, isShort, headShare);
    return text === null ? null : { ...shown, text };
  }

  async function wholeRow(row: Row): Promise<ShownRow> {
    // What a tool said inside a human's message is shown, but nobody can be quoted with it.
    return { row, text: await redactRow(row), offered: row.offered && row.speaker === speakerOf(row.message) };
  }

  function showOffered(row: Row): Promise<ShownRow | null> {
    const shown = offered.get(row) ?? capOffered(row);
    offered.set(row, shown);
    return shown;
  }

  async function capOffered(row: Row): Promise<ShownRow | null> {
    const { tier, kind } = row;
    const shown = await wholeRow(row);
    if (tier === 'human') {
      const human = { ...shown, text: await showWithoutLongPastes(row, shown.text, redact) };
      return fits([human]) ? human : cutRow(human, budgetTokens * OVERSIZE_SHARE);
    }
    if (kind === 'call') {
      const capTokens = tier === 'asked' ? CAP_TOKENS.question : CAP_TOKENS.call;
      const call = cutRow({ ...shown, text: shown.text.replace(/\s+/g, ' ') }, capTokens, CUT.end);
      return call && { ...call, text: call.text.replace('\n', ' ') };
    }
    if (tier === 'answered') return cutRow(shown, kind === 'words' ? CAP_TOKENS.end : CAP_TOKENS.words, CUT.beginning);
    if (tier === 'subagent') return cutRow(shown, CAP_TOKENS.report);
    if (kind === 'words') return cutRow(shown, CAP_TOKENS.words);
    if (tier === 'idle') return cutRow(shown, CAP_TOKENS.idle, CUT.end);
    return cutRow(shown, tier === 'failed' ? CAP_TOKENS.error : CAP_TOKENS.result);
  }

  /** What is shown of what comes before the first words of a person, which it may be that they answer. */
  async function showLead(own: Row[]): Promise<ShownRow | null> {
    const [first] = own.filter(isVital);
    const before = passed.findLast((row) => row.index < (own[0]?.index ?? 0));
    if (first?.tier !== 'human' || before?.speaker !== 'assistant') return null;
    return cutRow({ ...(await wholeRow(before)), offered: false }, CAP_TOKENS.end, CUT.beginning);
  }

  async function showContext(candidates: Row[]): Promise<ShownRow[]> {
    const context: ShownRow[] = [];
    let leftTokens = budgetTokens * SHARES.context;
    for (const row of candidates.toReversed()) {
      const all = { ...(await wholeRow(row)), offered: false };
      const shown = cutRow(all, CONTEXT_CAP_TOKENS, row.tier === 'human' ? CUT.middle : CUT.beginning);
      if (shown === null) continue;
      leftTokens -= estimateTokens(render([shown]));
      if (leftTokens < 0) break;
      context.push(shown);
    }
    return context;
  }

  async function fitsTogether(units: Unit[]): Promise<boolean> {
    const vital: ShownRow[] = [];
    for (const row of units.flatMap((unit) => unit.rows).filter(isVital)) {
      const shown = await (row.tier === 'human' ? showUncut(row) : showOffered(row));
      if (shown) vital.push(shown);
    }
    return fits(vital, { share: units.length > 1 ? JOINED_SHARE : 1 });
  }

  async function showUncut(row: Row): Promise<ShownRow> {
    const shown = await wholeRow(row);
    return { ...shown, text: await showWithoutLongPastes(row, shown.text, redact) };
  }

  /** Lets go of what stands behind so many newer rows of its tier that `rank` never comes to it. */
  async function thin(units: Unit[]): Promise<void> {
    const spent: Partial<Record<Tier, number>> = {};
    for (const unit of units.toReversed()) {
      const kept: Row[] = [];
      for (const row of unit.rows.toReversed()) {
        const spentTokens = spent[row.tier] ?? 0;
        if (!isVital(row) && spentTokens > budgetTokens * shareOf(row.tier)) continue;
        kept.push(row);
        if (!isVital(row)) spent[row.tier] = spentTokens + estimateTokens((await showOffered(row))?.text ?? '');
      }
      unit.rows = kept.reverse();
    }
  }

  /** What goes first, in order; stops where nothing more can fit, so that the rest need not even be redacted. */
  async function rank(own: Row[]): Promise<{ ranked: ShownRow[]; vital: number }> {
    const ranked: ShownRow[] = [];
    let bodyTokens = 0;
    const costOf = ({ text }: ShownRow) => estimateTokens(text) + HEADER_TOKENS;
    const take = (shown: ShownRow | null) => {
      if (shown === null) return;
      ranked.push(shown);
      bodyTokens += costOf(shown);
    };
    const takeShare = async (rows: Row[], share: number) => {
      const mostTokens = Math.min(bodyTokens + budgetTokens * share, budgetTokens * 2);
      for (const row of rows) {
        const shown = await showOffered(row);
        if (shown && bodyTokens + costOf(shown) > mostTokens) return;
        take(shown);
      }
    };
    for (const row of newestFirst(own, 'human', 'answered')) take(await showOffered(row));
    const lead = await showLead(own);
    take(lead);
    const vital = ranked.length;
    const before = passed.filter((row) => row.index < (own.at(-1)?.index ?? 0) && row !== lead?.row);
    for (const shown of await showContext(before)) take(shown);
    await takeShare(newestFirst(own, 'failed'), SHARES.failed);
    await takeShare(newestFirst(own, 'asked'), SHARES.asked);
    for (const row of newestFirst(own, 'answered')) {
      const capTokens = row.isDecidedOn ? budgetTokens * SHARES.plan : CAP_TOKENS.answer;
      if (row.kind === 'words') take(cutRow(await wholeRow(row), Math.max(capTokens, CAP_TOKENS.end)));
    }
    await takeShare(newestFirst(own, 'subagent', 'assistant'), 2);
    await takeShare(newestFirst(own, 'trace', 'idle'), SHARES.trace);
    return { ranked, vital };
  }

  function choose(ranked: ShownRow[], { vital, frame }: { vital: number; frame: Frame }): ShownRow[] {
    // Fewer rows can need more gap lines, so the vital ones are tried first instead of trusting the search with them.
    let kept = fits(ranked.slice(0, vital), { frame }) ? vital : 0;
    let tooMany = ranked.length + 1;
    while (tooMany - kept > 1) {
      const middle = Math.floor((kept + tooMany) / 2);
      if (fits(ranked.slice(0, middle), { frame })) kept = middle;
      else tooMany = middle;
    }
    const chosen = ranked.slice(0, kept);
    const next = ranked[kept];
    if (!next || next.row.kind === 'call') return chosen;
    const cut = cutTo(next.text, (text) => fits([...chosen, { ...next, text }], { frame }));
    const shown = chosen.find(({ row }) => row === next.row)?.text.length ?? 0;
    return cut === null || cut.length <= shown ? chosen : [...chosen, { ...next, text: cut }];
  }

  async function readSource(row: Row, isOffered: boolean): Promise<SourceMessage> {
    const { message, turn, beside } = row;
    const speaker = speakerOf(message);
    const said = beside.filter((other) => other.speaker === speaker);
    const textOf = async (rows: Row[]) => (await Promise.all(rows.map(redactRow))).join('\n');
    const source: SourceMessage = { id: message.id, turn, speaker, text: await textOf(said), offered: isOffered };
    if (message.at) source.at = message.at;
    const inWords = said.filter((other) => other.kind === 'words');
    if (inWords.length < said.length) source.words = await textOf(inWords);
    const chosen = message.parts.flatMap((part) =>
      part.kind === 'text' && part.untyped === 'chosen' ? part.text : [],
    );
    if (chosen.length > 0) source.chosen = (await redact(chosen.join('\n'))).text;
    const asked = speaker === 'human' ? beside.filter((other) => other.kind === 'call') : [];
    if (asked.length > 0) source.asked = await textOf(asked);
    return source;
  }

  async function build(units: Unit[], { at, of }: { at: number; of: number }): Promise<Excerpt> {
    const own = units.flatMap((unit) => unit.rows);
    const turns = units.filter((unit) => unit.endsTurn).map((unit) => unit.turn);
    const sources = new Map<string, SourceMessage>();
    const [first, last] = [own[0], own.at(-1)];
    if (!first || !last) return { text: '', tokens: 0, turns, sources };
    const { ranked, vital } = await rank(own);
    const asPart: Frame = { ...whole, part: { at, of, from: first.position, to: last.position } };
    // Rather than a person's words the lines about parts are left out.
    const isRoomForPart =
      of > 1 &&
      fits(
        ranked.filter(({ row, offered }) => offered && row.tier === 'human'),
        { frame: asPart },
      );
    const frame = isRoomForPart ? asPart : whole;
    const chosen = inOrder(choose(ranked, { vital, frame }));
    const offeredMessages = new Set(own.map((row) => row.position));
    for (const { row } of chosen) {
      sources.set(row.message.id, await readSource(row, offeredMessages.has(row.position)));
    }
    const text = render(chosen, frame);
    pass(own);
    return { text, tokens: estimateTokens(text), turns, sources };
  }

  return { takeUnits, fitsTogether, thin, build };
}
