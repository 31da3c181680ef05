// Review mode: what a dream proposes, what a person's word makes of it, and what it is never applied to.

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ReviewRequest, review, type ShownProposal, shownProposals } from '../../jobs/review.ts';
import { undo } from '../../jobs/undo.ts';
import type { RunAgent } from '../../src/agent/agent-types.ts';
import { entriesIn, partOf } from '../../src/agent/offline-model.ts';
import { lookInto } from '../../src/memory/commit.ts';
import { unifiedDiff } from '../../src/memory/edit-text.ts';
import { explainLines } from '../../src/memory/rests.ts';
import { logPath } from '../../src/memory/text/daily-log.ts';
import { ENGINE_TAKEN, type Engine, skipped } from '../support/memory-world.ts';
import { inNights, type Nights, record } from '../support/night-world.ts';
import { tidyDreamer } from '../support/tidy-dreamer.ts';

const LOG = logPath('2026-11-20');
const accept = { word: { kind: 'accept' } } as const;
const service = (name: string) => name.toLowerCase().replaceAll(' ', '-');

interface Reviewed extends Nights {
  model: ReturnType<typeof tidyDreamer>;
  say(name: string, port: number): Promise<string>;
  proposals(): Promise<ShownProposal[]>;
  decide(request: ReviewRequest): ReturnType<typeof review>;
  edit(path: string, change: (text: string) => string): void;
  /** Takes a job back. */
  takeBack(job: string | null | undefined): Promise<unknown>;
}

/** A memory with these services in it, each said and dreamt before anything is proposed. */
function reviewed(
  engine: Engine,
  services: Record<string, number>,
  work: (memory: Reviewed) => Promise<void>,
  { topicOf = service, drops = false } = {},
): Promise<void> {
  const tidy = tidyDreamer((subject) => topicOf(service(subject)));
  const model = drops ? { ...tidy, runAgent: droppingFirst(tidy.runAgent) } : tidy;
  return inNights(
    engine,
    async (nights) => {
      const { row, memories, db, dir } = nights;
      let said = 0;
      const say = async (name: string, port: number) => {
        said += 1;
        const at = new Date(nights.now().getTime() + said * 60_000).toISOString();
        const text = `${name} listens on port ${port}.`;
        return (
          (await record(nights, row.id, at, [{ type: 'project', text, by: 'human', session: `s${said}` }]))[0]?.id ?? ''
        );
      };
      for (const [name, port] of Object.entries(services)) await say(name, port);
      if (said > 0) await nights.dream({}, { needsApproval: false });
      await work({
        ...nights,
        ...{ model, say },
        async proposals() {
          await lookInto(memories, { memory: row.id, paths: 'all' });
          return shownProposals(db, row);
        },
        decide: (request) => review(request, { memories, memory: row, requestTokens: 12_000 }),
        edit(path, change) {
          // A person takes more than two seconds to change what a commit wrote.
          memories.copyOf(row.id)?.clearAside();
          writeFileSync(join(dir, path), change(readFileSync(join(dir, path), 'utf8')));
        },
        takeBack: (job) => undo({ job } as never, { memories, environment: {} } as never),
      });
    },
    { runAgent: model.runAgent, deps: { needsApproval: true } },
  );
}

/** Leaves out all that is new; where that is refused, another is asked. */
function droppingFirst(other: RunAgent): RunAgent {
  return async (request, ports) => {
    const entries = entriesIn(partOf(request.input, 'entries')).map(({ id }) => id);
    const drop = { kind: 'drop', entries, because: 'ephemeral', reason: 'Of no use later.' };
    const { isError } = await ports.callTool('propose_operations', { operations: [drop] });
    return isError ? other(request, ports) : 'done';
  };
}

