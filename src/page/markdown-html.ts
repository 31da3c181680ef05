// What is remembered as HTML: of Markdown what is read within a line (emphasis, code, links), in one pass. It was partly written by
// strangers: every text is escaped here, no HTML of theirs is used, no picture is fetched, and no attribute is written but the `href`
// of links that lead to the web or to a mailbox, and classes of ours. Promises: nothing of a text is lost; time grows with its length
// alone; a text that is too long stands there as it was written.

import { raw } from 'hono/html';
import type { Html } from './page-shell.ts';

const MOST_OPEN = 10;
const MOST_CHARACTERS = 4_000;

/** A text of several lines, each on a line of its own. */
export function markdown(text: string): Html {
  return raw(`<div class="prose text" dir="auto">${inline(text)}</div>`);
}

/** One line, as it stands in a sentence. */
export function inlineMarkdown(text: string): Html {
  return raw(`<span class="said" dir="auto">${inline(text)}</span>`);
}

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

function safe(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** Longest first, so that each alternative is tried once at a place. */
const PIECE =
  /\\([!-/:-@[-`{-~])|(`+)|\[([^[\]]*)\]\(([^\s()<>]*)\)|<((?:https?:\/\/|mailto:)[^\s<>]*)>|(https?:\/\/[^\s<>"'`*[\]]+)|(\*\*|\*|__|_|~~)/gi;
const TAGS: Record<string, string> = { '**': 'strong', __: 'strong', '*': 'em', _: 'em', '~~': 'del' };

function inline(text: string): string {
  if (text.length > MOST_CHARACTERS) return safe(text);
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
        const opens =
          behind !== undefined && !/\s/.test(behind) && (isWhole || isFree(before)) && open.length < MOST_OPEN;
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
