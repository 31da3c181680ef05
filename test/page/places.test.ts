// What the page says of lines, and how much it sends; what it calls memories, which of them it shows, and how those that hold nothing
// are removed and come back. Asked without a browser.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scrubOf } from '../../src/memory/redaction.ts';
import { put } from '../../src/queue/inbox.ts';
import { pause } from '../../src/queue/pauses.ts';
import { type Served, served } from '../server/served.ts';
import { sized } from '../support/depth.ts';
import { run } from '../support/run.ts';
import { tempDir } from '../support/temp.ts';
import { addStore, hasProject, learnInstead, putAt, textAt, write } from './beside-page.ts';
import { enter, OURS } from './enter.ts';
import { fillMemory } from './filled.ts';

async function visiting(world: Served) {
  const { cookie, token } = await enter(world);
  const headers = { ...OURS, cookie };
  const read = async (path: string) => (await fetch(`${world.url}${path}`, { headers })).text();
  /** Answers what the page says afterwards. */
  const act = async (name: string, fields: Record<string, string>) => {
    const body = new URLSearchParams({ token, to: '/cost', ...fields });
    const answer = await fetch(`${world.url}/do/${name}`, {
      method: 'POST',
      headers: { ...headers, origin: world.url },
      body,
    });
    return answer.text();
  };
  return { read, act, token };
}

const named = (html: string) =>
  [...html.matchAll(/<li><a href="\/memory\/[^"]*"[^>]*><span class="said">([^<]*)</g)].map(([, name]) => name);
const toast = (html: string) => /<div class="toast[^>]*><p>([^<]*)</.exec(html)?.[1] ?? '';

test('what was redacted offers no undo, which could not be; what a person remembered does', async () => {
  const world = await served();
  await world.app.remember(world.store, { text: 'The door says heron.', type: 'project' });
  await world.app.redact({ scrub: scrubOf('heron') });
  const { read } = await visiting(world);
  const [, ...cards] = (await read('/changes')).split('<li class="card change');
  const offers = cards.map((card) => [/<strong>(.*?)<\/strong>/.exec(card)?.[1], card.includes('action="/do/undo"')]);
  expect(offers).toEqual([
    ['You took a text out for good', false],
    ['You remembered', true],
  ]);
});

test('a line says what is uncertain about it or in conflict with it, in place', async () => {
  const world = await served();
  const lines = [
    'Deploys to staging go out on Monday.',
    'Seen once, 2026-11-20: Reviews are done in pairs.',
    'Found by the agent, 2026-11-19: The tests need port 5433.',
    'The release waits for review (as of 2026-11-02, may be over)',
    'Plain and certain.',
  ];
  const head = '---\nname: a\ndescription: A\ntype: project\n---\n\n';
  await write(world, 'a.md', `${head}${lines.map((line) => `- ${line}\n`).join('')}`);
  await learnInstead(world, 'Deploys to staging go out on Tuesday.', 'Deploys to staging go out on Monday.');
  const html = await (await visiting(world)).read('/');
  expect(html).toContain('<p class="meta">Written by you, ');
  const marks = [...html.matchAll(/<li id="l-.*?<\/summary>(.*?)<\/details>/gs)].map(([item, evidence = '']) => [
    [...item.matchAll(/<span class="tag [^"]*">([^<]*)</g)].map(([, mark]) => mark).join(),
    evidence.includes('Told since, in no topic yet'),
  ]);
  expect(marks).toEqual([
    ['told otherwise since', true],
    ['seen once, 2026-11-20', false],
    ['found by the agent, 2026-11-19', false],
    ['may be over', false],
    ['', false],
  ]);
  // The mark stands beside the words, and not in them, too.
  expect(html).not.toContain('>Seen once');
});

test('the bar of every view says what is paused', async () => {
  const world = await served();
  const { read, act } = await visiting(world);
  const said = async () =>
    [...(await read('/next')).matchAll(/<span class="tag wait">([^<]*)</g)].map(([, tag]) => tag);
  expect(await said()).toEqual([]);
  await act('pause', { project: '', hours: '1' });
  await pause(world.app.db, { project: '/work/orchard', until: null }, world.app.clock.now());
  expect(await said()).toEqual(['paused', 'orchard paused']);
  await act('resume', { project: '' });
  expect(await said()).toEqual(['orchard paused']);
});

test('what a memory of many lines sends is small: no view has more than 300 kB', async () => {
  const world = await served();
  const topics = sized({ quick: 10, deep: 200 });
  const says = (kind: string, n: number) => `The ${kind} number ${n} says ${'something or other '.repeat(6)}${n}.`;
  const plan = { topics, lines: 50, sessions: 10, nights: 20, proposals: 20, transcripts: tempDir() };
  await fillMemory(world, { ...plan, says, topic: (n) => `topic-${n}`, now: world.app.clock.now() });
  const { read } = await visiting(world);
  for (const path of [
    '/',
    '/next',
    '/changes',
    '/cost',
    '/search?q=number',
    `/memory/${world.store.id}/topic/topic-1.md`,
  ])
    expect([path, Buffer.byteLength(await read(path)) < 300_000]).toEqual([path, true]);
});

test('projects of one name go by the shortest tail that tells them apart, stores by their names', async () => {
  const world = await served();
  const root = tempDir();
  for (const path of ['acme/web', 'globex/web', 'globex/api', 'one/deep/x', 'two/deep/x'])
    await hasProject(world, join(root, path));
  for (const name of ['notes', 'notes']) await addStore(world, name);
  const { read } = await visiting(world);
  const names = named(await read('/'));
  expect(names).toEqual(expect.arrayContaining(['acme/web', 'globex/web', 'api', 'one/deep/x', 'two/deep/x']));
  const stores = names.filter((name) => name?.startsWith('notes'));
  expect(new Set(stores).size).toBe(2);
  for (const store of stores) expect(store).toMatch(/^notes \(\w{4}\)$/);
});

test('a memory that holds nothing is hidden and removed with all others, and undo brings each back', async () => {
  const world = await served();
  await write(world, 'a.md', '- One.\n');
  const dir = join(tempDir(), 'empty', 'memory');
  mkdirSync(dir, { recursive: true });
  const { id } = await world.app.memories.ofDirectory(dir, { scope: 'project', name: 'nothing-here' });
  // A file is something, also without a line.
  const plans = join(tempDir(), 'plans');
  mkdirSync(plans);
  writeFileSync(join(plans, 'plan.md'), '# Plan\n');
  await world.app.memories.ofDirectory(plans, { scope: 'project', name: 'plans' });
  const { read, act } = await visiting(world);
  expect(await read('/')).not.toContain(id);
  const shown = await read('/cost');
  expect(shown).toContain('1 empty memory is not shown');
  expect(shown).toContain('0 lines, 0 entries, 0 waiting sessions; 0 sessions read');
  const ids = /name="ids" value="([^"]+)"/.exec(shown)?.[1] ?? '';
  expect(ids).toBe(id);
  const removed = await act('remove-empty', { ids });
  expect(toast(removed)).toContain('Removed 1 empty memory.');
  expect(await read('/cost')).not.toContain('not shown');
  const back = await run(['undo', id], world.environment);
  expect(back).toMatchObject({ code: 0, stdout: expect.stringContaining('is back') });
});