/** A log without the entries of a service. */
const without = (name: string) => (log: string) =>
  log
    .split(/^(?=- )/m)
    .filter((block) => !block.includes(name))
    .join('');

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('a dream proposes and changes no file; the next one asks nobody again', () =>
    reviewed(engine, {}, async ({ say, dream, proposals, states, model, db }) => {
      await say('Alpha', 1001);
      await say('Beta', 1002);
      const before = await db.all('select path from file where path is not null');
      const report = await dream();
      expect(report).toMatchObject({ outcome: 'proposed', proposals: [expect.any(String), expect.any(String)] });
      expect(await db.all('select path from file where path is not null')).toEqual(before);
      expect(Object.values(await states())).toEqual(['new', 'new']);
      expect(await dream()).toMatchObject({ outcome: 'nothing-new' });
      expect(model.inputs).toHaveLength(1);
      expect((await proposals()).map(({ id }) => id).sort()).toEqual([...report.proposals].sort());
    }));

  it('what is accepted is the change that was shown, and can be undone, with which it waits again', () =>
    reviewed(engine, { Alpha: 1001 }, async ({ say, dream, proposals, decide, states, file, db, row, takeBack }) => {
      const entry = await say('Alpha', 2001);
      await dream();
      const [proposal] = await proposals();
      expect(proposal).toMatchObject({
        ...{ kind: 'change', topic: 'alpha.md', state: 'waiting' },
        entries: [{ id: entry, by: 'human', quotes: ['Alpha listens on port 2001.'] }],
      });
      const before = await file('alpha.md');
      const [decided] = await decide(accept);
      const after = await file('alpha.md');
      expect(decided).toMatchObject({ outcome: 'accepted', why: null });
      expect(proposal?.diff).toBe(unifiedDiff({ name: 'alpha.md', text: before }, { name: 'alpha.md', text: after }));
      expect(await states()).toMatchObject({
        'Alpha listens on port 2001.': 'placed',
        'Alpha listens on port 1001.': 'dropped',
      });
      expect(await explainLines(db, { memory: row.id, path: 'alpha.md' })).toMatchObject([
        { entries: [{ id: entry }] },
      ]);
      const job = await db.get<{ kind: string; output: string }>(
        'select kind, output from job where id = ?',
        decided?.job ?? '',
      );
      expect([job?.kind, job?.output]).toEqual([
        'review',
        expect.stringContaining(`A person accepted ${proposal?.id}`),
      ]);
      await takeBack(decided?.job);
      expect(await file('alpha.md')).toBe(before);
      expect(await proposals()).toMatchObject([{ id: proposal?.id, state: 'waiting' }]);
      expect(await dream()).toMatchObject({ outcome: 'nothing-new' });
      expect(await decide(accept)).toMatchObject([{ outcome: 'accepted' }]);
    }));

  it('what is rejected is accounted for with the reason and never proposed again, until that is taken back', () =>
    reviewed(engine, { Alpha: 1001 }, async ({ say, dream, proposals, decide, db, file, takeBack }) => {
      const entry = await say('Alpha', 2001);
      await dream();
      const before = await file('alpha.md');
      const [decided] = await decide({ word: { kind: 'reject', because: 'A slip of the tongue.' } });
      expect(await file('alpha.md')).toBe(before);
      const row = await db.get<{ state: string; reason: string }>(
        'select state, reason from entry where id = ?',
        entry,
      );
      expect(row).toMatchObject({ state: 'dropped', reason: expect.stringContaining('A slip of the tongue.') });
      expect(await proposals()).toEqual([]);
      expect(await dream()).toMatchObject({ outcome: 'nothing-new' });
      await takeBack(decided?.job);
      expect(await proposals()).toMatchObject([{ state: 'waiting' }]);
    }));

  it('what was to be left out stays where that is rejected, and the next night has to find it a place', () =>
    reviewed(
      engine,
      {},
      async ({ say, dream, proposals, decide, states }) => {
        await say('Alpha', 2001);
        await dream();
        expect(await proposals()).toMatchObject([{ kind: 'drop' }]);
        await decide({ word: { kind: 'reject', because: 'I want it kept.' } });
        expect(await states()).toEqual({ 'Alpha listens on port 2001.': 'new' });
        await dream();
        expect(await proposals()).toMatchObject([{ kind: 'add', lines: ['Alpha listens on port 2001.'] }]);
      },
      { drops: true },
    ));

  it('an entry that gave way to a rejected one is looked at again, and one that says the same is not', () =>
    reviewed(engine, { Alpha: 1001 }, async ({ say, dream, proposals, decide, states }) => {
      await say('Alpha', 2001);
      await say('Alpha', 3001);
      await dream();
      expect(await proposals()).toHaveLength(1);
      await decide({ word: { kind: 'reject' } });
      expect(await states()).toMatchObject({
        'Alpha listens on port 2001.': 'new',
        'Alpha listens on port 3001.': 'dropped',
      });
      await dream();
      expect(await proposals()).toMatchObject([{ lines: ['Alpha listens on port 2001.'] }]);
    }));

  it('each of several accepted ones of a topic is a job of its own; the last alone is undone and waits', () =>
    reviewed(
      engine,
      {},
      async ({ say, dream, proposals, decide, file, takeBack }) => {
        const names = ['Alpha', 'Beta', 'Gamma', 'Delta'];
        for (const [at, name] of names.entries()) await say(name, 1001 + at);
        await dream();
        const decided = await decide(accept);
        expect(decided.map(({ outcome }) => outcome)).toEqual(Array(4).fill('accepted'));
        for (const name of names) expect(await file('services.md')).toContain(`- ${name}`);
        expect(new Set(decided.map(({ job }) => job)).size).toBe(4);
        const last = decided.at(-1);
        await takeBack(last?.job);
        expect(await proposals()).toMatchObject([{ id: last?.id, state: 'waiting' }]);
        expect((await file('services.md')).match(/^- /gm)).toHaveLength(3);
        expect(await decide(accept)).toMatchObject([{ id: last?.id, outcome: 'accepted' }]);
      },
      { topicOf: () => 'services' },
    ));

  it('where a person edits the topic between two decisions, the second does not touch it', () =>
    reviewed(
      engine,
      {},
      async ({ say, dream, proposals, decide, edit, file }) => {
        await say('Alpha', 1001);
        await say('Beta', 1002);
        await dream();
        const [first, second] = await proposals();
        await decide({ ids: [first?.id ?? ''], ...accept });
        edit('services.md', (text) => `${text}- A person was here.\n`);
        expect(await decide({ ids: [second?.id ?? ''], ...accept })).toMatchObject([{ outcome: 'accepted' }]);
        expect(await file('services.md')).toContain('- A person was here.\n');
      },
      { topicOf: () => 'services' },
    ));

  it('where only other lines changed it is the same change, and accepted', () =>
    reviewed(engine, { Alpha: 1001 }, async ({ say, dream, proposals, decide, edit, file, model }) => {
      await say('Alpha', 2001);
      await dream();
      const [before] = await proposals();
      edit('alpha.md', (text) => `${text}- A person was here.\n`);
      const asked = model.inputs.length;
      await dream();
      expect(model.inputs).toHaveLength(asked);
      expect(await proposals()).toMatchObject([{ id: before?.id, state: 'waiting' }]);
      expect(await decide(accept)).toMatchObject([{ outcome: 'accepted' }]);
      expect(await file('alpha.md')).toContain('- Alpha listens on port 2001.\n- A person was here.\n');
    }));

  it.each<[string, boolean, (memory: Reviewed) => void]>([
    ['the line it replaces was reworded', true, ({ edit }) => edit('alpha.md', (text) => text.replace('1001', '1111'))],
    ['the topic is gone', true, ({ dir }) => rmSync(join(dir, 'alpha.md'))],
    [
      'the topic was pinned',
      false,
      ({ edit }) => edit('alpha.md', (text) => text.replace('type:', 'pinned: true\ntype:')),
    ],
    [
      'its entry was reworded in the log',
      true,
      ({ edit }) => edit(LOG, (log) => log.replace('port 2001.\n', 'port 2002.\n')),
    ],
  ])('when %s, it is stale, and the next dream lets go of it or makes another', (_, isLeft, change) =>
    reviewed(engine, { Alpha: 1001, Beta: 1002 }, async (memory) => {
      const { say, dream, proposals, decide, db } = memory;
      const entry = await say('Alpha', 2001);
      await dream();
      const [old] = await proposals();
      change(memory);
      expect(await decide(accept)).toMatchObject([{ outcome: 'stale' }]);
      expect(await proposals()).toMatchObject([{ state: 'stale', diff: '' }]);
      await dream();
      const again = await proposals();
      expect(again.map(({ id }) => id)).not.toContain(old?.id);
      expect(again).toMatchObject(isLeft ? [{ state: 'waiting', entries: [{ id: entry }] }] : []);
      expect(await db.get('select state from entry where id = ?', entry)).toEqual({ state: 'new' });
    }),
  );

  it('an entry that a person takes out of the log takes its proposal along', () =>
    reviewed(engine, {}, async ({ say, dream, proposals, edit }) => {
      for (const [at, name] of ['Alpha', 'Beta', 'Gamma'].entries()) await say(name, 1001 + at);
      await dream();
      edit(LOG, without('Beta'));
      expect((await proposals()).map(({ topic, state }) => [topic, state])).toEqual([
        ['alpha.md', 'waiting'],
        ['beta.md', 'stale'],
        ['gamma.md', 'waiting'],
      ]);
      await dream();
      expect((await proposals()).map(({ topic }) => topic)).toEqual(['alpha.md', 'gamma.md']);
    }));

  it('the same said again before anybody decided waits by itself, and is judged anew once the first is accepted', () =>
    reviewed(engine, {}, async ({ say, dream, proposals, decide, file }) => {
      await say('Alpha', 1001);
      await dream();
      await say('Alpha', 1001);
      await dream();
      expect(await proposals()).toHaveLength(2);
      const [, second] = await decide(accept);
      expect(second).toMatchObject({ outcome: 'refused' });
      expect((await file('alpha.md')).match(/^- /gm)).toHaveLength(1);
      await dream();
      expect((await proposals()).map(({ id }) => id)).not.toContain(second?.id);
    }));

  it('one of an earlier nocturne, which it planned in another way, is stale, and the next dream lets go of it', () =>
    reviewed(engine, {}, async ({ say, dream, proposals, decide, db }) => {
      await say('Beta', 1002);
      await dream();
      await db.run('update proposal set plan = ?', JSON.stringify({ madeBy: 'code', archiving: [], operations: [] }));
      const [old] = await decide(accept);
      expect(old).toMatchObject({ outcome: 'stale', why: expect.stringContaining('An earlier nocturne made it') });
      expect(await proposals()).toMatchObject([{ id: old?.id, state: 'stale' }]);
      await dream();
      expect((await proposals()).map(({ id, state }) => [id === old?.id, state])).toEqual([[false, 'waiting']]);
    }));

  it('what a dream would leave out waits too, and is kept where a person says so', () =>
    reviewed(engine, { Alpha: 1001 }, async ({ say, dream, proposals, decide, file, states }) => {
      await say('Alpha', 1001);
      await dream();
      const [proposal] = await proposals();
      expect(proposal).toMatchObject({ kind: 'drop', diff: '' });
      expect(await decide({ word: { kind: 'reject' } })).toMatchObject([{ outcome: 'rejected' }]);
      expect(await file('alpha.md')).toContain('- Alpha listens on port 1001.');
      expect(Object.values(await states())).not.toContain('dropped');
    }));

  it('what code alone would take out waits as well, and a line that a person keeps is the person’s', () =>
    reviewed(
      engine,
      { Alpha: 1001, Beta: 1002 },
      async ({ dream, proposals, decide, edit, file, db, row, takeBack, has }) => {
        edit(LOG, without('Alpha'));
        expect(await dream()).toMatchObject({ outcome: 'proposed', operations: [] });
        expect(await file('alpha.md')).toContain('Alpha');
        expect(await proposals()).toMatchObject([{ kind: 'retire', topic: 'alpha.md' }]);
        const [decided] = await decide({ word: { kind: 'reject', because: 'Still so.' } });
        expect(await explainLines(db, { memory: row.id, path: 'alpha.md' })).toMatchObject([{ isPersons: true }]);
        expect(await dream()).toMatchObject({ outcome: 'nothing-new' });
        await takeBack(decided?.job);
        expect(await decide(accept)).toMatchObject([{ outcome: 'accepted' }]);
        expect(has('alpha.md')).toBe(false);
      },
    ));

  it('a newer statement replaces a line in every topic that a dream may change, also where it was not shown', () =>
    reviewed(engine, { Alpha: 1000 }, async ({ say, dream, proposals, decide, dir, file }) => {
      const line = 'Alpha listens on port 1000.';
      const header = (name: string, more = '') => `---\nname: ${name}\ndescription: All\ntype: project${more}\n---\n\n`;
      writeFileSync(join(dir, 'ports.md'), `${header('ports')}- ${line}\n- Somebody listens on port 9.\n`);
      writeFileSync(join(dir, 'kept.md'), `${header('kept', '\npinned: true')}- ${line}\n`);
      await dream();
      await say('Alpha', 1001);
      expect(await dream()).toMatchObject({ refused: [] });
      const [proposal] = await proposals();
      for (const path of ['ports.md', 'alpha.md']) expect(proposal?.diff).toContain(`--- ${path}`);
      await decide(accept);
      expect(await file('alpha.md')).toContain('- Alpha listens on port 1001.');
      expect(await file('ports.md')).toBe(`${header('ports')}- Somebody listens on port 9.\n`);
      expect(await file('kept.md')).toContain(line);
    }));

  it('an edit in the very moment of the commit keeps everything as it is', () =>
    reviewed(engine, { Alpha: 1001 }, async ({ say, dream, decide, edit, file, atClock }) => {
      await say('Alpha', 2001);
      await dream();
      // Asked once all was checked, right before the commit.
      atClock(() => edit('alpha.md', (text) => text.replace('1001', '1111')));
      const [decided] = await decide(accept);
      expect(decided).toMatchObject({ outcome: 'stale', why: expect.stringContaining('alpha.md was changed') });
      expect(await file('alpha.md')).toContain('1111');
      expect(await file('alpha.md')).not.toContain('2001');
    }));

  it('the undo of a dream takes back what it proposed, and leaves what a person decided', () =>
    reviewed(
      engine,
      {},
      async ({ say, dream, proposals, decide, file, takeBack }) => {
        await say('Alpha', 1001);
        await say('Beta', 1002);
        const { job } = await dream();
        const [first] = await proposals();
        await decide({ ids: [first?.id ?? ''], ...accept });
        await takeBack(job).catch(() => {});
        expect(await file('services.md')).toContain('listens on port');
      },
      { topicOf: () => 'services' },
    ));
});
