// What people have on their disks: a home and memories that an older nocturne wrote. They open, nothing of them is lost,
// nothing is done twice, and everything that was begun can be ended.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Environment } from '../../src/base/config/config.ts';
import { testModel } from '../support/app.ts';
import { copyBefore } from '../support/before.ts';
import { spooledIn } from '../support/hook.ts';
import type { Proposed } from '../support/jobs-in-process.ts';
import type { MessagesRequest } from '../support/messages-server.ts';
import { entriesShown, messagesBy, obey, shown } from '../support/obedient.ts';
import { aPerson } from '../support/person.ts';
import { jsonHere, runHere } from '../support/run-here.ts';
import { sessionFile } from '../support/session-file.ts';

const NOW = '2026-11-21T06:00:00Z';
const LATER = '2026-11-22T02:00:00Z';
const PNPM = 'Always use pnpm instead of npm.';
const DELTA = 'Deploys go through the pipeline delta.';
const SORTING = 'Undoes the formatting and sorts the imports by hand.';
const COUNTING = 'Counts the barrels again, from the door.';
const OILING = 'Stops the stone and oils the axle once more.';

/** Everything that a person typed in the sessions of the fixture and of these tests, as far as it could be kept. */
const SAID = [
  ...['Remember that the CI runs on bravo.', 'Never rerun bravo at night.', 'Never touch the vendored folder.'],
  ...['Always run the linter twice.', 'Never log customer names.', 'We use Redis 8 for the sessions.', DELTA],
  ...[
    'Staging runs on alpha.',
    'The release deadline is 2026-12-04.',
    'Take the formatting out again and sort by hand.',
  ],
];
const HABITS: Record<string, string> = {
  'Take the formatting out again and sort by hand.': 'Takes the formatting out again and sorts the imports by hand.',
};

/**
 * Records whatever code lets it record of what it is shown, and keeps all entries of a night; where a topic or an entry of
 * the same night shows the same habit, in one line.
 */
const eager = obey({
  record: (request) =>
    messagesBy(request, 'human').flatMap((message) =>
      SAID.filter((text) => shown(request, 'excerpt').includes(text)).map((quote) => ({
        type: 'feedback',
        strength: HABITS[quote] ? 'implied' : 'stated',
        text: HABITS[quote] ?? quote,
        evidence: [{ message, quote }],
      })),
    ),
  propose(request) {
    const [habits, others] = [[], []] as ReturnType<typeof entriesShown>[];
    for (const entry of entriesShown(request)) (/sorts the imports/.test(entry.text) ? habits : others)?.push(entry);
    const cited = habits?.map(({ id }) => id) ?? [];
    const old = /^\[(\w{8})[^\]]*\] .*sorts the imports/m.exec(shown(request, 'topics'))?.[1];
    const line = { text: 'Undoes the formatting and sorts the imports by hand.', entries: cited };
    const into = { entries: cited, topic: 'working-agreements', lines: [line], reason: 'Seen twice.' };
    return [
      ...(cited.length > 0 ? [old ? { kind: 'merge', replaces: [old], ...into } : { kind: 'add', ...into }] : []),
      ...(others ?? []).map(({ id, text }) => ({
        ...{ kind: 'add', entries: [id], topic: 'rules', type: 'feedback', description: 'What holds' },
        ...{ lines: [{ text, entries: [id] }], reason: 'New.' },
      })),
    ];
  },
});

const model = () => testModel((request: MessagesRequest) => eager(request));

interface Listed {
  topics: { name: string; pinned: boolean }[];
  waiting: { text: string }[];
}

/** How often these words are kept: as a line of a topic, or as an entry that waits for one. */
async function timesKept(words: string, memory: string, environment: Environment): Promise<number> {
  const { waiting } = await jsonHere<Listed>(['list', '--memory', memory], environment);
  const lines = readdirSync(memory)
    .filter((name) => name.endsWith('.md') && name !== 'MEMORY.md')
    .flatMap((name) => readFileSync(join(memory, name), 'utf8').split('\n'));
  return [...lines, ...waiting.map(({ text }) => text)].filter((text) => text.includes(words)).length;
}

