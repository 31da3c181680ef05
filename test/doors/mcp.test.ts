// The MCP server as clients meet it: the official client, over stdio against the built command, and in this process for
// what the tools answer.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { type Environment, loadConfig } from '../../src/base/config/config.ts';
import type { Output } from '../../src/tools/mcp-server.ts';
import type { TestApp } from '../support/app.ts';
import { waysTaken } from '../support/depth.ts';
import { openApp, rowsIn } from '../support/doors.ts';
import { type Called, connect, connectHere, treeHash } from '../support/mcp.ts';
import type { Rows } from '../support/rows.ts';
import { DOOR } from '../support/run.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { dirWith, tempDir } from '../support/temp.ts';

const HOSTS =
  '---\nname: hosts\ndescription: Where things run\ntype: reference\n---\n\n- Staging is alpha.\n- 本番は東京。\n';
const SECRET = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;

function world() {
  const home = tempDir();
  const environment = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    NOCTURNE_HOME: home,
    NOCTURNE_MEMORY_DIR: tempDir(),
    NOCTURNE_NOW: '2026-11-21T02:00:00Z',
    NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/nocturne-test'),
  };
  return { home, environment };
}

/** In a directory that nocturne has worked in. */
async function worked<T>(
  dir: string,
  environment: Environment,
  work: (store: Awaited<ReturnType<TestApp['app']['store']>>, rows: Rows) => Promise<T>,
): Promise<T> {
  const app = await openApp(await loadConfig({}, environment));
  try {
    const store = await app.store(dir);
    return await work(store, rowsIn(app, store));
  } finally {
    await app.close();
  }
}

