// What the docs name: commands with their options, settings, formats, endpoints, tools, exports, promises. It is read from
// the docs alone, so that it can be taken of any commit. `inventory.md` keeps the list since the third house was begun: what
// is kept, and what is gone with the reason. `node test/docs/inventory.ts` prints today's names.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
export const LIST = join(import.meta.dirname, 'inventory.md');

type Read = (path: string) => string;

/** Every name, one a line, as `kind name`. */
export function namesInDocs(read: Read = (path) => readFileSync(join(root, path), 'utf8')): string[] {
  const library = read('src/index.ts').matchAll(/^export (?:type )?\{([^}]*)\}/gms);
  const found = [
    ...commandsIn(read('docs/commands.md')),
    ...rowsOf(read('docs/settings.md')).map((name) => `setting ${name}`),
    ...rowsOf(read('docs/dev/formats.md')).map((name) => `format ${name}`),
    ...matches(read('docs/server-and-machines.md'), /\b((?:GET|POST|PATCH|PUT|DELETE) \/[\w/{}:.<>-]+)/g, 'endpoint'),
    ...matches(read('docs/guide.md'), /`(memory_\w+)`/g, 'tool'),
    ...[...library].flatMap(([, names = '']) => matches(names, /(?:type )?(\w+)(?: as (\w+))?(?:,|\s*$)/g, 'export')),
    ...matches(read('src/index.ts'), /^export (?:async )?function (\w+)/gm, 'export'),
    ...matches(read('README.md'), /^\d+\. \*\*(.+?)\*\*/gm, 'promise'),
  ];
  return [...new Set(found)].sort();
}

function commandsIn(page: string): string[] {
  return page.split(/^### nocturne /m).flatMap((section, at) => {
    if (at === 0) return [];
    const name = /^[a-z ]+[a-z]/.exec(section)?.[0].trim() ?? '';
    const own = section.split(/^## /m)[0] ?? '';
    return [`command ${name}`, ...matches(own, /(?:^- |also .*?|, )`(--[\w-]+)/gm, `option ${name}`)];
  });
}

function rowsOf(page: string): string[] {
  return [...page.matchAll(/^\| `?([\w .-]+?)`? \|/gm)].flatMap(([, name = '']) =>
    /^(?:---|Setting$|Agent$)/.test(name) ? [] : name,
  );
}

function matches(text: string, pattern: RegExp, kind: string): string[] {
  return [...text.matchAll(pattern)].map(([, name, renamed]) => `${kind} ${renamed ?? name}`);
}

/** The lines of the list: what became of each name. */
export function readList(): { name: string; gone?: string }[] {
  const lines = readFileSync(LIST, 'utf8').split('\n');
  return lines.flatMap((line) => {
    const [, mark, name, gone] = /^- \[([x ])\] (.+?)(?: · gone: (.+))?$/.exec(line) ?? [];
    if (name === undefined) return [];
    return mark === ' ' ? [{ name, gone: gone ?? '' }] : [{ name }];
  });
}

if (process.argv[1] === import.meta.filename) console.log(namesInDocs().join('\n'));
