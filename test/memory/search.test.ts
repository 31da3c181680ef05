// Search on both engines: what is found, in which order, and what of a fact is told.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { addMemory } from '../../src/memory/memories.ts';
import { MemoryFiles } from '../../src/memory/memory-files.ts';
import { type SearchRequest, searchMemories } from '../../src/memory/search.ts';
import { inOneCase, readQuery, standingAt, withSingleSpaces } from '../../src/memory/search-words.ts';
import { appendEntries } from '../../src/memory/text/daily-log.ts';
import { lineId, newTopic } from '../../src/memory/text/topic.ts';
import { DAY, entryOf, LOG } from '../support/acts.ts';
import { ENGINE_TAKEN, inWorld, NOW, skipped, USER, type World } from '../support/memory-world.ts';

const ENTRY = `- 09:00 **feedback** Deploy by hand on Fridays.
  > please, deploy by hand on Fridays
  <!-- e_0123456789ab s=deploy t=1 at=2026-11-20T09:00:00Z by=human k=stated p= m=1 h=1 -->
`;
const MEMORY = {
  'MEMORY.md': '# Memory\n\n- Deploys of the orchard [deploys.md]\n- Ask Kim before you deploy anything.\n',
  'deploys.md':
    '---\nname: deploys\ndescription: Deploys of the orchard\ntags: [deploy]\n---\n\n- Staging is alpha.\n- Redeployment takes an hour.\n',
  'hosts.md': '# Hosts\n\nÉtienne runs alpha and beta.\n',
  'logs/2026/11/2026-11-20.md': `# 2026-11-20\n\n${ENTRY}`,
};
const NAMES = {
  'a.md':
    '- Deadlines slip.\n- Keep `pnpm-lockfile`.\n- Set `maxRetryCount` and `dns_retry_ms=200ms` on node24 with MySQLPool.\n',
};
const LETTERS = { 'a.md': '- हिन्दी\n- mañana\n' };
const HANDS = { 'a.md': '- by hand only\n- only by  hand\n- hand by\n- a handle\n- beforehand\n' };
const SIGNS = { 'signs.md': '- Commits begin with 🦊.\n- The rest is quoted: "so".\n- Never /** here.\n' };
const PIECES = { 'a.md': '- Prerelease deadlines slip.\n- See web/src/main.ts and prod.env.\n- 100%_sure\n' };
const UNSPACED = {
  'a.md': '- 本番環境は東京リージョンで動いている。\n- 大阪は予備。\n- הפריסה בבוקר\n- نشر المشروع\n',
  'b.md': '- เซิร์ฟเวอร์อยู่ที่กรุงเทพ\n',
};
const ORDER = {
  'a.md':
    '- The deadline of the spring release is set.\n- The release deadline is Friday.\n- Prerelease deadlines slip.\n',
};
const AWAY = {
  'archive/hosts.md': '---\nname: hosts\n---\n- Staging was beta.\n',
  'hosts.md': '- Staging is alpha.\n',
};
const GIVEN_UP = {
  'a-press.md': '# Press\n\n- Use `pnpm` instead of `cargo` for the press.\n',
  'mill.md': '# Mill\n\n- Use `cargo` for the mill, which was never moved to another tool.\n',
};
const RARE = {
  ...Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`t${n}.md`, '- what do we use for this part\n'])),
  'ports.md': '- Staging listens on 8080.\n',
};

