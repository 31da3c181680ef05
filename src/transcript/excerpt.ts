// The part of a range that is shown to the model, within a token budget.
// Promises: no excerpt is over its budget; every offered turn ends in exactly one; every offered human message stands
// whole in exactly one, unless it alone exceeds the budget; every text was redacted whole before any of it was cut.
// Human words come first, then the final text of a turn, some context, subagents, other text, tools; newest first.

import { cutIntoChunks, type Unit } from './chunks.ts';
import { cutMiddle, type Frame, quoteLines, renderRows, resolveId, type ShownRow, shortenIds } from './render.ts';
import { type ExcerptTurn, layOutTurn, type Row, saysAnything, speakerOf, type Tier } from './rows.ts';
import { estimateTokens, isWithinTokens } from './tokens.ts';
import type { Message, Speaker } from './types.ts';

export type { ExcerptTurn } from './rows.ts';

/** A message that is shown, for checking what is quoted from it. */
export interface SourceMessage {
  id: string;
  turn: string;
  speaker: Speaker;
  at?: string;
  /** The whole redacted text, also of what was cut; white space as it was. Results in a human's message are not his. */
  text: string;
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
}

/** Most tokens of one row, by what it is; a human's words have no cap. */
const CAP_TOKENS = { words: 1_500, call: 150, result: 400 };
const CONTEXT_CAP_TOKENS = 120;
const CONTEXT_SHARE = 1 / 5;
/** No row costs less as context, with its header. */
const LEAST_CONTEXT_TOKENS = 6;
/** What a human message that cannot be shown whole may take, so that the answer to it is seen too. */
const OVERSIZE_SHARE = 3 / 4;

/**
 * Renders the offered turns of `turns`, which must be in source order. One excerpt, or several where their human and
 * final assistant text does not fit into one: cut between turns, and inside a turn only between human messages. Each is
 * made when it is asked for, and only the turns that it needs are held.
 */
export async function* buildExcerpts(
  turns: AsyncIterable<ExcerptTurn> | Iterable<ExcerptTurn>,
  options: ExcerptOptions,
): AsyncGenerator<Excerpt> {
  const builder = excerptBuilder(options);
  for await (const chunk of cutIntoChunks(builder.takeUnits(turns), builder)) yield await builder.build(chunk);
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
  return row.tier === 'human' || row.tier === 'final';
}

function newestFirst(rows: Row[], tier: Tier): Row[] {
  return rows.filter((row) => row.tier === tier).reverse();
}

