// The table of chains in docs/dev/evidence.md is what needs.jsonl counts to; of the sessions it holds places and hashes, none of their text.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { publishedPart, rowsIn } from '../support/evidence.ts';

interface Need {
  chain: string;
  grade: 'A' | 'B' | 'C';
  source: 'person' | 'found';
  told: 'full' | 'part' | 'held' | 'none';
  [other: string]: unknown;
}

const NEEDS: Need[] = readFileSync(join(import.meta.dirname, 'chains/needs.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const SOURCES = { found: 'found out by the agent', person: 'said by a person' };

test('what later sessions of three chains were told is as docs/dev/evidence.md says', () => {
  const graded = NEEDS.filter(({ grade }) => grade !== 'C');
  const rows = Map.groupBy(graded, ({ chain, source }) => `${chain}: ${SOURCES[source]}`);
  const counted = [...rows].map(([name, of]) => {
    const told = (...how: Need['told'][]) => String(of.filter((each) => how.includes(each.told)).length);
    return [name, [String(of.length), told('full'), told('part'), told('held', 'none')]];
  });
  const published = rowsIn(publishedPart('chains'));
  published.delete('Chain: needs');
  expect(Object.fromEntries(published)).toEqual(Object.fromEntries(counted as [string, string[]][]));
});

test('a need names places by file, line and hash', () => {
  const place = { file: expect.stringMatching(/\.jsonl$/), line: expect.any(Number), length: expect.any(Number) };
  const hashed = { ...place, sha256: expect.stringMatching(/^[0-9a-f]{16}$/) };
  for (const need of NEEDS) expect(need).toEqual({ ...need, earlier: hashed, later: hashed });
});
