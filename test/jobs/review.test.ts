// Review mode: what a dream proposes, what a person's word makes of it, and what it is never applied to.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { explainLines } from '../../src/memory/dream/provenance.ts';
import { findFaults } from '../../src/memory/history/check.ts';
import { unifiedDiff } from '../../src/memory/history/line-diff.ts';
import { redactMatches } from '../../src/memory/history/redact/redaction.ts';
import { scrubOf } from '../../src/memory/history/redact/scrub.ts';
import { meaningOf, type Reviewed, reviewedMemory } from '../support/reviewed.ts';
import { tempDir } from '../support/temp.ts';

const LOG = 'logs/2026/11/2026-11-21.md';
const accept = { word: { kind: 'accept' } } as const;

async function topics({ store }: Reviewed): Promise<string[]> {
  return (await store.list()).filter((path) => !path.startsWith('logs/'));
}

/** A memory with these services in it, each said and dreamt before anything is proposed. */
async function settled(services: Record<string, number>, options: Parameters<typeof reviewedMemory>[0] = {}) {
  const memory = await reviewedMemory(options);
  for (const [service, port] of Object.entries(services)) await memory.say(service, port);
  if (Object.keys(services).length > 0) await memory.dream({ review: false });
  return memory;
}

test('a dream proposes and changes no file of the memory; the next one asks nobody again', async () => {
  const memory = await settled({});
  const [alpha, beta] = [await memory.say('Alpha', 1001), await memory.say('Beta', 1002)];
  const report = await memory.dream();
  expect(report).toMatchObject({ outcome: 'proposed', proposals: [expect.any(String), expect.any(String)] });
  expect(await topics(memory)).toEqual([]);
  expect(memory.states()).toEqual({ [alpha]: 'new', [beta]: 'new' });
  expect(memory.file('.nocturne/dreams/2026-11-21.md')).toContain('Waits as prop_');
  expect(await memory.dream()).toMatchObject({ outcome: 'nothing-new' });
  expect(memory.model.inputs).toHaveLength(1);
  expect((await memory.proposals()).map(({ id }) => id).sort()).toEqual([...report.proposals].sort());
});

test('what is accepted is the change that was shown, by the same commit as a dream’s, and can be undone', async () => {
  const memory = await settled({ Alpha: 1001 });
  const entry = await memory.say('Alpha', 2001);
  await memory.dream();
  const [proposal] = await memory.proposals();
  expect(proposal).toMatchObject({
    kind: 'change',
    topic: 'alpha.md',
    state: 'waiting',
    entries: [{ id: entry, by: 'human', quotes: ['Alpha listens on port 2001.'] }],
  });
  const before = memory.file('alpha.md');
  const { decided } = await memory.review(accept);
  const after = memory.file('alpha.md');
  expect(decided).toMatchObject([{ outcome: 'accepted', why: null }]);
  expect(proposal?.diff).toBe(unifiedDiff({ name: 'alpha.md', text: before }, { name: 'alpha.md', text: after }));
  expect(memory.states()[entry]).toBe('distilled');
  const [line] = await explainLines(memory.store, { path: 'alpha.md' });
  expect(line).toMatchObject({ text: 'Alpha listens on port 2001.', entries: [{ id: entry }] });
  expect(memory.file('.nocturne/dreams/2026-11-21.md')).toContain(`A person accepted ${proposal?.id}`);

  expect(await memory.undo()).toMatchObject({ outcome: 'undone', kind: 'review', job: decided[0]?.job });
  expect(memory.file('alpha.md')).toBe(before);
  expect(memory.states()[entry]).toBe('new');
  expect(await memory.proposals()).toMatchObject([{ id: proposal?.id, state: 'waiting' }]);
  expect(await memory.dream()).toMatchObject({ outcome: 'nothing-new' });
});

