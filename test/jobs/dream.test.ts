import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { listVersions } from '../../src/memory/history/versions.ts';
import { allEntries } from '../../src/memory/ledger/entries.ts';
import { parseTopic } from '../../src/memory/text/topic.ts';
import { type TestApp, testApp, testModel } from '../support/app.ts';
import { calls, type MessagesRequest, says, toolResults } from '../support/messages-server.ts';
import { aSession } from '../support/session-file.ts';

const LOG = 'logs/2026/11/2026-11-20.md';

async function withEntries(...prompts: string[]): Promise<TestApp> {
  const testing = await testApp();
  await testing.app.extract({ transcript: aSession(prompts).path, ended: true });
  return testing;
}

function file({ dir }: TestApp, path: string): string {
  return readFileSync(join(dir, path), 'utf8');
}

function edit(testing: TestApp, path: string, change: (text: string) => string): void {
  writeFileSync(join(testing.dir, path), change(file(testing, path)));
}

/** The log without the entry that holds `text`. */
function without(log: string, text: string): string {
  const blocks = log.split(/^(?=- )/m);
  return blocks.filter((block) => !block.includes(text)).join('');
}

test('new entries become typed topic files and an index, and the report accounts for each of them', async () => {
  const testing = await withEntries('Always use pnpm instead of npm.', 'I prefer short answers.');
  const report = await testing.app.dream(testing.store, {});
  expect(report).toMatchObject({ outcome: 'dreamed', topics: ['user-profile.md', 'working-agreements.md'] });
  expect(file(testing, 'working-agreements.md')).toMatch(
    /^---\nname: working-agreements\n.*type: feedback\n---\n\n- Always use pnpm instead of npm\.\n$/s,
  );
  expect(file(testing, 'MEMORY.md').split('\n')).toHaveLength(report.indexLines + 1);
  const rows = JSON.parse(file(testing, '.nocturne/dreams/2026-11-21.json'));
  expect(rows.map((row: { entry: string }) => row.entry).sort()).toEqual(
    allEntries(testing.store.ledger)
      .map((row) => row.id)
      .sort(),
  );
});

test('a second dream over the same logs asks no model and changes nothing', async () => {
  const testing = await withEntries('Always use pnpm instead of npm.');
  await testing.app.dream(testing.store, {});
  const before = file(testing, 'MEMORY.md') + file(testing, 'working-agreements.md');
  expect(await testing.app.dream(testing.store, {})).toMatchObject({
    outcome: 'nothing-new',
    spend: { calls: 0 },
    operations: [],
  });
  expect(file(testing, 'MEMORY.md') + file(testing, 'working-agreements.md')).toBe(before);
});

test('a log line that a person edited, removed or added before the dream is taken at the person’s word', async () => {
  const testing = await withEntries(
    'Always use pnpm instead of npm.',
    'I prefer short answers.',
    'The release deadline is 2026-12-04.',
  );
  edit(testing, LOG, (log) =>
    without(
      log.replace('** The release deadline is 2026-12-04.', '** The release deadline is 2026-12-11.'),
      'short answers',
    ),
  );
  appendFileSync(
    join(testing.dir, LOG),
    '- **reference** The staging dashboard is at https://staging.example.org/board.\n',
  );
  await testing.app.dream(testing.store, {});
  expect(file(testing, 'project-facts.md')).toContain('- The release deadline is 2026-12-11.');
  expect(file(testing, 'references.md')).toContain('https://staging.example.org/board');
  expect((await testing.store.list()).includes('user-profile.md')).toBe(false);
});

test('a line that rested on an entry removed later goes with the next dream, and its topic’s other lines stay', async () => {
  const testing = await withEntries('Always use pnpm instead of npm.', 'Never commit to main directly.');
  await testing.app.dream(testing.store, {});
  edit(testing, LOG, (log) => without(log, 'pnpm'));
  const report = await testing.app.dream(testing.store, {});
  expect(report).toMatchObject({ outcome: 'dreamed', spend: { calls: 0 } });
  expect(report.operations.map((operation) => operation.kind)).toEqual(['retire']);
  expect(file(testing, 'working-agreements.md')).not.toContain('pnpm');
  expect(file(testing, 'working-agreements.md')).toContain('Never commit to main directly.');
});

