import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../../src/base/time.ts';
import { refreshTopics } from '../../../src/memory/dream/topic-table.ts';
import { addSupport, writeEntry } from '../../../src/memory/ledger/entries.ts';
import { openStore } from '../../../src/memory/open.ts';
import { catalogTopics } from '../../../src/memory/recall/catalog.ts';
import { readQuery, searchMemories, searchMemory, standingAt } from '../../../src/memory/recall/search.ts';
import { inOneCase, KeptTexts, withSingleSpaces } from '../../../src/memory/recall/search-texts.ts';
import { appendEntries, entryId, logPath } from '../../../src/memory/text/daily-log.ts';
import { lineId, newTopic } from '../../../src/memory/text/topic.ts';
import type { Entry } from '../../../src/memory/types.ts';
import { dirWith, tempDir } from '../../support/temp.ts';

const ENTRY = `- 09:00 **feedback** Deploy by hand on Fridays.
  > please, deploy by hand on Fridays
  <!-- e_0123456789ab s=deploy t=1 at=2026-11-20T09:00:00Z by=human k=stated p= m=1 h=1 -->
`;
const DIR = dirWith({
  'MEMORY.md': '# Memory\n\n- Deploys of the orchard [deploys.md]\n- Ask Kim before you deploy anything.\n',
  'deploys.md':
    '---\nname: deploys\ndescription: Deploys of the orchard\ntags: [deploy]\n---\n\n- Staging is alpha.\n- Redeployment takes an hour.\n',
  'hosts.md': '# Hosts\n\nÉtienne runs alpha and beta.\n',
  'index/project.md': '# Project\n\n- Deploys of the orchard [deploys.md]\n',
  'logs/2026/11/2026-11-20.md': `# 2026-11-20\n\n${ENTRY}`,
  '.nocturne/dreams/2026-11-20.md': 'deploy\n',
});

const find = (query: string, limit = 20) =>
  searchMemory({ dir: DIR, ledger: null }, { query, limit }).hits.map(({ path, line }) => `${path}:${line}`);

test('a word is found in topics, entries and own lines of the index, once each; sources and copies are no hits', () => {
  expect(find('deploy')).toEqual(['deploys.md:3', 'logs/2026/11/2026-11-20.md:3', 'MEMORY.md:4']);
});

test('what has more of the words comes first, the name of its topic included', () => {
  expect(find('staging deploys')[0]).toBe('deploys.md:7');
  expect(find('alpha beta')).toEqual(['hosts.md:3', 'deploys.md:7']);
});

test('case and the way accents are encoded make no difference', () => {
  expect(find('étienne'.normalize('NFD'))).toEqual(['hosts.md:3']);
  expect(find('ALPHA')).toHaveLength(2);
});

test('a query without a letter or digit is looked for as it stands', () => {
  const dir = dirWith({ 'signs.md': '- Commits begin with 🦊.\n- The rest is quoted: "so".\n- Never /** here.\n' });
  const found = (query: string) =>
    searchMemory({ dir, ledger: null }, { query, limit: 9 }).hits.map(({ line, words }) => [line, words]);
  expect(found(' 🦊 ')).toEqual([[1, 1]]);
  expect(found('"')).toEqual([[2, 1]]);
  expect(found('/**')).toEqual([[3, 1]]);
  for (const query of ['', '  ', '🦊🦊', '***']) expect(found(query)).toEqual([]);
});

test('no more than the limit are given, and how many there are is told', () => {
  expect(searchMemory({ dir: DIR, ledger: null }, { query: 'deploy', limit: 1 })).toMatchObject({
    hits: { length: 1 },
    total: 3,
  });
});

test('any query over any text ends, and every hit holds one of its words', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme', maxLength: 400 }), (query, text) => {
      const dir = dirWith({ 'a.md': text });
      for (const { line, words } of searchMemory({ dir, ledger: null }, { query, limit: 5 }).hits) {
        const held = withSingleSpaces(inOneCase(text.split('\n')[line - 1] ?? ''));
        expect(words > 0 && readQuery(query).some((term) => held.includes(term.text))).toBe(true);
      }
    }),
    { numRuns: 50 },
  );
});

const found = (files: Record<string, string>, query: string, more: object = {}) =>
  searchMemory({ dir: dirWith(files), ledger: null }, { query, limit: 20, ...more }).hits;

