import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, expect, test } from 'vitest';
import { memoryViewTool, routeTools } from '../../src/agent/tools.ts';
import { fixedClock } from '../../src/base/time.ts';
import { openDatabase } from '../../src/db/open-database.ts';
import { Memories } from '../../src/memory/memories.ts';
import { MemoryFiles } from '../../src/memory/memory-files.ts';
import { viewMemory } from '../../src/memory/memory-views.ts';
import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import { type MemoryToolOptions, memoryTool } from '../../src/tools/memory-tool.ts';
import { type MessagesServer, says, startMessagesServer, toolResults } from '../support/messages-server.ts';
import { ownDatabase } from '../support/own-database.ts';
import { dirWith, ON_POSTGRES, tempDir } from '../support/temp.ts';

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close();
});

type Subject = Awaited<ReturnType<typeof storeWith>>;

/** A memory over these files, which stood there before it was opened. */
async function storeWith(of: Record<string, string | Buffer> = {}) {
  const dir = dirWith(of);
  const home = tempDir();
  const database = ON_POSTGRES ? await ownDatabase() : undefined;
  const db = await openDatabase({ home, url: database?.url });
  const memories = new Memories({ db, home, clock: fixedClock('2026-11-20T10:00:00Z') });
  open.push({
    async close() {
      await memories.close();
      await db.close();
      await database?.drop();
    },
  });
  const row = await memories.ofDirectory(dir, { scope: 'project', name: 'project' });
  const files = new MemoryFiles(memories, row);
  const infos = async () => (await files.list()).items.flatMap((item) => ('path' in item ? [item] : []));
  return {
    dir: row.dir as string,
    tool: (options: MemoryToolOptions) => memoryTool(files, options),
    view: (path: string, range?: number[]) => viewMemory(files, { path, range }),
    list: async () => (await infos()).map(({ path }) => path),
    idAt: async (path: string) => (await infos()).find((item) => item.path === path)?.id,
    async commits() {
      const by = `select distinct c.n, v.actor from version v join change c on c.id = v.change
        where v.memory = ? and v.actor_kind <> 'external' order by c.n`;
      return (await db.all<{ actor: string }>(by, row.id)).map(({ actor }) => actor);
    },
    operations: async (path: string) => (await files.versions({ path })).items.map(({ op }) => op),
  };
}

const content = (store: Subject, path: string) => readFileSync(join(store.dir, path), 'utf8');

/** What the model reads for each of the calls that it makes in one reply, through the SDK's own tool runner. */
async function callTogether(store: Subject, inputs: unknown[], options: MemoryToolOptions = { mode: 'read-write' }) {
  const server: MessagesServer = await startMessagesServer([
    { tools: inputs.map((input) => ({ name: 'memory', input })) },
    says('Done.'),
  ]);
  open.push(server);
  const client = new Anthropic({ ...server.access, maxRetries: 0 });
  await client.beta.messages.toolRunner({
    model: 'test-model',
    max_tokens: 1_000,
    thread: false,
    messages: [{ role: 'user', content: 'Go.' }],
    tools: [store.tool(options)],
  });
  return toolResults(server.requests[1]).map((block) => ({
    text: block.content as string,
    isError: block.is_error === true,
  }));
}

async function call(store: Subject, input: unknown, options?: MemoryToolOptions) {
  const [reply] = await callTogether(store, [input], options);
  return reply as { text: string; isError: boolean };
}

const at = (path: string) => `/memories${path}`;
const view = (path: string, view_range?: unknown) => ({ command: 'view', path: at(path), view_range });
const create = (path: string, file_text: unknown = 'x') => ({ command: 'create', path: at(path), file_text });
const replace = (old_str: string, new_str?: string, path = '/a.md') => ({
  ...{ command: 'str_replace', path: at(path), old_str, new_str },
});
const insert = (insert_line: number, insert_text: string, path = '/a.md') => ({
  ...{ command: 'insert', path: at(path), insert_line, insert_text },
});
const remove = (path: string) => ({ command: 'delete', path: at(path) });
const rename = (from: string, to: string) => ({ command: 'rename', old_path: at(from), new_path: at(to) });

