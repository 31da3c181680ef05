import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, describe, expect, it, test } from 'vitest';
import { memoryViewTool, routeTools } from '../../src/agent/tools.ts';
import { fixedClock } from '../../src/base/time.ts';
import { type Memory, type MemoryToolOptions, memoryTool, openStore, type Store } from '../../src/index.ts';
import { viewMemory } from '../../src/memory/store/memory-view.ts';
import { appendEntries, entryId, logPath } from '../../src/memory/text/daily-log.ts';
import { type MessagesServer, says, startMessagesServer, toolResults } from '../support/messages-server.ts';
import { tempDir } from '../support/temp.ts';

const clock = fixedClock('2026-11-20T10:00:00Z');
const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0)) await thing.close();
});

/** A store over these files, which stood there before it was opened. */
async function storeWith(files: Record<string, string | Buffer> = {}): Promise<Store> {
  const dir = tempDir();
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  const store = await openStore(dir, { clock });
  open.push(store);
  return store;
}

function content(store: Store, path: string): string {
  return readFileSync(join(store.dir, path), 'utf8');
}

/** What the model reads for each of the calls that it makes in one reply, through the SDK's own tool runner. */
async function callTogether(store: Store, inputs: unknown[], options: MemoryToolOptions = { mode: 'read-write' }) {
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
    tools: [memoryTool(store, options)],
  });
  return toolResults(server.requests[1]).map((block) => ({
    text: block.content as string,
    isError: block.is_error === true,
  }));
}

async function call(store: Store, input: unknown, options?: MemoryToolOptions) {
  const [reply] = await callTogether(store, [input], options);
  return reply as { text: string; isError: boolean };
}

function commits(store: Store): unknown[] {
  return store.ledger.all(`select actor from "commit" where actor <> 'external' order by id`).map((row) => row.actor);
}

test('four parallel str_replace on one file all survive', async () => {
  const store = await storeWith({ 'a.md': 'one\ntwo\nthree\nfour\n' });
  const replies = await callTogether(
    store,
    ['one', 'two', 'three', 'four'].map((old_str) => ({
      command: 'str_replace',
      path: '/memories/a.md',
      old_str,
      new_str: old_str.toUpperCase(),
    })),
  );
  expect(replies.map((reply) => reply.isError)).toEqual([false, false, false, false]);
  expect(content(store, 'a.md')).toBe('ONE\nTWO\nTHREE\nFOUR\n');
  expect(commits(store)).toEqual(Array(4).fill('tool:memory'));
});

test('of two parallel creates of one file one wins and the other is told', async () => {
  const store = await storeWith();
  const create = (file_text: string) => ({ command: 'create', path: '/memories/a.md', file_text });
  const replies = await callTogether(store, [create('first\n'), create('second\n')]);
  expect(replies).toEqual([
    { text: 'File created successfully at: /memories/a.md', isError: false },
    { text: 'Error: File /memories/a.md already exists', isError: true },
  ]);
  expect(content(store, 'a.md')).toBe('first\n');
});

test('the request carries the memory tool as the API knows it, and the store the actor it was given', async () => {
  const store = await storeWith();
  const tool = memoryTool(store, { mode: 'read-write', actor: 'tool:main' });
  expect(tool).toMatchObject({ type: 'memory_20250818', name: 'memory' });
  await call(
    store,
    { command: 'create', path: '/memories/a.md', file_text: 'a' },
    { mode: 'read-write', actor: 'tool:main' },
  );
  expect(commits(store)).toEqual(['tool:main']);
});

test('the extractor sees through its own tool what main agents see', async () => {
  const store = await storeWith({ 'logs/2026/11/2026-11-20.md': 'one\ntwo\n' });
  const callTool = routeTools([memoryViewTool((path, range) => viewMemory(store, { path, range }))]);
  for (const input of [
    { command: 'view', path: '/memories' },
    { command: 'view', path: '/memories/logs/2026/11/2026-11-20.md', view_range: [2, -1] },
    { command: 'view', path: '/memories/no.md' },
  ]) {
    expect(await callTool('memory', input)).toEqual(await call(store, input));
  }
});