test('what waits since before there was put is taken for what it means, and can be accepted', async () => {
  const memory = await settled({ Alpha: 1001 });
  await memory.say('Alpha', 2001);
  await memory.dream();
  const { ledger } = memory.store;
  const [put] = JSON.parse(ledger.get('select operations from proposal')?.operations as string);
  const { in: lines, out: replaces, over: _, entries: __, ...rest } = put;
  const before = { ...rest, kind: 'merge', entries: lines[0].entries, lines, replaces, over: put.over, same: true };
  ledger.run('update proposal set operations = ?', JSON.stringify([before]));
  expect(await memory.proposals()).toMatchObject([{ kind: 'change', topic: 'alpha.md', state: 'waiting' }]);
  expect((await memory.review(accept)).decided).toMatchObject([{ outcome: 'accepted' }]);
  expect(memory.file('alpha.md')).toContain('- Alpha listens on port 2001.\n');
  expect(memory.file('alpha.md')).not.toContain('1001');
});

test('what is rejected is accounted for with the reason and never proposed again', async () => {
  const memory = await settled({ Alpha: 1001 });
  const entry = await memory.say('Alpha', 2001);
  await memory.dream();
  const before = memory.file('alpha.md');
  await memory.review({ word: { kind: 'reject', because: 'A slip of the tongue.' } });
  expect(memory.file('alpha.md')).toBe(before);
  expect(memory.states()[entry]).toBe('distilled');
  expect(memory.file('.nocturne/dreams/2026-11-21.json')).toContain('A slip of the tongue.');
  expect(await memory.proposals()).toEqual([]);
  expect(await memory.dream()).toMatchObject({ outcome: 'nothing-new' });
  await memory.undo();
  expect(await memory.proposals()).toMatchObject([{ state: 'waiting' }]);
});

test('an entry that gave way to a rejected one is looked at again, and one that says the same is not', async () => {
  const memory = await settled({ Alpha: 1001 });
  const [older, newer] = [await memory.say('Alpha', 2001), await memory.say('Alpha', 3001)];
  await memory.dream();
  expect((await memory.proposals()).map(({ entries }) => entries.map(({ id }) => id).sort())).toEqual([
    [older, newer].sort(),
  ]);
  await memory.review({ word: { kind: 'reject' } });
  expect(memory.states()).toMatchObject({ [older]: 'new', [newer]: 'distilled' });
  await memory.dream();
  expect(await memory.proposals()).toMatchObject([{ lines: ['Alpha listens on port 2001.'] }]);
});

test('each of several accepted ones of a topic applies as one commit and a job of its own; the last alone is undone and waits', async () => {
  const memory = await settled({}, { topicOf: () => 'services' });
  for (const [at, service] of ['Alpha', 'Beta', 'Gamma', 'Delta'].entries()) await memory.say(service, 1001 + at);
  await memory.dream();
  const ids = (await memory.proposals()).map(({ id }) => id);
  const commits = () => memory.store.ledger.get('select count(*) as n from "commit"')?.n as number;
  const before = commits();
  const { decided } = await memory.review(accept);
  expect(decided.map(({ outcome }) => outcome)).toEqual(Array(4).fill('accepted'));
  for (const service of ['Alpha', 'Beta', 'Gamma', 'Delta'])
    expect(memory.file('services.md')).toContain(`- ${service}`);
  expect(await memory.proposals()).toEqual([]);
  expect(commits() - before).toBe(4);
  expect(new Set(decided.map(({ job }) => job)).size).toBe(4);
  const last = decided.at(-1);
  expect(await memory.undo()).toMatchObject({ outcome: 'undone', job: last?.job });
  expect(await memory.proposals()).toMatchObject([{ id: last?.id, state: 'waiting' }]);
  expect(memory.file('services.md').match(/^- /gm)).toHaveLength(3);
  expect((await memory.review(accept)).decided).toMatchObject([{ id: last?.id, outcome: 'accepted' }]);
  expect(ids).toContain(last?.id);
});