test('a log whose lines all went at once stops the dream, which asks before it believes it', async () => {
  const testing = await withEntries(
    'Always use pnpm instead of npm.',
    'I prefer short answers.',
    'The release deadline is 2026-12-04.',
  );
  await testing.app.dream(testing.store, {});
  writeFileSync(join(testing.dir, LOG), '# 2026-11-20\n');
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'refused', operations: [] });
  expect(file(testing, 'working-agreements.md')).toContain('pnpm');
  expect((await testing.app.dream(testing.store, { acceptMissing: true })).outcome).toBe('dreamed');
  expect(existsSync(join(testing.dir, 'working-agreements.md'))).toBe(false);
});

test('files that were wiped stop the dream, which asks before it believes it', async () => {
  const testing = await withEntries('Always use pnpm instead of npm.', 'I prefer short answers.');
  await testing.app.dream(testing.store, {});
  const topics = ['MEMORY.md', 'user-profile.md', 'working-agreements.md'];
  for (const path of topics) rmSync(join(testing.dir, path));
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'refused', operations: [] });
  expect((await testing.store.list()).filter((path) => !path.startsWith('logs/'))).toEqual([]);
  expect(await testing.store.missing()).toEqual(topics);
  expect((await testing.app.dream(testing.store, { acceptMissing: true })).outcome).not.toBe('refused');
  expect(await testing.store.missing()).toEqual([]);
});

test('an index that a person pinned stays as it is', async () => {
  const testing = await withEntries('Always use pnpm instead of npm.');
  const mine = '---\npinned: true\n---\n# Mine\n';
  writeFileSync(join(testing.dir, 'MEMORY.md'), mine);
  expect((await testing.app.dream(testing.store, {})).outcome).toBe('dreamed');
  expect(file(testing, 'MEMORY.md')).toBe(mine);
});

/** A night after these rules were said and kept, in which a session says one more thing. */
async function nightAfter(rules: string[], said: string) {
  const before = await withEntries(...rules);
  await before.app.dream(before.store, {});
  const { lines } = parseTopic('working-agreements.md', file(before, 'working-agreements.md'));
  expect(lines).toHaveLength(rules.length);
  const session = aSession([said], {
    id: '22222222-2222-4333-8444-555555555555',
    startsAt: '2026-11-20T12:00:00Z',
  });
  await before.app.extract({ transcript: session.path, ended: true });
  const entry = allEntries(before.store.ledger).find((row) => row.state === 'new')?.id;
  const night = async (operations: unknown[]) => {
    const model = await testModel([calls('propose_operations', { operations }), says('Done.')]);
    return { model, ...(await testApp({ server: model, dir: before.dir, home: before.home })) };
  };
  return { entry, lines, night };
}

test('a rule that is taken back goes, and with the last line of a topic its file and its index line; a version keeps it', async () => {
  const { entry, lines, night } = await nightAfter(
    ['Always use pnpm instead of npm.'],
    'Never insist on pnpm again: that rule was dropped.',
  );
  const retire = { kind: 'put', entries: [entry], reason: 'Taken back.', out: lines.map(({ id }) => id) };
  const testing = await night([retire]);
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'dreamed', left: [] });
  expect(testing.model.requests).toHaveLength(1);
  expect(existsSync(join(testing.dir, 'working-agreements.md'))).toBe(false);
  expect(file(testing, 'MEMORY.md')).not.toContain('working-agreements');
  const { versions } = listVersions(testing.store.ledger, { path: 'working-agreements.md' });
  expect(versions.map(({ operation }) => operation)).toEqual(['deleted', 'created']);
  expect(file(testing, '.nocturne/dreams/2026-11-21.md')).toContain('was: Always use pnpm instead of npm.');
  await testing.app.undo(testing.store, { last: true });
  expect(file(testing, 'working-agreements.md')).toContain('Always use pnpm instead of npm.');
});