describe('view', () => {
  it('lists two levels with sizes, names what lies deeper, and hides what is hidden', async () => {
    const store = await storeWith({
      'MEMORY.md': 'x'.repeat(1_536),
      'notes.txt': '',
      'logs/2026/11/2026-11-20.md': 'y'.repeat(512),
      'logs/2026/11/2026-11-21.md': 'y'.repeat(512),
      'node_modules/a/index.js': '1',
      '.git/config': 'secret',
    });
    symlinkSync('/etc', join(store.dir, 'etc'));
    expect((await call(store, { command: 'view', path: '/memories' })).text.split('\n')).toEqual([
      "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
      '2.5K\t/memories',
      '1.5K\t/memories/MEMORY.md',
      '1K\t/memories/logs/',
      '1K\t/memories/logs/2026/',
      '0B\t/memories/notes.txt',
      'Directories with files deeper than that (view one to list its files):',
      '1K\t/memories/logs/2026/11/ (2 files)',
    ]);
    expect((await call(store, { command: 'view', path: '/memories/logs/2026/11/' })).text.split('\n')).toEqual([
      "Here're the files and directories up to 2 levels deep in /memories/logs/2026/11, excluding hidden items and node_modules:",
      '1K\t/memories/logs/2026/11',
      '512B\t/memories/logs/2026/11/2026-11-20.md',
      '512B\t/memories/logs/2026/11/2026-11-21.md',
    ]);
  });

  it('shows a file with line numbers, whole or a range of it', async () => {
    const store = await storeWith({ 'a.md': 'one\r\ntwo\r\nthree' });
    const view = { command: 'view', path: '/memories/a.md' };
    const header = "Here's the content of /memories/a.md with line numbers:";
    expect((await call(store, view)).text).toBe(`${header}\n     1\tone\n     2\ttwo\n     3\tthree`);
    expect((await call(store, { ...view, view_range: [2, -1] })).text).toBe(`${header}\n     2\ttwo\n     3\tthree`);
    expect((await call(store, { ...view, view_range: [2, 2] })).text).toBe(`${header}\n     2\ttwo`);
    expect((await call(store, { ...view, view_range: [3, 99] })).text).toBe(`${header}\n     3\tthree`);
    expect((await call(store, { ...view, view_range: null })).isError).toBe(false);
  });

  it.each([[[0, 1]], [[4, 5]], [[3, 2]], [[1, -2]], [[1]], [[1, 2, 3]], [[]]])(
    'refuses the range %j',
    async (range) => {
      const store = await storeWith({ 'a.md': 'one\ntwo\nthree\n' });
      const reply = await call(store, { command: 'view', path: '/memories/a.md', view_range: range });
      expect(reply.isError).toBe(true);
      expect(reply.text).toContain(`Invalid \`view_range\` parameter: [${range.join(', ')}]`);
      expect(reply.text).toContain('[1, 3]');
    },
  );

  it('shows a long file in pages that together are the whole file', async () => {
    const text = Array.from({ length: 2_000 }, (_, n) => `line ${n} ${'x'.repeat(30)}`);
    const store = await storeWith({ 'a.md': `${text.join('\n')}\n` });
    const seen: string[] = [];
    let view_range: unknown;
    for (let pages = 0; pages < 10; pages += 1) {
      const reply = await call(store, { command: 'view', path: '/memories/a.md', view_range });
      expect(reply.text.length).toBeLessThanOrEqual(16_000);
      seen.push(
        ...reply.text.split('\n').flatMap((line) => (/^ *\d+\t/.test(line) ? [line.split('\t')[1] as string] : [])),
      );
      const rest = /view_range \[(\d+), -1\] shows the rest/.exec(reply.text);
      if (!rest) break;
      view_range = [Number(rest[1]), -1];
    }
    expect(seen).toEqual(text);
  });

  it('cuts a line that is too long for a page and shows it whole when it is asked for alone', async () => {
    const store = await storeWith({ 'a.md': `short\n${'😀'.repeat(10_000)}\nlast\n` });
    const view = { command: 'view', path: '/memories/a.md' };
    expect((await call(store, view)).text).toContain(
      '[Lines 1 to 1 of 3 are shown; view_range [2, -1] shows the rest.]',
    );
    const cut = (await call(store, { ...view, view_range: [2, -1] })).text;
    expect(cut.length).toBeLessThanOrEqual(16_000);
    expect(cut.isWellFormed()).toBe(true);
    expect(cut).toContain('Line 2 is cut here; view_range [2, 2] shows it whole.');
    expect(cut).toContain('view_range [3, -1] shows the rest');
    expect((await call(store, { ...view, view_range: [2, 2] })).text).toContain('😀'.repeat(10_000));
  });

  it('shows a listing of thousands of files in pages', async () => {
    const store = await storeWith(Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`topic-${n}.md`, 'x'])));
    const first = (await call(store, { command: 'view', path: '/memories' })).text;
    expect(first.length).toBeLessThanOrEqual(16_000);
    const next = Number(/of 1001 are shown; view_range \[(\d+), -1\]/.exec(first)?.[1]);
    const second = (await call(store, { command: 'view', path: '/memories', view_range: [next, -1] })).text;
    const names = `${first}\n${second}`.match(/topic-\d+\.md/g);
    expect(new Set(names).size).toBe(1_000);
  });

  it('says that an empty directory and an empty file are there', async () => {
    const store = await storeWith({ 'a.md': '' });
    mkdirSync(join(store.dir, 'empty'));
    expect((await call(store, { command: 'view', path: '/memories/empty' })).text).toContain('0B\t/memories/empty');
    expect((await call(store, { command: 'view', path: '/memories/a.md' })).text).toContain('(The file is empty.)');
  });

  it('says what is not there', async () => {
    expect(await call(await storeWith(), { command: 'view', path: '/memories/no.md' })).toEqual({
      text: 'The path /memories/no.md does not exist. Please provide a valid path.',
      isError: true,
    });
  });
});