test('four parallel str_replace on one file all survive', async () => {
  const store = await storeWith({ 'a.md': 'one\ntwo\nthree\nfour\n' });
  const words = ['one', 'two', 'three', 'four'];
  const replies = await callTogether(
    store,
    words.map((word) => replace(word, word.toUpperCase())),
  );
  expect(replies.map((reply) => reply.isError)).toEqual([false, false, false, false]);
  expect(content(store, 'a.md')).toBe('ONE\nTWO\nTHREE\nFOUR\n');
  expect(await store.commits()).toEqual(Array(4).fill('memory'));
});

test('of two parallel creates of one file one wins and the other is told', async () => {
  const store = await storeWith();
  expect(await callTogether(store, [create('/a.md', 'first\n'), create('/a.md', 'second\n')])).toEqual([
    { text: 'File created successfully at: /memories/a.md', isError: false },
    { text: 'Error: File /memories/a.md already exists', isError: true },
  ]);
  expect(content(store, 'a.md')).toBe('first\n');
});

test('the request carries the memory tool as the API knows it, and the store the actor it was given', async () => {
  const store = await storeWith();
  const options = { mode: 'read-write', actor: 'main' } as MemoryToolOptions;
  expect(store.tool(options)).toMatchObject({ type: 'memory_20250818', name: 'memory' });
  await call(store, create('/a.md'), options);
  expect(await store.commits()).toEqual(['main']);
});

test('the extractor sees through its own tool what main agents see', async () => {
  const store = await storeWith({ 'logs/2026/11/2026-11-20.md': 'one\ntwo\n' });
  const callTool = routeTools([memoryViewTool((path, range) => store.view(path, range))]);
  for (const input of [view(''), view('/logs/2026/11/2026-11-20.md', [2, -1]), view('/no.md')])
    expect(await callTool('memory', input)).toEqual(await call(store, input));
});

test('view lists two levels with sizes, names what lies deeper, and hides what is hidden', async () => {
  const store = await storeWith({
    'MEMORY.md': 'x'.repeat(1_536),
    'notes.txt': '',
    'logs/2026/11/2026-11-20.md': 'y'.repeat(512),
    'logs/2026/11/2026-11-21.md': 'y'.repeat(512),
    'node_modules/a/index.js': '1',
    '.git/config': 'secret',
  });
  symlinkSync('/etc', join(store.dir, 'etc'));
  mkdirSync(join(store.dir, 'empty'));
  const [all, month, empty] = await callTogether(store, [view(''), view('/logs/2026/11/'), view('/empty')]);
  expect(all?.text.split('\n')).toEqual([
    "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
    '2.5K\t/memories',
    '1.5K\t/memories/MEMORY.md',
    '1K\t/memories/logs/',
    '1K\t/memories/logs/2026/',
    'Directories with files deeper than that (view one to list its files):',
    '1K\t/memories/logs/2026/11/ (2 files)',
  ]);
  expect(month?.text.split('\n').slice(1)).toEqual([
    '1K\t/memories/logs/2026/11',
    '512B\t/memories/logs/2026/11/2026-11-20.md',
    '512B\t/memories/logs/2026/11/2026-11-21.md',
  ]);
  // Where memory is rows a directory is what is in it.
  expect(empty?.text).toContain('/memories/empty does not exist');
});

test('view shows a file with line numbers, whole or a range of it, and says that an empty one is there', async () => {
  const store = await storeWith({ 'a.md': 'one\r\ntwo\r\nthree', 'empty.md': '' });
  const header = "Here's the content of /memories/a.md with line numbers:";
  for (const [range, lines] of [
    [undefined, '     1\tone\n     2\ttwo\n     3\tthree'],
    [null, '     1\tone\n     2\ttwo\n     3\tthree'],
    [[2, -1], '     2\ttwo\n     3\tthree'],
    [[2, 2], '     2\ttwo'],
    [[3, 99], '     3\tthree'],
  ])
    expect((await call(store, view('/a.md', range))).text).toBe(`${header}\n${lines}`);
  expect((await call(store, view('/empty.md'))).text).toContain('(The file is empty.)');
});

