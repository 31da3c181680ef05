// What the model is told of a conversation that it has before it whole: which messages are offered, by id and by how
// they begin. Every text is redacted whole before any of it is cut; the quotes are checked against the same texts.

import type { Excerpt, SourceMessage } from './excerpt.ts';
import { type Frame, renderHeader, shortenIds } from './render.ts';
import { type ExcerptTurn, layOutTurn, type Row, speakerOf } from './rows.ts';
import { estimateTokens } from './tokens.ts';

export interface PointerOptions {
  budgetTokens: number;
  redact: (text: string) => Promise<{ text: string }>;
  /** Time zone of the dates that are shown. */
  zone: string;
}

const BEGINNING_CHARACTERS = 80;

/** Points to all that is offered of `turns`, tools left out where it is too much; null where it still is. */
export async function pointTo(turns: ExcerptTurn[], options: PointerOptions): Promise<Excerpt | null> {
  const rows: Row[] = [];
  for (const turn of turns) {
    const messages = (rows.at(-1)?.position ?? -1) + 1;
    rows.push(...layOutTurn(turn, { messages, rows: rows.length }).filter((row) => row.offered));
  }
  const frame: Frame = { shortIds: shortenIds(rows.map((row) => row.message.id)), messages: 0, zone: options.zone };
  const sources = new Map<string, SourceMessage>();
  const lines: { text: string; isTool: boolean }[] = [];
  for (const [first, ...more] of Map.groupBy(rows, (row) => row.position).values()) {
    if (!first) continue;
    const { message, turn } = first;
    const speaker = speakerOf(message);
    const own = [first, ...more].filter((row) => row.speaker === speaker);
    const texts = await Promise.all(own.map(async (row) => (await options.redact(row.text)).text));
    const text = texts.join('\n');
    const words = texts.filter((_, at) => own[at]?.kind === 'words').join('\n');
    const chosen = message.parts.flatMap((part) =>
      part.kind === 'text' && part.untyped === 'chosen' ? part.text : [],
    );
    const source: SourceMessage = { id: message.id, turn, speaker, at: message.at, text, offered: true };
    if (words !== text) source.words = words;
    if (chosen.length > 0) source.chosen = (await options.redact(chosen.join('\n'))).text;
    sources.set(message.id, source);
    const shown = own[0] ?? first;
    lines.push({
      text: `${renderHeader(shown, true, frame)} | ${beginningOf(text)}`,
      isTool: shown.kind !== 'words' || shown.speaker === 'tool',
    });
  }
  const ids = turns.filter(({ offeredFrom }) => offeredFrom !== null).map(({ turn }) => turn.id);
  for (const kept of [lines, lines.filter((line) => !line.isTool)]) {
    const text = kept.map((line) => line.text).join('\n');
    const tokens = estimateTokens(text);
    if (tokens <= options.budgetTokens) return { text, tokens, turns: ids, sources };
  }
  return null;
}

function beginningOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > BEGINNING_CHARACTERS ? `${line.slice(0, BEGINNING_CHARACTERS).toWellFormed()}…` : line;
}
