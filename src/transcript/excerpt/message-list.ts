// What the model is told of a conversation that it has before it whole: which messages are offered, by id and by how
// they begin. Every text is redacted whole before any of it is cut; the quotes are checked against the same texts.

import { type Excerpt, readSource, redactOnce, type SourceMessage } from './excerpt.ts';
import { type Layout, renderHeader, shortenIds } from './render.ts';
import { type ExcerptTurn, type Segment, segmentsOf } from './segments.ts';
import { estimateTokens } from './tokens.ts';

interface MessageListOptions {
  budgetTokens: number;
  redact: (text: string) => Promise<{ text: string }>;
  /** Time zone of the dates that are shown. */
  zone: string;
}

const BEGINNING_CHARACTERS = 80;

/** Lists all that is offered of `turns`, tools left out where it is too much; null where it still is. */
export async function listMessages(turns: ExcerptTurn[], options: MessageListOptions): Promise<Excerpt | null> {
  const segments: Segment[] = [];
  for (const turn of turns) {
    const messages = (segments.at(-1)?.position ?? -1) + 1;
    segments.push(...segmentsOf(turn, { messages, segments: segments.length }).filter((segment) => segment.offered));
  }
  const layout: Layout = {
    shortIds: shortenIds(segments.map((segment) => segment.message.id)),
    messages: 0,
    zone: options.zone,
  };
  const sources = new Map<string, SourceMessage>();
  const lines: { text: string; isTool: boolean }[] = [];
  const redaction = { offered: true, redact: options.redact, redactSegment: redactOnce(options.redact) };
  for (const first of segments.filter((segment) => segment.siblings[0] === segment)) {
    // The question that a person answers is not in the list.
    const { asked: _, ...source } = await readSource(first, redaction);
    sources.set(source.id, source);
    const shown = first.siblings.find(({ speaker }) => speaker === source.speaker) ?? first;
    lines.push({
      text: `${renderHeader(shown, true, layout)} | ${beginningOf(source.text)}`,
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
