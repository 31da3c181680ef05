// The library as a program meets it: what it exports, as it is published.

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type * as Library from '../src/index.ts';
import { tempDir } from './support/temp.ts';

const root = join(import.meta.dirname, '..');
/** As it is built: its children start in a fifth of the time that their source takes. */
const library: typeof Library = await import(pathToFileURL(join(root, 'dist/lib/index.js')).href);
const transcript = join(root, 'test/fixtures/example/1-harvest-report.jsonl');

test('a program extracts a session, dreams and recalls with what the library exports', async () => {
  const { loadConfig, openNocturne, openSession, recallPrompt } = library;
  const config = await loadConfig({ model: 'offline' }, { HOME: tempDir(), PATH: process.env.PATH });
  const nocturne = await openNocturne(config);
  onTestFinished(() => nocturne.close());
  const session = await openSession(transcript);
  expect(await nocturne.extract({ transcript, ended: true })).toMatchObject({
    session: session.id,
    outcome: 'recorded',
  });
  expect(await nocturne.dream(await nocturne.memoryFor(session), {})).toMatchObject({ outcome: 'dreamed' });
  expect(await recallPrompt({ config, cwd: session.cwd })).toContain('backend engineer');
});

test('the build is loaded by import and by require alike', () => {
  const entry = join(root, 'dist/lib/index.js');
  const program = `import(${JSON.stringify(pathToFileURL(entry))}).then((imported) =>
    console.log(Object.keys(imported).join() === Object.keys(require(${JSON.stringify(entry)})).join()))`;
  const said = execFileSync(process.execPath, ['--input-type=commonjs', '--eval', program], { encoding: 'utf8' });
  expect(said).toBe('true\n');
});

test('the published declarations need no package that is not installed with them', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const packages = new Set<string>();
  const seen = new Set<string>();
  const visit = (path: string) => {
    if (seen.has(path)) return;
    seen.add(path);
    const text = readFileSync(path, 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:from|import)\s*\(?\s*'([@\w./:-]+)'/g)) {
      if (name.startsWith('.')) visit(join(dirname(path), name.replace(/\.ts$/, '.d.ts')));
      else if (!name.startsWith('node:')) packages.add(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name);
    }
  };
  visit(join(root, 'dist/src/index.d.ts'));
  expect(seen.size).toBeGreaterThan(50);
  expect([...packages].filter((name) => !(name in dependencies) || `@types/${name}` in devDependencies)).toEqual([]);
});