function excerptBuilder({ ids, budgetTokens, redact, zone }: ExcerptOptions) {
  const shortIds = shortenIds(ids);
  const frame: Frame = { shortIds, messages: shortIds.count, zone };
  const mostContextRows = Math.ceil((budgetTokens * CONTEXT_SHARE) / LEAST_CONTEXT_TOKENS);
  const redacted = new WeakMap<Row, Promise<string>>();
  const offered = new WeakMap<Row, Promise<ShownRow | null>>();
  /** What can be context of what comes: vital rows that were shown, or that are not offered. */
  let passed: Row[] = [];

  async function* takeUnits(turns: AsyncIterable<ExcerptTurn> | Iterable<ExcerptTurn>): AsyncGenerator<Unit> {
    const before = { messages: 0, rows: 0 };
    for await (const shown of turns) {
      const rows = layOutTurn(shown, before);
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

  function render(shown: ShownRow[]): string {
    return renderRows(
      shown.toSorted((a, b) => a.row.index - b.row.index),
      frame,
    );
  }

  function tokensOf(shown: ShownRow[]): number {
    return estimateTokens(render(shown));
  }

  function fits(shown: ShownRow[]): boolean {
    return isWithinTokens(render(shown), budgetTokens);
  }

  /** The row with its lines cut to `capTokens`; null where nothing worth showing is left. */
  function cutRow(shown: ShownRow, capTokens: number): ShownRow | null {
    const text = cutMiddle(shown.text, (candidate) => isWithinTokens(quoteLines(candidate), capTokens));
    return text === null ? null : { ...shown, text };
  }

  function showOffered(row: Row): Promise<ShownRow | null> {
    const shown = offered.get(row) ?? capOffered(row);
    offered.set(row, shown);
    return shown;
  }

  async function capOffered(row: Row): Promise<ShownRow | null> {
    // What a tool said inside a human's message is shown, but nobody can be quoted with it.
    const whole = { row, text: await redactRow(row), offered: row.speaker === speakerOf(row.message) };
    if (row.tier !== 'human') return cutRow(whole, CAP_TOKENS[row.kind]);
    return fits([whole]) ? whole : cutRow(whole, budgetTokens * OVERSIZE_SHARE);
  }

  async function showContext(candidates: Row[]): Promise<ShownRow[]> {
    const context: ShownRow[] = [];
    let leftTokens = budgetTokens * CONTEXT_SHARE;
    for (const row of candidates.toReversed()) {
      const shown = cutRow({ row, text: await redactRow(row), offered: false }, CONTEXT_CAP_TOKENS);
      if (shown === null) continue;
      leftTokens -= tokensOf([shown]);
      if (leftTokens < 0) break;
      context.push(shown);
    }
    return context;
  }

  async function fitsTogether(units: Unit[]): Promise<boolean> {
    const vital: ShownRow[] = [];
    for (const row of units.flatMap((unit) => unit.rows).filter(isVital)) {
      const whole = { row, text: await redactRow(row), offered: true };
      const shown = row.tier === 'human' ? whole : await showOffered(row);
      if (shown) vital.push(shown);
    }
    return fits(vital);
  }

  /** Lets go of what stands behind so many newer rows of its tier that `rank` never comes to it. */
  async function thin(units: Unit[]): Promise<void> {
    const spent: Partial<Record<Tier, number>> = {};
    for (const unit of units.toReversed()) {
      const kept: Row[] = [];
      for (const row of unit.rows.toReversed()) {
        const spentTokens = spent[row.tier] ?? 0;
        if (!isVital(row) && spentTokens > budgetTokens * 2) continue;
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
    const take = (shown: ShownRow | null) => {
      if (shown === null) return;
      ranked.push(shown);
      bodyTokens += estimateTokens(shown.text);
    };
    for (const row of [...newestFirst(own, 'human'), ...newestFirst(own, 'final')]) take(await showOffered(row));
    const vital = ranked.length;
    for (const shown of await showContext(passed)) take(shown);
    for (const tier of ['subagent', 'assistant', 'tool'] as const) {
      for (const row of newestFirst(own, tier)) {
        if (bodyTokens > budgetTokens * 2) return { ranked, vital };
        take(await showOffered(row));
      }
    }
    return { ranked, vital };
  }

  function choose(ranked: ShownRow[], vital: number): ShownRow[] {
    // Fewer rows can need more gap lines, so the vital ones are tried first instead of trusting the search with them.
    let kept = fits(ranked.slice(0, vital)) ? vital : 0;
    let tooMany = ranked.length + 1;
    while (tooMany - kept > 1) {
      const middle = Math.floor((kept + tooMany) / 2);
      if (fits(ranked.slice(0, middle))) kept = middle;
      else tooMany = middle;
    }
    const chosen = ranked.slice(0, kept);
    const next = ranked[kept];
    const cut = next && cutMiddle(next.text, (text) => fits([...chosen, { ...next, text }]));
    return next && cut ? [...chosen, { ...next, text: cut }] : chosen;
  }

  async function readSource(row: Row, isOffered: boolean): Promise<SourceMessage> {
    const { message, turn, beside } = row;
    const speaker = speakerOf(message);
    const said = beside.filter((other) => other.speaker === speaker);
    const text = (await Promise.all(said.map(redactRow))).join('\n');
    return { id: message.id, turn, speaker, ...(message.at ? { at: message.at } : {}), text, offered: isOffered };
  }

  async function build(units: Unit[]): Promise<Excerpt> {
    const own = units.flatMap((unit) => unit.rows);
    const turns = units.filter((unit) => unit.endsTurn).map((unit) => unit.turn);
    const sources = new Map<string, SourceMessage>();
    if (own.length === 0) return { text: '', tokens: 0, turns, sources };
    const { ranked, vital } = await rank(own);
    const chosen = choose(ranked, vital);
    const offeredMessages = new Set(own.map((row) => row.position));
    for (const { row } of chosen.toSorted((a, b) => a.row.index - b.row.index)) {
      sources.set(row.message.id, await readSource(row, offeredMessages.has(row.position)));
    }
    const text = render(chosen);
    pass(own);
    return { text, tokens: estimateTokens(text), turns, sources };
  }

  return { takeUnits, fitsTogether, thin, build };
}
