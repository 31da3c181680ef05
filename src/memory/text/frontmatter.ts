// Reads and changes the frontmatter of a Markdown file.
// gray-matter reads it, from a copy with LF, with YAML as its only engine: frontmatter in a programming language is
// text, never run. A change replaces the changed keys' lines in the raw bytes; foreign keys, comments, order, line
// ends and quoting stay, and a key stays where it is, at the top or under `metadata:`.

import matter from 'gray-matter';
import { parse as parseYaml, stringify as stringifyYaml } from 'yaml';
import { AppError } from '../../base/errors.ts';
import { isObject } from '../../base/text/json.ts';
import { lineEndOf, readLines } from './blocks.ts';

/** Reading YAML takes time that grows with the square of its length. */
const MAX_HEAD_CHARACTERS = 16_384;

interface Frontmatter {
  data: Record<string, unknown>;
  /** What follows the frontmatter, with LF; the whole text where there is none. */
  body: string;
  /** Set where the frontmatter could not be read as it stands, or not at all. */
  problem?: string;
}

/** Reads frontmatter; never throws. YAML that models get wrong (`description: a: b`) is read line by line. */
export function readFrontmatter(raw: string): Frontmatter {
  const text = raw.replaceAll('\r\n', '\n');
  const head = findHead(text);
  if (!head) return { data: {}, body: text };
  if (!/^(?:ya?ml)?$/i.test(head.language))
    return { data: {}, body: text, problem: `Frontmatter in "${head.language}" is not read, only YAML is.` };
  const body = text.slice(head.bodyFrom);
  const block = text.slice(head.from, head.to);
  if (block.length > MAX_HEAD_CHARACTERS) {
    const found = `it has ${block.length} characters, of ${MAX_HEAD_CHARACTERS} at most`;
    return { data: {}, body: text, problem: `The frontmatter is not read: ${found}.` };
  }
  const strict = parseHead(block);
  if ('data' in strict) return { data: strict.data, body };
  const data = readSimpleLines(block);
  return Object.keys(data).length > 0
    ? { data, body, problem: strict.problem }
    : { data, body: text, problem: strict.problem };
}

/** Where the body begins in the raw text; 0 where there is no frontmatter that can be read. */
export function bodyStart(raw: string): number {
  const head = findHead(raw);
  return head && /^(?:ya?ml)?$/i.test(head.language) ? head.bodyFrom : 0;
}

/** Sets keys, each where it stands already, else at the end of the frontmatter, which is made where there is none. */
export function setKeys(raw: string, changes: Record<string, string | boolean>): string {
  const lineEnd = lineEndOf(raw);
  const { data } = readFrontmatter(raw);
  const nested = isObject(data.metadata) ? data.metadata : {};
  const changed = Object.entries(changes).filter(([key, value]) => (data[key] ?? nested[key]) !== value);
  if (changed.length === 0) return raw;

  const from = bodyStart(raw);
  if (from === 0) {
    const mark = raw.startsWith('\uFEFF') ? '\uFEFF' : '';
    const lines = ['---', ...changed.map(([key, value]) => `${key}: ${toScalar(value)}`), '---', '', ''];
    return mark + lines.join(lineEnd) + raw.slice(mark.length);
  }
  let head = raw.slice(0, from);
  for (const [key, value] of changed) head = setKey(head, { key, value, lineEnd });
  return head + raw.slice(from);
}

interface Head {
  language: string;
  /** The lines between the fences. */
  from: number;
  to: number;
  bodyFrom: number;
}

function findHead(raw: string): Head | null {
  const open = /^\uFEFF?---(?!-)([^\n]*)\n/.exec(raw);
  if (!open) return null;
  const from = open[0].length;
  const close = /^---[ \t]*\r?(?:\n|$(?![\s\S]))/m.exec(raw.slice(from));
  if (!close) return null;
  const to = from + close.index;
  return { language: (open[1] ?? '').trim(), from, to, bodyFrom: to + close[0].length };
}

function refuse(): never {
  throw new AppError('bad-input', 'frontmatter in a programming language is never run.');
}

const PLAIN_LINE = /^([a-z][\w-]*): (?:(true)|([A-Za-z](?:[\w ,./()+?!;'’–-]*[\w.)+?!'’])?)|"([^"\\\p{Cc}]*)")$/u;
/** Words that YAML takes for something else than text. */
const NO_TEXT = /^(?:true|false|null)$/i;

