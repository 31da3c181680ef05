import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  editLines,
  isTopicName,
  isTopicPath,
  lineId,
  newTopic,
  parseTopic,
  withLine,
} from '../../../src/memory/text/topic.ts';
import { anyText } from '../../support/any-text.ts';

const ids = (...texts: string[]) => new Set(texts.map(lineId));
const texts = (raw: string) => parseTopic('a.md', raw).lines.map((line) => line.text);

describe('parseTopic', () => {
  test('reads what nocturne wrote', () => {
    const topic = { name: 'database-tests', description: 'Tests: how they run', type: 'feedback' as const };
    const raw = newTopic({ ...topic, lines: ['Never mock\n the database.', 'Use a container.'] });
    expect(raw).toBe(
      '---\nname: database-tests\ndescription: "Tests: how they run"\ntype: feedback\n---\n\n- Never mock the database.\n- Use a container.\n',
    );
    expect(parseTopic('database-tests.md', raw)).toEqual({
      ...topic,
      path: 'database-tests.md',
      pinned: false,
      lines: [
        { id: lineId('Never mock the database.'), text: 'Never mock the database.' },
        { id: lineId('Use a container.'), text: 'Use a container.' },
      ],
    });
  });

  test('reads `metadata: type:` and `pinned: true`; the file name is the name', () => {
    expect(parseTopic('a.md', '---\nname: b\npinned: true\nmetadata:\n  type: user\n---\nText\n')).toMatchObject({
      name: 'a',
      type: 'user',
      pinned: true,
      lines: [{ text: 'Text' }],
    });
  });

  test('a file without frontmatter is described by its first heading, else its first line, and has no type', () => {
    expect(parseTopic('a.md', '# My *notes* #\n\nText\n')).toMatchObject({
      description: 'My *notes*',
      type: undefined,
    });
    expect(parseTopic('a.md', '- one\n- two\n')).toMatchObject({ description: 'one' });
    expect(parseTopic('a.md', '')).toMatchObject({ name: 'a', description: 'a', lines: [] });
    expect(parseTopic('a.md', '---\ntype: other\n---\n')).toMatchObject({ type: undefined });
  });

  test('every bullet and every line of a paragraph is a line; what belongs to a bullet is part of it', () => {
    const raw = [
      '# Title',
      'The rule.',
      '**Why:** reason',
      '',
      '* one',
      '  more',
      '',
      '  - nested',
      'lazy',
      '1. two',
      '<!-- hidden -->',
      '```',
      '- code',
      '```',
      '---',
      '',
    ].join('\r\n');
    expect(texts(raw)).toEqual(['The rule.', '**Why:** reason', 'one more - nested lazy', 'two', '``` - code ```']);
  });
});

describe('editLines', () => {
  const raw = '---\nname: a\n---\n\n# Title\n\n- one\n  more\n- two\n\nText\n\n* three\n\n# End\n';

  test('puts new lines where the first removed one stood', () => {
    expect(editLines(raw, { remove: ids('one more', 'three'), add: ['new', 'newer'] })).toBe(
      raw.replace('- one\n  more\n', '- new\n- newer\n').replace('* three\n', ''),
    );
  });

  test('puts new lines behind the last list, with its marker, where none is removed', () => {
    expect(editLines(raw, { remove: new Set(), add: ['new'] })).toBe(raw.replace('* three\n', '* three\n* new\n'));
  });

  test('begins a list at the end where there is none', () => {
    expect(editLines('Text', { remove: new Set(), add: ['new'] })).toBe('Text\n\n- new');
    expect(editLines('---\nname: a\n---\n', { remove: new Set(), add: ['new'] })).toBe('---\nname: a\n---\n- new\n');
  });

  test('a line of a paragraph is replaced by a line of the paragraph', () => {
    const text = 'One.\nTwo.\nThree.\n';
    expect(editLines(text, { remove: ids('Two.'), add: ['New.'] })).toBe('One.\nNew.\nThree.\n');
    const marked = editLines(text, { remove: ids('Two.'), add: ['# New.'] });
    expect(texts(marked)).toEqual(['One.', 'Three.', '# New.']);
  });

  test('keeps CRLF and a missing final line end', () => {
    expect(editLines('- one\r\n- two', { remove: ids('two'), add: ['new'] })).toBe('- one\r\n- new');
    expect(editLines('- one\r\n- two', { remove: new Set(), add: ['new'] })).toBe('- one\r\n- two\r\n- new');
    expect(editLines('- one\r\n- two', { remove: ids('two'), add: [] })).toBe('- one');
  });

  test('changes nothing where there is nothing to change', () => {
    expect(editLines(raw, { remove: new Set(['00000000']), add: [] })).toBe(raw);
  });

  test('what is added is there afterwards, what is removed is gone, and all else is as it was', () => {
    const line = fc.constantFrom(
      ...[
        '- a',
        '* b',
        '  c',
        '1. d',
        'e',
        '',
        '',
        '# f',
        '```\nk\n```',
        '<!-- g -->',
        '<!--',
        '---',
        '> h',
        '\t- i',
        '| j |',
      ],
    );
    const added = fc
      .oneof(fc.constantFrom('# x', '- y', '```', '<!-- z', '> w', '1. v'), anyText())
      .map((text) => text.replace(/\s+/g, ' ').trim())
      .filter((text) => text !== '' && !/^[-*_+ ]+$|^\d+[.)]$/.test(text));
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 12 }),
        fc.constantFrom('\n', '\r\n'),
        fc.array(fc.nat(8), { maxLength: 3 }),
        fc.uniqueArray(added, { maxLength: 3 }),
        (lines, lineEnd, picks, add) => {
          const before = lines.join(lineEnd);
          // Without what stood between, Markdown itself reads an indented line as part of the bullet above.
          fc.pre(!/^(?:|```|---|#.*|<.*)\r?\n[ \t]/m.test(before));
          const known = parseTopic('a.md', before).lines;
          const remove = new Set(picks.flatMap((at) => known[at]?.id ?? []));
          const after = editLines(before, { remove, add });
          const expected = [...known.filter(({ id }) => !remove.has(id)).map(({ text }) => text), ...add].sort();
          expect(texts(after).sort()).toEqual(expected);
        },
      ),
      { numRuns: 1000 },
    );
  });
});

test('names of topics are kebab-case, short, and no device', () => {
  for (const name of ['a', 'database-tests', 'v2', 'x'.repeat(64)]) expect(isTopicName(name), name).toBe(true);
  for (const name of [
    '',
    'A',
    'a_b',
    'a--b',
    '-a',
    'a.md',
    '../a',
    'a b',
    'con',
    'nul',
    'com1',
    'memory',
    'index',
    'x'.repeat(65),
  ])
    expect(isTopicName(name), name).toBe(false);
});

test('topics lie at the top of the memory directory', () => {
  expect(
    ['a.md', 'My Notes.MD', 'MEMORY.md', 'logs/2026/11/2026-11-21.md', 'index/user.md', 'a.txt'].filter(isTopicPath),
  ).toEqual(['a.md', 'My Notes.MD']);
});

test('of two equal lines the one at its place is changed, and none where another stands by now', () => {
  const raw = '- Plums.\n- Pears.\n- Plums.\n';
  const edit = { line: lineId('Plums.'), index: 2, shown: '- Plums.', text: '- Figs.' };
  expect(withLine(raw, edit)).toBe('- Plums.\n- Pears.\n- Figs.\n');
  expect(withLine('- Pears.\n- Figs.\n', edit)).toBe(null);
});