test('view shows a long file, and a listing of many files, in pages that together are all of it', async () => {
  const text = Array.from({ length: 2_000 }, (_, n) => `line ${n} ${'x'.repeat(30)}`);
  const topics = Array.from({ length: 1_000 }, (_, n) => [`d/topic-${n}.md`, 'x']);
  const store = await storeWith({ 'a.md': `${text.join('\n')}\n`, ...Object.fromEntries(topics) });
  const pagesOf = async (path: string) => {
    const pages: string[] = [];
    for (let range: unknown; pages.length < 10; ) {
      const { text } = await call(store, view(path, range));
      expect(text.length).toBeLessThanOrEqual(16_000);
      pages.push(text);
      const rest = /view_range \[(\d+), -1\] shows/.exec(text);
      if (!rest) break;
      range = [Number(rest[1]), -1];
    }
    return pages.join('\n');
  };
  expect([...(await pagesOf('/a.md')).matchAll(/^ *\d+\t(.*)$/gm)].map(([, line]) => line)).toEqual(text);
  expect(new Set((await pagesOf('/d')).match(/topic-\d+\.md/g)).size).toBe(1_000);
});

test('view cuts a line that is too long for a page and shows it whole when it is asked for alone', async () => {
  const store = await storeWith({ 'a.md': `short\n${'😀'.repeat(10_000)}\nlast\n` });
  const asked = [view('/a.md'), view('/a.md', [2, -1]), view('/a.md', [2, 2])];
  const [first, cut = '', whole] = (await callTogether(store, asked)).map(({ text }) => text);
  expect(first).toContain('[Lines 1 to 1 of 3 are shown; view_range [2, -1] shows the rest.]');
  expect([cut.length <= 16_000, cut.isWellFormed()]).toEqual([true, true]);
  expect(cut).toContain('Line 2 is cut here; view_range [2, 2] shows it whole.');
  expect(cut).toContain('view_range [3, -1] shows the rest');
  expect(whole).toContain('😀'.repeat(10_000));
});

test('create makes a file with its directories, of 102,400 bytes and not one more', async () => {
  const store = await storeWith();
  const text = 'File created successfully at: /memories/a/b/c.txt';
  expect(await call(store, create('/a/b/c.txt', 'no end'))).toEqual({ text, isError: false });
  expect(content(store, 'a/b/c.txt')).toBe('no end');
  expect((await call(store, create('/a.md', 'é'.repeat(51_200)))).isError).toBe(false);
  const reply = await call(store, create('/b.md', `${'é'.repeat(51_200)}x`));
  expect(reply).toMatchObject({ isError: true, text: expect.stringContaining('102401 bytes; a memory') });
  expect(await store.list()).not.toContain('b.md');
});

test('str_replace shows the change among its neighbours; where new_str is left out it deletes', async () => {
  const store = await storeWith({ 'a.md': '1\n2\n3\n4\n5\n6\n7\n', 'b.md': 'keep\ngo\nkeep too\n' });
  expect((await call(store, replace('4', 'four\nand more'))).text).toBe(
    'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n' +
      '     2\t2\n     3\t3\n     4\tfour\n     5\tand more\n     6\t5\n     7\t6',
  );
  expect((await call(store, replace('go\n', undefined, '/b.md'))).isError).toBe(false);
  expect(content(store, 'b.md')).toBe('keep\nkeep too\n');
  expect((await call(store, replace('keep\nkeep too\n', undefined, '/b.md'))).text).toContain('The file is empty now.');
  expect(content(store, 'b.md')).toBe('');
});

