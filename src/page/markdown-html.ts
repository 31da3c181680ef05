// What is remembered as HTML: of Markdown what notes use (paragraphs, headings, lists, quotes, code, emphasis, links), read in one
// pass over each level. It was partly written by strangers: every text is escaped here, no HTML of theirs is used, no picture is
// fetched, and no attribute is written but the `href` of links that lead to the web or to a mailbox, and classes of ours.
// Promises: nothing of a text is lost; time grows with its length alone, since nesting is bounded before it is read; what is nested
// deeper, and a text that is too long, stand there as they were written.

import { raw } from 'hono/html';
import type { Html } from './page-shell.ts';

const DEPTH = 10;
const MOST_CHARACTERS = 50_000;
const MOST_OF_PARAGRAPH = 4_000;

/** Whole texts, with headings and lists. */
export function markdown(text: string): Html {
  const isRead = text.length <= MOST_CHARACTERS;
  const shown = isRead ? blocks(text.replaceAll(/\r\n?/g, '\n').split('\n'), 0) : `<pre>${safe(text)}</pre>`;
  return raw(`<div class="prose" dir="auto">${shown}</div>`);
}

/** One line, as it stands in a sentence. */
export function inlineMarkdown(text: string): Html {
  return raw(`<span class="said" dir="auto">${inline(text)}</span>`);
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function safe(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HEADING = /^ {0,3}#{1,6}[ \t]+(.*)$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])([ \t]+|$)/;
const CODE = /^(?: {4}|\t)/;

function blocks(lines: readonly string[], depth: number): string {
  if (depth > DEPTH) return `<p>${safe(lines.join('\n'))}</p>`;
  let out = '';
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) out += `<p>${inline(paragraph.join('\n'))}</p>`;
    paragraph = [];
  };
  /** The first line from `at` on that is none of these. */
  const endOf = (at: number, isOne: (line: string) => boolean) => {
    let end = at;
    while (end < lines.length && isOne(lines[end] as string)) end += 1;
    return end;
  };
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const fence = FENCE.exec(line)?.[1];
    const heading = HEADING.exec(line);
    const isOther = fence || heading || RULE.test(line) || QUOTE.test(line) || ITEM.test(line) || line.trim() === '';
    if (!isOther && (paragraph.length > 0 || !CODE.test(line))) {
      paragraph.push(line);
      at += 1;
      continue;
    }
    flush();
    let end = at + 1;
    if (fence) {
      end = endOf(at + 1, (each) => !each.trimStart().startsWith(fence));
      out += `<pre><code>${safe(lines.slice(at + 1, end).join('\n'))}</code></pre>`;
      end += 1;
    } else if (heading) {
      // The page has headings of its own above.
      out += `<p class="heading">${inline(heading[1] ?? '')}</p>`;
    } else if (RULE.test(line)) out += '<p>⁂</p>';
    else if (QUOTE.test(line)) {
      end = endOf(at, (each) => QUOTE.test(each));
      const inner = lines.slice(at, end).map((each) => each.replace(QUOTE, ''));
      out += `<blockquote>${blocks(inner, depth + 1)}</blockquote>`;
    } else if (ITEM.test(line)) {
      const list = items(lines, at, depth);
      out += list.html;
      end = list.end;
    } else if (line.trim() !== '') {
      end = endOf(at, (each) => CODE.test(each));
      const inner = lines.slice(at, end).map((each) => each.replace(CODE, ''));
      out += `<pre><code>${safe(inner.join('\n'))}</code></pre>`;
    }
    at = end;
  }
  flush();
  return out;
}