test('what would take more than a quarter of the memory is told before it is accepted, and the rest is carried out', async () => {
  const rules = [
    'Always use pnpm instead of npm.',
    'Never edit generated files.',
    'Always write the tests first.',
    'Never use default exports.',
    'Always squash pull requests.',
    'Never print a password.',
  ];
  const { entry, lines, night } = await nightAfter(
    rules,
    'Never commit pnpm, generated files, tests, exports or pull requests to main directly.',
  );
  const out = lines.slice(0, 5).map((line) => line.id);
  const testing = await night([{ kind: 'put', entries: [entry], reason: 'Old.', out }]);
  const report = await testing.app.dream(testing.store, {});
  expect(report).toMatchObject({ outcome: 'failed', error: { code: 'bad-reply' } });
  expect(JSON.stringify(toolResults(testing.model.requests[1]))).toContain(
    '5 of 6 lines would go, more than a quarter',
  );
  expect(parseTopic('x.md', file(testing, 'working-agreements.md')).lines).toHaveLength(6);
  expect(file(testing, '.nocturne/dreams/2026-11-21.md')).toContain('1 failed');
});

test('hand-written topics and index lines survive, and no line is made for a topic that has one', async () => {
  const testing = await withEntries('Always use pnpm instead of npm.');
  const mine = '---\nname: mine\ndescription: Written by hand\ntype: user\nextra: [1, 2]\n---\nJust a paragraph.\n';
  writeFileSync(join(testing.dir, 'mine.md'), mine);
  writeFileSync(join(testing.dir, 'MEMORY.md'), '# My memory\n\n- [Mine](mine.md) — my own words\n');
  await testing.app.dream(testing.store, {});
  expect(file(testing, 'mine.md')).toBe(mine);
  const index = file(testing, 'MEMORY.md');
  expect(index).toContain('# My memory\n\n- [Mine](mine.md) — my own words\n');
  expect(index.match(/mine\.md/g)).toHaveLength(1);
  expect(index).toContain('[working-agreements.md]');
});

test('a topic file that a person adds is in the index after the next dream, without a model', async () => {
  const testing = await withEntries('Always use pnpm instead of npm.');
  await testing.app.dream(testing.store, {});
  writeFileSync(
    join(testing.dir, 'deploy.md'),
    '---\nname: deploy\ndescription: How we deploy\ntype: project\n---\n- by hand\n',
  );
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'nothing-new', spend: { calls: 0 } });
  expect(file(testing, 'MEMORY.md')).toContain('- How we deploy [deploy.md]');
});

test('an edit made while the model was thinking survives the commit', async () => {
  const first = await withEntries('Always use pnpm instead of npm.');
  await first.app.dream(first.store, {});
  const session = aSession(['Never commit to main directly.'], { id: '22222222-2222-4333-8444-555555555555' });
  await first.app.extract({ transcript: session.path, ended: true });
  const model = await testModel((request, call) => {
    if (call > 1) return says('Done.');
    appendFileSync(join(first.dir, 'working-agreements.md'), '- A person was here.\n');
    return propose(request, { topic: 'working-agreements', line: 'Never commit to main directly.' });
  });
  const second = await testApp({ server: model, dir: first.dir, home: first.home });
  expect((await second.app.dream(second.store, {})).outcome).toBe('dreamed');
  const text = file(second, 'working-agreements.md');
  for (const line of ['Always use pnpm', 'A person was here.', 'Never commit to main']) expect(text).toContain(line);
});

