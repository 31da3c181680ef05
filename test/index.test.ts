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
const configOf = () => library.loadConfig({ model: 'offline' }, { HOME: tempDir(), PATH: process.env.PATH });

test('a program extracts a session, dreams and recalls with what the library exports', async () => {
  const config = await configOf();
  const nocturne = await library.openNocturne(config);
  onTestFinished(() => nocturne.close());
  const session = await library.openSession(transcript);
  const extracted = await nocturne.extract({ transcript, ended: true });
  expect(extracted).toMatchObject({ session: session.id, outcome: 'recorded' });
  const memory = await nocturne.memoryFor(session);
  expect(await nocturne.dream(memory, {})).toMatchObject({ outcome: 'dreamed' });
  const paths = (await nocturne.files(memory).list()).items.map((item) => 'path' in item && item.path);
  expect(paths).toEqual(expect.arrayContaining(['user-profile.md', 'working-agreements.md']));
  expect(await library.recallPrompt({ config, cwd: session.cwd })).toContain('backend engineer');
});

test('an agent of one’s own writes its memory by the tool, and is told of it the next time', async () => {
  const { agentMemory } = library;
  const [config, cwd] = [await configOf(), tempDir()];
  const first = await agentMemory({ memory: 'project', config, cwd });
  const file_text = '---\nname: hosts\ndescription: Where things run\ntype: reference\n---\n\n- Staging is alpha.\n';
  await first.tools[0]?.run({ command: 'create', path: '/memories/hosts.md', file_text });
  const index = { command: 'create', path: '/memories/MEMORY.md', file_text: '- Where things run [hosts.md]\n' };
  await first.tools[0]?.run(index);
  await first.close();
  const again = await agentMemory({ memory: 'project', config, cwd });
  onTestFinished(() => again.close());
  expect(again.systemPrompt).toContain('Where things run [hosts.md]');
});

test('an agent that is told no memory gets none', async () => {
  const [config, cwd] = [await configOf(), tempDir()];
  const untold = library.agentMemory({ config, cwd } as Library.AgentMemoryOptions);
  await expect(untold).rejects.toMatchObject({ code: 'bad-input', remedy: expect.stringContaining('project') });
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
