// Puts elements into an agent's settings (JSON with comments) and takes them out again. Each change touches only the
// place where it is made: comments, order, indentation and line ends stay, and what was put in comes out byte for byte.
// jsonc-parser only reads here: its own edits reformat the lines around them, and break a list that is written in one line.

import {
  createScanner,
  findNodeAtLocation,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser';
import { AppError } from '../../../base/errors.ts';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type Path = (string | number)[];

// Of jsonc-parser's SyntaxKind, which is a const enum and so has no values at run time.
const COMMA = 5;
const LINE_COMMENT = 12;
const BLOCK_COMMENT = 13;
const TRIVIA = 15;
const END = 17;

/** The settings as a tree; null where the text holds none. Throws `bad-input` that names `file`. */
function parseSettings(text: string, file: string): Node | null {
  const body = text.replace(/^\uFEFF/, ' ');
  const errors: ParseError[] = [];
  const root = parseTree(body, errors, { allowTrailingComma: true, allowEmptyContent: true }) ?? null;
  const [first] = errors;
  if (first) {
    const line = body.slice(0, first.offset).split('\n').length;
    throw unusable(file, `is not JSON: ${printParseErrorCode(first.error)} in line ${line}`);
  }
  if (root && root.type !== 'object')
    throw unusable(file, `holds ${root.type === 'array' ? 'a list' : `a ${root.type}`}, not settings`);
  return root;
}

interface Place {
  path: string[];
  value: Json;
  /** For messages. */
  file: string;
}

/** Adds `value` to the list at `path`, which is made where there is none. */
export function addElement(text: string, { path, value, file }: Place): string {
  const list = nodeAt(parseSettings(text, file), { path, file });
  if (!list) return setValue(text, { path, value: [value], file });
  if (list.type !== 'array') throw unusable(file, `has no list at "${path.join('.')}"`);
  return insertInto(text, list, { format: formatOf(text), value });
}

/** Sets what stands at `path`; the objects that lead there are made where there are none. */
export function setValue(text: string, { path, value, file }: Place): string {
  const root = parseSettings(text, file);
  const format = formatOf(text);
  const below = (depth: number) => path.slice(depth).reduceRight<Json>((inner, key) => ({ [key]: inner }), value);
  if (!root) {
    const start = text === '' || text.endsWith('\n') ? text : text + format.eol;
    return start + render(below(0), { ...format, indent: '' }) + format.eol;
  }
  const present = nodeAt(root, { path, file });
  if (present) {
    const indent = lineIndent(text, present.offset);
    return text.slice(0, present.offset) + render(value, { ...format, indent }) + text.slice(endOf(present));
  }
  const depth = path.findIndex((_, at) => !findNodeAtLocation(root, path.slice(0, at + 1)));
  const parent = findNodeAtLocation(root, path.slice(0, depth));
  if (parent?.type !== 'object') throw unusable(file, `has no object at "${path.slice(0, depth).join('.')}"`);
  return insertInto(text, parent, { format, key: path[depth], value: below(depth + 1) });
}

/** What stands there; agents take the last of two equal keys and parsers here the first: nothing can be changed safely. */
function nodeAt(root: Node | null, { path, file }: Pick<Place, 'path' | 'file'>): Node | undefined {
  let node = root ?? undefined;
  for (const key of path) {
    const same: { node: Node }[] = node?.type === 'object' ? childrenOf(node).filter((child) => child.key === key) : [];
    if (same.length > 1) throw unusable(file, `has the key "${key}" twice`);
    node = same[0]?.node;
  }
  return node;
}

/**
 * Takes out the elements that `isOurs` names, and with them the lists and objects that hold nothing else, except those
 * that `stays` names.
 */
export function takeOut(
  text: string,
  { file, isOurs, stays }: { file: string; isOurs(value: unknown, path: Path): boolean; stays(path: Path): boolean },
): string {
  const root = parseSettings(text, file);
  const isWhole = (node: Node, path: Path): boolean => {
    if (isOurs(jsonOf(node), path)) return true;
    const children = childrenOf(node);
    return children.length > 0 && !stays(path) && children.every((child) => isWhole(child.node, [...path, child.key]));
  };
  const find = (node: Node, path: Path): { parent: Node; at: number } | undefined => {
    const children = childrenOf(node);
    const at = children.findIndex((child) => isWhole(child.node, [...path, child.key]));
    if (at >= 0) return { parent: node, at };
    for (const child of children) {
      const found = find(child.node, [...path, child.key]);
      if (found) return found;
    }
    return undefined;
  };
  const found = root && find(root, []);
  return found ? takeOut(cut(text, found.parent, found.at), { file, isOurs, stays }) : text;
}

/** The settings as JSON.parse would give them; empty where the text holds none. Throws as `parseSettings`. */
export function readSettings(text: string, file: string): Record<string, unknown> {
  const root = parseSettings(text, file);
  return root ? (jsonOf(root) as Record<string, unknown>) : {};
}

function jsonOf(node: Node): unknown {
  if (node.type === 'array') return childrenOf(node).map((child) => jsonOf(child.node));
  if (node.type !== 'object') return node.value;
  return Object.fromEntries(childrenOf(node).map((child) => [child.key, jsonOf(child.node)]));
}

/** Elements of a list, or the values of an object, each under its key. */
function childrenOf(node: Node): { key: string | number; node: Node }[] {
  const children = node.children ?? [];
  if (node.type === 'array') return children.map((child, key) => ({ key, node: child }));
  if (node.type !== 'object') return [];
  return children.flatMap(({ children: [key, value] = [] }) => (key && value ? [{ key: key.value, node: value }] : []));
}

interface Format {
  eol: string;
  /** One step of indentation. */
  unit: string;
  /** Whether the whole text is in one line. */
  isOneLine: boolean;
}

function formatOf(text: string): Format {
  return {
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    unit: /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ',
    isOneLine: text.trim().length > 2 && !text.trim().includes('\n'),
  };
}

function render(value: Json, { eol, unit, indent, isOneLine }: Format & { indent: string }): string {
  return isOneLine ? JSON.stringify(value) : JSON.stringify(value, null, unit).replaceAll('\n', eol + indent);
}

/** Adds a last child. It goes behind the comments in the line of the one before, so that they stay with that one. */
function insertInto(text: string, parent: Node, add: { format: Format; key?: string; value: Json }): string {
  const { eol, unit, isOneLine } = add.format;
  const children = parent.children ?? [];
  const [first, last] = [children[0], children.at(-1)];
  const place = last ? endOf(last) : parent.offset + 1;
  const comma = last ? commaBehind(text, place) : null;
  const tail = tailOf(text, comma === null ? place : comma + 1);
  const isBroken = first !== undefined && text.slice(parent.offset, first.offset).includes('\n');
  const isInline = !tail.endsInLineComment && (last ? !isBroken : isOneLine);
  const outer = lineIndent(text, parent.offset);
  const indent = isBroken ? lineIndent(text, first.offset) : outer + unit;
  const value = render(add.value, { ...add.format, isOneLine: isInline, indent });
  const child = add.key === undefined ? value : `${JSON.stringify(add.key)}: ${value}`;
  const space = isInline ? (last ? ' ' : '') : eol + indent;
  const rest = text.slice(tail.end);
  const closing = last || isInline || /^[ \t]*\r?\n/.test(rest) ? '' : eol + outer;
  const head = `${text.slice(0, place)}${last && comma === null ? ',' : ''}${text.slice(place, tail.end)}`;
  // A list that ended in a comma goes on doing so.
  return `${head}${space}${child}${comma === null ? '' : ','}${closing}${rest}`;
}

/** Removes a child with one comma (its own, else the one before) and the space before it. */
function cut(text: string, parent: Node, at: number): string {
  const children = parent.children ?? [];
  const child = children[at] as Node;
  const before = children[at - 1];
  const after = commaBehind(text, endOf(child));
  let [start, end] = [child.offset, after === null ? endOf(child) : after + 1];
  while (/\s/.test(text[start - 1] ?? '')) start -= 1;
  if (children.length === 1 && start === parent.offset + 1) {
    // The line break that was put before the bracket.
    end += /^[ \t]*\r?\n[ \t]*(?=[\]}])/.exec(text.slice(end))?.[0].length ?? 0;
  }
  const comma = before && after === null ? commaBehind(text, endOf(before)) : null;
  const head = comma === null ? text.slice(0, start) : text.slice(0, comma) + text.slice(comma + 1, start);
  const rest = text.slice(end);
  // A line comment would swallow what comes to stand behind it.
  const isSwallowed =
    endsInLineComment(text, before ? endOf(before) : parent.offset + 1, start) && !/^\s*?\n/.test(rest);
  return head + (isSwallowed ? formatOf(text).eol : '') + rest;
}

