// A night, through the real job and the SDK, on both engines: what becomes of entries, files and rows; what a person
// makes of logs, topics and the index meanwhile; what stops it.

import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { undo } from '../../../jobs/undo.ts';
import { acceptMissing } from '../../../src/memory/damage-check.ts';
import { logPath } from '../../../src/memory/text/daily-log.ts';
import { lineId, parseTopic } from '../../../src/memory/text/topic.ts';
import { ENGINE_TAKEN, skipped } from '../../support/memory-world.ts';
import { calls, says, startMessagesServer } from '../../support/messages-server.ts';
import { inNights, put, record, told } from '../../support/night-world.ts';
import { scriptedModel } from '../../support/scripted-model.ts';

const A = 'The harvest runs on crates.';
const B = 'The press runs on barrels.';
/** Of the first night's day. */
const LOG = logPath('2026-11-20');
const WITHDRAWN = { state: 'gone', reason: 'withdrawn' };

/** A log without the entries that hold these words. */
const without = (log: string, words: string) =>
  log
    .split(/^(?=- )/m)
    .filter((block) => !block.includes(words))
    .join('');

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = test.skipIf(skipped(engine) !== '');

  it('entries become a topic and a line of the index, and each row says where its entry went', () =>
    inNights(engine, async ({ night, file, db, row, states }) => {
      const { report, ids } = await night([A, B, 'It is raining today.'], ([a, b, c]) => [
        put(a, A),
        put(b, B),
        { kind: 'drop', entries: [c], because: 'ephemeral', reason: 'Of the day.' },
      ]);
      expect(report).toMatchObject({ outcome: 'dreamed', left: [], refused: [], index: { topics: 1 } });
      expect(await file('facts.md')).toBe(
        `---\nname: facts\ndescription: Facts\ntype: project\n---\n\n- ${A}\n- ${B}\n`,
      );
      expect(await file('MEMORY.md')).toBe('# Memory\n\n## Project\n- Facts [facts.md]\n');
      expect(await states()).toEqual({ [A]: 'placed', [B]: 'placed', 'It is raining today.': 'dropped' });
      const of = "select source from rests where memory = ? and source <> 'index'";
      const rests = await db.all<{ source: string }>(of, row.id);
      expect(rests.map(({ source }) => source).sort()).toEqual(ids.slice(0, 2).sort());
      const select = 'select status, output from job where id = ?';
      const job = await db.get<{ status: string; output: string }>(select, report.job);
      expect(job?.status).toBe('completed');
      expect(JSON.parse(job?.output ?? '').operations).toMatchObject([
        { kind: 'add', topic: 'facts.md', came: [A] },
        { kind: 'add', topic: 'facts.md', came: [B] },
        { kind: 'drop', reason: 'Of the day.' },
      ]);
    }));

  it('a second dream over the same asks no model and changes nothing', () =>
    inNights(engine, async ({ night, dream, file, db }) => {
      await night([A], ([a]) => [put(a, A)]);
      const before = (await file('MEMORY.md')) + (await file('facts.md'));
      const versions = await db.all('select id from version');
      expect(await dream()).toMatchObject({ outcome: 'nothing-new', job: null, operations: [] });
      expect((await file('MEMORY.md')) + (await file('facts.md'))).toBe(before);
      expect(await db.all('select id from version')).toEqual(versions);
    }));

  it('the undo of a dream is whole: topics, index, what lines rest on, what became of entries', () =>
    inNights(engine, async ({ night, db, memories, states, file, has, row }) => {
      await night([A], ([a]) => [put(a, A)]);
      const rows = () => db.all('select * from rests order by memory, file, line, source');
      const before = [await states(), await file('facts.md'), await file('MEMORY.md'), await rows()];
      const text = 'The harvest runs on 12 crates now.';
      const { report } = await night([text, B], ([b, c]) => [
        put(b, text, { out: [lineId(A)], over: [A] }),
        put(c, B, { topic: 'press', description: 'Press' }),
      ]);
      expect(has('press.md')).toBe(true);
      await undo({ job: report.job as string, startedBy: 'person' } as never, { memories, environment: {} } as never);
      expect(has('press.md')).toBe(false);
      const { [text]: one, [B]: two, ...others } = await states();
      expect([one, two]).toEqual(['new', 'new']);
      expect([others, await file('facts.md'), await file('MEMORY.md'), await rows()]).toEqual(before);
      expect(row.scope).toBe('project');
    }));

  it('a log line that a person edited, removed or added is taken at the person’s word', () =>
    inNights(engine, async ({ night, dream, dir, row, file, now, ...world }) => {
      await record(
        world,
        row.id,
        '2026-11-20T12:00:00Z',
        [A, B, 'The mill listens on port 80.'].map((text) => ({ type: 'project', text })),
      );
      const path = join(dir, LOG);
      const log = without(
        readFileSync(path, 'utf8').replace('** The mill listens on port 80', '** The mill listens on port 81'),
        A,
      );
      writeFileSync(path, `${log}- **reference** The board is at https://b.example.org/x.\n`);
      const texts = ['The mill listens on port 81.', 'The board is at https://b.example.org/x.', B];
      const { report } = await night([], (_, call) => (call === 1 ? [] : null));
      expect(report.left.length + report.operations.length).toBeGreaterThanOrEqual(0);
      const rows = await world.db.all<{ text: string; state: string; said_by: string; id: string }>(
        'select id, text, state, said_by from entry where memory = ?',
        row.id,
      );
      expect(rows.map(({ text, state, said_by }) => [text, state, said_by])).toEqual(
        expect.arrayContaining([
          [A, 'gone', 'human'],
          [B, 'new', 'human'],
          [texts[0], 'new', 'person'],
          [texts[1], 'new', 'person'],
        ]),
      );
      const waiting = rows.filter(({ state }) => state === 'new');
      await night([], () => waiting.map(({ id, text }) => put(id, text)));
      for (const text of texts) expect(await file('facts.md')).toContain(`- ${text}\n`);
    }));

  it('a line that rested on an entry removed later goes without a model, the others stay; it is back with the entry', () =>
    inNights(engine, async ({ night, dream, dir, file, states }) => {
      await night([A, B], ([a, b]) => [put(a, A), put(b, B)]);
      const path = join(dir, LOG);
      const log = readFileSync(path, 'utf8');
      const topic = await file('facts.md');
      writeFileSync(path, without(log, A));
      const report = await dream();
      expect(report).toMatchObject({ outcome: 'dreamed', operations: [{ kind: 'retire', gone: [A] }] });
      expect(await file('facts.md')).not.toContain(A);
      expect(await file('facts.md')).toContain(B);
      expect(await states()).toEqual({ [A]: 'gone', [B]: 'placed' });
      // As a checkout of another branch brings both back.
      writeFileSync(path, log);
      writeFileSync(join(dir, 'facts.md'), topic);
      await night([], () => []);
      expect(await states()).toMatchObject({ [B]: 'placed' });
    }));

  it('what a checkout takes away and brings back is placed again, and lines keep what they rest on', () =>
    inNights(engine, async ({ night, dream, dir, states, db }) => {
      await night([A, B], ([a, b]) => [put(a, A), put(b, B)]);
      const paths = [LOG, 'facts.md', 'MEMORY.md'].map((path) => join(dir, path));
      const texts = paths.map((path) => readFileSync(path, 'utf8'));
      const rests = await db.all('select * from rests order by file, line, source');
      writeFileSync(paths[0] as string, without(texts[0] as string, B));
      writeFileSync(paths[1] as string, (texts[1] as string).replace(`- ${B}\n`, ''));
      expect(await dream()).toMatchObject({ outcome: 'nothing-new' });
      expect(await states()).toEqual({ [A]: 'placed', [B]: 'gone' });
      for (const [at, path] of paths.entries()) writeFileSync(path, texts[at] as string);
      const [{ id } = { id: '' }] = await db.all<{ id: string }>('select id from entry where text = ?', B);
      await night([], () => [{ kind: 'drop', entries: [id], because: 'duplicate', of: lineId(B), reason: 'x' }]);
      expect(await states()).toEqual({ [A]: 'placed', [B]: 'placed' });
      expect(await db.all('select * from rests order by file, line, source')).toEqual(rests);
    }));

  it('an edit made while the model was thinking survives, in the topic and in the index', async () => {
    let edit = () => {};
    const server = await startMessagesServer((request, call) => {
      if (call > 1) return says('Done.');
      edit();
      const id = /e_[0-9a-f]{12}/.exec(JSON.stringify(request.messages).split('<entries>')[1] ?? '')?.[0];
      return calls('propose_operations', { operations: [put(id, B)] });
    });
    await inNights(
      engine,
      async ({ dream, dir, row, file, ...world }) => {
        const text = '---\nname: facts\ndescription: Facts\ntype: project\n---\n- Mine.\n';
        writeFileSync(join(dir, 'facts.md'), text);
        await record(world, row.id, '2026-11-20T01:00:00Z', [{ type: 'project', text: B }]);
        edit = () => {
          appendFileSync(join(dir, 'facts.md'), '- A person was here.\n');
          writeFileSync(join(dir, 'MEMORY.md'), '# Mine\n\n- My words.\n');
        };
        expect(await dream()).toMatchObject({ outcome: 'dreamed', left: [] });
        for (const line of ['- Mine.', '- A person was here.', `- ${B}`])
          expect(await file('facts.md')).toContain(`${line}\n`);
        expect(await file('MEMORY.md')).toContain('# Mine\n\n- My words.\n');
        expect(await file('MEMORY.md')).toContain('[facts.md]');
      },
      { server },
    );
    await server.close();
  });

  it('a log whose entries went all at once takes none with it; files that were wiped stop it until a person says so', () =>
    inNights(engine, async ({ night, dream, dir, states, has, memories, row }) => {
      const texts = [A, B, 'The mill stands still.'];
      await night(texts, (ids) => ids.map((id, at) => put(id, texts[at] as string)));
      const log = readFileSync(join(dir, LOG), 'utf8');
      writeFileSync(join(dir, LOG), '# 2026-11-20\n');
      expect(await dream()).toMatchObject({ outcome: 'nothing-new' });
      expect(await states()).toEqual(Object.fromEntries(texts.map((text) => [text, 'placed'])));
      writeFileSync(join(dir, LOG), log);
      const topics = ['MEMORY.md', 'facts.md', LOG];
      for (const path of topics) rmSync(join(dir, path));
      expect(await dream()).toMatchObject({ outcome: 'refused', error: { code: 'refused' } });
      await acceptMissing(memories, row);
      expect((await dream()).outcome).not.toBe('refused');
      expect(Object.values(await states())).toEqual(['gone', 'gone', 'gone']);
      expect([has('facts.md'), has('MEMORY.md')]).toEqual([false, false]);
    }));

  it.each([
    ['removed', (path: string) => rmSync(path)],
    ['emptied', (path: string) => writeFileSync(path, '')],
    ['filled with zeros', (path: string) => writeFileSync(path, Buffer.alloc(readFileSync(path).length))],
    ['cut off', (path: string) => writeFileSync(path, readFileSync(path).subarray(0, -40))],
    [
      'hit by bytes that are no text',
      (path: string) =>
        writeFileSync(path, Buffer.from(readFileSync(path, 'latin1').replace('<!-- e_', '<!-\xff e_'), 'latin1')),
    ],
  ])('a log that was %s takes no memory with it', (_, damage) =>
    inNights(engine, async ({ night, dream, dir, file, states, db, memories, row }) => {
      await night([A], ([a]) => [put(a, A)]);
      const { ids } = await night([B], ([b]) => [put(b, B)]);
      damage(join(dir, logPath('2026-11-21')));
      expect(await dream()).toMatchObject({ outcome: 'nothing-new', operations: [] });
      expect(await file('facts.md')).toContain(`- ${A}\n- ${B}\n`);
      expect(await states()).toEqual({ [A]: 'placed', [B]: 'placed' });
      await acceptMissing(memories, row);
      await dream();
      expect(await db.get('select state, reason from entry where id = ?', ids[0] ?? '')).toEqual(WITHDRAWN);
      expect(await file('facts.md')).toBe((await file('facts.md')).replace(`- ${B}\n`, ''));
    }),
  );

  it('what is pinned and what a person wrote stay as they are, topics, lines and index', () =>
    inNights(engine, async ({ night, dir, file, states }) => {
      const pinned = '---\nname: pinned\ndescription: Pinned\ntype: project\npinned: true\n---\n- Never touch this.\n';
      const index = '---\npinned: true\n---\n# Mine\n';
      const mine =
        '---\nname: mine\ndescription: By hand\ntype: project\nextra: [1, 2]\n---\nThe press has 9 valves.\n';
      for (const [path, text] of Object.entries({ 'pinned.md': pinned, 'MEMORY.md': index, 'mine.md': mine }))
        writeFileSync(join(dir, path), text);
      const said = 'The press has 8 valves.';
      const { requests } = await night(
        [said],
        ([a], call) =>
          [
            [put(a, said, { topic: 'pinned' })],
            [put(a, said, { topic: 'mine', out: [lineId('The press has 9 valves.')], over: ['9'] })],
            [put(a, said)],
          ].at(call - 1) ?? null,
      );
      expect(told(requests[1])).toContain('is pinned and stays as it is');
      expect(told(requests[2])).toContain('was written by a person and stays');
      expect(await file('pinned.md')).toBe(pinned);
      expect(await file('mine.md')).toBe(mine);
      expect(await file('MEMORY.md')).toBe(index);
      expect(await states()).toEqual({ [said]: 'placed' });
    }));

  it('a rule that is taken back goes, with the last line of a topic its file and its index line', () =>
    inNights(engine, async ({ night, has, file, states }) => {
      await night([A], ([a]) => [put(a, A)]);
      const said = 'The harvest runs on crates no longer.';
      const { report } = await night([said], ([b]) => [
        { kind: 'put', entries: [b], out: [lineId(A)], over: [A], reason: 'Taken back.' },
      ]);
      expect(report).toMatchObject({ outcome: 'dreamed', left: [], operations: [{ kind: 'retire', gone: [A] }] });
      expect(has('facts.md')).toBe(false);
      expect(await file('MEMORY.md')).not.toContain('facts');
      expect(await states()).toEqual({ [A]: 'dropped', [said]: 'dropped' });
    }));

  it('what would take more than a quarter of the memory is told, and nothing of it goes', () =>
    inNights(engine, async ({ night, file, states }) => {
      const texts = ['crates', 'barrels', 'vats', 'presses', 'carts', 'mills'].map(
        (on, at) => `The ${on} of cellar ${at} are red.`,
      );
      await night(texts, (ids) => ids.map((id, at) => put(id, texts[at] as string)));
      const said = 'The crates, barrels, vats, presses, carts and mills of cellars 0 to 5 are red no longer.';
      const out = texts.slice(0, 5).map(lineId);
      const { report, requests } = await night([said], ([a], call) =>
        call === 1 ? [{ kind: 'put', entries: [a], out, over: texts, reason: 'Old.' }] : null,
      );
      expect(report).toMatchObject({ outcome: 'failed', error: { code: 'bad-reply' } });
      expect(told(requests[1])).toContain('5 of 6 lines would go, more than a quarter');
      expect(parseTopic('x.md', await file('facts.md')).lines).toHaveLength(6);
      expect((await states())[said]).toBe('new');
    }));

  it('a topic file that a person adds is in the index after the next dream, without a model', () =>
    inNights(engine, async ({ night, dream, dir, file }) => {
      await night([A], ([a]) => [put(a, A)]);
      const text = '---\nname: deploy\ndescription: How we deploy\ntype: project\n---\n- by hand\n';
      writeFileSync(join(dir, 'deploy.md'), text);
      expect(await dream()).toMatchObject({ outcome: 'nothing-new', index: { topics: 2 } });
      expect(await file('MEMORY.md')).toContain('- How we deploy [deploy.md]\n');
      expect(await file('deploy.md')).toBe(text);
    }));

  it('an index that git left in conflict, or that is no file, is found before a model is asked', () =>
    inNights(engine, async ({ night, dir }) => {
      writeFileSync(join(dir, 'MEMORY.md'), '<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n');
      const one = await night([A], ([a]) => [put(a, A)]);
      expect([one.report.outcome, one.report.error?.message, one.requests]).toEqual([
        'failed',
        expect.stringContaining('MEMORY.md'),
        [],
      ]);
      rmSync(join(dir, 'MEMORY.md'));
      mkdirSync(join(dir, 'MEMORY.md'));
      const two = await night([], () => []);
      expect([two.report.error?.message, two.requests]).toEqual([expect.stringContaining('MEMORY.md'), []]);
    }));

  it('nothing is written through a link that leads out of the memory, and a name that is none goes back to the model', () =>
    inNights(engine, async ({ night, dir, home, has }) => {
      const elsewhere = join(home, 'elsewhere.md');
      writeFileSync(elsewhere, 'mine\n');
      symlinkSync(elsewhere, join(dir, 'notes.md'));
      const { report: refused } = await night([A], ([a]) => [put(a, A, { topic: 'notes' })]);
      const error = { message: expect.stringContaining('leads outside the directory') };
      expect(refused).toMatchObject({ error, left: [{ reason: error.message }] });
      expect(readFileSync(elsewhere, 'utf8')).toBe('mine\n');
      const names = ['Port Numbers', '../ports', 'ports'];
      const { report, requests } = await night([], ([a], call) => [put(a, A, { topic: names[call - 1] })]);
      expect(report).toMatchObject({ outcome: 'dreamed', left: [] });
      const said = requests.slice(1).map(told);
      expect(said).toEqual([
        expect.stringContaining('kebab-case'),
        expect.stringContaining('must be the name of a topic file'),
      ]);
      expect([has('ports.md'), existsSync(join(dir, 'Port Numbers.md'))]).toEqual([true, false]);
    }));

  it('a model that proposes nothing usable leaves the memory as it was, and the row of the job says why', () =>
    inNights(engine, async ({ night, db, has, states }) => {
      const { report } = await night([A], () => null);
      expect(report).toMatchObject({
        outcome: 'failed',
        error: { code: 'bad-reply' },
        left: [{ entry: expect.any(String) }],
      });
      const row = await db.get('select status, outcome, code from job where id = ?', report.job);
      expect(row).toEqual({ status: 'failed', outcome: 'failed', code: 'bad-reply' });
      expect([has('facts.md'), await states()]).toEqual([false, { [A]: 'new' }]);
    }));

  it('who lost the claim changes nothing', () =>
    inNights(engine, async ({ dream, row, states, has, ...world }) => {
      await world.db.run(
        "insert into inbox (kind, key, payload, priority, since, not_before, owner, fence) values ('dream', 'm', '{}', 1, '', '', 'w1', 2)",
      );
      const id = Number((await world.db.get<{ id: number }>('select id from inbox'))?.id);
      await record(world, row.id, '2026-11-20T01:00:00Z', [
        { type: 'feedback', text: 'Always use pnpm instead of npm.' },
      ]);
      const model = await scriptedModel();
      const agent = {
        model: 'test-model',
        access: model.access,
        maxTurns: 5,
        maxOutputTokens: 8_000,
        requestMs: 60_000,
      };
      const report = await dream({ claim: { id, owner: 'w1', fence: 1 } }, { agent });
      expect(report).toMatchObject({ outcome: 'failed', error: { code: 'fenced' }, operations: [] });
      expect([Object.values(await states()), has('MEMORY.md')]).toEqual([['new'], false]);
      expect(await dream({ claim: { id, owner: 'w1', fence: 2 } }, { agent })).toMatchObject({ outcome: 'dreamed' });
      expect(Object.values(await states())).toEqual(['placed']);
    }));
});