describe('create', () => {
  it('makes a file, and the directories it needs', async () => {
    const store = await storeWith();
    const reply = await call(store, { command: 'create', path: '/memories/a/b/c.txt', file_text: 'no end' });
    expect(reply).toEqual({ text: 'File created successfully at: /memories/a/b/c.txt', isError: false });
    expect(content(store, 'a/b/c.txt')).toBe('no end');
  });

  it.each([
    ['a.md', 'Error: File /memories/a.md already exists'],
    ['A.MD', 'Error: File /memories/A.MD already exists'],
    ['logs', 'Error: File /memories/logs already exists: it is a directory'],
    ['a.md/b.md', 'a.md is a file, not a directory'],
    ['new/', 'it has an empty segment'],
  ])('refuses /memories/%s', async (path, problem) => {
    const store = await storeWith({ 'a.md': 'mine\n', 'logs/b.md': 'b' });
    const reply = await call(store, { command: 'create', path: `/memories/${path}`, file_text: 'x' });
    expect(reply.isError).toBe(true);
    expect(reply.text).toContain(problem);
    expect(content(store, 'a.md')).toBe('mine\n');
    expect(commits(store)).toEqual([]);
  });

  it('takes 102,400 bytes and not one more', async () => {
    const store = await storeWith();
    const create = (path: string, file_text: string) => call(store, { command: 'create', path, file_text });
    expect((await create('/memories/a.md', 'é'.repeat(51_200))).isError).toBe(false);
    const reply = await create('/memories/b.md', `${'é'.repeat(51_200)}x`);
    expect(reply.isError).toBe(true);
    expect(reply.text).toContain('would have 102,401 bytes; at most 102,400 are allowed');
    expect(await store.read('b.md')).toBeNull();
  });
});