/** A query of files, and where it is found, best first; `…`: and others behind. */
const FOUND: [string, Record<string, string>, string, string[]][] = [
  [
    'topics, entries and own lines of the index, once each; sources are no hits',
    MEMORY,
    'deploy',
    ['deploys.md:3', 'logs/2026/11/2026-11-20.md:3', 'MEMORY.md:4'],
  ],
  [
    'what has more of the words comes first, the name of its topic included',
    MEMORY,
    'staging deploys',
    ['deploys.md:7', '…'],
  ],
  ['more words before fewer', MEMORY, 'alpha beta', ['hosts.md:3', 'deploys.md:7']],
  ['case and the way accents are encoded make no difference', MEMORY, 'éTIENNE'.normalize('NFD'), ['hosts.md:3']],
  ['what is in no line is not found', MEMORY, 'quillfeather', []],
  ['a sign alone is looked for as it stands', SIGNS, ' 🦊 ', ['signs.md:1']],
  ['a quotation mark', SIGNS, '"', ['signs.md:2']],
  ['the beginning of a comment', SIGNS, '/**', ['signs.md:3']],
  ...['', '  ', '🦊🦊', '***'].map((query): (typeof FOUND)[0] => ['nothing', SIGNS, query, []]),
  ['a phrase must stand in the line, whatever the spaces', HANDS, '“by hand”', ['a.md:1', 'a.md:2']],
  ['a phrase with a word', HANDS, '"by hand" handle', ['a.md:1', 'a.md:2']],
  ...['hand*', 'hand'].map((query): (typeof FOUND)[0] => [
    'a word where it begins one',
    HANDS,
    query,
    ['a.md:1', 'a.md:2', 'a.md:3', 'a.md:4'],
  ]),
  ...['deadline', 'dead'].map((query): (typeof FOUND)[0] => ['a word begins one', NAMES, query, ['a.md:1']]),
  ...['lock', 'lockf'].map((query): (typeof FOUND)[0] => ['a word behind a sign', NAMES, query, ['a.md:2']]),
  ...['retry', 'count', 'ms', '24', 'sql', 'pool'].map((query): (typeof FOUND)[0] => [
    'the words of a name in code',
    NAMES,
    query,
    ['a.md:3'],
  ]),
  ...['line', 'file', 'etry', 'ysql', '00', 'ool'].map((query): (typeof FOUND)[0] => [
    'what only follows letters is none',
    NAMES,
    query,
    [],
  ]),
  ['letters that a mark is on, or that follow one, are of the word', LETTERS, 'न्दी ana', []],
  ['phrases are found inside of words, too', PIECES, '"lease deadline"', ['a.md:1']],
  ...['c/main', '.env', 'ain.ts'].map((query): (typeof FOUND)[0] => [
    'pieces with signs as they stand',
    PIECES,
    query,
    ['a.md:2'],
  ]),
  ['signs that SQL has a use for', PIECES, '"0%_s"', ['a.md:3']],
  ...['環境', '番環'].map((query): (typeof FOUND)[0] => [
    'where one word is written onto the next',
    UNSPACED,
    query,
    ['a.md:1'],
  ]),
  ['in Hebrew', UNSPACED, 'בוקר', ['a.md:3']],
  ['in Arabic', UNSPACED, 'مشروع', ['a.md:4']],
  ['a word of a script without spaces', UNSPACED, '東京', ['a.md:1']],
  ['a question in one', UNSPACED, '本番は東京のどこにある？', ['a.md:1', '…']],
  ['in Thai', UNSPACED, 'กรุงเทพ', ['b.md:1']],
  ['a rare word tells more than several that are everywhere', RARE, 'what do we use for staging', ['ports.md:1', '…']],
  ['words that stand together come before the same apart', ORDER, 'release deadline', ['a.md:2', 'a.md:1', 'a.md:3']],
  ['a phrase as words comes before one inside of others', ORDER, '"release deadline"', ['a.md:2', 'a.md:3']],
  ['what was put away comes behind the living', AWAY, 'staging', ['hosts.md:1', 'archive/hosts.md:4']],
  [
    'what a line names only as replaced comes behind every line that has it',
    GIVEN_UP,
    'cargo',
    ['mill.md:3', 'a-press.md:3'],
  ],
];

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (name: string, work: (here: Here) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(name, () =>
      inWorld(engine, (world) =>
        work({ ...world, memoryOf: (files) => memoryOf(world, files), search: (...of) => search(world, ...of) }),
      ),
    );

  it('what is found, and in which order', async ({ memoryOf, search }) => {
    const known = new Map<Record<string, string>, string>();
    for (const [what, files, query, expected] of FOUND) {
      const memory = known.get(files) ?? (await memoryOf(files));
      known.set(files, memory);
      const { hits, total, isAtLeast } = await search([memory], query);
      const found = hits.map(({ path, line }) => `${path}:${line}`);
      const shown = expected.at(-1) === '…' ? [...found.slice(0, expected.length - 1), '…'] : found;
      expect({ what, query, shown }).toEqual({ what, query, shown: expected });
      expect([total, isAtLeast]).toEqual([hits.length, false]);
    }
  });

  it('kinds and words are told; no more than the limit, behind an offset, of how many', async ({
    memoryOf,
    search,
  }) => {
    const memory = await memoryOf(MEMORY);
    const { hits, total } = await search([memory], 'deploy', { limit: 2 });
    expect(hits.map(({ kind, words }) => [kind, words])).toEqual([
      ['topic', 1],
      ['entry', 1],
    ]);
    expect(total).toBe(3);
    expect((await search([memory], 'deploy', { limit: 1, offset: 1 })).hits).toMatchObject([{ kind: 'entry' }]);
    const given = await search([await memoryOf(GIVEN_UP)], 'cargo');
    expect(given.hits.map(({ words }) => words)).toEqual([1, 0]);
  });

  it('it follows what is written, renamed and deleted', async ({ memories, memoryOf, search }) => {
    const memory = await memoryOf(MEMORY);
    const files = new MemoryFiles(memories, await memories.of(memory));
    const found = async (query: string) =>
      (await search([memory], query)).hits.map(({ path, line }) => `${path}:${line}`);
    await files.write(USER, { path: 'hosts.md', text: '- Staging is gamma.\n- Beta is gone.\n' });
    expect(await found('étienne')).toEqual([]);
    expect(await found('gamma beta')).toEqual(['hosts.md:1', 'hosts.md:2']);
    await files.rename(USER, { from: 'deploys.md', to: 'ships.md' });
    expect(await found('redeployment')).toEqual(['ships.md:8']);
    await files.rename(USER, { from: 'hosts.md', to: 'old/hosts.md' });
    expect(await found('gamma')).toEqual(['old/hosts.md:1']);
    await files.delete(USER, { path: 'ships.md' });
    expect(await found('redeployment')).toEqual([]);
  });

  it('a long line is found from its beginning to its end, and is cut around what was found', async ({
    memoryOf,
    search,
  }) => {
    const words = (word: string) => `${word} `.repeat(700);
    const memory = await memoryOf({ 'a.md': `- beginning ${words('alpha')}middle ${words('beta')}ending\n` });
    for (const query of ['beginning', 'middle', 'ending', '"alpha middle beta"']) {
      const { hits, total } = await search([memory], query);
      expect({ query, total, cut: hits[0]?.text }).toEqual({
        query,
        total: 1,
        cut: expect.stringContaining(query.replaceAll('"', '').split(' ')[0] ?? ''),
      });
      expect(hits[0]?.text.length).toBeLessThan(165);
    }
  });

  it('of more lines than are ranked the newest with all words are told, and that there are more', async ({
    memoryOf,
    search,
  }) => {
    const lines = Array.from({ length: 700 }, (_, n) => `- Line ${n} has ${n % 2 ? 'canary' : 'zone'} and deploys\n`);
    const memory = await memoryOf({ 'a.md': lines.join(''), 'b.md': '- A branch was cut.\n- ran\n' });
    const { hits, total, isAtLeast } = await search([memory], 'canary', { limit: 5 });
    expect([hits.length, total, isAtLeast]).toEqual([5, 200, true]);
    const both = await search([memory], 'canary deploys', { limit: 5 });
    expect(both.hits.every(({ words }) => words === 2)).toBe(true);
    expect(both.isAtLeast).toBe(true);
    // What is part of other words everywhere is found where it is one.
    const parts = Array.from({ length: 700 }, (_, n) => `- Branch ${n} is granted\n`);
    const other = await memoryOf({ 'a.md': '- It ran.\n', 'z.md': parts.join('') });
    expect((await search([other], 'ran')).hits).toMatchObject([{ path: 'a.md', line: 1 }]);
  });

  it('several memories are searched as one, each hit says in which it is, and others are left out', async ({
    memoryOf,
    search,
  }) => {
    const [near, far] = [
      await memoryOf({ 'a.md': '- The mill grinds rye.\n' }),
      await memoryOf({ 'b.md': '- The mill is shut.\n' }),
    ];
    await memoryOf({ 'c.md': '- The mill burns.\n' });
    const { hits, total } = await search([near, far], 'mill shut');
    expect(hits.map(({ memory, path }) => [memory, path])).toEqual([
      [far, 'b.md'],
      [near, 'a.md'],
    ]);
    expect(total).toBe(2);
  });

  it('what one of many memories holds is paged through as if it were the only one', async ({ memoryOf, search }) => {
    const others = await Promise.all(Array.from({ length: 20 }, () => memoryOf({ 'a.md': '- Nothing of it.\n' })));
    const lines = Array.from({ length: 120 }, (_, n) => `- Mill ${n} grinds rye.\n`);
    const memory = await memoryOf({ 'mills.md': lines.join('') });
    const { total, isAtLeast } = await search([...others, memory], 'mill');
    expect({ total, isAtLeast }).toEqual({ total: 120, isAtLeast: false });
  });

  it('an entry and the line that rests on it are one hit: the line; entries of one line are one', async ({
    db,
    memoryOf,
    search,
  }) => {
    const text = 'Deploy by hand on Fridays.';
    const said = [
      entryOf('Deploys are by hand on Fridays.', { turn: 't1' }),
      entryOf('On Fridays deploy by hand, please.', { turn: 't2' }),
    ];
    const memory = await memoryOf({
      [LOG]: appendEntries(null, said, { day: DAY, zone: 'UTC' }),
      'deploys.md': newTopic({ name: 'deploys', description: 'How we ship', type: 'feedback', lines: [text] }),
    });
    const file = (await db.get<{ id: string }>("select id from file where path = 'deploys.md'"))?.id ?? '';
    for (const { id } of said)
      await db.run(
        'insert into rests (memory, file, line, source) values (?, ?, ?, ?)',
        memory,
        file,
        lineId(text),
        id,
      );
    const found = async (query: string) => {
      const { hits, total } = await search([memory], query);
      return { paths: hits.map(({ path }) => path), total };
    };
    expect(await found('Fridays')).toEqual({ paths: ['deploys.md'], total: 1 });
    // What only the entries say is found in one of them.
    expect(await found('please')).toEqual({ paths: [LOG], total: 1 });
  });

  it('any query over any text ends, and every hit holds one of its words', ({ memoryOf, search }) =>
    fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme' }),
        fc.string({ unit: 'grapheme', maxLength: 400 }),
        async (query, text) => {
          const memory = await memoryOf({ 'a.md': text });
          for (const { line, words } of (await search([memory], query)).hits) {
            const held = withSingleSpaces(inOneCase(text.split(/\r?\n/)[line - 1] ?? ''));
            expect(words > 0 && readQuery(query).some((term) => held.includes(term.text))).toBe(true);
          }
        },
      ),
      { numRuns: 40 },
    ));
});

interface Here extends World {
  memoryOf(files: Record<string, string>): Promise<string>;
  search(memories: string[], query: string, more?: Partial<SearchRequest>): ReturnType<typeof searchMemories>;
}

/** A memory that holds these files. */
async function memoryOf({ db, memories }: World, files: Record<string, string>): Promise<string> {
  const row = await memories.of(await addMemory(db, { scope: 'store', name: 'x' }, NOW));
  const made = Object.entries(files).map(([path, text]) => ({ path, make: () => text }));
  await new MemoryFiles(memories, row, { secrets: 'keep' }).changeAll(USER, made);
  return row.id;
}

function search({ db }: World, memories: string[], query: string, more: Partial<SearchRequest> = {}) {
  return searchMemories(db, memories, { query, limit: 20, ...more });
}

test('what stands out of a found text is what it was found by', () => {
  const shown = (text: string, query: string) => standingAt(text, query).map(({ from, to }) => text.slice(from, to));
  expect(shown('Deadlines: a line, connectLine', 'line dead')).toEqual(['Dead', 'line', 'Line']);
  expect(shown('a.b of a', 'a.b a')).toEqual(['a.b', 'a']);
  expect(shown('nothing', '')).toEqual([]);
});
