// docs/dev/evidence.md says what is published in test/eval/chains, and README what stands there.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHAINS } from './eval/chain/links.ts';
import { NEEDS, needsOf } from './eval/chain/needs.ts';
import { publishedColumns, sources, tasksTable } from './eval/chain/published.ts';
import { needsTable, ROWS, tableOf } from './eval/chain/table.ts';
import { publishedPart, rowsIn } from './support/evidence.ts';

const columns = publishedColumns();
const AGAIN = 'npm run eval -- --chains --publish writes docs/dev/evidence.md anew';

test('the tables of docs/dev/evidence.md are counted from what was judged, no measured row is missing', async () => {
  expect(publishedPart('worth'), AGAIN).toBe(tableOf(columns));
  expect(publishedPart('needs'), AGAIN).toBe(needsTable(columns));
  expect(publishedPart('tasks'), AGAIN).toBe(tasksTable());
  expect(publishedPart('sources').replace(/\s+/g, ' '), AGAIN).toBe((await sources()).replace(/\s+/g, ' '));
  const rows = [...rowsIn(publishedPart('worth')).keys()].slice(1);
  expect(rows.toSorted()).toEqual(ROWS.map(({ name }) => name).toSorted());
  expect(ROWS).toHaveLength(10);
});

test('README quotes figures as docs/dev/evidence.md has them', () => {
  const readme = readFileSync(join(import.meta.dirname, '../README.md'), 'utf8').replace(/\s+/g, ' ');
  const chaos = ['redis', 'polling'].map((backend) => rowsIn(publishedPart('chaos')).get(backend)?.map(Number) ?? []);
  const sum = (at: number) => chaos.reduce((all, row) => all + (row[at] ?? Number.NaN), 0);
  const [person, found] = ROWS.map(({ of }) => {
    const ours = columns.get('nocturne');
    const cell = ours ? of(ours) : null;
    return `${cell?.count} of ${cell?.n}`;
  });
  expect(readme).toContain(`told ${person} things that a person had said and ${found} that an agent had found out`);
  expect(readme).toContain(`of ${sum(3)} things said, ${sum(5)} lost and ${sum(6)} doubled`);
});

test('a need names its places by file, line and hash, in a session of its chain', () => {
  for (const need of needsOf()) {
    const paths = CHAINS.find(({ name }) => name === need.chain)?.sessions.map(({ path }) => path) ?? [];
    const hashed = {
      line: expect.any(Number),
      length: expect.any(Number),
      sha256: expect.stringMatching(/^[0-9a-f]{16}$/),
    };
    expect(need).toEqual({ ...need, earlier: { ...need.earlier, ...hashed }, later: { ...need.later, ...hashed } });
    for (const { file } of [need.earlier, need.later])
      expect(paths.some((path) => path.endsWith(`/${file}`))).toBe(true);
  }
});

test('the sealed chain’s needs are those whose hash was committed before its play', () => {
  const [sha256] = readFileSync(join(import.meta.dirname, 'eval/chains/sealed.sha256'), 'utf8').split(' ');
  const lines = readFileSync(NEEDS, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"chain": "entireio+cli"'));
  expect(
    createHash('sha256')
      .update(`${lines.join('\n')}\n`)
      .digest('hex'),
  ).toBe(sha256);
});
