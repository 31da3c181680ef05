// What a session is told first where it begins, with the day of each line, and what is found however many topics there are.

import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/base/config/config.ts';
import { answerHook, type RecallOptions, recallFor } from '../../src/hook/start-recall.ts';
import { testApp } from '../support/app.ts';
import { recordIn, takeIn } from '../support/recalling.ts';
import { aSession } from '../support/session-file.ts';
import { tempDir } from '../support/temp.ts';

const topic = (description: string, type: string, lines: string[]) =>
  `---\nname: x\ndescription: ${description}\ntype: ${type}\n---\n${lines.map((line) => `- ${line}\n`).join('')}`;

async function world(files: Record<string, string> = {}) {
  const testing = await testApp();
  for (const [path, text] of Object.entries(files)) writeFileSync(join(testing.dir, path), text);
  await takeIn(testing);
  const config = await loadConfig({}, testing.environment);
  const ask = (options: RecallOptions = {}) => recallFor(config, { cwd: testing.home, ...options });
  return { ...testing, testing, config, ask };
}

/** The paths of the topics that a text tells, in its order. */
const told = (text: string) => [...text.matchAll(/^### (\S+)/gm)].map(([, path]) => path);

test('each line that somebody said carries the day on which it was last said, and one of a file’s own none', async () => {
  const { nocturne, ask, dir } = await world();
  await nocturne('learn', aSession(['Always use pnpm instead of npm.', 'The deadline is 2026-12-04.']).path);
  await nocturne('dream');
  writeFileSync(join(dir, 'by-hand.md'), topic('By hand', 'project', ['Plums are ripe.']));
  const { text } = await ask();
  const days = [...text.matchAll(/^- (.*) \((\d{4}-\d\d-\d\d)\)$/gm)].map(([, line, day]) => [line, day]);
  expect(days.length).toBeGreaterThan(0);
  expect(days.every(([, day]) => day === '2026-11-20')).toBe(true);
  expect(text).toMatch(/### by-hand\.md \(project, last changed \d{4}-\d\d-\d\d\): By hand\n- Plums are ripe\.\n/);
  expect(text).not.toContain('last changed today');
});

test('rules come first, then who the user is, what is open, what is near to the branch and the directory, and the rest', async () => {
  const { ask } = await world({
    'MEMORY.md': ['rest', 'near', 'open', 'user', 'rules', 'deep'].map((name) => `- ${name} [${name}.md]\n`).join(''),
    'rest.md': topic('Rest', 'project', ['Plums are ripe.']),
    'near.md': topic('Near', 'project', ['The invoice parser reads CSV.']),
    'deep.md': topic('Deep', 'reference', ['Tariffs are kept in the warehouse.']),
    'open.md': topic('Not decided', 'project', ['Open: SQLite or PostgreSQL.']),
    'user.md': topic('Who', 'user', ['A data engineer.']),
    'rules.md': topic('Rules', 'feedback', ['Answers are short.']),
  });
  const root = tempDir();
  execFileSync('git', ['init', '-q', '-b', 'fix/invoice-parser', root]);
  mkdirSync(join(root, 'packages/tariffs'), { recursive: true });
  const order = told((await ask({ cwd: join(root, 'packages/tariffs') })).text);
  expect(order.slice(0, 3)).toEqual(['rules.md', 'user.md', 'open.md']);
  expect(order.slice(3, 5).sort()).toEqual(['deep.md', 'near.md']);
  expect(order[5]).toBe('rest.md');
});

test('topics near to what the last session said come before the rest', async () => {
  const names = ['plums', 'pears', 'pnpm', 'figs'];
  const { ask, nocturne } = await world({
    'MEMORY.md': names.map((name) => `- ${name} [${name}.md]\n`).join(''),
    ...Object.fromEntries(
      names.map((name) => [`${name}.md`, topic(name, 'project', [`The ${name} are looked after.`])]),
    ),
  });
  await nocturne('learn', aSession(['Always use pnpm instead of npm.', 'Thanks.']).path);
  expect(told((await ask()).text)[0]).toBe('pnpm.md');
});

test('many rules leave room for others, and what found no room is named with its file', async () => {
  const long = Array.from({ length: 12 }, (_, n) => `Rule ${n}: ${'say what is meant and no more '.repeat(2)}.`);
  const rules = Array.from({ length: 30 }, (_, n) => `rules-${n}`);
  const { ask } = await world({
    'MEMORY.md': [...rules, 'user', 'plain'].map((name) => `- ${name} [${name}.md]\n`).join(''),
    ...Object.fromEntries(rules.map((name) => [`${name}.md`, topic(name, 'feedback', long)])),
    'user.md': topic('Who', 'user', ['A data engineer.']),
    'plain.md': topic('Plain', 'project', ['Plums are ripe.']),
  });
  const { text } = await ask({ agent: 'claude-code' });
  expect(text.length).toBeLessThanOrEqual(10_000);
  expect(told(text)).toEqual(expect.arrayContaining(['user.md', 'plain.md']));
  expect(told(text).some((path) => path?.startsWith('rules-'))).toBe(true);
  const left = /^## Not told here: read what is needed\n\n(.*)$/m.exec(text)?.[1]?.split(', ') ?? [];
  expect(left.length).toBeGreaterThan(10);
  expect(left.filter((path) => told(text).includes(path))).toEqual([]);
  expect(told(text).length + left.length).toBe(32);
});

test('what is not certain stays with its topic, the newest first, and a topic of nothing else does not vanish', async () => {
  const { ask } = await world({
    'MEMORY.md': '- a [a.md]\n- b [b.md]\n',
    'a.md': topic('A', 'feedback', [
      'Seen once, 2026-11-02: Old habit.',
      'Plain.',
      'Seen once, 2026-11-19: New habit.',
    ]),
    'b.md': topic('B', 'feedback', ['Seen once, 2026-11-11: Only habit.']),
  });
  const { text, topics } = await ask();
  expect(text).toContain('- Plain.\n- Seen once, 2026-11-19: New habit.\n- Seen once, 2026-11-02: Old habit.\n');
  expect(text).toMatch(/### b\.md \(feedback\)[^\n]*\n- Seen once, 2026-11-11: Only habit\.\n/);
  expect(topics.map(({ path }) => path).sort()).toEqual(['a.md', 'b.md']);
});

test('of what agents found a session is told what is near and what is newest first, then what there is room for, and where the rest is', async () => {
  const found = (day: string, line: string) =>
    `Found by the agent, ${day}: ${line} ${'and so on, at length '.repeat(8)}`;
  const lines = Array.from({ length: 60 }, (_, n) => found(`2026-11-${10 + (n % 9)}`, `Finding ${n}.`));
  const { ask } = await world({
    'MEMORY.md': '- old [old.md]\n- many [many.md]\n- rules [rules.md]\n',
    'old.md': topic('Old', 'project', [
      found('2026-09-01', 'The invoice parser needs LC_ALL.'),
      found('2026-08-01', 'Plums.'),
    ]),
    'many.md': topic('Many', 'project', [...lines, found('2026-11-20', 'The newest.')]),
    'rules.md': topic('Rules', 'feedback', ['Answers are short.']),
  });
  const root = tempDir();
  execFileSync('git', ['init', '-q', '-b', 'fix/invoice-parser', root]);
  const { text } = await ask({ cwd: root, agent: 'claude-code' });
  const part = text.split('## Found out by agents, said by nobody\n\n')[1] ?? '';
  const told = [...part.matchAll(/^- (\S+ \S+)/gm)].map(([, words]) => words);
  expect(told.slice(0, 3)).toEqual(['The invoice', 'The newest.', 'Finding 8.']);
  expect(told.length).toBeGreaterThan(30);
  expect(told).not.toContain('Plums. and');
  expect(text).toContain('- Answers are short.');
  expect(text.length).toBeLessThanOrEqual(10_000);
  expect(text).toMatch(/^## Not told here: read what is needed\n\n(?=.*old\.md)(?=.*many\.md)/m);
});

test('what an agent found out is told before a night has sorted it, and what was only shown is not', async () => {
  const { ask, testing } = await world();
  const said = { type: 'project', strength: 'implied' } as const;
  await recordIn(testing, '2026-11-20T09:00:00Z', {
    ...said,
    found: 'reason',
    text: 'Lint with make check, as CI does.',
  });
  await recordIn(testing, '2026-11-10T09:00:00Z', { ...said, found: 'outcome', text: 'Branch feat/x is pushed.' });
  await recordIn(testing, '2026-11-20T10:00:00Z', { ...said, text: 'Reads the diff first.' });
  const { text } = await ask();
  expect(text).toContain(
    '## Found out by agents, said by nobody\n\n- Lint with make check, as CI does. (found by the agent, 2026-11-20)\n',
  );
  expect(text).not.toMatch(/Reads the diff|feat\/x/);
});

test('what was put away is not told', async () => {
  const { ask, dir, testing } = await world({
    'MEMORY.md': '- plums [plums.md]\n- figs [figs.md]\n',
    'plums.md': topic('Plums: ripeness, harvest', 'project', ['Plums are ripe.']),
    'figs.md': topic('Figs', 'project', ['Figs are late.']),
  });
  mkdirSync(join(dir, 'archive'));
  writeFileSync(join(dir, 'archive/plums.md'), topic('Plums', 'project', ['Harvest was on 2026-09-01.']));
  await takeIn(testing);
  for (const query of ['', 'plums harvest']) {
    const { text } = await ask({ query });
    expect(text).toContain('Plums are ripe.');
    expect(text).not.toMatch(/archive\/|2026-09-01/);
  }
});

test('a topic is found by the words of its lines beyond what the index names, and one written by hand a moment ago too', async () => {
  const names = Array.from({ length: 260 }, (_, n) => `topic-${n}`);
  const { ask, dir } = await world({
    'MEMORY.md': names
      .slice(0, 190)
      .map((name) => `- ${name} [${name}.md]\n`)
      .join(''),
    ...Object.fromEntries(
      names.map((name, n) => [`${name}.md`, topic(`About ${name}`, 'project', [`Says ${n === 233 ? 'quince' : n}.`])]),
    ),
  });
  expect((await ask({ query: 'where does the quince stand' })).topics[0]).toMatchObject({
    path: 'topic-233.md',
    matches: true,
  });
  writeFileSync(join(dir, 'fresh.md'), topic('Fresh', 'project', ['The medlar is ripe.']));
  expect((await ask({ query: 'medlar' })).topics[0]).toMatchObject({ path: 'fresh.md', matches: true });
  expect((await ask()).text).toContain('fresh.md');
  expect((await ask({ query: 'topic-25' })).topics[0]?.path).toBe('topic-25.md');
});

test('names of code are looked for in the working tree with and without backticks, and trade names are no names of code', async () => {
  const { ask } = await world({
    'MEMORY.md': '- a [a.md]\n',
    'a.md': topic('A', 'project', [
      'Calls keepMe() and dropMe(), sets max_tries and old_name.',
      'On GitHub, macOS and iPhone.',
    ]),
  });
  const root = tempDir();
  execFileSync('git', ['init', '-q', root]);
  writeFileSync(join(root, 'a.ts'), 'export function keepMe() { max_tries; }\n');
  expect((await ask({ cwd: root })).text).toContain('Not found in the working tree now: `dropMe()`, `old_name`.');
});

test('the number that a person is shown is the number of lines told, in every agent', async () => {
  const { config, testing, home } = await world({
    'MEMORY.md': '- a [a.md]\n- b [b.md]\n',
    'a.md': topic('A', 'project', ['One:\n  - with a part\n  - and another', 'Two.', 'Seen once, 2026-11-19: Three.']),
    'b.md': '---\ndescription: B\ntype: user\n---\n# Of them\n\nFour.\n\n```\nfive\n```\n',
  });
  await recordIn(testing, '2026-11-20T09:00:00Z', { type: 'project', text: 'Six.' });
  for (const agent of ['claude-code', 'codex', 'gemini']) {
    const input = { hook_event_name: 'SessionStart', source: 'startup', session_id: agent, cwd: home };
    const said = JSON.parse(await answerHook(config, { input, options: { agent } }));
    expect([agent, said.systemMessage]).toEqual([agent, 'nocturne: 6 lines recalled; 1 learned since yesterday']);
  }
});