describe('str_replace', () => {
  const replace = (old_str: string, new_str?: string) => ({
    command: 'str_replace',
    path: '/memories/a.md',
    old_str,
    new_str,
  });

  it('shows the change among its neighbours', async () => {
    const store = await storeWith({ 'a.md': '1\n2\n3\n4\n5\n6\n7\n' });
    expect((await call(store, replace('4', 'four\nand more'))).text).toBe(
      'The memory file has been edited. Here is the snippet showing the change (with line numbers):\n' +
        '     2\t2\n     3\t3\n     4\tfour\n     5\tand more\n     6\t5\n     7\t6',
    );
  });

  it('deletes what it found where new_str is left out', async () => {
    const store = await storeWith({ 'a.md': 'keep\ngo\nkeep too\n' });
    expect((await call(store, replace('go\n'))).isError).toBe(false);
    expect(content(store, 'a.md')).toBe('keep\nkeep too\n');
    expect((await call(store, replace('keep\nkeep too\n'))).text).toContain('The file is empty now.');
    expect(content(store, 'a.md')).toBe('');
  });

  it('takes the text as it is, not as a pattern', async () => {
    const store = await storeWith({ 'a.md': 'a.c (x|y) $1\n' });
    await call(store, replace('(x|y) $1', "$& $1 $` $'"));
    expect(content(store, 'a.md')).toBe("a.c $& $1 $` $'\n");
  });

  it('matches lines of a CRLF file and keeps its line ends and its missing last one', async () => {
    const store = await storeWith({ 'a.md': 'one\r\ntwo\r\nthree\r\nfour' });
    await call(store, replace('two\nthree\nfour', 'TWO\nTHREE\nFOUR'));
    expect(content(store, 'a.md')).toBe('one\r\nTWO\r\nTHREE\r\nFOUR');
    await call(store, { command: 'insert', path: '/memories/a.md', insert_line: 4, insert_text: 'five\nsix\n' });
    expect(content(store, 'a.md')).toBe('one\r\nTWO\r\nTHREE\r\nFOUR\r\nfive\r\nsix');
  });

  it('names the lines where old_str stands more than once, and changes nothing', async () => {
    const store = await storeWith({ 'a.md': 'x\nsame\ny\nsame\nsame same\n' });
    expect(await call(store, replace('same', 'other'))).toEqual({
      text: 'No replacement was performed. Multiple occurrences of old_str `same` in lines: 2, 4, 5. Please ensure it is unique',
      isError: true,
    });
    expect(commits(store)).toEqual([]);
  });

  it('counts two places on one line, also where they overlap', async () => {
    const store = await storeWith({ 'a.md': 'aaa\n' });
    expect((await call(store, replace('aa', 'b'))).text).toContain('Multiple occurrences of old_str `aa` in lines: 1.');
  });

  it('answers shortly and at once where there is no end of matches', async () => {
    const store = await storeWith({ 'a.md': 'a\n'.repeat(50_000), 'b.md': 'b'.repeat(100_000) });
    expect((await call(store, replace('a', 'b'))).text.length).toBeLessThan(1_000);
    expect((await call(store, { ...replace('b'.repeat(50_000)), path: '/memories/b.md' })).text.length).toBeLessThan(
      2_000,
    );
  });

  it('says what it did not find', async () => {
    const store = await storeWith({ 'a.md': 'x\n', 'logs/b.md': 'b' });
    expect(await call(store, replace('y', 'z'))).toEqual({
      text: 'No replacement was performed, old_str `y` did not appear verbatim in /memories/a.md.',
      isError: true,
    });
    for (const path of ['/memories/no.md', '/memories/logs']) {
      expect(await call(store, { ...replace('x', 'z'), path })).toEqual({
        text: `Error: The path ${path} does not exist. Please provide a valid path.`,
        isError: true,
      });
    }
  });

  it('refuses a result over the cap, but lets a file shrink that is over it', async () => {
    const store = await storeWith({ 'a.md': `${'x'.repeat(102_399)}!`, 'big.md': `${'x'.repeat(200_000)}!!` });
    expect((await call(store, replace('!', '!!'))).text).toContain('at most 102,400');
    const shrink = await call(store, { ...replace('!!', '!'), path: '/memories/big.md' });
    expect(shrink.isError).toBe(false);
  });
});

describe('insert', () => {
  it.each([
    [0, 'new\n', 'new\none\ntwo\n'],
    [1, 'new', 'one\nnew\ntwo\n'],
    [2, 'new\nmore\n', 'one\ntwo\nnew\nmore\n'],
    [1, '', 'one\n\ntwo\n'],
  ])('behind line %i puts %j', async (insert_line, insert_text, after) => {
    const store = await storeWith({ 'a.md': 'one\ntwo\n' });
    const reply = await call(store, { command: 'insert', path: '/memories/a.md', insert_line, insert_text });
    expect(reply).toEqual({ text: 'The file /memories/a.md has been edited.', isError: false });
    expect(content(store, 'a.md')).toBe(after);
  });

  it('fills an empty file, and says which lines there are', async () => {
    const store = await storeWith({ 'a.md': '' });
    const insert = (insert_line: number, path = '/memories/a.md') =>
      call(store, { command: 'insert', path, insert_line, insert_text: 'x' });
    expect((await insert(1)).text).toBe(
      'Error: Invalid `insert_line` parameter: 1. It should be within the range of lines of the file: [0, 0]',
    );
    await insert(0);
    expect(content(store, 'a.md')).toBe('x\n');
    expect((await insert(-1)).isError).toBe(true);
    expect((await insert(0, '/memories/no.md')).text).toBe('Error: The path /memories/no.md does not exist');
  });
});