test.each([
  [
    'an entry is left out',
    () => ({ operations: [{ kind: 'drop', entries: ['e_000000000000'], reason: 'x', because: 'unsupported' }] }),
    'no such entry',
  ],
  ['a new line says what no entry says', (id: string) => add(id, 'Use port 9999.'), '9999'],
  [
    'a new topic has no description',
    (id: string) => ({ operations: [{ ...add(id, 'Listen on port 8080.').operations[0], description: undefined }] }),
    'description',
  ],
  [
    'a line is replaced that is not there',
    (id: string) => ({
      operations: [{ ...add(id, 'Listen on port 8080.').operations[0], out: ['deadbeef'] }],
    }),
    'deadbeef',
  ],
  ['the kind is unknown', (id: string) => ({ operations: [{ kind: 'rewrite', entries: [id], reason: 'x' }] }), 'kind'],
])('operations are refused and mended when %s', async (_, wrong, reason) => {
  const before = await withEntries('Always listen on port 8080 instead of 80.');
  const [entry] = allEntries(before.store.ledger);
  const id = entry?.id ?? '';
  const model = await testModel([
    calls('propose_operations', wrong(id)),
    calls('propose_operations', add(id, 'Listen on port 8080, not 80.')),
    says('Done.'),
  ]);
  const testing = await testApp({ server: model, dir: before.dir, home: before.home });
  expect((await testing.app.dream(testing.store, {})).outcome).toBe('dreamed');
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain(reason);
  expect(file(testing, 'ports.md')).toContain('- Listen on port 8080, not 80.');
});

test('a topic that would outgrow its file is told of, and the lines go to another', async () => {
  const before = await withEntries('Always listen on port 8080 instead of 80.');
  const id = allEntries(before.store.ledger)[0]?.id ?? '';
  writeFileSync(join(before.dir, 'ports.md'), `---\ntype: feedback\n---\n- ${'x'.repeat(2_000)}\n`);
  const elsewhere = add(id, 'Listen on port 8080, not 80.');
  Object.assign(elsewhere.operations[0] as object, { topic: 'more-ports' });
  const model = await testModel([
    calls('propose_operations', add(id, 'Listen on port 8080, not 80.')),
    calls('propose_operations', elsewhere),
    says('Done.'),
  ]);
  const settings = { memoryBytes: 2_048 };
  const testing = await testApp({ server: model, dir: before.dir, home: before.home, settings });
  expect((await testing.app.dream(testing.store, {})).outcome).toBe('dreamed');
  expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toContain('a topic may have 2048');
  expect(file(testing, 'more-ports.md')).toContain('- Listen on port 8080, not 80.');
});

test('a file in index/ that a person wrote stays, and one that was generated goes when nothing is left for it', async () => {
  const testing = await withEntries('Always use pnpm instead of npm.');
  mkdirSync(join(testing.dir, 'index'));
  const mine = '# Project\n\nRead these first.\n';
  writeFileSync(join(testing.dir, 'index/project.md'), mine);
  writeFileSync(join(testing.dir, 'index/user.md'), '# User\n\n- Somebody [somebody.md]\n');
  await testing.app.dream(testing.store, {});
  expect(file(testing, 'index/project.md')).toBe(mine);
  expect(await testing.store.read('index/user.md')).toBeNull();
});

test('a model that proposes nothing usable leaves the memory as it was', async () => {
  const before = await withEntries('Always listen on port 8080 instead of 80.');
  const model = await testModel([says('I would rather not.')]);
  const testing = await testApp({ server: model, dir: before.dir, home: before.home });
  expect(await testing.app.dream(testing.store, {})).toMatchObject({ outcome: 'failed', error: { code: 'bad-reply' } });
  expect((await testing.store.list()).filter((path) => !path.startsWith('logs/'))).toEqual([]);
});

function add(id: string, text: string) {
  return {
    operations: [
      {
        ...{ kind: 'put', reason: 'New.', topic: 'ports', description: 'Ports', type: 'feedback' },
        in: [{ text, entries: [id] }],
      },
    ],
  };
}

function propose(request: MessagesRequest, { topic, line }: { topic: string; line: string }) {
  const id = /e_[0-9a-f]{12}/.exec(JSON.stringify(request.messages).split('<entries>')[1] ?? '')?.[0] ?? '';
  return calls('propose_operations', {
    operations: [{ kind: 'put', topic, reason: 'New.', in: [{ text: line, entries: [id] }] }],
  });
}
