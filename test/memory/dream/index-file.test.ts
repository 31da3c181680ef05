import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MEMORY_TYPES } from '../../../src/memory/memory-types.ts';
import { buildIndex, INDEX_CAPS, type IndexTopic } from '../../../src/memory/text/index-file.ts';
import { anyText } from '../../support/any-text.ts';

const topic = (path: string, changes: Partial<IndexTopic> = {}): IndexTopic => ({
  path,
  description: `About ${path.replace('.md', '')}`,
  type: 'project',
  pinned: false,
  ...changes,
});
const build = (topics: IndexTopic[], current: string | null = null, before: string[] = []) =>
  buildIndex({ current, generatedBefore: new Set(before), topics });
const many = (count: number, changes: Partial<IndexTopic> = {}) =>
  Array.from({ length: count }, (_, at) => topic(`topic-${String(at).padStart(4, '0')}.md`, changes));

describe('buildIndex', () => {
  test('has one line per topic, grouped by type', () => {
    const built = build([
      topic('b.md'),
      topic('a.md'),
      topic('me.md', { type: 'user', description: 'Writes\n  Go' }),
      topic('notes.md', { type: undefined }),
      topic('board.md', { type: 'reference', description: '' }),
    ]);
    expect(built).toEqual({
      text: [
        '# Memory',
        '',
        '## User',
        '- Writes Go [me.md]',
        '',
        '## Project',
        '- About a [a.md]',
        '- About b [b.md]',
        '',
        '## Reference',
        '- board [board.md]',
        '',
        '## Other',
        '- About notes [notes.md]',
        '',
      ].join('\n'),
      generated: [
        '- Writes Go [me.md]',
        '- About a [a.md]',
        '- About b [b.md]',
        '- board [board.md]',
        '- About notes [notes.md]',
      ],
      lines: 14,
      bytes: Buffer.byteLength(built.text),
    });
  });

  test('without topics it is a title', () => {
    expect(build([]).text).toBe('# Memory\n');
    expect(build([], '# Memory\n').text).toBe('# Memory\n');
  });

  test('orders a group by pinned, last used, path', () => {
    const { generated } = build([
      topic('e.md'),
      topic('d.md'),
      topic('c.md'),
      topic('b.md', { usedAt: '2026-10-01T00:00:00.000Z' }),
      topic('a2.md'),
      topic('z.md', { pinned: true }),
    ]);
    expect(generated.map((line) => line.replace(/.*\[(.*)\.md\]/, '$1'))).toEqual(['z', 'b', 'a2', 'c', 'd', 'e']);
  });

  test('cuts a long description at a word, by characters and not by bytes, and never the link', () => {
    const line = (description: string) => build([topic('a.md', { description })]).generated[0] ?? '';
    expect(line('word '.repeat(40))).toBe(`- ${'word '.repeat(28).trim()}… [a.md]`);
    expect([...line('😀'.repeat(200))].length).toBe(150);
    expect(line('x'.repeat(141))).toBe(`- ${'x'.repeat(141)} [a.md]`);
    expect(line('x'.repeat(142))).toBe(`- ${'x'.repeat(140)}… [a.md]`);
  });

  test('keeps hand-written lines in their place and makes none for the topics they link', () => {
    const current = [
      'My own title line',
      '',
      '# Memory',
      '',
      '## Project',
      'Read first: [the plan](plan.md) — by me',
      '- About old [old.md]',
      '- mine, with [a.md] in it',
      '',
      '## Links',
      '- https://example.org',
    ].join('\r\n');
    const built = build([topic('a.md'), topic('plan.md'), topic('b.md'), topic('me.md', { type: 'user' })], current, [
      '- About old [old.md]',
    ]);
    expect(built.text).toBe(
      [
        'My own title line',
        '',
        '# Memory',
        '',
        '## User',
        '- About me [me.md]',
        '',
        '## Project',
        'Read first: [the plan](plan.md) — by me',
        '- About b [b.md]',
        '- mine, with [a.md] in it',
        '',
        '## Links',
        '- https://example.org',
        '',
      ].join('\r\n'),
    );
  });

  test('a generated line that a person changed is theirs', () => {
    const first = build([topic('a.md'), topic('b.md')]);
    const edited = first.text.replace('About a', 'About A, by me');
    expect(build([topic('a.md'), topic('b.md')], edited, first.generated).generated).toEqual(['- About b [b.md]']);
    expect(build([topic('a.md'), topic('b.md')], edited, first.generated).text).toContain('- About A, by me [a.md]\n');
  });

  test('past the cap, the least worth yields, and it says how many topics that are', () => {
    const built = build([...many(300), topic('pinned.md', { pinned: true, type: 'user' })]);
    expect(built.lines).toBe(200);
    expect(built.text).toContain('[pinned.md]');
    expect(built.text).toMatch(/\[topic-0191\.md\]\n\n- 108 more in files beside this one\n$/);
  });

  test('counts bytes, not characters', () => {
    const built = build(many(190, { description: '記憶'.repeat(40) }));
    expect(built.bytes).toBeLessThanOrEqual(25_000);
    expect(built.bytes).toBeGreaterThan(24_500);
  });

  test('hand-written lines past the caps stay', () => {
    const current = 'a line of mine\n'.repeat(201);
    const built = build([topic('a.md')], current);
    expect(built).toMatchObject({ text: current, generated: [] });
  });

  test('caps hold, every topic is named or counted, what is hand-written survives, and building again changes nothing', () => {
    const caps = { lines: 20, bytes: 900, lineCharacters: 60 };
    const path = fc.integer({ min: 0, max: 40 }).map((number) => `topic-${number}.md`);
    const anyTopic = fc.record({
      path,
      description: anyText({ maxLength: 90 }),
      type: fc.constantFrom(...MEMORY_TYPES, undefined),
      pinned: fc.boolean(),
      usedAt: fc.constantFrom(undefined, '2026-11-01T00:00:00.000Z', '2026-11-02T00:00:00.000Z'),
    });
    const topics = fc.uniqueArray(anyTopic, { selector: (one) => one.path, maxLength: 30 });
    const handLine = fc.oneof(
      fc.constantFrom(
        '',
        '# Mine',
        '## Links',
        '- [T](topic-1.md) — hook',
        '- mine [topic-2.md]',
        'text',
        '# Memory',
        '## User',
      ),
      fc.constantFrom('## Project', '## Other', '- 3 more in files beside this one', 'x'.repeat(200)),
    );
    const isGenerated = (line: string) =>
      /^(?:# Memory|## (?:User|Feedback|Project|Reference|Other)|- \d+ more in .*)?$/.test(line);
    fc.assert(
      fc.property(
        topics,
        topics,
        fc.array(fc.tuple(handLine, fc.nat(30)), { maxLength: 16 }),
        fc.constantFrom('\n', '\r\n'),
        (before, after, hand, lineEnd) => {
          const old = buildIndex({ current: null, generatedBefore: new Set(), topics: before, caps });
          const lines = old.text.replace(/\n$/, '').split('\n');
          for (const [line, at] of hand) lines.splice(at, 0, line);
          const current = lines.join(lineEnd);
          const built = buildIndex({ current, generatedBefore: new Set(old.generated), topics: after, caps });

          const written = lines.filter((line) => !isGenerated(line) && !old.generated.includes(line));
          const generated = new Set(built.generated);
          const kept = built.text.split(/\r?\n/).filter((line) => !isGenerated(line) && !generated.has(line));
          expect(kept).toEqual(written);

          // Hand-written lines may leave no room for any other.
          if (built.generated.length > 0) {
            expect(built.lines).toBeLessThanOrEqual(caps.lines);
            expect(built.bytes).toBeLessThanOrEqual(caps.bytes);
          }
          expect(built.lines).toBe(built.text.split('\n').length - 1);
          const isNamed = (one: IndexTopic) => new RegExp(`[[(]${one.path.replace('.', '\\.')}[\\])]`).test(built.text);
          const left = Number(/^- (\d+) more in files/m.exec(built.text)?.[1] ?? 0);
          if (built.generated.length > 0) expect(after.filter((one) => !isNamed(one))).toHaveLength(left);
          for (const line of generated) expect([...line].length).toBeLessThanOrEqual(caps.lineCharacters);

          const again = buildIndex({ current: built.text, generatedBefore: generated, topics: after, caps });
          expect(again).toEqual(built);
        },
      ),
      { numRuns: 500 },
    );
    expect(INDEX_CAPS).toEqual({ lines: 200, bytes: 25_000, lineCharacters: 150 });
  });
});