describe('delete', () => {
  it('takes away a file, or a directory with all in it in one commit; versions keep it', async () => {
    const store = await storeWith({ 'a.md': 'a', 'd/b.md': 'b', 'd/e/c.txt': 'c' });
    const remove = (path: string) => call(store, { command: 'delete', path });
    expect(await remove('/memories/a.md')).toEqual({ text: 'Successfully deleted /memories/a.md', isError: false });
    expect((await remove('/memories/d/')).text).toBe('Successfully deleted /memories/d/');
    expect((await call(store, { command: 'view', path: '/memories' })).text.split('\n').slice(1)).toEqual([
      '0B\t/memories',
    ]);
    expect(commits(store)).toHaveLength(2);
    expect(
      store.ledger.get('select content from version where path = ? and op = ?', 'd/e/c.txt', 'created'),
    ).toBeDefined();
    expect(await remove('/memories/a.md')).toEqual({
      text: 'Error: The path /memories/a.md does not exist',
      isError: true,
    });
  });

  it('leaves what it cannot see, and says so', async () => {
    const store = await storeWith({ 'd/b.md': 'b', 'd/.hidden': 'h' });
    const reply = await call(store, { command: 'delete', path: '/memories/d' });
    expect(reply.text).toContain('Hidden items and links, which this tool does not touch, were left in it.');
    expect(content(store, 'd/.hidden')).toBe('h');
  });

  it('never touches the memory directory itself, or a file that is no text', async () => {
    const store = await storeWith({ 'a.md': 'a', 'pic/a.png': Buffer.from([0x89, 0x50, 0xff]), 'pic/b.md': 'b' });
    for (const path of ['/memories', '/memories/']) {
      expect((await call(store, { command: 'delete', path })).text).toBe(
        'Error: Cannot delete the /memories directory itself',
      );
    }
    const reply = await call(store, { command: 'delete', path: '/memories/pic' });
    expect(reply.text).toContain('pic/a.png is not UTF-8 text');
    expect(await store.list()).toEqual(['a.md', 'pic/b.md']);
  });
});

describe('rename', () => {
  const rename = (store: Store, old_path: string, new_path: string) =>
    call(store, { command: 'rename', old_path: `/memories${old_path}`, new_path: `/memories${new_path}` });

  it('moves a file, or a directory with all in it in one commit', async () => {
    const store = await storeWith({ 'a.md': 'a', 'd/b.md': 'b\r\n', 'd/e/c.txt': 'c' });
    expect(await rename(store, '/a.md', '/x/y.md')).toEqual({
      text: 'Successfully renamed /memories/a.md to /memories/x/y.md',
      isError: false,
    });
    const { id } = (await store.lookUp('d/b.md')) as Memory;
    expect((await rename(store, '/d', '/x/d2')).isError).toBe(false);
    expect((await store.lookUp('x/d2/b.md'))?.id).toBe(id);
    expect(content(store, 'x/d2/b.md')).toBe('b\r\n');
    expect(content(store, 'x/d2/e/c.txt')).toBe('c');
    expect(commits(store)).toHaveLength(2);
    expect((await call(store, { command: 'view', path: '/memories/d' })).isError).toBe(true);
  });

  it.each([
    ['/no.md', '/x.md', 'Error: The path /memories/no.md does not exist'],
    ['/a.md', '/b.md', 'Error: The destination /memories/b.md already exists'],
    ['/a.md', '/d', 'Error: The destination /memories/d already exists'],
    ['/d', '', 'Error: The destination /memories already exists'],
    ['/a.md', '/a.md', 'Error: The destination /memories/a.md already exists'],
    ['', '/x', 'Error: Cannot rename the /memories directory itself'],
    ['/d', '/d/e/f', 'Error: /memories/d cannot be moved into itself'],
    ['/a.md', '/a.md/x.md', 'a.md is a file, not a directory'],
    ['/a.md', '/../x.md', 'the segment ..'],
    ['/d', `/${'x'.repeat(256)}`, '256 bytes'],
  ])('from %j to %j is refused and changes nothing', async (from, to, problem) => {
    const store = await storeWith({ 'a.md': 'a', 'b.md': 'b', 'd/c.md': 'c' });
    const reply = await rename(store, from, to);
    expect(reply.isError).toBe(true);
    expect(reply.text).toContain(problem);
    expect(await store.list()).toEqual(['a.md', 'b.md', 'd/c.md']);
    expect(commits(store)).toEqual([]);
  });
});

