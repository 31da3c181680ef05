// What a play kept and told, as lines that a judge can name by number, in one form for all systems and without their names.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, objectsOf, parseJson, textOf } from '../../../src/base/text/json.ts';
import { parseTopic } from '../../../src/memory/text/topic.ts';
import type { ToldTo } from './play.ts';

/** The lines of a memory as it was kept in `dir`. `withLogs`: also what no night has sorted yet. */
export function keptLines(dir: string, { withLogs }: { withLogs: boolean }): string[] {
  const items = existsSync(dir) ? readdirSync(dir, { recursive: true, withFileTypes: true }) : [];
  const files = items.flatMap((item) => (item.isFile() ? join(item.parentPath, item.name) : [])).sort();
  const isNocturnes = existsSync(join(dir, '.nocturne'));
  return files.flatMap((file) => {
    const name = file.slice(dir.length + 1).replaceAll('\\', '/');
    const text = readFileSync(file, 'utf8');
    if (name.endsWith('.jsonl')) return graphLines(text.split('\n').map((line) => parseJson(line)));
    if (!isNocturnes) return name.endsWith('.md') ? saying(text) : [];
    // MEMORY.md only says which topics there are.
    if (!name.endsWith('.md') || name === 'MEMORY.md') return [];
    if (!name.startsWith('logs/')) return parseTopic(name, text).lines.map((line) => line.text);
    return withLogs ? [...text.matchAll(/^- \d\d:\d\d \*\*\w+\*\* (.*)$/gm)].map(([, said = '']) => said) : [];
  });
}

/** What a session was told at once, as its agent reads it: without what carries it, and without the system's name. */
export function toldLines({ text }: Pick<ToldTo, 'text'>): string[] {
  const json = parseJson(text);
  if (isObject(json) && Array.isArray(json.entities)) {
    return graphLines([...objectsOf(json.entities), ...objectsOf(json.relations)]);
  }
  const hook = isObject(json) && isObject(json.hookSpecificOutput) ? json.hookSpecificOutput : undefined;
  if (!hook) return saying(text);
  const lines = saying((textOf(hook.additionalContext) ?? '').replaceAll(/<\/?nocturne-[^>]*>/g, ''));
  // Beside its lines it says what it is, and how to ask for more: of no fact.
  return lines
    .filter((line) => line.startsWith('- '))
    .map((line) => line.slice(2).replaceAll(/nocturne/gi, 'the memory'));
}

/** A graph as the reference memory server has it, in its file or its answers. */
function graphLines(items: unknown[]): string[] {
  return items.flatMap((item) => {
    if (!isObject(item)) return [];
    if ('from' in item) return [`${item.from} ${item.relationType} ${item.to}`];
    const observations = Array.isArray(item.observations) ? item.observations : [];
    return observations.map((observation) => `${item.name} (${item.entityType}): ${observation}`);
  });
}

/** Lines that say something: no headings, no fences, no rules; what goes on in an indented line belongs to the line before. */
function saying(text: string): string[] {
  const lines: string[] = [];
  for (const line of text.replaceAll(/^---\n(?:[\w-]+:.*\n|[ \t]+.*\n)+---$/gm, '').split('\n')) {
    if (!/\w/.test(line) || /^#{1,6} /.test(line) || /^```/.test(line)) continue;
    if (/^\s+[^\s*\-\d]/.test(line) && lines.length > 0) lines.push(`${lines.pop()} ${line.trim()}`);
    else lines.push(line.trim());
  }
  return lines;
}
