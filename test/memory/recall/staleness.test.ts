import { expect, test } from 'vitest';
import { ageCaveat, ageDays, namedThings, STALE_DAYS, sayAge } from '../../../src/memory/recall/recall-topics.ts';
import { MEMORY_TYPES } from '../../../src/memory/types.ts';

const NOW = new Date('2026-11-21T10:00:00Z');

test.each([
  ['2026-11-21T10:00:00Z', 0, 'today'],
  ['2026-11-20T10:00:01Z', 0, 'today'],
  ['2026-11-20T10:00:00Z', 1, '1 day ago'],
  ['2026-10-22T09:00:00Z', 30, '30 days ago'],
  ['2026-12-01T00:00:00Z', 0, 'today'],
])('what changed at %s is %d days old: %s', (changed, days, said) => {
  expect(ageDays(new Date(changed), NOW)).toBe(days);
  expect(sayAge(days)).toBe(said);
});

test('a project’s memory ages fastest, then a reference, then what is known of the user, then feedback', () => {
  const { project, reference, user, feedback } = STALE_DAYS;
  expect([project, reference, user, feedback]).toEqual([project, reference, user, feedback].sort((a, b) => a - b));
  expect(new Set(Object.values(STALE_DAYS)).size).toBe(4);
});

test('no memory is marked on its first day, and every one is from its type’s day on', () => {
  for (const type of MEMORY_TYPES) {
    expect(ageCaveat(type, 0)).toBeNull();
    expect(ageCaveat(type, STALE_DAYS[type] - 1)).toBeNull();
    expect(ageCaveat(type, STALE_DAYS[type])).not.toBeNull();
  }
  expect(ageCaveat(undefined, 1)).toBe(ageCaveat('project', 1));
});

test.each([
  ['`src/a.ts`', 'path', ['src/a.ts']],
  ['`./src/a.ts:12`', 'path', ['src/a.ts']],
  ['`tokens.ts`', 'path', ['tokens.ts']],
  ['`src/memory/`', 'path', ['src/memory']],
  ['see src/lib/x.py for it', 'path', ['src/lib/x.py']],
  ['`--dry-run`', 'word', ['dry-run', 'dry_run', 'dryRun']],
  ['`--port=3000`', 'word', ['port']],
  ['`computeTotals()`', 'word', ['computeTotals']],
  ['`computeTotals(a, b)`', 'word', ['computeTotals']],
  ['`compute_totals`', 'word', ['compute_totals']],
  ['`store.commitAll`', 'word', ['commitAll']],
  ['`Store::commit`', 'word', ['commit']],
  ['`StoreLock`', 'word', ['StoreLock']],
])('%s names a %s', (text, kind, search) => {
  expect(namedThings(text).map((thing) => [thing.kind, thing.search])).toEqual([[kind, search]]);
});

test.each([
  'plain words, e.g. main.',
  '`npm`',
  '`npm run build -- --watch`',
  '`git commit --amend`',
  '`main`',
  '`NODE_ENV`',
  '`https://example.org/a/b.html`',
  'https://example.org/a/b.html',
  '`@scope/package`',
  '`~/notes/a.md`',
  '`/etc/hosts.txt`',
  '`../other/a.ts`',
  '`src/**/*.ts`',
  '`origin/main`',
  '`application/json`',
  '`node_modules/x/index.js`',
  '```\nlib/inFence.ts\n`inFence()`\n```',
  'and/or, either/or',
])('%j names nothing that can be looked for', (text) => {
  expect(namedThings(text)).toEqual([]);
});
