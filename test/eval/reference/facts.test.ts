// The reference facts are what three readers wrote down, and what they rest on stands in the real sessions still.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hasReal } from '../../support/transcripts.ts';
import { type Part, referenceFacts, referenceTraps } from './facts.ts';
import { countLines, placeOf, shortHash, stringsOfLine, wordsAt } from './places.ts';

const README = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
const PARTS: Part[] = ['work', 'sealed'];
/** So many words in a row are a quotation. */
const QUOTATION_WORDS = 9;

describe.each(PARTS)('the reference facts of the sessions %s', (part) => {
  const facts = referenceFacts(part);
  const traps = referenceTraps(part);

  test('name each fact once, and only sessions that the README names for it', () => {
    expect(new Set(facts.map(({ id }) => id)).size).toBe(facts.length);
    const rows = README.split('\n').flatMap((line) => [...line.matchAll(/^\| `([^`]+)` \| `([^`]+)` \|$/g)]);
    const named = rows.map(([, work, sealed]) => (part === 'work' ? work : sealed) as string);
    expect(named).toHaveLength(8);
    const sessions = [...facts, ...traps].map(({ session }) => session.slice(0, named[0]?.length));
    expect([...new Set(sessions)].sort()).toEqual(named.sort());
  });

  test.skipIf(!hasReal)('rest on words that stand where they say, of the session they are about', () => {
    const quotes = facts.flatMap(({ id, session, quotes }) => quotes.map((place) => ({ id, session, place })));
    const wrong = quotes.filter(
      ({ session, place }) => !place.file.includes(session) || shortHash(wordsAt(place)) !== place.sha256,
    );
    expect(wrong.map(({ id, place }) => `${id} line ${place.line}`)).toEqual([]);
    expect(traps.filter(({ file, line }) => line && stringsOfLine(file, line) === '')).toEqual([]);
  });

  test.skipIf(!hasReal)('repeat no sentence of the sessions in their own words', () => {
    const said = [...facts.map((fact) => ({ ...fact, file: fact.quotes[0]?.file ?? '', why: '' })), ...traps];
    const repeated = [...Map.groupBy(said, ({ file }) => file)].flatMap(([file, rows]) => {
      const session = sessionText(file);
      const runs = rows.flatMap(({ text, why }) => [...runsOfWords(text), ...runsOfWords(why)]);
      return runs.filter((run) => session.includes(run));
    });
    expect(repeated).toEqual([]);
  });
});

test.skipIf(!hasReal)('words that do not stand in a line have no place there, and changed ones another hash', () => {
  const place = referenceFacts('work')[0]?.quotes[0];
  if (!place) throw new Error('There is a fact with a quote.');
  expect(placeOf('words that nobody would say in that line, 4711', place)).toBeNull();
  expect(placeOf(wordsAt(place), place)).toMatchObject({ length: place.length, sha256: place.sha256 });
  expect(shortHash(wordsAt({ ...place, offset: place.offset + 1 }))).not.toBe(place.sha256);
});

function sessionText(file: string): string {
  const lines = Array.from({ length: countLines(file) }, (_, at) => stringsOfLine(file, at + 1));
  return lines.join('\n').replace(/\s+/g, ' ');
}

function runsOfWords(text: string): string[] {
  const words = text.split(/\s+/);
  const starts = Math.max(0, words.length - QUOTATION_WORDS + 1);
  return Array.from({ length: starts }, (_, at) => words.slice(at, at + QUOTATION_WORDS).join(' '));
}
