// Puts values into settings (JSON with comments), an agent's or our own, and takes them out again. jsonc-parser's `modify`
// says where a value goes; only what goes in is laid out, as the file is. Without that its edits would break lists that
// are written in one line. It takes nothing out here: it takes comments along, and leaves `[12]` of `[1,2]`.
// All else stays as it is written; what cannot be changed safely is refused with the file's name and line.

import { applyEdits, format, modify, type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { AppError } from '../../base/errors.ts';

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
/** In a list, -1 is the place behind its last element. */
export type Path = (string | number)[];

/** The settings as a tree; null where the text holds none. Throws `bad-input` that names `file`. */
function parseSettings(text: string, file: string): Node | null {
  const body = text.replace(/^\uFEFF/, ' ');
  const errors: ParseError[] = [];
  const root = parseTree(body, errors, { allowTrailingComma: true, allowEmptyContent: true }) ?? null;
  const [first] = errors;
  if (first) {
    const line = body.slice(0, first.offset).split('\n').length;
    // CommaExpected
    const what = printParseErrorCode(first.error).replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    throw unusable(file, `is not JSON: ${what} in line ${line}`);
  }
  if (root && root.type !== 'object')
    throw unusable(file, `holds ${root.type === 'array' ? 'a list' : `a ${root.type}`}, not settings`);
  return root;
}

/** A comma, and the comments that end in the line of the value before. */
const REST_OF_LINE = /^((?:[ \t]*\/\*(?:(?!\*\/).)*\*\/)*[ \t]*,)?(?:[ \t]*\/\*(?:(?!\*\/).)*\*\/)*(?:[ \t]*\/\/.*)?/;

/** Sets what stands at `path`; the lists and objects that lead there are made where there are none. `file`: for messages. */
export function setValue(text: string, { path, value, file }: { path: Path; value: Json; file: string }): string {
  const mark = text.startsWith('\uFEFF') ? '\uFEFF' : '';
  const body = text.slice(mark.length);
  const parent = parentOf(parseSettings(body, file), { path, file });
  const [edit] = modify(body, path, value, {});
  if (!edit) return text;
  const eol = body.includes('\r\n') ? '\r\n' : '\n';
  const isEmpty = !parent?.children?.length;
  const isLaidOut = isEmpty || /[\r\n]/.test(body.slice(parent.offset, endOf(parent)));
  // Behind another value: comments in its line stay with it, and a last comma stays the last.
  const isNext = edit.content.startsWith(',');
  const [rest = '', comma = ''] = isNext ? (REST_OF_LINE.exec(body.slice(edit.offset)) ?? []) : [];
  const isSet = edit.length > 0 || !parent;
  const space = isSet ? '' : isLaidOut ? eol : ' ';
  const head = body.slice(0, edit.offset) + (isNext && comma === '' ? ',' : '') + rest + space;
  const content = isNext ? edit.content.slice(1) : edit.content;
  const tail = (comma && ',') + (parent ? '' : eol) + body.slice(edit.offset + edit.length + rest.length);
  const to = head + content + tail;
  if (!isLaidOut) return mark + to;
  const unit = /\n([ \t]+)\S/.exec(body)?.[1] ?? '  ';
  const layout = { insertSpaces: !unit.includes('\t'), tabSize: unit.length, eol };
  // The space before it, too, and what is behind it where it is alone: of a line's end all, else half of it stays.
  const length = space.length + content.length + (parent && isEmpty ? 1 + Number(tail.startsWith('\r\n')) : 0);
  return mark + applyEdits(to, format(to, { offset: head.length - space.length, length }, layout));
}

/** The innermost list or object on the way to `path`. Agents take the last of two equal keys, parsers here the first. */
function parentOf(root: Node | null, { path, file }: { path: Path; file: string }): Node | null {
  let parent = root;
  for (const [depth, key] of path.entries()) {
    const kind = typeof key === 'number' ? 'array' : 'object';
    if (parent && parent.type !== kind) {
      const at = path.slice(0, depth).join('.');
      throw unusable(file, `has no ${kind === 'array' ? 'list' : 'object'} at "${at}"`);
    }
    const same = parent ? childrenOf(parent).filter((child) => child.key === key) : [];
    if (same.length > 1) throw unusable(file, `has the key "${key}" twice`);
    if (!same[0] || depth === path.length - 1) break;
    parent = same[0].node;
  }
  return parent;
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
  const without = (node: Node, path: Path): string | undefined => {
    for (const [at, child] of childrenOf(node).entries()) {
      const below = [...path, child.key];
      const left = isWhole(child.node, below) ? cut(text, node, at) : without(child.node, below);
      if (left !== undefined) return left;
    }
    return undefined;
  };
  const left = root ? without(root, []) : undefined;
  return left === undefined ? text : takeOut(left, { file, isOurs, stays });
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

/** Removes a child with one comma (its own, else the one before) and the space before it; comments stay. */
function cut(text: string, parent: Node, at: number): string {
  const [child, before, next] = [parent.children?.[at] as Node, parent.children?.[at - 1], parent.children?.[at + 1]];
  const from = before ? endOf(before) : parent.offset + 1;
  const to = next ? next.offset : endOf(parent) - 1;
  const [above, below] = [text.slice(from, child.offset), text.slice(endOf(child), to)];
  const rest = withoutComma(below);
  const kept = rest === below && before ? withoutComma(above) : above;
  // A line comment would swallow what comes to stand behind it.
  const isSwallowing = /\/\/.*$/.test(kept.trimEnd()) && !/^[ \t]*[\r\n]/.test(rest);
  const left = (isSwallowing ? kept : kept.trimEnd()) + rest;
  return text.slice(0, from) + (before || next || left.trim() !== '' ? left : '') + text.slice(to);
}

/** Of what stands between two values. */
function withoutComma(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*|,/g, (part) => (part === ',' ? '' : part));
}

function endOf(node: Node): number {
  return node.offset + node.length;
}

function unusable(file: string, what: string): AppError {
  return new AppError('bad-input', `${file} ${what}; nothing was changed.`, {
    remedy: 'Fix it by hand, then run the same command again.',
  });
}