describe('read-only', () => {
  it.each([
    { command: 'create', path: '/memories/b.md', file_text: 'x' },
    { command: 'str_replace', path: '/memories/a.md', old_str: 'a', new_str: 'b' },
    { command: 'insert', path: '/memories/a.md', insert_line: 0, insert_text: 'x' },
    { command: 'delete', path: '/memories/a.md' },
    { command: 'rename', old_path: '/memories/a.md', new_path: '/memories/b.md' },
  ])('$command is refused and changes nothing', async (input) => {
    const store = await storeWith({ 'a.md': 'a' });
    const [refused, view] = await callTogether(store, [input, { command: 'view', path: '/memories/a.md' }], {
      mode: 'read-only',
    });
    expect(refused).toEqual({ text: 'The memory is read-only here: only the command `view` works.', isError: true });
    expect(view?.text).toContain('     1\ta');
    expect(await store.list()).toEqual(['a.md']);
    expect(commits(store)).toEqual([]);
  });
});

describe('paths that name no file', () => {
  it.each([
    ['view', '/', {}, 'The path / does not exist. Please provide a valid path.'],
    ['view', '/memories/./a.md', {}, 'The path /memories/./a.md does not exist. Please provide a valid path.'],
    [
      'str_replace',
      '/memories',
      { old_str: 'a', new_str: 'b' },
      'Error: The path /memories does not exist. Please provide a valid path.',
    ],
    [
      'str_replace',
      '/memories/./a.md',
      { old_str: 'a', new_str: 'b' },
      'Error: The path /memories/./a.md does not exist. Please provide a valid path.',
    ],
    ['insert', '/memories', { insert_line: 0, insert_text: 'x' }, 'Error: The path /memories does not exist'],
    [
      'insert',
      '/memories/./a.md',
      { insert_line: 0, insert_text: 'x' },
      'Error: The path /memories/./a.md does not exist',
    ],
    ['insert', '/', { insert_line: 0, insert_text: 'x' }, 'Error: The path / does not exist'],
    ['delete', '/', {}, 'Error: The path / does not exist'],
    ['create', '/memories', { file_text: 'x' }, 'Error: File /memories already exists: it is a directory'],
  ])('%s %s is answered as the tool’s documentation says', async (command, path, more, text) => {
    const store = await storeWith({ 'a.md': 'a\n' });
    expect(await call(store, { command, path, ...more })).toEqual({ text, isError: true });
    expect(content(store, 'a.md')).toBe('a\n');
    expect(commits(store)).toEqual([]);
  });
});