test('where a person edits the topic between two decisions of one review, the second is stale', async () => {
  const memory = await settled({}, { topicOf: () => 'services' });
  for (const [at, service] of ['Alpha', 'Beta'].entries()) await memory.say(service, 1001 + at);
  await memory.dream();
  const [first, second] = await memory.proposals();
  const ids = [first?.id ?? '', second?.id ?? ''];
  await memory.review({ ids: ids.slice(0, 1), word: { kind: 'accept' } });
  memory.edit('services.md', (text) => `${text}- A person was here.\n`);
  expect((await memory.review({ ids: ids.slice(1), word: { kind: 'accept' } })).decided).toMatchObject([
    { outcome: 'stale' },
  ]);
  expect(memory.file('services.md')).toContain('- A person was here.\n');
});

test('where only other lines changed the next dream pins it anew without a model; until then nobody accepts it', async () => {
  const memory = await settled({ Alpha: 1001 });
  await memory.say('Alpha', 2001);
  await memory.dream();
  const [before] = await memory.proposals();
  memory.edit('alpha.md', (text) => `${text}- A person was here.\n`);
  const edited = memory.file('alpha.md');
  expect((await memory.review(accept)).decided).toMatchObject([{ outcome: 'stale', job: null }]);
  expect(memory.file('alpha.md')).toBe(edited);
  const asked = memory.model.inputs.length;
  await memory.dream();
  expect(memory.model.inputs).toHaveLength(asked);
  expect(await memory.proposals()).toMatchObject([{ id: before?.id, state: 'waiting' }]);
  expect((await memory.review(accept)).decided).toMatchObject([{ outcome: 'accepted' }]);
  expect(memory.file('alpha.md')).toContain('- Alpha listens on port 2001.\n- A person was here.\n');
});

test.each([
  [
    'the line it replaces was reworded',
    true,
    (memory: Reviewed) => memory.edit('alpha.md', (text) => text.replace('1001', '1111')),
  ],
  ['the topic is gone', true, (memory: Reviewed) => rmSync(join(memory.dir, 'alpha.md'))],
  [
    'the topic was pinned',
    false,
    (memory: Reviewed) => memory.edit('alpha.md', (text) => text.replace('type:', 'pinned: true\ntype:')),
  ],
  [
    'its entry was reworded in the log',
    true,
    (memory: Reviewed) =>
      memory.edit(LOG, (log) => log.replace('** Alpha listens on port 2001', '** Alpha listens on port 2002')),
  ],
])('when %s, it is stale, and the next dream lets go of it or makes another', async (_, isLeft, change) => {
  const memory = await settled({ Alpha: 1001, Beta: 1002 });
  const entry = await memory.say('Alpha', 2001);
  await memory.dream();
  const [old] = await memory.proposals();
  change(memory);
  const before = await Promise.all((await memory.store.list()).map((path) => memory.file(path)));
  expect(await memory.proposals()).toMatchObject([{ state: 'stale', diff: '' }]);
  expect((await memory.review(accept)).decided).toMatchObject([{ outcome: 'stale' }]);
  expect(await Promise.all((await memory.store.list()).map((path) => memory.file(path)))).toEqual(before);
  await memory.dream();
  const anew = await memory.proposals();
  expect(anew.map(({ id }) => id)).not.toContain(old?.id);
  expect(anew).toMatchObject(isLeft ? [{ state: 'waiting', entries: [{ id: entry }] }] : []);
  expect(memory.states()[entry]).toBe('new');
});

test('an entry that a person takes out of the log, or has forgotten, takes its proposal along', async () => {
  const memory = await settled({});
  const [alpha] = [await memory.say('Alpha', 1001), await memory.say('Beta', 1002), await memory.say('Gamma', 1003)];
  await memory.dream();
  memory.edit(LOG, (log) =>
    log
      .split(/^(?=- )/m)
      .filter((block) => !block.includes('Beta'))
      .join(''),
  );
  await memory.forget(alpha);
  expect((await memory.proposals()).map(({ topic, state }) => [topic, state])).toEqual([
    ['beta.md', 'stale'],
    ['gamma.md', 'waiting'],
  ]);
  await memory.dream();
  expect((await memory.proposals()).map(({ topic }) => topic)).toEqual(['gamma.md']);
});