/** Whether the last token between two places, of which none is a value, is a line comment. */
function endsInLineComment(text: string, from: number, to: number): boolean {
  const scanner = createScanner(text.slice(0, to), false);
  scanner.setPosition(from);
  let last = 0;
  for (let kind: number = scanner.scan(); kind !== END; kind = scanner.scan()) last = kind;
  return last === LINE_COMMENT;
}

/** Where the comments in the line of `offset` end. */
function tailOf(text: string, offset: number): { end: number; endsInLineComment: boolean } {
  const scanner = createScanner(text, false);
  scanner.setPosition(offset);
  const tail = { end: offset, endsInLineComment: false };
  for (let kind: number = scanner.scan(); ; kind = scanner.scan()) {
    if (kind === TRIVIA) continue;
    if (kind !== LINE_COMMENT && kind !== BLOCK_COMMENT) return tail;
    tail.end = scanner.getTokenOffset() + scanner.getTokenLength();
    tail.endsInLineComment = kind === LINE_COMMENT;
  }
}

function commaBehind(text: string, offset: number): number | null {
  const scanner = createScanner(text, true);
  scanner.setPosition(offset);
  return (scanner.scan() as number) === COMMA ? scanner.getTokenOffset() : null;
}

function lineIndent(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1);
  return /^[ \t]*/.exec(line)?.[0] ?? '';
}

function endOf(node: Node): number {
  return node.offset + node.length;
}

function unusable(file: string, what: string): AppError {
  return new AppError('bad-input', `${file} ${what}; nothing was changed.`, {
    remedy: 'Mend it by hand, then run the same command again.',
  });
}
