import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readFrontmatter, setKeys } from '../../../src/memory/text/frontmatter.ts';
import { sized } from '../../support/depth.ts';

/** Undefined where it throws. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

const crlf = (text: string) => text.replaceAll('\n', '\r\n');

describe('readFrontmatter', () => {
  test('reads YAML, and keeps dates and numbers with zeros as the text they are', () => {
    expect(readFrontmatter('---\nname: a\nat: 2026-11-21\ncode: "012"\nlist: [1, b]\n---\nBody\n')).toEqual({
      data: { name: 'a', at: '2026-11-21', code: '012', list: [1, 'b'] },
      body: 'Body\n',
    });
  });

  test('reads CRLF, a byte order mark and a fence with spaces behind it', () => {
    expect(readFrontmatter(`\uFEFF${crlf('---\nname: a\n---  \nBody\n')}`)).toEqual({
      data: { name: 'a' },
      body: 'Body\n',
    });
  });

  test('heads of plain lines are read as YAML reads them', () => {
    const plain = fc.stringMatching(/^[A-Za-z0-9][\w ,./()+?!;'’:#"-]{0,24}$/);
    const word = fc.constantFrom(
      'true',
      'True',
      'false',
      'null',
      'NULL',
      'yes',
      'no',
      '~',
      '1e3',
      'a #b',
      'a: b',
      'it’s',
    );
    const quoted = fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text));
    const line = fc.tuple(
      fc.constantFrom('name', 'type', 'pinned', 'a-b', 'constructor'),
      fc.oneof(plain, word, quoted),
    );
    const pairs = fc.array(line, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(pairs, (lines) => {
        const block = lines.map(([key, value]) => `${key}: ${value}\n`).join('');
        const { data, problem } = readFrontmatter(`---\n${block}---\n`);
        const parsed = attempt(() => parse(block, { uniqueKeys: false, logLevel: 'error' }));
        if (parsed === undefined) expect(problem).toBeDefined();
        else expect(data).toEqual(parsed);
      }),
      { numRuns: sized({ quick: 600, deep: 5_000 }) },
    );
  });

  test.each(['', 'Body', '----\nname: a\n----\n', '---\nname: a\n', 'x\n---\nname: a\n---\n', '---'])(
    'finds none in %j',
    (raw) => {
      expect(readFrontmatter(raw)).toEqual({ data: {}, body: raw });
    },
  );

  test.each(['js', 'javascript', 'JS', 'json', 'coffee', 'cson', 'toml', ' js '])(
    'takes frontmatter in %j for text and never runs it',
    (language) => {
      const raw = `---${language}\n(globalThis.wasRun = true, { name: 'a' })\n---\nBody\n`;
      expect(readFrontmatter(raw)).toEqual({ data: {}, body: raw, problem: expect.stringContaining(language.trim()) });
      expect(globalThis).not.toHaveProperty('wasRun');
    },
  );

  test.each(['\n', '"', '[', '- &a *a\n'])('frontmatter of a megabyte of %j is passed over and named', (part) => {
    const raw = `---\nname: a\n${part.repeat(1_000_000 / part.length)}\n---\nBody\n`;
    expect(readFrontmatter(raw)).toEqual({ data: {}, body: raw, problem: expect.stringContaining('16384 at most') });
  });

  test('a language named inside of YAML changes nothing', () => {
    const raw = '---\nlanguage: js\nengines: {}\nname: !!js/function "function(){}"\n---\n';
    expect(readFrontmatter(raw).data).toMatchObject({ language: 'js' });
  });

  test('reads the colon that models write into a description, and says so', () => {
    const { data, body, problem } = readFrontmatter(
      '---\nname: "a: a"\ndescription: Cache: keep it local # really\nmetadata:\n  type: user\n---\nBody\n',
    );
    expect(data).toEqual({ name: 'a: a', description: 'Cache: keep it local # really', metadata: { type: 'user' } });
    expect(body).toBe('Body\n');
    expect(problem).toMatch(/^The frontmatter is not valid YAML: .*[^:.]\.$/);
  });

  test('reads what can be read of broken YAML', () => {
    expect(readFrontmatter('---\nname: a\n\t- [broken\ntype: "user"\n---\nBody\n')).toMatchObject({
      data: { name: 'a', type: 'user' },
      body: 'Body\n',
      problem: expect.any(String),
    });
  });

  test('a ruled-off text is no frontmatter', () => {
    const raw = '---\nJust a sentence.\n---\nBody\n';
    expect(readFrontmatter(raw)).toMatchObject({ data: {}, body: raw });
  });

  test('gives every caller an object of its own', () => {
    const raw = '---\nname: a\n---\n';
    readFrontmatter(raw).data.name = 'changed';
    expect(readFrontmatter(raw).data).toEqual({ name: 'a' });
  });

  test('no text can reach the prototype of objects', () => {
    readFrontmatter('---\n__proto__:\n  polluted: true\n---\n');
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('setKeys', () => {
  const raw = [
    '---',
    '# by hand',
    'tags:',
    '- one',
    '- two',
    "name:   'a'   # the file's name",
    'description: >-',
    '  long',
    '',
    '  text',
    'foreign: {b: 1,   c: 012}',
    'metadata:',
    '  source: x',
    '  type: user',
    '',
    '---',
    'Body: ---',
    '',
  ].join('\n');

  test.each([
    ['LF', (text: string) => text],
    ['CRLF', crlf],
  ])('replaces only the changed keys’ lines, in %s', (_, endings) => {
    const changes = { name: 'b', description: 'New: with a colon', type: 'project' };
    const changed = setKeys(endings(raw), changes);
    expect(changed).toBe(
      endings(
        raw
          .replace("name:   'a'   #", 'name: b   #')
          .replace('>-\n  long\n\n  text\n', '"New: with a colon"\n')
          .replace('type: user', 'type: project'),
      ),
    );
    expect(readFrontmatter(changed)).toMatchObject({
      data: { name: 'b', description: 'New: with a colon', metadata: { type: 'project' } },
      body: 'Body: ---\n',
    });
  });

  test('leaves the bytes alone where nothing changes', () => {
    expect(setKeys(raw, { name: 'a', description: 'long\ntext', type: 'user' })).toBe(raw);
  });

  test('adds a missing key at the end', () => {
    expect(setKeys('---\nname: a\n---\nBody', { type: 'user', pinned: true })).toBe(
      '---\nname: a\ntype: user\npinned: true\n---\nBody',
    );
  });

  test('a key of the same name deeper down, or in the body, is not the key', () => {
    expect(setKeys('---\nother:\n  type: x\n---\ntype: y\n', { type: 'user' })).toBe(
      '---\nother:\n  type: x\ntype: user\n---\ntype: y\n',
    );
  });

  test.each(['', 'Body\n', crlf('Body\n'), '\uFEFFBody', '---js\n1\n---\n'])('makes frontmatter for %j', (body) => {
    const made = setKeys(body, { name: 'a' });
    expect(readFrontmatter(made)).toMatchObject({ data: { name: 'a' } });
    expect(made.endsWith(body.replace('\uFEFF', ''))).toBe(true);
  });

  test.each(['- x', '# x', 'a: b', 'yes', 'null', '012', '"q"', "it's", 'x #y', ' x', 'two\nlines', '[a]', '', '--- '])(
    'writes %j so that it reads back',
    (value) => {
      const made = setKeys('---\ndescription: old\nname: a\n---\n', { description: value });
      expect(readFrontmatter(made)).toEqual({ data: { description: value, name: 'a' }, body: '' });
    },
  );

  test('mends a description that was no YAML', () => {
    const mended = setKeys('---\ndescription: Cache: local\nname: a\n---\n', { description: 'Cache: shared' });
    expect(readFrontmatter(mended)).toEqual({ data: { description: 'Cache: shared', name: 'a' }, body: '' });
  });
});