test.each(waysTaken(['2026', 'before'] as const, 1))(
  'a client nobody here wrote (protocol: %s) lists and calls all six tools',
  async (era) => {
    const dir = dirWith({ 'hosts.md': HOSTS });
    const { environment } = world();
    const { client, call } =
      era === '2026'
        ? await connect(['--store', `notes=${dir}:rw`], environment, { era })
        : await connectHere([`notes=${dir}:rw`], environment);
    expect(client.getProtocolEra()).toBe(era === '2026' ? 'modern' : 'legacy');
    expect(client.getInstructions()).toContain('- `notes` (read_write)');
    const { tools } = await client.listTools();
    const hints = tools.map(({ name, annotations: a }) => [
      name,
      a?.readOnlyHint,
      a?.destructiveHint,
      a?.idempotentHint,
    ]);
    expect(hints).toEqual([
      ['memory_list', true, undefined, undefined],
      ['memory_search', true, undefined, undefined],
      ['memory_read', true, undefined, undefined],
      ['memory_write', false, true, true],
      ['memory_edit', false, true, false],
      ['memory_delete', false, true, true],
    ]);

    const written = await call<Output<'write'>>('memory_write', { path: 'ports.md', content: '- 8080\n' });
    expect(written).toMatchObject({ isError: false, data: { outcome: 'created', size_bytes: 7, path: 'ports.md' } });
    const edit = { path: 'ports.md', old_str: '8080', new_str: '9090', new_path: 'net/ports.md' };
    const edited = await call<Output<'edit'>>('memory_edit', edit);
    expect(edited.data).toMatchObject({ outcome: 'moved', id: written.data.id, path: 'net/ports.md' });
    expect(readFileSync(join(dir, 'net/ports.md'), 'utf8')).toBe('- 9090\n');
    const listed = await call<Output<'list'>>('memory_list', { depth: 1 });
    expect(listed.data.memories).toMatchObject([
      { type: 'memory', path: 'hosts.md', size_bytes: Buffer.byteLength(HOSTS), modified_at: expect.any(String) },
      { type: 'memory_prefix', path: 'net/' },
    ]);
    const found = await call<Output<'search'>>('memory_search', { query: 'staging' });
    expect(found.data).toMatchObject({ total: 1, hits: [{ kind: 'topic', path: 'hosts.md', line: 7 }] });
    expect(JSON.parse(found.text)).toEqual(found.data);
    const read = await call<Output<'read'>>('memory_read', { path: written.data.id });
    expect(read.data).toMatchObject({ content: '- 9090\n', version: edited.data.version });
    const gone = await call<Output<'delete'>>('memory_delete', { path: 'net/ports.md' });
    expect(gone.data).toMatchObject({ outcome: 'deleted', version: edited.data.version });
    expect((await call('memory_read', { path: written.data.id })).isError).toBe(true);
    await expect(client.callTool({ name: 'memory_format', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  },
);

test('a read-only store cannot be changed by any tool, whatever paths, links, cases, moves and company', async () => {
  const dir = dirWith({ 'hosts.md': HOSTS, 'logs/2026/11/2026-11-20.md': '# 2026-11-20\n\n- Gate 7.\n' });
  const { environment } = world();
  await worked(dir, environment, (store) => store.write({ actor: 'person' }, { path: 'a/deep.md', text: '- deep\n' }));
  writeFileSync(join(dir, 'edited-outside.md'), '- nobody has taken this in\n');
  symlinkSync('hosts.md', join(dir, 'link.md'));
  const own = dirWith({ 'own.md': '- own\n' });
  symlinkSync(dir, join(own, 'there'));
  symlinkSync(join(dir, 'hosts.md'), join(own, 'hosts.md'));
  const stores = [`kept=${dir}`, `own=${own}:rw`];
  const clients = await Promise.all([connectHere(stores, environment), connectHere(stores, environment)]);
  const { data } = await (clients[0] as (typeof clients)[0]).call<Output<'read'>>('memory_read', {
    ...{ store: 'kept', path: 'hosts.md' },
  });
  const before = treeHash(dir);

  const paths = ['hosts.md', 'HOSTS.md', 'link.md', 'new.md', 'a/new.md', 'edited-outside.md', 'MEMORY.md', data.id];
  const tricks = [`${dir}/hosts.md`, '../x.md', 'a/../hosts.md', '%2e%2e/x.md', '.nocturne/dreams/2026-11-20.md'];
  const sha = data.content_sha256;
  const calls: [string, object][] = [...paths, ...tricks].flatMap((path): [string, object][] => [
    ['memory_write', { store: 'kept', path, content: 'x' }],
    ['memory_write', { store: 'kept', path, content: HOSTS, expected_content_sha256: sha }],
    ['memory_edit', { store: 'kept', path, old_str: 'alpha', new_str: 'beta' }],
    ['memory_edit', { store: 'kept', path, new_path: 'moved.md' }],
    ['memory_edit', { store: 'kept', path: 'hosts.md', new_path: path }],
    ['memory_delete', { store: 'kept', path }],
    ['memory_delete', { store: 'kept', path, expected_content_sha256: sha }],
    // From the store that may be written into the one that may not.
    ['memory_write', { store: 'own', path: `there/${path}`, content: 'x' }],
    ['memory_edit', { store: 'own', path: 'own.md', new_path: `there/${path}` }],
    ['memory_edit', { store: 'own', path: `there/${path}`, new_path: 'taken.md' }],
    ['memory_delete', { store: 'own', path: `there/${path}` }],
  ]);
  calls.push(['memory_edit', { store: 'own', path: 'hosts.md', old_str: 'alpha', new_str: 'beta' }]);
  const replies = await Promise.all(calls.map(([tool, input], at) => clients[at % 2]?.call(tool, input)));
  const done = calls.filter((_, at) => replies[at]?.isError !== true);
  expect(done).toEqual([]);
  expect(treeHash(dir)).toBe(before);

  for (const { call, close } of clients) {
    for (const path of [...paths, ...tricks]) await call('memory_read', { store: 'kept', path });
    expect((await call('memory_list', { store: 'kept' })).isError).toBe(false);
    expect((await call('memory_search', { store: 'kept', query: 'alpha gate' })).isError).toBe(false);
    await close();
  }
  expect(treeHash(dir)).toBe(before);
  expect(readFileSync(join(own, 'own.md'), 'utf8')).toBe('- own\n');
});

test('a read-only store shows what another client writes to it, and stays out of its way', async () => {
  const dir = dirWith({ 'hosts.md': HOSTS });
  const { environment } = world();
  const { call } = await connectHere([`kept=${dir}`], environment);
  const path = 'hosts.md';
  // Before anybody has worked in it.
  expect((await call<Output<'read'>>('memory_read', { path })).data.content).toBe(HOSTS);
  const other = await connectHere([`notes=${dir}:rw`], environment);
  const { data: edited } = await other.call<Output<'edit'>>('memory_edit', { path, old_str: 'alpha', new_str: 'beta' });
  const { data } = await call<Output<'read'>>('memory_read', { path });
  expect(data.content).toContain('beta');
  expect(data).toMatchObject({ id: expect.stringMatching(/^mem_/), version: edited.version });
  await other.call('memory_edit', { path, old_str: 'beta', new_str: 'gamma' });
  await other.close();
  expect(await worked(dir, environment, async (_, rows) => (await rows('uses')).size)).toBe(0);
  expect((await call<Output<'search'>>('memory_search', { query: 'gamma' })).data.total).toBe(1);
});

test('two clients in two processes that change one memory at once lose nothing, and one that comes late is told what stands there', async () => {
  const dir = dirWith({ 'list.md': '- begin\n' });
  const { environment } = world();
  const notes = `notes=${dir}:rw`;
  const clients = await Promise.all([connect(['--store', notes], environment), connectHere([notes], environment)]);
  const added = clients.flatMap((_, who) => Array.from({ length: 15 }, (__, nth) => `- ${who}.${nth}\n`));
  const replies = await Promise.all(
    added.map((line, at) => {
      const input = { path: 'list.md', old_str: '- begin\n', new_str: `- begin\n${line}` };
      return clients[Math.floor(at / 15)]?.call('memory_edit', input);
    }),
  );
  expect(replies.every((reply) => reply?.isError === false)).toBe(true);
  const text = readFileSync(join(dir, 'list.md'), 'utf8');
  expect(text.split('\n').filter(Boolean).sort()).toEqual(['- begin', ...added.map((line) => line.trim())].sort());

  const [one, other] = clients as [(typeof clients)[0], (typeof clients)[0]];
  const { data: read } = await one.call<Output<'read'>>('memory_read', { path: 'list.md' });
  const replace = (content: string) => ({ path: 'list.md', content, expected_content_sha256: read.content_sha256 });
  const raced = await Promise.all([one, other].map(({ call }, who) => call('memory_write', replace(`- by ${who}\n`))));
  expect(raced.map(({ isError }) => isError).sort()).toEqual([false, true]);
  const late = raced.find(({ isError }) => isError) as Called<{ found: Output<'read'> }>;
  const winner = readFileSync(join(dir, 'list.md'), 'utf8');
  expect(late.data).toMatchObject({ code: 'conflict', found: { content: winner } });
  expect(late.text).toContain(winner);
  const { found } = late.data;
  const again = await other.call('memory_write', {
    ...replace('- both\n'),
    expected_content_sha256: found.content_sha256,
  });
  expect(again.isError).toBe(false);
  const kept = await worked(dir, environment, (_, rows) => rows('versions'));
  for (const each of ['- by 0\n', '- by 1\n']) {
    const isByMcp = ({ content, actor }: (typeof kept)[0]) => `${content}` === each && actor.endsWith(':mcp');
    expect(kept.some(isByMcp)).toBe(each === winner);
  }
});

test('lists and searches come in pages that hold everything once; a long memory is read piece by piece', async () => {
  const files = Array.from({ length: 23 }, (_, nth) => [`topic-${nth}.md`, `- shared word ${nth}\n- other\n`]);
  const dir = dirWith({ ...Object.fromEntries(files), 'long.md': '- a line of a long memory\n'.repeat(1_500) });
  const { environment } = world();
  const { call } = await connectHere([`notes=${dir}`], environment);
  const listed: string[] = [];
  for (let page: string | null | undefined; page !== null; ) {
    const { data } = await call<Output<'list'>>('memory_list', { limit: 5, ...(page && { page }) });
    expect(data.memories.length).toBeLessThanOrEqual(5);
    listed.push(...data.memories.map(({ path }) => path));
    page = data.next_page;
  }
  expect(listed).toEqual([...files.map(([path]) => path as string), 'long.md'].sort());
  const found: string[] = [];
  for (let page: string | null | undefined; page !== null; ) {
    const { data } = await call<Output<'search'>>('memory_search', {
      query: '"shared word"',
      limit: 10,
      ...(page && { page }),
    });
    expect(data.total).toBe(23);
    found.push(...data.hits.map(({ path }) => path));
    page = data.next_page;
  }
  expect(found.sort()).toEqual(files.map(([path]) => path as string).sort());
  let text = '';
  for (let next: number | null = 1; next !== null; ) {
    const { data }: Called<Output<'read'>> = await call('memory_read', { path: 'long.md', first_line: next });
    expect(data.content.length).toBeLessThanOrEqual(16_000);
    text += data.content;
    next = data.next_line;
  }
  expect(text).toBe(readFileSync(join(dir, 'long.md'), 'utf8'));
  const { data: some } = await call<Output<'read'>>('memory_read', { path: 'long.md', first_line: 3, last_line: 4 });
  expect(some).toMatchObject({ first_line: 3, last_line: 4, total_lines: 1_500, next_line: 5 });
});

test("a secret is neither shown nor written, and a person's own stays where it is", async () => {
  const mine = `- The token is ${SECRET}.\n- Staging is alpha.\n`;
  const dir = dirWith({ 'own.md': mine });
  const { environment } = world();
  const { call } = await connectHere([`notes=${dir}:rw`], environment);
  const read = await call<Output<'read'>>('memory_read', { path: 'own.md' });
  const found = await call<Output<'search'>>('memory_search', { query: 'token' });
  const written = await call('memory_write', { path: 'new.md', content: mine });
  for (const { text, data } of [read, found, written]) expect(text + JSON.stringify(data)).not.toContain(SECRET);
  expect(written.data).toMatchObject({ redacted: 1, outcome: 'created' });
  const again = await call('memory_write', { path: 'new.md', content: mine });
  expect(again.data).toEqual({ ...written.data, outcome: 'unchanged' });
  expect(readFileSync(join(dir, 'new.md'), 'utf8')).not.toContain(SECRET);
  const { content, content_sha256 } = read.data;
  const back = await call('memory_write', { path: 'own.md', content, expected_content_sha256: content_sha256 });
  expect(back).toMatchObject({ isError: true, text: expect.stringContaining('memory_edit') });
  const [first, second] = [SECRET.slice(0, 12), SECRET.slice(12)];
  await call('memory_write', { path: 'parts.md', content: `- Log in with ${first}HERE.\n` });
  const joined = await call('memory_edit', { path: 'parts.md', old_str: 'HERE', new_str: second });
  expect(joined).toMatchObject({ isError: true, text: expect.stringContaining('would hold a secret') });
  const named = await call('memory_write', { path: `${SECRET}.md`, content: 'x' });
  expect(named).toMatchObject({ isError: true, text: expect.stringContaining('holds what looks like a secret') });
  expect(
    readdirSync(dir)
      .filter((name) => name.endsWith('.md'))
      .sort(),
  ).toEqual(['new.md', 'own.md', 'parts.md']);
  const edit = { path: 'own.md', old_str: 'alpha', new_str: `beta ${SECRET}`, expected_content_sha256: content_sha256 };
  expect((await call('memory_edit', edit)).data).toMatchObject({ outcome: 'modified', redacted: 1 });
  expect(readFileSync(join(dir, 'own.md'), 'utf8')).toMatch(
    new RegExp(`^- The token is ${SECRET}\\.\n- Staging is beta \\[redacted:`),
  );
});

test('a memory that is read counts as used where the store may be written', async () => {
  const [written, kept] = [dirWith({ 'hosts.md': HOSTS }), dirWith({ 'hosts.md': HOSTS })];
  const { environment } = world();
  await worked(kept, environment, async () => undefined);
  const { call, close } = await connectHere([`a=${written}:rw`, `b=${kept}`], environment);
  for (const store of ['a', 'b']) await call('memory_read', { store, path: 'hosts.md' });
  await close();
  const uses = (dir: string) => worked(dir, environment, (_, rows) => rows('uses'));
  expect((await uses(written)).get('hosts.md')?.used).toBe(1);
  expect((await uses(kept)).size).toBe(0);
});

test('eight stores are served; a ninth is refused by name', async () => {
  const named = (count: number) => Array.from({ length: count }, (_, nth) => `store ${nth}=${tempDir()}`);
  const { environment } = world();
  const { client, call } = await connectHere(named(8), environment);
  for (let nth = 0; nth < 8; nth++) {
    expect(client.getInstructions()).toContain(`- \`store ${nth}\` (read_only)`);
    expect((await call('memory_list', { store: `store ${nth}` })).isError).toBe(false);
  }
  const nine = named(9).flatMap((store) => ['--store', store]);
  expect(await runHere(['mcp', ...nine], environment)).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: expect.stringContaining('"store 8" cannot be attached: at most 8'),
  });
});

test('without stores the memory of the project is served, read-only, and none is made', async () => {
  const project = tempDir();
  const { environment, home } = world();
  const { NOCTURNE_MEMORY_DIR: _, ...rest } = environment;
  const { call } = await connectHere([], rest, { cwd: project });
  const nothing = { store: 'project', next_page: null };
  expect(await call('memory_list')).toMatchObject({ data: { ...nothing, memories: [] } });
  expect(await call('memory_search', { query: 'pnpm' })).toMatchObject({ data: { ...nothing, hits: [], total: 0 } });
  expect(await call('memory_read', { path: 'a.md' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('no memory at a.md'),
  });
  expect(await call('memory_write', { path: 'a.md', content: 'x' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('"project" is read-only'),
  });
  const named = ['--store', 'mine=user', '--store', 'all=project:rw'];
  expect(await jsonHere(['mcp', ...named], environment)).toMatchObject([
    { name: 'mine', dir: join(home, '.claude/memory'), access: 'read_only' },
    { name: 'all', dir: environment.NOCTURNE_MEMORY_DIR, access: 'read_write' },
  ]);
  expect(existsSync(join(home, '.claude'))).toBe(false);
});

test.each<[string[], string]>([
  [['--store', 'a=/srv/x', '--store', 'a=/srv/y'], '/srv/x has that name already'],
  [['--store', 'a=/srv/x', '--store', 'b=/srv/x:rw'], '"a" is the same directory'],
  [['--store', '/srv/x'], 'is not name=path'],
  [['--store', 'a=/'], 'the root of the file system'],
])('mcp %j is refused', async (args, words) => {
  const ended = await runHere(['mcp', ...args], world().environment);
  expect(ended).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining(words) });
});

const ENDS = ['end of stdin', 'SIGTERM'] as const;

test.for(ENDS)('at the %s it ends well, and stdout carried the protocol alone', async (how, { skip }) => {
  skip(!waysTaken(ENDS).includes(how));
  const [dir, { environment }] = [tempDir(), world()];
  const child = spawn(process.execPath, [DOOR, 'mcp', '--store', `notes=${dir}:rw`], { env: environment });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'close');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const ask = async (id: number, method: string, params: object) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return JSON.parse(String((await lines.next()).value));
  };
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'by hand', version: '1' } };
  expect(await ask(1, 'initialize', hello)).toMatchObject({ id: 1, result: { serverInfo: { name: 'nocturne' } } });
  child.stdin.write('this is no JSON\n');
  const write = { name: 'memory_write', arguments: { path: 'a.md', content: '- a\n' } };
  expect(await ask(2, 'tools/call', write)).toMatchObject({
    id: 2,
    result: { structuredContent: { outcome: 'created' } },
  });
  if (how === 'SIGTERM') child.kill('SIGTERM');
  else child.stdin.end();
  expect(await ended).toEqual([0, null]);
  expect(await lines.next()).toMatchObject({ done: true });
  expect(await worked(dir, environment, (store) => store.read('a.md'))).toBe('- a\n');
});