test('what was written meanwhile, also by an editor, is not removed, nor anything with it', async () => {
  const world = await served();
  const dirs = ['one', 'two'].map((name) => join(tempDir(), name, 'memory'));
  const ids: string[] = [];
  for (const dir of dirs) {
    mkdirSync(dir, { recursive: true });
    ids.push((await world.app.memories.ofDirectory(dir, { scope: 'project', name: 'x' })).id);
  }
  const { read, act } = await visiting(world);
  writeFileSync(join(dirs[1] as string, 'late.md'), '- Written meanwhile.\n');
  expect(toast(await act('remove-empty', { ids: ids.join(' ') }))).toContain('so nothing was removed');
  const cost = await read('/cost');
  expect(cost).toContain(ids[0]);
  expect(await read('/')).toContain('Written meanwhile.');
  expect(toast(await act('remove-empty', { ids: ids.join(' ') }))).toContain('so nothing was removed');
});

test('a secret in a form that forgets or edits is kept nowhere, and the line that holds one is forgotten all the same', async () => {
  const world = await served();
  const secret = `sk-ant-api03-${'Ab9xQ2'.repeat(15)}AA`;
  await putAt(world, 'a.md', `---\nname: a\ndescription: A\ntype: project\n---\n\n- One.\n- The token is ${secret}.\n`);
  const { act } = await visiting(world);
  const memory = world.store.id;
  const rows = async () => JSON.stringify(await world.app.db.all("select * from job where kind <> 'check'"));
  const unknown = await act('forget', { memory, target: `what says ${secret}x`, said: `the token ${secret}x` });
  expect(toast(unknown)).toContain('It is not there any more.');
  expect(unknown).not.toContain(secret);
  expect(await rows()).not.toContain(secret);
  const done = await act('forget', { memory, target: 'a.md:8', said: `The token is ${secret}.` });
  expect(toast(done)).toContain('Forgotten: 1 line.');
  expect(toast(done)).not.toContain(secret);
  expect(await textAt(world, 'a.md')).not.toContain(secret);
  expect(await rows()).not.toContain(secret);
});

test('what failed, and what waits since the provider or a key did not let it, is tried again by one button', async () => {
  const world = await served();
  const { db, clock } = world.app;
  const tomorrow = new Date(clock.now().getTime() + 86_400_000);
  for (const [key, state, code] of [
    ['a', 'failed', 'oversize'],
    ['b', 'waiting', 'overloaded'],
    ['c', 'waiting', 'auth'],
  ] as const) {
    const item = { kind: 'extract', key, memory: world.store.id, payload: {}, notBefore: tomorrow } as const;
    await db.write((sql) => put(sql, item, clock.now()));
    await db.run('update inbox set state = ?, code = ? where key = ?', state, code, key);
  }
  const { act } = await visiting(world);
  expect(toast(await act('retry', {}))).toBe('3 jobs for the next worker.');
  const later = await db.all('select key from inbox where not_before > ?', clock.now().toISOString());
  expect(later).toEqual([]);
});
