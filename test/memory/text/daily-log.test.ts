import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Entry, MEMORY_TYPES } from '../../../src/memory/memory-types.ts';
import {
  appendEntries,
  entryId,
  logDay,
  logPath,
  parseLog,
  removeEntries,
} from '../../../src/memory/text/daily-log.ts';
import { anyText } from '../../support/any-text.ts';
import { waysTaken } from '../../support/depth.ts';

const day = '2026-11-21';
const at = { day, zone: 'Europe/Berlin' };

function entry(changes: Partial<Entry> = {}): Entry {
  const made: Entry = {
    id: '',
    type: 'feedback',
    strength: 'stated',
    text: 'Tests run against a real database, never against a mock.',
    evidence: [{ message: 'msg-2', quote: 'no, never mock the database' }],
    by: 'human',
    session: 'session-1',
    turn: 'msg-1',
    at: '2026-11-21T09:00:00.000Z',
    day,
    prompt: '1a2b3c4d',
    ...changes,
  };
  return { ...made, id: entryId({ message: '', quote: '', ...made.evidence[0], text: made.text }) };
}

const own = (one: Entry) => ({ kind: 'own', edited: false, ...one });

describe('the daily log', () => {
  test('reads well: text, supporting quotes, the carrying quote last, the source in a comment', () => {
    const written = entry({
      evidence: [
        { message: 'msg-4', quote: 'no,\n  local' },
        { message: 'msg-3', quote: 'Shall the cache be shared?' },
      ],
    });
    expect(appendEntries(null, [written], at)).toBe(
      [
        '# 2026-11-21',
        '',
        '- 10:00 **feedback** Tests run against a real database, never against a mock.',
        '  > Shall the cache be shared?',
        '  > no, local',
        `  <!-- ${written.id} s=session-1 t=msg-1 at=2026-11-21T09:00:00.000Z by=human k=stated p=1a2b3c4d m=msg-4,msg-3 h=7ac47819b55e -->`,
        '',
      ].join('\n'),
    );
  });

  test('gives back every entry it was given, whatever was said', () => {
    const hostile = fc.constantFrom(
      ...[
        '-->',
        '<!--',
        '\\',
        '#',
        '>',
        '- ',
        '**user**',
        '10:00 ',
        '```',
        '\ud800',
        '%2C',
        ',',
        '--',
        '<!-- e_0123456789ab s= -->',
      ],
    );
    const words = fc
      .array(fc.oneof(hostile, anyText({ maxLength: 5 })), { maxLength: 8 })
      .map((parts) => parts.join('').replace(/\s+/g, ' ').trim());
    const said = words.filter((text) => text !== '');
    const evidence = fc.record({ message: said, quote: words });
    const anyEntry = fc
      .record({
        type: fc.constantFrom(...MEMORY_TYPES),
        strength: fc.constantFrom('stated' as const, 'implied' as const),
        text: said,
        evidence: fc.array(evidence, { minLength: 1, maxLength: 3 }),
        by: words,
        session: words,
        turn: words,
        prompt: words,
      })
      .map(entry);
    const before = fc.constantFrom(null, '', '# Day', '# Day\r\n\r\n- mine\r\n', 'a line\n\n```\nopen', '<!-- open\n');
    fc.assert(
      fc.property(fc.uniqueArray(anyEntry, { selector: (one) => one.id, maxLength: 4 }), before, (entries, current) => {
        const text = appendEntries(current, entries, at);
        expect(text.startsWith(current ?? '')).toBe(true);
        expect(parseLog(text, day).filter((item) => item.kind === 'own')).toEqual(entries.map(own));
        expect(text.replace(/^ {2}<!-- e_[0-9a-f]{12} .* -->\r?$/gm, '')).not.toMatch(/(?<!\\)<!--(?! open)|-->/);
        if (current === null || current.endsWith('\n'))
          expect(removeEntries(text, new Set(entries.map(({ id }) => id)))).toBe(appendEntries(current, [], at));
      }),
      { numRuns: 500 },
    );
  });

  test('a text without letters is not taken for a missing one', () => {
    expect(parseLog(appendEntries(null, [entry({ text: '**user**' })], at), day)).toMatchObject([{ text: '**user**' }]);
  });

  test('keeps CRLF and adds a missing line end', () => {
    const text = appendEntries('# Day\r\n\r\n- mine', [entry()], at);
    expect(text.startsWith('# Day\r\n\r\n- mine\r\n- 10:00 ')).toBe(true);
    expect(text.replaceAll('\r\n', '')).not.toContain('\n');
    expect(parseLog(text, day)).toEqual([expect.objectContaining({ kind: 'adopted', text: 'mine' }), own(entry())]);
  });

  test('a changed text is the person’s: no quote is claimed for it, and it keeps its id', () => {
    const text = appendEntries(null, [entry()], at).replace('never against', 'seldom against');
    expect(parseLog(text, day)).toEqual([
      { ...own(entry()), edited: true, evidence: [], text: entry().text.replace('never', 'seldom') },
    ]);
  });

  test('a changed quote or an added line makes it the person’s as well', () => {
    const text = appendEntries(null, [entry()], at);
    expect(parseLog(text.replace('> no,', '> yes,'), day)).toMatchObject([{ edited: true, evidence: [] }]);
    expect(parseLog(text.replace('  > no', '  Save for e2e.\n  > no'), day)).toMatchObject([
      { edited: true, text: `${entry().text} Save for e2e.` },
    ]);
  });

  test('a changed type is the person’s choice; the words are still evidence', () => {
    const text = appendEntries(null, [entry()], at).replace('**feedback**', '**user**');
    expect(parseLog(text, day)).toEqual([{ ...own(entry()), type: 'user' }]);
  });

  test('an entry whose words were deleted is gone, also when its comment stayed', () => {
    const text = appendEntries(null, [entry()], at);
    expect(parseLog(text.replace(/^- .*\n/m, ''), day)).toEqual([]);
    expect(parseLog(text.replace(/^- .*\n.*\n/m, ''), day)).toEqual([]);
  });

  test('adopts bullets and paragraphs, with type, continuation lines and one block per code fence', () => {
    const text = [
      '# Day',
      '- **user** Writes Go',
      '  and Rust.',
      '  - mostly at work',
      '* reference: The board is at example.org',
      '',
      'A paragraph over',
      'two lines.',
      '',
      '<!-- a note -->',
      '<!--',
      '- hidden',
      '-->',
      '```sh',
      '- not a bullet',
      '',
      'make',
      '```',
      '---',
      '14:30 **feedback** Later.',
    ].join('\n');
    expect(parseLog(text, day).map(({ kind, type, text: words }) => [kind, type, words])).toEqual([
      ['adopted', 'user', 'Writes Go and Rust. - mostly at work'],
      ['adopted', 'reference', 'The board is at example.org'],
      ['adopted', 'project', 'A paragraph over two lines.'],
      ['adopted', 'project', '```sh - not a bullet make ```'],
      ['adopted', 'feedback', 'Later.'],
    ]);
  });

  test('an adopted line has the same id wherever it stands in its day, and another on another day', () => {
    const id = (text: string, of: string) => parseLog(text, of)[0]?.id;
    expect(id('- Ship on Friday.', day)).toBe(id('\n* Ship on\n  Friday.\n', day));
    expect(id('- Ship on Friday.', day)).not.toBe(id('- Ship on Friday.', '2026-11-22'));
  });

  test('of two items with one id the first counts; a copy that says something else is adopted', () => {
    const text = appendEntries(null, [entry()], at);
    const block = text.slice(text.indexOf('- '));
    expect(parseLog(text + block, day)).toEqual([own(entry())]);
    expect(parseLog(text + block.replace('never', 'seldom'), day)).toMatchObject([
      own(entry()),
      { kind: 'adopted', text: entry().text.replace('never', 'seldom') },
    ]);
  });

  test('removes exactly the named blocks', () => {
    const [first, second, third] = [entry(), entry({ text: 'Two.' }), entry({ text: 'Three.' })];
    const mine = 'A note of mine.\n\n- and a bullet\n';
    const text = appendEntries(appendEntries(null, [first, second], at) + mine, [third], at);
    expect(removeEntries(text, new Set([first.id, third.id]))).toBe(appendEntries(null, [second], at) + mine);
    expect(removeEntries(text, new Set(['e_000000000000']))).toBe(text);
  });

  test('a formatter that parts a comment from its bullet does no harm', () => {
    const text = appendEntries(null, [entry()], at).replace('  <!--', '\n  <!--');
    expect(parseLog(text, day)).toEqual([own(entry())]);
  });

  test('logs are found by their path', () => {
    expect(logPath(day)).toBe('logs/2026/11/2026-11-21.md');
    expect(logDay(logPath(day))).toBe(day);
    for (const path of [
      'MEMORY.md',
      'logs/2026/12/2026-11-21.md',
      'logs/2026/11/2026-11-99.md',
      'x/logs/2026/11/2026-11-21.md',
    ])
      expect(logDay(path)).toBe(null);
  });
});

const REPEATED = [
  ['```\n', '```a\n', '<!-- a\n'],
  ['~~~~\n~~~\n', '\\', ' \n'],
];

test.each(waysTaken(REPEATED).flat())('a log of a megabyte of %j is read once', (part) => {
  const log = `- Kept.\n${part.repeat(1_000_000 / part.length)}\n`;
  expect(removeEntries(log, new Set(['e_0123456789ab']), '2026-11-20')).toBe(log);
});