test('a phrase must stand in the line, whatever the spaces; a word is found where it begins one, with a star or without', () => {
  const files = { 'a.md': '- by hand only\n- only by  hand\n- hand by\n- a handle\n- beforehand\n' };
  expect(found(files, '“by hand”').map(({ line }) => line)).toEqual([1, 2]);
  expect(found(files, '"by hand" handle').map(({ line }) => line)).toEqual([1, 2]);
  for (const query of ['hand*', 'hand']) expect(found(files, query).map(({ line }) => line)).toEqual([1, 2, 3, 4]);
});

test('the words of a name in code each begin one; what only follows letters does not', () => {
  const files = {
    'a.md':
      '- Deadlines slip.\n- Keep `pnpm-lockfile`.\n- Set `maxRetryCount` and `dns_retry_ms=200ms` on node24 with MySQLPool.\n',
  };
  const lines = (query: string) => found(files, query).map(({ line }) => line);
  for (const query of ['deadline', 'dead']) expect(lines(query)).toEqual([1]);
  for (const query of ['lock', 'lockf']) expect(lines(query)).toEqual([2]);
  for (const query of ['retry', 'count', 'ms', '24', 'sql', 'pool']) expect(lines(query)).toEqual([3]);
  for (const query of ['line', 'file', 'etry', 'ysql', '00', 'ool']) expect(lines(query)).toEqual([]);
  // Letters that a mark is on, or that follow one, are of the word.
  expect(found({ 'a.md': '- हिन्दी\n- mañana\n' }, 'न्दी ana')).toEqual([]);
});

test('phrases and pieces with signs are found as they stand, also inside of words', () => {
  const files = { 'a.md': '- Prerelease deadlines slip.\n- See web/src/main.ts and prod.env.\n' };
  const lines = (query: string) => found(files, query).map(({ line }) => line);
  expect(lines('"lease deadline"')).toEqual([1]);
  for (const query of ['c/main', '.env', 'ain.ts']) expect(lines(query)).toEqual([2]);
});

test('where one word is written onto the next, it is found inside', () => {
  const files = { 'a.md': '- 本番環境は東京リージョンで動いている。\n- הפריסה בבוקר\n- نشر المشروع\n' };
  const lines = (query: string) => found(files, query).map(({ line }) => line);
  for (const query of ['環境', '番環']) expect(lines(query)).toEqual([1]);
  expect(lines('בוקר')).toEqual([2]);
  expect(lines('مشروع')).toEqual([3]);
});

test('what stands out of a found text is what it was found by', () => {
  const shown = (text: string, query: string) => standingAt(text, query).map(({ from, to }) => text.slice(from, to));
  expect(shown('Deadlines: a line, connectLine', 'line dead')).toEqual(['Dead', 'line', 'Line']);
  expect(shown('a.b of a', 'a.b a')).toEqual(['a.b', 'a']);
  expect(shown('nothing', '')).toEqual([]);
});

test('a rare word tells more than several that are everywhere', () => {
  const files = Object.fromEntries(
    Array.from({ length: 9 }, (_, n) => [`t${n}.md`, '- what do we use for this part\n']),
  );
  const hits = found({ ...files, 'ports.md': '- Staging listens on 8080.\n' }, 'what do we use for staging');
  expect(hits[0]).toMatchObject({ path: 'ports.md', line: 1, words: 1 });
});

test('a question in a script without spaces finds the words that it is made of', () => {
  const files = {
    'a.md': '- 本番環境は東京リージョンで動いている。\n- 大阪は予備。\n',
    'b.md': '- เซิร์ฟเวอร์อยู่ที่กรุงเทพ\n',
  };
  expect(found(files, '東京')[0]).toMatchObject({ path: 'a.md', line: 1 });
  expect(found(files, '本番は東京のどこにある？')[0]).toMatchObject({ path: 'a.md', line: 1 });
  expect(found(files, 'กรุงเทพ')[0]).toMatchObject({ path: 'b.md', line: 1 });
});