test('the same said again before anybody decided is one proposal that rests on both', async () => {
  const memory = await settled({});
  const first = await memory.say('Alpha', 1001);
  await memory.dream();
  memory.edit(LOG, (log) => `${log}- **project** Alpha listens on port 1001.\n`);
  await memory.dream();
  const proposals = await memory.proposals();
  expect(proposals).toHaveLength(1);
  expect(proposals[0]?.entries.map(({ id }) => id)).toContain(first);
  expect(proposals[0]?.entries).toHaveLength(2);
  expect((await memory.review(accept)).decided).toMatchObject([{ outcome: 'accepted' }]);
  expect(Object.values(memory.states())).toEqual(['distilled', 'distilled']);
});

test('a line that code can find in the entries keeps them in a person’s words; any other is the person’s', async () => {
  const memory = await settled({});
  const [alpha] = [await memory.say('Alpha', 1001), await memory.say('Beta', 1002)];
  await memory.dream();
  const idOf = async (topic: string) => (await memory.proposals()).find((each) => each.topic === topic)?.id ?? '';
  const ids = { alpha: await idOf('alpha.md'), beta: await idOf('beta.md') };
  const edit = (id: string, text: string) => memory.review({ ids: [id], word: { kind: 'edit', text } });
  expect((await edit(ids.alpha, 'Port 1001 is where Alpha listens.')).decided).toMatchObject([
    { outcome: 'edited', why: null },
  ]);
  const secret = `ghp_${'a1B2c3D4e5F6'.repeat(3)}`;
  expect((await edit(ids.beta, `Beta listens on 7777, with ${secret}.`)).decided).toMatchObject([
    { outcome: 'edited', why: expect.stringContaining('yours') },
  ]);
  expect(await explainLines(memory.store, { path: 'alpha.md' })).toMatchObject([{ entries: [{ id: alpha }] }]);
  expect(await explainLines(memory.store, { path: 'beta.md' })).toMatchObject([{ isPersons: true }]);
  expect(memory.file('beta.md')).toContain('7777');
  expect(memory.file('beta.md')).not.toContain(secret);
  expect(Object.values(memory.states())).toEqual(['distilled', 'distilled']);
});

test('what a dream would leave out waits too, and is kept where a person says so', async () => {
  const memory = await settled({ Alpha: 1001 });
  await memory.edit(LOG, (log) => `${log}- **project** Alpha listens on port 1001.\n`);
  await memory.dream();
  const [proposal] = await memory.proposals();
  expect(proposal).toMatchObject({ kind: 'drop', diff: '' });
  const ids = [proposal?.id ?? ''];
  const text = 'Alpha listens on port 1001, still.';
  expect((await memory.review({ ids, word: { kind: 'edit', text } })).decided).toMatchObject([{ outcome: 'edited' }]);
  expect(memory.file('alpha.md')).toContain(`- ${text}`);
});

test('what code alone would take out waits as well, and a line that a person keeps is the person’s', async () => {
  const memory = await settled({ Alpha: 1001, Beta: 1002 });
  memory.edit(LOG, (log) =>
    log
      .split(/^(?=- )/m)
      .filter((block) => !block.includes('Alpha'))
      .join(''),
  );
  expect(await memory.dream()).toMatchObject({ outcome: 'proposed', operations: [{ kind: 'retire' }] });
  expect(memory.file('alpha.md')).toContain('Alpha');
  expect((await memory.proposals())[0]).toMatchObject({ kind: 'retire', topic: 'alpha.md' });
  await memory.review({ word: { kind: 'reject', because: 'Still so.' } });
  expect(await explainLines(memory.store, { path: 'alpha.md' })).toMatchObject([{ isPersons: true }]);
  expect(await memory.dream()).toMatchObject({ outcome: 'nothing-new' });
  await memory.undo();
  expect((await memory.review(accept)).decided).toMatchObject([{ outcome: 'accepted' }]);
  expect(existsSync(join(memory.store.dir, 'alpha.md'))).toBe(false);
});