describe('hostile arguments', () => {
  it.each([
    [{}],
    [{ command: 'constructor' }],
    [{ command: '__proto__', path: '/memories' }],
    [{ command: 'view' }],
    [{ command: 'view', path: null }],
    [{ command: 'view', path: ['/memories'] }],
    [{ command: 'view', path: '/memories/a.md', view_range: 'all' }],
    [{ command: 'view', path: '/memories/a.md', view_range: [1.5, 2] }],
    [{ command: 'create', path: '/memories/b.md' }],
    [{ command: 'create', path: '/memories/b.md', file_text: 5 }],
    [{ command: 'create', path: '/memories/b.md', file_text: 'half \ud83d' }],
    [{ command: 'str_replace', path: '/memories/a.md' }],
    [{ command: 'str_replace', path: '/memories/a.md', old_str: '', new_str: 'x' }],
    [{ command: 'str_replace', path: '/memories/a.md', old_str: 'a', new_str: {} }],
    [{ command: 'insert', path: '/memories/a.md', insert_line: '1', insert_text: 'x' }],
    [{ command: 'insert', path: '/memories/a.md', insert_line: 1 }],
    [{ command: 'delete' }],
    [{ command: 'rename', old_path: '/memories/a.md' }],
    [{ command: 'rename', path: '/memories/a.md', new_path: '/memories/b.md' }],
  ])('%j is answered with what does not fit, and nothing changes', async (input) => {
    const store = await storeWith({ 'a.md': 'a\n' });
    const reply = await call(store, input);
    expect(reply.isError).toBe(true);
    expect(reply.text).toMatch(/^Error: The arguments of the memory tool do not fit\. .+ Commands: view \(path/s);
    expect(content(store, 'a.md')).toBe('a\n');
    expect(await store.list()).toEqual(['a.md']);
  });

  it.each([
    '/memoriesfoo.md',
    '/etc/passwd',
    'memories/a.md',
    '/memories/../a.md',
    '/memories/%2e%2e%2fa.md',
    '/memories/..\\a.md',
    '/memories//etc/passwd',
    '/memories/.nocturne/ledger.db',
    '/memories/.nocturne/dreams/2026-11-20.md',
    '/memories/own/ledger.db',
    '/memories/out/secret.md',
    '/memories/dangling.md',
    '/memories/a\0.md',
    '/memories/nul',
  ])('the path %j is refused by every command', async (path) => {
    const store = await storeWith({ 'a.md': 'a\n' });
    const outside = tempDir();
    writeFileSync(join(outside, 'secret.md'), 'secret');
    symlinkSync(outside, join(store.dir, 'out'));
    symlinkSync('.nocturne', join(store.dir, 'own'));
    symlinkSync(join(outside, 'new.md'), join(store.dir, 'dangling.md'));
    const replies = await callTogether(store, [
      { command: 'view', path },
      { command: 'create', path, file_text: 'x' },
      { command: 'str_replace', path, old_str: 'secret', new_str: 'x' },
      { command: 'insert', path, insert_line: 0, insert_text: 'x' },
      { command: 'delete', path },
      { command: 'rename', old_path: path, new_path: '/memories/b.md' },
      { command: 'rename', old_path: '/memories/a.md', new_path: path },
    ]);
    for (const reply of replies) {
      expect(reply.isError).toBe(true);
      expect(reply.text).toMatch(/is refused: |does not begin with \/memories\//);
    }
    expect(readFileSync(join(outside, 'secret.md'), 'utf8')).toBe('secret');
    expect(await store.list()).toEqual(['a.md']);
    expect(commits(store)).toEqual([]);
  });

  it('without a runner between, are told too', async () => {
    const tool = memoryTool(await storeWith(), { mode: 'read-write' });
    for (const input of [null, undefined, 'view', []]) {
      await expect(async () => tool.run(input as never)).rejects.toThrow('do not fit');
    }
  });
});

test('no secret that a model writes is kept, and the model is told so', async () => {
  const store = await storeWith({ 'deploy.md': '# Deploy\n' });
  const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
  const replies = await callTogether(store, [
    { command: 'create', path: '/memories/keys.md', file_text: `The token is ${secret}.\n` },
    { command: 'insert', path: '/memories/deploy.md', insert_line: 1, insert_text: `Log in with ${secret}.\n` },
    { command: 'str_replace', path: '/memories/deploy.md', old_str: '# Deploy', new_str: `# Deploy ${secret}` },
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
    await call(store, { command: 'str_replace', path: '/memories/deploy.md', old_str: 'HERE', new_str: second }),
    await call(store, { command: 'insert', path: '/memories/deploy.md', insert_line: 3, insert_text: second }),
    await call(store, { command: 'create', path: `/memories/${secret}.md`, file_text: 'x' }),
    await call(store, { command: 'rename', old_path: '/memories/deploy.md', new_path: `/memories/a/${secret}.md` }),
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
  expect(moved).toMatchObject({ isError: true, text: expect.stringContaining('knows nothing of its entry') });
  expect(await fresh.list()).toEqual(['other.md']);
  const store = await storeWith({ [logPath(day)]: log(entry) });
  const changed = log({ ...other, id: entry.id } as never).slice(`# ${day}\n\n`.length);
  for (const [old_str, new_str] of [
    [log(entry).slice(`# ${day}\n\n`.length), changed],
    ['- 09:00', `${changed}- 09:00`],
  ]) {
    const { text, isError } = await call(store, { command: 'str_replace', path, old_str, new_str });
    expect([isError, text]).toEqual([true, expect.stringContaining('knows nothing of its entry')]);
  }
  const added = await call(store, { command: 'insert', path, insert_line: 2, insert_text: '- Always push.\n' });
  expect(added.isError).toBe(false);
  expect(content(store, logPath(day))).toContain('- Always push.\n- 09:00 **feedback** Never use tabs.');
});