test('what was put away is found behind the living, and named so; a search may keep to a directory, and go on', () => {
  const files = {
    'archive/hosts.md': '---\nname: hosts\n---\n- Staging was beta.\n',
    'hosts.md': '- Staging is alpha.\n',
  };
  expect(found(files, 'staging').map(({ kind, path, line }) => [kind, path, line])).toEqual([
    ['topic', 'hosts.md', 1],
    ['archive', 'archive/hosts.md', 4],
  ]);
  expect(found(files, 'staging', { under: 'archive/' })).toMatchObject([{ path: 'archive/hosts.md' }]);
  expect(found(files, 'staging', { limit: 1, offset: 1 })).toMatchObject([{ path: 'archive/hosts.md' }]);
});

const clock = fixedClock('2026-11-21T02:00:00Z');
const LONG_AGO = new Date('2026-11-01T00:00:00Z');
/** Whose files were written long ago. */
const LATER = { now: () => new Date(Date.now() + 3_600_000) };

/** A directory whose files the ledger has seen at rest. */
async function seenMemory(files: Record<string, string>) {
  const dir = dirWith(files);
  for (const path of Object.keys(files)) utimesSync(join(dir, path), LONG_AGO, LONG_AGO);
  const store = await openStore(dir, { clock });
  onTestFinished(() => store.close());
  return store;
}

test('with a ledger the same is found as without, whatever a person did to the files since', async () => {
  // Of one size, so that only the times tell an edit.
  const word = fc.constantFrom('alpha', 'gamma', 'delta', 'sigma');
  const body = fc.array(word, { minLength: 2, maxLength: 2 }).map((words) => `- ${words.join(' ')}\n`);
  const name = fc.constantFrom('a.md', 'b.md', 'c.md', 'archive/d.md');
  const edits = fc.array(fc.tuple(name, fc.option(body)), { maxLength: 4 });
  const kept = new KeptTexts({ clock: LATER });
  await fc.assert(
    fc.asyncProperty(fc.dictionary(name, body), edits, word, async (files, changes, query) => {
      const { dir, ledger } = await seenMemory(files);
      searchMemories([{ dir, ledger }], { query, limit: 10 }, kept);
      for (const [path, text] of changes) {
        if (text === null) rmSync(join(dir, path), { force: true });
        else mkdirSync(dirname(join(dir, path)), { recursive: true });
        if (text !== null) writeFileSync(join(dir, path), text);
        // The time of the last change is not enough to tell it either.
        if (text !== null) utimesSync(join(dir, path), LONG_AGO, LONG_AGO);
      }
      const request = { query, limit: 10 };
      const asItStands = searchMemory({ dir, ledger: null }, request);
      expect(searchMemory({ dir, ledger }, request)).toEqual(asItStands);
      const { hits, ...rest } = searchMemories([{ dir, ledger }], request, kept);
      expect({ hits: hits.map(({ dir: _, ...hit }) => hit), ...rest }).toEqual(asItStands);
      expect(catalogTopics(dir, ledger)).toEqual(catalogTopics(dir, null));
    }),
    { numRuns: 25 },
  );
});

test('a file that looks as the ledger knows it is not opened: neither for a search nor for a list', async () => {
  const { dir, ledger } = await seenMemory({ 'a.md': '---\ntype: user\n---\n- alpha\n' });
  refreshTopics(ledger);
  ledger.run('update version set content = ?', Buffer.from('- omega'));
  ledger.run("update topic set description = 'of the ledger'");
  expect(searchMemory({ dir, ledger }, { query: 'omega', limit: 1 }).total).toBe(1);
  expect(catalogTopics(dir, ledger)).toMatchObject([{ name: 'a', type: 'user', description: 'of the ledger' }]);
  // Heads that a crash left ahead of the files are not believed.
  ledger.run('update "commit" set applied = 0');
  expect(searchMemory({ dir, ledger }, { query: 'alpha', limit: 1 }).total).toBe(1);
});

test('who searches again has what was read, unless it changed a moment ago or there is no room for it', async () => {
  const { dir, ledger } = await seenMemory({ 'a.md': '- alpha\n' });
  const kinds = [new KeptTexts({ clock: LATER }), new KeptTexts(), new KeptTexts({ clock: LATER, mostBytes: 100 })];
  const found = (query: string) =>
    kinds.map((kept) => searchMemories([{ dir, ledger }], { query, limit: 1 }, kept).total);
  expect(found('alpha')).toEqual([1, 1, 1]);
  ledger.run('update version set content = ?', Buffer.from('- omega'));
  expect(found('alpha')).toEqual([1, 0, 0]);
  expect(found('omega')).toEqual([0, 1, 1]);
});