/** What the daily logs say, all of them. */
function logsOf(memory: string): string {
  return readdirSync(join(memory, 'logs'), { recursive: true, withFileTypes: true })
    .filter((item) => item.isFile())
    .map((item) => readFileSync(join(item.parentPath, item.name), 'utf8'))
    .join('\n');
}

test('status, list, search and check find what was kept, what waits and what was put away', async () => {
  const before = copyBefore();
  const environment = before.environment(NOW);
  const orchard = before.memory('orchard');
  const { topics } = await jsonHere<Listed>(['list', '--memory', orchard], environment);
  const named = topics.map(({ name, pinned }) => `${name}${pinned ? ' pinned' : ''}`).sort();
  expect(named).toEqual(['ci', 'deploys', 'hosts', 'release-plan', 'user-profile pinned', 'working-agreements']);
  expect(await timesKept(SORTING, orchard, environment)).toBe(1);
  const found = await runHere(['search', 'beta freeze', '--memory', orchard], environment);
  expect(found.stdout).toContain('archive/release-plan.md');
  const recalled = await runHere(['recall', '--memory', orchard, '--query', 'pnpm'], environment);
  expect(recalled.stdout).toContain(PNPM);
  for (const project of ['orchard', 'cellar', 'mill']) {
    const at = ['--memory', before.memory(project)];
    expect(await runHere(['check', ...at], environment)).toMatchObject({ code: 0 });
    const { code, stdout } = await runHere(['status', '--verbose', ...at], environment);
    expect([0, 3]).toContain(code);
    if (project === 'cellar')
      expect({ code, stdout }).toMatchObject({
        code: 3,
        stdout: expect.stringContaining('proposals  3 wait for your word'),
      });
  }
});

test('each version of each file is still listed and shown, and a report still says what a dream did', async () => {
  const before = copyBefore();
  const environment = before.environment(NOW);
  const at = ['--memory', before.memory('orchard')];
  for (const [path, words] of [
    ['release-plan.md', ['The beta freeze is 2026-07-20.', 'Ask Robin before a release.']],
    ['working-agreements.md', [PNPM]],
    ['deploys.md', [DELTA]],
  ] as const) {
    const { versions } = await jsonHere<{ versions: { id: string; operation: string }[] }>(
      ['show', path, '--history', ...at],
      environment,
    );
    const standing = versions.filter(({ operation }) => operation !== 'deleted');
    const texts: string[] = [];
    for (const { id } of standing) {
      texts.push((await runHere(['show', path, '--version', id, ...at], environment)).stdout);
    }
    for (const word of words) expect(texts.join('')).toContain(word);
  }
  const report = await runHere(['why', '2026-11-11', ...at], environment);
  expect(report).toMatchObject({ code: 0, stdout: expect.stringContaining(PNPM) });
  const gone = await runHere(['search', 'kiwi', ...at], environment);
  expect(gone.stdout).toBe('');
});

test('a dream and an extraction are taken back, and what they said is learned again once', async () => {
  const before = copyBefore();
  const server = await model();
  const environment = before.environment(NOW, server);
  const orchard = before.memory('orchard');
  const at = ['--memory', orchard];
  const undoLast = () => jsonHere<{ outcome: string; kind: string }>(['undo', '--last', '--any', ...at], environment);
  expect(await undoLast()).toMatchObject({ outcome: 'undone', kind: 'dream' });
  expect(existsSync(join(orchard, 'deploys.md'))).toBe(false);
  expect(await timesKept(DELTA, orchard, environment)).toBe(1);
  expect(await undoLast()).toMatchObject({ outcome: 'undone', kind: 'extract' });
  expect(await timesKept(DELTA, orchard, environment)).toBe(0);
  expect(await timesKept(PNPM, orchard, environment)).toBe(1);
  expect((await runHere(['extract', before.session('orchard', '5')], environment)).code).toBe(0);
  expect((await runHere(['dream', ...at], environment)).code).toBe(0);
  expect(await timesKept(DELTA, orchard, environment)).toBe(1);
  expect((await runHere(['check', ...at], environment)).code).toBe(0);
});

