// What lines rest on, on both engines: down to the words, and from the words up to the lines.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/base/time.ts';
import { insert, type Sql, type Value } from '../../src/db/sql.ts';
import { type EntryRow, putEntry } from '../../src/memory/entries.ts';
import { Memories } from '../../src/memory/memories.ts';
import { MemoryFiles } from '../../src/memory/memory-files.ts';
import { explainLines, foundLines, restingOn } from '../../src/memory/rests.ts';
import { lineId } from '../../src/memory/text/topic.ts';
import { act, DAY, dream, entryOf, LOG, learn } from '../support/acts.ts';
import { ENGINE_TAKEN, inWorld, NOW, skipped, type World } from '../support/memory-world.ts';

const PNPM = 'Always use pnpm instead of npm.';
const MAIN = 'Never commit to main directly.';
const TOPIC = 'agreements.md';

interface Here extends World {
  dir: string;
  memory: string;
  edit(change: (text: string) => string): Promise<void>;
}

describe.each(ENGINE_TAKEN)('on %s', (engine) => {
  const it = (name: string, work: (here: Here) => Promise<void>) =>
    test.skipIf(skipped(engine) !== '')(name, () =>
      inWorld(engine, async (world) => {
        const { dir, row, files } = await world.withDirectory();
        const path = join(dir, TOPIC);
        const edit = async (change: (text: string) => string) => {
          writeFileSync(path, change(readFileSync(path, 'utf8')));
          await files.list();
        };
        await work({ ...world, dir, memory: row.id, edit });
      }),
    );

  it('a line is explained down to the words, who said them, when, and in which transcript', async ({
    db,
    memory,
    ...here
  }) => {
    const job = await learn({ db, ...here }, memory, { t1: PNPM, t2: MAIN });
    await db.run(
      "insert into session (id, name, memory, path, created_at) values ('s1', 'agent-1', ?, '/t.jsonl', '')",
      memory,
    );
    await dream({ db, ...here }, memory, { agreements: [PNPM, MAIN] });
    const [line, other] = await explainLines(db, { memory, path: TOPIC });
    expect(line).toEqual({
      ...{ path: TOPIC, number: 7, id: expect.any(String), text: PNPM, isPersons: false, program: null, authors: [] },
      entries: [
        expect.objectContaining({
          ...{ id: entryOf(PNPM).id, type: 'feedback', strength: 'stated', text: PNPM, changes: null, by: 'human' },
          ...{ evidence: [{ message: 't1-m', quote: PNPM, by: 'human' }], session: 'agent-1', turn: 't1', job },
          ...{
            at: `${DAY}T09:00:00.000Z`,
            state: 'placed',
            reason: null,
            log: LOG,
            isInLog: true,
            learnedBy: 'extract',
            transcript: '/t.jsonl',
          },
        }),
      ],
    });
    expect(await explainLines(db, { memory, path: TOPIC, line: '8' })).toEqual([other]);
    expect(await explainLines(db, { memory, path: TOPIC, line: other?.id })).toEqual([other]);
    await expect(explainLines(db, { memory, path: TOPIC, line: '99' })).rejects.toThrow('has no line of memory at 99');
    for (const path of ['nothing.md', LOG])
      await expect(explainLines(db, { memory, path })).rejects.toThrow('There is no topic');
  });

  it('a line that rests on a lesson tells its kind, its way, and where that session ran', async (here) => {
    const { db, memory } = here;
    await learn(here, memory, { t1: PNPM, t2: MAIN });
    const session = { id: 's1', name: 'agent-1', memory, machine: 'm1', cwd: '/repo', created_at: '' };
    await insert(db, 'session', [session]);
    const evidence = [
      { message: 'a', quote: 'pnpm test', proves: 'failed' },
      { message: 'b', quote: 'No projects matched the filters', proves: 'error' },
      { message: 'c', quote: 'cd services/api && pnpm test', proves: 'worked' },
    ];
    const entry = { ...entryOf(PNPM), evidence, found: 'way' } as EntryRow;
    await act(here, memory, {
      kind: 'extract',
      rows: (change) => putEntry(change, { ...entry, memory, state: 'new', job: change.job, reason: null }),
    });
    await dream(here, memory, { agreements: [PNPM, MAIN] });
    expect(await foundLines(db, memory)).toEqual([
      {
        ...{ file: expect.any(String), path: TOPIC, line: lineId(PNPM), source: entry.id },
        ...{ found: 'way', cwd: '/repo', machine: 'm1', evidence, text: entry.text },
        way: {
          ...{ programs: ['pnpm test'], files: [], error: 'No projects matched the filters' },
          ...{ works: 'cd services/api && pnpm test', isHarmless: true },
        },
      },
    ]);
  });

  it('it follows a line that is reformatted or moved; one that says something else is the person’s', async (here) => {
    const { db, memory, dir, edit } = here;
    await learn(here, memory, { t1: PNPM });
    await dream(here, memory, { agreements: [PNPM] });
    const restsOn = async (path = TOPIC) =>
      (await explainLines(db, { memory, path })).map(({ entries, isPersons }) => [entries.length, isPersons]);
    await edit((text) => text.replace(`- ${PNPM}`, '* always use **pnpm**, instead of npm'));
    expect(await restsOn()).toEqual([[1, false]]);
    writeFileSync(join(dir, 'other.md'), '- always use **pnpm**, instead of npm\n');
    await edit((text) => text.replace('pnpm', 'yarn'));
    expect(await restsOn()).toEqual([[0, true]]);
  });

  it('what rests on an entry alone is told from what rests on others, too', async (here) => {
    const { db, memory, edit } = here;
    await learn(here, memory, { t1: PNPM, t2: MAIN });
    await learn(here, memory, { t3: MAIN }, { session: 's2' });
    await dream(here, memory, { agreements: [PNPM, MAIN] });
    await edit((text) => `${text}- By hand.\n`);
    const first = [entryOf(PNPM).id, entryOf(MAIN, { turn: 't2' }).id];
    const said = (lines: { text: string }[]) => lines.map(({ text }) => text);
    const { alone, shared } = await restingOn(db, memory, first);
    expect([said(alone), said(shared)]).toEqual([[PNPM], [MAIN]]);
    await db.run("update entry set state = 'gone' where session = 's2'");
    expect(said((await restingOn(db, memory, first)).alone)).toEqual([PNPM, MAIN]);
    await edit((text) => text.replace(`- ${PNPM}\n`, ''));
    expect(said((await restingOn(db, memory, first)).alone)).toEqual([MAIN]);
    expect(await restingOn(db, memory, [])).toEqual({ alone: [], shared: [] });
  });

  it('a line that only a program wrote says which', async (here) => {
    const { db, memory } = here;
    await dream(here, memory, { agreements: [PNPM] });
    const [line] = await explainLines(db, { memory, path: TOPIC });
    const file = (await db.get<{ id: string }>('select id from file'))?.id ?? '';
    await db.run(
      "insert into rests (memory, file, line, source) values (?, ?, ?, 'api:apikey_1')",
      memory,
      file,
      line?.id ?? '',
    );
    expect(await explainLines(db, { memory, path: TOPIC })).toMatchObject([
      { isPersons: false, program: 'api:apikey_1' },
    ]);
  });

  it('a file of many lines, and one long line, cost few statements, whoever wrote them and takes them away', async (here) => {
    const { memory, home } = here;
    let statements = 0;
    const counted = (sql: Sql): Sql => ({
      all: <Found>(text: string, ...values: Value[]) =>
        sql.all<Found>(text, ...values).finally(() => (statements += 1)),
      get: <Found>(text: string, ...values: Value[]) =>
        sql.get<Found>(text, ...values).finally(() => (statements += 1)),
      run: (text, ...values) => sql.run(text, ...values).finally(() => (statements += 1)),
    });
    const write = <T>(work: (sql: Sql) => Promise<T>) => here.db.write((sql) => work(counted(sql)));
    const memories = new Memories({ db: { ...here.db, ...counted(here.db), write }, home, clock: fixedClock(NOW) });
    const files = new MemoryFiles(memories, await memories.of(memory));
    const by = { job: 'job_s', actor: { kind: 'session', id: 's' } } as const;
    const lines = (what: string) => Array.from({ length: 3_000 }, (_, n) => `- ${what} ${n}\n`).join('');
    await files.create(by, { path: 'many.md', text: lines('first') });
    await files.write(by, { path: 'many.md', text: lines('second') });
    writeFileSync(join(here.dir, 'many.md'), lines('third'));
    await files.list();
    await files.create(by, { path: 'long.md', text: `${'word '.repeat(20_000)}end` });
    await files.write(by, { path: 'long.md', text: `${'word '.repeat(20_000)}of it` });
    expect(statements).toBeLessThan(400);
    expect((await files.search({ query: '"word of it"', limit: 10 })).hits).toMatchObject([{ path: 'long.md' }]);
    expect(await explainLines(here.db, { memory, path: 'many.md' })).toHaveLength(3_000);
    await memories.close();
  });
});
