import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TopicSearch } from '../../../src/memory/dream/topic-table.ts';
import { allEntries } from '../../../src/memory/ledger/entries.ts';
import { reportLine } from '../../../src/memory/text/dream-report.ts';
import { lineId, newTopic } from '../../../src/memory/text/topic.ts';
import { sized } from '../../support/depth.ts';
import { jobsInProcess } from '../../support/jobs-in-process.ts';
import { record, type Said } from '../../support/recorded.ts';
import { tempDir } from '../../support/temp.ts';
import { tidyDreamer } from '../../support/tidy-dreamer.ts';

const NOW = '2026-11-21T02:00:00Z';
/** Of five lines each. */
const TOPICS = sized({ quick: 300, deep: 1_000 });
const SAID_AT = '2026-11-20T12:00:00Z';

async function night({
  topics = 0,
  dir = tempDir(),
  requestTokens,
  beforeCall,
}: {
  topics?: number;
  dir?: string;
  requestTokens?: number;
  beforeCall?: (call: number) => void;
}) {
  for (let number = 0; number < topics; number++) {
    const lines = [1, 2, 3, 4, 5].map(
      (line) => `The service s${number}x${line} listens on port ${number + 1_000 * line}.`,
    );
    const text = newTopic({
      name: `svc-${number}`,
      description: `Ports of service s${number}`,
      type: 'project',
      lines,
    });
    writeFileSync(join(dir, `svc-${number}.md`), text);
  }
  const dreamer = tidyDreamer((subject) => subject.toLowerCase().replace(/[^a-z0-9]+/g, '-'), beforeCall);
  const jobs = await jobsInProcess(dir, NOW, { runAgent: dreamer.runAgent, requestTokens });
  return { jobs, dreamer, dir };
}

const facts = (count: number): Said[] =>
  Array.from({ length: count }, (_, n) => ({
    type: 'project',
    text: `The new service n${n} of team ${n % 4} listens on port ${30_000 + n}, as the service s${n % 9}x1 does.`,
  }));

test(`twenty entries send at most 1.5 times as much to ${TOPICS} topics as to 10`, async () => {
  const sent: number[] = [];
  for (const topics of [10, TOPICS]) {
    const { jobs, dreamer } = await night({ topics });
    await record(jobs.store, SAID_AT, facts(20));
    expect((await jobs.dream()).outcome).toBe('dreamed');
    expect(dreamer.tokens).toHaveLength(1);
    sent.push(dreamer.tokens[0] as number);
  }
  const [few, many] = sent as [number, number];
  expect(many / few).toBeLessThanOrEqual(1.5);
});

test(`the one line among ${5 * TOPICS} that an entry changes is shown`, async () => {
  const { jobs, dreamer } = await night({ topics: TOPICS });
  const text = 'The service s277x3 listens on port 1234 since 2026-11-20.';
  await record(jobs.store, SAID_AT, [{ type: 'project', text }, ...facts(5)]);
  await jobs.dream();
  expect(dreamer.inputs[0]).toMatch(/\[[0-9a-f]{8} person\] The service s277x3 listens on port 3277\./);
});

test('the line that an entry says it changes is shown and named, in a topic of which most is not shown', async () => {
  const { jobs, dreamer, dir } = await night({ topics: 50 });
  const rule = 'Every pull request gets a line under Unreleased in CHANGELOG.md.';
  const left = 'A sha256 smoke test is left for 0.7.';
  const others = Array.from(
    { length: 30 },
    (_, n) => `Reviewer number ${n} reads pull requests of the part p${n} ${'and '.repeat(50)}more.`,
  );
  const topic = { name: 'pull-requests', description: 'Before opening one', type: 'feedback' } as const;
  writeFileSync(
    join(dir, 'pull-requests.md'),
    newTopic({ ...topic, lines: [...others.slice(15), rule, left, ...others.slice(0, 15)] }),
  );
  const text = 'Reviewer number 3 said so: skip those from now on, and the plan is done.';
  const changes = 'Every pull request gets a line under Unreleased in CHANGELOG.md; left for 0.7: a sha256 smoke test.';
  const [entry] = await record(jobs.store, SAID_AT, [{ type: 'feedback', text, changes }]);
  await jobs.dream();
  const input = dreamer.inputs[0] as string;
  for (const each of [rule, left]) {
    expect(input).toContain(`[${lineId(each)} person] ${each}\n`);
    const row = input.split('\n').find((line) => line.includes(`"id":"${entry?.id}"`)) as string;
    expect(JSON.parse(row).lines).toContain(lineId(each));
  }
  expect(JSON.parse(input.split('\n').find((line) => line.startsWith('{')) as string).lines).toHaveLength(2);
});