test('what was forgotten stays forgotten when its session is read again', async () => {
  const before = copyBefore();
  const environment = before.environment(NOW, await model());
  const orchard = before.memory('orchard');
  const id = '22222222-2222-4333-8444-555555555555';
  const { code } = await runHere(['reprocess', '--session', id, '--memory', orchard], environment);
  expect(code).toBe(0);
  expect(logsOf(orchard)).toContain('The release deadline is 2026-12-04.');
  expect(logsOf(orchard)).not.toContain('alpha');
});

test('a habit that waits is not lost by other news, and a second session makes one line of both', async () => {
  const before = copyBefore();
  const server = await model();
  const environment = before.environment(NOW, server);
  const orchard = before.memory('orchard');
  const at = ['--memory', orchard];
  await runHere(['remember', 'Water the trees.', ...at], environment);
  expect((await runHere(['dream', ...at], environment)).code).toBe(0);
  expect(await timesKept(SORTING, orchard, environment)).toBe(1);
  const again = sessionFile(join(orchard, '..'), {
    id: 'aaaaaaaa-2222-4333-8444-555555555555',
    cwd: '/home/kim/orchard',
    startsAt: '2026-11-21T04:00:00Z',
  });
  again.add('Take the formatting out again and sort by hand.');
  expect(await jsonHere(['extract', again.path], environment)).toMatchObject({ outcome: 'recorded' });
  const dreamt = await runHere(['dream', ...at], before.environment(LATER, server));
  expect(dreamt.code).toBe(0);
  const { waiting } = await jsonHere<Listed>(['list', ...at], environment);
  expect(waiting).toEqual([]);
  expect(await timesKept('sorts the imports by hand.', orchard, environment)).toBe(1);
  expect(readFileSync(join(orchard, 'working-agreements.md'), 'utf8')).toMatch(/^- .*sorts the imports by hand\.$/m);
});

test('proposals that wait are shown, accepted and rejected, and do not come again', async () => {
  const before = copyBefore();
  const server = await model();
  const environment = before.environment(NOW, server);
  const cellar = before.memory('cellar');
  const at = ['--memory', cellar];
  const shownNow = () => jsonHere<Proposed[]>(['review', ...at], environment);
  const proposals = await shownNow();
  const waiting = proposals.map(({ kind, state }) => `${kind} ${state}`).sort();
  expect(waiting).toEqual(['add waiting', 'add waiting', 'supersede waiting']);
  const about = (words: string) => proposals.find(({ diff }) => diff.includes(words))?.id ?? '';
  const accepted = [about('2026-12-08'), about('label the barrels')];
  expect((await runHere(['review', '--accept', ...accepted, ...at], environment)).code).toBe(0);
  expect((await runHere(['review', '--reject', about('apples'), ...at], environment)).code).toBe(0);
  // The habit of one session is not decided here.
  expect((await shownNow()).filter(({ diff }) => !diff.includes(COUNTING))).toEqual([]);
  expect((await runHere(['dream', '--review', ...at], environment)).code).toBe(0);
  expect((await shownNow()).filter(({ diff }) => diff.includes('apples'))).toEqual([]);
  expect(await timesKept('The cider is pressed on 2026-12-08.', cellar, environment)).toBe(1);
  expect(await timesKept('2026-12-01', cellar, environment)).toBe(0);
  expect(await timesKept('Always label the barrels with the year.', cellar, environment)).toBe(1);
  expect(await timesKept('apples', cellar, environment)).toBe(0);
  // As an entry, or proposed as a line.
  const kept = await timesKept(COUNTING, cellar, environment);
  const proposed = (await shownNow()).filter(({ diff }) => diff.includes(COUNTING));
  expect(Math.max(kept, proposed.length)).toBe(1);
});

