// What is remembered as HTML. It was partly written by strangers: no HTML of theirs, or of the library, is used. The library
// only reads the text; each kind of piece that is known here is written again, and what is not known is shown as text. No
// attribute is written but the `href` of links that lead to the web or to a mailbox, and classes of ours; no picture is
// fetched.

import { html } from 'hono/html';
import { Lexer, type Token, type Tokens } from 'marked';
import type { Html } from './shell.ts';

const DEPTH = 12;
/** The library takes time with the square of what it is given: what is longer without a break, or a line, is shown as text. */
const MOST_CHARS = 4_000;
const MOST_LINES = 50;

/** Whole texts, with headings and lists. */
export function markdown(text: string): Html {
  return html`<div class="prose" dir="auto">${blocks(
    lexed(() => lex(text), text),
    0,
  )}</div>`;
}

/** One line, as it stands in a sentence. */
export function inlineMarkdown(text: string): Html {
  return html`<span class="said" dir="auto">${inlines(
    lexed(() => (text.length > MOST_CHARS ? [plain(text)] : Lexer.lexInline(text, { gfm: true })), text),
    0,
  )}</span>`;
}

/** What cannot be read as Markdown is text. */
function lexed(read: () => Token[], text: string): Token[] {
  try {
    return read();
  } catch {
    return [plain(text)];
  }
}

function plain(text: string): Token {
  return { type: 'text', raw: text, text };
}

/** Reads what is nested no deeper than it is shown: each level reads its text again, and a quote more than once. */
class ShallowLexer extends Lexer {
  #depth = 0;
  #left: number;

  constructor(chars: number) {
    super({ gfm: true });
    this.#left = chars;
  }

  // biome-ignore lint/suspicious/noExplicitAny: the library's own overloads
  override blockTokens(src: string, tokens: any = [], isClipped = false): any {
    this.#left -= src.length;
    if (this.#depth > DEPTH || this.#left < 0) {
      tokens.push(plain(src));
      return tokens;
    }
    this.#depth += 1;
    try {
      return super.blockTokens(src, tokens, isClipped);
    } finally {
      this.#depth -= 1;
    }
  }
}

/** For each line that goes on in an item the library copies what the item has so far: one of many lines ends sooner. */
function withShortItems(lines: string[]): string {
  let count = 0;
  const shortened = lines.flatMap((line) => {
    const rest = line.replace(/^(?: {0,3}> ?)+/, '');
    if (!rest.trim()) count = 0;
    else if (/^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)/.test(rest)) count = 1;
    // A paragraph of no item goes on until an empty line.
    else if (count === 0 && /^\S/.test(rest)) count = Number.NEGATIVE_INFINITY;
    else count += 1;
    if (count < MOST_LINES) return line;
    count = 0;
    return [line, ''];
  });
  return shortened.join('\n');
}

function lex(text: string): Token[] {
  const lines = text.replaceAll(/\r\n?/g, '\n').split('\n');
  if (lines.some((line) => line.length > MOST_CHARS)) return [plain(text)];
  const lexer = new ShallowLexer(text.length * DEPTH);
  lexer.blockTokens(withShortItems(lines), lexer.tokens);
  for (const { src, tokens } of lexer.inlineQueue) {
    if (src.length > MOST_CHARS) tokens.push(plain(src));
    else lexer.inlineTokens(src, tokens);
  }
  return lexer.tokens;
}

function blocks(tokens: Token[], depth: number): Html[] {
  return tokens.map((token) => block(token, depth));
}

function block(token: Token, depth: number): Html {
  if (depth > DEPTH) return html`<p>${token.raw}</p>`;
  switch (token.type) {
    case 'space':
    case 'def':
      return html``;
    case 'heading':
      // The page has headings of its own above.
      return html`<p class="heading">${inlines((token as Tokens.Heading).tokens, depth)}</p>`;
    case 'paragraph':
      return html`<p>${inlines((token as Tokens.Paragraph).tokens, depth)}</p>`;
    case 'text':
      return html`<p>${inlines((token as Tokens.Text).tokens ?? [token], depth)}</p>`;
    case 'code':
      return html`<pre><code>${(token as Tokens.Code).text}</code></pre>`;
    case 'blockquote':
      return html`<blockquote>${blocks((token as Tokens.Blockquote).tokens, depth + 1)}</blockquote>`;
    case 'list': {
      const items = (token as Tokens.List).items.map((item) => html`<li>${blocks(item.tokens, depth + 1)}</li>`);
      return (token as Tokens.List).ordered ? html`<ol>${items}</ol>` : html`<ul>${items}</ul>`;
    }
    case 'hr':
      return html`<p>⁂</p>`;
    default:
      return html`<p>${token.raw}</p>`;
  }
}

function inlines(tokens: Token[] = [], depth: number): Html[] {
  return tokens.map((token) => inline(token, depth + 1));
}

function inline(token: Token, depth: number): Html {
  if (depth > DEPTH) return html`${token.raw}`;
  switch (token.type) {
    case 'strong':
      return html`<strong>${inlines((token as Tokens.Strong).tokens, depth)}</strong>`;
    case 'em':
      return html`<em>${inlines((token as Tokens.Em).tokens, depth)}</em>`;
    case 'del':
      return html`<del>${inlines((token as Tokens.Del).tokens, depth)}</del>`;
    case 'codespan':
      return html`<code>${(token as Tokens.Codespan).text}</code>`;
    case 'br':
      return html`<br>`;
    case 'escape':
      return html`${(token as Tokens.Escape).text}`;
    case 'link': {
      const { href, tokens: said } = token as Tokens.Link;
      const safe = safeAddress(href);
      if (safe === null) return html`${token.raw}`;
      return html`<a href="${safe}" rel="noopener noreferrer" target="_blank">${inlines(said, depth)}</a>`;
    }
    case 'text': {
      const inner = (token as Tokens.Text).tokens;
      return inner ? html`${inlines(inner, depth)}` : html`${token.raw}`;
    }
    default:
      return html`${token.raw}`;
  }
}

/** The address in its one form, where it leads to the web or to a mailbox. */
function safeAddress(href: string): string | null {
  if (!/^(?:https?:\/\/|mailto:)/i.test(href) || !URL.canParse(href)) return null;
  const url = new URL(href);
  return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
}