test('the line that an entry was seen to say again is shown and named, and one that is gone is not', async () => {
  const { jobs, dreamer, dir } = await night({ topics: TOPICS });
  const habit = 'Seen once, 2026-11-02: Has each change read by the review skill first.';
  const topic = { name: 'zeal', description: 'Zeal', type: 'feedback' } as const;
  writeFileSync(join(dir, 'zeal.md'), newTopic({ ...topic, lines: [habit] }));
  const text = 'Lets nothing be pushed unseen.';
  const again = { type: 'feedback', strength: 'implied', again: lineId(habit) } as const;
  await record(jobs.store, SAID_AT, [
    { ...again, text },
    { ...again, text: 'Lets a colleague look.', again: '00000000' },
  ]);
  await jobs.dream();
  const input = dreamer.inputs[0] as string;
  expect(input).toMatch(new RegExp(`\\[${lineId(habit)} [^\\]]*\\] `));
  const rows = input.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  expect(rows.map((row) => row.again)).toEqual([lineId(habit), undefined]);
});

test('a topic that was not shown is known all the same when the model names it', async () => {
  const { jobs, dreamer, dir } = await night({ topics: 300 });
  writeFileSync(
    join(dir, 'unrelated.md'),
    newTopic({ name: 'unrelated', description: 'Kept as it is', type: 'user', lines: ['Something else entirely.'] }),
  );
  await record(jobs.store, SAID_AT, [{ type: 'project', text: 'Unrelated listens on port 9.' }]);
  const report = await jobs.dream();
  expect(dreamer.refused.join()).toContain('of type user, not project');
  expect(report.outcome).toBe('failed');
  expect(readFileSync(join(dir, 'unrelated.md'), 'utf8')).toContain('description: Kept as it is');
});

test('what a batch committed stays when the next one dies, and the next dream does the rest alone', async () => {
  const dir = tempDir();
  const first = await night({
    dir,
    requestTokens: 500,
    beforeCall(call) {
      if (call === 3) throw new Error('killed');
    },
  });
  await record(first.jobs.store, SAID_AT, facts(20));
  await expect(first.jobs.dream()).rejects.toThrow('killed');
  const stateOf = () => Map.groupBy(allEntries(first.jobs.store.ledger), (entry) => entry.state);
  const done = stateOf().get('distilled')?.length ?? 0;
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThan(20);
  const second = await night({ dir });
  expect((await second.jobs.dream()).outcome).toBe('dreamed');
  expect(second.dreamer.inputs.join().match(/"id":"e_/g)).toHaveLength(20 - done);
  expect(stateOf().get('new')).toBeUndefined();
  const rows: { entry: string }[] = JSON.parse(readFileSync(join(dir, '.nocturne/dreams/2026-11-21.json'), 'utf8'));
  expect(new Set(rows.map((row) => row.entry)).size).toBe(20);
  expect(rows).toHaveLength(20);
});

test('the search follows edits, removals, restores and a lost table, in the archive too', async () => {
  const { jobs, dir } = await night({ topics: 3 });
  const { store } = jobs;
  const pathsOf = (text: string) => [
    ...new Set(new TopicSearch(store.ledger).find(text, 5).map((found) => found.path)),
  ];
  expect(pathsOf('s1x2')).toEqual(['svc-1.md']);
  writeFileSync(join(dir, 'svc-1.md'), '- A quetzal was seen.\n- 会議は東京で開かれる。\n');
  await store.missing();
  expect(pathsOf('s1x2')).toEqual([]);
  expect(pathsOf('QUETZAL')).toEqual(['svc-1.md']);
  expect(pathsOf('東京')).toEqual(['svc-1.md']);
  await store.rename({ actor: 'person' }, { from: 'svc-1.md', to: 'archive/svc-1.md' });
  expect(pathsOf('quetzal')).toEqual(['archive/svc-1.md']);
  store.ledger.run('delete from topic');
  expect(pathsOf('quetzal')).toEqual(['archive/svc-1.md']);
  rmSync(join(dir, 'archive/svc-1.md'));
  await store.missing();
  expect(pathsOf('quetzal')).toEqual([]);
});

test('the report counts what was before and after, what it cost and what code refused, and says it in a line', async () => {
  const { jobs, dir } = await night({ topics: 2 });
  await record(jobs.store, SAID_AT, facts(3));
  await jobs.dream();
  const json = readFileSync(join(dir, '.nocturne/dreams/2026-11-21.json'), 'utf8');
  expect(JSON.parse(json)[0].batch).toMatchObject({
    before: { topics: 2, archived: 0, lines: 10 },
    after: { topics: 5, lines: 13 },
    refused: [],
  });
  expect(readFileSync(join(dir, '.nocturne/dreams/2026-11-21.md'), 'utf8')).toContain('topics 2 → 5');
  expect(reportLine('2026-11-21', json)).toBe(
    'Memory was last sorted on 2026-11-21 (3 entries: 3 added). It holds 13 lines in 5 topics; report: .nocturne/dreams/2026-11-21.md.',
  );
  // One operation may be about several entries, and a rename is about none.
  const [first, ...rest] = JSON.parse(json) as { operation: number; entry: string; op: string; batch?: object }[];
  const one = [first, ...rest].map((row) => ({ ...row, operation: 0 }));
  const renamed = { ...rest[0], op: 'rename', entry: '', operation: 1 };
  expect(reportLine('2026-11-21', JSON.stringify([...one, renamed]))).toContain('(3 entries: 3 added, 1 renamed)');
  expect(reportLine('2026-11-21', JSON.stringify([{ ...renamed, batch: first?.batch }]))).toContain('(1 renamed)');
});