test('what a line names only as replaced is found behind every line that has it', () => {
  const dir = dirWith({
    'a-press.md': '# Press\n\n- Use `pnpm` instead of `cargo` for the press.\n',
    'mill.md': '# Mill\n\n- Use `cargo` for the mill, which was never moved to another tool.\n',
  });
  const { hits } = searchMemory({ dir, ledger: null }, { query: 'cargo', limit: 5 });
  expect(hits.map(({ path, words }) => [path, words])).toEqual([
    ['mill.md', 1],
    ['a-press.md', 0],
  ]);
});

test('words that stand together as asked come before the same words apart, a phrase as words before one inside of others', () => {
  const files = {
    'a.md':
      '- The deadline of the spring release is set.\n- The release deadline is Friday.\n- Prerelease deadlines slip.\n',
  };
  expect(found(files, 'release deadline').map(({ line }) => line)).toEqual([2, 1, 3]);
  expect(found(files, '"release deadline"').map(({ line }) => line)).toEqual([2, 3]);
});

test('a word that is nowhere is asked about by the nearest that is somewhere; a phrase by its words', () => {
  const files = { 'ports.md': '- Staging listens on port 8080.\n' };
  const meant = (query: string) => searchMemory({ dir: dirWith(files), ledger: null }, { query, limit: 5 }).meant;
  expect(meant('stagign')).toBe('staging');
  expect(meant('staging prot')).toBe('staging port');
  expect(meant('"port staging"')).toBe('port staging');
  expect(meant('staging port')).toBeUndefined();
  expect(meant('kubernetes')).toBeUndefined();
});

test('several directories are searched as one, and each hit says in which it is', () => {
  const [near, far] = [dirWith({ 'a.md': '- The mill grinds rye.\n' }), dirWith({ 'b.md': '- The mill is shut.\n' })];
  const places = [near, far].map((dir) => ({ dir, ledger: null }));
  const { hits, total } = searchMemories(places, { query: 'mill shut', limit: 5 });
  expect(hits.map(({ dir, path }) => [dir, path])).toEqual([
    [far, 'b.md'],
    [near, 'a.md'],
  ]);
  expect(total).toBe(2);
});

test('an entry and the line of a topic that rests on it are one hit: the line; entries on which one line rests are one', async () => {
  const store = await openStore(tempDir(), { clock });
  onTestFinished(() => store.close());
  const text = 'Deploy by hand on Fridays.';
  const said = ['Deploys are by hand on Fridays.', 'On Fridays deploy by hand, please.'].map((text, at): Entry => {
    const evidence = [{ message: `m${at}`, quote: text }];
    const common = { session: 's', turn: 't', prompt: 'p', by: 'human', strength: 'stated', type: 'feedback' } as const;
    const day = '2026-11-20';
    return {
      ...common,
      id: entryId({ message: `m${at}`, quote: text, text }),
      text,
      evidence,
      at: `${day}T09:0${at}:00Z`,
      day,
    };
  });
  await store.commit({ actor: 'job:j' }, () => ({
    files: [
      { path: logPath('2026-11-20'), change: (now) => appendEntries(now, said, { day: '2026-11-20', zone: 'UTC' }) },
      {
        path: 'deploys.md',
        change: () => newTopic({ name: 'deploys', description: 'How we ship', type: 'feedback', lines: [text] }),
      },
    ],
    rows(transaction) {
      for (const entry of said) {
        writeEntry(transaction, { ...entry, state: 'distilled', job: 'j' });
        addSupport(transaction, { path: 'deploys.md', line: lineId(text), entry: entry.id });
      }
    },
  }));
  const search = (query: string) => {
    const { hits, total } = searchMemory(store, { query, limit: 5 });
    return { paths: hits.map(({ path }) => path), total };
  };
  expect(search('Fridays')).toEqual({ paths: ['deploys.md'], total: 1 });
  // What only the entries say is found in one of them.
  expect(search('please')).toEqual({ paths: [logPath('2026-11-20')], total: 1 });
});