test.each<[string, string, object, string]>([
  ['as it is, not as a pattern', 'a.c (x|y) $1\n', replace('(x|y) $1', "$& $1 $` $'"), "a.c $& $1 $` $'\n"],
  ['of lines of a CRLF file', 'one\r\ntwo\r\nfour', replace('two\nfour', 'TWO\nFOUR'), 'one\r\nTWO\r\nFOUR'],
  ['behind the last line of a CRLF file', 'one\r\ntwo', insert(2, 'three\nfour\n'), 'one\r\ntwo\r\nthree\r\nfour'],
  ['before the first line', 'one\ntwo\n', insert(0, 'new\n'), 'new\none\ntwo\n'],
  ['behind a line', 'one\ntwo\n', insert(1, 'new'), 'one\nnew\ntwo\n'],
  ['behind the last', 'one\ntwo\n', insert(2, 'new\nmore\n'), 'one\ntwo\nnew\nmore\n'],
  ['that is empty', 'one\ntwo\n', insert(1, ''), 'one\n\ntwo\n'],
  ['into an empty file', '', insert(0, 'x'), 'x\n'],
])('a text is taken %s', async (_, before, input, after) => {
  const store = await storeWith({ 'a.md': before });
  expect(await call(store, input)).toMatchObject({ isError: false, text: expect.stringContaining('has been edited') });
  expect(content(store, 'a.md')).toBe(after);
});

test('str_replace answers shortly and at once where there is no end of matches', async () => {
  const store = await storeWith({ 'a.md': 'a\n'.repeat(50_000), 'b.md': 'b'.repeat(100_000) });
  expect((await call(store, replace('a', 'b'))).text.length).toBeLessThan(1_000);
  expect((await call(store, replace('b'.repeat(50_000), undefined, '/b.md'))).text.length).toBeLessThan(2_000);
});

test('delete takes away a file, or a directory with all in it in one commit; versions keep it', async () => {
  const store = await storeWith({ 'a.md': 'a', 'd/b.md': 'b', 'd/e/c.md': 'c' });
  const text = 'Successfully deleted /memories/a.md';
  expect(await call(store, remove('/a.md'))).toEqual({ text, isError: false });
  expect((await call(store, remove('/d/'))).text).toBe('Successfully deleted /memories/d/');
  expect((await call(store, view(''))).text.split('\n').slice(1)).toEqual(['0B\t/memories']);
  expect(await store.commits()).toHaveLength(2);
  expect(await store.operations('d/e/c.md')).toContain('created');
});

test('delete leaves what it cannot see, and says so; of a directory with what is no text nothing goes', async () => {
  const picture = Buffer.from([0x89, 0x50, 0xff]);
  const store = await storeWith({ 'd/b.md': 'b', 'd/.hidden': 'h', 'pic/a.png': picture, 'pic/b.md': 'b' });
  expect((await call(store, remove('/d'))).text).toContain(
    'Hidden items and links, which this tool does not touch, were left in it.',
  );
  expect(content(store, 'd/.hidden')).toBe('h');
  const { text } = await call(store, remove('/pic'));
  // Where memory is rows only what can be one is of a directory; a picture stays where it is.
  expect(text).toContain('were left in it.');
  expect(await store.list()).toEqual([]);
  expect(readFileSync(join(store.dir, 'pic/a.png'))).toEqual(picture);
});

test('rename moves a file, or a directory with all in it in one commit', async () => {
  const store = await storeWith({ 'a.md': 'a', 'd/b.md': 'b\r\n', 'd/e/c.md': 'c' });
  const text = 'Successfully renamed /memories/a.md to /memories/x/y.md';
  expect(await call(store, rename('/a.md', '/x/y.md'))).toEqual({ text, isError: false });
  const id = await store.idAt('d/b.md');
  expect((await call(store, rename('/d', '/x/d2'))).isError).toBe(false);
  expect(await store.idAt('x/d2/b.md')).toBe(id);
  expect([content(store, 'x/d2/b.md'), content(store, 'x/d2/e/c.md')]).toEqual(['b\r\n', 'c']);
  expect(await store.commits()).toHaveLength(2);
  expect((await call(store, view('/d'))).isError).toBe(true);
});