test('a directory that was moved away and one that took its place are two memories, without a restart between', async () => {
  const dir = dirWith({ 'hosts.md': HOSTS }, join(tempDir(), 'memory'));
  const { call } = await connectHere([`notes=${dir}:rw`], world().environment);
  const write = (path: string) => call('memory_write', { path, content: `- ${path}\n` });
  const paths = async () => (await call<Output<'list'>>('memory_list')).data.memories.map(({ path }) => path);
  expect(await write('a.md')).toMatchObject({ isError: false });
  renameSync(dir, `${dir}-away`);
  expect(await paths()).toEqual([]);
  expect(await write('b.md')).toMatchObject({ isError: false });
  rmSync(dir, { recursive: true });
  renameSync(`${dir}-away`, dir);
  expect(await write('c.md')).toMatchObject({ isError: false });
  expect(await paths()).toEqual(['a.md', 'c.md', 'hosts.md']);
});

test('what is no message is told of in one line', async () => {
  const child = spawn(process.execPath, [DOOR, 'mcp'], { env: world().environment });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [said, ended] = [text(child.stderr), once(child, 'close')];
  child.stdin.end('[]\n{"jsonrpc":"2.0","id":1,"method":"tools/call","params":null}\n');
  expect(await ended).toEqual([0, null]);
  const told = (await said).split('\n').filter((line) => line.startsWith('nocturne: '));
  expect(told.length).toBeGreaterThan(0);
  for (const line of told) expect(line).toContain('JSON that is not a JSON-RPC 2.0 message');
  expect((await said).split('\n').length).toBeLessThan(5);
});