/** The list that begins there, and where it ends. */
function items(lines: readonly string[], from: number, depth: number): { html: string; end: number } {
  const kindOf = (mark: string) => (/\d/.test(mark) ? 'ol' : 'ul');
  const kind = kindOf(ITEM.exec(lines[from] as string)?.[2] ?? '');
  let out = '';
  let at = from;
  for (;;) {
    const found = at < lines.length && !RULE.test(lines[at] as string) ? ITEM.exec(lines[at] as string) : null;
    if (!found || kindOf(found[2] as string) !== kind) break;
    const [lead, , , gap = ''] = found;
    // Behind a wide gap stands code.
    const width = lead.length - gap.length + (gap.length > 4 ? 1 : Math.max(1, gap.length));
    const own = [(lines[at] as string).slice(width)];
    at += 1;
    for (; at < lines.length; at += 1) {
      const line = lines[at] as string;
      const isInner = line.search(/[^ ]/) >= width || line.trim() === '';
      // A paragraph goes on in a line that begins nothing.
      const isLazy = own.at(-1)?.trim() !== '' && ![FENCE, HEADING, RULE, QUOTE, ITEM].some((each) => each.test(line));
      if (!isInner && !isLazy) break;
      own.push(isInner ? line.slice(width) : line);
    }
    out += `<li>${blocks(own, depth + 1)}</li>`;
  }
  return { html: `<${kind}>${out}</${kind}>`, end: at };
}

/** Longest first, so that each alternative is tried once at a place. */
const PIECE =
  /\\([!-/:-@[-`{-~])|(`+)|\[([^[\]]*)\]\(([^\s()<>]*)\)|<((?:https?:\/\/|mailto:)[^\s<>]*)>|(https?:\/\/[^\s<>"'`*[\]]+)|(\*\*|\*|__|_|~~)/gi;
const TAGS: Record<string, string> = { '**': 'strong', __: 'strong', '*': 'em', _: 'em', '~~': 'del' };

function inline(text: string): string {
  if (text.length > MOST_OF_PARAGRAPH) return safe(text);
  const out: string[] = [];
  /** Marks that may be closed, with their place in `out`. */
  const open: { mark: string; at: number }[] = [];
  let from = 0;
  PIECE.lastIndex = 0;
  for (let found = PIECE.exec(text); found; found = PIECE.exec(text)) {
    const [all, escaped, ticks, label, target, angled, bare, mark] = found;
    out.push(safe(text.slice(from, found.index)));
    from = PIECE.lastIndex;
    if (escaped !== undefined) out.push(safe(escaped));
    else if (ticks !== undefined) {
      const close = text.indexOf(ticks, from);
      if (close < 0) out.push(ticks);
      else {
        out.push(`<code>${safe(text.slice(from, close))}</code>`);
        from = close + ticks.length;
      }
    } else if (mark !== undefined) {
      const isFree = (character: string | undefined) => character === undefined || /[\s\p{P}\p{S}]/u.test(character);
      const [before, behind] = [text[found.index - 1], text[from]];
      const isWhole = !mark.includes('_');
      const closes = before !== undefined && !/\s/.test(before) && (isWhole || isFree(behind));
      const last = closes ? open.findLastIndex((each) => each.mark === mark) : -1;
      const opened = open[last];
      if (opened && opened.at < out.length - 1) {
        out[opened.at] = `<${TAGS[mark]}>`;
        out.push(`</${TAGS[mark]}>`);
        open.length = last;
      } else {
        const opens = behind !== undefined && !/\s/.test(behind) && (isWhole || isFree(before)) && open.length < DEPTH;
        if (opens) open.push({ mark, at: out.length });
        out.push(mark);
      }
    } else {
      // The end of a sentence is none of an address.
      const address = bare?.replace(/[.,;:!?)]+$/, '') ?? angled ?? target ?? '';
      const href = safeAddress(address);
      if (bare !== undefined) from = found.index + address.length;
      const said = bare === undefined ? (label ?? address) : address;
      if (href === null) out.push(safe(bare === undefined ? all : address));
      else out.push(`<a href="${safe(href)}" rel="noopener noreferrer" target="_blank">${safe(said)}</a>`);
    }
    PIECE.lastIndex = from;
  }
  out.push(safe(text.slice(from)));
  return out.join('');
}

/** The address in its one form, where it leads to the web or to a mailbox. */
function safeAddress(href: string): string | null {
  const url = /^(?:https?:\/\/|mailto:)/i.test(href) ? URL.parse(href) : null;
  return url && ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
}