test('a night that was sent as a Message Batch is asked for again, once, and the log says so', async () => {
  const before = copyBefore();
  const server = await model();
  const mill = before.memory('mill');
  const environment = before.environment(NOW, server);
  const worked = await runHere(['worker', '--once'], environment);
  expect(worked).toMatchObject({ code: 0, stderr: expect.stringContaining('sent as a Message Batch') });
  expect(readFileSync(join(before.home, 'logs', 'nocturne.log'), 'utf8')).toMatch(/"trouble".*"key":"batch"/);
  for (let times = 0; times < 2; times += 1) {
    expect((await runHere(['dream', '--memory', mill], environment)).code).toBe(0);
    for (const words of ['grind the rye', 'run the mill', OILING]) {
      expect(await timesKept(words, mill, environment)).toBe(1);
    }
  }
  const asked = server.requests.length;
  expect((await runHere(['worker', '--once'], before.environment('2026-11-21T10:00:00Z', server))).stderr).toBe('');
  expect(server.requests).toHaveLength(asked);
});

test('a turn that was left to the main agent as a whole stays left to it', async () => {
  const before = copyBefore();
  const server = await model();
  const environment = before.environment(NOW, server);
  const orchard = before.memory('orchard');
  const { code } = await runHere(['extract', before.session('orchard', '3')], environment);
  expect(code).toBe(0);
  expect(server.requests).toEqual([]);
  expect(logsOf(orchard)).not.toContain('bravo');
  expect(await timesKept('The CI runs on bravo.', orchard, environment)).toBe(1);
});

test('of a session that was half read only the rest is offered, by what waits in the inbox and by hand', async () => {
  const before = copyBefore();
  const server = await model();
  const environment = before.environment(NOW, server);
  const orchard = before.memory('orchard');
  expect((await runHere(['worker', '--once'], environment)).code).toBe(0);
  const times = (words: string) => logsOf(orchard).split(`** ${words}`).length - 1;
  expect([times('Never log customer names.'), times('We use Redis 8 for the sessions.')]).toEqual([1, 1]);
  expect([times('Never touch the vendored folder.'), times('Always run the linter twice.')]).toEqual([0, 0]);
  const asked = server.requests.length;
  expect((await runHere(['extract', before.session('orchard', '4')], environment)).code).toBe(0);
  expect(server.requests).toHaveLength(asked);
});

test('the session that a hook told of, and nobody took in, is worked once', async () => {
  const before = copyBefore();
  const environment = before.environment(NOW);
  expect((await runHere(['worker', '--once'], environment)).code).toBe(0);
  expect((await runHere(['worker', '--once'], environment)).code).toBe(0);
  expect(spooledIn(before.home)).toEqual([]);
  expect(logsOf(before.memory('orchard')).split('** Never mock the database in tests.')).toHaveLength(2);
});

test('setup takes out hooks and schedules that name an older place, and leaves what is the person’s', async () => {
  const before = copyBefore();
  const person = aPerson({ hasSystemd: true });
  const environment = { ...before.environment(NOW), PATH: person.environment.PATH };
  expect(await runHere(['setup', '--remove', '--yes'], environment)).toMatchObject({ code: 0 });
  const read = (path: string) => readFileSync(join(before.user, path), 'utf8');
  expect(read('.claude/settings.json')).toBe('{\n  "model": "opus"\n}\n');
  expect(read('.gemini/settings.json')).toBe('{\n  "theme": "dark"\n}\n');
  for (const path of [
    '.codex/hooks.json',
    '.config/opencode/plugins/nocturne.js',
    '.config/systemd/user/nocturne.timer',
  ])
    expect(existsSync(join(before.user, path))).toBe(false);
});