test('a redaction reaches what is proposed, what was rejected, and what undo keeps of both', async () => {
  const memory = await settled({});
  await memory.say('Swordfish', 1001);
  await memory.say('Swordfish Two', 1002);
  await memory.dream();
  const [first] = await memory.proposals();
  await memory.review({ ids: [first?.id ?? ''], word: { kind: 'reject', because: 'Swordfish is a secret.' } });
  const place = { store: memory.store, home: tempDir(), now: new Date('2026-11-22T00:00:00Z') };
  expect((await redactMatches(scrubOf('Swordfish'), place)).remaining).toEqual([]);
  expect(await memory.proposals()).toMatchObject([{ state: 'stale' }]);
});

test('a ledger that is lost loses the proposals, and the entries are proposed again', async () => {
  const dir = tempDir();
  const before = await settled({}, { dir });
  await before.say('Alpha', 1001);
  await before.dream();
  before.close();
  for (const end of ['', '-wal', '-shm']) rmSync(join(dir, '.nocturne', `ledger.db${end}`), { force: true });
  const memory = await reviewedMemory({ dir });
  expect(await memory.proposals()).toEqual([]);
  await memory.dream();
  expect((await memory.proposals()).map(meaningOf)).toEqual([
    JSON.stringify(['add', 'alpha.md', ['Alpha listens on port 1001.']]),
  ]);
});

test('the undo of a dream takes back what it proposed, and leaves what a person decided', async () => {
  const memory = await settled({}, { topicOf: () => 'services' });
  for (const [at, service] of ['Alpha', 'Beta'].entries()) await memory.say(service, 1001 + at);
  const { job } = await memory.dream();
  const [first] = await memory.proposals();
  await memory.review({ ids: [first?.id ?? ''], ...accept });
  expect(await memory.undo({ job: job ?? '' })).toMatchObject({ outcome: 'undone' });
  expect(await memory.proposals()).toEqual([]);
  expect(memory.file('services.md')).toContain('listens on port');
});

test('a proposal about what was taken back is found by check, which lets go of it', async () => {
  const memory = await settled({});
  await memory.say('Alpha', 1001);
  await memory.dream();
  const job = memory.store.ledger.get("select id from job where kind = 'remember'")?.id as string;
  expect(await memory.undo({ job })).toMatchObject({ outcome: 'undone' });
  expect(await memory.proposals()).toMatchObject([{ state: 'stale' }]);
  const found = (await findFaults(memory.store)).filter(({ kind }) => kind === 'proposal');
  expect(found).toMatchObject([{ what: expect.stringContaining('prop_') }]);
  await found[0]?.mend?.apply();
  expect(await memory.proposals()).toEqual([]);
  expect((await findFaults(memory.store)).filter(({ kind }) => kind === 'proposal')).toEqual([]);
});

test('an edit in the very moment of the commit keeps everything as it is', async () => {
  const memory = await settled({ Alpha: 1001 });
  await memory.say('Alpha', 2001);
  await memory.dream();
  // First for the lease; then inside the commit, after all was checked.
  memory.atLook(2, () => memory.edit('alpha.md', (text) => text.replace('1001', '1111')));
  expect((await memory.review(accept)).decided).toMatchObject([
    { outcome: 'stale', why: expect.stringContaining('just now') },
  ]);
  expect(memory.file('alpha.md')).toContain('1111');
  expect(memory.file('alpha.md')).not.toContain('2001');
});
