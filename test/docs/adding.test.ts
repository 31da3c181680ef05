// What docs/adding-a-….md say is done, word by word, in a copy of the source: it must work as they say.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { sized } from '../support/depth.ts';
import { tempDir } from '../support/temp.ts';

const root = join(import.meta.dirname, '../..');

/** A copy of the source in which the code blocks of a document were written and replaced as it says. */
function followed(document: string): string {
  const copy = tempDir();
  for (const name of ['src', 'jobs', 'prompts', 'package.json', 'tsconfig.json']) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const text = readFileSync(join(root, 'docs', document), 'utf8');
  for (const [, how, path = '', block = ''] of text.matchAll(/^```\w+ (file|replace)=(\S+)\n(.*?)^```$/gms)) {
    const target = join(copy, path);
    if (how === 'file') {
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, block);
      continue;
    }
    const [before = '', after = ''] = block.slice(0, -1).split('\n---\n');
    const pieces = readFileSync(target, 'utf8').split(before);
    expect({ path, before, times: pieces.length - 1 }).toEqual({ path, before, times: 1 });
    writeFileSync(target, pieces.join(after));
  }
  return copy;
}

/** Runs the command line of a copy. */
function nocturne(copy: string, ...args: string[]): string {
  return execFileSync(process.execPath, [join(copy, 'src/doors/cli/nocturne.js'), ...args], {
    cwd: copy,
    encoding: 'utf8',
    env: {
      PATH: process.env.PATH,
      HOME: copy,
      NOCTURNE_HOME: join(copy, 'home'),
      NOCTURNE_MODEL: 'offline',
      NOCTURNE_NOW: '2026-11-20T12:00:00Z',
      NOCTURNE_MEMORY_DIR: join(copy, 'memory'),
    },
  });
}

function typesOf(copy: string): string {
  writeFileSync(
    join(copy, 'tsconfig.json'),
    readFileSync(join(copy, 'tsconfig.json'), 'utf8').replace('"src", "jobs", "test"', '"src", "jobs"'),
  );
  return execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--noEmit'], {
    cwd: copy,
    encoding: 'utf8',
  });
}

test('a format that is added as docs/adding-a-format.md says is read, and what the person said is found', () => {
  const copy = followed('adding-a-format.md');
  if (sized({ quick: false, deep: true })) expect(typesOf(copy)).toBe('');
  const { format, cwd } = JSON.parse(nocturne(copy, 'transcript', 'toy-session.jsonl', '--json'));
  expect({ format, cwd }).toEqual({ format: 'toy', cwd: '/work/orchard' });
  nocturne(copy, 'extract', 'toy-session.jsonl');
  expect(nocturne(copy, 'search', 'pear trees')).toContain('prune the pear trees');
});

test('a wing that is added as docs/adding-a-wing.md says has its command, its JSON and its note in recall', () => {
  const copy = followed('adding-a-wing.md');
  if (sized({ quick: false, deep: true })) expect(typesOf(copy)).toBe('');
  nocturne(copy, 'remember', 'Always prune the pear trees before the first frost.');
  expect(JSON.parse(nocturne(copy, 'seasons', '--json'))).toEqual([{ month: '2026-11', entries: 1 }]);
  expect(nocturne(copy, 'help', '--all')).toContain('how many entries each month brought');
  expect(nocturne(copy, 'recall')).toContain('The busiest month of this memory was 2026-11.');
});