/** What a head says that is only keys with plain words, as nocturne writes it; null: it is for the parser. */
function readPlainHead(block: string): Record<string, unknown> | null {
  const data: Record<string, unknown> = {};
  for (const line of block.trimEnd().split('\n')) {
    const [, key = '', isTrue, plain, quoted] = PLAIN_LINE.exec(line) ?? [];
    const value = isTrue ? true : (plain ?? quoted);
    if (value === undefined || NO_TEXT.test(plain ?? '') || Object.hasOwn(data, key)) return null;
    data[key] = value;
  }
  return data;
}

function parseHead(block: string): { data: Record<string, unknown> } | { problem: string } {
  // Most are, and the parser takes longer for one than all else does that is done with a topic.
  const plain = readPlainHead(block);
  if (plain) return { data: plain };
  try {
    // Options also keep gray-matter from its cache, which would hand out one object to all callers.
    const { data } = matter(`---\n${block}---\n`, {
      engines: { yaml: parseMapping, json: refuse, javascript: refuse, coffee: refuse },
    });
    return { data };
  } catch (error) {
    const [said = ''] = (error as Error).message.split('\n');
    return { problem: `The frontmatter is not valid YAML: ${said.replace(/[:.]$/, '')}.` };
  }
}

function parseMapping(block: string): Record<string, unknown> {
  const value: unknown = parseYaml(block, { uniqueKeys: false, logLevel: 'error' });
  if (!isObject(value)) throw new AppError('bad-input', 'it is not a list of keys with values.');
  return value;
}

/** What a head that is no YAML says in lines of a key and a value, at the top or under `metadata:`. */
function readSimpleLines(block: string): Record<string, unknown> {
  const lines = [...block.matchAll(/^( *)([\w-]+):[ \t]+(.*)$/gm)];
  const said = (isNested: boolean) =>
    Object.fromEntries(
      lines.flatMap(([, indent = '', key = '', value = '']) => {
        const text = value.trim().replace(/^(["'])(.*)\1$/, '$2');
        return (indent !== '') === isNested ? [[key, text === 'true' || text]] : [];
      }),
    );
  const metadata = said(true);
  return { ...said(false), ...(Object.keys(metadata).length > 0 && { metadata }) };
}

function setKey(head: string, { key, value, lineEnd }: { key: string; value: string | boolean; lineEnd: string }) {
  const lines = readLines(head);
  const at = findKey(lines, key);
  const line = lines[at];
  if (!line) {
    const close = lines.at(-1);
    if (!close) return head;
    return `${head.slice(0, close.from)}${key}: ${toScalar(value)}${lineEnd}${close.raw}`;
  }
  const after = lines[endOfValue(lines, at)]?.from ?? head.length;
  const name = line.text.slice(0, line.text.indexOf(':') + 1);
  const comment = commentOf(line.text.slice(name.length));
  return `${head.slice(0, line.from)}${name} ${toScalar(value)}${comment}${lineEnd}${head.slice(after)}`;
}

/** The comment behind a value, with the space before it. */
function commentOf(value: string): string {
  const quoted = /^\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')/.exec(value)?.[0];
  if (quoted === undefined && /^\s*["']/.test(value)) return '';
  const comment = quoted === undefined ? /(?<!\s)\s+#.*$/.exec(value) : /^\s+#.*$/.exec(value.slice(quoted.length));
  return comment?.[0] ?? '';
}

/** The index of the line that a key stands on, at the top or under `metadata:`; -1 where it stands nowhere. */
function findKey(lines: { text: string }[], key: string): number {
  const isKey = (text: string, indent: RegExp) =>
    new RegExp(`^${indent.source}(["']?)${key}\\1[ \\t]*:(?:[ \\t]|$)`).test(text);
  const metadata = lines.findIndex((line) => /^metadata[ \t]*:[ \t]*(?:#.*)?$/.test(line.text));
  const endOfMetadata = metadata < 0 ? -1 : endOfValue(lines, metadata);
  const at = lines.findIndex((line) => isKey(line.text, /(?:)/));
  if (at >= 0) return at;
  return lines.findIndex((line, i) => i > metadata && i < endOfMetadata && isKey(line.text, /[ \t]+/));
}

/** The index behind the last line that belongs to the key at `at`: deeper lines, and blank ones between them. */
function endOfValue(lines: { text: string }[], at: number): number {
  const indentOf = (text: string) => /^[ \t]*/.exec(text)?.[0].length ?? 0;
  const own = indentOf(lines[at]?.text ?? '');
  let end = at + 1;
  for (let next = at + 1; next < lines.length - 1; next++) {
    const text = lines[next]?.text ?? '';
    if (text.trim() === '') continue;
    if (indentOf(text) <= own && !(indentOf(text) === own && /^[ \t]*- /.test(text))) break;
    end = next + 1;
  }
  return end;
}

const toScalar = (value: string | boolean) => stringifyYaml(value, { lineWidth: 0, blockQuote: false }).trimEnd();
