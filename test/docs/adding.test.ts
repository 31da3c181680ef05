// What docs/dev/adding-a-format.md says is done, word by word, in a copy of the source: it must work as it says.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { isDeep } from '../support/depth.ts';
import { tempDir } from '../support/temp.ts';

const root = join(import.meta.dirname, '../..');

/** A copy of the source in which the code blocks of the page were written and replaced as it says. */
function followed(): string {
  const copy = tempDir();
  for (const name of ['src', 'jobs', 'prompts', 'package.json', 'tsconfig.json'])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  const text = readFileSync(join(root, 'docs/dev/adding-a-format.md'), 'utf8');
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

/** Runs commands of a copy one after the other in one process, which loads its source once; answers what each prints. */
function nocturne(copy: string, ...commands: string[][]): string[] {
  const program = `
    import { main } from ${JSON.stringify(join(copy, 'src/cli/cli.ts'))};
    import { runAgent } from ${JSON.stringify(join(copy, 'src/agent/loop.ts'))};
    const printed = [];
    const write = process.stdout.write.bind(process.stdout);
    process.stdout.write = (text) => { printed[printed.length - 1] += text; return true; };
    for (const args of ${JSON.stringify(commands)}) {
      printed.push('');
      await main(['node', 'nocturne', ...args], { runAgent });
      if (process.exitCode) throw new Error(args.join(' '));
    }
    write(JSON.stringify(printed));`;
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
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
  return JSON.parse(printed);
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

const deep = test.runIf(isDeep);

deep('a format that is added as docs/dev/adding-a-format.md says is read', () => {
  const copy = followed();
  expect(typesOf(copy)).toBe('');
  const [session = '', , found] = nocturne(
    copy,
    ['why', 'toy-session.jsonl', '--json'],
    ['learn', 'toy-session.jsonl'],
    ['search', 'pear trees'],
  );
  expect(JSON.parse(session).holds.format).toBe('toy');
  expect(found).toContain('prune the pear trees');
});
