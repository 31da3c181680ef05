// What a person edits of a topic, as they are shown it and as it is written back: a line with its marker, or the description and
// the body. What stays the same stays byte for byte, as do other keys; line ends stay as the file has them.

import { hash } from 'node:crypto';
import { fold, lineEndOf } from './text/blocks.ts';
import { bodyStart, dropKey, readFrontmatter, setKeys } from './text/frontmatter.ts';
import { type LocatedLine, locateLines } from './text/topic.ts';

/** A line as it stands in the file, with its marker, for whoever edits it. */
export function shownLine(raw: string, { from, to }: Pick<LocatedLine, 'from' | 'to'>): string {
  return withUnixEnds(raw.slice(from, to)).trimEnd();
}

/**
 * The file with `text` in the place of the line with this id, bullet marker and all; empty takes it out. Null where the line is
 * not as it was shown any more.
 */
export function withLine(
  raw: string,
  { line, shown, text }: { line: string; shown: string; text: string },
): string | null {
  const [was, now] = [shown, text].map((each) => withUnixEnds(each).trimEnd()) as [string, string];
  if (now === was) return raw;
  const place = locateLines(raw).find((each) => each.id === line && shownLine(raw, each) === was);
  if (!place) return null;
  const { from, to } = place;
  const end = lineEndOf(raw);
  const written = now === '' ? '' : `${now.replaceAll('\n', end)}${raw.slice(from, to).endsWith('\n') ? end : ''}`;
  return raw.slice(0, from) + written + raw.slice(to);
}

interface ShownTopic {
  /** The SHA-256 of the file, in hex. */
  version: string;
  /** Of the frontmatter, on one line; empty where it has none. */
  description: string;
  /** All behind the frontmatter, with `\n`, without the blank lines around it. */
  body: string;
}

export function shownTopic(raw: string): ShownTopic {
  const { description } = readFrontmatter(raw).data;
  return {
    version: hash('sha256', raw),
    description: typeof description === 'string' ? fold(description) : '',
    body: bodyIn(raw).body,
  };
}

/** The file with another description and body. */
export function withTopic(raw: string, { description, body }: { description: string; body: string }): string {
  return withDescription(withBody(raw, body), fold(description));
}

function withDescription(raw: string, description: string): string {
  if (description === shownTopic(raw).description) return raw;
  return description === '' ? dropKey(raw, 'description') : setKeys(raw, { description });
}

function withBody(raw: string, given: string): string {
  const had = bodyIn(raw);
  const { body } = bodyIn(given, 0);
  if (body === had.body) return raw;
  const end = lineEndOf(raw);
  const head = raw.slice(0, had.from);
  const start = had.from > 0 && !head.endsWith('\n') ? end : '';
  const behind = had.body === '' ? end : raw.slice(had.to);
  const text = body === '' ? head : head + start + body.replaceAll('\n', end) + behind;
  // A rule that comes to stand first would make what follows it frontmatter.
  return bodyStart(raw) === 0 && bodyStart(text) > 0 ? end + text : text;
}

/** The body without the blank lines around it, and where it stands. */
function bodyIn(raw: string, start = bodyStart(raw)): { body: string; from: number; to: number } {
  const from = start + (/^(?:[ \t]*\r?\n)*/.exec(raw.slice(start))?.[0].length ?? 0);
  const body = raw.slice(from).trimEnd();
  return { body: withUnixEnds(body), from, to: from + body.length };
}

function withUnixEnds(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
