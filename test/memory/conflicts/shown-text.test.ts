// What readers see of a memory in which git left conflicts, before a store has settled them.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { lookIntoLedger } from '../../../src/memory/ledger/ledger.ts';
import { openStore } from '../../../src/memory/open.ts';
import { catalogEntries, catalogTopics } from '../../../src/memory/recall/catalog.ts';
import { recall } from '../../../src/memory/recall/recall.ts';
import { searchMemory } from '../../../src/memory/recall/search.ts';
import { ReadOnlyStore } from '../../../src/memory/store/live-files.ts';
import { treeHash } from '../../support/mcp.ts';
import { dirWith, tempDir } from '../../support/temp.ts';

const clock = fixedClock('2026-11-21T02:00:00Z');
const LOG = 'logs/2026/11/2026-11-20.md';
const MARKER = /^(?:<{7}|={7}|>{7}|\|{7})/m;

function conflict(ours: string, theirs: string): string {
  return `<<<<<<< HEAD\n${ours}||||||| 1a2b3c\n- Of the base.\n=======\n${theirs}>>>>>>> origin/main\n`;
}

const FILES = {
  'MEMORY.md': `# Memory\n\n${conflict('- Hosts [hosts.md]\n', '- Where things run [hosts.md]\n- Mail [mail.md]\n')}`,
  'hosts.md': `---\nname: hosts\n${conflict('description: Hosts\n', 'description: Where things run\n')}type: project\n---\n\n${conflict('- Live is beta.\n', '- Mail is gamma.\n')}`,
  'mail.md': '---\nname: mail\ndescription: Mail\ntype: project\n---\n\n- Mail is gamma.\n',
  [LOG]: `# 2026-11-20\n\n${conflict('- Ours in the log.\n', '- Theirs in the log.\n')}`,
};

async function readAll(dir: string) {
  const ledger = lookIntoLedger(dir);
  const reader = new ReadOnlyStore(dir);
  const limits = { characters: 10_000, tokens: 10_000, isWithinTokens: () => true };
  const { text } = await recall({ dir, ledger, hasIndex: false, limits, now: clock.now() });
  const hits = ['hosts', 'live', 'gamma', 'base', 'log', 'HEAD', 'origin'].flatMap(
    (query) => searchMemory({ dir, ledger }, { query, limit: 100 }).hits,
  );
  const topics = catalogTopics(dir, ledger).map(({ name, type, description, lines }) => [
    name,
    type,
    description,
    lines,
  ]);
  const entries = catalogEntries(dir, [LOG], ledger).map((entry) => entry.text);
  const files = await Promise.all((await reader.list()).map(async (path) => (await reader.lookUp(path))?.text ?? ''));
  reader.close();
  ledger?.close();
  return { text, said: hits.map((hit) => hit.text), topics, entries, files };
}

test.each(['no ledger', 'the ledger of before the merge'])(
  'whoever only looks sees both sides of a conflict and no marker, with %s, and changes nothing',
  async (ledger) => {
    const dir = tempDir();
    if (ledger !== 'no ledger') {
      const store = await openStore(dir, { clock });
      await store.write({ actor: 'person' }, { path: 'hosts.md', text: '- Of the base.\n' });
      store.close();
    }
    const before = treeHash(dirWith(FILES, dir));
    const found = await readAll(dir);
    expect(treeHash(dir)).toBe(before);
    for (const text of [found.text, ...found.said, ...found.entries, ...found.files]) {
      expect(text).not.toMatch(MARKER);
      expect(text).not.toMatch(/HEAD|origin|Of the base/);
    }
    for (const said of ['Live is beta.', 'Mail is gamma.', 'Ours in the log.', 'Theirs in the log.']) {
      expect(found.text).toContain(said);
    }
    expect(found.topics).toContainEqual(['hosts', 'project', 'Where things run', 2]);
    expect(found.entries.toSorted()).toEqual(['Ours in the log.', 'Theirs in the log.']);
  },
);

test('what a reader sees of a topic and a log is what the store makes of them', async () => {
  const dir = dirWith(FILES);
  const reader = new ReadOnlyStore(dir);
  const shown = await Promise.all(['hosts.md', LOG].map(async (path) => (await reader.lookUp(path))?.text));
  reader.close();
  (await openStore(dir, { clock })).close();
  expect(['hosts.md', LOG].map((path) => readFileSync(join(dir, path), 'utf8'))).toEqual(shown);
});

test('the sum and size of a file with a conflict are those of the file itself', async () => {
  const dir = dirWith(FILES);
  const reader = new ReadOnlyStore(dir);
  expect(await reader.lookUp('hosts.md')).toMatchObject({ sizeBytes: Buffer.byteLength(FILES['hosts.md']) });
  reader.close();
});

test('a store that git keeps from resolving shows no marker either', async () => {
  const tree = tempDir();
  mkdirSync(join(tree, '.git'));
  writeFileSync(join(tree, '.git/HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(join(tree, '.git/index.lock'), '');
  const dir = dirWith(FILES, join(tree, '.claude/memory'));
  const store = await openStore(dir, { clock });
  const found = await store.lookUp('hosts.md');
  store.close();
  expect(readFileSync(join(dir, 'hosts.md'), 'utf8')).toBe(FILES['hosts.md']);
  expect(found?.text).toContain('- Live is beta.\n- Mail is gamma.\n');
  expect(found?.text).not.toMatch(MARKER);
});