const FILES = {
  ...{ 'a.md': 'mine\n', 'b.md': 'b', 'd/c.md': 'c', 'three.md': 'one\ntwo\nthree\n', 'empty.md': '' },
  ...{ 'same.md': 'x\nsame\ny\nsame\nsame same\n', 'over.md': 'aaa\n' },
};
const NOT_THERE = (path: string) => `The path ${path} does not exist. Please provide a valid path.`;
const range = ([...of]: number[]) => `Invalid \`view_range\` parameter: [${of.join(', ')}]`;

/** The answers that the tool's documentation words, whole. */
const AS_DOCUMENTED: [input: object, text: string][] = [
  [view('/no.md'), NOT_THERE('/memories/no.md')],
  [{ command: 'view', path: '/' }, NOT_THERE('/')],
  [view('/./a.md'), NOT_THERE('/memories/./a.md')],
  [create('/a.md'), 'Error: File /memories/a.md already exists'],
  [create('/A.MD'), 'Error: File /memories/A.MD already exists'],
  [create('/d'), 'Error: File /memories/d already exists: it is a directory'],
  [create(''), 'Error: File /memories already exists: it is a directory'],
  [
    replace('same', 'other', '/same.md'),
    'No replacement was performed. Multiple occurrences of old_str `same` in lines: 2, 4, 5. Please ensure it is unique',
  ],
  [
    replace('aa', 'b', '/over.md'),
    'No replacement was performed. Multiple occurrences of old_str `aa` in lines: 1. Please ensure it is unique',
  ],
  [replace('y', 'z'), 'No replacement was performed, old_str `y` did not appear verbatim in /memories/a.md.'],
  ...['/no.md', '/d', '', '/./a.md'].map((path): [object, string] => [
    replace('mine', 'z', path),
    `Error: ${NOT_THERE(at(path))}`,
  ]),
  ...['/no.md', '', '/./a.md'].map((path): [object, string] => [
    insert(0, 'x', path),
    `Error: The path ${at(path)} does not exist`,
  ]),
  [{ ...insert(0, 'x'), path: '/' }, 'Error: The path / does not exist'],
  [
    insert(1, 'x', '/empty.md'),
    'Error: Invalid `insert_line` parameter: 1. It should be within the range of lines of the file: [0, 0]',
  ],
  [remove('/no.md'), 'Error: The path /memories/no.md does not exist'],
  [{ command: 'delete', path: '/' }, 'Error: The path / does not exist'],
  [remove(''), 'Error: Cannot delete the /memories directory itself'],
  [remove('/'), 'Error: Cannot delete the /memories directory itself'],
  [rename('/no.md', '/x.md'), 'Error: The path /memories/no.md does not exist'],
  ...['/b.md', '/d', '/a.md'].map((to): [object, string] => [
    rename('/a.md', to),
    `Error: The destination ${at(to)} already exists`,
  ]),
  [rename('/d', ''), 'Error: The destination /memories already exists'],
  [rename('', '/x'), 'Error: Cannot rename the /memories directory itself'],
  [rename('/d', '/d/e/f'), 'Error: /memories/d cannot be moved into itself'],
];
const UNFIT = /^Error: The arguments of the memory tool do not fit\. .+ Commands: view \(path/s;
const REFUSED: [input: object, words: string | RegExp][] = [
  ...[[0, 1], [4, 5], [3, 2], [1, -2], [1], [1, 2, 3], []].flatMap((of): [object, string][] => [
    [view('/three.md', of), range(of)],
    [view('/three.md', of), '[1, 3]'],
  ]),
  [create('/a.md/b.md'), 'a.md is a file, not a directory'],
  [create('/new/'), 'it has an empty segment'],
  [insert(-1, 'x', '/empty.md'), ''],
  [rename('/a.md', '/a.md/x.md'), 'a.md is a file, not a directory'],
  [rename('/a.md', '/../x.md'), 'the segment ..'],
  [rename('/d', `/${'x'.repeat(256)}`), '256 bytes'],
  ...[
    {},
    { command: 'constructor' },
    { command: '__proto__', path: '/memories' },
    { command: 'view' },
    { command: 'view', path: null },
    { command: 'view', path: ['/memories'] },
    view('/a.md', 'all'),
    view('/a.md', [1.5, 2]),
    { command: 'create', path: '/memories/c.md' },
    create('/c.md', 5),
    create('/c.md', 'half \ud83d'),
    { command: 'str_replace', path: '/memories/a.md' },
    replace('', 'x'),
    { ...replace('a'), new_str: {} },
    { ...insert(1, 'x'), insert_line: '1' },
    { command: 'insert', path: '/memories/a.md', insert_line: 1 },
    { command: 'delete' },
    { command: 'rename', old_path: '/memories/a.md' },
    { command: 'rename', path: '/memories/a.md', new_path: '/memories/c.md' },
  ].map((input): [object, RegExp] => [input, UNFIT]),
];

test('what cannot be done is answered so that a model can act on it, and changes nothing', async () => {
  const store = await storeWith(FILES);
  const all = [...AS_DOCUMENTED, ...REFUSED];
  const replies = await callTogether(
    store,
    all.map(([input]) => input),
  );
  for (const [nth, [input, words]] of all.entries()) {
    const { text, isError } = replies[nth] ?? {};
    expect({ input, isError }).toEqual({ input, isError: true });
    if (nth < AS_DOCUMENTED.length) expect(text).toBe(words);
    else expect(text).toMatch(words);
  }
  expect(await store.list()).toEqual(Object.keys(FILES).sort());
  for (const [path, text] of Object.entries(FILES)) expect(content(store, path)).toBe(text);
  expect(await store.commits()).toEqual([]);
});

test('a read-only memory can be viewed, and nothing else', async () => {
  const store = await storeWith({ 'a.md': 'a' });
  const inputs = [create('/b.md'), replace('a', 'b'), insert(0, 'x'), remove('/a.md'), rename('/a.md', '/b.md')];
  const replies = await callTogether(store, [...inputs, view('/a.md')], { mode: 'read-only' });
  const text = 'The memory is read-only here: only the command `view` works.';
  expect(replies.slice(0, -1)).toEqual(inputs.map(() => ({ text, isError: true })));
  expect(replies.at(-1)?.text).toContain('     1\ta');
  expect([await store.list(), await store.commits()]).toEqual([['a.md'], []]);
});

const OUTSIDE = [
  ...['/memoriesfoo.md', '/etc/passwd', 'memories/a.md', '/memories/../a.md', '/memories/%2e%2e%2fa.md'],
  ...['/memories/..\\a.md', '/memories//etc/passwd', '/memories/.nocturne/ledger.db', '/memories/own/ledger.db'],
  ...['/memories/.nocturne/dreams/2026-11-20.md', '/memories/out/secret.md', '/memories/dangling.md'],
  ...['/memories/a\0.md', '/memories/nul'],
];

test('a path that is not of the memory is refused by every command', async () => {
  const store = await storeWith({ 'a.md': 'a\n' });
  const outside = tempDir();
  writeFileSync(join(outside, 'secret.md'), 'secret');
  symlinkSync(outside, join(store.dir, 'out'));
  symlinkSync('.nocturne', join(store.dir, 'own'));
  symlinkSync(join(outside, 'new.md'), join(store.dir, 'dangling.md'));
  const commands = [view(''), create(''), replace('secret', 'x'), insert(0, 'x'), remove('')];
  const calls = OUTSIDE.flatMap((path) => [
    ...commands.map((input) => ({ ...input, path })),
    { ...rename('', '/b.md'), old_path: path },
    { ...rename('/a.md', ''), new_path: path },
  ]);
  const replies = await callTogether(store, calls);
  for (const [nth, { text, isError }] of replies.entries()) {
    expect({ call: calls[nth], isError }).toEqual({ call: calls[nth], isError: true });
    expect(text).toMatch(/is refused: |does not begin with \/memories\//);
  }
  expect(readFileSync(join(outside, 'secret.md'), 'utf8')).toBe('secret');
  expect([await store.list(), await store.commits()]).toEqual([['a.md'], []]);
});

test('hostile arguments without a runner between are told too', async () => {
  const tool = (await storeWith()).tool({ mode: 'read-write' });
  for (const input of [null, undefined, 'view', []])
    await expect(async () => tool.run(input as never)).rejects.toThrow('do not fit');
});

test('no secret that a model writes is kept, and the model is told so', async () => {
  const store = await storeWith({ 'deploy.md': '# Deploy\n' });
  const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
  const replies = await callTogether(store, [
    create('/keys.md', `The token is ${secret}.\n`),
    insert(1, `Log in with ${secret}.\n`, '/deploy.md'),
    replace('# Deploy', `# Deploy ${secret}`, '/deploy.md'),
  ]);
  for (const { text, isError } of replies) {
    expect(isError).toBe(false);
    expect(text).toContain('A secret in it was not kept');
  }
  for (const path of ['keys.md', 'deploy.md']) {
    expect(content(store, path)).not.toContain(secret);
    expect(content(store, path)).toContain('[redacted:');
  }
});

test('a secret that comes in parts, or as a name, is not kept', async () => {
  const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
  const [first, second] = [secret.slice(0, 12), secret.slice(12)];
  const store = await storeWith({ 'deploy.md': `# Deploy\n- Log in with ${first}HERE.\n- ${first}\\\n` });
  const replies = [
    await call(store, replace('HERE', second, '/deploy.md')),
    await call(store, insert(3, second, '/deploy.md')),
    await call(store, create(`/${secret}.md`)),
    await call(store, rename('/deploy.md', `/a/${secret}.md`)),
  ];
  for (const { text, isError } of replies) {
    expect(isError).toBe(true);
    expect(text).toMatch(/would hold a secret|holds a secret/);
    expect(text).not.toContain(secret);
  }
  expect(await store.list()).toEqual(['deploy.md']);
  expect(content(store, 'deploy.md')).not.toContain(second);
});

test('no entry of a log that claims to rest on a message comes in by the tool; a line without a source does', async () => {
  const day = '2026-11-20';
  const said = { message: 'm1', quote: 'never use tabs' };
  const entry = {
    ...{ id: entryId({ ...said, text: 'Never use tabs.' }), type: 'feedback', strength: 'stated', by: 'human' },
    ...{
      text: 'Never use tabs.',
      evidence: [said],
      session: 's',
      turn: 't',
      at: '2026-11-20T09:00:00.000Z',
      prompt: 'p',
    },
  } as const;
  const other = { ...entry, text: 'Always push.', id: entryId({ ...said, text: 'Always push.' }) };
  const log = (...entries: (typeof entry | typeof other)[]) =>
    appendEntries(null, entries as never, { day, zone: 'UTC' });
  const path = `/memories/${logPath(day)}`;
  const fresh = await storeWith({});
  expect(await call(fresh, { command: 'create', path, file_text: log(other) })).toMatchObject({ isError: true });
  expect(await fresh.list()).toEqual([]);
  await call(fresh, { command: 'create', path: '/memories/other.md', file_text: log(other) });
  const moved = await call(fresh, { command: 'rename', old_path: '/memories/other.md', new_path: path });
  expect(moved).toMatchObject({ isError: true, text: expect.stringContaining('is not known') });
  expect(await fresh.list()).toEqual(['other.md']);
  const store = await storeWith({ [logPath(day)]: log(entry) });
  const changed = log({ ...other, id: entry.id } as never).slice(`# ${day}\n\n`.length);
  for (const [old_str, new_str] of [
    [log(entry).slice(`# ${day}\n\n`.length), changed],
    ['- 09:00', `${changed}- 09:00`],
  ]) {
    const { text, isError } = await call(store, { command: 'str_replace', path, old_str, new_str });
    expect([isError, text]).toEqual([true, expect.stringContaining('is not known')]);
  }
  const added = await call(store, { command: 'insert', path, insert_line: 2, insert_text: '- Always push.\n' });
  expect(added.isError).toBe(false);
  expect(content(store, logPath(day))).toContain('- Always push.\n- 09:00 **feedback** Never use tabs.');
});
